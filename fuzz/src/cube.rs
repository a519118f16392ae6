//! CUBE profiles and the expressions in them.

use ouzel_cube::DataType;
use std::path::PathBuf;

/// A file of this process, which the decoder opens by its path.
fn file() -> PathBuf {
    std::env::temp_dir().join(format!("ouzel-fuzz-cube-{}", std::process::id()))
}

/// Opens a profile and reads all rows there are.
pub fn profile(data: &[u8]) {
    let path = file();
    if std::fs::write(&path, data).is_err() {
        return;
    }
    ouzel_cube::recognise(&ouzel_formats::Candidate::at(&path), &path);
    let Ok(cube) = ouzel_cube::open(&path) else { return };
    let anchor = cube.anchor();
    assert!(anchor.cnodes.len() + anchor.locations.len() + anchor.rows.len() <= 1032 * data.len());
    assert!(anchor.cnodes.iter().enumerate().all(|(i, cnode)| cnode.parent.is_none_or(|parent| parent < i)));
    for metric in anchor.metrics.iter().take(16) {
        let Some(data_type) = DataType::from_name(&metric.data_type) else { continue };
        let Ok(Some(mut rows)) = cube.metric_rows(metric.id, data_type.n_bytes()) else { continue };
        for index in (0..anchor.cnodes.len() as u32).rev().take(64) {
            let _ = rows.read(index);
        }
        rows.take_damage();
    }
    if let Ok(mut rows) = cube.xml_rows() {
        let mut values = Vec::<f64>::new();
        for row in anchor.rows.iter().take(64) {
            let _ = rows.read(row, anchor.locations.len(), &mut values);
            assert!(values.len() <= anchor.locations.len());
        }
    }
}

/// Parses an expression; the steps of a valid one leave one value.
pub fn expression(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(steps) = ouzel_cube::cubepl::parse(text) else { return };
    use ouzel_cube::cubepl::{Operator, Step};
    let mut n = 0_usize;
    for step in steps {
        n = match step {
            Step::Number(_) | Step::Metric(..) => n + 1,
            Step::Apply(Operator::Negate | Operator::Abs | Operator::Sqrt) => n,
            Step::Apply(_) => n.checked_sub(1).expect("an operator finds two values"),
        };
        assert!(n > 0, "{text:?}");
    }
    assert_eq!(n, 1, "{text:?}");
}
