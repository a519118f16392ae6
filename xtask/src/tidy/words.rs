//! Words that do not belong into the repository.
//!
//! Paths of somebody's machine, hosts of package registries (every machine has its own),
//! promises without a name, tests that do not run. Each needle is written in two halves,
//! so that this file does not find itself.

use super::{Flaw, Source};

/// A needle and why it is a flaw.
type Rule = (&'static str, &'static str);

const PATHS: [Rule; 4] = [
    (concat!("/wo", "rk/"), "path of a machine"),
    (concat!("/tm", "p/"), "path of a machine; ask std::env::temp_dir or tempfile"),
    (concat!("/ro", "ot/"), "path of a machine"),
    (concat!("/ho", "me/"), "path of a machine"),
];

const HOSTS: [Rule; 6] = [
    (concat!("crates", ".io"), "host of a package registry"),
    (concat!("pypi", ".org"), "host of a package registry"),
    (concat!("pythonhosted", ".org"), "host of a package registry"),
    (concat!("debian", ".org"), "host of a package registry"),
    (concat!("npmjs", "."), "host of a package registry"),
    (concat!("proxy.golang", ".org"), "host of a package registry"),
];

const IGNORED_TEST: Rule = (concat!("#[ign", "ore"), "a test that does not run");
const PROMISE: &str = concat!("TO", "DO");

pub fn check(sources: &[Source]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    // Lock files name the registry in every entry: that is their format.
    for source in sources.iter().filter(|source| !source.has_extension("lock")) {
        for (line, text) in source.lines() {
            flaws.extend(flaws_of(source, text).map(|what| Flaw { path: source.path.clone(), line, what }));
        }
    }
    flaws
}

fn flaws_of<'s>(source: &'s Source, text: &'s str) -> impl Iterator<Item = String> + 's {
    let ignored = source.has_extension("rs").then_some(IGNORED_TEST);
    let rules = PATHS.iter().chain(&HOSTS).copied().chain(ignored);
    let found = rules.filter(|(needle, _)| text.contains(needle));
    let nameless =
        has_nameless_promise(text).then(|| format!("{PROMISE} without a name: write {PROMISE}(name)"));
    found.map(|(needle, why)| format!("{needle:?}: {why}")).chain(nameless)
}

/// The word on its own and not followed by `(name)`.
fn has_nameless_promise(text: &str) -> bool {
    text.match_indices(PROMISE).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + PROMISE.len()..];
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let named = after.strip_prefix('(').is_some_and(|rest| rest.find(')').is_some_and(|end| 0 < end));
        !is_word(before) && !is_word(after.chars().next()) && !named
    })
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn n_flaws(path: &str, text: &str) -> usize {
        check(&[source(path, text)]).len()
    }

    #[test]
    fn each_needle_is_found() {
        for (needle, _) in PATHS.iter().chain(&HOSTS) {
            assert_eq!(n_flaws("docs/a.md", &format!("see {needle}x\n")), 1, "{needle}");
        }
        assert_eq!(n_flaws("Cargo.lock", HOSTS[0].0), 0);
    }

    #[test]
    fn promises_have_names() {
        assert_eq!(n_flaws("a.rs", &format!("// {PROMISE}: later\n")), 1);
        assert_eq!(n_flaws("a.rs", &format!("// {PROMISE}() later\n")), 1);
        assert_eq!(n_flaws("a.rs", &format!("// {PROMISE}(ada): later\n// MAS{PROMISE}NS\n")), 0);
    }

    #[test]
    fn ignored_tests_are_flaws_in_code_only() {
        let attribute = format!("    {}]\n", IGNORED_TEST.0);
        assert_eq!((n_flaws("a.rs", &attribute), n_flaws("STYLE.md", &attribute)), (1, 0));
    }
}
