//! Places of call paths that a sentence can tell apart, by their callers.

/// Callers that are added to a place at most: more are a riddle, and each finding has its call paths beside it.
const MOST_CALLERS: usize = 3;

/// Places with callers where equal ones differ by them. `caller` gives the name of a place's nth caller, innermost first.
/// No name is added twice in a row, as all functions of a file without symbols have one name.
pub(crate) fn told_apart(
    places: Vec<String>,
    caller: impl Fn(usize, usize) -> Option<String>,
) -> Vec<String> {
    let mut places: Vec<(String, usize)> = places.into_iter().map(|place| (place, 0)).collect();
    for nth in 0.. {
        let is_twice = |i: &usize| places.iter().filter(|(place, _)| *place == places[*i].0).count() > 1;
        let twice = (0..places.len()).filter(|&i| places[i].1 < MOST_CALLERS).filter(is_twice);
        let longer: Vec<(usize, String)> = twice.filter_map(|i| Some((i, caller(i, nth)?))).collect();
        if longer.is_empty() {
            break;
        }
        for (i, caller) in longer {
            let (place, n) = &mut places[i];
            if place.rsplit(" in ").next() != Some(&*caller) {
                *place += &format!(" in {caller}");
                *n += 1;
            }
        }
    }
    places.into_iter().map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: &[&[&str]]) -> Vec<String> {
        let own = paths.iter().map(|path| path[0].to_owned()).collect();
        told_apart(own, |i, nth| paths[i].get(1 + nth).map(|name| (*name).to_owned()))
    }

    #[test]
    fn equal_places_get_the_callers_that_differ() {
        let paths: [&[&str]; 3] =
            [&["send", "forward", "run"], &["send", "reverse", "run"], &["build", "run"]];
        assert_eq!(of(&paths), ["send in forward", "send in reverse", "build"]);
        let deeper: [&[&str]; 2] = [&["send", "copy", "forward"], &["send", "copy", "reverse"]];
        assert_eq!(of(&deeper), ["send in copy in forward", "send in copy in reverse"]);
    }

    #[test]
    fn files_without_symbols_are_named_once() {
        let paths: [&[&str]; 2] = [
            &["MPI_Alltoall", "[pw.x]", "[pw.x]", "[pw.x]", "[pw.x]"],
            &["MPI_Alltoall", "[pw.x]", "[pw.x]", "[pw.x]", "[libc.so.6]"],
        ];
        assert_eq!(of(&paths), ["MPI_Alltoall in [pw.x]", "MPI_Alltoall in [pw.x] in [libc.so.6]"]);
    }

    #[test]
    fn long_chains_of_equal_callers_end() {
        let path: &[&str] = &["send", "a", "b", "c", "d", "e"];
        assert_eq!(of(&[path, path]), ["send in a in b in c"; 2]);
    }
}
