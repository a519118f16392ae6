//! One event object, with its members borrowed from the window.

use super::scan::{JsonCursor, JsonValue, Text, TokenStop};

/// The members of an event that mean something here.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Event<'a> {
    /// The phase; 0 if there is none.
    pub phase: u8,
    pub name: Text<'a>,
    pub category: &'a [u8],
    pub pid: JsonValue<'a>,
    pub tid: JsonValue<'a>,
    /// Microseconds.
    pub time: JsonValue<'a>,
    /// Microseconds.
    pub duration: JsonValue<'a>,
    pub id: JsonValue<'a>,
    pub id2: JsonValue<'a>,
    pub scope: JsonValue<'a>,
    /// Whether a flow binds to the slice around it.
    pub binds_around: bool,
    pub bind_id: JsonValue<'a>,
    pub flow_in: bool,
    pub flow_out: bool,
    /// Stack frame of a sample.
    pub stack_frame: JsonValue<'a>,
    pub weight: JsonValue<'a>,
    pub args: Args<'a>,
}

/// The arguments that mean something here, and all of them as written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Args<'a> {
    /// With braces; empty if there are none.
    pub raw: &'a [u8],
    pub name: Text<'a>,
    pub stream: &'a [u8],
    pub device: &'a [u8],
    pub correlation: &'a [u8],
    pub bytes: &'a [u8],
    /// What HIP's calls say of a copy, where CUDA's copies say `bytes`.
    pub size: &'a [u8],
    pub collective: Text<'a>,
    pub n_elements_in: &'a [u8],
    pub n_elements_out: &'a [u8],
    pub element_type: &'a [u8],
    pub group_name: Text<'a>,
    pub group_ranks: JsonValue<'a>,
    pub group_size: &'a [u8],
    pub input_dims: &'a [u8],
    pub input_types: &'a [u8],
    pub grid: &'a [u8],
    pub block: &'a [u8],
    pub registers: &'a [u8],
    pub shared_memory: &'a [u8],
    pub occupancy: &'a [u8],
    /// Number of the others.
    pub n_others: u32,
}

/// Reads the object at the position into `event`, which holds nothing yet: it is too large to be handed on.
#[inline]
pub(super) fn read<'a>(cursor: &mut JsonCursor<'a>, event: &mut Event<'a>) -> Result<(), TokenStop> {
    cursor.expect(b'{', "an event is an object")?;
    while let Some(key) = cursor.key()? {
        if key.raw == b"args" && cursor.peek()? == b'{' {
            args(cursor, &mut event.args)?;
            continue;
        }
        let value = cursor.value()?;
        match key.raw {
            b"ph" => event.phase = value.raw().first().copied().unwrap_or(0),
            b"ts" => event.time = value,
            b"dur" => event.duration = value,
            b"pid" => event.pid = value,
            b"tid" => event.tid = value,
            b"cat" => event.category = value.raw(),
            b"name" => event.name = value.text(),
            b"id" => event.id = value,
            b"id2" => event.id2 = value,
            b"bp" => event.binds_around = value.raw() == b"e",
            b"scope" => event.scope = value,
            b"bind_id" => event.bind_id = value,
            b"flow_in" => event.flow_in = value.raw() == b"true",
            b"flow_out" => event.flow_out = value.raw() == b"true",
            b"sf" => event.stack_frame = value,
            b"weight" => event.weight = value,
            _ => {}
        }
    }
    Ok(())
}

#[inline]
fn args<'a>(cursor: &mut JsonCursor<'a>, args: &mut Args<'a>) -> Result<(), TokenStop> {
    let start = cursor.at;
    cursor.at += 1;
    while let Some(key) = cursor.key()? {
        let value = cursor.value()?;
        match key.raw {
            b"stream" => args.stream = value.raw(),
            b"device" => args.device = value.raw(),
            b"correlation" => args.correlation = value.raw(),
            b"bytes" => args.bytes = value.raw(),
            b"size" => args.size = value.raw(),
            b"name" => args.name = value.text(),
            b"Collective name" => args.collective = value.text(),
            b"In msg nelems" => args.n_elements_in = value.raw(),
            b"Out msg nelems" => args.n_elements_out = value.raw(),
            b"dtype" => args.element_type = value.raw(),
            b"Process Group Name" => args.group_name = value.text(),
            b"Process Group Ranks" => args.group_ranks = value,
            b"Group size" => args.group_size = value.raw(),
            b"Input Dims" => args.input_dims = value.nested().unwrap_or_default(),
            b"Input type" => args.input_types = value.nested().unwrap_or_default(),
            b"grid" => args.grid = value.nested().unwrap_or_default(),
            b"block" => args.block = value.nested().unwrap_or_default(),
            b"registers per thread" => args.registers = value.raw(),
            b"shared memory" => args.shared_memory = value.raw(),
            b"est. achieved occupancy %" => args.occupancy = value.raw(),
            _ => args.n_others += 1,
        }
    }
    args.raw = &cursor.bytes[start..cursor.at];
    Ok(())
}
