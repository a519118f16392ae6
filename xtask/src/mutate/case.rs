//! One case: an archive, what is spoilt of it, what is asked, and what must hold.

use super::commands::{Asked, Attack, Shape};
use super::files::{self, Entry, Listing};
use super::samples::Sample;
use super::spoil;
use anyhow::{Context, Result};
use ouzel_testkit::Rng;
use serde_json::Value;
use std::fmt;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Kilobytes of memory, seconds of processor time, and blocks of 512 bytes that a command may write.
const LIMITS: &str = "ulimit -v 2097152 && ulimit -t 10 && ulimit -f 524288 && exec \"$@\"";
/// Seconds after which a command that waits for something is ended.
const WAIT_SECONDS: &str = "30";
/// What `timeout` ends with when it had to.
const TIMED_OUT: i32 = 124;
/// Texts that users must never see.
const FORBIDDEN: &[&str] =
    &["internal error", "panicked at", "memory allocation of", "RUST_BACKTRACE", "stack overflow"];
const PRECIOUS: &str = "precious";

/// A case, not yet tried.
pub struct Case<'a> {
    number: u64,
    sample: &'a Sample,
    others: Vec<&'a Sample>,
    rng: Rng,
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "case {} of {}", self.number, self.sample.name)
    }
}

/// How a command ended.
struct Ran {
    status: ExitStatus,
    out: Vec<u8>,
    err: String,
}

impl<'a> Case<'a> {
    pub fn new(number: u64, samples: &[&'a Sample]) -> Self {
        let mut rng = Rng::new(number);
        let sample = samples[rng.below(samples.len() as u64) as usize];
        Case { number, sample, others: samples.to_vec(), rng }
    }

    /// Tries it in a new folder; how many commands ran, and what does not hold.
    pub fn run(&self, ouzel: &Path, folder: &Path) -> Result<(u64, Vec<String>)> {
        let mut rng = self.rng.clone();
        let place = Place::new(folder)?;
        let trace = place.input.join(self.sample.path.file_name().unwrap_or_default());
        files::copy(&self.sample.path, &trace)?;
        let donor = self.others[rng.below(self.others.len() as u64) as usize];
        let donors = donors(&donor.path)?;
        // Of an archive that is whole, too: commands must hold there all the more.
        let n_spoilt = [0, 1, 1, 1, 1, 2, 2, 3][rng.below(8) as usize];
        let spoilt = (0..n_spoilt).map(|_| spoil::one(&place.input, &donors, &mut rng));
        let spoilt = spoilt.collect::<Result<Vec<_>>>().with_context(|| self.to_string())?;
        let before = files::list(&place.input)?;
        let mut flaws = Vec::new();
        let n_commands = 3;
        for _ in 0..n_commands {
            let asked = Asked::any(&mut rng);
            let (words, ran) = place.ask(ouzel, &trace, &asked, &before)?;
            let found = place.check(&asked, &ran, &before)?;
            flaws.extend(found.into_iter().map(|flaw| {
                let said = ran.err.lines().next().unwrap_or_default();
                let said: String = said.chars().take(200).collect();
                format!(
                    "{self} ({}): {flaw}\n  ouzel {}\n  {}: {said}",
                    spoilt.join("; "),
                    words.join(" "),
                    ran.status
                )
            }));
            if !flaws.is_empty() {
                break;
            }
            place.clear()?;
        }
        Ok((n_commands, flaws))
    }
}

/// Files whose bytes are mixed into others.
fn donors(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let listing = files::list(path)?;
    Ok(files::regular(&listing).into_iter().map(Path::to_owned).collect())
}

/// The folders of a case.
struct Place {
    folder: PathBuf,
    input: PathBuf,
    output: PathBuf,
    temporary: PathBuf,
    cache: PathBuf,
}

impl Place {
    fn new(folder: &Path) -> Result<Place> {
        let of = |name: &str| folder.join(name);
        let place = Place {
            folder: folder.to_owned(),
            input: of("in"),
            output: of("out"),
            temporary: of("tmp"),
            cache: of("cache"),
        };
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        for folder in [&place.input, &place.output, &place.temporary] {
            fs::create_dir_all(folder)?;
        }
        Ok(place)
    }

    /// Makes room for the next command.
    fn clear(&self) -> Result<()> {
        fs::remove_dir_all(&self.output)?;
        Ok(fs::create_dir(&self.output)?)
    }

    /// Runs a command under limits.
    fn ask(&self, ouzel: &Path, trace: &Path, asked: &Asked, before: &Listing) -> Result<(Vec<String>, Ran)> {
        let rules = self.folder.join("rules.toml");
        if let Some(text) = &asked.rules {
            fs::write(&rules, text)?;
        }
        let target = self.target(asked, before)?;
        let word = |word: &String| match word.as_str() {
            "TRACE" => trace.display().to_string(),
            "RULES" => rules.display().to_string(),
            // An attack keeps its name: what it points at is to be left alone whatever its ending is.
            word if word.starts_with("OUT") && asked.attack.is_some() => target.display().to_string(),
            word => match word.strip_prefix("OUT") {
                Some(ending) => format!("{}{ending}", target.display()),
                None => word.to_owned(),
            },
        };
        let words: Vec<String> = asked.words.iter().map(word).collect();
        let (out, err) = (self.folder.join("stdout"), self.folder.join("stderr"));
        let status = Command::new("timeout")
            .args(["--kill-after=5", WAIT_SECONDS, "sh", "-c", LIMITS, "sh"])
            .arg(ouzel)
            .args(&words)
            .env("TMPDIR", &self.temporary)
            .env("XDG_CACHE_HOME", &self.cache)
            .env_remove("RUST_BACKTRACE")
            .current_dir(&self.output)
            .stdin(Stdio::null())
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?)
            .status()
            .context("cannot run timeout")?;
        let err = String::from_utf8_lossy(&fs::read(&err)?).into_owned();
        Ok((words, Ran { status, out: fs::read(&out)?, err }))
    }

    /// Where a command writes.
    fn target(&self, asked: &Asked, before: &Listing) -> Result<PathBuf> {
        let target = self.output.join("answer");
        let input = files::regular(before).last().map_or(self.input.join("gone"), |path| path.to_path_buf());
        match asked.attack {
            None => {}
            Some(Attack::Input) => return Ok(input),
            Some(Attack::Link) => std::os::unix::fs::symlink(input, &target)?,
            Some(Attack::There) => fs::write(&target, PRECIOUS)?,
            Some(Attack::Folder) => fs::create_dir(&target)?,
        }
        Ok(target)
    }

    /// What does not hold.
    fn check(&self, asked: &Asked, ran: &Ran, before: &Listing) -> Result<Vec<String>> {
        let mut flaws = files::differences(before, &files::list(&self.input)?);
        flaws.extend(
            files::list(&self.temporary)?.keys().map(|path| format!("{} was left behind", path.display())),
        );
        let left = files::list(&self.output)?;
        let target = self.output.join("answer");
        let is_kept = match asked.attack {
            Some(Attack::There) => matches!(
                left.get(&target),
                Some(Entry::File { bytes: Some(bytes), .. }) if bytes == PRECIOUS.as_bytes()
            ),
            Some(Attack::Link) => matches!(left.get(&target), Some(Entry::Link(_))),
            Some(Attack::Folder) => left.get(&target) == Some(&Entry::Folder),
            Some(Attack::Input) | None => true,
        };
        if !is_kept {
            flaws.push("what was there was replaced without --force".to_owned());
        }
        if let Some(text) = FORBIDDEN.iter().find(|text| ran.err.contains(**text)) {
            flaws.push(format!("it says {text:?}"));
        }
        match (ran.status.code(), ran.status.signal()) {
            (Some(TIMED_OUT), _) => flaws.push("it does not end".to_owned()),
            (Some(0 | 2), _) => flaws.extend(self.check_answer(asked, ran)),
            (Some(1), _) => {
                if ran.err.trim().is_empty() {
                    flaws.push("it failed without a word".to_owned());
                }
                let is_left = asked.attack.is_none() && !left.is_empty();
                if is_left {
                    let names: Vec<String> = left.keys().map(|path| path.display().to_string()).collect();
                    flaws.push(format!("it failed and left {}", names.join(", ")));
                }
            }
            (Some(64), _) if ran.err.contains("--help") || ran.err.contains("error:") => {}
            (code, signal) => flaws.push(format!("exit code {code:?}, signal {signal:?}")),
        }
        Ok(flaws)
    }

    fn check_answer(&self, asked: &Asked, ran: &Ran) -> Option<String> {
        let lost = ran.status.code() == Some(2);
        let is_file = asked.words.iter().any(|word| word == "-o");
        // Pages that report losses themselves.
        let has_card = matches!(asked.words[0].as_str(), "report" | "info");
        match asked.shape {
            Shape::Json if !is_file => match serde_json::from_slice::<Value>(&ran.out) {
                Err(error) => Some(format!("its JSON is none: {error}")),
                Ok(answer) if lost && answer["notices"].as_array().is_none_or(Vec::is_empty) => {
                    Some("exit code 2 without a notice".to_owned())
                }
                Ok(_) => None,
            },
            Shape::JsonLines if !is_file => {
                let text = String::from_utf8_lossy(&ran.out);
                let bad = text.lines().find(|line| serde_json::from_str::<Value>(line).is_err());
                match bad {
                    Some(line) => {
                        Some(format!("a line is no JSON: {}", line.chars().take(80).collect::<String>()))
                    }
                    None if lost && ran.err.trim().is_empty() => {
                        Some("exit code 2 without a word".to_owned())
                    }
                    None => None,
                }
            }
            _ if lost && ran.err.trim().is_empty() && !has_card && !is_file => {
                Some("exit code 2 without a word".to_owned())
            }
            _ => None,
        }
    }
}
