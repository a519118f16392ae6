//! Ranges of NVTX. Those of push and pop are calls of their thread; those of start and end may end in another
//! thread and overlap, and get a place of their own. Marks, payloads and definitions are counted.

use super::thread_id;
use super::{Origin, PlaceKind, ReadError, ReportRow, ReportScan};
use crate::position::u32_from;
use rustc_hash::FxHashMap;
use std::sync::Arc;

const MARK: i64 = 34;
const PUSH_POP: i64 = 59;
const START_END: i64 = 60;
const DOMAIN: i64 = 75;
const PUSH_POP_T: i64 = 70;
const START_END_T: i64 = 71;

const PAYLOADS: [&str; 9] = [
    "uint64Value",
    "int64Value",
    "doubleValue",
    "uint32Value",
    "int32Value",
    "floatValue",
    "jsonTextId",
    "jsonText",
    "binaryData",
];

/// A domain of a process. Domains of one name have several numbers and give the same regions.
#[derive(Debug)]
struct Domain {
    number: u32,
    name: Arc<str>,
}

/// Regions of texts, by the number of their domain: of registered strings and of others.
#[derive(Debug, Default)]
struct NvtxTexts {
    by_id: FxHashMap<(u32, i64), u32>,
    by_text: FxHashMap<u32, FxHashMap<Vec<u8>, u32>>,
}

impl NvtxTexts {
    fn region(
        &mut self,
        scan: &mut ReportScan<'_>,
        domain: Option<&Domain>,
        text: Option<&[u8]>,
        id: Option<i64>,
    ) -> u32 {
        let number = domain.map_or(0, |domain| domain.number);
        let known = match text {
            Some(text) => self.by_text.entry(number).or_default().get(text),
            None => self.by_id.get(&(number, id.unwrap_or(-1))),
        };
        if let Some(&region) = known {
            return region;
        }
        let name = match text {
            Some(text) => Arc::from(String::from_utf8_lossy(text)),
            None => {
                id.and_then(|id| scan.strings.get(id)).unwrap_or_else(|| Arc::from("<range without a name>"))
            }
        };
        let origin = Origin::Nvtx(domain.map(|domain| Arc::clone(&domain.name)));
        let region = scan.all.regions.get(origin, &name);
        match text {
            Some(text) => self.by_text.entry(number).or_default().insert(text.to_vec(), region),
            None => self.by_id.insert((number, id.unwrap_or(-1)), region),
        };
        region
    }
}

impl ReportScan<'_> {
    /// The table of NVTX.
    pub(super) fn nvtx(&mut self) -> Result<(), ReadError> {
        let domains = self.domains()?;
        let mut columns = vec!["start", "end", "globalTid", "eventType", "textId", "text", "domainId"];
        columns.extend(PAYLOADS);
        let mut texts = NvtxTexts::default();
        self.table("NVTX_EVENTS", &columns, None, |scan, row| {
            let kind = row.int(3).unwrap_or(PUSH_POP);
            let is_async = matches!(kind, START_END | START_END_T);
            if !is_async && !matches!(kind, PUSH_POP | PUSH_POP_T) {
                scan.leave_out(&what(kind));
                return Ok(());
            }
            let (Some(start), Some(thread)) = (row.int(0), row.int(2)) else {
                scan.n_damaged += 1;
                return Ok(());
            };
            if (7..7 + PAYLOADS.len()).any(|i| row.is_some(i)) {
                scan.leave_out("payloads of NVTX ranges");
            }
            let domain = row.int(6).and_then(|id| domains.get(&(scan.process(thread), id)));
            let region = texts.region(scan, domain, row.bytes(5), row.int(4));
            let end = scan.end(row, start);
            let process = scan.process(thread);
            let thread = thread_id(thread);
            let kind = if is_async { PlaceKind::Ranges(thread) } else { PlaceKind::Thread(thread) };
            let place = scan.place(process, kind);
            scan.push(place, ReportRow::call(start, end, region))
        })
    }

    /// Names of the domains of each process. They may be defined after their first use.
    fn domains(&mut self) -> Result<FxHashMap<(u32, i64), Domain>, ReadError> {
        let mut domains = FxHashMap::default();
        if !self.database.has_column("NVTX_EVENTS", "eventType") {
            return Ok(domains);
        }
        let condition = format!("eventType={DOMAIN}");
        let columns = ["globalTid", "domainId", "text", "textId"];
        self.table("NVTX_EVENTS", &columns, Some(&condition), |scan, row| {
            let name = row.text(2).map(Arc::from).or_else(|| row.int(3).and_then(|id| scan.strings.get(id)));
            if let (Some(thread), Some(id), Some(name)) = (row.int(0), row.int(1), name) {
                let number = u32_from(domains.len() + 1);
                domains.insert((scan.process(thread), id), Domain { number, name });
            }
            Ok(())
        })?;
        Ok(domains)
    }
}

/// The name of a kind of NVTX event that is left out.
fn what(kind: i64) -> String {
    match kind {
        MARK => "NVTX marks".to_owned(),
        33 => "names of NVTX categories".to_owned(),
        39 => "names of threads by NVTX".to_owned(),
        DOMAIN | 76 => "definitions of NVTX domains".to_owned(),
        _ => format!("NVTX events of type {kind}"),
    }
}
