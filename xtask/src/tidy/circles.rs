//! Files of a crate do not import each other in a circle.
//!
//! An import is a `use` declaration outside of tests. A folder's `mod.rs` and the files below it are one thing seen
//! from outside and from inside, so imports between a module and those above or below it do not count.

use super::{Flaw, Source, shipped_lines};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Where a circle is the shape of the matter: a file of each one, and why.
const EXEMPT: &[(&str, &str)] = &[
    (
        "crates/formats/src/chrome/collect.rs",
        "the collector owns the state of each kind of event, whose file extends it",
    ),
    (
        "crates/otf2/src/records/enums.rs",
        "a field is a number, an enumeration or a list, and lists have fields",
    ),
];

/// A module by its names from the root of the crate.
type Module = Vec<String>;

/// What each module imports, with the line.
type Imports = BTreeMap<Module, BTreeMap<Module, usize>>;

pub(super) fn check(sources: &[Source]) -> Vec<Flaw> {
    let mut crates: BTreeMap<&str, BTreeMap<Module, &Source>> = BTreeMap::new();
    for source in sources {
        if let Some((krate, module)) = place(&source.path) {
            crates.entry(krate).or_default().insert(module, source);
        }
    }
    let mut flaws = Vec::new();
    for files in crates.values() {
        let imports = imports(files);
        for circle in circles(&imports) {
            let paths: Vec<&str> = circle.iter().map(|module| files[module].path.as_str()).collect();
            if paths.iter().any(|path| EXEMPT.iter().any(|(exempt, _)| exempt == path)) {
                continue;
            }
            let names: Vec<String> = circle.iter().chain(&circle[..1]).map(|it| it.join("::")).collect();
            let line = imports[&circle[0]].get(circle.get(1).unwrap_or(&circle[0])).copied().unwrap_or(1);
            let what = format!("files import each other in a circle: {}", names.join(" -> "));
            flaws.push(Flaw { path: paths[0].to_owned(), line, what });
        }
    }
    flaws
}

/// The crate of a file that is no test, and its module.
fn place(path: &str) -> Option<(&str, Module)> {
    let (krate, file) = path.split_once("/src/")?;
    let mut module: Module = file.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    let is_test = |name: &String| name == "tests" || name.ends_with("_tests");
    if module.iter().any(is_test) || module.first().is_some_and(|name| name == "bin") {
        return None;
    }
    module.pop_if(|name| matches!(name.as_str(), "mod" | "lib" | "main"));
    Some((krate, module))
}

fn imports(files: &BTreeMap<Module, &Source>) -> Imports {
    let of_file = |(module, source): (&Module, &&Source)| {
        let mut found = BTreeMap::new();
        for (line, path) in declarations(source) {
            let to = resolved(module, &path, files);
            let is_beside = |to: &Module| !module.starts_with(to) && !to.starts_with(module);
            if let Some(to) = to.filter(is_beside) {
                found.entry(to).or_insert(line);
            }
        }
        (module.clone(), found)
    };
    files.iter().map(of_file).collect()
}

/// The paths of the `use` declarations of a file, each with its line.
fn declarations(source: &Source) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let mut is_for_others = false;
    for (number, line) in shipped_lines(source) {
        let line = line.split("//").next().unwrap_or_default().trim();
        let begins = line.strip_prefix("use ").or_else(|| {
            let (visibility, rest) = line.split_once(" use ")?;
            (visibility.starts_with("pub") && !visibility.contains(' ')).then_some(rest)
        });
        match (&mut open, begins) {
            (Some((_, text)), _) => text.push_str(line),
            (None, Some(rest)) if !is_for_others => open = Some((number, rest.to_owned())),
            (None, _) => {}
        }
        is_for_others = matches!(line, "#[cfg(test)]" | "#[cfg(doc)]");
        if let Some((line, text)) = open.take_if(|(_, text)| text.ends_with(';')) {
            expand(&mut Vec::new(), text.trim_end_matches(';'), &mut |path| found.push((line, path)));
        }
    }
    found
}

/// Calls `found` for each path in `a::{b, c::{d, e}}`.
fn expand(above: &mut Vec<String>, text: &str, found: &mut impl FnMut(Vec<String>)) {
    let n_above = above.len();
    let (names, group) = match text.split_once('{') {
        Some((names, group)) => (names, Some(group.strip_suffix('}').unwrap_or(group))),
        None => (text, None),
    };
    let names = names.split("::").map(|name| name.split(" as ").next().unwrap_or_default().trim());
    above.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
    match group {
        None => found(above.clone()),
        Some(group) => {
            let (mut depth, mut begin) = (0_usize, 0);
            for (at, sign) in group.char_indices() {
                match sign {
                    '{' => depth += 1,
                    '}' => depth = depth.saturating_sub(1),
                    ',' if depth == 0 => {
                        expand(above, group[begin..at].trim(), found);
                        begin = at + 1;
                    }
                    _ => {}
                }
            }
            if !group[begin..].trim().is_empty() {
                expand(above, group[begin..].trim(), found);
            }
        }
    }
    above.truncate(n_above);
}

/// The file that a path leads to, if it is of the same crate.
fn resolved(from: &Module, path: &[String], files: &BTreeMap<Module, &Source>) -> Option<Module> {
    let mut to: Module = match path.first()?.as_str() {
        "crate" => Module::new(),
        "super" | "self" => from.clone(),
        first => {
            let below = [from.as_slice(), &[first.to_owned()]].concat();
            if !files.contains_key(&below) {
                return None;
            }
            from.clone()
        }
    };
    for name in path {
        match name.as_str() {
            "crate" | "self" => {}
            "super" => drop(to.pop()),
            name => to.push(name.to_owned()),
        }
    }
    while !files.contains_key(&to) {
        to.pop()?;
    }
    Some(to)
}

/// For each set of modules that all lead to each other, the shortest circle through the first of them.
fn circles(imports: &Imports) -> Vec<Vec<Module>> {
    let mut found = Vec::new();
    let mut seen: BTreeSet<&Module> = BTreeSet::new();
    for module in imports.keys() {
        if seen.contains(module) {
            continue;
        }
        let Some(circle) = shortest_circle(imports, module) else { continue };
        seen.extend(imports.keys().filter(|&other| {
            reached(imports, module).contains_key(other) && reached(imports, other).contains_key(module)
        }));
        found.push(circle);
    }
    found
}

/// What a module leads to, each with the module before it on a shortest way.
fn reached<'a>(imports: &'a Imports, from: &'a Module) -> BTreeMap<&'a Module, &'a Module> {
    let mut before = BTreeMap::new();
    let mut pending = VecDeque::from([from]);
    while let Some(module) = pending.pop_front() {
        for to in imports.get(module).into_iter().flat_map(BTreeMap::keys) {
            if !before.contains_key(to) {
                before.insert(to, module);
                pending.push_back(to);
            }
        }
    }
    before
}

fn shortest_circle(imports: &Imports, module: &Module) -> Option<Vec<Module>> {
    let before = reached(imports, module);
    let mut circle = vec![*before.get(module)?];
    while let Some(&last) = circle.last().filter(|last| **last != module) {
        circle.push(before[last]);
    }
    Some(circle.into_iter().rev().cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::check;

    fn flaws(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files.iter().map(|(path, text)| source(path, text)).collect();
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_circle_is_named_once() {
        let files = [
            ("crates/x/src/a/mod.rs", "mod b;\nmod c;\nmod d;\n"),
            ("crates/x/src/a/b.rs", "use std::fmt;\nuse super::{\n    c::{C, E},\n    D,\n};\n"),
            ("crates/x/src/a/c.rs", "// use super::e;\npub(crate) use crate::a::d::D as F;\n"),
            ("crates/x/src/a/d.rs", "use super::b::B;\n"),
            ("crates/y/src/b.rs", "use crate::a::A;\n"),
        ];
        let what = "files import each other in a circle: a::b -> a::c -> a::d -> a::b";
        assert_eq!(flaws(&files), [format!("crates/x/src/a/b.rs:2: {what}")]);
    }

    #[test]
    fn tests_documentation_and_the_face_of_a_folder_make_none() {
        let files = [
            ("crates/x/src/lib.rs", "mod a;\nmod b;\npub use a::A;\n"),
            (
                "crates/x/src/a.rs",
                "use crate::B;\n#[cfg(doc)]\nuse crate::b::C;\n#[cfg(test)]\nmod tests {\nuse crate::b::D;\n",
            ),
            ("crates/x/src/b.rs", "use crate::a::A;\nuse crate::tests::T;\n"),
            ("crates/x/src/tests.rs", "use crate::b::B;\n"),
        ];
        assert_eq!(flaws(&files), Vec::<String>::new());
    }
}
