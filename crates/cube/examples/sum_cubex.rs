//! Reads every severity of a profile of floating-point metrics: `sum_cubex FILE` prints their number and sum.

use ouzel_cube::{DataType, Primitive};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: sum_cubex FILE")?;
    let cube = ouzel_cube::open(path.as_ref())?;
    let (mut n_values, mut sum) = (0_u64, 0.0);
    for metric in &cube.anchor().metrics {
        let Some(data_type @ DataType::Number(Primitive::F64)) = DataType::from_name(&metric.data_type)
        else {
            continue;
        };
        let Some(mut rows) = cube.metric_rows(metric.id, data_type.n_bytes())? else { continue };
        for index in (0..cube.anchor().cnodes.len() as u32).rev() {
            let is_little_endian = rows.is_little_endian();
            let Some(row) = rows.read(index)? else { continue };
            for &value in row.as_chunks::<8>().0 {
                sum += if is_little_endian { f64::from_le_bytes(value) } else { f64::from_be_bytes(value) };
                n_values += 1;
            }
        }
    }
    println!("{{\"n_values\": {n_values}, \"sum\": {sum}}}");
    Ok(())
}
