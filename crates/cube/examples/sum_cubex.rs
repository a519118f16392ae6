//! Reads every severity of a profile of floating-point metrics: `sum_cubex FILE [JOBS]` prints their number and sum.
//!
//! Each of the JOBS threads (default: one) takes every JOBS-th metric, as metrics are independent of each other.

use ouzel_cube::{Cube, CubeError, DataType, Primitive};

/// Sums that are kept side by side: two registers of four, so that one addition need not wait for the one before.
const PARTS: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("usage: sum_cubex FILE [JOBS]")?;
    let n_jobs: usize = words.next().map_or(Ok(1), |word| word.parse())?;
    let cube = &ouzel_cube::open(path.as_ref())?;
    let shares = std::thread::scope(|scope| {
        let jobs: Vec<_> =
            (0..n_jobs).map(|job| scope.spawn(move || sum_of_share(cube, job, n_jobs))).collect();
        jobs.into_iter().map(|job| job.join().expect("no share panics")).collect::<Result<Vec<_>, _>>()
    })?;
    let (n_values, sum) = shares.iter().fold((0, 0.0), |(n, sum), share| (n + share.0, sum + share.1));
    println!("{{\"n_values\": {n_values}, \"sum\": {sum}}}");
    Ok(())
}

/// The number and the sum of the values of every `n_jobs`-th metric.
fn sum_of_share(cube: &Cube, job: usize, n_jobs: usize) -> Result<(u64, f64), CubeError> {
    let (mut n_values, mut sum) = (0, 0.0);
    for metric in cube.anchor().metrics.iter().skip(job).step_by(n_jobs) {
        let Some(data_type @ DataType::Number(Primitive::F64)) = DataType::from_name(&metric.data_type)
        else {
            continue;
        };
        let Some(mut rows) = cube.metric_rows(metric.id, data_type.n_bytes())? else { continue };
        for index in (0..cube.anchor().cnodes.len() as u32).rev() {
            let is_little_endian = rows.is_little_endian();
            let Some(row) = rows.read(index)? else { continue };
            let values = row.as_chunks::<8>().0;
            sum += if is_little_endian {
                sum_of(values, f64::from_le_bytes)
            } else {
                sum_of(values, f64::from_be_bytes)
            };
            n_values += values.len() as u64;
        }
    }
    Ok((n_values, sum))
}

/// The sum of a row, in parts: additions that wait for each other cost more than reading the values.
fn sum_of(values: &[[u8; 8]], number: impl Fn([u8; 8]) -> f64) -> f64 {
    let (chunks, rest) = values.as_chunks::<PARTS>();
    let mut parts = [0.0; PARTS];
    for chunk in chunks {
        for (part, &value) in parts.iter_mut().zip(chunk) {
            *part += number(value);
        }
    }
    parts.iter().sum::<f64>() + rest.iter().map(|&value| number(value)).sum::<f64>()
}
