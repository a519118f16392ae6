//! Values over the places of a topology, side by side.

use crate::axis::{Scale, number};
use crate::fields::{Field, FieldAxis, Fields, Solid};
use crate::palette::Palette;
use crate::{Marks, Picture};

/// Severities of several views over one grid; the first is compared with the others. Units are those of the profile;
/// seconds and bytes are scaled for easy reading. `values` of each field hold one value for each place, the last axis
/// fastest, and NaN if a place is empty.
pub fn fields(
    title: &str,
    of: &str,
    axes: Vec<FieldAxis>,
    fields: Vec<Field>,
    (palette, solid): (Palette, Solid),
) -> Picture {
    let fields = fields.into_iter().map(scaled).collect();
    Picture::new(title, of, Marks::Fields(Fields { axes, fields, palette, solid }))
}

/// The field in a unit in which its largest value is easily read.
fn scaled(mut field: Field) -> Field {
    let finite = field.values.iter().filter(|value| value.is_finite());
    let largest = finite.fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let (divisor, unit) = match &*field.unit {
        "sec" | "s" | "seconds" => {
            let scale = Scale::of_ns(largest * 1e9);
            (scale.divisor / 1e9, scale.unit.to_owned())
        }
        "ns" => {
            let scale = Scale::of_ns(largest);
            (scale.divisor, scale.unit.to_owned())
        }
        "bytes" | "B" => {
            let scale = Scale::of_bytes(largest);
            (scale.divisor, scale.unit.to_owned())
        }
        // Thousands and millions, if numbers would be long.
        unit if 1e5 <= largest => {
            let power = ((largest.log10() / 3.0).floor() * 3.0) as i32;
            (10_f64.powi(power), format!("{} {unit}", number(10_f64.powi(power))).trim().to_owned())
        }
        unit => (1.0, unit.to_owned()),
    };
    for value in &mut field.values {
        *value /= divisor;
    }
    Field { unit, ..field }
}
