//! Samples of call paths: V8 profiles (`.cpuprofile`, `ProfileChunk` events) and stack frames of the file.
//!
//! A V8 profile is a tree of nodes, a list of samples that name nodes, and the microseconds between them. Stack
//! frames (`stackFrames`, named by `sf`) may follow the samples that use them: they are resolved at the end.

use super::collect::Collector;
use super::event::Event;
use super::kinds::ActivityClass;
use super::names::{RegionDraft, TextTable};
use super::record::RecordKind;
use super::scan::{JsonValue, Text};
use super::track::TrackKind;
use crate::position::u32_from;
use ouzel_model::{Level, MAX_SAMPLED_DEPTH, NoticeCode};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;

/// A sampled path as it will be defined.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContextDraft {
    pub parent: Option<u32>,
    pub region: u32,
    pub depth: u32,
}

/// Contexts of stack frames are numbered from here on until the end.
pub(super) const FRAME: u32 = 1 << 31;

/// Everything sampled in a file.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub contexts: Vec<ContextDraft>,
    /// Where the source of a region is: file and line.
    pub sources: BTreeMap<u32, (String, Option<u32>)>,
    /// Ids of stack frames that samples name.
    pub frames: TextTable,
    /// Context of each stack frame.
    pub frame_contexts: BTreeMap<u32, u32>,
    profiles: FxHashMap<Vec<u8>, V8Profile>,
}

/// A V8 profile in work.
#[derive(Debug, Default)]
struct V8Profile {
    track: Option<u32>,
    at_ns: i64,
    contexts: FxHashMap<u64, u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CpuProfile {
    nodes: Vec<V8Node>,
    samples: Vec<u64>,
    #[serde(rename = "timeDeltas")]
    deltas_us: Vec<f64>,
    #[serde(rename = "startTime")]
    start_us: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct V8Node {
    id: u64,
    #[serde(default)]
    parent: Option<u64>,
    #[serde(default)]
    children: Vec<u64>,
    #[serde(rename = "callFrame")]
    frame: V8Frame,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct V8Frame {
    function_name: String,
    url: String,
    line_number: Option<i64>,
    column_number: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProfileArgs {
    data: ProfileData,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProfileData {
    #[serde(rename = "startTime")]
    start_us: Option<f64>,
    #[serde(rename = "cpuProfile")]
    profile: Option<CpuProfile>,
    #[serde(rename = "timeDeltas")]
    deltas_us: Vec<f64>,
}

/// An entry of `stackFrames`.
#[derive(Debug, Deserialize)]
struct StackFrame {
    #[serde(default)]
    name: String,
    #[serde(default)]
    parent: Option<serde_json::Value>,
}

impl Samples {
    fn context(&mut self, parent: Option<u32>, region: u32) -> Option<u32> {
        let depth = 1 + parent.map_or(0, |parent| self.contexts[parent as usize].depth);
        if MAX_SAMPLED_DEPTH < depth {
            return parent;
        }
        self.contexts.push(ContextDraft { parent, region, depth });
        Some(u32_from(self.contexts.len() - 1))
    }
}

fn ns(us: f64) -> i64 {
    const FAR: f64 = 4e18;
    #[expect(clippy::cast_possible_truncation, reason = "whole, and less than 2^63; not a number is 0")]
    let ns = (us * 1000.0).round().clamp(-FAR, FAR) as i64;
    ns
}

impl Collector {
    /// An event of phase `P`, or an entry of the file's `samples`.
    pub(super) fn sample(&mut self, event: &Event<'_>, at_ns: i64) -> io::Result<()> {
        if matches!(event.name.raw, b"Profile" | b"ProfileChunk" | b"CpuProfile") {
            return self.profile_event(event, at_ns);
        }
        if event.stack_frame.is_missing() {
            self.note(Level::Low, NoticeCode::NotRepresented, "samples (phase P) without a stack frame");
            return Ok(());
        }
        let track = self.track(event, TrackKind::Samples);
        let frame = self.samples.frames.id(Text::plain(event.stack_frame.raw()));
        self.push(track, at_ns, 0, RecordKind::Sample, FRAME | frame, 0)
    }

    fn profile_event(&mut self, event: &Event<'_>, at_ns: i64) -> io::Result<()> {
        let args: ProfileArgs = match serde_json::from_slice(event.args.raw) {
            Ok(args) => args,
            Err(error) => {
                let what = format!("part of a CPU profile cannot be read: {error}");
                self.note(Level::High, NoticeCode::DamagedEvents, what);
                return Ok(());
            }
        };
        let id = [event.pid.raw(), b"\0", event.id.raw()].concat();
        let mut profile = self.samples.profiles.remove(&id).unwrap_or_default();
        if profile.track.is_none() {
            profile.track = Some(self.track(event, TrackKind::Samples));
            profile.at_ns = args.data.start_us.map_or(at_ns, ns);
        }
        let outcome = match args.data.profile {
            Some(mut chunk) => {
                if !args.data.deltas_us.is_empty() {
                    chunk.deltas_us = args.data.deltas_us;
                }
                if let Some(start_us) = chunk.start_us {
                    profile.at_ns = ns(start_us);
                }
                self.add_profile(&mut profile, &chunk)
            }
            None => Ok(()),
        };
        self.samples.profiles.insert(id, profile);
        outcome
    }

    /// A whole `.cpuprofile`, as its members were read.
    pub(super) fn cpu_profile(&mut self, text: &[u8]) -> io::Result<()> {
        match serde_json::from_slice::<CpuProfile>(text) {
            Ok(whole) => {
                let main =
                    Event { pid: JsonValue::bare(b"1"), tid: JsonValue::bare(b"1"), ..Event::default() };
                let track = self.track(&main, TrackKind::Samples);
                let at_ns = whole.start_us.map_or(0, ns);
                let mut profile = V8Profile { track: Some(track), at_ns, contexts: FxHashMap::default() };
                self.add_profile(&mut profile, &whole)
            }
            Err(error) => {
                let what = format!("the CPU profile cannot be read: {error}");
                self.note(Level::High, NoticeCode::DamagedEvents, what);
                Ok(())
            }
        }
    }

    fn add_profile(&mut self, profile: &mut V8Profile, chunk: &CpuProfile) -> io::Result<()> {
        let mut parents: FxHashMap<u64, u64> = FxHashMap::default();
        for node in &chunk.nodes {
            node.children.iter().for_each(|&child| {
                parents.insert(child, node.id);
            });
        }
        let by_id: FxHashMap<u64, &V8Node> = chunk.nodes.iter().map(|node| (node.id, node)).collect();
        for node in &chunk.nodes {
            self.add_node(profile, node, &by_id, &parents);
        }
        let Some(track) = profile.track else { return Ok(()) };
        if chunk.samples.len() != chunk.deltas_us.len() {
            let what = "a CPU profile has different numbers of times and samples; samples without a time were left out";
            self.note(Level::Medium, NoticeCode::DamagedEvents, what);
        }
        for (node, &delta_us) in chunk.samples.iter().zip(&chunk.deltas_us) {
            profile.at_ns = profile.at_ns.saturating_add(ns(delta_us)).clamp(-(1 << 61), 1 << 61);
            match profile.contexts.get(node) {
                Some(&context) => self.push(track, profile.at_ns, 0, RecordKind::Sample, context, 0)?,
                None => {
                    let what = "samples that name an undefined node were left out";
                    self.note(Level::High, NoticeCode::UndefinedReference, what);
                }
            }
        }
        Ok(())
    }

    /// Adds a node after its parents, which may be anywhere in the list.
    fn add_node(
        &mut self,
        profile: &mut V8Profile,
        node: &V8Node,
        by_id: &FxHashMap<u64, &V8Node>,
        parents: &FxHashMap<u64, u64>,
    ) {
        let mut chain = Vec::new();
        let mut at = Some(node.id);
        // A chain that is longer than a path may be is a cycle, or is cut anyway.
        while let Some(id) = at
            && !profile.contexts.contains_key(&id)
            && chain.len() <= MAX_SAMPLED_DEPTH as usize
        {
            let Some(node) = by_id.get(&id) else { break };
            chain.push(*node);
            at = node.parent.or_else(|| parents.get(&id).copied()).filter(|&parent| parent != id);
        }
        let mut parent = at.and_then(|id| profile.contexts.get(&id).copied());
        for node in chain.into_iter().rev() {
            let region = self.frame_region(&node.frame);
            parent = self.samples.context(parent, region);
            if let Some(context) = parent {
                profile.contexts.insert(node.id, context);
            }
        }
    }

    fn frame_region(&mut self, frame: &V8Frame) -> u32 {
        let V8Frame { function_name, url, line_number, column_number } = frame;
        let line = line_number.and_then(|line| u32::try_from(line + 1).ok()).filter(|&line| 0 < line);
        let key = format!("{function_name}\0{url}\0{line:?}\0{column_number:?}");
        let name = if function_name.is_empty() { "(anonymous)" } else { function_name };
        let draft = |_| RegionDraft { name: name.to_owned(), class: ActivityClass::Code, op: None };
        let id = self.regions.id(ActivityClass::Code, Text::plain(key.as_bytes()), draft);
        if !url.is_empty() {
            self.samples.sources.entry(id).or_insert_with(|| (url.clone(), line));
        }
        id
    }

    /// The file's `stackFrames`.
    pub(super) fn stack_frames(&mut self, text: &[u8]) {
        let frames: BTreeMap<String, StackFrame> = match serde_json::from_slice(text) {
            Ok(frames) => frames,
            Err(error) => {
                let what = format!("the stack frames cannot be read: {error}");
                return self.note(Level::High, NoticeCode::DamagedDefinitions, what);
            }
        };
        let mut contexts: BTreeMap<&str, u32> = BTreeMap::new();
        let parent_of = |frame: &StackFrame| match &frame.parent {
            Some(serde_json::Value::String(id)) => Some(id.clone()),
            Some(serde_json::Value::Number(id)) => Some(id.to_string()),
            _ => None,
        };
        for (id, frame) in &frames {
            let mut chain = vec![(id.as_str(), frame)];
            let mut at = parent_of(frame);
            while let Some((id, frame)) = at.as_ref().and_then(|id| frames.get_key_value(id))
                && !contexts.contains_key(id.as_str())
                && chain.len() <= MAX_SAMPLED_DEPTH as usize
            {
                chain.push((id, frame));
                at = parent_of(frame);
            }
            let mut parent = at.and_then(|id| contexts.get(id.as_str()).copied());
            for (id, frame) in chain.into_iter().rev() {
                if let Some(&known) = contexts.get(id) {
                    parent = Some(known);
                    continue;
                }
                let text = Text::plain(frame.name.as_bytes());
                let draft = |name| RegionDraft { name, class: ActivityClass::Code, op: None };
                let region = self.regions.id(ActivityClass::Code, text, draft);
                parent = self.samples.context(parent, region);
                if let Some(context) = parent {
                    contexts.insert(id, context);
                }
            }
        }
        for (id, context) in contexts {
            let frame = self.samples.frames.id(Text::plain(id.as_bytes()));
            self.samples.frame_contexts.insert(frame, context);
        }
    }
}
