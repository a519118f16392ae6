//! Names of functions as people say them.

use std::borrow::Cow;

/// The region of calls that sleep, as `ouzel record` writes it: not the name of a function, as those of `nanosleep` and its
/// kin are taken for waiting for other threads, which is not known of a program that calls them itself.
pub const SLEEPING: &str = "[sleeping]";

/// The region of threads that do not run, blocked or because others have the processors: where their processor time is
/// known, as `ouzel record` writes it.
pub const NOT_RUNNING: &str = "[not running]";

/// The metric of the processor time of a thread, as `perf` and `ouzel record` name it.
pub const PROCESSOR_TIME: &str = "task-clock";

/// The name of a C++ function without its result, parameters and template arguments; any other name as it is.
///
/// `void Foo::bar<int>(double*, int) const` becomes `Foo::bar<…>`.
pub fn short_name(name: &str) -> Cow<'_, str> {
    let Some(open) = parameters(name) else { return Cow::Borrowed(name) };
    let function = &name[..open];
    let mut short = String::new();
    let mut depth = 0_u32;
    for (at, c) in function.char_indices() {
        // The arrows of operators are no brackets.
        let is_operator = function[..at].trim_end_matches(['<', '>', '-', '=']).ends_with("operator");
        match c {
            '<' if !is_operator => {
                depth += 1;
                if depth == 1 {
                    short.push_str("<…>");
                }
            }
            '>' if !is_operator => depth = depth.saturating_sub(1),
            // What comes before is the type of the result.
            ' ' if depth == 0 && !short.ends_with("operator") && !short.ends_with("(anonymous") => {
                short.clear();
            }
            _ if depth == 0 => short.push(c),
            _ => {}
        }
    }
    if short.is_empty() { Cow::Borrowed(name) } else { Cow::Owned(short) }
}

/// Where the list of parameters begins, if the name ends with one.
fn parameters(name: &str) -> Option<usize> {
    let end = name.trim_end();
    let end = end.split_once(" [clone").map_or(end, |(before, _)| before);
    let end = end.strip_suffix(" const").unwrap_or(end);
    let inner = end.strip_suffix(')')?;
    // The bracket that closes with the last one.
    let mut depth = 1;
    let open = inner.char_indices().rev().find_map(|(at, c)| {
        depth += i32::from(c == ')') - i32::from(c == '(');
        (depth == 0).then_some(at)
    })?;
    let before = name[..open].chars().next_back()?;
    // "outlined from main.c:12 (3)" has no parameters.
    (!before.is_whitespace()).then_some(open)
}

/// The name of a function without scopes, parameters and arguments of templates, and without what compilers of Fortran
/// add to it: what the names that sources, symbols and debug information have for a function have in common.
///
/// `ns::Solver::run(int)` becomes `run`, `__grid_MOD_update` becomes `update`.
pub fn plain_name(name: &str) -> &str {
    const UNNAMED: &str = "(anonymous namespace)";
    let name = name.strip_prefix("__").and_then(|rest| rest.split_once("_MOD_")).map_or(name, |(_, it)| it);
    if name.contains("operator") {
        return name;
    }
    let is_end = |&(at, _): &(usize, &str)| 0 < at && !name[at..].starts_with(UNNAMED);
    let end = name.match_indices(['(', '<']).find(is_end).map_or(name.len(), |(at, _)| at);
    let last = name[..end].rsplit("::").next().unwrap_or(name).trim_end_matches('_');
    if last.is_empty() { name } else { last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_lose_parameters_results_and_template_arguments() {
        for (name, expected) in [
            ("CommSend(Domain&, int, double& (Domain::**)(int), bool)", "CommSend"),
            ("ddot(int, double const*, double&)", "ddot"),
            ("void Foo::bar<int>(double*, int) const", "Foo::bar<…>"),
            (
                "void at::native::kernel<4, at::Op<float>, std::array<char*, 2ul> >(int, at::Op<float>)",
                "at::native::kernel<…>",
            ),
            ("Foo::operator()(int)", "Foo::operator()"),
            ("Foo::operator<(Foo const&)", "Foo::operator<"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("LagrangeNodal(Domain&) [clone .omp_fn.0]", "LagrangeNodal"),
            ("MPI_Send", "MPI_Send"),
            ("!$omp parallel @a.c:3", "!$omp parallel @a.c:3"),
            ("outlined from main.c:12 (3)", "outlined from main.c:12 (3)"),
            ("(main)", "(main)"),
            ("", ""),
        ] {
            assert_eq!(short_name(name), expected, "{name}");
        }
    }

    #[test]
    fn names_of_compilers_and_sources_have_a_part_in_common() {
        for (name, expected) in [
            ("solve", "solve"),
            ("solve_", "solve"),
            ("__grid_MOD_update", "update"),
            ("ns::Solver::run(int)", "run"),
            ("(anonymous namespace)::Solver::run(std::vector<int> const&)", "run"),
            ("repeat<ns::A, f(int)>(int)", "repeat"),
            ("operator()", "operator()"),
            ("__", "__"),
        ] {
            assert_eq!(plain_name(name), expected);
        }
    }
}
