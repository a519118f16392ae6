//! For schemas only: words that fields take, and rows of tables, whose keys the generator of the documentation takes
//! from the tables themselves.

/// A type of texts: one of some words.
macro_rules! words {
    ($($name:ident = $($word:literal)|+;)*) => {$(
        #[derive(Debug)]
        pub enum $name {}

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "enum": [$($word),+] })
            }
        }
    )*};
}

words! {
    Aggregation = "sum" | "min" | "max" | "formula";
    ByRegionOrCallPath = "region" | "call_path";
    Cache = "off" | "not_worth" | "read" | "written" | "failed";
    ClockCorrection = "applied" | "none" | "not needed";
    HybridModel = "multiplicative" | "additive" | "talp";
    Level = "high" | "medium" | "low";
    LocationKind = "cpu_thread" | "accelerator_stream" | "metric" | "unknown";
    MetricKind = "exclusive" | "inclusive" | "simple" | "derived";
    MetricMode = "accumulated" | "absolute" | "relative";
    Peak = "absolute" | "max";
    Per = "total" | "rank" | "location";
    PerRankOrLocation = "rank" | "location";
    Scope = "inclusive" | "exclusive";
    TopologyMembers = "ranks" | "locations" | "location groups" | "system nodes";
    TopologyOrigin = "defined" | "system_tree" | "by_hand";
    TrafficUnit = "bytes" | "messages";
    WhatIfKind = "faster" | "remove" | "balance" | "network";
    WaitCertainty = "certain" | "upper_bound" | "possible" | "doubtful";
    Weights = "poster" | "physical";
}

/// Objects whose keys the generator fills in.
macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, schemars::JsonSchema)]
        pub struct $name {}
    )*};
}

rows! {
    /// The parts of one process.
    BreakdownRow;
    /// The same parts as in a row.
    BreakdownMean;
    /// One call path.
    CallTreeNode;
    /// One pair of ranks.
    CommPair;
    /// One view.
    CorrelatedView;
    /// One stretch on the path.
    CriticalPathStep;
    /// One region on the path.
    CriticalPathRegion;
    /// Number of events of each kind that occurs.
    EventCounts;
    /// One rank or location.
    IdleRow;
    /// One rank.
    LatenessRow;
    /// One region or call path.
    ProfileRow;
    /// One region.
    ProfileRegion;
    /// One region or call path.
    SeverityRow;
    /// One stretch.
    Stretch;
}
