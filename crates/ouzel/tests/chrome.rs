//! Breakdown and idle time of PyTorch traces, beside HTA and by hand.

use ouzel::analyses::breakdown::{Breakdown, BreakdownOutput, HostCode, Requests};
use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::analyses::idle::{IdleRegions, idle_time};
use ouzel::analyses::semantics::Semantics;
use ouzel::formats::chrome::ChromeSource;
use ouzel::model::TraceSource;
use ouzel_testkit::{run, shared_data};

fn breakdown(source: &dyn TraceSource) -> BreakdownOutput {
    let definitions = source.definitions();
    let classes = Semantics::default().classes(definitions);
    let host = HostCode::default();
    run(source, Breakdown::new(&classes, host, Requests::default()))
}

/// Compute is computation and overlap, non-compute is communication and transfer that nothing overlaps; the steps of
/// these ranks are one each, so that HTA leaves none out.
#[test]
fn breakdown_is_that_of_hta() {
    let Some(shared) = shared_data() else { return };
    let golden = std::fs::read(shared.join("golden/formats/hta-param-dlrm-8rank.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_slice(&golden).unwrap();
    let trace = ouzel::open(&shared.join("data/chrome-pytorch/param-dlrm-8rank")).unwrap();
    let output = breakdown(trace.source());
    assert_eq!(output.rows.len(), 8);
    for (row, hta) in output.rows.iter().zip(golden["temporal_breakdown"].as_array().unwrap()) {
        let (times, us) = (row.times, |key: &str| hta[key].as_f64().unwrap() as u64 * 1000);
        assert_eq!(row.rank.map(|rank| u64::from(rank.0)), hta["rank"].as_u64());
        assert_eq!(times.computation.0 + times.overlap.0, us("compute_time(us)"), "{row:?}");
        assert_eq!(times.communication.0 + times.transfer.0, us("non_compute_time(us)"), "{row:?}");
    }
    for (row, hta) in output.rows.iter().zip(golden["comm_comp_overlap"].as_array().unwrap()) {
        let communication = row.times.overlap.0 + row.times.communication.0;
        let percent = 100.0 * row.times.overlap.0 as f64 / communication as f64;
        assert!((percent - hta["comp_comm_overlap_pctg"].as_f64().unwrap()).abs() < 0.006, "{row:?}");
    }
}

/// A kernel that only its metadata distinguishes, on a stream of its own.
const RENAMED: &str = r#"{"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":2},"traceEvents":[
    {"ph":"X","cat":"cpu_op","name":"aten::add","pid":5,"tid":5,"ts":0,"dur":100},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":10,"dur":20,"args":{"stream":7}},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":60,"dur":20,"args":{"stream":7}},
    {"ph":"X","cat":"gpu_user_annotation","name":"forward","pid":0,"tid":7,"ts":10,"dur":70},
    {"ph":"X","cat":"kernel","name":"my_kernel_17","pid":0,"tid":9,"ts":25,"dur":20,"args":{"stream":9,"Collective name":"allreduce"}}]}"#;

#[test]
fn a_renamed_collective_is_communication() {
    let source = ChromeSource::from_text("renamed.json", RENAMED.as_bytes().to_vec()).unwrap();
    let times = breakdown(&source).rows[0].times;
    let parts = [times.computation, times.overlap, times.communication].map(|ticks| ticks.0 / 1000);
    assert_eq!(parts, [35, 5, 15]);
}

#[test]
fn a_stream_is_idle_between_its_kernels_whatever_is_drawn_over_it() {
    let source = ChromeSource::from_text("renamed.json", RENAMED.as_bytes().to_vec()).unwrap();
    let definitions = source.definitions();
    let none = IdleRegions::named::<&str>(definitions, &[]);
    let output = idle_time(&run(&source, CallPathProfile), definitions, &none);
    let idle: Vec<(&str, u64)> = output
        .locations
        .iter()
        .map(|row| (&*definitions.location(row.location).name, row.idle().0 / 1000))
        .collect();
    assert_eq!(idle, [("thread 5", 0), ("stream 7", 30), ("stream 7, ranges", 0), ("stream 9", 0)]);
}
