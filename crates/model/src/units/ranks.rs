//! Ranks for people: runs and series instead of long lists.
//!
//! Findings also carry them in the form that `--ranks` takes.

/// Ascending ranks in about `room` characters: `0–3, 8`, `4, 8, …, 60`; the number of the others is added.
pub fn text(ranks: &[u32], room: usize) -> String {
    let parts = parts(ranks);
    let mut text = String::new();
    let mut n_told = 0;
    for (i, (part, n)) in parts.iter().enumerate() {
        let longer = if i == 0 { part.clone() } else { format!("{text}, {part}") };
        if room < longer.chars().count() && i != 0 {
            return format!("{text} and {} more", super::count((ranks.len() - n_told) as u64));
        }
        text = longer;
        n_told += n;
    }
    text
}

/// `rank 3`, `ranks 3 and 4`, `ranks 0–3, 8` or `no rank`.
pub fn named(ranks: &[u32], room: usize) -> String {
    match ranks {
        [] => "no rank".to_owned(),
        [rank] => format!("rank {rank}"),
        [one, other] => format!("ranks {one} and {other}"),
        _ => format!("ranks {}", text(ranks, room)),
    }
}

/// Fewest ranks at equal distances that are written with an ellipsis.
const N_STRIDED: usize = 6;

/// Pieces of text with the number of ranks in each: runs, then series of equal distance, then single ranks.
fn parts(ranks: &[u32]) -> Vec<(String, usize)> {
    let mut parts = Vec::new();
    let mut rest = ranks;
    while let [first, ..] = *rest {
        let stride = rest.get(1).map_or(0, |second| second.saturating_sub(first));
        let n = 1 + rest.windows(2).take_while(|pair| pair[1].saturating_sub(pair[0]) == stride).count();
        let last = rest[n - 1];
        let (part, n) = match n {
            1 => (first.to_string(), 1),
            n if stride == 1 && 2 < n => (format!("{first}–{last}"), n),
            n if N_STRIDED <= n => (format!("{first}, {}, …, {last}", first + stride), n),
            _ => (first.to_string(), 1),
        };
        parts.push((part, n));
        rest = &rest[n..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ranks: &[u32], expected: &str) {
        assert_eq!(text(ranks, 40), expected);
    }

    #[test]
    fn ranks_are_written_short() {
        check(&[0], "0");
        check(&[0, 1], "0, 1");
        check(&[0, 1, 2, 3, 8], "0–3, 8");
        check(&[4, 8, 12, 16, 60], "4, 8, 12, 16, 60");
        check(&[4, 8, 12, 16, 20, 24, 60], "4, 8, …, 24, 60");
        check(&[0, 2, 4, 5, 6], "0, 2, 4–6");
        assert_eq!(
            text(&(0..8).map(|i| i * i * 1000).collect::<Vec<_>>(), 20),
            "0, 1000, 4000, 9000 and 4 more"
        );
        assert_eq!(
            [named(&[], 9), named(&[3], 9), named(&[3, 4], 9)],
            ["no rank", "rank 3", "ranks 3 and 4"]
        );
    }
}
