//! Kept spectra change no answer, and damaged or foreign files are not trusted.
#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{grid, profile, random_view, topology, view};
use ouzel_correlate::{
    AxisSet, Cache, CacheOwner, CacheUse, Correlations, Grid, Peak, Question, Run, Weights, correlate,
};
use ouzel_model::{ProfileSource, Scope};
use ouzel_testkit::{Rng, ToyProfile};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

const SIZES: [u32; 3] = [16, 12, 20];
const N: usize = 16 * 12 * 20;
/// Large enough to be worth a file.
const N_VIEWS: usize = 560;

/// Views of three kinds: noise, relatives of the first one with more and more noise, and constants.
fn many_views() -> (ToyProfile, Grid) {
    let mut rng = Rng::new(5);
    let first = random_view(&mut rng, N);
    let mut views = vec![first.clone()];
    for i in 1..N_VIEWS {
        let noise = random_view(&mut rng, N);
        views.push(match i % 20 {
            0 => vec![i as f64; N],
            1..=5 => first.iter().zip(&noise).map(|(v, e)| v + i as f64 / 150.0 * e).collect(),
            _ => noise,
        });
    }
    let profile = profile(&views);
    let grid = grid(&profile, &topology(&SIZES, &[]));
    (profile, grid)
}

fn cache(file: &Path) -> Cache {
    Cache { file: file.to_owned(), owner: CacheOwner::Folder, fingerprint: 7 }
}

fn ask(
    profile: &ToyProfile,
    grid: &Grid,
    question: &Question,
    cache: Option<&Cache>,
    jobs: usize,
) -> Correlations {
    let run = Run { cache, ..Run::new(NonZeroUsize::new(jobs).unwrap()) };
    correlate(profile, grid, question, &run).unwrap()
}

fn question(top: usize) -> Question {
    Question { top: NonZeroUsize::new(top), ..Question::new(view(0), AxisSet::all(3)) }
}

#[test]
fn kept_spectra_change_no_answer() {
    let (profile, grid) = many_views();
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(&folder.path().join("new").join("x.spectra"));
    let first = ask(&profile, &grid, &question(10), Some(&cache), 2);
    assert!(matches!(first.cache, CacheUse::Written { .. }), "{:?}", first.notices);
    assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 1, "nothing is left of the writing");
    let questions = [
        question(10),
        question(200),
        question(0),
        Question { axes: AxisSet::from_indices([1]), ..question(7) },
        Question { axes: AxisSet::from_indices([0, 2]), weights: Weights::Physical, ..question(13) },
        Question { peak: Peak::Greatest, ..question(9) },
        Question { reference: view(3), ..question(5) },
        // A constant: every correlation is zero.
        Question { reference: view(20), ..question(5) },
    ];
    for question in questions {
        let plain = ask(&profile, &grid, &question, None, 1);
        assert_eq!(plain.cache, CacheUse::Off);
        let kept: Vec<Correlations> =
            [1, 2, 3].map(|jobs| ask(&profile, &grid, &question, Some(&cache), jobs)).into();
        let from_file = CacheUse::Read { file: cache.file.clone() };
        assert!(kept.iter().all(|kept| kept.cache == from_file), "{:?}", kept[0].notices);
        assert_eq!(kept[0], kept[1]);
        assert_eq!(kept[0], kept[2]);
        assert_eq!(kept[0].rows, plain.rows);
        assert_eq!((kept[0].n_views, kept[0].coverage.to_bits()), (plain.n_views, plain.coverage.to_bits()));
        assert_eq!(kept[0].notices, plain.notices);
        for jobs in [2, 3] {
            assert_eq!(ask(&profile, &grid, &question, None, jobs), plain);
        }
    }
}

#[test]
fn bounds_spare_most_transforms() {
    let (profile, grid) = many_views();
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(&folder.path().join("x.spectra"));
    ask(&profile, &grid, &question(10), Some(&cache), 2);
    let top = ask(&profile, &grid, &question(10), Some(&cache), 2);
    assert_eq!(top.n_views, N_VIEWS as u64 - 1);
    assert!(top.n_transformed < 150, "{} transforms for ten of {}", top.n_transformed, top.n_views);
    assert!(top.rows.iter().all(|row| row.r > 0.9));
}

#[test]
fn nothing_damaged_or_foreign_is_trusted() {
    let (profile, grid) = many_views();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.spectra");
    let cache = cache(&file);
    let question = question(15);
    let right = ask(&profile, &grid, &question, Some(&cache), 2);
    let good = fs::read(&file).unwrap();
    let damaged = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    let mut more = good.clone();
    more.push(0);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("too short", good[..100].to_vec()),
        ("half", good[..good.len() / 2].to_vec()),
        ("one byte less", good[..good.len() - 1].to_vec()),
        ("one byte more", more),
        ("foreign", b"something else entirely ".repeat(1000)),
        ("magic", damaged(0)),
        ("version", damaged(12)),
        ("key", damaged(17)),
        ("sizes", damaged(37)),
        ("end", damaged(good.len() - 10)),
        // The reference is last in its metric; its plane is always read.
        ("the reference's plane", damaged(4096 + (N_VIEWS - 1) * 2 * 16 * 12 * 11 * 8 + 17)),
    ];
    for (what, bytes) in cases {
        fs::write(&file, &bytes).unwrap();
        let again = ask(&profile, &grid, &question, Some(&cache), 2);
        assert_eq!(again.rows, right.rows, "{what}");
        assert!(matches!(again.cache, CacheUse::Written { .. }), "{what}: {:?}", again.cache);
        assert!(again.notices.iter().any(|notice| notice.message.contains("recomputed")), "{what}");
        assert!(fs::read(&file).unwrap() == good, "{what}: the file is as it was");
    }
    // A plane of another view: the damage is found where all are read.
    fs::write(&file, damaged(4096 + 33 * 2 * 16 * 12 * 11 * 8 + 5)).unwrap();
    let all = Question { top: None, ..question.clone() };
    let again = ask(&profile, &grid, &all, Some(&cache), 2);
    assert!(matches!(again.cache, CacheUse::Written { .. }));
    assert_eq!(again.rows, ask(&profile, &grid, &all, None, 1).rows);
}

#[test]
fn a_changed_profile_is_computed_again() {
    let (profile, grid) = many_views();
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(&folder.path().join("x.spectra"));
    let question = question(5);
    ask(&profile, &grid, &question, Some(&cache), 2);
    // Same definitions and sizes, other values: the spectrum of the reference reveals it.
    let mut other = profile.clone();
    let mut rng = Rng::new(99);
    for call in 0..N_VIEWS as u32 {
        other.set(0, call, &random_view(&mut rng, N));
    }
    let again = ask(&other, &grid, &question, Some(&cache), 2);
    assert!(matches!(again.cache, CacheUse::Written { .. }));
    assert!(again.notices.iter().any(|notice| notice.message.contains("has changed")), "{:?}", again.notices);
    assert_eq!(again.rows, ask(&other, &grid, &question, None, 1).rows);
    // Another scope and another fingerprint have other keys.
    let inclusive = Question { scope: Scope::Inclusive, ..question.clone() };
    let other_scope = ask(&other, &grid, &inclusive, Some(&cache), 2);
    assert!(matches!(other_scope.cache, CacheUse::Written { .. }));
    let changed = Cache { fingerprint: 8, ..cache.clone() };
    assert!(matches!(ask(&other, &grid, &inclusive, Some(&changed), 2).cache, CacheUse::Written { .. }));
}

#[test]
fn small_profiles_and_folders_that_cannot_be_written_do_without() {
    let mut rng = Rng::new(3);
    let small = profile(&[random_view(&mut rng, 12), random_view(&mut rng, 12)]);
    let small_grid = grid(&small, &topology(&[3, 4], &[]));
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("x.spectra");
    let two = Question::new(view(0), AxisSet::all(2));
    assert_eq!(ask(&small, &small_grid, &two, Some(&cache(&good)), 1).cache, CacheUse::NotWorth);
    assert!(!good.exists());
    // A folder that is a file.
    let (large, large_grid) = many_views();
    let blocked = folder.path().join("file");
    fs::write(&blocked, b"").unwrap();
    let bad = blocked.join("x.spectra");
    let found = ask(&large, &large_grid, &question(5), Some(&cache(&bad)), 2);
    assert_eq!(found.cache, CacheUse::Failed);
    assert!(found.notices.iter().any(|notice| notice.message.contains("not kept")));
    // A file that the user names is written however small; a file without spectra is not overwritten.
    let named = Cache { owner: CacheOwner::User, ..cache(&good) };
    assert!(matches!(ask(&small, &small_grid, &two, Some(&named), 1).cache, CacheUse::Written { .. }));
    assert!(matches!(ask(&small, &small_grid, &two, Some(&named), 1).cache, CacheUse::Read { .. }));
    let error = Cache::in_file(&blocked, &good, "").unwrap_err();
    assert_eq!(error.to_string(), "it exists and holds no spectra; name another file");
    assert_eq!(Cache::in_file(&good, &blocked, "").unwrap().owner, CacheOwner::User);
}

/// Numbers of views, metrics and locations beyond those of the profile, with correct checksums.
#[test]
fn a_forged_file_names_nothing_that_is_not_there() {
    let mut rng = Rng::new(3);
    let views: Vec<Vec<f64>> = (0..6).map(|_| random_view(&mut rng, 12)).collect();
    let (many, few) = (profile(&views), profile(&views[..2]));
    let topology = topology(&[3, 4], &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.spectra");
    let cache = Cache { owner: CacheOwner::User, ..cache(&file) };
    let two = Question::new(view(0), AxisSet::all(2));
    let header = |bytes: &[u8]| bytes[..64].to_vec();
    ask(&few, &grid(&few, &topology), &two, Some(&cache), 1);
    let of_few = header(&fs::read(&file).unwrap());
    fs::remove_file(&file).unwrap();
    ask(&many, &grid(&many, &topology), &two, Some(&cache), 1);
    let mut forged = fs::read(&file).unwrap();
    // The key of the smaller profile over the spectra of the larger one: 19 bytes of base 128 behind the versions.
    let key_bytes = |bytes: &[u8]| 16 + 1 + bytes[16..].iter().position(|byte| byte & 0x80 == 0).unwrap();
    let (from, to) = (key_bytes(&of_few), key_bytes(&forged));
    let rest = forged[to..4096].to_vec();
    let mut head = [&of_few[..from], &rest[..]].concat();
    head.resize(4096, 0);
    forged.splice(..4096, head);
    fs::write(&file, &forged).unwrap();
    let again = ask(&few, &grid(&few, &topology), &two, Some(&cache), 1);
    assert!(
        again.notices.iter().any(|notice| notice.message.contains("its end is damaged")),
        "{:?}",
        again.notices
    );
    assert_eq!(again.rows, ask(&few, &grid(&few, &topology), &two, None, 1).rows);
}

#[test]
fn a_stop_leaves_nothing_behind() {
    let (profile, grid) = many_views();
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(&folder.path().join("x.spectra"));
    let go_on = |n_done: u64, _: u64| n_done < 540;
    let run = Run { cache: Some(&cache), progress: Some(&go_on), ..Run::new(NonZeroUsize::MIN) };
    let stopped = correlate(&profile, &grid, &question(5), &run);
    assert!(matches!(stopped, Err(ouzel_correlate::CorrelateError::Cancelled)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn files_are_named_by_profile_scope_and_grid() {
    let (profile, grid) = many_views();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.cubex");
    fs::write(&path, b"profile").unwrap();
    let kept = folder.path().join("cache");
    let of = |path: &Path, grid: &Grid, scope: Scope, made_by: &str| {
        Cache::in_folder(&kept, path, grid, scope, made_by).unwrap()
    };
    let one = of(&path, &grid, Scope::Exclusive, "");
    assert_eq!((one.file.parent().unwrap(), one.owner), (&*kept, CacheOwner::Folder));
    assert_eq!(one, of(&path, &grid, Scope::Exclusive, ""));
    assert_ne!(one.file, of(&path, &grid, Scope::Inclusive, "").file);
    let other_grid = common::grid(&profile, &topology(&[12, 16, 20], &[]));
    assert_ne!(one.file, of(&path, &other_grid, Scope::Exclusive, "").file);
    let filtered = of(&path, &grid, Scope::Exclusive, "ranks 0-3");
    assert!(filtered.file != one.file && filtered.fingerprint != one.fingerprint);
    // Moved with its modification time: the same. Changed: another.
    let moved = folder.path().join("moved");
    fs::create_dir(&moved).unwrap();
    fs::rename(&path, moved.join("run.cubex")).unwrap();
    assert_eq!(of(&moved.join("run.cubex"), &grid, Scope::Exclusive, ""), one);
    fs::write(moved.join("run.cubex"), b"another profile").unwrap();
    let changed = of(&moved.join("run.cubex"), &grid, Scope::Exclusive, "");
    assert!(changed.fingerprint != one.fingerprint && changed.file != one.file);
    // A directory is identified by all of its files except spectra.
    let whole = of(&moved, &grid, Scope::Exclusive, "");
    fs::write(moved.join("kept.spectra"), b"kept").unwrap();
    assert_eq!(whole, of(&moved, &grid, Scope::Exclusive, ""));
    let named = moved.join("x.bin");
    let first = Cache::in_file(&named, &moved, "").unwrap();
    fs::write(&named, b"OUZELSPC").unwrap();
    assert_eq!(Cache::in_file(&named, &moved, "").unwrap(), first);
    assert!(Cache::in_folder(&kept, &path, &grid, Scope::Exclusive, "").is_err());
    assert_eq!(profile.definitions().locations.len(), N);
}
