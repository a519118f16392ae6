//! What is to be said beside answers about accelerators.

use crate::devices::calls::DeviceApi;
use crate::devices::streams::{DeviceProcess, Linking, Stream};
use ouzel_model::units::count;
use ouzel_model::{Definitions, Level, LocationGroupId, Notice, NoticeCode};

/// What has to be said beside answers: who shares a device, and that of so many copies it is not known which call
/// started them.
pub(super) fn remarks(n_unknown_copies: u64, definitions: &Definitions) -> Vec<Notice> {
    let mut remarks = shared_devices(definitions);
    if 0 < n_unknown_copies {
        let message = format!(
            "which call started {} copies is not recorded, and does not follow from their order: whether the host waits for \
             them at once is not known",
            count(n_unknown_copies)
        );
        remarks.push(Notice::new(Level::Low, NoticeCode::NotAvailable, message));
    }
    remarks
}

/// Copies of a process of which it is not known which call started them.
pub(super) fn unknown_copies(process: &DeviceProcess<'_>) -> u64 {
    let is_async = process.calls().any(|(_, call)| call.api == DeviceApi::AsyncCopy);
    if !is_async || process.linking == Linking::Recorded {
        return 0;
    }
    let of_stream = |stream: &Stream<'_>| {
        let copies = stream.operations.iter().zip(&stream.launches);
        copies.filter(|(it, launch)| !it.is_kernel && launch.is_none()).count() as u64
    };
    process.streams.iter().map(of_stream).sum()
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
