//! Values that a shell completes from the trace on the command line: names of regions and metrics.
//!
//! The generated scripts offer files for every value. Here their words for `--region` and `--metric` are replaced by a
//! function of the shell that asks `ouzel completions --names`. Law: a script without these words stays as it is.

use clap::ValueEnum;
use clap_complete::Shell;
use ouzel::Found;
use std::collections::BTreeSet;
use std::path::Path;

/// Names that a trace has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NamesOf {
    /// Code regions
    Region,
    /// Counters of a trace, metrics of a profile
    Metric,
}

/// The names in what is at `path`, sorted; only definitions are read. None if nothing there can be opened.
pub fn names(of: NamesOf, path: &Path) -> BTreeSet<String> {
    let mut found = Found::at(path);
    if let Ok(trace) = found.trace() {
        let definitions = trace.definitions();
        return match of {
            NamesOf::Region => definitions.regions.iter().map(|region| region.name.to_string()).collect(),
            NamesOf::Metric => {
                let counters = definitions.metrics.iter().filter(|metric| metric.is_counter());
                counters.map(|counter| counter.name.to_string()).collect()
            }
        };
    }
    let Ok(profile) = found.profile() else { return BTreeSet::new() };
    let definitions = profile.definitions();
    match of {
        NamesOf::Region => definitions.regions.iter().map(|region| region.name.to_string()).collect(),
        NamesOf::Metric => definitions.metrics.iter().map(|metric| metric.name.to_string()).collect(),
    }
}

const BASH: &str = r#"
_ouzel_names() {
    local trace name
    COMPREPLY=()
    for trace in "${COMP_WORDS[@]:2}"; do
        [[ $trace != -* && -e $trace ]] || continue
        while IFS= read -r name; do
            [[ $name == "$2"* ]] && COMPREPLY+=("$(printf '%q' "$name")")
        done < <(ouzel completions --names "$1" "$trace" 2>/dev/null)
        return 0
    done
}
"#;

const ZSH: &str = r#"
_ouzel_names() {
    local trace
    for trace in "${words[@]:2}"; do
        [[ $trace != -* && -e $trace ]] || continue
        compadd -- "${(@f)$(ouzel completions --names "$1" "$trace" 2>/dev/null)}"
        return 0
    done
    _default
}

"#;

const FISH: &str = "
function __ouzel_names
    for trace in (commandline -opc)[3..]
        if not string match -q -- '-*' $trace; and test -e $trace
            ouzel completions --names $argv[1] $trace 2>/dev/null
            return
        end
    end
end
complete -c ouzel -l region -x -a '(__ouzel_names region)'
complete -c ouzel -l metric -x -a '(__ouzel_names metric)'
";

/// The script with values from the trace; other shells get it as it is.
pub fn with_values(shell: Shell, script: String) -> String {
    match shell {
        Shell::Bash => in_bash(&script) + BASH,
        Shell::Zsh => in_zsh(&script),
        Shell::Fish => script + FISH,
        _ => script,
    }
}

const OPTIONS: [(&str, &str); 2] = [("--region", "region"), ("--metric", "metric")];

/// The line below `--region)` offers files.
fn in_bash(script: &str) -> String {
    let mut lines: Vec<String> = script.lines().map(str::to_owned).collect();
    for at in 1..lines.len() {
        let option = lines[at - 1].trim().trim_end_matches(')');
        let Some((_, name)) = OPTIONS.iter().find(|(long, _)| *long == option) else { continue };
        if let Some(indent) = lines[at].find("COMPREPLY=") {
            lines[at] = format!("{:indent$}_ouzel_names {name} \"${{cur}}\"", "");
        }
    }
    lines.join("\n") + "\n"
}

/// Such a line ends in `:NAME:_default`. The first line of the script must stay the first.
fn in_zsh(script: &str) -> String {
    let mut lines = script.lines().map(|line| {
        let found = OPTIONS.iter().find(|(long, _)| line.contains(&format!("{long}=[")));
        found.map_or_else(
            || line.to_owned(),
            |(_, name)| line.replace(":_default'", &format!(":{{_ouzel_names {name}}}'")),
        )
    });
    let first = lines.next().unwrap_or_default();
    let rest: Vec<String> = lines.collect();
    format!("{first}\n{ZSH}{}\n", rest.join("\n"))
}
