//! What may explain a bottleneck: the attributes that a profile has data for.
//!
//! A kind of attribute is known by the names that PAPI, perf, HPCToolkit, Score-P and our own
//! traces give its metrics. A miss rate is misses / accesses, as PAPI's accesses hold the
//! misses; where accesses are not counted it is misses / instructions, else the misses
//! themselves. Every other metric that adds up is an attribute of its own, if it is not a time and
//! not part of another one. Law: attributes are in the order of [`AttributeKind`], then of the profile; among equally good
//! explanations the first one wins, so work comes before how well it runs.

use crate::names::{plain, seconds};
use crate::rough::MAX_ATTRIBUTES;
use crate::time::{CYCLES, is_summed};
use ouzel_model::{Level, MetricId, MetricKind, Notice, NoticeCode, ProfileDefinitions};
use serde::Serialize;
use std::collections::BTreeSet;

/// What kind of attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AttributeKind {
    /// Instructions executed.
    Instructions,
    /// Misses of the first-level data cache.
    L1Misses,
    /// Misses of the second-level cache.
    L2Misses,
    /// Misses of the third-level or last-level cache.
    L3Misses,
    /// Misses of the cache of page-table entries.
    TlbMisses,
    /// Branches that were predicted wrongly.
    BranchMisses,
    /// Cycles per instruction.
    CyclesPerInstruction,
    /// Cycles in which nothing was finished.
    StalledCycles,
    /// Floating-point operations.
    FloatingPoint,
    /// Bytes read from and written to files.
    DiskBytes,
    /// Bytes sent and received.
    NetworkBytes,
    /// Messages sent and received.
    Messages,
    /// Collective operations.
    Collectives,
    /// Pages that were not in memory.
    PageFaults,
    /// Times the processor was given to another process.
    ContextSwitches,
    /// Bytes of memory allocated.
    Allocated,
    /// A counter of no known kind.
    Counter,
    /// Number of calls.
    Visits,
    /// Time in communication and waiting, out of all time of the region. For regions only.
    Communication,
}

/// How the value of an attribute follows from sums over a region and process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Formula {
    /// The sum of the metrics.
    Sum(Vec<MetricId>),
    /// Sum of the first / sum of the second metrics; 0 where the second is 0.
    Ratio(Vec<MetricId>, Vec<MetricId>),
    /// Time in waiting call paths / all time.
    Waiting,
}

/// One attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Its name: the kind, or that of the metric.
    pub name: String,
    /// Its name for people.
    pub label: String,
    /// Unit of its values; empty for ratios.
    pub unit: String,
    /// Its kind.
    pub kind: AttributeKind,
    /// How it is computed.
    pub formula: Formula,
    /// The formula in words: names of metrics.
    pub text: String,
}

/// Names of a quantity: alternatives, each the metrics that are summed where they are there.
type AttributeNames = &'static [&'static [&'static str]];

const INSTRUCTIONS: AttributeNames = &[
    &["papi-tot-ins"],
    &["instructions"],
    &["perf-count-hw-instructions"],
    &["inst-retired"],
    &["inst-retired:any"],
    &["inst-retired.any"],
    &["papi-tot-iis"],
];
const BRANCHES: AttributeNames =
    &[&["papi-br-cn"], &["papi-br-ins"], &["branch-instructions"], &["branches"]];

/// A rate: misses and what they are divided by, in pairs.
struct Rate {
    kind: AttributeKind,
    name: &'static str,
    label: &'static str,
    pairs: &'static [(&'static str, &'static [&'static str])],
}

const RATES: [Rate; 5] = [
    Rate {
        kind: AttributeKind::L1Misses,
        name: "l1_miss_rate",
        label: "L1 misses",
        pairs: &[
            ("papi-l1-dcm", &["papi-l1-dca"]),
            ("papi-l1-tcm", &["papi-l1-tca"]),
            ("papi-l1-dcm", &["papi-lst-ins"]),
            ("papi-l1-dcm", &["papi-ld-ins", "papi-sr-ins"]),
            ("papi-l1-ldm", &["papi-ld-ins"]),
            ("l1-dcache-load-misses", &["l1-dcache-loads"]),
            ("l1d-misses", &["l1d-accesses"]),
        ],
    },
    Rate {
        kind: AttributeKind::L2Misses,
        name: "l2_miss_rate",
        label: "L2 misses",
        pairs: &[
            ("papi-l2-dcm", &["papi-l2-dca"]),
            ("papi-l2-tcm", &["papi-l2-tca"]),
            ("papi-l2-dcm", &["papi-l1-dcm"]),
            ("papi-l2-tcm", &["papi-l1-tcm"]),
            ("l2-misses", &["l2-accesses"]),
        ],
    },
    Rate {
        kind: AttributeKind::L3Misses,
        name: "l3_miss_rate",
        label: "L3 misses",
        pairs: &[
            ("papi-l3-dcm", &["papi-l3-dca"]),
            ("papi-l3-tcm", &["papi-l3-tca"]),
            ("papi-l3-dcm", &["papi-l2-dcm"]),
            ("papi-l3-tcm", &["papi-l2-tcm"]),
            ("llc-load-misses", &["llc-loads"]),
            ("llc-misses", &["llc-references"]),
            ("cache-misses", &["cache-references"]),
            ("last-level-cache-misses", &["last-level-cache-references"]),
        ],
    },
    Rate {
        kind: AttributeKind::TlbMisses,
        name: "tlb_miss_rate",
        label: "TLB misses",
        pairs: &[
            ("dtlb-load-misses", &["dtlb-loads"]),
            ("papi-tlb-dm", &["papi-lst-ins"]),
            ("papi-tlb-tl", &["papi-lst-ins"]),
            ("papi-tlb-im", &["papi-tot-ins"]),
        ],
    },
    Rate {
        kind: AttributeKind::BranchMisses,
        name: "branch_miss_rate",
        label: "branch misses",
        pairs: &[
            ("papi-br-msp", &["papi-br-cn"]),
            ("papi-br-msp", &["papi-br-ins"]),
            ("branch-misses", &["branch-instructions"]),
            ("branch-misses", &["branches"]),
        ],
    },
];

/// A sum: its kind, name, label, unit and metrics.
struct SumAttribute {
    kind: AttributeKind,
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    names: AttributeNames,
}

const SUMS: [SumAttribute; 11] = [
    SumAttribute {
        kind: AttributeKind::Instructions,
        name: "instructions",
        label: "instructions",
        unit: "#",
        names: INSTRUCTIONS,
    },
    SumAttribute {
        kind: AttributeKind::FloatingPoint,
        name: "floating_point_operations",
        label: "floating-point operations",
        unit: "#",
        names: &[&["papi-fp-ops"], &["papi-dp-ops", "papi-sp-ops"], &["papi-fp-ins"]],
    },
    SumAttribute {
        kind: AttributeKind::DiskBytes,
        name: "disk_bytes",
        label: "bytes read and written",
        unit: "bytes",
        names: &[
            &["io-bytes"],
            &["io-bytes-read", "io-bytes-written"],
            &["bytes-read", "bytes-written"],
            &["disk-bytes"],
            &["rchar", "wchar"],
            &["read-bytes", "write-bytes"],
        ],
    },
    SumAttribute {
        kind: AttributeKind::NetworkBytes,
        name: "network_bytes",
        label: "bytes sent and received",
        unit: "bytes",
        names: &[&["bytes"], &["bytes-sent", "bytes-received"], &["network-bytes"]],
    },
    SumAttribute {
        kind: AttributeKind::Messages,
        name: "messages",
        label: "messages sent and received",
        unit: "#",
        names: &[&["messages-sent", "messages-received"], &["comms"], &["comms-p2p"]],
    },
    SumAttribute {
        kind: AttributeKind::Collectives,
        name: "collectives",
        label: "collective operations",
        unit: "#",
        names: &[&["collectives"], &["comms-coll"], &["comms-cxch", "comms-csrc", "comms-cdst"]],
    },
    SumAttribute {
        kind: AttributeKind::PageFaults,
        name: "page_faults",
        label: "page faults",
        unit: "#",
        names: &[
            &["page-faults"],
            &["minor-faults", "major-faults"],
            &["ru-minflt", "ru-majflt"],
            &["pagefaults"],
        ],
    },
    SumAttribute {
        kind: AttributeKind::ContextSwitches,
        name: "context_switches",
        label: "context switches",
        unit: "#",
        names: &[&["context-switches"], &["cs"], &["ru-nvcsw", "ru-nivcsw"]],
    },
    SumAttribute {
        kind: AttributeKind::StalledCycles,
        name: "stalled_cycles",
        label: "stalled cycles",
        unit: "#",
        names: &[
            &["papi-res-stl"],
            &["papi-stl-icy"],
            &["stalled-cycles-backend"],
            &["stalled-cycles-frontend"],
        ],
    },
    SumAttribute {
        kind: AttributeKind::Allocated,
        name: "allocated_bytes",
        label: "bytes of memory allocated",
        unit: "bytes",
        names: &[&["allocation-size"], &["bytes-allocated"]],
    },
    SumAttribute {
        kind: AttributeKind::Visits,
        name: "visits",
        label: "calls",
        unit: "#",
        names: &[&["visits"]],
    },
];

/// Metrics about how a profile was made, not what the program did.
const NO_ATTRIBUTES: [&str; 5] =
    ["hits", "task-migration-loss", "task-migration-win", "scaling-factor", "samples"];

/// The attributes of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes {
    /// In the order in which equally good explanations are taken.
    pub attributes: Vec<Attribute>,
    /// The metric of instructions, if counted.
    pub instructions: Option<MetricId>,
    /// The metric of cycles, if counted.
    pub cycles: Option<MetricId>,
    /// Metrics that are left out because there are too many.
    pub notices: Vec<Notice>,
}

struct Recognised<'a> {
    definitions: &'a ProfileDefinitions,
    names: Vec<(String, MetricId)>,
    used: BTreeSet<MetricId>,
    attributes: Vec<Attribute>,
}

impl Attributes {
    /// The attributes that the metrics of a profile provide, besides `time`; waiting if `tells_waiting`.
    /// `printed_rates` divides by misses + accesses, as AutoAnalyzer is printed.
    pub fn new(
        definitions: &ProfileDefinitions,
        time: &[MetricId],
        tells_waiting: bool,
        printed_rates: bool,
    ) -> Self {
        let names = definitions
            .metric_ids()
            .filter(|&id| is_summed(definitions, id))
            .map(|id| (plain(&definitions.metric(id).name), id))
            .collect();
        let used = time.iter().copied().collect();
        let mut known = Recognised { definitions, names, used, attributes: Vec::new() };
        let instructions = known.one_of(INSTRUCTIONS);
        let cycles = CYCLES.iter().find_map(|name| known.id(name));
        for rate in &RATES {
            known.add_rate(rate, instructions, printed_rates);
        }
        if let (Some(instructions), Some(cycles)) = (instructions, cycles) {
            let ratio = Formula::Ratio(vec![cycles], vec![instructions]);
            known.add(
                AttributeKind::CyclesPerInstruction,
                "cycles_per_instruction",
                "cycles per instruction",
                "",
                ratio,
            );
        }
        for sum in &SUMS {
            if let Some(metrics) = sum.names.iter().map(|names| known.ids(names)).find(|ids| !ids.is_empty())
            {
                known.add(sum.kind, sum.name, sum.label, sum.unit, Formula::Sum(metrics));
            }
        }
        known.used.extend(cycles);
        known.used.extend(known.one_of(BRANCHES));
        known.add_counters();
        if tells_waiting {
            known.add(
                AttributeKind::Communication,
                "communication",
                "time in communication",
                "",
                Formula::Waiting,
            );
        }
        let mut attributes = known.attributes;
        attributes.sort_by_key(|attribute| attribute.kind);
        let mut notices = Vec::new();
        if attributes.len() > MAX_ATTRIBUTES {
            // The last one says that time passes in communication; counters of no known kind go first.
            let n = attributes.len() - MAX_ATTRIBUTES;
            let end = attributes
                .iter()
                .rposition(|a| a.kind == AttributeKind::Counter)
                .map_or(attributes.len(), |at| at + 1);
            attributes.drain(end - n.min(end)..end);
            let message = format!("counters beyond {MAX_ATTRIBUTES} attributes are not considered as causes");
            notices.push(Notice::new(Level::Medium, NoticeCode::NotRepresented, message).times(n as u64));
        }
        Attributes { attributes, instructions, cycles, notices }
    }
}

impl Recognised<'_> {
    fn id(&self, name: &str) -> Option<MetricId> {
        self.names.iter().find(|(known, _)| known == name).map(|(_, id)| *id)
    }

    fn ids(&self, names: &[&str]) -> Vec<MetricId> {
        names.iter().filter_map(|name| self.id(name)).collect()
    }

    fn one_of(&self, names: AttributeNames) -> Option<MetricId> {
        names.iter().find_map(|names| self.ids(names).first().copied())
    }

    fn add_rate(&mut self, rate: &Rate, instructions: Option<MetricId>, printed: bool) {
        for (misses, accesses) in rate.pairs {
            let (Some(misses), accesses) = (self.id(misses), self.ids(accesses)) else { continue };
            if !accesses.is_empty() {
                let below = if printed { [&[misses][..], &accesses].concat() } else { accesses };
                let label = format!("{} per access", rate.label);
                let label = if rate.kind == AttributeKind::BranchMisses {
                    format!("{} per branch", rate.label)
                } else {
                    label
                };
                self.add(rate.kind, rate.name, &label, "", Formula::Ratio(vec![misses], below));
                return;
            }
        }
        let Some(misses) = rate.pairs.iter().find_map(|(misses, _)| self.id(misses)) else { return };
        match instructions {
            Some(instructions) => {
                let label = format!("{} per instruction", rate.label);
                self.add(rate.kind, rate.name, &label, "", Formula::Ratio(vec![misses], vec![instructions]));
            }
            None => {
                let name = rate.name.replace("_rate", "es");
                self.add(rate.kind, &name, rate.label, "#", Formula::Sum(vec![misses]));
            }
        }
    }

    fn add(&mut self, kind: AttributeKind, name: &str, label: &str, unit: &str, formula: Formula) {
        let names = |metrics: &[MetricId]| {
            let names: Vec<&str> = metrics.iter().map(|&id| &*self.definitions.metric(id).name).collect();
            names.join(" + ")
        };
        let text = match &formula {
            Formula::Sum(metrics) => names(metrics),
            Formula::Ratio(above, below) if below.len() > 1 => {
                format!("{} / ({})", names(above), names(below))
            }
            Formula::Ratio(above, below) => format!("{} / {}", names(above), names(below)),
            Formula::Waiting => "time in communication / time".to_owned(),
        };
        match &formula {
            Formula::Sum(metrics) => self.used.extend(metrics),
            Formula::Ratio(above, below) => self.used.extend(above.iter().chain(below)),
            Formula::Waiting => {}
        }
        let (name, label, unit) = (name.to_owned(), label.to_owned(), unit.to_owned());
        self.attributes.push(Attribute { name, label, unit, kind, formula, text });
    }

    /// Every other metric that adds up.
    fn add_counters(&mut self) {
        let mut within: Vec<bool> = Vec::new();
        for id in self.definitions.metric_ids() {
            let metric = self.definitions.metric(id);
            let is_time = seconds(&metric.unit).is_some();
            let is_part = metric.parent.is_some_and(|parent| within[parent.index()]);
            let is_known = self.used.contains(&id);
            within.push(is_part || is_known || is_time);
            let is_stored =
                !matches!(metric.kind, MetricKind::DerivedBefore(..) | MetricKind::DerivedAfter(_));
            let name = plain(&metric.name);
            let is_counter = is_stored && !metric.hidden && is_summed(self.definitions, id);
            if is_part || is_known || is_time || !is_counter || NO_ATTRIBUTES.contains(&&*name) {
                continue;
            }
            within[id.index()] = true;
            let (name, unit) = (metric.name.to_string(), metric.unit.to_string());
            let label =
                if metric.display_name.is_empty() { name.clone() } else { metric.display_name.to_string() };
            self.add(AttributeKind::Counter, &name, &label, &unit, Formula::Sum(vec![id]));
        }
    }
}
