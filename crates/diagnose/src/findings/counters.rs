//! What counters of the processor say about ranks that take longer in the same code.
//!
//! ```text
//! time = instructions × cycles per instruction × time per cycle
//!        more to do     slower in the same work   a lower clock, or not running
//! ```
//!
//! Law: where both counters are known, the three ratios between the slow ranks and the others multiply to that of their
//! times. Without one of the counters, the other says what it can; without both, there is no evidence.

use super::context::{Context, Times};
use super::finding::{Evidence, Quantity, QuantityUnit};
use ouzel_analyses::metric_profile::{LocationMetrics, MetricProfileOutput};
use ouzel_efficiency::CounterIds;
use ouzel_model::{CallPathId, LocationId, MetricId};

/// Ratios closer to one than this are said to be the same.
const ALIKE: f64 = 0.05;
/// Least ratio of times for which a reason is given.
const SLOWER: f64 = 1.0 + ALIKE;
/// Most counters of bytes that are named.
const MAX_NAMED: usize = 2;

/// What the counters tell.
pub(super) struct ByCounters {
    /// For the finding; at least one.
    pub evidence: Vec<Evidence>,
    /// Why the ranks take longer, if one reason explains most of it.
    pub reason: Option<Reason>,
}

/// Why ranks take longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// They execute more instructions.
    MoreInstructions,
    /// They execute fewer of them per cycle.
    FewerPerCycle,
    /// They have fewer cycles in the same time.
    FewerCycles,
}

/// What the ranks gained in some code, as means over them.
struct Means {
    time: f64,
    instructions: Option<f64>,
    cycles: Option<f64>,
}

impl Means {
    fn per_cycle(&self) -> Option<f64> {
        Some(self.instructions? / self.cycles?)
    }
}

/// What counters say of `slow` peers beside the others, in what computes in a path.
pub(super) fn by_counters(
    cx: &Context<'_>,
    path: CallPathId,
    times: Times,
    slow: &[LocationId],
) -> Option<ByCounters> {
    let counters = cx.counters?;
    let code = cx.code_of(path, times);
    let others: Vec<LocationId> =
        cx.group.locations.iter().copied().filter(|location| !slow.contains(location)).collect();
    let found = Sums { cx, counters, code: &code };
    let (slow_means, other_means) = (found.means(slow)?, found.means(&others)?);
    if slow_means.time < SLOWER * other_means.time {
        return None;
    }
    let ranks = cx.ranks(slow.iter().copied());
    let (who, s) = (cx.in_words(&ranks), if slow.len() == 1 { "s" } else { "" });
    let processor = Comparison { slow: &slow_means, others: &other_means };
    let mut evidence: Vec<Evidence> = processor.evidence(&who, s).into_iter().collect();
    evidence.extend(found.bytes(slow, &others, &who, s));
    (!evidence.is_empty()).then(|| ByCounters { evidence, reason: processor.reason() })
}

impl ByCounters {
    /// What to do about ranks that take longer in a call path, if one reason explains most of it.
    pub fn advice(&self, name: &str) -> Option<String> {
        Some(match self.reason? {
            Reason::MoreInstructions => format!(
                "These ranks have more to do: give them less in {name}. Divide the domain by measured cost instead of by \
                 size, or move work at run time."
            ),
            Reason::FewerPerCycle => format!(
                "These ranks do the same work with fewer instructions per cycle. Before you move work, look for what \
                 slows {name} down there: data further away (caches, NUMA placement, first touch), memory bandwidth \
                 that neighbours use, denormal numbers, other branches taken."
            ),
            Reason::FewerCycles => {
                "These ranks do the same work with fewer cycles in the same time: their cores have a lower clock, or are \
                 shared. Check frequency, temperature, pinning, and what else runs there."
                    .to_owned()
            }
        })
    }
}

struct Comparison<'m> {
    slow: &'m Means,
    others: &'m Means,
}

impl Comparison<'_> {
    fn ratio(&self, of: impl Fn(&Means) -> Option<f64>) -> Option<f64> {
        Some(of(self.slow)? / of(self.others)?)
    }

    fn instructions(&self) -> Option<f64> {
        self.ratio(|means| means.instructions)
    }

    fn per_cycle(&self) -> Option<f64> {
        self.ratio(Means::per_cycle)
    }

    /// Cycles in the same time.
    fn clock(&self) -> Option<f64> {
        self.ratio(|means| Some(means.cycles? / means.time))
    }

    /// The factor that has most of the difference, if it has more than half of it.
    fn reason(&self) -> Option<Reason> {
        let all = self.slow.time.ln() - self.others.time.ln();
        let parts = [
            (self.instructions().map(f64::ln), Reason::MoreInstructions),
            (self.per_cycle().map(|ratio| -ratio.ln()), Reason::FewerPerCycle),
            (self.clock().map(|ratio| -ratio.ln()), Reason::FewerCycles),
        ];
        parts
            .into_iter()
            .find(|(part, _)| part.is_some_and(|part| all < 2.0 * part))
            .map(|(_, reason)| reason)
    }

    fn evidence(&self, who: &str, s: &str) -> Option<Evidence> {
        let mut parts = Vec::new();
        let mut values = Vec::new();
        let mut both = |name: &str, unit: QuantityUnit, of: &dyn Fn(&Means) -> Option<f64>| {
            for (means, whose) in [(self.slow, who), (self.others, "the others")] {
                values
                    .extend(of(means).map(|value| Quantity::of(&format!("{name} on {whose}"), value, unit)));
            }
        };
        if let Some(ratio) = self.instructions() {
            parts.push(format!("execute{s} {} instructions as the others", times_as_many(ratio)));
            both("instructions", QuantityUnit::Count, &|means| means.instructions);
        }
        if let Some(ratio) = self.per_cycle() {
            let (own, theirs) = (self.slow.per_cycle()?, self.others.per_cycle()?);
            parts.push(match is_alike(ratio) {
                true => "as many per cycle".to_owned(),
                false => format!("{own:.2} per cycle instead of {theirs:.2}"),
            });
            both("instructions per cycle", QuantityUnit::PerCycle, &Means::per_cycle);
        }
        if let Some(ratio) = self.clock() {
            let own = if parts.is_empty() {
                format!("ha{} ", if s == "s" { "s" } else { "ve" })
            } else {
                String::new()
            };
            if parts.is_empty() || !is_alike(ratio) {
                parts.push(format!("{own}{} cycles in the same time", times_as_many(ratio)));
            }
            both("cycles", QuantityUnit::Count, &|means| means.cycles);
        }
        (!parts.is_empty()).then(|| {
            Evidence::new(
                format!("{who} {}", parts.join(", ")),
                "means over the ranks of what the counters gain in the same code, without what waits or synchronises",
                values,
            )
        })
    }
}

fn is_alike(ratio: f64) -> bool {
    (ratio - 1.0).abs() < ALIKE
}

/// `as many`, `1.40 times as many`.
fn times_as_many(ratio: f64) -> String {
    if is_alike(ratio) { "as many".to_owned() } else { format!("{ratio:.2} times as many") }
}

/// Sums over some code.
struct Sums<'c, 'a> {
    cx: &'c Context<'a>,
    counters: &'a MetricProfileOutput,
    /// By call path, whether it belongs to the code.
    code: &'c [bool],
}

impl Sums<'_, '_> {
    /// Means over peers; `None` without peers, or if one of them has no time there or no value of a counter that is known.
    fn means(&self, peers: &[LocationId]) -> Option<Means> {
        let CounterIds { instructions, cycles } = CounterIds::of(self.cx.definitions);
        let time: u64 = peers.iter().map(|&peer| self.cx.ticks_in(peer, self.code)).sum();
        let means = Means {
            time: mean(time, peers.len())?,
            instructions: instructions.and_then(|id| self.mean_gain(peers, id)),
            cycles: cycles.and_then(|id| self.mean_gain(peers, id)),
        };
        Some(means)
    }

    fn mean_gain(&self, peers: &[LocationId], id: MetricId) -> Option<f64> {
        let gains: Option<Vec<u64>> =
            peers.iter().map(|&peer| self.gain(peer, id).filter(|&it| 0 < it)).collect();
        mean(gains?.iter().fold(0, |sum: u64, gain| sum.saturating_add(*gain)), peers.len())
    }

    fn gain(&self, peer: LocationId, id: MetricId) -> Option<u64> {
        let locations = &self.counters.locations;
        let at =
            locations.binary_search_by_key(&peer, |location: &LocationMetrics| location.location).ok()?;
        let rows = locations[at].rows.iter().filter(|row| row.metric == id);
        let is_of_code = |path: CallPathId| self.code.get(path.index()).copied().unwrap_or(false);
        let own = rows.filter(|row| is_of_code(row.call_path));
        Some(own.fold(0, |sum: u64, row| sum.saturating_add(row.exclusive)))
    }

    /// Counters of bytes in which slow ranks differ from the others.
    fn bytes(&self, slow: &[LocationId], others: &[LocationId], who: &str, s: &str) -> Vec<Evidence> {
        let metrics = self.cx.definitions.metrics.iter().enumerate();
        let of_bytes = metrics.filter(|(_, metric)| {
            let unit = metric.unit.to_ascii_lowercase();
            metric.is_counter() && matches!(unit.trim(), "b" | "byte" | "bytes")
        });
        let evidence = |(i, metric): (usize, &ouzel_model::Metric)| {
            let id = MetricId::from_index(i);
            let (own, theirs) = (self.mean_gain(slow, id)?, self.mean_gain(others, id)?);
            let ratio = own / theirs;
            let value = |whose: &str, value| {
                Quantity::of(&format!("{} on {whose}", metric.name), value, QuantityUnit::Bytes)
            };
            (!is_alike(ratio)).then(|| {
                Evidence::new(
                    format!("{who} count{s} {} bytes of {} as the others", times_as_many(ratio), metric.name),
                    "means over the ranks of what the counter gains in the same code",
                    vec![value(who, own), value("the others", theirs)],
                )
            })
        };
        of_bytes.filter_map(evidence).take(MAX_NAMED).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "the only division, of exact sums")]
fn mean(sum: u64, n: usize) -> Option<f64> {
    (0 < n && 0 < sum).then(|| sum as f64 / n as f64)
}
