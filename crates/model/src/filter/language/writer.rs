//! Predicates to text that reads back.

use crate::filter::{NumberSet, Predicate, TextTest};
use std::fmt::{Display, Formatter, Result};

impl Display for Predicate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            // Of no parts: true and false in words that the language has.
            Predicate::All(parts) if parts.is_empty() => f.write_str("depth >= 0"),
            Predicate::Any(parts) if parts.is_empty() => f.write_str("depth < 0"),
            Predicate::All(parts) => joined(f, parts, " and "),
            Predicate::Any(parts) => joined(f, parts, " or "),
            Predicate::Not(part) if is_group(part) => write!(f, "not ({part})"),
            Predicate::Not(part) => write!(f, "not {part}"),
            Predicate::Name(test) => write!(f, "name {test}"),
            Predicate::Path(test) => write!(f, "path {test}"),
            Predicate::Within(test) => write!(f, "within {test}"),
            Predicate::Depth(set) => numbers(f, "depth", set, ""),
            Predicate::Rank(set) => numbers(f, "rank", set, ""),
            Predicate::Thread(set) => numbers(f, "thread", set, ""),
            Predicate::Enter(set) => numbers(f, "enter", set, "ns"),
            Predicate::Leave(set) => numbers(f, "leave", set, "ns"),
            Predicate::Inclusive(set) => numbers(f, "inclusive", set, "ns"),
            Predicate::Exclusive(set) => numbers(f, "exclusive", set, "ns"),
            Predicate::Time { start_ns, end_ns } if *end_ns == u64::MAX => write!(f, "time >= {start_ns}ns"),
            Predicate::Time { start_ns: 0, end_ns } => write!(f, "time < {end_ns}ns"),
            Predicate::Time { start_ns, end_ns } => write!(f, "time in {start_ns}ns..{end_ns}ns"),
            Predicate::Metric { metric, gain } => {
                numbers(f, &format!("metric({})", Quoted(metric)), gain, "")
            }
        }
    }
}

fn is_group(predicate: &Predicate) -> bool {
    matches!(predicate, Predicate::All(parts) | Predicate::Any(parts) if !parts.is_empty())
}

fn joined(f: &mut Formatter<'_>, parts: &[Predicate], word: &str) -> Result {
    for (i, part) in parts.iter().enumerate() {
        let word = if i == 0 { "" } else { word };
        if is_group(part) { write!(f, "{word}({part})") } else { write!(f, "{word}{part}") }?;
    }
    Ok(())
}

fn numbers(f: &mut Formatter<'_>, field: &str, set: &NumberSet, unit: &str) -> Result {
    match set.ranges() {
        [] => write!(f, "{field} < 0{unit}"),
        [(first, last)] if first == last => write!(f, "{field} = {first}{unit}"),
        [(0, last)] => write!(f, "{field} <= {last}{unit}"),
        [(first, u64::MAX)] => write!(f, "{field} >= {first}{unit}"),
        ranges => {
            let range = |&(first, last): &(u64, u64)| match (first == last, last, unit) {
                (true, ..) => format!("{first}{unit}"),
                (_, u64::MAX, "") => format!("{first}-"),
                (_, u64::MAX, _) => format!("{first}{unit}.."),
                (_, last, "") => format!("{first}-{last}"),
                (_, last, _) => format!("{first}{unit}..{}{unit}", last + 1),
            };
            write!(f, "{field} in {}", ranges.iter().map(range).collect::<Vec<_>>().join(", "))
        }
    }
}

impl Display for TextTest {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let list =
            |texts: &[String]| texts.iter().map(|t| Quoted(t).to_string()).collect::<Vec<_>>().join(", ");
        match self {
            TextTest::OneOf(texts) if texts.len() == 1 => write!(f, "= {}", list(texts)),
            TextTest::OneOf(texts) => write!(f, "in ({})", list(texts)),
            TextTest::Like(patterns) if patterns.len() == 1 => write!(f, "like {}", list(patterns)),
            TextTest::Like(patterns) => write!(f, "like ({})", list(patterns)),
        }
    }
}

/// A text in quotes.
struct Quoted<'t>(&'t str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""))
    }
}
