//! Iterations clustered as they come, beside Algorithm 3 as printed, on all archives at hand: the figures of
//! `docs/design/diagnosis.md`.

use ouzel::Options;
use ouzel::context_tree::{ContextTrees, ContextTreesOutput, IterationClustering};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The loops of an archive by location and path: the cluster of each iteration, numbered as they come.
fn loops(output: &ContextTreesOutput) -> BTreeMap<String, Vec<usize>> {
    let mut loops = BTreeMap::new();
    for (group, found) in output.groups.iter().flat_map(|group| group.loops.iter().map(move |it| (group, it)))
    {
        for (i, instance) in found.instances.iter().enumerate() {
            let mut names = Vec::new();
            let mut number = |cluster| {
                names.iter().position(|&name| name == cluster).unwrap_or_else(|| {
                    names.push(cluster);
                    names.len() - 1
                })
            };
            let clusters = instance.iterations.iter().map(|row| number(row.cluster)).collect();
            loops.insert(format!("{:?} {:?} {:?} {i}", group.kind, instance.location, found.path), clusters);
        }
    }
    loops
}

/// The ranks that are alike.
fn ranks(output: &ContextTreesOutput) -> Vec<Vec<u32>> {
    let members = output.groups.iter().flat_map(|group| &group.clusters);
    members.map(|cluster| cluster.members.iter().map(|member| member.0).collect()).collect()
}

/// Number of loops and of those that are equal, whether the ranks' clusters are.
fn compared(archive: &Path) -> Option<(usize, usize, bool)> {
    let trace = ouzel::open(archive).ok()?;
    let of = |iterations| {
        let trees = ContextTrees { iterations, ..ContextTrees::default() };
        trace.ask(trees, &Options::default()).expect("the archive can be read").output
    };
    let (streamed, printed) = (of(IterationClustering::Streamed), of(IterationClustering::AsPrinted));
    let (a, b) = (loops(&streamed), loops(&printed));
    let n_equal = a.iter().filter(|(name, clusters)| b.get(*name) == Some(clusters)).count();
    Some((a.len(), n_equal, ranks(&streamed) == ranks(&printed)))
}

fn zoo() -> Vec<PathBuf> {
    let folder = ouzel_testkit::workspace_root().join("testdata/zoo");
    let programs = std::fs::read_dir(folder).expect("the recorded programs are there");
    let programs = programs.map(|entry| entry.expect("can be listed").path());
    let mut variants: Vec<PathBuf> =
        programs.flat_map(|path| ["faulty", "fixed"].map(|it| path.join(it))).collect();
    variants.retain(|path| path.is_dir());
    variants.sort();
    variants
}

/// Real and simulated archives of the shared data.
fn shared() -> Vec<PathBuf> {
    let names = [
        "otf2/eztrace-fortran-ring",
        "otf2/eztrace-jacobi",
        "otf2/pmpi-jacobi",
        "otf2/pmpi-masterio",
        "otf2/scorep-hip-mi300",
        "otf2/scorep-pingpong",
        "sampled/out48-exact",
        "sampled/out256-exact",
        "field/hpccg-4",
    ];
    names.iter().filter_map(|name| ouzel_testkit::shared_path(&format!("data/{name}"))).collect()
}

/// How many loops and archives are equal in words, and those that are not.
fn in_words(archives: Vec<PathBuf>) -> (String, String) {
    let (mut n_loops, mut n_equal, mut n_archives, mut n_alike) = (0, 0, 0, 0);
    let mut differing = String::new();
    for path in archives {
        let Some((loops, equal, ranks_are_equal)) = compared(&path) else { continue };
        n_archives += 1;
        n_alike += u32::from(ranks_are_equal);
        n_loops += loops;
        n_equal += equal;
        if equal < loops || !ranks_are_equal {
            differing += &format!("{}: {equal} of {loops} loops, ranks {ranks_are_equal}\n", path.display());
        }
    }
    (format!("{n_equal} of {n_loops} loops, ranks of {n_alike} of {n_archives} archives"), differing)
}

fn check(archives: Vec<PathBuf>) {
    let (head, differing) = in_words(archives);
    let page = ouzel_testkit::workspace_root().join("docs/design/diagnosis.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    assert!(page.contains(&head), "the page should have: {head}\n{differing}");
}

#[test]
fn iterations_of_recorded_programs_cluster_as_printed_or_the_figures_say_so() {
    check(zoo());
}

#[test]
fn iterations_of_shared_archives_cluster_as_printed_or_the_figures_say_so() {
    let archives = shared();
    if !archives.is_empty() {
        check(archives);
    }
}
