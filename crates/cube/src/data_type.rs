//! Types of values: what one value of a row is made of.

/// What a part of a value is, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is a type of that name")]
pub enum Primitive {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F64,
}

impl Primitive {
    /// Its size.
    pub fn n_bytes(self) -> usize {
        match self {
            Primitive::U8 | Primitive::I8 => 1,
            Primitive::U16 | Primitive::I16 => 2,
            Primitive::U32 | Primitive::I32 => 4,
            Primitive::U64 | Primitive::I64 | Primitive::F64 => 8,
        }
    }
}

/// The type of the values of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataType {
    /// One number.
    Number(Primitive),
    /// One number of which the least counts (`MINDOUBLE`).
    Min,
    /// One number of which the greatest counts (`MAXDOUBLE`).
    Max,
    /// Real and imaginary part.
    Complex,
    /// Numerator and denominator.
    Rate,
    /// Number, minimum, maximum, sum, and sum of squares.
    TauAtomic,
    /// So many numbers.
    Doubles(u32),
    /// Minimum, maximum, and so many bins.
    Histogram(u32),
}

/// One number within a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is called, after the name of the metric; empty for a value of one number.
    pub suffix: String,
    /// Where it begins.
    pub offset: usize,
    /// How it is stored.
    pub primitive: Primitive,
    /// `Min` or `Max` if the least or greatest counts, else it is summed.
    pub extreme: Option<DataType>,
}

/// Numbers of a value of more are not read: the widest real one has 10. Chosen so that a row of one location stays
/// below 64 KiB.
const MAX_NUMBERS: u32 = 8000;

impl DataType {
    /// The type of a name as files spell it; `None` if it is not known.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_uppercase();
        let number = match name.as_str() {
            "DOUBLE" | "FLOAT" => Primitive::F64,
            "INTEGER" | "INT64" => Primitive::I64,
            "UINT64" => Primitive::U64,
            "INT32" => Primitive::I32,
            "UINT32" => Primitive::U32,
            "INT16" => Primitive::I16,
            "UINT16" => Primitive::U16,
            "INT8" | "CHAR" => Primitive::I8,
            "UINT8" => Primitive::U8,
            "MINDOUBLE" => return Some(DataType::Min),
            "MAXDOUBLE" => return Some(DataType::Max),
            "COMPLEX" => return Some(DataType::Complex),
            "RATE" => return Some(DataType::Rate),
            "TAU_ATOMIC" => return Some(DataType::TauAtomic),
            _ => {
                let (name, rest) = name.split_once('(')?;
                let n: u32 = rest.strip_suffix(')')?.trim().parse().ok()?;
                return match name.trim() {
                    "NDOUBLES" if n <= MAX_NUMBERS => Some(DataType::Doubles(n)),
                    "HISTOGRAM" if n <= MAX_NUMBERS => Some(DataType::Histogram(n)),
                    _ => None,
                };
            }
        };
        Some(DataType::Number(number))
    }

    /// Bytes of a value.
    pub fn n_bytes(self) -> usize {
        self.parts().iter().map(|part| part.primitive.n_bytes()).sum()
    }

    /// The numbers it is made of, in order.
    pub fn parts(self) -> Vec<Part> {
        let numbers =
            |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), Primitive::F64, None)).collect();
        let (min, max) = (Some(DataType::Min), Some(DataType::Max));
        let extremes = [("min".to_owned(), Primitive::F64, min), ("max".to_owned(), Primitive::F64, max)];
        let parts: Vec<(String, Primitive, Option<DataType>)> = match self {
            DataType::Number(primitive) => vec![(String::new(), primitive, None)],
            DataType::Min | DataType::Max => vec![(String::new(), Primitive::F64, Some(self))],
            DataType::Complex => numbers(&["real", "imaginary"]),
            DataType::Rate => numbers(&["numerator", "denominator"]),
            DataType::TauAtomic => {
                let mut parts = vec![("n".to_owned(), Primitive::U32, None)];
                parts.extend(extremes);
                parts.extend([
                    ("sum".to_owned(), Primitive::F64, None),
                    ("sum2".to_owned(), Primitive::F64, None),
                ]);
                parts
            }
            DataType::Doubles(n) => (0..n).map(|i| (i.to_string(), Primitive::F64, None)).collect(),
            DataType::Histogram(n) => {
                let bins = (0..n).map(|i| (format!("bin{i}"), Primitive::F64, None));
                extremes.into_iter().chain(bins).collect()
            }
        };
        let mut offset = 0;
        let mut place = |(suffix, primitive, extreme): (String, Primitive, Option<DataType>)| {
            let part = Part { suffix, offset, primitive, extreme };
            offset += primitive.n_bytes();
            part
        };
        parts.into_iter().map(&mut place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_real_files() {
        let sizes = [
            ("UINT8", 1),
            ("INT16", 2),
            ("uint32", 4),
            ("INTEGER", 8),
            ("RATE", 16),
            ("TAU_ATOMIC", 36),
            ("HISTOGRAM(5)", 56),
            ("NDOUBLES( 10 )", 80),
        ];
        for (name, n_bytes) in sizes {
            assert_eq!(DataType::from_name(name).unwrap().n_bytes(), n_bytes, "{name}");
        }
        for name in ["SCALE_FUNC", "NDOUBLES(4000000000)", "NDOUBLES(-1)", "NDOUBLES(", ""] {
            assert_eq!(DataType::from_name(name), None, "{name}");
        }
    }
}
