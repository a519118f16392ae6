//! Every record of an OTF2 archive as a line: the decoder's own debugging tool.
//!
//! ```text
//! files ──RecordReader──► definitions ─┐
//!       ──EventReader──► selected events ─► Line (text or JSON) ──► page ──► out
//! ```
//!
//! Lines come location by location, or merged by time; either way memory is constant per location.
//! Law: the values are those of the file after id mapping and clock correction, or as they are with
//! [`PrintOptions::raw`]; a damaged location is printed up to the damage, which then is a notice.
//! This module bypasses the event model, which leaves out what no analysis needs.

mod definitions;
mod events;
mod json;
mod layout;
mod line;
mod names;
#[cfg(test)]
mod tests;
mod text;

pub use layout::Layout;

use super::{Otf2Source, notices};
use definitions::DefinitionFile;
use events::{Common, LocationEvents};
use layout::{Section, Widths};
use names::PrintNames;
use ouzel_model::{Filter, LocationId, Notice, Selection, Ticks};
use ouzel_otf2::{Definitions, ReadError, ReadErrorKind};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};
use std::path::Path;

/// What to print and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintOptions {
    /// How lines look.
    pub layout: Layout,
    /// Print the global definitions.
    pub definitions: bool,
    /// Print the local definitions of the selected locations: id mapping and clock offsets.
    pub local_definitions: bool,
    /// Print the markers.
    pub markers: bool,
    /// Print the events.
    pub events: bool,
    /// Which events. Of ranks: those of their locations. Of a time range: those whose corrected time lies in it.
    /// Of regions: their enters and leaves, and whatever is recorded while such a region is the innermost open one.
    pub filter: Filter,
    /// Only locations with these ids of the archive; empty is all.
    pub locations: Vec<u64>,
    /// Merge the locations by time, equal times by location; else one location follows the other.
    pub merged: bool,
    /// Print times and ids of events as the file has them, without names.
    pub raw: bool,
    /// Print for each record where it is: file offset and number.
    pub offsets: bool,
}

impl Default for PrintOptions {
    /// All events in global ids and times, location by location, as text.
    fn default() -> Self {
        PrintOptions {
            layout: Layout::Text,
            definitions: false,
            local_definitions: false,
            markers: false,
            events: true,
            filter: Filter::default(),
            locations: Vec::new(),
            merged: false,
            raw: false,
            offsets: false,
        }
    }
}

/// Prints the records of one archive.
///
/// ```no_run
/// use ouzel_formats::otf2::print::{PrintOptions, Printer};
/// let options = PrintOptions { offsets: true, ..PrintOptions::default() };
/// let printer = Printer::open("traces.otf2".as_ref(), options)?;
/// for notice in printer.print(&mut std::io::stdout())? {
///     eprintln!("{notice}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Printer {
    source: Otf2Source,
    records: Definitions,
    options: PrintOptions,
}

impl Printer {
    /// Opens an archive: a directory, an anchor of any name, or the stem of one.
    ///
    /// # Errors
    /// If there is no archive, or one that cannot be read at all.
    pub fn open(path: &Path, options: PrintOptions) -> Result<Self, ReadError> {
        let source = Otf2Source::open(path)?;
        // The source has already reported damage in the definitions.
        let (records, _) = source.archive.read_global_definitions();
        Ok(Printer { source, records, options })
    }

    /// Writes one line for each record and gives back what was lost or is doubtful.
    ///
    /// # Errors
    /// If `out` cannot be written. Damage in the archive is a notice.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<Vec<Notice>> {
        let mut page = Page { out, lines: String::with_capacity(PAGE_BYTES + PAGE_BYTES / 4) };
        let mut names = PrintNames::new(&self.records);
        let gathered = ouzel_model::Notices::default();
        gathered.extend(self.source.notices.iter().cloned());
        let selection = self.options.filter.resolve(&self.source.definitions);
        gathered.extend(selection.unmatched.iter().cloned());
        let mut notices = Vec::new();
        let locations = self.locations(&selection);
        if self.options.definitions {
            self.print_definitions(&mut names, &mut page)?;
        }
        if self.options.local_definitions {
            self.print_local_definitions(&locations, &mut names, &mut page, &mut notices)?;
        }
        if self.options.markers {
            self.print_markers(&mut names, &mut page, &mut notices)?;
        }
        if self.options.events {
            names.ids_are_global(!self.options.raw);
            let common = self.common(&locations, &selection);
            if self.options.layout == Layout::Text {
                text::put_titles(&mut page.lines, self.options.offsets, !self.options.raw, common.widths);
            }
            if self.options.merged {
                print_merged(&common, &locations, &mut names, &mut page, &mut notices)?;
            } else {
                print_in_order(&common, &locations, &mut names, &mut page, &mut notices)?;
            }
        }
        page.flush()?;
        gathered.extend(notices);
        Ok(gathered.to_vec())
    }

    /// The selected locations, ascending by their ids in the archive.
    fn locations(&self, selection: &Selection) -> Vec<LocationId> {
        let locations = &self.options.locations;
        let native = |id: LocationId| self.source.definitions.location(id).native_id;
        let mut selected = selection.locations.clone();
        selected.retain(|&id| locations.is_empty() || locations.contains(&native(id)));
        selected.sort_by_key(|&id| native(id));
        selected
    }

    fn common(&self, locations: &[LocationId], selection: &Selection) -> Common<'_> {
        let definitions = &self.source.definitions;
        let clock = definitions.clock;
        let ticks = |Ticks(ticks)| clock.offset_ticks.saturating_add(ticks);
        let range = selection.window.map(|window| ticks(window.start)..ticks(window.end));
        let regions = selection.regions.clone();
        let widths = self.widths(locations);
        Common { source: &self.source, options: &self.options, clock, range, regions, widths }
    }

    fn widths(&self, locations: &[LocationId]) -> Widths {
        let definitions = &self.source.definitions;
        let clock = definitions.clock;
        let digits = |number: u64| number.checked_ilog10().unwrap_or(0) as usize + 1;
        let location = locations.iter().map(|&id| digits(definitions.location(id).native_id)).max();
        let last = clock.declared_length.map_or(0, |length| clock.offset_ticks.saturating_add(length.0));
        Widths { location: location.unwrap_or(0).max("location".len()), ticks: digits(last).max(12) }
    }

    fn print_definitions(&self, names: &mut PrintNames<'_>, page: &mut Page<'_>) -> io::Result<()> {
        let archive = &self.source.archive;
        let Ok((name, bytes)) = archive.global_definition_bytes() else { return Ok(()) };
        let file = DefinitionFile {
            name: &name,
            bytes: &bytes,
            chunk_bytes: archive.anchor().definition_chunk_size(),
            section: Section::Definitions,
            location: None,
            widths: self.widths(&[]),
        };
        // Damage was reported when the archive was opened.
        definitions::print(&file, &self.options, names, page).map(drop)
    }

    fn print_local_definitions(
        &self,
        locations: &[LocationId],
        names: &mut PrintNames<'_>,
        page: &mut Page<'_>,
        notices: &mut Vec<Notice>,
    ) -> io::Result<()> {
        let archive = &self.source.archive;
        for &id in locations {
            let native_id = self.source.definitions.location(id).native_id;
            if !self.options.events {
                let (_, found) = archive.read_local_definitions(native_id);
                notices.extend(found.iter().map(|notice| notices::of_archive(notice).on(id)));
            }
            let Ok((name, bytes)) = archive.local_definition_bytes(native_id) else { continue };
            let file = DefinitionFile {
                name: &name,
                bytes: &bytes,
                chunk_bytes: archive.anchor().definition_chunk_size(),
                section: Section::LocalDefinitions,
                location: Some(native_id),
                widths: self.widths(locations),
            };
            // Damage is reported with the events, or was just above.
            definitions::print(&file, &self.options, names, page)?.ok();
        }
        Ok(())
    }

    fn print_markers(
        &self,
        names: &mut PrintNames<'_>,
        page: &mut Page<'_>,
        notices: &mut Vec<Notice>,
    ) -> io::Result<()> {
        let archive = &self.source.archive;
        let path = archive.directory().join(format!("{}.marker", archive.name()));
        let bytes = match ouzel_files::input::read_limited(&path, MARKER_BYTES_MAX) {
            Ok(bytes) => bytes,
            // Most archives have no markers and no such file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                let error = ReadError::of_file(&path.display().to_string(), ReadErrorKind::Io(error));
                notices.push(notices::of_archive(&ouzel_otf2::Notice::damaged(&error, 0)));
                return Ok(());
            }
        };
        let file = DefinitionFile {
            name: &path.display().to_string(),
            bytes: &bytes,
            chunk_bytes: archive.anchor().definition_chunk_size(),
            section: Section::Markers,
            location: None,
            widths: self.widths(&[]),
        };
        if let Err(error) = definitions::print(&file, &self.options, names, page)? {
            let n_kept = error.record.saturating_sub(1);
            notices.push(notices::of_archive(&ouzel_otf2::Notice::damaged(&error, n_kept)));
        }
        Ok(())
    }
}

fn print_in_order(
    common: &Common<'_>,
    locations: &[LocationId],
    names: &mut PrintNames<'_>,
    page: &mut Page<'_>,
    notices: &mut Vec<Notice>,
) -> io::Result<()> {
    for &location in locations {
        let Some(mut events) = LocationEvents::open(common, location, notices) else { continue };
        while events.next(names, &mut page.lines).is_some() {
            page.flush_if_full()?;
        }
        events.finish(notices);
    }
    Ok(())
}

/// Each location holds its next line; the earliest goes out first.
fn print_merged(
    common: &Common<'_>,
    locations: &[LocationId],
    names: &mut PrintNames<'_>,
    page: &mut Page<'_>,
    notices: &mut Vec<Notice>,
) -> io::Result<()> {
    let mut waiting: Vec<(LocationEvents<'_>, String)> = locations
        .iter()
        .filter_map(|&location| Some((LocationEvents::open(common, location, notices)?, String::new())))
        .collect();
    let mut heads = BinaryHeap::with_capacity(waiting.len());
    for (at, (events, line)) in waiting.iter_mut().enumerate() {
        heads.extend(events.next(names, line).map(|time| Reverse((time, at))));
    }
    while let Some(Reverse((_, at))) = heads.pop() {
        let Some((events, line)) = waiting.get_mut(at) else { continue };
        page.lines.push_str(line);
        page.flush_if_full()?;
        line.clear();
        heads.extend(events.next(names, line).map(|time| Reverse((time, at))));
    }
    for (events, _) in waiting {
        events.finish(notices);
    }
    Ok(())
}

/// Lines that are written together.
struct Page<'o> {
    out: &'o mut dyn Write,
    lines: String,
}

const PAGE_BYTES: usize = 32 * 1024;

/// Markers are set by hand; a file of them is read as a whole.
const MARKER_BYTES_MAX: u64 = 1 << 30;

impl Page<'_> {
    fn flush_if_full(&mut self) -> io::Result<()> {
        if PAGE_BYTES <= self.lines.len() { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(self.lines.as_bytes())?;
        self.lines.clear();
        Ok(())
    }
}
