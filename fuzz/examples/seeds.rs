//! Writes the seeds of the fuzz targets into `corpus/`: small files of our own making.
//!
//! They are cut from the archives of `testdata/`, and made with the writer: one record of each
//! kind in both byte orders, files of several chunks, and the shapes that were wrong once.

use ouzel_fuzz::archive::pack;
use ouzel_otf2::Anchor;
use ouzel_otf2::records::marker::thumbnail::ThumbnailRecord;
use ouzel_otf2::records::{Definition, Event, LocalDefinition, MarkerRecord, SnapshotRecord, special};
use ouzel_otf2::wire::{Cursor, EncodeError, Endian, Fault, RecordBuffer};
use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};

/// Fields of any record: each number is one byte and small, and every count is one.
const PLAIN: &[u8] = &[1; 96];
/// Fields with values that differ, wide ones too.
const WIDE: [u8; 96] = {
    let pattern = [1, 1, 1, 2, 4, 7, 7, 7, 7, 1, 3, 0, 0xff, 2, 9, 9];
    let mut bytes = [0; 96];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = pattern[at % pattern.len()];
        at += 1;
    }
    bytes
};

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = Corpus { root: root.join("corpus") };
    match fs::remove_dir_all(&corpus.root) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for (order, endian) in [("little", Endian::Little), ("big", Endian::Big)] {
        made(&corpus, order, endian)?;
    }
    for (target, table) in [("event", 0), ("definition", 1), ("local", 2), ("marker", 3), ("snapshot", 4)] {
        for id in [10, 12, 14, 18, 20, 23, 26, 31, 41] {
            let record = [&[table, id], PLAIN].concat();
            corpus.add("record_round_trip", &format!("{target}-{id}"), &record)?;
        }
    }
    corpus.add("nsight", "small", &fs::read(root.join("../testdata/nsight-made/small.sqlite"))?)?;
    cube_seeds(&corpus)?;
    hpctoolkit(&corpus)?;
    text_seeds(&corpus)?;
    written_by_users(&corpus)?;
    kept_and_sent(&corpus)?;
    cut_from(&corpus, &root.join("../testdata/pmpi-masterio/traces"), "pmpi")?;
    cut_from(&corpus, &root.join("../testdata/eztrace-pingpong/eztrace_log"), "eztrace")
}

/// Formats of text: every phase of a Chrome trace and one that is cut; a table; a log of one PE behind its `.sts`.
fn text_seeds(corpus: &Corpus) -> Result<()> {
    corpus.add("chrome", "phases.json", PHASES.as_bytes())?;
    corpus.add("chrome", "cut.json", CUT.as_bytes())?;
    let table = "Timestamp (ns), Event Type, Name, Process, Thread\n0, Enter, main, 0, 0\n1.5, Instant, MpiSend, 0, 0\n\
        9, Leave, main, 0, 0\n";
    corpus.add("csv", "table", table.as_bytes())?;
    let sts = "VERSION 3.0\nMACHINE m\nPROCESSORS 1\nTOTAL_CHARES 1\nTOTAL_EPS 1\nTOTAL_MSGS 1\nCHARE 0 main\n\
        ENTRY CHARE 0 f 0 0\nMESSAGE 0 8\nEND\n";
    let log = "PROJECTIONS-RECORD\n6 0\n14 5 0\n15 7 0\n7 9\n";
    let length = u16::try_from(sts.len()).unwrap_or(u16::MAX).to_le_bytes();
    corpus.add("projections", "small", &[&length, sts.as_bytes(), log.as_bytes()].concat())
}

/// Predicates, files of rules, ranks and topologies.
fn written_by_users(corpus: &Corpus) -> Result<()> {
    for (name, text) in [
        ("calls", "name like \"MPI_*\" and (rank < 4 or depth > 2) and not inclusive > 1ms"),
        ("times", "time in 10s..20s and rank in (0-3, 7)"),
        ("metric", "metric(\"PAPI_TOT_INS\") > 1e6 or within not like \"a?\", b and enter between 1 and 2"),
    ] {
        corpus.add("predicate", name, text.as_bytes())?;
    }
    let rules = "[[rule]]\nregion = \"my_wait.*\"\ncategory = \"wait\"\nfamily = \"MPI\"\n";
    for (name, text) in [("rules", rules), ("ranks", "0-3,7"), ("sizes", "16x8x4"), ("axes", "node=16,core=8")] {
        corpus.add("rules", name, text.as_bytes())?;
    }
    Ok(())
}

/// Topologies, changes of kept spectra and of what workers send, and values of profiles.
fn kept_and_sent(corpus: &Corpus) -> Result<()> {
    corpus.add("topology", "line", &[3, 1, 4, 0, 1, 2, 3])?;
    let hypercube: Vec<u8> = [&[7, 24][..], &[2; 24], &[0; 168], &[1; 24]].concat();
    corpus.add("topology", "hypercube", &hypercube)?;
    let huge = [&[1, 3][..], &[255, 255, 255, 255, 255].repeat(3), &[0; 3], &[7; 3]].concat();
    corpus.add("topology", "huge", &huge)?;
    corpus.add("spectra", "none", &[])?;
    corpus.add("spectra", "header", &[20, 0, 255, 60, 0, 1])?;
    // The first plane follows 4096 bytes, portraits follow all planes.
    corpus.add("spectra", "planes", &[0, 16, 1, 0x60, 17, 255, 0x80, 17, 9])?;
    for what in 0..4_u8 {
        for which in 0..4_u8 {
            corpus.add("workers", &format!("{which}-{what}"), &[which, what, 3, 0, 200, 9, 0, 1])?;
        }
    }
    let values: Vec<u8> = (0..60_u8).map(|i| i.wrapping_mul(37)).collect();
    corpus.add("causes", "any", &[&[7, 5][..], &values].concat())?;
    corpus.add("causes", "odd", &[8, 3, 0xff, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f, 0xfe, 0xfd, 0xfc, 1, 2, 3])
}

/// A profile of two calls at two locations, as archive and as XML, and expressions.
fn cube_seeds(corpus: &Corpus) -> Result<()> {
    let xml = "<cube version=\"3.0\"><metrics><metric id=\"0\"><uniq_name>time</uniq_name><dtype>FLOAT</dtype></metric>\
        </metrics><program><region id=\"0\" mod=\"a.c\" begin=\"1\" end=\"2\"><name>main</name></region>\
        <cnode id=\"0\" calleeId=\"0\"><cnode id=\"1\" calleeId=\"0\"/></cnode></program><system><machine Id=\"0\">\
        <name>m</name><node Id=\"0\"><process Id=\"0\"><rank>0</rank><thread Id=\"0\"/><thread Id=\"1\"/></process></node>\
        </machine><topologies><cart name=\"g\" ndims=\"1\"><dim size=\"2\" periodic=\"true\"/><coord thrdId=\"0\">1</coord>\
        </cart></topologies></system><severity><matrix metricId=\"0\"><row cnodeId=\"1\">1 2.5</row></matrix></severity></cube>";
    corpus.add("cube", "xml", xml.as_bytes())?;
    let path = std::env::temp_dir().join(format!("ouzel-seed-{}", std::process::id()));
    fs::write(&path, xml)?;
    let cube = ouzel_cube::open(&path).map_err(std::io::Error::other)?;
    fs::remove_file(&path)?;
    let mut anchor = cube.anchor().clone();
    anchor.rows.clear();
    anchor.metrics[0].kind = "INCLUSIVE".to_owned();
    let mut writer = ouzel_cube::Writer::new(std::io::Cursor::new(Vec::new()));
    writer.metric(0, &[0, 1], 16)?;
    writer.row(1, &[1; 16])?;
    corpus.add("cube", "archive", writer.finish(&anchor)?.get_ref())?;
    for (name, text) in [
        ("ratio", "metric::time(i) / metric::visits()"),
        ("all", "{ return -min(2^3, abs(1)) * (4 - .5e1); }"),
    ] {
        corpus.add("cubepl", name, text.as_bytes())?;
    }
    Ok(())
}

/// A trace of two samples, alone, merged and with the tree of an older database; the number before each decodes it.
fn hpctoolkit(corpus: &Corpus) -> Result<()> {
    let sample = |time: u64, context: u32| [&time.to_be_bytes()[..], &context.to_be_bytes()].concat();
    let samples = [sample(1_659_713_364_904_210_000, 19), sample(1_659_713_364_907_544_000, 3)].concat();
    let trace = [b"HPCRUN-trace______01.01b".as_slice(), &[0; 8], &samples].concat();
    let merged = [&[0, 0, 0, 2, 0, 0, 0, 1], &[0; 8][..], &24_u64.to_be_bytes(), &trace, &[0xff; 8]].concat();
    let tree = "<?xml version=\"1.0\"?><HPCToolkitExperiment version=\"2.2\"><Header n=\"made\"/>\
        <Metric i=\"4\" n=\"cycles:Sum (I)\" t=\"inclusive\"/><TraceDB u=\"1000000000\"/>\
        <Procedure i=\"7\" n=\"main\"/><PF i=\"2\" l=\"1\" n=\"7\"><M n=\"4\" v=\"2\"/><S i=\"3\" l=\"9\" it=\"19\"/></PF>\
        </HPCToolkitExperiment>";
    let values =
        [b"HPCPROF-metricdb__00.10b".as_slice(), &[0, 0, 0, 1, 0, 0, 0, 1], &2_f64.to_be_bytes()].concat();
    for (number, name, bytes) in [
        (4_u8, "trace", &trace[..]),
        (5, "merged", &merged),
        (7, "tree", tree.as_bytes()),
        (7, "values", &values),
    ] {
        corpus.add("hpctoolkit_decoder", name, &[&[number], bytes].concat())?;
    }
    corpus.add("hpctoolkit_database", "older", &pack(&[(3, tree.as_bytes()), (4, &trace)]))
}

struct Corpus {
    root: PathBuf,
}

impl Corpus {
    fn add(&self, target: &str, name: &str, bytes: &[u8]) -> Result<()> {
        let dir = self.root.join(target);
        fs::create_dir_all(&dir)?;
        fs::write(dir.join(name), bytes)
    }

    /// For the targets that take the chunk size, in units of 64 bytes, before the file.
    fn add_file(&self, targets: &[&str], name: &str, chunk_units: u8, file: &[u8]) -> Result<()> {
        let bytes = [&[chunk_units], file].concat();
        targets.iter().try_for_each(|target| self.add(target, name, &bytes))
    }
}

const EVENT_TARGETS: [&str; 4] = ["events_push", "events_pull", "chunks", "archive_round_trip"];

/// Files with one record of each kind.
fn made(corpus: &Corpus, order: &str, endian: Endian) -> Result<()> {
    let anchor = Anchor {
        endian,
        anchor_format: 3,
        trace_format: 2,
        library_version: [3, 0, 2],
        event_chunk_bytes: 256,
        definition_chunk_bytes: 1024,
        n_locations: 2,
        n_global_definitions: 3,
        machine_name: "machine".to_owned(),
        creator: "seeds".to_owned(),
        description: String::new(),
        properties: vec![("OTF2::MPI_COMMUNICATION_COMPLETE".to_owned(), "true".to_owned())],
        trace_id: 7,
        n_snapshots: 0,
        n_thumbnails: 0,
    };
    corpus.add("anchor", order, &anchor.encode())?;
    let definitions = file(&[all(endian, Definition::decode, |r, b| r.encode(b))], endian, None);
    corpus.add_file(&["global_definitions"], order, 0, &definitions)?;
    let local = file(&[all(endian, LocalDefinition::decode, |r, b| r.encode(b))], endian, None);
    corpus.add_file(&["local_definitions"], order, 0, &local)?;
    let markers = file(&[all(endian, MarkerRecord::decode, |r, b| r.encode(b))], endian, None);
    corpus.add_file(&["markers"], order, 0, &markers)?;
    let snapshots = file(&[all(endian, SnapshotRecord::decode, |r, b| r.encode(b))], endian, None);
    corpus.add_file(&["snapshots"], order, 0, &snapshots)?;
    let thumbnails = file(&[all(endian, ThumbnailRecord::decode, |r, b| r.encode(b))], endian, None);
    corpus.add_file(&["thumbnails"], order, 0, &thumbnails)?;

    let records = all(endian, Event::decode, |r, b| r.encode(b));
    let timed = |ticks: u64, records: &[Vec<u8>]| {
        let mut buffer = RecordBuffer::new(endian);
        ouzel_otf2::records::encode_timestamp(ticks, &mut buffer);
        buffer.put_bytes(&records.concat());
        // One attribute before the last event: a number of eight bits.
        vec![buffer.bytes().to_vec(), vec![special::ATTRIBUTE_LIST, 6, 1, 1, 1, 7, 1, 9], vec![12, 1, 3]]
    };
    let whole = file(&[timed(100, &records)], endian, None);
    corpus.add_file(&EVENT_TARGETS, order, 0, &whole)?;
    let (first, second) = records.split_at(records.len() / 2);
    let chunks = file(&[timed(100, first), timed(200, second)], endian, Some(1024));
    corpus.add_file(&EVENT_TARGETS, &format!("{order}-chunks"), 16, &chunks)?;
    let anchor = Anchor { event_chunk_bytes: 1024, definition_chunk_bytes: 4096, ..anchor };
    let packed = pack(&[(0, &anchor.encode()), (1, &definitions), (2, &chunks), (3, &local), (6, &markers)]);
    corpus.add("archive", &format!("{order}-made"), &packed)?;
    for target in 0..5_u8 {
        corpus.add("convert", &format!("{order}-{target}"), &[&[target], &packed[..]].concat())?;
    }
    corpus.add(
        "archive",
        &format!("{order}-no-anchor"),
        &pack(&[(1, &definitions), (2, &whole), (4, &whole)]),
    )
}

/// One record of each id, with plain and with wide fields; each as its bytes.
fn all<'a, T>(
    endian: Endian,
    decode: impl Fn(u8, &mut Cursor<'a>) -> std::result::Result<Option<T>, Fault>,
    encode: impl Fn(&T, &mut RecordBuffer) -> std::result::Result<(), EncodeError>,
) -> Vec<Vec<u8>> {
    static WIDE_FIELDS: [u8; 96] = WIDE;
    let mut records = Vec::new();
    for id in 5..=u8::MAX {
        for fields in [PLAIN, &WIDE_FIELDS] {
            let mut buffer = RecordBuffer::new(endian);
            let decoded = decode(id, &mut Cursor::new(fields, endian));
            // Some fields do not fit some pattern: a text needs a zero.
            if let Ok(Some(record)) = decoded
                && encode(&record, &mut buffer).is_ok()
            {
                records.push(buffer.bytes().to_vec());
            }
        }
    }
    records
}

/// A file of these chunks.
fn file(chunks: &[Vec<Vec<u8>>], endian: Endian, chunk_bytes: Option<usize>) -> Vec<u8> {
    let mut file = RecordBuffer::new(endian);
    let mut first = 1;
    for (i, records) in chunks.iter().enumerate() {
        let last = first + records.len() as u64 - 1;
        file.put_u8(special::CHUNK_HEADER);
        file.put_u8(endian.to_byte());
        file.put_u64_full(first);
        file.put_u64_full(last);
        records.iter().for_each(|record| file.put_bytes(record));
        if i + 1 < chunks.len() {
            let end = (i + 1) * chunk_bytes.expect("several chunks have a size");
            assert!(file.len() <= end, "the records fit into their chunk");
            file.put_bytes(&vec![special::END_OF_CHUNK; end - file.len()]);
        }
        first = last + 1;
    }
    file.put_bytes(&[special::END_OF_FILE, special::END_OF_BUFFER]);
    file.bytes().to_vec()
}

/// The first bytes of the files of a real archive of ours.
fn cut_from(corpus: &Corpus, stem: &Path, name: &str) -> Result<()> {
    let read = |path: PathBuf| -> Result<Vec<u8>> { Ok(fs::read(path)?.into_iter().take(1800).collect()) };
    let anchor = read(stem.with_extension("otf2"))?;
    let definitions = read(stem.with_extension("def"))?;
    let events = read(stem.join("0.evt"))?;
    let local = read(stem.join("0.def"))?;
    corpus.add("anchor", name, &anchor)?;
    corpus.add_file(&["global_definitions"], name, 0, &definitions)?;
    corpus.add_file(&["local_definitions"], name, 0, &local)?;
    corpus.add_file(&EVENT_TARGETS, name, 0, &events)?;
    let cut = &events[..events.len().min(600)];
    corpus.add("archive", name, &pack(&[(0, &anchor), (1, &definitions), (2, cut), (3, &local)]))
}

const PHASES: &str = r##"{"schemaVersion":1,"distributedInfo":{"rank":1,"world_size":2},"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"p"}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":1.5,"dur":9},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":2,"dur":1,"args":{"correlation":3}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":7,"ts":4,"dur":5,"args":{"correlation":3,"stream":7,"Collective name":"allreduce"}},
{"ph":"B","name":"a","pid":1,"tid":2,"ts":0},{"ph":"E","pid":1,"tid":2,"ts":5},{"ph":"s","id":1,"cat":"f","name":"f","pid":1,"tid":2,"ts":1},
{"ph":"f","id":1,"cat":"f","name":"f","bp":"e","pid":1,"tid":1,"ts":3},{"ph":"b","id":1,"cat":"n","name":"n","pid":1,"tid":1,"ts":1},
{"ph":"e","id":1,"cat":"n","pid":1,"tid":1,"ts":2},{"ph":"C","name":"c","pid":1,"ts":1,"args":{"v":1.5}},{"ph":"i","name":"i","pid":1,"tid":1,"ts":1}],
"samples":[{"pid":1,"tid":1,"ts":1,"sf":1}],"stackFrames":{"1":{"name":"root"}}}
"##;

const CUT: &str = r##"[{"ph":"X","ts":1e3,"dur":-2,"pid":"a","tid":"b","name":"x\u00e9"},
{"ph":"P","name":"ProfileChunk","ts":1,"pid":1,"tid":1,"id":"0x1","args":{"data":{"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"r"}}],"samples":[1,1]},"timeDeltas":[1,2]}}},"##;
