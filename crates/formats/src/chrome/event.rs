//! One event object, with its members borrowed from the window.

use super::keys::Keys;
use super::scan::{JsonCursor, JsonValue, Text, TokenStop};

/// The members of an event that mean something here. One thread reads them and another one takes them, so those that
/// every call has come first: what is asked for is in few lines of the cache.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Event<'a> {
    /// The phase; 0 if there is none.
    pub phase: u8,
    pub flow_in: bool,
    pub flow_out: bool,
    /// Whether a flow binds to the slice around it.
    pub binds_around: bool,
    /// Microseconds.
    pub time: JsonValue<'a>,
    /// Microseconds.
    pub duration: JsonValue<'a>,
    pub category: &'a [u8],
    pub pid: JsonValue<'a>,
    pub tid: JsonValue<'a>,
    pub name: Text<'a>,
    pub args: Args<'a>,
    pub id: JsonValue<'a>,
    pub id2: JsonValue<'a>,
    pub scope: JsonValue<'a>,
    pub bind_id: JsonValue<'a>,
    /// Stack frame of a sample.
    pub stack_frame: JsonValue<'a>,
    pub weight: JsonValue<'a>,
}

/// The arguments that mean something here, and all of them as written; those of kernels and copies come first.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Args<'a> {
    pub correlation: &'a [u8],
    pub bytes: &'a [u8],
    pub collective: Text<'a>,
    pub grid: &'a [u8],
    pub block: &'a [u8],
    pub registers: &'a [u8],
    pub shared_memory: &'a [u8],
    pub occupancy: &'a [u8],
    pub stream: &'a [u8],
    pub device: &'a [u8],
    /// With braces; empty if there are none.
    pub raw: &'a [u8],
    /// Number of the others.
    pub n_others: u32,
    pub name: Text<'a>,
    /// What HIP's calls say of a copy, where CUDA's copies say `bytes`.
    pub size: &'a [u8],
    pub n_elements_in: &'a [u8],
    pub n_elements_out: &'a [u8],
    pub element_type: &'a [u8],
    pub group_name: Text<'a>,
    pub group_ranks: JsonValue<'a>,
    pub group_size: &'a [u8],
    pub input_dims: &'a [u8],
    pub input_types: &'a [u8],
}

/// What a key of an event means.
#[derive(Debug, Clone, Copy)]
enum EventKey {
    /// Sets the member that its value gives.
    Value(for<'a> fn(&mut Event<'a>, JsonValue<'a>)),
    Args,
}

/// Sets the argument that the value of a key gives.
type ArgsKey = for<'a> fn(&mut Args<'a>, JsonValue<'a>);

/// The keys of events and of their arguments that were read before.
#[derive(Debug, Default)]
pub(super) struct EventKeys {
    of_events: Keys<EventKey>,
    of_args: Keys<ArgsKey>,
}

/// Reads the object at the position into `event`, which holds nothing yet: it is too large to be handed on.
#[inline]
pub(super) fn read<'a>(
    cursor: &mut JsonCursor<'a>,
    keys: &mut EventKeys,
    event: &mut Event<'a>,
) -> Result<(), TokenStop> {
    cursor.expect(b'{', "an event is an object")?;
    keys.of_events.begin();
    while let Some(key) = keys.of_events.next(cursor, event_key)? {
        match key {
            EventKey::Args if cursor.peek()? == b'{' => args(cursor, &mut keys.of_args, &mut event.args)?,
            EventKey::Args => drop(cursor.value()?),
            EventKey::Value(set) => set(event, cursor.value()?),
        }
    }
    Ok(())
}

fn event_key(key: &[u8]) -> EventKey {
    EventKey::Value(match key {
        b"args" => return EventKey::Args,
        b"ph" => |event, value| event.phase = value.raw().first().copied().unwrap_or(0),
        b"ts" => |event, value| event.time = value,
        b"dur" => |event, value| event.duration = value,
        b"pid" => |event, value| event.pid = value,
        b"tid" => |event, value| event.tid = value,
        b"cat" => |event, value| event.category = value.raw(),
        b"name" => |event, value| event.name = value.text(),
        b"id" => |event, value| event.id = value,
        b"id2" => |event, value| event.id2 = value,
        b"bp" => |event, value| event.binds_around = value.raw() == b"e",
        b"scope" => |event, value| event.scope = value,
        b"bind_id" => |event, value| event.bind_id = value,
        b"flow_in" => |event, value| event.flow_in = value.raw() == b"true",
        b"flow_out" => |event, value| event.flow_out = value.raw() == b"true",
        b"sf" => |event, value| event.stack_frame = value,
        b"weight" => |event, value| event.weight = value,
        _ => |_, _| {},
    })
}

#[inline]
fn args<'a>(
    cursor: &mut JsonCursor<'a>,
    keys: &mut Keys<ArgsKey>,
    args: &mut Args<'a>,
) -> Result<(), TokenStop> {
    let start = cursor.at;
    cursor.at += 1;
    keys.begin();
    while let Some(set) = keys.next(cursor, args_key)? {
        set(args, cursor.value()?);
    }
    args.raw = &cursor.bytes[start..cursor.at];
    Ok(())
}

fn args_key(key: &[u8]) -> ArgsKey {
    match key {
        b"stream" => |args, value| args.stream = value.raw(),
        b"device" => |args, value| args.device = value.raw(),
        b"correlation" => |args, value| args.correlation = value.raw(),
        b"bytes" => |args, value| args.bytes = value.raw(),
        b"size" => |args, value| args.size = value.raw(),
        b"name" => |args, value| args.name = value.text(),
        b"Collective name" => |args, value| args.collective = value.text(),
        b"In msg nelems" => |args, value| args.n_elements_in = value.raw(),
        b"Out msg nelems" => |args, value| args.n_elements_out = value.raw(),
        b"dtype" => |args, value| args.element_type = value.raw(),
        b"Process Group Name" => |args, value| args.group_name = value.text(),
        b"Process Group Ranks" => |args, value| args.group_ranks = value,
        b"Group size" => |args, value| args.group_size = value.raw(),
        b"Input Dims" => |args, value| args.input_dims = value.nested().unwrap_or_default(),
        b"Input type" => |args, value| args.input_types = value.nested().unwrap_or_default(),
        b"grid" => |args, value| args.grid = value.nested().unwrap_or_default(),
        b"block" => |args, value| args.block = value.nested().unwrap_or_default(),
        b"registers per thread" => |args, value| args.registers = value.raw(),
        b"shared memory" => |args, value| args.shared_memory = value.raw(),
        b"est. achieved occupancy %" => |args, value| args.occupancy = value.raw(),
        _ => |args, _| args.n_others += 1,
    }
}
