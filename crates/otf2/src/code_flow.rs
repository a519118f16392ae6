//! What the code of a recorded program says of a loop or function, as a property of a calling context.
//!
//! The format has no place for it. The value of the property [`FLOW_PROPERTY`] is text, one line for each call, inlined
//! function or inner loop directly in the loop or function: its source line, `call` or `loop`, the lines of the text (from
//! 0) with what can run after it in one iteration or call, as ranges, and the function called. `call!` and `loop!` are parts that no
//! iteration before another and no call can do without. Other readers show it as it is.
//!
//! ```text
//! 12 call! 1-2 relax
//! 14 loop 2
//! 19 call - MPI_Allreduce
//! ```

use std::fmt::Write;

/// The property of the calling context of a loop or function of the code.
pub const FLOW_PROPERTY: &str = "OUZEL::LOOP";

/// Most parts: more than the writer ever has.
const PARTS_MAX: usize = 1024;

/// A part of a loop or function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodePartText {
    /// The source line; 0 if unknown.
    pub line: u32,
    /// Whether it is a loop.
    pub is_loop: bool,
    /// Whether no iteration that is followed by another, and no call that returns, can do without it.
    pub is_always: bool,
    /// The places of parts that can run after it in one iteration or call.
    pub after: Vec<u32>,
    /// The function called; empty if unknown.
    pub function: String,
}

/// The value of the property.
pub fn text_of_parts(parts: &[CodePartText]) -> String {
    let mut text = String::new();
    for CodePartText { line, is_loop, is_always, after, function } in parts {
        let kind = if *is_loop { "loop" } else { "call" };
        let always = if *is_always { "!" } else { "" };
        let after = if after.is_empty() { "-".to_owned() } else { text_of_places(after) };
        let function = function.replace('\n', " ");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line} {kind}{always} {after} {function}");
    }
    text
}

/// Ascending places: `1-3,7`.
fn text_of_places(places: &[u32]) -> String {
    let runs = places.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let text = |run: &[u32]| match run {
        [first, .., last] => format!("{first}-{last}"),
        run => run.first().map_or_else(String::new, u32::to_string),
    };
    runs.map(text).collect::<Vec<_>>().join(",")
}

fn places_of_text(list: &str) -> Option<Vec<u32>> {
    let mut places = Vec::new();
    for run in list.split(',') {
        let (first, last) = run.split_once('-').unwrap_or((run, run));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || PARTS_MAX <= last as usize || PARTS_MAX <= places.len() {
            return None;
        }
        places.extend(first..=last);
    }
    Some(places)
}

/// The parts that a value says; none if it is damaged.
pub fn parts_of_text(text: &str) -> Option<Vec<CodePartText>> {
    let n = text.lines().count();
    if PARTS_MAX < n {
        return None;
    }
    let part = |line: &str| {
        let mut words = line.splitn(4, ' ');
        let number = words.next()?.parse().ok()?;
        let (is_loop, is_always) = match words.next()? {
            "loop" => (true, false),
            "loop!" => (true, true),
            "call" => (false, false),
            "call!" => (false, true),
            _ => return None,
        };
        let mut after: Vec<u32> = match words.next()? {
            "-" => Vec::new(),
            list => places_of_text(list)?,
        };
        after.sort_unstable();
        after.dedup();
        let is_inside = after.last().is_none_or(|&last| (last as usize) < n);
        let function = words.next().unwrap_or_default().to_owned();
        is_inside.then_some(CodePartText { line: number, is_loop, is_always, after, function })
    };
    text.lines().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_they_were_written() {
        let part = |line, is_loop, after: &[u32], function: &str| CodePartText {
            line,
            is_loop,
            is_always: function == "MPI_Allreduce" || is_loop,
            after: after.to_vec(),
            function: function.to_owned(),
        };
        let parts = [
            part(12, false, &[1, 2], "relax(double*, int)"),
            part(14, true, &[2], ""),
            part(0, false, &[], "MPI_Allreduce"),
        ];
        let text = text_of_parts(&parts);
        assert_eq!(text, "12 call 1-2 relax(double*, int)\n14 loop! 2 \n0 call! - MPI_Allreduce\n");
        assert_eq!(parts_of_text(&text).as_deref(), Some(&parts[..]));
        assert_eq!(parts_of_text(""), Some(Vec::new()));
    }

    #[test]
    fn damaged_values_say_nothing() {
        for text in [
            "x call - f",
            "1 call 1 f",
            "1 jump - f",
            "1 call",
            "1 call!! - f",
            "1 call 0-9999999 f",
            "1 call 0-0-0 f",
            "1 call 1-0 f\n2 call - g",
            "1 call 0,,1 f\n2 call - g",
            "-1 call - f",
        ] {
            assert_eq!(parts_of_text(text), None, "{text:?}");
        }
        assert_eq!(parts_of_text(&"1 call - f\n".repeat(PARTS_MAX + 1)), None);
    }
}
