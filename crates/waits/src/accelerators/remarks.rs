//! What is to be said beside answers about accelerators.

use super::AcceleratorsOutput;
use crate::devices::calls::DeviceApi;
use crate::devices::streams::Linking;
use ouzel_model::{Definitions, Level, LocationGroupId, Notice, NoticeCode};

impl AcceleratorsOutput {
    /// What the report has to say beside losses: who shares a device, and which copies cannot be judged.
    pub fn remarks(&self, definitions: &Definitions) -> Vec<Notice> {
        let mut n_unknown = 0;
        for process in self.processes(definitions) {
            let is_async = process.calls().any(|(_, call)| call.api == DeviceApi::AsyncCopy);
            if !is_async || process.linking == Linking::Recorded {
                continue;
            }
            for stream in &process.streams {
                let of_stream = stream.operations.iter().zip(&stream.launches);
                n_unknown +=
                    of_stream.filter(|(it, launch)| !it.is_kernel && launch.is_none()).count() as u64;
            }
        }
        let mut remarks = shared_devices(definitions);
        if 0 < n_unknown {
            let message = format!(
                "which call started {n_unknown} copies is not recorded, and does not follow from their order: whether the \
                 host waits for them at once is not known"
            );
            remarks.push(Notice::new(Level::Low, NoticeCode::NotAvailable, message));
        }
        remarks
    }
}

/// One for each device that several processes drive.
pub(super) fn shared_devices(definitions: &Definitions) -> Vec<Notice> {
    let notice = |of: &Vec<(LocationGroupId, LocationGroupId)>| {
        let mut drivers: Vec<LocationGroupId> = of.iter().map(|it| it.1).collect();
        drivers.sort_unstable();
        drivers.dedup();
        let name = |id: &LocationGroupId| {
            let group = &definitions.location_groups[id.index()];
            group.rank.map_or_else(|| format!("{:?}", group.name), |rank| format!("rank {rank}"))
        };
        let names: Vec<String> = drivers.iter().map(name).collect();
        let (last, first) = names.split_last()?;
        let device = &definitions.location_groups[of.first()?.0.index()].name;
        let message = format!(
            "{} and {last} share one device ({device}): what a stream waits while the other process uses it has the cause \
             other stream",
            first.join(", ")
        );
        Some(Notice::new(Level::Low, NoticeCode::NotAvailable, message))
    };
    definitions.shared_devices().iter().filter_map(notice).collect()
}
