//! Transforms of 2, 4 and 8 numbers along an axis that is not the last, for all columns at once and in place: machines
//! have many axes so short, where copying columns to lines and back costs more than the transform.

use num_complex::Complex;
use realfft::FftNum;
use rustfft::FftDirection;

/// Transforms every column of a block of `size` rows; `false` if there is nothing of its own for that size.
pub fn transform<T: FftNum>(size: usize, direction: FftDirection, block: &mut [Complex<T>]) -> bool {
    let stride = block.len() / size;
    match size {
        2 => two(block, stride),
        4 => four(block, stride, direction),
        8 => eight(block, stride, direction),
        _ => return false,
    }
    true
}

fn two<T: FftNum>(block: &mut [Complex<T>], stride: usize) {
    let (a, b) = block.split_at_mut(stride);
    for (a, b) in a.iter_mut().zip(b) {
        (*a, *b) = (*a + *b, *a - *b);
    }
}

fn four<T: FftNum>(block: &mut [Complex<T>], stride: usize, direction: FftDirection) {
    let (ab, cd) = block.split_at_mut(2 * stride);
    let ((a, b), (c, d)) = (ab.split_at_mut(stride), cd.split_at_mut(stride));
    let columns = a.iter_mut().zip(b).zip(c.iter_mut().zip(d));
    // The direction is outside of the loop, so that each loop is straight.
    match direction {
        FftDirection::Forward => columns.for_each(|((a, b), (c, d))| {
            [*a, *b, *c, *d] = butterfly(*a, *b, *c, *d, backward_quarter);
        }),
        FftDirection::Inverse => columns.for_each(|((a, b), (c, d))| {
            [*a, *b, *c, *d] = butterfly(*a, *b, *c, *d, forward_quarter);
        }),
    }
}

fn eight<T: FftNum>(block: &mut [Complex<T>], stride: usize, direction: FftDirection) {
    match direction {
        FftDirection::Forward => eight_by(block, stride, backward_quarter),
        FftDirection::Inverse => eight_by(block, stride, forward_quarter),
    }
}

/// Eight as two times four, by the turn of a quarter in the direction.
#[inline(always)]
fn eight_by<T: FftNum>(
    block: &mut [Complex<T>],
    stride: usize,
    quarter: impl Fn(Complex<T>) -> Complex<T> + Copy,
) {
    let half = T::from_f64(std::f64::consts::FRAC_1_SQRT_2).expect("a number of the type");
    let (low, high) = block.split_at_mut(4 * stride);
    let ((x0, x1), (x2, x3)) = quarters(low, stride);
    let ((x4, x5), (x6, x7)) = quarters(high, stride);
    let even = x0.iter_mut().zip(x2).zip(x4.iter_mut().zip(x6));
    let odd = x1.iter_mut().zip(x3).zip(x5.iter_mut().zip(x7));
    for (((x0, x2), (x4, x6)), ((x1, x3), (x5, x7))) in even.zip(odd) {
        let [a0, a1, a2, a3] = butterfly(*x0, *x2, *x4, *x6, quarter);
        let [b0, b1, b2, b3] = butterfly(*x1, *x3, *x5, *x7, quarter);
        // Turns of an eighth, a quarter and three eighths.
        let b1 = (b1 + quarter(b1)) * half;
        let b2 = quarter(b2);
        let b3 = (quarter(b3) - b3) * half;
        (*x0, *x4) = (a0 + b0, a0 - b0);
        (*x1, *x5) = (a1 + b1, a1 - b1);
        (*x2, *x6) = (a2 + b2, a2 - b2);
        (*x3, *x7) = (a3 + b3, a3 - b3);
    }
}

type Halves<'a, T> = (&'a mut [Complex<T>], &'a mut [Complex<T>]);

fn quarters<T>(rows: &mut [Complex<T>], stride: usize) -> (Halves<'_, T>, Halves<'_, T>) {
    let (low, high) = rows.split_at_mut(2 * stride);
    (low.split_at_mut(stride), high.split_at_mut(stride))
}

#[inline(always)]
fn butterfly<T: FftNum>(
    a: Complex<T>,
    b: Complex<T>,
    c: Complex<T>,
    d: Complex<T>,
    quarter: impl Fn(Complex<T>) -> Complex<T>,
) -> [Complex<T>; 4] {
    let (ac, a_c, bd, b_d) = (a + c, a - c, b + d, quarter(b - d));
    [ac + bd, a_c + b_d, ac - bd, a_c - b_d]
}

#[inline(always)]
fn forward_quarter<T: FftNum>(v: Complex<T>) -> Complex<T> {
    Complex::new(-v.im, v.re)
}

#[inline(always)]
fn backward_quarter<T: FftNum>(v: Complex<T>) -> Complex<T> {
    Complex::new(v.im, -v.re)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustfft::FftPlanner;

    fn check(size: usize, direction: FftDirection) {
        let stride = 5;
        let value = |i: usize| Complex::new((i * i % 17) as f64 - 8.0, (i * 7 % 11) as f64);
        let mut block: Vec<Complex<f64>> = (0..size * stride).map(value).collect();
        let before = block.clone();
        assert!(transform(size, direction, &mut block));
        for column in 0..stride {
            let mut line: Vec<_> = (0..size).map(|row| before[row * stride + column]).collect();
            FftPlanner::new().plan_fft(size, direction).process(&mut line);
            let is_near = |row: usize| (block[row * stride + column] - line[row]).norm() < 1e-12;
            assert!((0..size).all(is_near), "{size} {direction:?} column {column}");
        }
    }

    #[test]
    fn columns_are_transformed_as_lines_are() {
        for size in [2, 4, 8] {
            check(size, FftDirection::Forward);
            check(size, FftDirection::Inverse);
        }
        assert!(!transform(3, FftDirection::Forward, &mut [Complex::new(0.0, 0.0); 3]));
    }
}
