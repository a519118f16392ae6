//! Traces of several files, read by one thread and by several.

use super::tests::{chunks, told};
use super::*;
use ouzel_model::{Link, NoticeCode};
use std::path::Path;

/// Files of ranks, with names, groups and shapes that some share, and a damaged event in one.
fn write_ranks(folder: &Path) -> Vec<PathBuf> {
    let of_rank = |rank: usize| {
        let damage = if rank == 3 { "{\"ph\": \"X\", \"ts\": 2 7}," } else { "" };
        let (group, size) = (rank / 2, 300 * (5 - rank));
        let events: String = (0..size)
            .map(|i| {
                let (at, kernel) = (10 * i, (i * (rank + 1)) % 7);
                format!(
                    "{{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \
                     \"ts\": {at}, \"dur\": 2, \"args\": {{\"correlation\": {i}}}}},\n\
                     {{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"kernel {kernel}\", \"pid\": 0, \"tid\": {}, \"ts\": {}, \
                     \"dur\": 4, \"args\": {{\"correlation\": {i}, \"grid\": [{kernel}, 1, 1], \"block\": [{rank}, 1, 1]}}}},\n\
                     {{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclKernel\", \"pid\": 0, \"tid\": 20, \"ts\": {}, \"dur\": 3, \
                     \"args\": {{\"Collective name\": \"allreduce\", \"Process Group Name\": \"{group}\"}}}},\n\
                     {{\"ph\": \"C\", \"name\": \"load {kernel}\", \"pid\": 1, \"ts\": {at}, \"args\": {{\"value\": {i}}}}},\n\
                     {{\"ph\": \"i\", \"name\": \"mark {}\", \"pid\": 1, \"tid\": 1, \"ts\": {at}}},\n\
                     {{\"ph\": \"P\", \"name\": \"sample\", \"pid\": 1, \"tid\": 1, \"ts\": {at}, \"sf\": {kernel}}},\n\
                     {{\"ph\": \"s\", \"name\": \"flow\", \"id\": {i}, \"pid\": 1, \"tid\": 1, \"ts\": {at}}},\n\
                     {{\"ph\": \"f\", \"bp\": \"e\", \"name\": \"flow\", \"id\": {i}, \"pid\": 0, \"tid\": 20, \"ts\": {}}},\n",
                    i % 3,
                    at + 3,
                    at + 4,
                    (i + rank) % 5,
                    at + 4,
                )
            })
            .collect();
        let frames: Vec<String> =
            (0..7).map(|i| format!("\"{i}\": {{\"name\": \"frame {}\"}}", i + rank)).collect();
        let head =
            format!("\"distributedInfo\": {{\"rank\": {rank}}}, \"stackFrames\": {{{}}}", frames.join(", "));
        format!("{{\"schemaVersion\": 1, {head},\n\"traceEvents\": [\n{damage}{events}{{}}]}}")
    };
    let write = |rank: usize| {
        let path = folder.join(format!("rank-{rank}.json"));
        std::fs::write(&path, of_rank(rank)).unwrap();
        path
    };
    (0..5).map(write).collect()
}

#[test]
fn files_read_together_are_those_read_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let paths = write_ranks(folder.path());
    let read = |n_threads: usize| define::finish(together::read_by(n_threads, &paths).unwrap());
    let alone = read(1);
    let text = told(&alone);
    assert!(
        text.contains("kernel 6") && text.contains("allreduce(process group 1,") && text.contains("mark 4")
    );
    assert!(
        text.contains("grid=6x1x1 block=4x1x1") && text.contains("load 3=") && text.contains("frame 10"),
        "{text}"
    );
    assert_eq!(alone.definitions().communicators.len(), 3, "ranks 0 and 1 have one, 2 and 3, and 4");
    assert_eq!(alone.definitions().regions.iter().filter(|it| &*it.name == "kernel 3").count(), 1);
    let links = |source: &ChromeSource| -> Vec<Link> {
        let of_location = |i| chunks(source, i).into_iter().flat_map(|chunk| chunk.links);
        (0..source.definitions().locations.len()).flat_map(of_location).collect()
    };
    let n_calls = 300 * (5 + 4 + 3 + 2 + 1);
    assert_eq!(links(&alone).len(), 2 * n_calls + 2 * n_calls, "of launches and flows");
    for n_threads in [2, 3, 8] {
        let together = read(n_threads);
        assert_eq!(told(&together), text);
        assert_eq!(links(&together), links(&alone));
        assert_eq!(format!("{:?}", together.definitions()), format!("{:?}", alone.definitions()));
        assert_eq!(together.notices(), alone.notices());
    }
    let damaged = alone.notices().iter().find(|notice| notice.code == NoticeCode::DamagedEvents).unwrap();
    assert!(damaged.file.as_deref().is_some_and(|file| file.ends_with("rank-3.json")), "{damaged:?}");
}

#[test]
fn a_group_is_that_of_its_file_where_others_have_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let write = |(rank, members): (u32, &str)| {
        let path = folder.path().join(format!("rank-{rank}.json"));
        let group = format!("{{\"pg_name\": \"1\", \"ranks\": [{members}]}}");
        let info = format!("\"distributedInfo\": {{\"rank\": {rank}, \"pg_config\": [{group}]}}");
        let args = "{\"Collective name\": \"allreduce\", \"Process Group Name\": \"1\"}";
        let event = "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"nccl\", \"pid\": 0, \"tid\": 7, \"ts\": 1, \"dur\": 2";
        let text = format!("{{{info}, \"traceEvents\": [{event}, \"args\": {args}}}]}}");
        std::fs::write(&path, text).unwrap();
        path
    };
    let source = ChromeSource::open(&[(0, "0, 1"), (2, "2, 3")].map(write)).unwrap();
    let comm = |index| chunks(&source, index)[0].collectives[0].comm;
    let first_member = |index| source.definitions().communicator(comm(index)).members[0].0;
    assert_eq!([0, 1].map(first_member), [0, 2]);
}

#[test]
fn calls_that_overlap_are_said_of_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = |(rank, second_at): (u32, u32)| {
        let path = folder.path().join(format!("rank-{rank}.json"));
        let call = |at: u32| {
            format!("{{\"ph\": \"X\", \"name\": \"f\", \"pid\": 1, \"tid\": 1, \"ts\": {at}, \"dur\": 5}}")
        };
        std::fs::write(&path, format!("[{}, {}]", call(0), call(second_at))).unwrap();
        path
    };
    let source = ChromeSource::open(&[(0, 3), (1, 8)].map(write)).unwrap();
    let overlaps: Vec<_> =
        source.notices().iter().filter(|it| it.code == NoticeCode::TruncatedCalls).collect();
    assert_eq!(overlaps.len(), 1, "{overlaps:?}");
    assert!(overlaps[0].file.as_deref().is_some_and(|file| file.ends_with("rank-0.json")), "{overlaps:?}");
}

#[test]
fn the_first_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = write_ranks(folder.path());
    std::fs::write(&paths[4], "nothing").unwrap();
    std::fs::write(&paths[2], "").unwrap();
    paths.push(folder.path().join("is-not-there.json"));
    for n_threads in [1, 2, 8] {
        let error = together::read_by(n_threads, &paths).unwrap_err();
        assert!(error.file.ends_with("rank-2.json") && error.reason.contains("empty"), "{error:?}");
    }
}
