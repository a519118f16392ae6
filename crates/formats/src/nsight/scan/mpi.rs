//! Calls of MPI with what they sent. Which columns say what is in the format's own comments; the values are what
//! the program passed: ranks are those of the communicator, handles are those of the process.

use super::{Origin, ReadError, ReportRow, ReportScan};
use crate::nsight::database::QueryRow;
use crate::nsight::names::mpi_collective;
use crate::nsight::rows::{NO_PEER, RowKind};
use crate::position::u32_from;
use ouzel_model::mpi_function;

/// The handle of a communicator in a process.
#[derive(Debug, Clone)]
pub(crate) struct CommHandle {
    pub process: u32,
    pub handle: i64,
    /// Its first use.
    pub first: i64,
    /// The largest rank that is named in it.
    pub rank_max: u32,
}

impl ReportScan<'_> {
    /// Every table of MPI.
    pub(super) fn mpi(&mut self) -> Result<(), ReadError> {
        let call = ["start", "end", "globalTid", "textId"];
        let [a, b, c, d] = call;
        let columns = [a, b, c, d, "commHandle", "remoteRank", "tag", "size", "requestHandle"];
        self.table("MPI_P2P_EVENTS", &columns, None, |scan, row| {
            let (kind, peer) = (point_to_point(&scan.mpi_name(row)), row.int(5));
            scan.mpi_call(row, kind, peer, |row_out, row| {
                row_out.more = row.int(6).unwrap_or(0).cast_unsigned() & 0xffff_ffff;
                row_out.bytes = row.int(7).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
                row_out.id = row.int(8).unwrap_or(0).cast_unsigned();
            })
        })?;
        let columns = [a, b, c, d, "commHandle", "rootRank", "size", "recvSize", "requestHandle"];
        self.table("MPI_COLLECTIVES_EVENTS", &columns, None, |scan, row| {
            let collective = mpi_collective(&scan.mpi_name(row));
            let kind = match collective {
                Some((_, false)) => RowKind::Collective,
                Some((_, true)) => RowKind::Icollective,
                None => RowKind::Call,
            };
            scan.mpi_call(row, kind, row.int(5), |row_out, row| {
                let bytes = |i: usize| row.int(i).and_then(|n| u64::try_from(n).ok());
                row_out.op = collective.map_or(u8::MAX, |(op, _)| op.code());
                row_out.bytes = bytes(6).unwrap_or(0);
                // Where one size is given, all that is sent is received.
                row_out.more = bytes(7).unwrap_or(row_out.bytes);
                row_out.id = row.int(8).unwrap_or(0).cast_unsigned();
            })
        })?;
        self.table("MPI_START_WAIT_EVENTS", &[a, b, c, d, "", "", "requestHandle"], None, |scan, row| {
            let is_start =
                mpi_function(&scan.mpi_name(row)).is_some_and(|function| function.starts_with("start"));
            let kind = if is_start { RowKind::Start } else { RowKind::Wait };
            scan.mpi_call(row, kind, None, |row_out, row| {
                row_out.id = row.int(6).unwrap_or(0).cast_unsigned();
            })
        })?;
        self.table("MPI_OTHER_EVENTS", &call, None, |scan, row| scan.plain_call(row, &Origin::Mpi, b'm'))
    }

    fn mpi_name(&mut self, row: &QueryRow<'_, '_>) -> std::sync::Arc<str> {
        self.strings.get_kept(row.int(3).unwrap_or(-1))
    }

    fn mpi_call(
        &mut self,
        row: &QueryRow<'_, '_>,
        kind: RowKind,
        peer: Option<i64>,
        payload: impl Fn(&mut ReportRow, &QueryRow<'_, '_>),
    ) -> Result<(), ReadError> {
        let (Some(start), Some(thread), Some(name)) = (row.int(0), row.int(2), row.int(3)) else {
            self.n_damaged += 1;
            return Ok(());
        };
        let end = self.end(row, start);
        let region = self.region(&Origin::Mpi, b'm', name, |name| name);
        let mut out = ReportRow { kind, ..ReportRow::call(start, end, region) };
        if kind != RowKind::Call {
            payload(&mut out, row);
        }
        match kind {
            RowKind::Call | RowKind::Start | RowKind::Wait => {}
            RowKind::Collective | RowKind::Icollective => self.all.n_collectives += 1,
            _ => self.all.n_messages += 1,
        }
        // Negative ranks are MPI_PROC_NULL, MPI_ANY_SOURCE and MPI_ROOT, whose values differ among libraries.
        out.peer = peer.and_then(|rank| u32::try_from(rank).ok()).unwrap_or(NO_PEER);
        if let Some(handle) = row.int(4).filter(|_| !matches!(kind, RowKind::Start | RowKind::Wait)) {
            let process = self.process(thread);
            out.comm = self.comm(process, handle, start, out.peer) + 1;
        }
        let place = self.thread(thread);
        self.push(place, out)
    }

    fn comm(&mut self, process: u32, handle: i64, start: i64, peer: u32) -> u32 {
        let comm = *self.all.handle_index.entry((process, handle)).or_insert_with(|| {
            self.all.handles.push(CommHandle { process, handle, first: start, rank_max: 0 });
            u32_from(self.all.handles.len() - 1)
        });
        let known = &mut self.all.handles[comm as usize];
        known.first = known.first.min(start);
        if peer != NO_PEER {
            known.rank_max = known.rank_max.max(peer);
        }
        comm
    }
}

/// What a call of `MPI_P2P_EVENTS` does with its message. One that both sends and receives has one column for the
/// peer, and is kept as a call only.
fn point_to_point(name: &str) -> RowKind {
    match mpi_function(name).as_deref().unwrap_or_default() {
        "send" | "ssend" | "bsend" | "rsend" => RowKind::Send,
        "recv" | "mrecv" => RowKind::Recv,
        "isend" | "issend" | "ibsend" | "irsend" => RowKind::Isend,
        "irecv" | "imrecv" => RowKind::Irecv,
        "send_init" | "ssend_init" | "bsend_init" | "rsend_init" => RowKind::SendInit,
        "recv_init" => RowKind::RecvInit,
        _ => RowKind::Call,
    }
}
