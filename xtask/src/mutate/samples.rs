//! Small archives of every format: those of the repository, ones that we write, small ones of elsewhere.

use super::files;
use anyhow::{Context, Result, ensure};
use ouzel_testkit::hpctoolkit::{DatabaseShape, write_database};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Larger archives take too long to copy.
const MAX_BYTES: u64 = 300_000;

/// An archive that cases are made of.
#[derive(Debug, Clone)]
pub struct Sample {
    /// A name that is the same everywhere.
    pub name: String,
    /// A folder or a file.
    pub path: PathBuf,
    /// Whether everyone has it.
    pub is_own: bool,
}

const TESTDATA: &[&str] = &["pmpi-masterio", "eztrace-fortran-ring", "eztrace-pingpong", "nsight-made"];
/// What our own writers make of a trace: target and name.
const CONVERTED: &[(&str, &str)] =
    &[("csv", "ours-csv"), ("chrome", "ours.json"), ("cube", "ours.cubex"), ("otf2", "ours-otf2")];

/// A run of two processors.
const STS: &str = "\
VERSION 10.0
MACHINE net-linux
PROCESSORS 2
TOTAL_CHARES 1
TOTAL_EPS 2
TOTAL_MSGS 1
TOTAL_PSEUDOS 0
TOTAL_EVENTS 0
CHARE 0 Main 0
ENTRY CHARE 0 run 0 0
ENTRY CHARE 1 step 0 0
MESSAGE 0 16
END
";
const LOG: &str = "\
PROJECTIONS-RECORD 0
6 0
2 0 0 10 0 0 64 0 0 0 0 0 0 0
1 0 1 20 1 0 64 10
3 0 0 40 0 0 64 0 0
14 45
15 60
7 100
";
/// A profile of four processes on a line.
const CUBE_XML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<cube version="3.0">
<metrics><metric id="0"><disp_name>Time</disp_name><uniq_name>time</uniq_name><dtype>FLOAT</dtype><uom>sec</uom></metric></metrics>
<program>
<region id="0" mod="a.c" begin="1" end="9"><name>main</name></region>
<region id="1" mod="a.c" begin="11" end="19"><name>solve</name></region>
<cnode id="0" calleeId="0"><cnode id="1" calleeId="1"></cnode></cnode>
</program>
<system><machine Id="0"><name>m</name><node Id="0"><name>n</name>
<process Id="0"><name>p0</name><rank>0</rank><thread Id="0"><name>t</name><rank>0</rank></thread></process>
<process Id="1"><name>p1</name><rank>1</rank><thread Id="1"><name>t</name><rank>0</rank></thread></process>
<process Id="2"><name>p2</name><rank>2</rank><thread Id="2"><name>t</name><rank>0</rank></thread></process>
<process Id="3"><name>p3</name><rank>3</rank><thread Id="3"><name>t</name><rank>0</rank></thread></process>
</node></machine>
<topologies><cart name="line" ndims="1"><dim name="x" size="4" periodic="true"/>
<coord thrdId="0">0</coord><coord thrdId="1">1</coord><coord thrdId="2">2</coord><coord thrdId="3">3</coord></cart></topologies>
</system>
<severity><matrix metricId="0"><row cnodeId="0">1
2
3
4</row><row cnodeId="1">4
3
2
1</row></matrix></severity>
</cube>
"#;

/// All samples, sorted by name.
pub fn all(root: &Path, ouzel: &Path, folder: &Path) -> Result<Vec<Sample>> {
    let own = |name: &str, path: PathBuf| Sample { name: name.to_owned(), path, is_own: true };
    let mut samples: Vec<Sample> =
        TESTDATA.iter().map(|name| own(name, root.join("testdata").join(name))).collect();
    let made = folder.join("samples");
    fs::create_dir_all(&made)?;
    for (target, name) in CONVERTED {
        let path = made.join(name);
        let mut convert = Command::new(ouzel);
        convert.arg("convert").arg(root.join("testdata/pmpi-masterio")).arg(&path).args(["--to", target]);
        let status = convert.stdout(Stdio::null()).status().context("cannot run the binary")?;
        ensure!(status.success(), "convert --to {target}: {status}");
        samples.push(own(name, path));
    }
    let hpctoolkit = made.join("ours-hpctoolkit");
    write_database(&hpctoolkit, DatabaseShape { n_ranks: 3, n_samples: 40, n_phases: 2, n_iterations: 0 })?;
    samples.push(own("ours-hpctoolkit", hpctoolkit));
    let projections = made.join("ours-projections");
    fs::create_dir_all(&projections)?;
    fs::write(projections.join("run.sts"), STS)?;
    fs::write(projections.join("run.0.log"), LOG)?;
    fs::write(projections.join("run.1.log"), LOG)?;
    samples.push(own("ours-projections", projections));
    let cube = made.join("ours.cube");
    fs::write(&cube, CUBE_XML)?;
    samples.push(own("ours.cube", cube));
    samples.extend(foreign(root)?);
    samples.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(samples)
}

/// Small archives of `../shared/data`.
fn foreign(root: &Path) -> Result<Vec<Sample>> {
    let shared = std::env::var_os("OUZEL_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let data = shared.join("data");
    let mut samples = Vec::new();
    if !data.is_dir() {
        return Ok(samples);
    }
    for format in fs::read_dir(&data)? {
        let format = format?.path();
        if !format.is_dir() {
            continue;
        }
        for archive in fs::read_dir(&format)? {
            let path = archive?.path();
            if path.is_dir() && files::size(&path)? <= MAX_BYTES {
                let name = path.strip_prefix(&data).unwrap_or(&path).display().to_string();
                samples.push(Sample { name, path, is_own: false });
            }
        }
    }
    Ok(samples)
}
