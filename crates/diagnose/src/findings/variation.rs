//! What varies over the topology like the time of a finding's call path.
//!
//! Found by filtered correlation (see `ouzel_correlate`) behind the report: a finding is made without it, and gets it
//! where a topology exists. Law: rows come by descending size of `r`, and none is of the finding's own call path.

use serde::Serialize;
use std::sync::Arc;

/// Views that vary like a call path, or against it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VariesLike {
    /// The metric of the call path that others are compared with.
    pub metric: Arc<str>,
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("enum" = ["exclusive", "inclusive"])))]
    /// `exclusive`, or `inclusive` where the call path has no exclusive time.
    pub scope: &'static str,
    /// Name of the topology.
    pub topology: String,
    /// Its axes, in the order of `shift`.
    pub axes: Vec<TopologyAxis>,
    /// At most three.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 3)))]
    pub rows: Vec<VariesRow>,
}

/// An axis of the topology.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopologyAxis {
    /// Its name, or its number.
    pub name: String,
    /// Number of places along it.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub size: u32,
}

/// One view.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VariesRow {
    /// Its metric.
    pub metric: Arc<str>,
    /// Regions from the outermost to the innermost.
    pub call_path: Vec<Arc<str>>,
    /// The correlation r_f, from −1, against, to 1, like.
    #[cfg_attr(feature = "schema", schemars(range(min = -1.0, max = 1.0)))]
    pub r: f64,
    /// Shift along each axis, in places.
    pub shift: Vec<u32>,
}

impl VariesLike {
    /// In words: `like time of A (r = 0.98) and B (r = 0.91); opposite to time of C (r = −0.80)`; regions from the
    /// outermost on as `path` writes them.
    pub fn in_words(&self, path: &dyn Fn(&[Arc<str>]) -> String) -> String {
        let row = |row: &VariesRow| {
            let shift = if row.shift.iter().all(|&step| step == 0) {
                String::new()
            } else {
                let steps: Vec<String> = self.signed(&row.shift).iter().map(ToString::to_string).collect();
                let names: Vec<&str> = self.axes.iter().map(|axis| &*axis.name).collect();
                format!(", shifted by {} along {}", steps.join(", "), names.join(", "))
            };
            let sign = if row.r < 0.0 { "−" } else { "" };
            format!("{} of {} (r = {sign}{:.2}{shift})", row.metric, path(&row.call_path), row.r.abs())
        };
        let listed = |words: &str, is_meant: &dyn Fn(&&VariesRow) -> bool| {
            let rows: Vec<String> = self.rows.iter().filter(is_meant).map(row).collect();
            (!rows.is_empty()).then(|| format!("{words} {}", rows.join(", ")))
        };
        let like = listed("like", &|row| 0.0 <= row.r);
        let opposite = listed("opposite to", &|row| row.r < 0.0);
        like.into_iter().chain(opposite).collect::<Vec<_>>().join("; ")
    }

    /// The topology in words: `the topology (node 4 × process 8)`.
    pub fn places(&self) -> String {
        let axes: Vec<String> = self.axes.iter().map(|axis| format!("{} {}", axis.name, axis.size)).collect();
        format!("the topology ({})", axes.join(" × "))
    }

    /// A shift the shorter way around.
    fn signed(&self, shift: &[u32]) -> Vec<i64> {
        let signed = |(&at, axis): (&u32, &TopologyAxis)| {
            let (at, size) = (i64::from(at), i64::from(axis.size));
            if 2 * at > size { at - size } else { at }
        };
        shift.iter().zip(&self.axes).map(signed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_with_sign_and_shift() {
        let row = |r, shift: &[u32]| VariesRow {
            metric: Arc::from("time"),
            call_path: vec![Arc::from("main"), Arc::from("wait")],
            r,
            shift: shift.to_vec(),
        };
        let axis = |name: &str, size| TopologyAxis { name: name.to_owned(), size };
        let varies = VariesLike {
            metric: Arc::from("time"),
            scope: "exclusive",
            topology: "grid".to_owned(),
            axes: vec![axis("x", 4), axis("y", 6)],
            rows: vec![row(-0.98, &[0, 0]), row(0.9, &[1, 5])],
        };
        let path = |names: &[Arc<str>]| names.join("/");
        assert_eq!(
            varies.in_words(&path),
            "like time of main/wait (r = 0.90, shifted by 1, -1 along x, y); \
             opposite to time of main/wait (r = −0.98)"
        );
        assert_eq!(varies.places(), "the topology (x 4 × y 6)");
    }
}
