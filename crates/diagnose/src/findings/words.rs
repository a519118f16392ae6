//! Numbers in sentences.

use ouzel_model::units;

/// `12.3 %`, like every other percentage of a page.
pub(crate) fn percent(ratio: f64) -> String {
    units::percent(Some(ratio))
}

/// The same text, beginning with a capital.
pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// `s` unless there is one only.
pub(super) fn plural(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_begin_with_a_capital() {
        assert_eq!(capitalised("rank 3"), "Rank 3");
    }
}
