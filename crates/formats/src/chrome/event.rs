//! One event object, with its members borrowed from the window.
//!
//! ```text
//! object ──read──► places of the values that mean something ──get──► event
//! ```
//! One thread reads objects and another one takes the events, which are long and mostly empty: what goes from the cache of
//! one to that of the other are the places.

use super::keys::Keys;
use super::scan::{JsonCursor, JsonValue, Text, TokenStop, ValuePlace};

/// The members of an event that mean something here.
#[derive(Debug, Clone, Copy, Default)]
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

/// The arguments that mean something here, and all of them as written.
#[derive(Debug, Clone, Copy, Default)]
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

/// Sets what the value of a member says.
type Setter = for<'a> fn(&mut Event<'a>, JsonValue<'a>);

/// What a key of an event means.
#[derive(Debug, Clone, Copy)]
enum EventKey {
    Member(Setter),
    Args,
    Other,
}

/// A member that was read, and where its value is.
#[derive(Debug, Clone, Copy)]
struct ReadMember {
    set: Setter,
    value: ValuePlace,
}

/// Reads events of a text, and holds them until they are taken. What it knows of keys and its memory are of use for other
/// texts.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    keys: Keys<EventKey>,
    /// `None` for arguments that mean nothing here.
    keys_of_args: Keys<Option<Setter>>,
    members: Vec<ReadMember>,
    /// Of each event the place that it was given, and its first member.
    begins: Vec<(usize, usize)>,
}

impl EventReader {
    /// Forgets all events.
    pub fn clear(&mut self) {
        self.members.clear();
        self.begins.clear();
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.begins.len()
    }

    /// Reads the object at the position of `cursor`; `place` is what [`get`](EventReader::get) gives with it.
    ///
    /// # Errors
    /// If it is cut or no event; nothing is added then.
    #[inline]
    pub fn read(&mut self, cursor: &mut JsonCursor<'_>, place: usize) -> Result<(), TokenStop> {
        let first = self.members.len();
        match self.object(cursor) {
            Ok(()) => {
                self.begins.push((place, first));
                Ok(())
            }
            Err(stop) => {
                self.members.truncate(first);
                Err(stop)
            }
        }
    }

    #[inline]
    fn object(&mut self, cursor: &mut JsonCursor<'_>) -> Result<(), TokenStop> {
        cursor.expect(b'{', "an event is an object")?;
        self.keys.begin();
        while let Some(key) = self.keys.next(cursor, event_key)? {
            match key {
                EventKey::Args if cursor.peek()? == b'{' => self.args(cursor)?,
                EventKey::Args | EventKey::Other => drop(cursor.value()?),
                EventKey::Member(set) => {
                    let value = cursor.value()?.place(cursor.bytes);
                    self.members.push(ReadMember { set, value });
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn args(&mut self, cursor: &mut JsonCursor<'_>) -> Result<(), TokenStop> {
        let start = cursor.at;
        cursor.at += 1;
        self.keys_of_args.begin();
        while let Some(key) = self.keys_of_args.next(cursor, args_key)? {
            let value = cursor.value()?;
            self.members.extend(key.map(|set| ReadMember { set, value: value.place(cursor.bytes) }));
        }
        let value = JsonValue::nested_as(&cursor.bytes[start..cursor.at]).place(cursor.bytes);
        let set: Setter = |event, value| event.args.raw = value.nested().unwrap_or_default();
        self.members.push(ReadMember { set, value });
        Ok(())
    }

    /// An event of the text and its place; `event` holds nothing yet: it is too large to be handed on.
    #[inline]
    pub fn get<'a>(&self, nth: usize, text: &'a [u8], event: &mut Event<'a>) -> usize {
        let (place, first) = self.begins[nth];
        let end = self.begins.get(nth + 1).map_or(self.members.len(), |next| next.1);
        self.members[first..end].iter().for_each(|it| (it.set)(event, it.value.of(text)));
        place
    }
}

fn event_key(key: &[u8]) -> EventKey {
    EventKey::Member(match key {
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
        _ => return EventKey::Other,
    })
}

fn args_key(key: &[u8]) -> Option<Setter> {
    Some(match key {
        b"stream" => |event, value| event.args.stream = value.raw(),
        b"device" => |event, value| event.args.device = value.raw(),
        b"correlation" => |event, value| event.args.correlation = value.raw(),
        b"bytes" => |event, value| event.args.bytes = value.raw(),
        b"size" => |event, value| event.args.size = value.raw(),
        b"name" => |event, value| event.args.name = value.text(),
        b"Collective name" => |event, value| event.args.collective = value.text(),
        b"In msg nelems" => |event, value| event.args.n_elements_in = value.raw(),
        b"Out msg nelems" => |event, value| event.args.n_elements_out = value.raw(),
        b"dtype" => |event, value| event.args.element_type = value.raw(),
        b"Process Group Name" => |event, value| event.args.group_name = value.text(),
        b"Process Group Ranks" => |event, value| event.args.group_ranks = value,
        b"Group size" => |event, value| event.args.group_size = value.raw(),
        b"Input Dims" => |event, value| event.args.input_dims = value.nested().unwrap_or_default(),
        b"Input type" => |event, value| event.args.input_types = value.nested().unwrap_or_default(),
        b"grid" => |event, value| event.args.grid = value.nested().unwrap_or_default(),
        b"block" => |event, value| event.args.block = value.nested().unwrap_or_default(),
        b"registers per thread" => |event, value| event.args.registers = value.raw(),
        b"shared memory" => |event, value| event.args.shared_memory = value.raw(),
        b"est. achieved occupancy %" => |event, value| event.args.occupancy = value.raw(),
        _ => return None,
    })
}
