//! One table: what, on which archive, how fast, beside what, and whether the target is met.

/// What a figure should be.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
}

impl Target {
    fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => bound <= value,
            Self::AtMost(bound) => value <= bound,
            Self::Below(bound) => value < bound,
        }
    }
}

/// One line of the table, as text.
#[derive(Debug, Clone, Default)]
pub struct Row {
    cells: [String; 7],
}

const HEADINGS: [&str; 7] = ["what", "events", "median", "M events/s", "beside", "ratio", "target"];

impl Row {
    /// What follows from other rows, in words.
    pub fn said(what: &str, events: &str) -> Self {
        Self::new([what, events, "", "", "", "", ""])
    }

    /// A run over all events of an archive.
    pub fn speed(what: &str, events: &str, seconds: f64, n_events: u64) -> Self {
        let rate = format!("{:.2}", n_events as f64 / seconds / 1e6);
        Self::new([what, events, &time(seconds), &rate, "", "", ""])
    }

    /// A speed that was measured on an archive of another size than it is compared on.
    pub fn rate(what: &str, events: &str, events_per_second: f64) -> Self {
        Self::new([what, events, "", &format!("{:.2}", events_per_second / 1e6), "", "", ""])
    }

    /// A run that took so long, to be compared.
    pub fn timed(what: &str, events: &str, seconds: f64) -> Self {
        Self::new([what, events, &time(seconds), "", "", "", ""])
    }

    /// A run whose time itself is the figure.
    pub fn duration(what: &str, events: &str, seconds: f64, target: Target) -> Self {
        let mut row = Self::new([what, events, &time(seconds), "", "", "", ""]);
        row.judge(target, seconds, time);
        row
    }

    /// Peak memory in bytes.
    pub fn memory(what: &str, events: &str, n_bytes: f64, target: Target) -> Self {
        let megabytes = |n_bytes: f64| format!("{:.0} MB", n_bytes / 1e6);
        let mut row = Self::new([what, events, &megabytes(n_bytes), "", "", "", ""]);
        row.judge(target, n_bytes, megabytes);
        row
    }

    /// A ratio to another: how many times as fast, or as long; the row has the meaning.
    #[must_use]
    pub fn beside(self, other: &str, ratio: f64, target: Target) -> Self {
        let mut row = self.compared(other, ratio);
        row.judge(target, ratio, |bound| format!("{bound}"));
        row
    }

    /// A ratio to another, without a target.
    #[must_use]
    pub fn compared(mut self, other: &str, ratio: f64) -> Self {
        other.clone_into(&mut self.cells[4]);
        self.cells[5] = format!("{ratio:.2}");
        self
    }

    /// What it takes beyond another, as a part of that.
    #[must_use]
    pub fn beyond(mut self, other: &str, part: f64, target: Option<Target>) -> Self {
        other.clone_into(&mut self.cells[4]);
        self.cells[5] = format!("{:+.1} %", part * 100.0);
        let percent = |part: f64| format!("{:.1} %", part * 100.0);
        target.into_iter().for_each(|target| self.judge(target, part, percent));
        self
    }

    /// The target for a number per second.
    #[must_use]
    pub fn at_rate(mut self, per_second: f64, target: Target) -> Self {
        self.judge(target, per_second, |bound| format!("{} M/s", (bound / 1e4).round() / 100.0));
        self
    }

    /// A further verdict, on something that the row describes in words.
    #[must_use]
    pub fn and(mut self, what: &str, target: Target, value: f64, show: impl Fn(f64) -> String) -> Self {
        let before = std::mem::take(&mut self.cells[6]);
        self.judge(target, value, show);
        let verdict = std::mem::take(&mut self.cells[6]);
        self.cells[6] = match before.is_empty() {
            true => format!("{what} {verdict}"),
            false => format!("{before}; {what} {verdict}"),
        };
        self
    }

    fn new(cells: [&str; 7]) -> Self {
        Self { cells: cells.map(str::to_owned) }
    }

    fn judge(&mut self, target: Target, value: f64, show: impl Fn(f64) -> String) {
        let met = if target.is_met_by(value) { "met" } else { "NOT MET" };
        self.cells[6] = match target {
            Target::AtLeast(bound) => format!("at least {}: {met}", show(bound)),
            Target::AtMost(bound) => format!("at most {}: {met}", show(bound)),
            Target::Below(bound) => format!("below {}: {met}", show(bound)),
        };
    }
}

/// In Markdown, so that it can be pasted where it is published.
pub fn render(rows: &[Row]) -> String {
    let headings = Row::new(HEADINGS);
    let width = |column: usize| {
        let cells = rows.iter().chain([&headings]).map(|row| row.cells[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    let line = |row: &Row| {
        let cells = row.cells.iter().zip(widths).map(|(cell, width)| format!(" {cell:width$} |"));
        format!("|{}\n", cells.collect::<String>())
    };
    let rule: String = widths.iter().map(|width| format!("{}|", "-".repeat(width + 2))).collect();
    let body: String = rows.iter().map(line).collect();
    format!("{}|{rule}\n{body}", line(&headings))
}

fn time(seconds: f64) -> String {
    if seconds < 0.1 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.3} s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_aligned_and_says_what_is_not_met() {
        let rows = [
            Row::speed("library", "10M", 0.25, 10_000_000),
            Row::speed("ours", "10M", 0.05, 10_000_000).beside("library", 5.0, Target::AtLeast(7.0)),
            Row::duration("start", "75k", 0.004, Target::Below(0.020)),
            Row::timed("recorded", "10M", 2.052).beyond("bare", 0.026, Some(Target::AtMost(0.03))),
        ];
        let expected = "\
| what     | events | median  | M events/s | beside  | ratio  | target              |
|----------|--------|---------|------------|---------|--------|---------------------|
| library  | 10M    | 0.250 s | 40.00      |         |        |                     |
| ours     | 10M    | 50.0 ms | 200.00     | library | 5.00   | at least 7: NOT MET |
| start    | 75k    | 4.0 ms  |            |         |        | below 20.0 ms: met  |
| recorded | 10M    | 2.052 s |            | bare    | +2.6 % | at most 3.0 %: met  |
";
        assert_eq!(render(&rows), expected);
    }
}
