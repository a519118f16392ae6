//! Prepared analyses that can be sent: a set as bytes, and the same set again in another process.
//!
//! ```text
//! set ──describe──► the filter; name, version, configuration of each member ──set──► the same set, in another process
//! ```
//!
//! Law: both sets fold a location to the same partial, byte for byte. An analysis is its configuration, so nothing else
//! is sent; what a second pass needs from the first is part of its configuration. This module handles neither partials,
//! which are sent by [`AnalysisSet::encode`], nor processes.

use crate::analysis::Analysis;
use crate::erased::{DynAnalysis, Prepared};
use ouzel_model::Filter;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The analyses that both sides know.
#[derive(Debug, Default)]
pub struct Catalogue {
    entries: BTreeMap<&'static str, CatalogueEntry>,
}

#[derive(Debug)]
struct CatalogueEntry {
    version: u32,
    write: Write,
    read: Read,
}

/// The configuration as bytes; `None` for an analysis of another type.
type Write = fn(&dyn Any) -> Option<postcard::Result<Vec<u8>>>;
type Read = fn(&[u8]) -> postcard::Result<Arc<dyn DynAnalysis>>;

/// What is selected, and the members of a set in their order: name, version of the partial, configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetDescription {
    filter: Filter,
    members: Vec<(String, u32, Vec<u8>)>,
}

/// Why a set cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// It is not in the catalogue of this side.
    #[error("the analysis {0:?} cannot be sent to another process")]
    Unknown(String),
    /// The other side has another version of it.
    #[error("the analysis {name:?} has version {found} there and {expected} here")]
    Version {
        /// Which analysis.
        name: String,
        /// The version here.
        expected: u32,
        /// The version of the description.
        found: u32,
    },
    /// Its configuration does not encode or decode.
    #[error("the configuration of the analysis {0:?} cannot be sent: {1}")]
    Codec(String, postcard::Error),
}

impl Catalogue {
    /// Adds an analysis.
    ///
    /// # Panics
    /// If there is already one with this name.
    pub fn add<A: Analysis + Serialize + DeserializeOwned>(&mut self) {
        let entry = CatalogueEntry {
            version: A::PARTIAL_VERSION,
            write: |analysis| Some(postcard::to_stdvec(analysis.downcast_ref::<A>()?)),
            read: |bytes| Ok(Arc::new(postcard::from_bytes::<A>(bytes)?)),
        };
        let before = self.entries.insert(A::NAME, entry);
        assert!(before.is_none(), "one analysis is called {:?}", A::NAME);
    }

    /// The names, ascending.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries.keys().copied()
    }

    /// The set as data.
    ///
    /// # Errors
    /// If a member is not in the catalogue.
    pub fn describe(&self, set: &Prepared) -> Result<SetDescription, CatalogueError> {
        let describe = |member: &dyn DynAnalysis| {
            let (name, version) = member.stamp();
            let unknown = || CatalogueError::Unknown(name.to_owned());
            let entry = self.entries.get(name).ok_or_else(unknown)?;
            let bytes = (entry.write)(member.as_any()).ok_or_else(unknown)?;
            let bytes = bytes.map_err(|error| CatalogueError::Codec(name.to_owned(), error))?;
            Ok((name.to_owned(), version, bytes))
        };
        let members = set.members.iter().map(|member| describe(&**member)).collect::<Result<_, _>>()?;
        Ok(SetDescription { filter: set.filter.clone(), members })
    }

    /// The set that was described.
    ///
    /// # Errors
    /// If a member is not in the catalogue, or has another version.
    pub fn set(&self, description: &SetDescription) -> Result<Prepared, CatalogueError> {
        let member = |(name, version, bytes): &(String, u32, Vec<u8>)| {
            let entry = self.entries.get(&**name).ok_or_else(|| CatalogueError::Unknown(name.clone()))?;
            if entry.version != *version {
                let (expected, found) = (entry.version, *version);
                return Err(CatalogueError::Version { name: name.clone(), expected, found });
            }
            (entry.read)(bytes).map_err(|error| CatalogueError::Codec(name.clone(), error))
        };
        let members = description.members.iter().map(member).collect::<Result<Vec<_>, _>>()?;
        Ok(Prepared::elsewhere(description.filter.clone(), members))
    }
}
