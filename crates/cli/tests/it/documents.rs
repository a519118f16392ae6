//! No page of the documentation names a command or an option that there is not.
//!
//! Lines of shell blocks must be right as a whole; in other blocks and in the text, what follows may be prose. Shell
//! blocks also run (`blocks.rs`).

use crate::pages::{pages, path};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::fs;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Shell,
    Text,
}

/// Calls of `ouzel` in blocks and between backquotes.
fn calls(page: &str) -> Vec<(Place, &str)> {
    let mut calls = Vec::new();
    let mut block = None;
    for line in page.lines().map(str::trim) {
        match (line.strip_prefix("```"), block) {
            (Some(_), Some(_)) => block = None,
            (Some(info), None) => block = Some(if info == "sh" { Place::Shell } else { Place::Text }),
            (None, Some(place)) => calls.push((place, line.trim_start_matches("$ "))),
            (None, None) => calls.extend(line.split('`').skip(1).step_by(2).map(|code| (Place::Text, code))),
        }
    }
    // Lines of ARCHITECTURE.md say which crate uses which.
    calls.retain(|(_, call)| call.starts_with("ouzel ") && !call.starts_with("ouzel -> "));
    calls
}

/// The words of the first command of a line, without quotes and comment, up to what another program gets.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in line.chars().chain([' ']) {
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(open)) if open == letter => quote = None,
            (' ', None) if !word.is_empty() => words.push(std::mem::take(&mut word)),
            (' ', None) => {}
            _ => word.push(letter),
        }
    }
    let ends =
        |word: &String| ["|", ">", "<", "&&", ";", "--"].contains(&word.as_str()) || word.starts_with('#');
    let end = words.iter().position(ends).unwrap_or(words.len());
    words.truncate(end);
    words
}

/// What is wrong with a call, if anything is.
fn fault(place: Place, call: &str) -> Option<String> {
    let words = words(call).into_iter().chain(["--help".to_owned()]);
    let error = ouzel_cli::command_line().try_get_matches_from(words).expect_err("help is an error for clap");
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => name.as_str(),
        _ => "",
    };
    let is_name = |name: &str| name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
    let is_wrong = match error.kind() {
        ErrorKind::DisplayHelp => false,
        _ if place == Place::Shell => true,
        ErrorKind::UnknownArgument => named(ContextKind::InvalidArg).starts_with('-'),
        ErrorKind::InvalidSubcommand => is_name(named(ContextKind::InvalidSubcommand)),
        _ => false,
    };
    is_wrong.then(|| format!("{call}: {error}"))
}

#[test]
fn pages_name_only_commands_and_options_that_there_are() {
    let mut n_calls = 0;
    let mut faults = Vec::new();
    for name in pages() {
        let page = fs::read_to_string(path(&name)).expect("a page can be read");
        let calls = calls(&page);
        n_calls += calls.len();
        let of_page = calls.iter().filter_map(|(place, call)| fault(*place, call));
        faults.extend(of_page.map(|fault| format!("{name}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(300 <= n_calls, "only {n_calls} calls of ouzel were found");
}

#[test]
fn a_wrong_option_or_command_is_found() {
    assert_eq!(fault(Place::Text, "ouzel profile TRACE      time and counters"), None);
    assert_eq!(fault(Place::Shell, "ouzel calls run/ --where 'name like \"MPI_*\"' | wc -l  # all"), None);
    assert!(fault(Place::Shell, "ouzel profile TRACE      time and counters").is_some());
    for wrong in ["ouzel profile TRACE --regoin x", "ouzel profil TRACE"] {
        assert!(fault(Place::Text, wrong).is_some(), "{wrong}");
    }
}
