//! What a call means: its region, and its bytes, step or collective operation.

use super::collect::{Collector, DetailKind, ProcessGroup};
use super::event::{Args, Event};
use super::kinds::{self, ActivityClass, Communication};
use super::names::RegionDraft;
use super::number::u64_from;
use super::scan::{Text, ValueKind, plain};
use crate::position::u32_from;

/// Steps of the PyTorch profiler begin so.
const STEP: &[u8] = b"ProfilerStep#";

impl Collector {
    /// Region and detail of a call.
    pub(super) fn meaning(
        &mut self,
        event: &Event<'_>,
        class: ActivityClass,
        at_ns: i64,
    ) -> (u32, Option<DetailKind>) {
        let raw = event.name.raw;
        match class {
            ActivityClass::Kernel => self.kernel(event),
            ActivityClass::Copy => {
                let what = self.regions.id(class, event.name, |name| RegionDraft { name, class, op: None });
                (what, u64_from(event.args.bytes).map(DetailKind::Bytes))
            }
            ActivityClass::Code | ActivityClass::DeviceRange if raw.starts_with(STEP) => {
                let class = if class == ActivityClass::Code { ActivityClass::Step } else { class };
                let name = Text::plain(&raw[..STEP.len() - 1]);
                let what = self.regions.id(class, name, |name| RegionDraft { name, class, op: None });
                let number = u64_from(&raw[STEP.len()..]).filter(|_| class == ActivityClass::Step);
                if let Some(number) = number {
                    let first = self.file.steps.entry(number).or_insert(at_ns);
                    *first = at_ns.min(*first);
                }
                (what, number.map(DetailKind::Step))
            }
            ActivityClass::Code if event.category == b"user_annotation" => self.annotation(event),
            _ => (self.regions.id(class, event.name, |name| RegionDraft { name, class, op: None }), None),
        }
    }

    fn kernel(&mut self, event: &Event<'_>) -> (u32, Option<DetailKind>) {
        let collective = event.args.collective;
        if collective.raw.is_empty() {
            let what =
                self.regions.id(ActivityClass::Kernel, event.name, |name| match kinds::kernel_communication(
                    &name,
                ) {
                    Some(Communication { op }) => {
                        RegionDraft { name, class: ActivityClass::CollectiveKernel, op }
                    }
                    None => RegionDraft { name, class: ActivityClass::Kernel, op: None },
                });
            let draft = &self.regions.drafts[what as usize];
            let detail = match draft {
                RegionDraft { class: ActivityClass::CollectiveKernel, op: Some(op), .. } => {
                    let op = *op;
                    self.file.has_device_collectives = true;
                    let group = self.process_group(&event.args);
                    Some(DetailKind::Collective {
                        op,
                        group,
                        bytes_sent: 0,
                        bytes_received: 0,
                        on_host: false,
                    })
                }
                _ => None,
            };
            return (what, detail);
        }
        // Many operations may share one name (generic kernels): a region for each.
        let key = [event.name.raw, b"\0", collective.raw].concat();
        let Communication { op } = kinds::communication(&plain(collective));
        let what = match self.regions.known(ActivityClass::CollectiveKernel, &key) {
            Some(id) => id,
            None => {
                let draft =
                    RegionDraft { name: plain(event.name), class: ActivityClass::CollectiveKernel, op };
                self.regions.add(ActivityClass::CollectiveKernel, &key, draft)
            }
        };
        self.file.has_device_collectives = true;
        let size = std::str::from_utf8(event.args.element_type).ok().and_then(kinds::element_bytes);
        let bytes = |n: &[u8]| u64_from(n).zip(size).map_or(0, |(n, size)| n.saturating_mul(size));
        let (bytes_sent, bytes_received) =
            (bytes(event.args.n_elements_in), bytes(event.args.n_elements_out));
        let group = self.process_group(&event.args);
        let detail =
            op.map(|op| DetailKind::Collective { op, group, bytes_sent, bytes_received, on_host: false });
        (what, detail)
    }

    /// A range of the program; those of collectives have their shape.
    fn annotation(&mut self, event: &Event<'_>) -> (u32, Option<DetailKind>) {
        let what =
            self.regions.id(ActivityClass::Code, event.name, |name| match kinds::host_communication(&name) {
                Some(Communication { op }) => RegionDraft { name, class: ActivityClass::HostCollective, op },
                None => RegionDraft { name, class: ActivityClass::Code, op: None },
            });
        let draft = &self.regions.drafts[what as usize];
        let (ActivityClass::HostCollective, Some(op)) = (draft.class, draft.op) else { return (what, None) };
        let bytes = input_bytes(&event.args);
        let group = self.process_group(&event.args);
        let (bytes_sent, bytes_received) = (bytes, bytes);
        (what, Some(DetailKind::Collective { op, group, bytes_sent, bytes_received, on_host: true }))
    }

    /// The process group that the arguments name; the whole world if they name none.
    fn process_group(&mut self, args: &Args<'_>) -> u32 {
        let ranks = match args.group_ranks.kind {
            ValueKind::Text | ValueKind::Escaped => ranks(args.group_ranks.raw()),
            _ => args.group_ranks.nested().and_then(ranks),
        };
        let name = plain(args.group_name);
        let found = ProcessGroup::find(&self.process_groups, &name, ranks.as_deref().unwrap_or_default());
        let index = found.unwrap_or_else(|| {
            self.process_groups.push(ProcessGroup {
                name,
                ranks: Vec::new(),
                size: u64_from(args.group_size),
            });
            self.process_groups.len() - 1
        });
        let group = &mut self.process_groups[index];
        if let (Some(ranks), true) = (ranks, group.ranks.is_empty()) {
            group.ranks = ranks;
        }
        u32_from(index)
    }
}

/// Ranks of `[0, 1, 2]`; `None` if some are left out (`...`) or are not numbers.
fn ranks(raw: &[u8]) -> Option<Vec<u32>> {
    let text = std::str::from_utf8(raw).ok()?;
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let ranks: Option<Vec<u32>> = inner.split(',').map(|rank| rank.trim().parse().ok()).collect();
    ranks.filter(|ranks| !ranks.is_empty())
}

/// Bytes of the first input, by its shape and type; 0 if these are not given.
fn input_bytes(args: &Args<'_>) -> u64 {
    let dims = serde_json::from_slice::<Vec<serde_json::Value>>(args.input_dims).unwrap_or_default();
    let types = serde_json::from_slice::<Vec<String>>(args.input_types).unwrap_or_default();
    let of_input = |(dims, name): (&serde_json::Value, &String)| {
        let n = dims.as_array()?.iter().try_fold(1_u64, |n, dim| n.checked_mul(dim.as_u64()?))?;
        n.checked_mul(kinds::element_bytes(name)?)
    };
    dims.iter().zip(&types).next().and_then(of_input).unwrap_or(0)
}
