//! Rows of the table of events, laid out in columns.

use ouzel_model::{ColumnData, Table, Unit};
use std::sync::Arc;

/// One row. Fields that do not apply are `None`.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventRow {
    pub time_ns: u64,
    pub rank: Option<u64>,
    pub location: u64,
    pub kind: &'static str,
    pub region: Option<Arc<str>>,
    pub depth: u64,
    pub partner: Option<u64>,
    pub communicator: Option<Arc<str>>,
    pub tag: Option<u64>,
    pub bytes_sent: Option<u64>,
    pub bytes_received: Option<u64>,
    pub collective: Option<Arc<str>>,
    pub root: Option<u64>,
    pub request: Option<u64>,
    pub thread_step: Option<Arc<str>>,
    pub lock: Option<u64>,
    pub acquisition: Option<u64>,
    pub rma_step: Option<Arc<str>>,
    pub rma_detail: Option<Arc<str>>,
    pub window: Option<Arc<str>>,
    pub rma_operation: Option<u64>,
    pub metric: Option<Arc<str>>,
    pub metric_value: Option<f64>,
    pub metric_value_exact: Option<u64>,
    pub parameter: Option<Arc<str>>,
    pub parameter_value: Option<Arc<str>>,
    pub sampled_path: Option<Arc<str>>,
    pub frames_kept: Option<u64>,
    pub frames_kept_at_most: Option<u64>,
}

/// Columns with the type of their values, the unit and the explanation; makes the batch, its growth and its table.
macro_rules! batch {
    ($($name:ident: $value:ty as $data:ident, $unit:expr, $doc:literal;)*) => {
        /// Rows that are written together.
        #[derive(Debug, Default)]
        pub(crate) struct Batch { kind: Vec<Arc<str>>, kinds: Vec<Arc<str>>, $($name: Vec<$value>,)* }

        impl Batch {
            /// Appends a row.
            pub fn push(&mut self, row: EventRow) {
                let kind = self.shared_kind(row.kind);
                self.kind.push(kind);
                $(self.$name.push(row.$name);)*
            }

            /// The rows as a table.
            pub fn into_table(self) -> Table {
                let mut table = Table::new("events");
                $(table = table.with(stringify!($name), $unit, $doc, ColumnData::$data(self.$name));)*
                let kind = "What happened, e.g. enter, leave, message_send, message_recv, collective_end, metric";
                table = table.with("kind", Unit::None, kind, ColumnData::Text(self.kind));
                // Behind when and where.
                let kind = table.columns.pop().expect("it was just added");
                table.columns.insert(3, kind);
                table
            }
        }
    };
}

batch! {
    time_ns: u64 as U64, Unit::Nanoseconds, "When, since the trace start";
    rank: Option<u64> as OptionU64, Unit::None, "World rank of the process; missing if unknown";
    location: u64 as U64, Unit::None, "Id of the location in the trace's files";
    region: Option<Arc<str>> as OptionText, Unit::None,
        "The region entered or left; for other events, the innermost open region";
    depth: u64 as U64, Unit::Count, "Number of regions open around it";
    partner: Option<u64> as OptionU64, Unit::None, "World rank of the other side of a message or one-sided access";
    communicator: Option<Arc<str>> as OptionText, Unit::None, "Communicator of a message or collective operation, team of threads";
    tag: Option<u64> as OptionU64, Unit::None, "Tag of a message";
    bytes_sent: Option<u64> as OptionU64, Unit::Bytes, "Bytes sent by a message or collective operation";
    bytes_received: Option<u64> as OptionU64, Unit::Bytes, "Bytes received by a message or collective operation";
    collective: Option<Arc<str>> as OptionText, Unit::None, "The collective operation that ended";
    root: Option<u64> as OptionU64, Unit::None, "World rank of the root of a collective operation";
    request: Option<u64> as OptionU64, Unit::None, "Request of a non-blocking operation, unique within its location";
    rma_step: Option<Arc<str>> as OptionText, Unit::None,
        "What happened in one-sided communication: the name of the record in OTF2";
    rma_detail: Option<Arc<str>> as OptionText, Unit::None,
        "How: mode of a lock, what is synchronised, kind of an atomic access";
    window: Option<Arc<str>> as OptionText, Unit::None, "Window of one-sided communication";
    rma_operation: Option<u64> as OptionU64, Unit::None, "Number of an access, which the records of its completion repeat";
    metric: Option<Arc<str>> as OptionText, Unit::None, "The metric read";
    metric_value: Option<f64> as OptionF64, Unit::None, "Its value, in the metric's unit";
    metric_value_exact: Option<u64> as OptionU64, Unit::None, "The same, if it is a non-negative whole number";
    parameter: Option<Arc<str>> as OptionText, Unit::None, "Name of a parameter of the current call";
    parameter_value: Option<Arc<str>> as OptionText, Unit::None, "Its value";
    sampled_path: Option<Arc<str>> as OptionText, Unit::None,
        "Call path of a sample, outermost region first, each with its line";
    frames_kept: Option<u64> as OptionU64, Unit::Count,
        "Outermost regions of the path that stayed open since the previous sample; missing if unknown";
    frames_kept_at_most: Option<u64> as OptionU64, Unit::Count, "Most that can have stayed, if only that is known";
    thread_step: Option<Arc<str>> as OptionText, Unit::None,
        "What happened to threads, a task or a lock: the name of the record in OTF2";
    lock: Option<u64> as OptionU64, Unit::None,
        "The lock, unique within its process and programming model, or within its window and target";
    acquisition: Option<u64> as OptionU64, Unit::None, "Which acquisition of the lock: a later one has a greater number";
}

impl Batch {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// One allocation for each kind and batch, not for each row.
    fn shared_kind(&mut self, kind: &'static str) -> Arc<str> {
        if let Some(known) = self.kinds.iter().find(|known| &***known == kind) {
            return known.clone();
        }
        let kind: Arc<str> = Arc::from(kind);
        self.kinds.push(kind.clone());
        kind
    }
}
