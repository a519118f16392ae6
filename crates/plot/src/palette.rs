//! Scales of colours for values over places, from small to large.
//!
//! Colours that mean something are in [`colour`](crate::colour).

use crate::colour::Colour;

/// A scale of colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Palette {
    /// From dark blue to yellow, designed to look the same with red or green colour blindness (Nuñez, Anderton and
    /// Renslow, 2018).
    #[default]
    Cividis,
    /// From violet over green to yellow; evenly lighter in grey.
    Viridis,
    /// Green is small, red is large, as on the poster on filtered correlation.
    GreenYellowRed,
}

/// Steps of a scale: more than the eye can distinguish, few enough for small files.
const N_STEPS: f64 = 128.0;

impl Palette {
    /// The colour of a part from 0, small, to 1, large.
    pub fn colour(self, part: f64) -> Colour {
        let part = (part.clamp(0.0, 1.0) * N_STEPS).round() / N_STEPS;
        let of = match self {
            Palette::Cividis => colorous::CIVIDIS.eval_continuous(part),
            Palette::Viridis => colorous::VIRIDIS.eval_continuous(part),
            Palette::GreenYellowRed => colorous::RED_YELLOW_GREEN.eval_continuous(1.0 - part),
        };
        Colour { rgb: [of.r, of.g, of.b], alpha: 255 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_scales_grow_lighter_and_the_posters_goes_from_green_to_red() {
        for palette in [Palette::Cividis, Palette::Viridis] {
            let luma = |part: f64| {
                let [r, g, b] = palette.colour(part).rgb.map(f64::from);
                0.299 * r + 0.587 * g + 0.114 * b
            };
            for step in 0..10 {
                let part = f64::from(step) / 10.0;
                assert!(luma(part) < luma(part + 0.1), "{palette:?} at {part}");
            }
        }
        let [small, large] = [0.0, 1.0].map(|part| Palette::GreenYellowRed.colour(part).rgb);
        assert!(small[0] < small[1] && large[1] < large[0], "{small:?} {large:?}");
    }
}
