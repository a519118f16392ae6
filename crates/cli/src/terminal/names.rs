//! Names of regions and call paths on pages: short, and whole in files for programs.

use super::style::{clean, shortened};
use ouzel::diagnose::NO_REGION;
use ouzel::model::short_name;

/// A region's name as people say it, safe for a terminal; JSON has the whole one.
pub fn region(name: &str) -> String {
    clean(&short_name(name))
}

/// The call path in at most `room` characters: the innermost regions are the most important. Names are short.
pub fn call_path<T: AsRef<str>>(regions: &[T], room: usize) -> String {
    if regions.is_empty() {
        return format!("({NO_REGION})");
    }
    let mut text = String::new();
    for (i, region) in regions.iter().rev().enumerate() {
        let region = self::region(region.as_ref());
        let longer = if i == 0 { region } else { format!("{region} › {text}") };
        let n_more = if i + 1 == regions.len() { 0 } else { ABOVE.chars().count() };
        if 0 < i && room < longer.chars().count() + n_more {
            return shortened(&format!("{ABOVE}{text}"), room.max(ABOVE.chars().count() + MIN_REGION));
        }
        text = longer;
    }
    shortened(&text, room)
}

/// The call paths of a table, each in at most its room. Those that would read alike begin with the caller that tells them
/// apart.
pub fn call_paths<T: AsRef<str> + PartialEq>(paths: &[(&[T], usize)]) -> Vec<String> {
    let mut texts: Vec<String> = paths.iter().map(|(path, room)| call_path(path, *room)).collect();
    let told_apart = |i: usize, texts: &[String]| {
        let (path, room) = paths[i];
        let alike = (0..paths.len()).filter(|&other| other != i && texts[other] == texts[i]);
        let n_common = |other: usize| path.iter().zip(paths[other].0).take_while(|(a, b)| a == b).count();
        let at = alike.map(n_common).min()?;
        let (caller, rest) = path.get(at..)?.split_first().filter(|(_, rest)| !rest.is_empty())?;
        let caller = shortened(&region(caller.as_ref()), (room / 3).max(MIN_REGION));
        let caller = format!("{}{caller} › ", if at == 0 { "" } else { ABOVE });
        let room = room.saturating_sub(caller.chars().count());
        (MIN_REGION < room).then(|| format!("{caller}{}", call_path(rest, room)))
    };
    // Of three, the caller that tells one from the others may leave two alike, which another caller tells apart.
    for _ in 0..MAX_ROUNDS {
        let told: Vec<String> =
            (0..paths.len()).map(|i| told_apart(i, &texts).unwrap_or_else(|| texts[i].clone())).collect();
        if told == texts {
            break;
        }
        texts = told;
    }
    texts
}

/// How often paths that read alike are told apart by another caller.
const MAX_ROUNDS: usize = 4;
/// Stands for callers that do not fit.
const ABOVE: &str = "… › ";
/// Characters of the innermost region that are always shown.
const MIN_REGION: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_paths_keep_their_innermost_regions() {
        let path = ["main", "timestep", "output", "write_hdf5"];
        assert_eq!(call_path(&path, 40), "main › timestep › output › write_hdf5");
        assert_eq!(call_path(&path, 37), "main › timestep › output › write_hdf5");
        assert_eq!(call_path(&path, 30), "… › output › write_hdf5");
        assert_eq!(call_path(&path, 12), "… › wr…_hdf5");
        assert_eq!(call_path(&path[3..], 8), "writ…df5");
        assert_eq!(call_path::<&str>(&[], 8), format!("({NO_REGION})"));
        let path = ["main", "CommSend(Domain&, int, double& (Domain::**)(int), bool)", "MPI_Wait"];
        assert_eq!(call_path(&path, 40), "main › CommSend › MPI_Wait");
    }

    #[test]
    fn call_paths_that_read_alike_are_told_apart() {
        let of = |root| [root, "start_thread", "gomp_thread_start", "compute", "loop at pair.cpp:113"];
        let (main, thread) = (of("main thread"), of("thread"));
        let other = ["main thread", "start_thread", "finish"];
        let texts = call_paths(&[(&main[..], 44), (&thread, 44), (&other, 44)]);
        let expected = [
            "main thread › … › loop at pair.cpp:113",
            "thread › … › compute › loop at pair.cpp:113",
            "main thread › start_thread › finish",
        ];
        assert_eq!(texts, expected);
        assert_eq!(call_paths(&[(&main[..], 24), (&main, 24)]), ["… › loop at pair.cpp:113"; 2]);
        let of = |step, part| ["main", "LagrangeLeapFrog", step, part, "CommSend", "MPI_Waitall"];
        let paths = [of("Nodal", "Force"), of("Elements", "Force"), of("Nodal", "Velocity")];
        let texts = call_paths(&paths.each_ref().map(|path| (&path[..], 30)));
        let expected = [
            "… › Force › … › MPI_Waitall",
            "… › Elements › … › MPI_Waitall",
            "… › Velocity › … › MPI_Waitall",
        ];
        assert_eq!(texts, expected);
    }
}
