//! Tiles of complete passes in files, so that the second start shows the run at once.
//!
//! ```text
//! FINGERPRINT.tiles:  OUZELTIL  key (16 bytes)  checksum (16 bytes)  place of the index (8 bytes)  times (16 bytes)
//!                     fine levels, location by location      read when they are shown
//!                     index: gzip of call paths, coarse levels, and where the fine ones are, with their hashes
//! ```
//!
//! The key is of versions and definitions; times are those of the files of the trace. The checksum covers the index,
//! then its place. Fine levels are checked when they are read, so a start does not take longer with more events.
//!
//! Law: a file is disposable. One of another version, of files that changed since, or whose index is damaged, is as if
//! it were not there, and is replaced; what it showed while the times of many files were asked for is taken back. One
//! whose fine levels are damaged shows nothing of what is, says so, and goes.
//! A file gets its name when it is complete; the user alone can read it. Nothing is written beside the trace, unless
//! its folder is the one that was named.

use crate::file_times::file_times;
use crate::fine::FineFile;
use crate::private;
use crate::store::{Saved, TileStore};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ouzel::Trace;
use ouzel_files::unfinished::{Existing, Unfinished};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;

const MAGIC: [u8; 8] = *b"OUZELTIL";
/// Changes with what tiles mean or how they are stored.
const VERSION: u32 = 6;
const HEADER_BYTES: u64 = 8 + 16 + 16 + 8 + 16;
/// More than the coarse levels of all rows and the hashes of 10¹⁰ bins: a damaged place must not fill the memory.
const MAX_INDEX_BYTES: u64 = 1 << 28;
/// The same, unpacked.
const MAX_UNPACKED_BYTES: u64 = 1 << 30;

/// What a file has of a trace.
#[derive(Debug)]
pub(crate) struct Kept {
    pub saved: Saved,
    /// The file of the fine levels.
    pub fine: FineFile,
    /// Those of the files of the trace when the tiles were made.
    pub times: u128,
}

/// A folder of such files.
#[derive(Debug, Clone)]
pub struct TileCache {
    folder: PathBuf,
}

/// A file of the cache that is being made.
#[derive(Debug)]
pub(crate) struct Begun {
    unfinished: Unfinished,
    /// Those of the files of the trace, before events are read.
    times: u128,
}

impl TileCache {
    /// In this folder. It is made when the viewer starts.
    pub fn at(folder: &Path) -> Self {
        TileCache { folder: folder.to_owned() }
    }

    /// Makes the folder, for the user alone.
    ///
    /// # Errors
    /// If it cannot be made, or others can enter it.
    pub(crate) fn make_folder(&self) -> io::Result<()> {
        private::folder(&self.folder)
    }

    fn file(&self, trace: &Trace) -> PathBuf {
        self.folder.join(format!("{}.tiles", trace.fingerprint_of_definitions()))
    }

    /// What distinguishes the tiles of a trace from all others: versions and definitions.
    fn key(trace: &Trace) -> u128 {
        let mut hash = XxHash3_128::new();
        hash.write(&VERSION.to_le_bytes());
        hash.write(env!("CARGO_PKG_VERSION").as_bytes());
        hash.write(trace.fingerprint_of_definitions().to_string().as_bytes());
        hash.finish_128()
    }

    /// Whether the files of a trace still have these times.
    pub(crate) fn is_current(trace: &Trace, times: u128) -> bool {
        file_times(trace.path()).is_ok_and(|now| now == times)
    }

    /// What is kept of a trace with these definitions, if it is there and whole.
    pub(crate) fn load(&self, trace: &Trace) -> Option<Kept> {
        let path = self.file(trace);
        let mut file = ouzel_files::input::open(&path).ok()?;
        let mut header = [0; HEADER_BYTES as usize];
        file.read_exact(&mut header).ok()?;
        if header[..8] != MAGIC || header[8..24] != Self::key(trace).to_le_bytes() {
            return None;
        }
        let Index { saved, place, n_bytes } = Index::read(&mut file, &header)?;
        let fine = FineFile::kept(file, place + n_bytes, path);
        let times = u128::from_le_bytes(header[48..].try_into().ok()?);
        saved.is_sound(trace.definitions(), place).then_some(Kept { saved, fine, times })
    }

    /// A file that the fine levels of a trace go to while they are made; what is read after this is not older than the
    /// times that the file will have.
    ///
    /// # Errors
    /// If it cannot be made, or the files of the trace have no times.
    pub(crate) fn begin(&self, trace: &Trace) -> io::Result<(Begun, FineFile)> {
        let times = file_times(trace.path())?;
        let (unfinished, mut file) = Unfinished::file_beside(&self.file(trace))?;
        of_the_user_alone(&file)?;
        file.write_all(&[0; HEADER_BYTES as usize])?;
        Ok((Begun { unfinished, times }, FineFile::new(file, HEADER_BYTES)))
    }

    /// Keeps the tiles of a trace in the file that was begun for it.
    ///
    /// # Errors
    /// If the file cannot be written, as the disk may be full, or the trace changed meanwhile.
    pub(crate) fn keep(
        &self,
        trace: &Trace,
        store: &TileStore,
        Begun { mut unfinished, times }: Begun,
    ) -> io::Result<()> {
        // There was no room for it.
        let Some(fine) = store.fine() else { return Ok(()) };
        if file_times(trace.path())? != times {
            return Err(io::Error::other("files of the trace changed while it was read"));
        }
        // Numbers come one by one.
        let packed = BufWriter::with_capacity(1 << 16, GzEncoder::new(Vec::new(), Compression::fast()));
        let index = store.save(packed)?.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
        let place = fine.append_bytes(&index)?;
        let (key, checksum) = (Self::key(trace).to_le_bytes(), checksum(&index, place).to_le_bytes());
        let header = [&MAGIC[..], &key, &checksum, &place.to_le_bytes(), &times.to_le_bytes()];
        fine.begin_with(&header.concat())?;
        unfinished.become_at(&self.file(trace), Existing::Replace)
    }
}

/// The index of a file: everything but fine levels.
struct Index {
    saved: Saved,
    /// Where it is in the file.
    place: u64,
    n_bytes: u64,
}

impl Index {
    /// `None` if it is damaged.
    fn read(file: &mut File, header: &[u8; HEADER_BYTES as usize]) -> Option<Index> {
        let place = u64::from_le_bytes(header[40..48].try_into().ok()?);
        file.seek(SeekFrom::Start(place)).ok()?;
        let mut index = Vec::new();
        file.take(MAX_INDEX_BYTES).read_to_end(&mut index).ok()?;
        if checksum(&index, place).to_le_bytes() != header[24..40] {
            return None;
        }
        let mut unpacked = Vec::new();
        GzDecoder::new(&index[..]).take(MAX_UNPACKED_BYTES).read_to_end(&mut unpacked).ok()?;
        Some(Index { saved: postcard::from_bytes(&unpacked).ok()?, place, n_bytes: index.len() as u64 })
    }
}

#[cfg(unix)]
fn of_the_user_alone(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn of_the_user_alone(_: &File) -> io::Result<()> {
    Ok(())
}

fn checksum(index: &[u8], place: u64) -> u128 {
    let mut hash = XxHash3_128::new();
    hash.write(index);
    hash.write(&place.to_le_bytes());
    hash.finish_128()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::TILE_BINS;
    use crate::news::News;
    use crate::routes::make_tiles;
    use crate::store::{TILE_HEADER_BYTES, Wanted};
    use ouzel::model::{Filter, LocationId};
    use std::sync::Arc;
    use std::time::{Duration, UNIX_EPOCH};

    fn names_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    }

    fn copied(from: &Path, to: &Path) {
        fs::create_dir(to).unwrap();
        for name in names_in(from).unwrap() {
            let to = to.join(name.file_name().unwrap());
            if name.is_dir() {
                copied(&name, &to);
            } else {
                fs::copy(&name, &to).unwrap();
            }
        }
    }

    fn rows(trace: &Trace) -> Vec<LocationId> {
        trace.definitions().location_ids().collect()
    }

    /// The regions of the call path and the shares of each bin: numbers of call paths differ from pass to pass.
    fn shown(store: &TileStore, level: u32, tile: u64) -> Vec<(Vec<i64>, Vec<u8>)> {
        let (paths, bytes) = (store.call_paths(0), store.tile(Wanted::whole(level, tile, 0)).unwrap());
        let n_bins = (bytes.len() - TILE_HEADER_BYTES) / 8;
        let bin = |at: usize| {
            let id = [0, 1, 2, 3].map(|byte| bytes[TILE_HEADER_BYTES + byte * n_bins + at]);
            let mut path = i64::from(u32::from_le_bytes(id));
            let mut regions = Vec::new();
            while let Some(&(caller, region)) = usize::try_from(path).ok().and_then(|path| paths.get(path)) {
                regions.push(region);
                path = caller;
            }
            let share = |share: usize| bytes[TILE_HEADER_BYTES + 4 * n_bins + share * n_bins + at];
            (regions, (0..4).map(share).collect())
        };
        (0..n_bins).map(bin).collect()
    }

    /// What is kept of the trace as it is.
    fn current(cache: &TileCache, trace: &Trace) -> Option<(Saved, FineFile)> {
        let Kept { saved, fine, times } = cache.load(trace)?;
        TileCache::is_current(trace, times).then_some((saved, fine))
    }

    /// Some levels are in the file.
    fn store(trace: &Trace) -> Arc<TileStore> {
        Arc::new(TileStore::new(&rows(trace), 1.0, Arc::<News>::default()).with_bins_in_memory(64))
    }

    /// A copy of a trace in a folder, and a cache beside it.
    fn copied_run(scratch: &Path) -> (PathBuf, Trace, TileCache) {
        let run = scratch.join("run");
        copied(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/pmpi-masterio")), &run);
        let trace = ouzel::open(&run).unwrap();
        let cache = TileCache::at(&scratch.join("cache"));
        cache.make_folder().unwrap();
        (run, trace, cache)
    }

    /// The tiles of a pass; the cache keeps them if the trace did not change `meanwhile`.
    fn kept(cache: &TileCache, trace: &Trace, meanwhile: impl Fn()) -> io::Result<Arc<TileStore>> {
        let (begun, fine) = cache.begin(trace)?;
        let made = store(trace);
        made.keep_fine_in(fine);
        assert!(make_tiles(trace, &made, &Filter::default()));
        meanwhile();
        cache.keep(trace, &made, begun)?;
        Ok(made)
    }

    #[test]
    fn what_is_kept_is_what_the_pass_made_and_damage_is_as_if_nothing_were_there() {
        let scratch = tempfile::tempdir().unwrap();
        let (run, trace, cache) = copied_run(scratch.path());
        assert!(current(&cache, &trace).is_none());
        let made = kept(&cache, &trace, || {}).unwrap();
        let loaded = store(&trace);
        let (saved, fine) = current(&cache, &trace).unwrap();
        loaded.restore(saved, fine);
        assert_eq!(loaded.call_paths(0), made.call_paths(0));
        // As fine as they were made, and as if all had been in memory.
        let in_memory = Arc::new(TileStore::new(&rows(&trace), 1.0, Arc::<News>::default()));
        assert!(make_tiles(&trace, &in_memory, &Filter::default()));
        assert!(in_memory.fine().is_none());
        for (level, tile) in (0..30).flat_map(|level| [0, 1, 5, 1000].map(|tile| (level, tile))) {
            let expected = shown(&in_memory, level, tile);
            assert_eq!(shown(&made, level, tile), expected, "level {level}, tile {tile}");
            assert_eq!(shown(&loaded, level, tile), expected, "level {level}, tile {tile}");
        }
        assert_eq!(loaded.finest(), made.finest());
        let files = names_in(&cache.folder).unwrap();
        assert_eq!(files, [cache.file(&trace)]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            assert_eq!(fs::metadata(&cache.folder).unwrap().mode() & 0o777, 0o700);
            assert_eq!(fs::metadata(&files[0]).unwrap().mode() & 0o777, 0o600);
        }
        let whole = fs::read(&files[0]).unwrap();
        let place = u64::from_le_bytes(whole[40..48].try_into().unwrap()) as usize;
        let is_fine = |at: usize| (HEADER_BYTES as usize..place).contains(&at);
        let (mut n_fine, mut n_other) = (0, 0);
        for at in (0..whole.len()).step_by(whole.len() / 60 + 1) {
            fs::write(&files[0], &whole[..at]).unwrap();
            assert!(current(&cache, &trace).is_none(), "cut at {at}");
            let mut damaged = whole.clone();
            damaged[at] ^= 0x20;
            fs::write(&files[0], damaged).unwrap();
            let loaded = current(&cache, &trace);
            assert_eq!(loaded.is_some(), is_fine(at), "byte {at} of {}", whole.len());
            let Some((saved, fine)) = loaded else {
                n_other += 1;
                continue;
            };
            n_fine += 1;
            // What is damaged is never shown: what is in memory represents it, and the next start makes it anew.
            let news = Arc::<News>::default();
            let loaded = TileStore::new(&rows(&trace), 1.0, Arc::clone(&news)).with_bins_in_memory(64);
            loaded.restore(saved, fine);
            let finest = loaded.finest().unwrap();
            for tile in 0..=news.known().end_ns >> (finest + TILE_BINS.ilog2()) {
                for level in [finest, finest + 1, finest + 2] {
                    loaded.tile(Wanted::whole(level, tile >> (level - finest), 0));
                }
            }
            let notices = news.known().notices;
            assert!(notices.iter().any(|notice| notice.contains("damaged")), "byte {at}: {notices:?}");
            assert!(!files[0].exists());
        }
        assert!(0 < n_fine && 0 < n_other);
        fs::write(&files[0], &whole).unwrap();
        assert!(current(&cache, &trace).is_some());
        // Another trace has other tiles; a file of this one that was written again may have other events.
        let other = ouzel::open(Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../testdata/zoo/halo3d/faulty/traces.otf2"
        )));
        fs::copy(&files[0], cache.file(other.as_ref().unwrap())).unwrap();
        assert!(current(&cache, &other.unwrap()).is_none());
        let events = run.join("traces.otf2");
        let file = File::options().write(true).open(events).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        assert!(current(&cache, &trace).is_none());
    }

    #[test]
    fn what_was_shown_too_early_is_taken_back_and_made_anew() {
        let scratch = tempfile::tempdir().unwrap();
        let (_, trace, cache) = copied_run(scratch.path());
        let made = kept(&cache, &trace, || {}).unwrap();
        let news = Arc::<News>::default();
        let loaded = TileStore::new(&rows(&trace), 1.0, Arc::clone(&news)).with_bins_in_memory(64);
        let loaded = Arc::new(loaded);
        let Kept { saved, fine, .. } = cache.load(&trace).unwrap();
        loaded.restore(saved, fine);
        // The page asks for nothing of a block that did not change.
        let known = news.known();
        assert!(!known.is_complete && known.n_changes_of_blocks.iter().all(|&n| n == 1), "{known:?}");
        let (top, paths) = (known.n_levels - 1, loaded.call_paths(0));
        let expected = shown(&made, top, 0);
        assert_eq!(shown(&loaded, top, 0), expected);
        loaded.take_back();
        let known = news.known();
        assert_eq!((known.n_taken_back, known.n_done, known.end_ns), (1, 0, 0));
        assert_eq!((loaded.tile(Wanted::whole(top, 0, 0)), loaded.finest()), (None, None));
        assert!(loaded.fine().is_none());
        assert!(make_tiles(&trace, &loaded, &Filter::default()));
        assert_eq!(loaded.call_paths(0)[..paths.len()], paths);
        let now = news.known();
        assert!(now.is_complete && now.n_done == now.n_all && now.n_levels == top + 1, "{now:?}");
        assert_eq!(shown(&loaded, top, 0), expected);
    }

    #[test]
    fn tiles_of_a_trace_that_was_written_meanwhile_are_not_kept() {
        let scratch = tempfile::tempdir().unwrap();
        let (run, trace, cache) = copied_run(scratch.path());
        kept(&cache, &trace, || {}).unwrap();
        assert!(current(&cache, &trace).is_some());
        let error = kept(&cache, &trace, || {
            let file = File::options().write(true).open(run.join("traces.otf2")).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        });
        let error = error.unwrap_err();
        assert!(error.to_string().contains("changed while it was read"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let error = TileCache::at(scratch.path()).make_folder().unwrap_err();
        assert!(error.to_string().contains("others can enter"), "{error}");
    }
}
