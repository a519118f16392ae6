//! `profile.db`: the values of each thread and stream, and of all together.
//!
//! Values are sparse: for each context of a profile that has any, a run of pairs of metric
//! id and number. Law: profile 0 is the summary over all others.

use crate::bytes::Bytes;
use crate::header::{FileHeader, FileKind, Version, check_footer};
use crate::source::Source;
use crate::{Damage, ReadError};
use std::io::{Read, Seek};
use std::sync::Arc;

/// Smallest size of a profile's header; the text of the format says 40, every file has 48.
const PROFILE_BYTES: u64 = 40;
/// Bytes of a value and of an entry of the index.
const VALUE_BYTES: u64 = 10;
const INDEX_BYTES: u64 = 12;
/// Bytes of a part of an identifier tuple.
const PART_BYTES: u64 = 16;
/// Parts of the longest identifier tuple that is read; there are eight kinds of parts, and each occurs once.
const MAX_PARTS: u64 = 32;

/// What `profile.db` says before the values.
#[derive(Debug, Clone)]
pub struct ProfileDb {
    /// Version of the file.
    pub version: Version,
    /// The profiles; the first is the summary.
    pub profiles: Vec<Profile>,
    /// What was lost.
    pub damages: Vec<Damage>,
}

/// The values of one thread or stream, or of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// Whose they are, outermost first: node, rank, thread. Empty for the summary.
    pub id: Vec<IdPart>,
    /// Whether it is a summary over the others.
    pub is_summary: bool,
    n_values: u64,
    values: u64,
    n_contexts: u64,
    contexts: u64,
}

impl Profile {
    /// Number of values.
    pub fn n_values(&self) -> u64 {
        self.n_values
    }

    /// Number of contexts that have values.
    pub fn n_contexts(&self) -> u64 {
        self.n_contexts
    }
}

/// One part of an identifier tuple, e.g. `RANK 3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdPart {
    /// Index into [`Meta::kinds`](crate::Meta::kinds).
    pub kind: u8,
    /// Whether the physical number is a real one (a host id), to be shown as it is.
    pub is_physical: bool,
    /// Number within the parts before, dense from 0.
    pub logical: u32,
    /// Number that the system gave.
    pub physical: u64,
}

/// One value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileValue {
    /// Number of the context; 0 for the root of everything.
    pub context: u32,
    /// The id of metric and scope, see [`Metric::values`](crate::Metric::values).
    pub metric: u16,
    /// The value.
    pub value: f64,
}

impl ProfileDb {
    /// Reads the headers of all profiles.
    ///
    /// # Errors
    /// If it is not a `profile.db`, is of another major version, or the table of profiles cannot be read.
    pub fn read<R: Read + Seek>(file: &Arc<str>, from: R) -> Result<ProfileDb, ReadError> {
        let mut source = Source::new(Arc::clone(file), from)?;
        let beginning = source.beginning(FileKind::Profile.header_bytes())?;
        let header = FileHeader::read(source.view(0, &beginning), FileKind::Profile)?;
        let ending = source.ending()?;
        let mut damages = Vec::new();
        damages.extend(check_footer(file, FileKind::Profile, source.n_bytes, &ending));
        let (at, what) = (header.sections[0].offset, "profiles");
        let mut bytes = Vec::new();
        source.read(at, 0xd, what, &mut bytes)?;
        let head = source.view(at, &bytes);
        let (table, n) = (head.u64(at, what)?, u64::from(head.u32(at + 8, what)?));
        let stride = u64::from(head.u8(at + 0xc, what)?);
        if 0 < n && stride < PROFILE_BYTES {
            let reason = format!("profiles have {stride} bytes, but need at least {PROFILE_BYTES}");
            return Err(source.broken(at, reason));
        }
        source.read(table, n * stride, what, &mut bytes)?;
        let mut tuples = Vec::new();
        let ids = header.sections[1];
        if let Err(error) = source.read(ids.offset, ids.n_bytes, "identifier tuples", &mut tuples) {
            damages.push(Damage {
                file: error.file,
                offset: error.offset,
                reason: error.kind.to_string(),
                count: 1,
            });
            tuples.clear();
        }
        let rows = source.view(table, &bytes);
        let tuples = source.view(ids.offset, &tuples);
        let mut profiles = Vec::new();
        for at in rows.array_of(table, n, stride, what)? {
            profiles.push(profile(rows, at, tuples, &mut damages)?);
        }
        Ok(ProfileDb { version: header.version, profiles, damages })
    }

    /// The values of one profile in the order of the file, contexts ascending.
    ///
    /// # Errors
    /// If they lie outside of the file or contradict their index.
    pub fn values<R: Read + Seek>(
        file: &Arc<str>,
        from: R,
        profile: &Profile,
    ) -> Result<Vec<ProfileValue>, ReadError> {
        let mut source = Source::new(Arc::clone(file), from)?;
        let (mut index, mut values) = (Vec::new(), Vec::new());
        let index_bytes = profile.n_contexts.saturating_mul(INDEX_BYTES);
        source.read(profile.contexts, index_bytes, "index of a profile", &mut index)?;
        let value_bytes = profile.n_values.saturating_mul(VALUE_BYTES);
        source.read(profile.values, value_bytes, "values of a profile", &mut values)?;
        let index = source.view(profile.contexts, &index);
        let values = source.view(profile.values, &values);
        let what = "value";
        let mut found = Vec::new();
        let entry = |i: u64| {
            let at = profile.contexts + i * INDEX_BYTES;
            Ok((index.u32(at, what)?, index.u64(at + 4, what)?))
        };
        for i in 0..profile.n_contexts {
            let (context, start): (u32, u64) = entry(i)?;
            let end = if i + 1 < profile.n_contexts { entry(i + 1)?.1 } else { profile.n_values };
            if end < start || profile.n_values < end {
                let at = profile.contexts + i * INDEX_BYTES;
                return Err(source.broken(at, format!("values {start} to {end} of {}", profile.n_values)));
            }
            for k in start..end {
                let at = profile.values + k * VALUE_BYTES;
                let value = f64::from_bits(values.u64(at + 2, what)?);
                found.push(ProfileValue { context, metric: values.u16(at, what)?, value });
            }
        }
        Ok(found)
    }
}

fn profile(
    rows: Bytes<'_>,
    at: u64,
    tuples: Bytes<'_>,
    damages: &mut Vec<Damage>,
) -> Result<Profile, ReadError> {
    let what = "profile";
    let tuple = rows.u64(at + 0x20, what)?;
    let id = if tuple == 0 { Ok(Vec::new()) } else { id(tuples, tuple) };
    let id = id.unwrap_or_else(|error| {
        let ReadError { file, offset, kind } = error;
        damages.push(Damage { file, offset, reason: kind.to_string(), count: 1 });
        Vec::new()
    });
    Ok(Profile {
        id,
        is_summary: tuple == 0 || rows.u32(at + 0x28, what).is_ok_and(|flags| flags & 1 == 1),
        n_values: rows.u64(at, what)?,
        values: rows.u64(at + 8, what)?,
        n_contexts: u64::from(rows.u32(at + 0x10, what)?),
        contexts: rows.u64(at + 0x18, what)?,
    })
}

fn id(tuples: Bytes<'_>, at: u64) -> Result<Vec<IdPart>, ReadError> {
    let what = "identifier tuple";
    let n = u64::from(tuples.u16(at, what)?);
    if MAX_PARTS < n {
        return Err(tuples.broken(at, format!("an identifier tuple of {n} parts")));
    }
    let part = |at| {
        Ok(IdPart {
            kind: tuples.u8(at, what)?,
            is_physical: tuples.u16(at + 2, what)? & 1 == 1,
            logical: tuples.u32(at + 4, what)?,
            physical: tuples.u64(at + 8, what)?,
        })
    };
    tuples.array_of(at.saturating_add(8), n, PART_BYTES, what)?.map(part).collect()
}
