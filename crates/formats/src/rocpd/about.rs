//! What a database says of a process: its host, its name and rank, its threads, devices and streams.

use super::tables::RocpdTables;
use crate::nsight::database::ScanError;
use crate::nsight::reports::{About, RANK_VARIABLES};
use ouzel_model::ReadError;
use std::collections::BTreeMap;

/// The context of all streams of a device: HIP has one for each process.
pub(super) const CONTEXT: i64 = -1;

/// The id of a process in the tables of Nsight Systems, whose lowest bytes are the thread.
pub(super) fn global_pid(pid: i64) -> u64 {
    (pid.cast_unsigned() & 0xff_ffff) << 24
}

/// Reads the tables about the run. What is missing or damaged stays empty.
///
/// # Errors
/// If the strings cannot be read.
pub(super) fn read(tables: &RocpdTables) -> Result<About, ReadError> {
    let mut about = About::default();
    "rocprofv3".clone_into(&mut about.product);
    // Damage of these tables costs names only.
    let scan =
        |table: &str, columns: &[&str], take: &mut dyn FnMut(&crate::nsight::database::QueryRow<'_, '_>)| {
            let read = tables.database.scan(&tables.name(table), columns, None, |row| {
                take(row);
                Ok(())
            });
            match read {
                Err(ScanError::Fatal(error)) => Err(error),
                _ => Ok(()),
            }
        };
    scan("metadata", &["tag", "value"], &mut |row| {
        if row.bytes(0) == Some(b"schema_version") {
            about.schema = format!("rocpd {}", row.text(1).unwrap_or_default());
        }
    })?;
    let mut machines: BTreeMap<i64, String> = BTreeMap::new();
    scan("info_node", &["id", "hostname", "machine_id"], &mut |row| {
        about.host = row.text(1).unwrap_or_default();
        machines.insert(row.int(0).unwrap_or(0), row.text(2).unwrap_or_default());
    })?;
    scan("info_process", &["id", "command", "environment", "init"], &mut |row| {
        let Some(pid) = row.int(0) else { return };
        if let Some(command) = row.text(1) {
            let program = command.split(' ').next().unwrap_or_default();
            let name = program.rsplit('/').next().unwrap_or(program);
            about.process_names.insert(global_pid(pid), name.to_owned());
        }
        about.environment_rank = row.text(2).and_then(|text| rank(&text)).or(about.environment_rank);
    })?;
    scan("info_thread", &["pid", "tid", "name"], &mut |row| {
        if let (Some(pid), Some(tid), Some(name)) = (row.int(0), row.int(1), row.text(2)) {
            about.thread_names.insert(global_pid(pid) | tid.cast_unsigned(), name);
        }
    })?;
    let columns = ["id", "nid", "pid", "type", "type_index", "product_name", "name", "absolute_index"];
    scan("info_agent", &columns, &mut |row| {
        let (Some(id), Some(pid)) = (row.int(0), row.int(2)) else { return };
        if row.bytes(3) != Some(b"GPU") {
            return;
        }
        let number = row.int(4).unwrap_or(id);
        let name = row.text(5).filter(|name| !name.is_empty()).or_else(|| row.text(6)).unwrap_or_default();
        let machine = machines.get(&row.int(1).unwrap_or(0)).cloned().unwrap_or_default();
        let uuid = format!("{machine} agent {}", row.int(7).unwrap_or(id));
        about.add_device((pid, number), id, &name, &uuid);
    })?;
    Ok(about)
}

/// The rank in an environment, which is an object of JSON.
fn rank(environment: &str) -> Option<u32> {
    let environment: BTreeMap<String, serde_json::Value> = serde_json::from_str(environment).ok()?;
    let number = |name: &&str| environment.get(*name)?.as_str()?.trim().parse().ok();
    RANK_VARIABLES.iter().find_map(number)
}
