//! What a region means: does it compute, wait for one other side, or synchronise all?
//!
//! There are two sources: what the trace records (paradigm and role), and the name. A tracer
//! that records more than "user code" decides the family, but for NCCL and RCCL, which are recorded
//! as CUDA or HIP; otherwise names decide. Names are matched as a whole against an ordered list,
//! and the first match wins. The user's own rules come first, before what the trace records.
//!
//! Law: a class depends on the region alone, never on its callers.
//! For how time in a region is judged, see `imbalance` and the crate
//! `efficiency`.

mod rules;
mod starts;
#[cfg(test)]
mod tests;

use ouzel_model::{Definitions, Paradigm, Region, RegionRole};
use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use starts::Starts;
use std::borrow::Cow;
use std::sync::LazyLock;

/// What time in a region is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Work.
    Computation,
    /// Waiting for one other side: a message, a lock, a device.
    Wait,
    /// Waiting for all others.
    Synchronization,
}

impl Category {
    /// The term in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Category::Computation => "computation",
            Category::Wait => "wait",
            Category::Synchronization => "synchronization",
        }
    }
}

/// The programming model or library that a region belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Family {
    /// Message Passing Interface.
    #[serde(rename = "MPI")]
    Mpi,
    /// OpenMP constructs and runtime.
    #[serde(rename = "OpenMP")]
    OpenMp,
    /// OpenSHMEM.
    #[serde(rename = "SHMEM")]
    Shmem,
    /// Collectives of accelerators.
    #[serde(rename = "NCCL/RCCL")]
    Nccl,
    /// Accelerator runtimes.
    #[serde(rename = "CUDA/HIP")]
    CudaHip,
    /// Threads, locks and sleeping.
    #[serde(rename = "pthread")]
    Pthread,
    /// Input and output of the operating system and the C library.
    #[serde(rename = "POSIX I/O")]
    PosixIo,
    /// The program itself, and everything unknown.
    #[serde(rename = "user")]
    User,
}

impl Family {
    /// Its usual spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Family::Mpi => "MPI",
            Family::OpenMp => "OpenMP",
            Family::Shmem => "SHMEM",
            Family::Nccl => "NCCL/RCCL",
            Family::CudaHip => "CUDA/HIP",
            Family::Pthread => "pthread",
            Family::PosixIo => "POSIX I/O",
            Family::User => "user",
        }
    }
}

/// What a region means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Class {
    /// What time in it is spent on.
    pub category: Category,
    /// The model or library that it belongs to.
    pub family: Family,
}

/// One rule: regions of these names have this class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Regular expression for the whole name.
    pub pattern: String,
    /// The class that it assigns.
    pub class: Class,
}

/// A rule whose pattern cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

impl std::fmt::Display for RuleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rule {:?} is not a regular expression: {}", self.pattern, self.reason)
    }
}

impl std::error::Error for RuleError {}

/// A compiled list of rules. Only the user's rules are serialised.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Rule>", into = "Vec<Rule>")]
pub struct Semantics {
    user: Vec<CompiledRule>,
}

/// A rule, ready to be matched.
#[derive(Debug, Clone)]
struct CompiledRule {
    regex: Regex,
    starts: Starts,
    class: Class,
}

impl CompiledRule {
    fn new(pattern: &str, class: Class) -> Result<Self, regex_lite::Error> {
        let regex = Regex::new(&format!("^(?:{pattern})$"))?;
        Ok(CompiledRule { regex, starts: Starts::of(pattern), class })
    }

    fn matches(&self, name: &str) -> bool {
        // Programs have names by the ten thousand, most of them of their own.
        self.starts.may_begin(name) && self.regex.is_match(name)
    }
}

/// The class if neither the record nor the name tells anything: the program's own work.
const USER_CODE: Class = Class { category: Category::Computation, family: Family::User };

/// The built-in rules, compiled once.
static BUILT_IN: LazyLock<Vec<CompiledRule>> = LazyLock::new(|| {
    let compile = |&(family, category, pieces): &(Family, Category, &[&str])| {
        CompiledRule::new(&pieces.concat(), Class { category, family }).expect("built-in patterns are tested")
    };
    rules::RULES.iter().map(compile).collect()
});

impl Semantics {
    /// The built-in rules after `user_rules`, which also override what the trace records.
    ///
    /// # Errors
    /// Returns the first rule that is not a regular expression.
    pub fn with_user_rules(user_rules: &[Rule]) -> Result<Self, RuleError> {
        let compile = |rule: &Rule| {
            let error = |error: regex_lite::Error| RuleError {
                pattern: rule.pattern.clone(),
                reason: error.to_string(),
            };
            CompiledRule::new(&rule.pattern, rule.class).map_err(error)
        };
        Ok(Semantics { user: user_rules.iter().map(compile).collect::<Result<_, _>>()? })
    }

    /// The class by the name alone.
    pub fn class_of_name(&self, name: &str) -> Class {
        let name = plain_name(name);
        self.user_class(name).or_else(|| built_in_class(name)).unwrap_or(USER_CODE)
    }

    /// What a region means, by its record and its name.
    pub fn class(&self, region: &Region) -> Class {
        let name = plain_name(&region.name);
        if let Some(class) = self.user_class(name) {
            return class;
        }
        let by_name = built_in_class(name);
        let Some(family) = recorded_family(region) else {
            let by_role = || match region.role {
                RegionRole::FileIo | RegionRole::FileIoMetadata => {
                    Class { category: Category::Computation, family: Family::PosixIo }
                }
                _ => USER_CODE,
            };
            return by_name.unwrap_or_else(by_role);
        };
        match by_name {
            // Tracers record collectives of accelerators under the paradigm of the device.
            Some(class) if class.family == Family::Nccl && family == Family::CudaHip => class,
            // The tracer makes up the names of OpenMP regions; its roles are more reliable.
            Some(class) if class.family == family && family != Family::OpenMp => class,
            Some(class) if class.family == family => {
                Class { category: recorded_category(region.role).unwrap_or(class.category), family }
            }
            _ => Class { category: recorded_category(region.role).unwrap_or(Category::Computation), family },
        }
    }

    /// The class of every region, by its id.
    pub fn classes(&self, definitions: &Definitions) -> Vec<Class> {
        definitions.regions.iter().map(|region| self.class(region)).collect()
    }

    fn user_class(&self, name: &str) -> Option<Class> {
        first_match(&self.user, name)
    }
}

fn built_in_class(name: &str) -> Option<Class> {
    first_match(&BUILT_IN, &mpi_name(name))
}

/// The rule, off by default, that counts time in input and output as waiting.
pub fn io_wait_rule() -> Rule {
    let io = rules::RULES.iter().find(|(family, _, _)| *family == Family::PosixIo);
    let (_, _, pieces) = io.expect("the built-in rules know input and output");
    Rule { pattern: pieces.concat(), class: Class { category: Category::Wait, family: Family::PosixIo } }
}

impl TryFrom<Vec<Rule>> for Semantics {
    type Error = RuleError;

    fn try_from(user_rules: Vec<Rule>) -> Result<Self, RuleError> {
        Semantics::with_user_rules(&user_rules)
    }
}

impl From<Semantics> for Vec<Rule> {
    fn from(semantics: Semantics) -> Vec<Rule> {
        let pattern = |regex: &Regex| {
            let whole = regex.as_str();
            whole.strip_prefix("^(?:").and_then(|rest| rest.strip_suffix(")$")).unwrap_or(whole).to_owned()
        };
        semantics.user.iter().map(|it| Rule { pattern: pattern(&it.regex), class: it.class }).collect()
    }
}

fn first_match(rules: &[CompiledRule], name: &str) -> Option<Class> {
    rules.iter().find(|rule| rule.matches(name)).map(|rule| rule.class)
}

/// The name without the place that tracers append (`@12`, `@file.c:12`) and without empty parentheses.
fn plain_name(name: &str) -> &str {
    let name = match name.rsplit_once('@') {
        Some((before, place)) if place.ends_with(|c: char| c.is_ascii_digit()) => before.trim_end(),
        _ => name,
    };
    name.strip_suffix("()").unwrap_or(name)
}

/// Names of MPI functions as the standard spells them, without the `_c` of large counts.
fn mpi_name(name: &str) -> Cow<'_, str> {
    let Some(function) = ouzel_model::mpi_function(name) else { return Cow::Borrowed(name) };
    let mut standard = String::from("MPI_");
    for (i, c) in function.chars().enumerate() {
        standard.push(if i == 0 { c.to_ascii_uppercase() } else { c });
    }
    Cow::Owned(standard)
}

/// The function of MPI that a region is: [`ouzel_model::mpi_function`] without the place that tracers append.
pub fn mpi_function(name: &str) -> Option<String> {
    ouzel_model::mpi_function(plain_name(name))
}

/// The family that the trace records, if it is more specific than "code".
fn recorded_family(region: &Region) -> Option<Family> {
    match region.paradigm {
        Paradigm::Mpi => Some(Family::Mpi),
        Paradigm::OpenMp | Paradigm::OpenMpTarget => Some(Family::OpenMp),
        Paradigm::Shmem => Some(Family::Shmem),
        Paradigm::Cuda | Paradigm::Hip => Some(Family::CudaHip),
        Paradigm::Pthread => Some(Family::Pthread),
        Paradigm::MeasurementSystem => Some(Family::User),
        _ => None,
    }
}

/// The category that a role implies, if any.
fn recorded_category(role: RegionRole) -> Option<Category> {
    match role {
        RegionRole::Barrier
        | RegionRole::ImplicitBarrier
        | RegionRole::TaskWait
        | RegionRole::CollectiveAllToAll
        | RegionRole::CollectiveOther => Some(Category::Synchronization),
        RegionRole::CollectiveOneToAll
        | RegionRole::CollectiveAllToOne
        | RegionRole::PointToPoint
        | RegionRole::Rma
        | RegionRole::Critical
        | RegionRole::Ordered
        | RegionRole::Flush
        | RegionRole::ThreadWait => Some(Category::Wait),
        RegionRole::Loop
        | RegionRole::Parallel
        | RegionRole::Sections
        | RegionRole::Section
        | RegionRole::Workshare
        | RegionRole::Single
        | RegionRole::SingleBlock
        | RegionRole::Master
        | RegionRole::CriticalBlock
        | RegionRole::OrderedBlock
        | RegionRole::Task
        | RegionRole::TaskUntied
        | RegionRole::Kernel => Some(Category::Computation),
        _ => None,
    }
}
