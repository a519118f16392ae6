//! Small traces by eye, real traces against an independent parser and HTA, and damage.

use super::*;
use ouzel_model::{
    ChunkBuffer, DeviceStep, EventKind, Link, LinkEnd, Needs, Notice, NoticeCode, ParameterValue, RegionRole,
    Ticks, TimeRange,
};
use ouzel_testkit::Rng;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Shared data, if it is there.
fn shared_data(name: &str) -> Option<PathBuf> {
    Some(ouzel_testkit::shared_data()?.join(name))
}

fn source(text: &str) -> ChromeSource {
    ChromeSource::from_text("test.json", text.as_bytes().to_vec()).unwrap()
}

/// Every chunk of a location.
pub(super) fn chunks(source: &ChromeSource, index: usize) -> Vec<ChunkBuffer> {
    let plan = ReadPlan::all(Needs::ALL_EVENTS);
    let mut reader = TraceSource::open(source, LocationId::from_index(index), &plan).unwrap();
    let mut chunks = Vec::new();
    loop {
        let mut buffer = ChunkBuffer::default();
        let more = reader.read(&mut buffer).unwrap();
        chunks.push(buffer);
        if !more {
            return chunks;
        }
    }
}

/// One line for each location: its name and its rows.
pub(super) fn told(source: &ChromeSource) -> String {
    let definitions = source.definitions();
    let mut text = String::new();
    for (i, location) in definitions.locations.iter().enumerate() {
        write!(text, "{}:", location.name).unwrap();
        for chunk in chunks(source, i) {
            for row in 0..chunk.len() {
                let name = &definitions.region(chunk.region[row]).name;
                let at = chunk.time[row].0;
                match chunk.kind[row] {
                    EventKind::Enter => write!(text, " {at}<{name}"),
                    EventKind::Leave => write!(text, " {at}{name}>"),
                    EventKind::Parameter => {
                        let value = chunk.parameters.iter().find(|p| p.row as usize == row).unwrap();
                        write!(text, " {at}={:?}", value.value)
                    }
                    EventKind::Metric => {
                        let value = chunk.metrics.iter().find(|m| m.row as usize == row).unwrap();
                        let name = &definitions.metrics[value.metric.index()].name;
                        write!(text, " {at}{name}={}", f64::from_bits(value.bits))
                    }
                    EventKind::CollectiveEnd => {
                        let end = chunk.collectives.iter().find(|c| c.row as usize == row).unwrap();
                        let comm = &definitions.communicator(end.comm).name;
                        write!(
                            text,
                            " {at}{}({comm},{},{})",
                            end.op.as_str(),
                            end.bytes_sent,
                            end.bytes_received
                        )
                    }
                    EventKind::Sample => {
                        let sample = chunk.samples.iter().find(|s| s.row as usize == row).unwrap();
                        let mut frames = Vec::new();
                        definitions.sampled_contexts.frames(sample.context.unwrap(), &mut frames);
                        let names: Vec<&str> =
                            frames.iter().map(|f| &*definitions.region(f.region).name).collect();
                        write!(text, " {at}~{}", names.join("/"))
                    }
                    other => write!(text, " {at}{other:?}"),
                }
                .unwrap();
                text += &links(&chunk.links, row);
            }
        }
        text.push('\n');
    }
    text
}

/// The ends of links in a row: `-` from here, `+` to here.
fn links(links: &[Link], row: usize) -> String {
    let end = |link: &Link| {
        let arrow = if link.end == LinkEnd::From { "-" } else { "+" };
        format!("{arrow}{}", link.id & 0xffff)
    };
    links.iter().filter(|link| link.row as usize == row).map(end).collect()
}

fn check(events: &str, wanted: &str) {
    let found = told(&source(events));
    let wanted: String = wanted.trim().lines().map(|line| format!("{}\n", line.trim())).collect();
    assert_eq!(found, wanted, "{events}");
}

#[test]
fn calls_nest_by_their_times_and_overlap_takes_a_second_lane() {
    check(
        r#"[{"ph":"X","ts":0,"dur":10,"name":"a","pid":1,"tid":2},{"ph":"X","ts":1,"dur":0.5,"name":"c","pid":1,"tid":2},
            {"ph":"X","ts":1,"dur":2,"name":"b","pid":1,"tid":2},{"ph":"X","ts":5,"dur":10,"name":"d","pid":1,"tid":2}]"#,
        "thread 2: 0<a 1000<b 1000<c 1500c> 3000b> 10000a>
         thread 2 (lane 2): 5000<d 15000d>",
    );
}

#[test]
fn begins_and_ends_are_matched_in_order_of_time() {
    check(
        r#"[{"ph":"B","ts":1,"name":"b","pid":0,"tid":0},{"ph":"E","ts":9,"pid":0,"tid":0},
            {"ph":"B","ts":0,"name":"a","pid":0,"tid":0},{"ph":"E","ts":10,"name":"a","pid":0,"tid":0},
            {"ph":"E","ts":11,"name":"z","pid":0,"tid":0},{"ph":"X","ts":2,"dur":3,"name":"x","pid":0,"tid":0},
            {"ph":"i","ts":3,"name":"here","pid":0,"tid":0}]"#,
        r#"thread 0: 0<a 1000<b 2000<x 3000=Text("here") 5000x> 9000b> 10000a>"#,
    );
}

#[test]
fn calls_that_cross_ends_leave_their_lane() {
    check(
        r#"[{"ph":"B","ts":0,"name":"a","pid":0,"tid":0},{"ph":"X","ts":5,"dur":10,"name":"x","pid":0,"tid":0},
            {"ph":"E","ts":8,"pid":0,"tid":0}]"#,
        "thread 0: 0<a 8000a>
         thread 0 (lane 2): 5000<x 15000x>",
    );
}

#[test]
fn kernels_have_streams_launches_steps_and_collectives() {
    check(
        r#"{"schemaVersion":1,"distributedInfo":{"rank":3,"world_size":4,"pg_config":[{"pg_name":"7","ranks":[1,3]}]},
        "traceEvents":[
        {"ph":"X","cat":"user_annotation","name":"ProfilerStep#12","pid":9,"tid":9,"ts":100.001,"dur":50},
        {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":101,"dur":1,"args":{"correlation":5}},
        {"ph":"X","cat":"cuda_runtime","name":"cudaDeviceGet","pid":9,"tid":9,"ts":103,"dur":1,"args":{"correlation":6}},
        {"ph":"s","cat":"ac2g","name":"ac2g","id":5,"pid":9,"tid":9,"ts":101},
        {"ph":"X","cat":"kernel","name":"renamed","pid":0,"tid":7,"ts":110,"dur":5,"args":{"correlation":5,"stream":7,
          "Collective name":"_allgather_base","In msg nelems":10,"Out msg nelems":20,"dtype":"BFloat16","Process Group Name":"7"}},
        {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":112,"dur":1,"args":{"bytes":64,"stream":7}},
        {"ph":"X","cat":"gpu_user_annotation","name":"forward","pid":0,"tid":7,"ts":109,"dur":9},
        {"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler","ts":100,"dur":60}]}"#,
        "thread 9: 1<ProfilerStep 1=U64(12) 1000<cudaLaunchKernel-6 2000cudaLaunchKernel> 3000<cudaDeviceGet 4000cudaDeviceGet> 50001ProfilerStep>
         PyTorch Profiler: 0<PyTorch Profiler (0) 60000PyTorch Profiler (0)>
         stream 7: 10000<renamed+6 10000CollectiveBegin 15000allgather(process group 7,20,40) 15000renamed>
         stream 7 (lane 2): 12000<Memcpy HtoD 12000=U64(64) 13000Memcpy HtoD>
         stream 7, ranges: 9000<forward 18000forward>",
    );
}

/// Which rank each thread and stream of a trace has, and the process of each stream.
fn owners(text: &str) -> Vec<String> {
    let source = source(text);
    let definitions = source.definitions();
    let group = |id: ouzel_model::LocationGroupId| &definitions.location_groups[id.index()];
    let row = |location: &ouzel_model::Location| {
        let owner = group(group(location.group).creator.unwrap_or(location.group));
        let rank = location.rank.map_or(-1, |rank| i64::from(rank.0));
        format!("{} of {}: {rank}", location.name, owner.name)
    };
    definitions.locations.iter().map(row).collect()
}

#[test]
fn a_stream_belongs_to_the_process_that_launches_into_it() {
    let launch = |pid: u32, correlation: u32, at: u32| {
        format!(
            r#"{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":{pid},"tid":{pid},"ts":{at},"dur":1,"args":{{"correlation":{correlation}}}}}"#
        )
    };
    let kernel = |device: u32, correlation: u32, at: u32| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"k","pid":{device},"tid":7,"ts":{at},"dur":5,"args":{{"correlation":{correlation}}}}}"#
        )
    };
    let trace = |events: &[String]| format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(","));
    // Two processes, of which the second drives the first device; and one that launches nothing.
    let worker = r#"{"ph":"X","cat":"cpu_op","name":"load","pid":102,"tid":102,"ts":100,"dur":1}"#.to_owned();
    let crossed =
        [launch(100, 1, 100), launch(101, 2, 101), kernel(1, 1, 110), kernel(0, 2, 110), worker.clone()];
    assert_eq!(
        owners(&trace(&crossed)),
        [
            "thread 100 of process 100: 1",
            "thread 101 of process 101: 0",
            "thread 102 of process 102: -1",
            "stream 7 of process 101: 0",
            "stream 7 of process 100: 1",
        ]
    );
    // Each process counts its correlations from 1: devices and processes are paired in their order.
    let own = [launch(100, 1, 100), launch(101, 1, 101), kernel(0, 1, 110), kernel(1, 1, 110)];
    assert_eq!(
        owners(&trace(&own)),
        [
            "thread 100 of process 100: 0",
            "thread 101 of process 101: 1",
            "stream 7 of process 100: 0",
            "stream 7 of process 101: 1",
        ]
    );
    // One process that launches: the rank is that of the file.
    let one = [launch(100, 1, 100), kernel(0, 1, 110), worker];
    assert_eq!(
        owners(&trace(&one)),
        ["thread 100 of process 100: 0", "thread 102 of process 102: 0", "stream 7 of process 100: 0"]
    );
}

#[test]
fn operations_of_hip_have_what_their_calls_record() {
    let text = r#"{"schemaVersion":1,"traceEvents":[
        {"ph":"X","cat":"cuda_runtime","name":"hipMemcpyWithStream","pid":9,"tid":9,"ts":100,"dur":1,"args":{"correlation":5,"size":"2560"}},
        {"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":9,"tid":9,"ts":102,"dur":1,"args":{"correlation":6,"grid":[3,1,1],"block":[128,1,1],"shared memory":0}},
        {"ph":"X","cat":"cuda_runtime","name":"hipMalloc","pid":9,"tid":9,"ts":104,"dur":1,"args":{"correlation":7,"size":"99"}},
        {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Host -> Device)","pid":2,"tid":0,"ts":110,"dur":2,"args":{"correlation":5,"kind":"HtoD"}},
        {"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH (Device -> Host)","pid":2,"tid":0,"ts":113,"dur":2,"args":{"correlation":8,"kind":"DtoH"}},
        {"ph":"X","cat":"kernel","name":"axpy","pid":2,"tid":0,"ts":116,"dur":2,"args":{"correlation":6}}]}"#;
    check(
        text,
        "thread 9: 0<hipMemcpyWithStream-6 1000hipMemcpyWithStream> 2000<hipLaunchKernel-7 3000hipLaunchKernel> 4000<hipMalloc 5000hipMalloc>
         stream 0: 10000<Memcpy HtoD (Host -> Device)+6 10000=U64(2560) 12000Memcpy HtoD (Host -> Device)> 13000<Memcpy DtoH (Device -> Host) 15000Memcpy DtoH (Device -> Host)> 16000<axpy+7 16000=Text(\"grid=3x1x1 block=128x1x1 shared_bytes=0\") 18000axpy>",
    );
}

#[test]
fn ranges_of_cupti_have_their_metrics() {
    // The device has no kernels of its own here, as CUPTI counts alone.
    let source = source(
        r#"{"schemaVersion": 1, "traceEvents": [
        {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":7,"tid":7,"ts":0,"dur":9},
        {"ph":"X","cat":"cuda_profiler_range","name":"gemm","pid":0,"tid":0,"ts":1,"dur":4,"args":{"smsp__inst.sum":12,"dram__bytes.sum":1.5e3}},
        {"ph":"X","cat":"cuda_profiler_range","name":"relu","pid":0,"tid":0,"ts":5,"dur":4,"args":{"smsp__inst.sum":3}}]}"#,
    );
    let told = told(&source);
    assert!(
        told.contains(
            "1000<gemm 3000smsp__inst.sum, device 0=12 3000dram__bytes.sum, device 0=1500 5000gemm> \
             5000<relu 7000smsp__inst.sum, device 0=3 9000relu>"
        ),
        "{told}"
    );
    assert!(source.notices().iter().any(|it| it.message.contains("no measured times")));
}

#[test]
fn flows_spans_counters_and_samples_have_their_place() {
    check(
        r#"{"traceEvents":[{"ph":"X","ts":0,"dur":9,"name":"a","pid":1,"tid":1},{"ph":"X","ts":5,"dur":2,"name":"b","pid":1,"tid":2},
        {"ph":"s","ts":1,"id":8,"cat":"f","name":"f","pid":1,"tid":1},{"ph":"f","ts":4,"id":8,"cat":"f","name":"f","pid":1,"tid":2},
        {"ph":"s","ts":2,"id":9,"cat":"f","name":"f","pid":1,"tid":1},{"ph":"f","bp":"e","ts":6,"id":9,"cat":"f","name":"f","pid":1,"tid":2},
        {"ph":"b","ts":1,"id":1,"cat":"net","name":"get","pid":1,"tid":1},{"ph":"b","ts":2,"id":2,"cat":"net","name":"put","pid":1,"tid":1},
        {"ph":"e","ts":3,"id":1,"cat":"net","pid":1,"tid":1},{"ph":"e","ts":4,"id":2,"cat":"net","pid":1,"tid":1},
        {"ph":"C","ts":3,"name":"mem","pid":1,"args":{"used":2.5,"value":7}}],
        "samples":[{"ts":"1","pid":1,"tid":"1","sf":2}],"stackFrames":{"2":{"name":"leaf","parent":1},"1":{"name":"root"}}}"#,
        "thread 1: 0<a-0-1 9000a>
         thread 1, samples: 1000~root/leaf
         thread 2: 5000<b+0+1 7000b>
         counters: 3000mem.used=2.5 3000mem=7
         asynchronous operations: net: 1000<get 3000get>
         asynchronous operations: net (lane 2): 2000<put 4000put>",
    );
}

#[test]
fn broken_texts_are_read_and_said() {
    let event = |at: u32| format!(r#"{{"ph":"X","ts":{at},"dur":1,"name":"a","pid":1,"tid":1}}"#);
    let (a, b) = (event(0), event(5));
    let whole = "thread 1: 0<a 1000a> 5000<a 6000a>\n";
    let cases = [
        (format!("[{a},{b}"), whole, "no end"),
        (format!("\n[{a},{b},\n"), whole, "no end"),
        (format!("[{a},,{b},]"), whole, ""),
        (format!("[{a},{b},{{\"ph\":\"X\",\"ts\":7,\"na"), whole, "is truncated"),
        (format!("{{\"traceEvents\":[{a},{b}"), whole, "no end"),
        (format!("{{\"traceEvents\":[{a},{b}]"), whole, "no end"),
        (format!("[{a},{{\"ph\":\"X\";;\"ts\":7}},{b}]"), whole, "damaged"),
        (format!("[{a},{b}]]"), whole, "after the end"),
        (format!("[{a},{b},{{\"ph\":\"M\",\"name\":\"x\u{1}\"}}]"), whole, "control characters"),
        (
            format!("[{a},{b},{{\"ph\":\"X\",\"ts\":NaN,\"name\":\"x\",\"pid\":1,\"tid\":1}}]"),
            whole,
            "without a readable time",
        ),
        (format!("[{a},{b},{{\"name\":\"x\"}}]"), whole, "High: events without a readable time"),
        (format!("[{a},{b},{{}}]"), whole, "Low: objects without name, phase and time"),
        (format!("[{a},{b},{{\"ph\":\"N\",\"ts\":1,\"name\":\"x\",\"pid\":1,\"tid\":1}}]"), whole, "phase N"),
    ];
    for (text, wanted, needle) in cases {
        let source = source(&text);
        assert_eq!(told(&source), wanted, "{text}");
        let said = |notice: &Notice| format!("{:?}: {}", notice.level, notice.message);
        let said: Vec<String> = source.notices().iter().map(said).collect();
        let is_said =
            if needle.is_empty() { said.is_empty() } else { said.iter().any(|s| s.contains(needle)) };
        assert!(is_said, "{text}: {said:?}");
    }
}

#[test]
fn what_is_no_trace_is_an_error() {
    for text in ["", "   ", "7", "{}", "{\"a\":[1,2]}", "\"x\"", "{\"nodes\""] {
        let error = ChromeSource::from_text("x.json", text.as_bytes().to_vec()).unwrap_err();
        assert_eq!(&*error.file, "x.json", "{text}");
    }
}

/// Every real file, those of folders too.
fn real_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in ["data/chrome", "data/chrome-pytorch"] {
        let Some(path) = shared_data(name) else { continue };
        let mut folders = vec![path];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
    }
    found.sort();
    found
}

fn text_of(path: &Path) -> Vec<u8> {
    use std::io::Read;
    let bytes = std::fs::read(path).unwrap();
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
    text
}

/// Checks that calls nest; gives number and summed length of the visits of each region.
fn visits(source: &ChromeSource) -> BTreeMap<String, (u64, u64)> {
    let definitions = source.definitions();
    let mut visits: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for i in 0..definitions.locations.len() {
        let (mut open, mut last) = (Vec::new(), 0);
        for chunk in chunks(source, i) {
            for row in 0..chunk.len() {
                let (at, region) = (chunk.time[row].0, chunk.region[row]);
                assert!(last <= at, "times do not decrease");
                last = at;
                match chunk.kind[row] {
                    EventKind::Enter => open.push((at, region)),
                    EventKind::Leave => {
                        let (begin, entered) = open.pop().expect("a leave has an enter");
                        assert_eq!(entered, region, "calls nest");
                        let sums = visits.entry(definitions.region(region).name.to_string()).or_default();
                        *sums = (sums.0 + 1, sums.1 + at - begin);
                    }
                    _ => {}
                }
            }
        }
    }
    visits
}

#[test]
fn real_files_hold_the_calls_that_another_parser_finds() {
    let mut n_checked = 0;
    for path in real_files() {
        let Ok(json) = serde_json::from_slice::<serde_json::Value>(&text_of(&path)) else { continue };
        let events = if json.is_array() { json.as_array() } else { json["traceEvents"].as_array() };
        let Some(events) = events else { continue };
        let is_plain = |event: &&serde_json::Value| event["ph"] == "X" && event["cat"] != "python_function";
        let mut wanted: BTreeMap<String, (u64, f64)> = BTreeMap::new();
        for event in events.iter().filter(is_plain).filter(|event| event.get("ts").is_some()) {
            let name = event["name"].as_str().unwrap_or("");
            let name = if name.starts_with("ProfilerStep#") { "ProfilerStep" } else { name };
            let sums = wanted.entry(name.to_owned()).or_default();
            *sums = (sums.0 + 1, sums.1 + event["dur"].as_f64().unwrap_or(0.0) * 1000.0);
        }
        let has_other_calls = events.iter().any(|e| matches!(e["ph"].as_str(), Some("B" | "b" | "S")));
        let source = ChromeSource::open(std::slice::from_ref(&path)).unwrap();
        let found = visits(&source);
        for (name, (n, ns)) in &wanted {
            let (found_n, found_ns) = found.get(name).copied().unwrap_or_default();
            let is_equal = *n == found_n && (*ns - found_ns as f64).abs() < 0.5 * *n as f64 + 1.0;
            assert!(is_equal || has_other_calls, "{}: {name}: {n} {ns} {found_n} {found_ns}", path.display());
            assert!(*n <= found_n, "{}: {name}", path.display());
        }
        n_checked += 1;
    }
    if shared_data("data/chrome").is_some() {
        assert!(40 <= n_checked, "{n_checked}");
    }
}

/// Intervals, united.
fn united(mut all: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    all.sort_unstable();
    let mut united: Vec<(u64, u64)> = Vec::new();
    for (start, end) in all {
        match united.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => united.push((start, end)),
        }
    }
    united
}

fn length(intervals: &[(u64, u64)]) -> u64 {
    intervals.iter().map(|(start, end)| end - start).sum()
}

/// Launches of each rank before its last profiler step, by link, if it has several: HTA leaves the last step out.
fn launches_that_count(source: &ChromeSource) -> BTreeMap<u32, Vec<u64>> {
    let definitions = source.definitions();
    let mut steps: BTreeMap<u32, BTreeMap<u64, u64>> = BTreeMap::new();
    let mut launches: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for (i, location) in definitions.locations.iter().enumerate() {
        let rank = location.rank.unwrap().0;
        for chunk in chunks(source, i) {
            let at = |row: u32| chunk.time[row as usize].0;
            for step in
                chunk.parameters.iter().filter(|p| &*definitions.parameters[p.parameter.index()] == "step")
            {
                let ParameterValue::U64(number) = step.value else { panic!("{step:?}") };
                steps.entry(rank).or_default().insert(number, at(step.row));
            }
            let from = chunk.links.iter().filter(|link| link.end == LinkEnd::From);
            launches.entry(rank).or_default().extend(from.map(|link| (link.id, at(link.row))));
        }
    }
    let several = steps.into_iter().filter(|(_, steps)| 1 < steps.len());
    let of_rank = |(rank, steps): (u32, BTreeMap<u64, u64>)| {
        let last = steps.last_key_value().map_or(u64::MAX, |(_, &at)| at);
        let mut ids: Vec<u64> =
            launches[&rank].iter().filter(|(_, at)| *at < last).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        (rank, ids)
    };
    several.map(of_rank).collect()
}

/// Idle, compute, non-compute, kernel time in µs and overlap in percent of each rank, as HTA defines them.
fn temporal_breakdown(source: &ChromeSource) -> BTreeMap<u32, ([u64; 4], f64)> {
    let definitions = source.definitions();
    let counted = launches_that_count(source);
    let mut calls: BTreeMap<u32, [Vec<(u64, u64)>; 3]> = BTreeMap::new();
    for (i, location) in definitions.locations.iter().enumerate() {
        if location.kind != LocationKind::AcceleratorStream {
            continue;
        }
        let rank = location.rank.unwrap().0;
        let of_rank = calls.entry(rank).or_default();
        let (mut begin, mut counts) = (0, true);
        for chunk in chunks(source, i) {
            for row in 0..chunk.len() {
                match chunk.kind[row] {
                    EventKind::Enter => {
                        begin = chunk.time[row].0;
                        let link = chunk.links.iter().find(|link| link.row as usize == row);
                        let is_in = |ids: &Vec<u64>| link.is_some_and(|l| ids.binary_search(&l.id).is_ok());
                        counts = counted.get(&rank).is_none_or(is_in);
                    }
                    EventKind::Leave if counts => {
                        let class = match definitions.region(chunk.region[row]).role {
                            RegionRole::Kernel => 0,
                            RegionRole::DataTransfer => 2,
                            _ => 1,
                        };
                        of_rank[class].push((begin, chunk.time[row].0));
                    }
                    _ => {}
                }
            }
        }
    }
    calls.into_iter().map(|(rank, classes)| (rank, breakdown(classes))).collect()
}

fn breakdown([compute, communication, copies]: [Vec<(u64, u64)>; 3]) -> ([u64; 4], f64) {
    let all = united([&compute[..], &communication, &copies].concat());
    let kernel = all.last().map_or(0, |last| last.1) - all.first().map_or(0, |first| first.0);
    let both = united([&compute[..], &communication].concat());
    let (compute, communication) = (united(compute), united(communication));
    let idle = kernel - length(&all);
    let overlap = length(&compute) + length(&communication) - length(&both);
    let us = [idle, length(&compute), kernel - idle - length(&compute), kernel].map(|ns| ns / 1000);
    (us, 100.0 * overlap as f64 / length(&communication).max(1) as f64)
}

#[test]
fn breakdown_and_overlap_are_those_of_hta() {
    let cases = [
        ("hta-param-dlrm-8rank.json", "param-dlrm-8rank", 8),
        ("hta-hta-trace_filter.json", "hta-trace_filter", 2),
    ];
    for (golden, folder, n_ranks) in cases {
        let Some(golden) = shared_data(&format!("golden/formats/{golden}")) else { return };
        let Some(folder) = shared_data(&format!("data/chrome-pytorch/{folder}")) else { return };
        let golden: serde_json::Value = serde_json::from_slice(&std::fs::read(golden).unwrap()).unwrap();
        let opened = open(&Candidate::at(&folder)).unwrap().trace.unwrap();
        assert_eq!(opened.definitions().ranks().len(), n_ranks);
        let files: Vec<PathBuf> =
            files::of_folder(&Candidate::at(&folder)).into_iter().map(|(file, _)| file).collect();
        let found = temporal_breakdown(&ChromeSource::open(&files).unwrap());
        for row in golden["temporal_breakdown"].as_array().unwrap() {
            let rank = row["rank"].as_u64().unwrap() as u32;
            let us = |key: &str| row[key].as_f64().unwrap() as u64;
            let keys = ["idle_time(us)", "compute_time(us)", "non_compute_time(us)", "kernel_time(us)"];
            assert_eq!(found[&rank].0, keys.map(us), "rank {rank}");
        }
        for row in golden["comm_comp_overlap"].as_array().unwrap() {
            let (rank, wanted) =
                (row["rank"].as_u64().unwrap() as u32, row["comp_comm_overlap_pctg"].as_f64().unwrap());
            assert!((found[&rank].1 - wanted).abs() < 0.006, "rank {rank}: {} {wanted}", found[&rank].1);
        }
    }
}

#[test]
fn big_integers_and_collectives_without_metadata_are_read() {
    let Some(folder) = shared_data("data/chrome-pytorch/hta-large_integer_trace") else { return };
    let files: Vec<PathBuf> =
        files::of_folder(&Candidate::at(&folder)).into_iter().map(|(file, _)| file).collect();
    let found = ChromeSource::open(&files).unwrap();
    let wanted = "thread 1: 100000<record_param_comms 200000record_param_comms>\n\
                  stream 0: 0<ncclKernel_AllReduce 0CollectiveBegin 50000allreduce(world,0,0) 50000ncclKernel_AllReduce>\n";
    assert_eq!(told(&found), wanted);
    assert_eq!(found.definitions().locations[0].rank.map(|rank| rank.0), Some(70));
}

#[test]
fn cpu_profiles_are_samples() {
    let Some(folder) = shared_data("data/chrome/speedscope-Chrome") else { return };
    for (file, n_samples, name) in [("65/simple.cpuprofile", 29, "d"), ("69/simple.json", 0, "delta")] {
        let source = ChromeSource::open(&[folder.join(file)]).unwrap();
        let n: usize = (0..source.definitions().locations.len())
            .filter(|&i| source.is_sampled(LocationId::from_index(i)))
            .map(|i| chunks(&source, i).iter().map(|chunk| chunk.samples.len()).sum::<usize>())
            .sum();
        assert!(n_samples == 0 || n == n_samples, "{file}: {n}");
        assert!(0 < n, "{file}");
        assert!(source.definitions().regions.iter().any(|region| &*region.name == name), "{file}");
    }
}

/// Opens and reads everything; the outcome does not matter, that it ends well does.
fn survive(text: Vec<u8>) -> bool {
    match ChromeSource::from_text("damaged.json", text) {
        Ok(source) => {
            visits(&source);
            source.notices().iter().any(|notice| notice.code == NoticeCode::DamagedEvents)
        }
        Err(error) => !error.reason.is_empty(),
    }
}

#[test]
fn damage_is_survived_and_said() {
    let Some(folder) = shared_data("data") else { return };
    let files = [
        "chrome-pytorch/hta-amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
        "chrome/speedscope-Chrome/141/no-arg-data.json",
        "chrome/speedscope-trace-event/simple-with-samples.json",
        "chrome/speedscope-Chrome/65/simple.cpuprofile",
    ];
    let mut rng = Rng::new(11);
    for file in files {
        let text = text_of(&folder.join(file));
        for percent in 0..100 {
            survive(text[..text.len() * percent / 100].to_vec());
        }
        for _ in 0..200 {
            let mut text = text.clone();
            for _ in 0..=rng.below(8) {
                let at = rng.below(text.len() as u64) as usize;
                text[at] = rng.below(256) as u8;
            }
            survive(text);
        }
    }
    let text = text_of(&folder.join(files[0]));
    assert!(survive(text[..text.len() / 2].to_vec()), "a cut in the middle of an event is said");
}

#[test]
fn a_time_range_hides_calls_before_it_and_nothing_else() {
    let text = r#"[{"ph":"X","ts":0,"dur":2,"name":"a","pid":1,"tid":1},{"ph":"X","ts":1,"dur":9,"name":"b","pid":1,"tid":2},
        {"ph":"X","ts":5,"dur":1,"name":"c","pid":1,"tid":1}]"#;
    let source = source(text);
    let time_range = Some(TimeRange { start: Ticks(4000), end: Ticks(5500) });
    let plan = ReadPlan { needs: Needs::NOTHING, time_range };
    let rows = |index| {
        let mut buffer = ChunkBuffer::default();
        TraceSource::open(&source, LocationId(index), &plan).unwrap().read(&mut buffer).unwrap();
        (buffer.len(), buffer.n_records, buffer.span.map(|(first, last)| (first.0, last.0)))
    };
    assert_eq!(rows(0), (2, 4, Some((0, 6000))));
    assert_eq!(rows(1), (2, 2, Some((1000, 10_000))));
}

#[test]
fn waits_for_streams_belong_to_the_calls_of_their_correlations() {
    let call = |name: &str, at: u32, id: u32| {
        format!(
            r#"{{"ph":"X","cat":"cuda_runtime","name":"{name}","pid":9,"tid":9,"ts":{at},"dur":1,"args":{{"correlation":{id}}}}},"#
        )
    };
    let sync = |name: &str, tid: i32, id: u32, more: &str| {
        format!(
            r#"{{"ph":"X","cat":"cuda_sync","name":"{name}","pid":0,"tid":{tid},"ts":50,"dur":1,"args":{{"correlation":{id}{more}}}}},"#
        )
    };
    let of_event = r#","wait_on_stream":20,"wait_on_cuda_event_record_corr_id":1"#;
    let text = [
        call("cudaEventRecord", 1, 1),
        call("cudaStreamWaitEvent", 3, 2),
        call("cudaEventSynchronize", 5, 3),
        call("cudaEventQuery", 7, 4),
        call("cudaStreamSynchronize", 9, 5),
        call("cudaDeviceSynchronize", 11, 6),
        call("cudaEventSynchronize", 13, 7),
        sync("Stream Wait Event", 7, 2, of_event),
        sync("Event Sync", -1, 3, of_event),
        sync("Event Sync", -1, 4, of_event),
        sync("Stream Sync", 20, 5, ""),
        sync("Context Sync", -1, 6, ""),
        sync("Event Sync", -1, 7, r#","wait_on_stream":-1,"wait_on_cuda_event_record_corr_id":-1"#),
        r#"{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":2,"dur":1},"#.to_owned(),
        r#"{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":20,"ts":2,"dur":1}"#.to_owned(),
    ]
    .concat();
    let source = source(&format!("[{text}]"));
    let definitions = source.definitions();
    let place = |name: &str| definitions.locations.iter().position(|it| &*it.name == name).unwrap();
    let (first, second) = (place("stream 7"), place("stream 20"));
    let mut steps = Vec::new();
    for chunk in chunks(&source, place("thread 9")) {
        steps.extend(chunk.device_calls.iter().map(|it| (chunk.time[it.row as usize].0, it.step)));
    }
    let Some(&(_, DeviceStep::RecordEvent { event, .. })) = steps.first() else { panic!("{steps:?}") };
    let [first, second] = [first, second].map(LocationId::from_index);
    let expected = [
        (0, DeviceStep::RecordEvent { event, stream: second }),
        (2000, DeviceStep::StreamAwaitsEvent { stream: first, event }),
        (4000, DeviceStep::AwaitEvent(event)),
        (8000, DeviceStep::AwaitStream(second)),
        (10000, DeviceStep::AwaitDevice(definitions.location(first).group)),
    ];
    assert_eq!(steps, expected);
}

/// All that is read of a text by so many threads.
fn read_by(text: &[u8], n_threads: usize, piece_bytes: usize) -> Result<String, String> {
    let read = ChromeSource::read_text("test.json", text.to_vec(), Ahead { n_threads, piece_bytes });
    read.map(|read| format!("{:?}\n{}", read.notices(), told(&read))).map_err(|error| error.to_string())
}

#[test]
fn several_threads_read_what_one_reads() {
    let mut text = Vec::new();
    ouzel_testkit::pytorch::write_trace(&mut text, 0, 60_000).unwrap();
    // What looks like the begin of an event, and is none; what is damaged; the end in the middle.
    let in_names = String::from_utf8(text.clone()).unwrap().replace("aten::add", "x}, {\\\"y");
    let mut rng = Rng::new(11);
    let mut texts = vec![text.clone(), in_names.into_bytes()];
    for _ in 0..60 {
        let mut damaged = text.clone();
        for _ in 0..=rng.below(3) {
            let at = rng.below(damaged.len() as u64) as usize;
            damaged[at] = b"{}[],:\" x\0"[rng.below(9) as usize];
        }
        damaged.truncate(text.len() - rng.below(2) as usize * rng.below(30_000) as usize);
        texts.push(damaged);
    }
    for (nth, text) in texts.iter().enumerate() {
        let alone = read_by(text, 1, 0);
        for piece_bytes in [50, 700] {
            let together = read_by(text, 3, piece_bytes);
            assert!(together == alone, "text {nth} in pieces of {piece_bytes} bytes");
        }
    }
}
