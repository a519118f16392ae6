//! Rows of CUBE as rows of the model.
//!
//! Values that mean "never" are no values: Score-P writes the last numbers of 64 bits, and
//! the ends of the floating-point numbers where a minimum or maximum was never taken.

use super::metrics::Stored;
use super::{CubeSource, damage_notice, read_error};
use ouzel_cube::{CubeError, Kind, MetricRows, Primitive, XmlRows};
use ouzel_model::{
    CallPathId, Level, LocationId, MetricId, MetricValueType, Notice, NoticeCode, ReadError, Severities,
    SeverityRow, SeverityRows,
};
use std::fs::File;
use std::ops::Range;

/// Unsigned numbers above this mean "no value" in profiles of Score-P.
const MAX_COUNT: u64 = 0xFFFF_FFFF_FFFF_FBFF;

/// Reads rows of one metric, from the last call path to the first.
struct StoredRows<'a> {
    source: &'a CubeSource,
    stored: Option<&'a Stored>,
    value_type: MetricValueType,
    input: RowInput,
    first: u32,
    next: u32,
    not_finite: Vec<LocationId>,
    n_infinite: u64,
    n_never: u64,
    n_bad_words: u64,
    damage: Vec<(CubeError, u64)>,
}

enum RowInput {
    Nothing,
    Archive(MetricRows<File>),
    Xml(XmlRows),
}

pub(super) fn open(
    source: &CubeSource,
    metric: MetricId,
    paths: Range<CallPathId>,
) -> Result<Box<dyn SeverityRows + '_>, ReadError> {
    let stored = source.stored[metric.index()].as_ref();
    let mut damage = Vec::new();
    let input = match stored {
        None => RowInput::Nothing,
        Some(stored) if source.cube.kind() == Kind::Archive => {
            match source.cube.metric_rows(stored.metric, stored.data_type.n_bytes()) {
                Ok(rows) => rows.map_or(RowInput::Nothing, RowInput::Archive),
                // The other metrics can be read all the same.
                Err(error) => {
                    damage.push((error, 1));
                    RowInput::Nothing
                }
            }
        }
        Some(_) => RowInput::Xml(source.cube.xml_rows().map_err(read_error)?),
    };
    Ok(Box::new(StoredRows {
        source,
        stored,
        value_type: source.definitions.metric(metric).value_type,
        input,
        first: paths.start.0,
        next: paths.end.0,
        not_finite: Vec::new(),
        n_infinite: 0,
        n_never: 0,
        n_bad_words: 0,
        damage,
    }))
}

impl SeverityRows for StoredRows<'_> {
    fn read(&mut self, row: &mut SeverityRow) -> Result<bool, ReadError> {
        let Some(stored) = self.stored else { return Ok(false) };
        if matches!(self.input, RowInput::Nothing) {
            return Ok(false);
        }
        if row.values.value_type() != self.value_type {
            row.values = Severities::new(self.value_type);
        }
        while self.next > self.first {
            self.next -= 1;
            if self.read_path(self.next, stored, row).map_err(read_error)? {
                row.path = CallPathId(self.next);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn not_finite(&self) -> &[LocationId] {
        &self.not_finite
    }

    fn notices(&mut self) -> Vec<Notice> {
        if let RowInput::Archive(rows) = &mut self.input {
            self.damage.append(&mut rows.take_damage());
        }
        let mut notices: Vec<Notice> =
            self.damage.drain(..).map(|(error, n)| damage_notice(&error, n)).collect();
        let file = self.source.cube.file();
        let mut tell = |level, code, n: u64, message: &str| {
            if n > 0 {
                notices.push(Notice::new(level, code, message).times(n).in_file(file.clone()));
            }
        };
        let doubtful = NoticeCode::DoubtfulSeverities;
        tell(Level::Medium, doubtful, self.n_infinite, "severities that are not finite are left out");
        tell(Level::Low, doubtful, self.n_never, "severities that mean \"no value\" are left out");
        let damaged = NoticeCode::DamagedSeverities;
        tell(
            Level::High,
            damaged,
            self.n_bad_words,
            "rows have words that are not numbers, or the wrong number of words",
        );
        notices
    }
}

impl StoredRows<'_> {
    fn read_path(&mut self, path: u32, stored: &Stored, row: &mut SeverityRow) -> Result<bool, CubeError> {
        let n_locations = self.source.definitions.locations.len();
        row.locations = None;
        match &mut self.input {
            RowInput::Nothing => return Ok(false),
            RowInput::Archive(rows) => {
                let tree_index = if stored.is_wide { self.source.wide_index[path as usize] } else { path };
                let is_little_endian = rows.is_little_endian();
                let Some(bytes) = rows.read(tree_index)? else { return Ok(false) };
                decode(bytes, stored, is_little_endian, &mut row.values);
            }
            RowInput::Xml(rows) => {
                let cnode = self.source.cube.anchor().cnodes[path as usize].id;
                let Some(&at) = self.source.xml_rows.get(&(stored.metric, cnode)) else { return Ok(false) };
                let place = &self.source.cube.anchor().rows[at as usize];
                self.n_bad_words += match &mut row.values {
                    Severities::I64(values) => rows.read(place, n_locations, values)?,
                    values => rows.read(place, n_locations, values.make_f64())?,
                };
                fill(&mut row.values, n_locations, &mut self.n_bad_words);
            }
        }
        self.leave_out(row);
        Ok(!row.is_empty() || !self.not_finite.is_empty())
    }

    /// Leaves out what is not a value.
    fn leave_out(&mut self, row: &mut SeverityRow) {
        self.not_finite.clear();
        match &mut row.values {
            Severities::I64(_) => {}
            Severities::U64(values) => {
                if values.iter().any(|&value| value > MAX_COUNT) {
                    self.n_never += retain(values, &mut row.locations, |value| value <= MAX_COUNT);
                }
            }
            Severities::F64(values) => {
                let is_good = |value: f64| value.abs() < f64::MAX;
                if !values.iter().all(|&value| is_good(value)) {
                    let infinite = values.iter().enumerate().filter(|(_, value)| !value.is_finite());
                    self.not_finite.extend(infinite.map(|(i, _)| LocationId::from_index(i)));
                    let n_infinite = self.not_finite.len() as u64;
                    let n_gone = retain(values, &mut row.locations, is_good);
                    self.n_infinite += n_infinite;
                    self.n_never += n_gone - n_infinite;
                }
            }
        }
    }
}

/// Makes a row of XML as long as it must be; what is not there is zero.
fn fill(values: &mut Severities, n_locations: usize, n_bad: &mut u64) {
    *n_bad += u64::from(values.len() < n_locations);
    match values {
        Severities::U64(values) => values.resize(n_locations, 0),
        Severities::I64(values) => values.resize(n_locations, 0),
        Severities::F64(values) => values.resize(n_locations, 0.0),
    }
}

/// Keeps the values that are good, with their locations; returns how many were not.
fn retain<T: Copy>(
    values: &mut Vec<T>,
    locations: &mut Option<Vec<LocationId>>,
    is_good: impl Fn(T) -> bool,
) -> u64 {
    let n_before = values.len();
    let good = values.iter().enumerate().filter(|(_, value)| is_good(**value));
    *locations = Some(good.map(|(i, _)| LocationId::from_index(i)).collect());
    values.retain(|&value| is_good(value));
    (n_before - values.len()) as u64
}

/// The numbers of one part of the values of a row.
fn decode(bytes: &[u8], stored: &Stored, is_little_endian: bool, values: &mut Severities) {
    macro_rules! numbers {
        ($type:ty, $to:ty, $values:expr) => {{
            const N: usize = size_of::<$type>();
            let (stride, offset) = (stored.data_type.n_bytes(), stored.part.offset);
            let read = |value: &[u8]| {
                let number = value[offset..offset + N].try_into().expect("a part lies within its value");
                (if is_little_endian {
                    <$type>::from_le_bytes(number)
                } else {
                    <$type>::from_be_bytes(number)
                }) as $to
            };
            $values.clear();
            if is_little_endian && stride == N {
                // The common case, which the compiler turns into a copy.
                $values.extend(
                    bytes.as_chunks::<N>().0.iter().map(|&number| <$type>::from_le_bytes(number) as $to),
                );
            } else {
                $values.extend(bytes.chunks_exact(stride).map(read));
            }
        }};
    }
    match (values, stored.part.primitive) {
        (Severities::U64(values), Primitive::U8) => numbers!(u8, u64, values),
        (Severities::U64(values), Primitive::U16) => numbers!(u16, u64, values),
        (Severities::U64(values), Primitive::U32) => numbers!(u32, u64, values),
        (Severities::U64(values), Primitive::U64) => numbers!(u64, u64, values),
        (Severities::I64(values), Primitive::I8) => numbers!(i8, i64, values),
        (Severities::I64(values), Primitive::I16) => numbers!(i16, i64, values),
        (Severities::I64(values), Primitive::I32) => numbers!(i32, i64, values),
        (Severities::I64(values), Primitive::I64) => numbers!(i64, i64, values),
        (values, _) => numbers!(f64, f64, values.make_f64()),
    }
}
