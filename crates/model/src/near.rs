//! Names that are spelled much like one that is not there: what somebody who mistyped it may have meant.
//!
//! Law: the most similar first, then by name; each once; upper and lower case are the same.

/// Letters of a name for each of which may be mistyped: one in three.
const LETTERS_PER_SLIP: usize = 3;

/// Shorter names are contained in too many others.
const CONTAINED_MIN: usize = 3;

/// The `n_max` names that contain `wanted` or are spelled much like it. Wildcards of a pattern count as nothing.
///
/// ```
/// use ouzel_model::near_names;
///
/// assert_eq!(near_names("slove", ["main", "solve"], 3), ["solve"]);
/// assert_eq!(near_names("*send*", ["MPI_Send", "MPI_Recv"], 3), ["MPI_Send"]);
/// ```
pub fn near_names<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>, n_max: usize) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase().replace(['*', '?'], "");
    let n_letters = wanted.chars().count();
    let distance = |name: &str| {
        let name = name.to_lowercase();
        let is_part = CONTAINED_MIN <= n_letters && name.contains(&wanted);
        if is_part { 0 } else { strsim::osa_distance(&name, &wanted) }
    };
    let mut near: Vec<(usize, &str)> = names.into_iter().map(|name| (distance(name), name)).collect();
    near.retain(|(distance, _)| *distance <= n_letters / LETTERS_PER_SLIP);
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(n_max).map(|(_, name)| name).collect()
}

/// What follows a message about an unknown name; nothing without names near it.
pub fn did_you_mean<T: AsRef<str>>(near: &[T]) -> String {
    if near.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = near.iter().map(AsRef::as_ref).collect();
    format!("; did you mean {}?", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_near_a_mistyped_one_come_in_order_of_distance() {
        let there = ["main", "MPI_Send", "MPI_Ssend", "MPI_Isend", "MPI_Recv", "solve", "solve"];
        for (wanted, near) in [
            ("MPI_Semd", &["MPI_Send", "MPI_Isend"][..]),
            ("mpi_send", &["MPI_Send", "MPI_Isend"]),
            ("MPI_Rcv*", &["MPI_Recv"]),
            ("slove", &["solve"]),
            ("n*", &[]),
            ("write", &[]),
            ("", &[]),
        ] {
            assert_eq!(near_names(wanted, there, 2), near, "{wanted}");
        }
    }

    #[test]
    fn nothing_near_is_not_mentioned() {
        assert_eq!(did_you_mean::<&str>(&[]), "");
        assert_eq!(did_you_mean(&["a", "b"]), "; did you mean a, b?");
    }
}
