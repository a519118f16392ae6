//! The interactive viewer: a server on loopback that shows runs in a browser.
//!
//! ```text
//! browser ──GET api/tile──► tiles, made by one pass of `ouzel-tiles`
//!         ──POST api/ask──► Answers: the commands of the command line, with the page's selection
//! ```
//!
//! `docs/design/view.md` has what server and page say to each other. Law: numbers in the page are the engine's, and a
//! question gets the JSON document that the command line writes. This crate computes no results.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod assets;
mod cache;
mod early;
mod exact;
mod file;
mod file_times;
mod fine;
mod inner;
mod kept;
mod messages;
mod meta;
mod news;
mod priority;
mod private;
mod query;
mod routes;
mod run;
mod server;
mod store;

pub use cache::TileCache;
pub use file::{FileError, ViewFile, view_file};
pub use inner::InnerTimeline;
pub use run::{Answers, Ask, AskedPart, Refusal, Run};
pub use server::{Listen, Settings};

use std::io;
use std::sync::Arc;

/// Why nothing is shown.
#[derive(Debug)]
pub enum ServeError<E> {
    /// The runs cannot be opened.
    Open(E),
    /// The server cannot listen, or the folder of the cache is not the user's alone.
    Serve(io::Error),
}

impl<E> From<io::Error> for ServeError<E> {
    fn from(error: io::Error) -> Self {
        ServeError::Serve(error)
    }
}

/// Shows the runs that `open` opens, until nobody has asked anything for the time that the settings say. `tell` gets
/// lines for the user: the address, and how to reach it from another machine. A browser may load the page while the runs
/// are opened.
///
/// # Errors
/// If runs cannot be opened, the server cannot listen, or the folder of the cache is not the user's alone.
pub fn serve<E: Send>(
    open: impl FnOnce() -> Result<(Vec<Run>, Arc<dyn Answers>), E> + Send,
    settings: &Settings,
    tell: impl FnOnce(&[String]),
) -> Result<(), ServeError<E>> {
    settings.cache.iter().try_for_each(TileCache::make_folder)?;
    let routes = || {
        let (runs, answers) = open().map_err(ServeError::Open)?;
        let routes = routes::Routes::new(runs, answers);
        routes.begin_passes(settings.cache.clone())?;
        Ok(routes)
    };
    server::serve(routes, settings, tell)
}
