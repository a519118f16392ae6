//! The arguments of one call as C and Fortran pass them.
//!
//! C passes numbers and handles by value; Fortran passes addresses of everything, has handles that are numbers of its
//! own, and counts indices from 1. Law: only arguments are read that the standard says are valid at that moment.

use super::library::{Flavour, MpiLibrary};
use super::{Handle, Language};
use ouzel_recording::mpi::functions::{Effect, Function, Parameter};
use ouzel_recording::mpi::interface::{Arguments, HandleKind, Received};
use std::ffi::{CStr, c_char, c_int};

/// Bytes that are enough for a status of every library.
const STATUS_ROOM: usize = 64;

/// Statuses in the place of those that the program ignores.
#[derive(Debug, Default)]
pub(super) struct OwnStatuses(Vec<u64>);

/// Where Fortran has a parameter of C.
pub(super) fn fortran_place(function: &Function, at: usize) -> usize {
    // Fortran's forms of MPI_Init have no arguments of the program.
    if function.effect == Effect::Init { at.saturating_sub(2) } else { at }
}

impl OwnStatuses {
    /// Replaces ignored statuses in the arguments.
    pub fn replace(
        &mut self,
        function: &Function,
        arguments: &mut [usize],
        language: Language,
        library: &'static MpiLibrary,
    ) {
        let many = function.at(Parameter::Statuses);
        let Some(at) = many.or_else(|| function.at(Parameter::Status)) else { return };
        let place = arguments[at];
        let is_ignored = match language {
            Language::C => place == library.c_constants().0,
            _ => library.ignored.contains(&place),
        };
        if !is_ignored {
            return;
        }
        let n = many.and(function.at(Parameter::Length)).map_or(1, |length| {
            let raw = RawArguments::new(function, arguments, language, library);
            usize::try_from(raw.number(length)).unwrap_or(0)
        });
        let n_bytes = n.max(1) * library.status_bytes().max(32) + STATUS_ROOM;
        self.0 = vec![0; n_bytes / 8 + 1];
        arguments[at] = self.0.as_mut_ptr().addr();
    }
}

/// The arguments, with what is needed to understand them.
#[derive(Debug)]
pub(super) struct RawArguments<'a> {
    function: &'a Function,
    words: &'a [usize],
    language: Language,
    library: &'static MpiLibrary,
}

impl<'a> RawArguments<'a> {
    pub fn new(
        function: &'a Function,
        words: &'a [usize],
        language: Language,
        library: &'static MpiLibrary,
    ) -> Self {
        RawArguments { function, words, language, library }
    }

    fn word(&self, at: usize) -> usize {
        let at = if self.language == Language::C { at } else { fortran_place(self.function, at) };
        self.words.get(at).copied().unwrap_or(0)
    }

    /// A number in memory; 0 behind a null pointer.
    fn int(&self, address: usize, index: usize) -> i64 {
        if address == 0 {
            return 0;
        }
        // SAFETY: the standard's function takes the address of at least so many numbers there.
        i64::from(unsafe { (address as *const c_int).add(index).read_unaligned() })
    }

    fn large(&self, address: usize, index: usize) -> i64 {
        if address == 0 {
            return 0;
        }
        // SAFETY: as above, with numbers of 64 bits.
        unsafe { (address as *const i64).add(index).read_unaligned() }
    }

    /// Whether a parameter has 64 bits in the form with large counts.
    fn is_large(&self, at: usize) -> bool {
        use Parameter as P;
        let is_count = |parameter: &P| {
            matches!(parameter, P::Count | P::SendCount | P::ReceiveCount | P::SendCounts | P::ReceiveCounts)
        };
        self.function.is_large && self.function.parameters.get(at).is_some_and(is_count)
    }

    fn handle_of_fortran(&self, number: i64, kind: HandleKind) -> Handle {
        let number = c_int::try_from(number).unwrap_or(0);
        let converter = match kind {
            HandleKind::Communicator => self.library.comm_from_fortran,
            HandleKind::Type => self.library.type_from_fortran,
            HandleKind::Request => self.library.request_from_fortran,
            HandleKind::Message => self.library.message_from_fortran,
            HandleKind::Window => self.library.window_from_fortran,
            HandleKind::File => self.library.file_from_fortran,
        };
        converter.convert(number)
    }

    fn handle_at(&self, address: usize, index: usize, kind: HandleKind) -> Handle {
        if address == 0 {
            return Handle(0);
        }
        if self.language != Language::C {
            return self.handle_of_fortran(self.int(address, index), kind);
        }
        let place = address + index * self.library.handle_bytes();
        // SAFETY: the standard's function takes the address of at least so many handles there.
        unsafe {
            match self.library.flavour {
                // Files are addresses in MPICH, too.
                _ if kind == HandleKind::File => Handle((place as *const u64).read_unaligned()),
                Flavour::OpenMpi => Handle((place as *const u64).read_unaligned()),
                Flavour::Mpich => Handle(u64::from((place as *const u32).read_unaligned())),
            }
        }
    }

    /// A status, at an address that is aligned for every use.
    fn status(&self, at: usize, index: usize) -> [u64; STATUS_ROOM / 8] {
        let n_bytes = self.library.status_bytes();
        let place = self.word(at) + index * n_bytes;
        let mut copy = [0; STATUS_ROOM / 8];
        // SAFETY: the call has filled in a status of this size there, and it fits.
        unsafe {
            std::ptr::copy_nonoverlapping(place as *const u8, copy.as_mut_ptr().cast::<u8>(), n_bytes);
        }
        copy
    }
}

impl Arguments for RawArguments<'_> {
    fn number(&self, at: usize) -> i64 {
        let word = self.word(at);
        match (self.language, self.is_large(at)) {
            (Language::C, true) => (word as u64).cast_signed(),
            // The upper half of the register is not defined.
            (Language::C, false) => i64::from((word as u32).cast_signed()),
            (_, true) => self.large(word, 0),
            (_, false) => self.int(word, 0),
        }
    }

    fn number_behind(&self, at: usize) -> i64 {
        self.int(self.word(at), 0)
    }

    fn element(&self, at: usize, index: usize) -> i64 {
        let word = self.word(at);
        if self.is_large(at) { self.large(word, index) } else { self.int(word, index) }
    }

    fn index(&self, at: usize, index: usize) -> i64 {
        let first = if self.language == Language::C { 0 } else { 1 };
        self.int(self.word(at), index) - first
    }

    fn handle(&self, at: usize, kind: HandleKind) -> Handle {
        match self.language {
            Language::C if kind == HandleKind::File => Handle(self.word(at) as u64),
            Language::C => self.library.cut(self.word(at) as u64),
            _ => self.handle_of_fortran(self.int(self.word(at), 0), kind),
        }
    }

    fn handle_behind(&self, at: usize, kind: HandleKind) -> Handle {
        self.handle_at(self.word(at), 0, kind)
    }

    fn handle_element(&self, at: usize, index: usize, kind: HandleKind) -> Handle {
        self.handle_at(self.word(at), index, kind)
    }

    fn address(&self, at: usize) -> Handle {
        Handle(self.word(at) as u64)
    }

    fn is_in_place(&self, at: usize) -> bool {
        let word = self.word(at);
        match self.language {
            Language::C => word == self.library.c_constants().1,
            Language::Fortran2008Descriptors if word != 0 => {
                // SAFETY: the buffer is a descriptor, which begins with its address.
                self.library.in_place.contains(&unsafe { (word as *const usize).read() })
            }
            _ => self.library.in_place.contains(&word),
        }
    }

    fn received(&self, at: usize, index: usize) -> Received {
        let status = self.status(at, index);
        let (source, tag) = self.library.source_and_tag();
        let int = |i: usize| i64::from(((status[i / 2] >> (32 * (i % 2))) as u32).cast_signed());
        let n_bytes = self.library.received_bytes(status.as_ptr().addr());
        Received { source: int(source), tag: int(tag), n_bytes }
    }

    fn was_cancelled(&self, at: usize, index: usize) -> bool {
        self.library.was_cancelled(self.status(at, index).as_ptr().addr())
    }

    fn text(&self, at: usize) -> String {
        let place = self.word(at) as *const c_char;
        if place.is_null() {
            return String::new();
        }
        if self.language == Language::C {
            // SAFETY: texts of C end with a zero byte.
            return unsafe { CStr::from_ptr(place) }.to_string_lossy().into_owned();
        }
        // The length follows the error code, and the rest of a text of Fortran is blank.
        let n_bytes = self.words.last().copied().unwrap_or(0).min(4096);
        // SAFETY: Fortran passes the length of the text there.
        let bytes = unsafe { std::slice::from_raw_parts(place.cast::<u8>(), n_bytes) };
        String::from_utf8_lossy(bytes).trim_end().to_owned()
    }
}
