//! The commands that are run on a spoilt archive.

use super::spoil;
use ouzel_testkit::Rng;

/// What an answer looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One JSON object with notices.
    Json,
    /// A JSON object on each line.
    JsonLines,
    /// Anything else.
    Text,
}

/// A command line; `TRACE`, `OUT` and `RULES` represent paths.
#[derive(Debug, Clone)]
pub struct Asked {
    pub words: Vec<String>,
    pub shape: Shape,
    /// Text of the file `RULES`.
    pub rules: Option<Vec<u8>>,
    /// What the output points at, if it is an attack.
    pub attack: Option<Attack>,
}

/// An output that must not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    /// A file of the archive.
    Input,
    /// A link to one.
    Link,
    /// A file that is there.
    There,
    /// A folder.
    Folder,
}

/// Every command about a run, with the shape of its answers; the tests of the command line look for each.
const COMMANDS: &[(&str, Shape)] = &[
    ("info TRACE --format json", Shape::Json),
    ("info TRACE", Shape::Text),
    ("profile TRACE --format json", Shape::Json),
    ("profile TRACE --call-paths --per rank --format csv", Shape::Text),
    ("profile TRACE --metric time --format json", Shape::Json),
    ("report TRACE", Shape::Text),
    ("report TRACE --format json", Shape::Json),
    ("report TRACE -o OUT.html", Shape::Text),
    ("print TRACE --format json", Shape::JsonLines),
    ("print TRACE --raw --offsets", Shape::Text),
    ("print TRACE --definitions --local", Shape::Text),
    ("convert TRACE OUT --to csv", Shape::Text),
    ("convert TRACE OUT --to otf2", Shape::Text),
    ("convert TRACE OUT.json --to chrome", Shape::Text),
    ("convert TRACE OUT.cubex --to cube", Shape::Text),
    ("convert TRACE OUT.parquet --to parquet", Shape::Text),
    ("comm-matrix TRACE --format json", Shape::Json),
    ("correlate TRACE --format json", Shape::Json),
    ("correlate TRACE --topology 2x2 --format json", Shape::Json),
    ("correlate TRACE --topology 2x2 --values --format json", Shape::Json),
    ("correlate TRACE --spectra OUT.bin --format json", Shape::Json),
    ("causes TRACE --format json", Shape::Json),
    ("timeline TRACE --plot OUT.svg", Shape::Text),
    ("calls TRACE --format csv", Shape::Text),
    ("messages TRACE --format json", Shape::Json),
    ("time-profile TRACE --format json", Shape::Json),
    ("comm-over-time TRACE --format json", Shape::Json),
    ("counters-over-time TRACE --format json", Shape::Json),
    ("comm-by-process TRACE --format json", Shape::Json),
    ("imbalance TRACE --format json", Shape::Json),
    ("critical-path TRACE --format json", Shape::Json),
    ("lateness TRACE --operations --format json", Shape::Json),
    ("efficiency TRACE --per iteration --hybrid talp --format json", Shape::Json),
    ("waits TRACE --per rank --format json", Shape::Json),
    ("what-if TRACE --network ideal --format json", Shape::Json),
    ("patterns TRACE --format json", Shape::Json),
    ("segments TRACE --format json", Shape::Json),
    ("clusters TRACE --format json", Shape::Json),
    ("iterations TRACE --format json", Shape::Json),
    ("idle TRACE --format json", Shape::Json),
    ("idle TRACE --by cause --format json", Shape::Json),
    ("kernels TRACE --format json", Shape::Json),
    ("breakdown TRACE --format json", Shape::Json),
    ("call-tree TRACE --format json", Shape::Json),
    ("compare TRACE TRACE --format json", Shape::Json),
    ("compare TRACE TRACE --by kernel --format json", Shape::Json),
];
/// Options of selections, which every command but print and compare takes.
const SELECTIONS: &[&str] =
    &["--ranks 0-1", "--time 1ms..20ms", "--time ..1", "--region MPI_*", "--repair-clocks", "--jobs 1"];
const WHERE: &str =
    "name like \"MPI_*\" and (rank < 4 or depth > 2) and not inclusive > 1ms and time in 0s..2s";
const RULES: &str = "\
[[rule]]
region = \"MPI_.*\"
category = \"wait\"
family = \"MPI\"

[[rule]]
region = \"solve|step\"
category = \"computation\"
";
const ATTACKS: [Attack; 4] = [Attack::Input, Attack::Link, Attack::There, Attack::Folder];

impl Asked {
    /// Any command.
    pub fn any(rng: &mut Rng) -> Asked {
        let (text, shape) = COMMANDS[rng.below(COMMANDS.len() as u64) as usize];
        let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let mut asked = Asked { words: Vec::new(), shape, rules: None, attack: None };
        let takes_selection = !matches!(words[0].as_str(), "print" | "compare" | "info");
        match rng.below(12) {
            0 | 1 if takes_selection => {
                let selection = SELECTIONS[rng.below(SELECTIONS.len() as u64) as usize];
                words.extend(selection.split(' ').map(str::to_owned));
            }
            2 if takes_selection => {
                let mut text = WHERE.as_bytes().to_vec();
                spoil::in_text(&mut text, rng);
                // A command line holds no zero byte, and not more than a page here.
                text.retain(|&byte| byte != 0);
                text.truncate(4096);
                words.extend(["--where".to_owned(), String::from_utf8_lossy(&text).into_owned()]);
            }
            3 if words[0] == "report" => {
                let mut text = RULES.as_bytes().to_vec();
                spoil::in_text(&mut text, rng);
                asked.rules = Some(text);
                words.extend(["--rules".to_owned(), "RULES".to_owned()]);
            }
            4 | 5 => {
                asked.attack = Some(ATTACKS[rng.below(4) as usize]);
                if !text.contains("OUT") {
                    words.extend(["-o".to_owned(), "OUT".to_owned()]);
                }
            }
            _ => {}
        }
        asked.words = words;
        asked
    }
}
