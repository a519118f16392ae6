//! Colours that mean something and never change: of a region by its name, of a category by its meaning.
//!
//! Colours are chosen in OKLCH, where equal steps look equal, so that lightness alone distinguishes the kinds: work is
//! light, communication is dark. The picture is readable without hues, or printed in grey. Law: the colour of a region
//! depends on its name and family only. Palettes of images are elsewhere.

use ouzel_analyses::semantics::{Category, Class, Family};

/// Red, green, blue and opacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Colour {
    /// Red, green and blue of sRGB.
    pub rgb: [u8; 3],
    /// From 0, invisible, to 255.
    pub alpha: u8,
}

impl Colour {
    /// Nothing is drawn: the page shows through.
    pub const NONE: Colour = Colour { rgb: [128; 3], alpha: 0 };
    /// The location runs outside of every recorded region.
    pub const OUTSIDE: Colour = Colour { rgb: [128; 3], alpha: 40 };
    /// A call path that does not matter.
    pub const INSIGNIFICANT: Colour = Colour { rgb: [146; 3], alpha: 110 };

    /// The colour of a part from 0, light, to 1, dark: the hue turns from yellow to blue while it darkens, so that the
    /// order is visible without hue, too.
    pub fn of_part(part: f64) -> Colour {
        Colour::oklch(0.95 - 0.65 * part, 0.05 + 0.12 * part, 100.0 + 170.0 * part)
    }

    /// Computation in pictures of what a process does.
    pub fn computation() -> Colour {
        Colour::oklch(0.80, 0.13, 85.0)
    }

    /// Computation that hides communication.
    pub fn overlap() -> Colour {
        Colour::oklch(0.70, 0.12, 150.0)
    }

    /// Communication that nothing hides; also what is sent.
    pub fn communication() -> Colour {
        Colour::oklch(0.55, 0.18, 28.0)
    }

    /// What is received.
    pub fn receiving() -> Colour {
        Colour::oklch(0.52, 0.14, 250.0)
    }

    /// Waiting.
    pub fn idle() -> Colour {
        Colour::oklch(0.62, 0.13, 160.0)
    }

    /// `#rrggbb`, or with the opacity as CSS writes it.
    pub fn css(self) -> String {
        let [r, g, b] = self.rgb;
        match self.alpha {
            255 => format!("#{r:02x}{g:02x}{b:02x}"),
            alpha => format!("#{r:02x}{g:02x}{b:02x}{alpha:02x}"),
        }
    }

    /// The opaque colour that `#rrggbb` is.
    pub fn from_css(text: &str) -> Option<Colour> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii())?;
        let part = |place: usize| u8::from_str_radix(digits.get(place..place + 2)?, 16).ok();
        Some(Colour { rgb: [part(0)?, part(2)?, part(4)?], alpha: 255 })
    }

    /// Whether black text on it reads better than white.
    pub fn is_light(self) -> bool {
        self.alpha < 128 || 135 < self.luma()
    }

    /// The grey of an opaque colour in a print: BT.601, from 0 to 255.
    fn luma(self) -> u32 {
        let [r, g, b] = self.rgb.map(u32::from);
        (299 * r + 587 * g + 114 * b) / 1000
    }

    /// An opaque colour by lightness (0 to 1), chroma (0 to about 0.3) and hue in degrees, after B. Ottosson,
    /// *A perceptual color space for image processing* (2020). What sRGB lacks is clipped.
    pub(crate) fn oklch(lightness: f64, chroma: f64, hue: f64) -> Colour {
        let (a, b) = (chroma * hue.to_radians().cos(), chroma * hue.to_radians().sin());
        let cube = |x: f64| x * x * x;
        let l = cube(lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b);
        let m = cube(lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b);
        let s = cube(lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b);
        let linear = [
            4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
            -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
            -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
        ];
        let rgb = linear.map(|x| {
            let x = x.clamp(0.0, 1.0);
            let x = if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 };
            (x * 255.0).round() as u8
        });
        Colour { rgb, alpha: 255 }
    }
}

/// The colour of a region: hue by a hash of its name, MPI reddish and dark, work light.
pub fn of_region(name: &str, class: Class) -> Colour {
    let hash = hash(name);
    // Three independent parts of the hash, each from 0 to 1.
    let part = |shift: u32| ((hash >> shift) & 0xFFFF) as f64 / 65_535.0;
    let (hue, step, chroma) = (part(0), part(16), part(32));
    match (class.family, class.category) {
        (Family::Mpi, Category::Synchronization) => {
            let [hue, step, chroma] = spread(&MPI_SYNCHRONIZING, name, hash);
            Colour::oklch(0.30 + 0.18 * step, 0.07 + 0.08 * chroma, 330.0 + 50.0 * hue)
        }
        (Family::Mpi, _) => {
            let [hue, step, chroma] = spread(&MPI_OTHERS, name, hash);
            Colour::oklch(0.44 + 0.18 * step, 0.08 + 0.11 * chroma, 2.0 + 56.0 * hue)
        }
        (Family::User, Category::Computation) => {
            Colour::oklch(0.78 + 0.11 * step, 0.06 + 0.05 * chroma, 75.0 + 245.0 * hue)
        }
        _ => Colour::oklch(0.58 + 0.10 * step, 0.10 + 0.05 * chroma, 150.0 + 160.0 * hue),
    }
}

/// MPI functions in the order in which colours are given to them: those that occur together most often come first, so
/// that their colours are farthest apart.
const MPI_SYNCHRONIZING: [&str; 16] = [
    "MPI_Barrier",
    "MPI_Allreduce",
    "MPI_Init",
    "MPI_Finalize",
    "MPI_Alltoall",
    "MPI_Allgather",
    "MPI_Win_fence",
    "MPI_Init_thread",
    "MPI_Alltoallv",
    "MPI_Allgatherv",
    "MPI_Reduce_scatter",
    "MPI_Comm_dup",
    "MPI_Comm_split",
    "MPI_Comm_create",
    "MPI_Cart_create",
    "MPI_Win_create",
];
const MPI_OTHERS: [&str; 36] = [
    "MPI_Recv",
    "MPI_Send",
    "MPI_Waitall",
    "MPI_Isend",
    "MPI_Irecv",
    "MPI_Wait",
    "MPI_Allreduce",
    "MPI_Bcast",
    "MPI_Reduce",
    "MPI_Barrier",
    "MPI_Sendrecv",
    "MPI_Init",
    "MPI_Finalize",
    "MPI_Waitany",
    "MPI_Gather",
    "MPI_Scatter",
    "MPI_Allgather",
    "MPI_Alltoall",
    "MPI_Test",
    "MPI_Probe",
    "MPI_Iprobe",
    "MPI_Gatherv",
    "MPI_Scatterv",
    "MPI_Waitsome",
    "MPI_Testall",
    "MPI_Ssend",
    "MPI_Start",
    "MPI_Startall",
    "MPI_Put",
    "MPI_Get",
    "MPI_Comm_rank",
    "MPI_Comm_size",
    "MPI_Scan",
    "MPI_File_read",
    "MPI_File_write",
    "MPI_Accumulate",
];

/// Three numbers from 0 to 1 for a name. Those of the first names of a list are evenly spread: multiples of the powers
/// of the root of `x⁴ = x + 1`, after M. Roberts, *The unreasonable effectiveness of quasirandom sequences* (2018).
fn spread(first: &[&str], name: &str, hash: u64) -> [f64; 3] {
    let place = first.iter().position(|known| *known == name);
    let n = place.map_or_else(|| first.len() as f64 + (hash % 4096) as f64, |place| place as f64);
    [0.819_172_513_4, 0.671_043_606_7, 0.549_700_477_9].map(|step: f64| (0.5 + n * step).fract())
}

/// The colour of the `n`-th significant call path of its category: computation red, yellow and brown, waiting green and
/// blue, synchronisation purple. Then colours repeat; numbers in the picture distinguish them.
pub fn of_category(category: Category, n: usize) -> Colour {
    // Lightness, chroma, hue.
    const COMPUTATION: [(f64, f64, f64); 6] = [
        (0.63, 0.22, 27.0),
        (0.86, 0.16, 92.0),
        (0.50, 0.11, 52.0),
        (0.74, 0.17, 58.0),
        (0.45, 0.15, 25.0),
        (0.80, 0.10, 70.0),
    ];
    const WAIT: [(f64, f64, f64); 6] = [
        (0.70, 0.17, 148.0),
        (0.55, 0.17, 255.0),
        (0.83, 0.11, 200.0),
        (0.48, 0.11, 152.0),
        (0.72, 0.12, 235.0),
        (0.84, 0.16, 135.0),
    ];
    const SYNCHRONIZATION: [(f64, f64, f64); 3] =
        [(0.45, 0.20, 305.0), (0.62, 0.18, 315.0), (0.76, 0.12, 310.0)];
    let scale: &[(f64, f64, f64)] = match category {
        Category::Computation => &COMPUTATION,
        Category::Wait => &WAIT,
        Category::Synchronization => &SYNCHRONIZATION,
    };
    let (lightness, chroma, hue) = scale[n % scale.len()];
    Colour::oklch(lightness, chroma, hue)
}

/// The pale colour of a category, if call paths are not distinguished.
pub fn of_category_alone(category: Category) -> Colour {
    let rgb = match category {
        Category::Computation => Colour::oklch(0.80, 0.10, 80.0).rgb,
        Category::Wait => Colour::oklch(0.62, 0.13, 160.0).rgb,
        Category::Synchronization => Colour::oklch(0.50, 0.14, 305.0).rgb,
    };
    Colour { rgb, alpha: 150 }
}

/// FNV-1a, then mixed: the same on every machine and in every version.
fn hash(text: &str) -> u64 {
    let fnv = text
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01B3));
    let mixed = (fnv ^ (fnv >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(family: Family, category: Category) -> Class {
        Class { category, family }
    }

    #[test]
    fn work_is_light_and_communication_is_dark() {
        for i in 0..200 {
            let name = format!("region_{i}");
            let work = of_region(&name, class(Family::User, Category::Computation));
            let mpi = of_region(&name, class(Family::Mpi, Category::Wait));
            assert!(work.is_light(), "{name}: {}", work.css());
            assert!(!mpi.is_light(), "{name}: {}", mpi.css());
            let [r, g, b] = mpi.rgb;
            assert!(g < r && b < r, "{name}: MPI is reddish, not {}", mpi.css());
        }
    }

    #[test]
    fn mpi_functions_that_occur_together_are_told_apart() {
        for (names, category) in
            [(&MPI_OTHERS[..9], Category::Wait), (&MPI_SYNCHRONIZING[..6], Category::Synchronization)]
        {
            let colours: Vec<Colour> =
                names.iter().map(|name| of_region(name, class(Family::Mpi, category))).collect();
            for (i, a) in colours.iter().enumerate() {
                for (j, b) in colours.iter().enumerate().skip(i + 1) {
                    let steps = a.rgb.iter().zip(b.rgb).map(|(a, b)| u32::from(a.abs_diff(b)));
                    let distance: u32 = steps.sum();
                    assert!(25 <= distance, "{} {} and {} {}", names[i], a.css(), names[j], b.css());
                }
            }
        }
    }

    #[test]
    fn the_scale_is_that_of_its_inventor() {
        // White, and a grey: OKLCH without chroma is grey.
        assert_eq!(Colour::oklch(1.0, 0.0, 0.0).rgb, [255; 3]);
        assert_eq!(Colour::oklch(0.599_871, 0.0, 0.0).rgb, [128; 3]);
        // Pure red of sRGB has lightness 0.62796, chroma 0.25768, hue 29.234.
        assert_eq!(Colour::oklch(0.627_955, 0.257_683, 29.234).rgb, [255, 0, 0]);
    }

    #[test]
    fn neighbours_in_a_category_differ_in_lightness() {
        for category in [Category::Computation, Category::Wait, Category::Synchronization] {
            for n in 0..2 {
                let (a, b) = (of_category(category, n), of_category(category, n + 1));
                assert!(8 <= a.luma().abs_diff(b.luma()), "{category:?} {n}: {} {}", a.css(), b.css());
            }
        }
    }

    #[test]
    fn a_name_has_one_colour_for_ever() {
        let solve = of_region("solve", class(Family::User, Category::Computation));
        assert_eq!(solve.css(), of_region("solve", class(Family::User, Category::Computation)).css());
        assert_ne!(solve, of_region("assemble", class(Family::User, Category::Computation)));
        assert_eq!(Colour::OUTSIDE.css(), "#80808028");
    }
}
