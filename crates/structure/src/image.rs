//! What an ELF file says of its code: sections, symbols, unwind entries, imported functions, build id.
//!
//! Law: everything is checked against the length of the file; a table that is damaged gives a notice and what was read
//! of it before. A file without section headers (cut off, or stripped of them) still has its segments and, by them, its
//! unwind entries.

use crate::StructureError;
use addr2line::gimli::{self, LittleEndian, UnwindSection};
use object::read::elf::ElfFile64;
use object::{
    Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol, ObjectSymbolTable, RelocationTarget,
    SectionFlags, SegmentFlags,
};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Most functions of a file: 20 times those of the largest programs.
const FUNCTIONS_MAX: usize = 1 << 22;
const EXECUTABLE: u64 = 4;
const NOTHING_MAPPED: &str = "no part of it is mapped when it runs";
const EXECUTABLE_SEGMENT: u32 = 1;

/// Bytes of the file that are mapped at an address.
#[derive(Debug, Clone)]
pub(crate) struct Mapped {
    pub name: String,
    pub address: u64,
    pub file: Range<usize>,
    pub is_code: bool,
}

/// A function as the symbols have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub address: u64,
    pub n_bytes: u64,
    pub name: String,
    /// Smaller is better: global before weak before local.
    pub rank: u8,
}

/// The parts of a file.
#[derive(Debug, Default)]
pub(crate) struct Image {
    bytes: Vec<u8>,
    mapped: Vec<Mapped>,
    pub symbols: Vec<Symbol>,
    /// Addresses of functions that have unwind entries.
    pub unwind: Vec<Range<u64>>,
    /// Imported functions by the slot that their address is in.
    pub slots: FxHashMap<u64, String>,
    pub build_id: Option<String>,
    /// Where the program begins.
    pub entry: u64,
    pub notices: Vec<String>,
}

impl Image {
    pub fn new(bytes: Vec<u8>) -> Result<Image, StructureError> {
        check_kind(&bytes)?;
        let mut image = Image::default();
        if let Err(error) = image.read_sections(&bytes) {
            image.notices.push(format!("the section table cannot be read ({error}): only segments are used"));
            image.mapped.clear();
            image.symbols.clear();
            image.slots.clear();
            image.read_segments(&bytes)?;
        }
        image.mapped.sort_by_key(|part| part.address);
        image.bytes = bytes;
        image.read_unwind();
        Ok(image)
    }

    /// The whole file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn read_sections(&mut self, bytes: &[u8]) -> Result<(), String> {
        let file = ElfFile64::<Endianness>::parse(bytes).map_err(|error| error.to_string())?;
        self.entry = file.entry();
        self.build_id = file.build_id().ok().flatten().map(hexadecimal);
        let mut n_lost = 0u64;
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            let Some((offset, n_bytes)) = section.file_range() else { continue };
            if section.address() == 0 || n_bytes == 0 {
                continue;
            }
            let name = section.name().unwrap_or_default().to_owned();
            match range_in(bytes, offset, n_bytes) {
                Some(file) => {
                    let is_code = sh_flags.0 & EXECUTABLE != 0;
                    self.mapped.push(Mapped { name, address: section.address(), file, is_code });
                }
                None => n_lost += 1,
            }
        }
        if 0 < n_lost {
            self.notices.push(format!("{n_lost} sections lie beyond the end of the file"));
        }
        if self.mapped.is_empty() {
            // Nothing that runs is in sections.
            return Err(NOTHING_MAPPED.to_owned());
        }
        self.read_symbols(&file);
        self.read_slots(&file);
        Ok(())
    }

    fn read_symbols(&mut self, file: &ElfFile64<'_, Endianness>) {
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let is_function = symbol.kind() == object::SymbolKind::Text && symbol.is_definition();
            let Some(name) = symbol.name().ok().filter(|name| is_function && !name.is_empty()) else {
                continue;
            };
            if FUNCTIONS_MAX <= self.symbols.len() {
                self.notices.push(format!("only the first {FUNCTIONS_MAX} symbols are used"));
                break;
            }
            let rank = if symbol.is_weak() { 1 } else { u8::from(!symbol.is_global()) * 2 };
            let name = name.to_owned();
            self.symbols.push(Symbol { address: symbol.address(), n_bytes: symbol.size(), name, rank });
        }
    }

    fn read_slots(&mut self, file: &ElfFile64<'_, Endianness>) {
        let Some(relocations) = file.dynamic_relocations() else { return };
        let table = file.dynamic_symbol_table();
        for (slot, relocation) in relocations {
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let symbol = table.as_ref().and_then(|table| table.symbol_by_index(index).ok());
            if let Some(name) = symbol.and_then(|symbol| symbol.name().ok()).filter(|name| !name.is_empty()) {
                self.slots.insert(slot, name.to_owned());
            }
        }
    }

    /// Without section headers: what is mapped.
    fn read_segments(&mut self, bytes: &[u8]) -> Result<(), StructureError> {
        let mut head = bytes.to_vec();
        // No section table, no entries of it, no names.
        for part in [40..48, 60..64] {
            if let Some(part) = head.get_mut(part) {
                part.fill(0);
            }
        }
        let file = ElfFile64::<Endianness>::parse(&*head)
            .map_err(|error| StructureError::Damaged(error.to_string()))?;
        self.entry = file.entry();
        for segment in file.segments() {
            let SegmentFlags::Elf { p_flags, .. } = segment.flags() else { continue };
            let (offset, n_bytes) = segment.file_range();
            let there = (bytes.len() as u64).saturating_sub(offset).min(n_bytes);
            let Some(file) = range_in(bytes, offset, there).filter(|range| !range.is_empty()) else {
                continue;
            };
            let is_code = p_flags.0 & EXECUTABLE_SEGMENT != 0;
            self.mapped.push(Mapped { name: String::new(), address: segment.address(), file, is_code });
        }
        match self.mapped.is_empty() {
            true => Err(StructureError::Damaged(NOTHING_MAPPED.to_owned())),
            false => Ok(()),
        }
    }

    fn read_unwind(&mut self) {
        let Some((address, bytes)) = self.unwind_section() else { return };
        let section = gimli::EhFrame::new(bytes, LittleEndian);
        let bases = gimli::BaseAddresses::default().set_eh_frame(address).set_text(address);
        let mut entries = section.entries(&bases);
        let mut found: Vec<Range<u64>> = Vec::new();
        let error = loop {
            match entries.next() {
                Ok(None) => break None,
                Ok(Some(gimli::CieOrFde::Cie(_))) => {}
                Ok(Some(gimli::CieOrFde::Fde(partial))) => {
                    match partial.parse(gimli::EhFrame::cie_from_offset) {
                        Ok(entry) if found.len() < FUNCTIONS_MAX => {
                            found.push(entry.initial_address()..entry.end_address());
                        }
                        Ok(_) => break Some(format!("more than {FUNCTIONS_MAX}")),
                        Err(error) => break Some(error.to_string()),
                    }
                }
                Err(error) => break Some(error.to_string()),
            }
        };
        found.retain(|range| range.start < range.end && self.code(range).is_some());
        self.unwind = found;
        if let Some(error) = error {
            let n = self.unwind.len();
            self.notices.push(format!("unwind entries are damaged behind the first {n}: {error}"));
        }
    }

    /// Address and bytes of the unwind entries.
    fn unwind_section(&self) -> Option<(u64, &[u8])> {
        let by_name = self.mapped.iter().find(|part| part.name == ".eh_frame");
        if let Some(part) = by_name {
            return Some((part.address, self.bytes.get(part.file.clone())?));
        }
        let header = self.unwind_header()?;
        let bytes = self.rest(header)?;
        let bases = gimli::BaseAddresses::default().set_eh_frame_hdr(header);
        let parsed = gimli::EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok()?;
        let address = parsed.eh_frame_ptr().direct().ok()?;
        Some((address, self.rest(address)?))
    }

    /// Where the program headers say that the header of unwind entries is.
    fn unwind_header(&self) -> Option<u64> {
        const UNWIND: u64 = 0x6474_e550;
        let number = |at: usize, n: usize| little(self.bytes.get(at..at.checked_add(n)?)?);
        let (table, size, n) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        (0..n).find_map(|i| {
            let at = usize::try_from(table.checked_add(i * size)?).ok()?;
            (number(at, 4)? == UNWIND).then(|| number(at.checked_add(16)?, 8))?
        })
    }

    /// The mapped bytes from an address to the end of its part.
    fn rest(&self, address: u64) -> Option<&[u8]> {
        let after = self.mapped.partition_point(|part| part.address <= address);
        let part = self.mapped[..after].last()?;
        let skipped = usize::try_from(address - part.address).ok()?;
        self.bytes.get(part.file.clone())?.get(skipped..)
    }

    /// The bytes of code at these addresses; none if they are not wholly in one part of code.
    pub fn code(&self, range: &Range<u64>) -> Option<&[u8]> {
        let after = self.mapped.partition_point(|part| part.address <= range.start);
        let part = self.mapped[..after].last().filter(|part| part.is_code)?;
        let start = usize::try_from(range.start - part.address).ok()?;
        let n_bytes = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        self.bytes.get(part.file.clone())?.get(start..start.checked_add(n_bytes)?)
    }

    /// Where the part of code that an address is in ends; none if it is in no code.
    pub fn code_end(&self, address: u64) -> Option<u64> {
        let after = self.mapped.partition_point(|part| part.address <= address);
        let part = self.mapped[..after].last().filter(|part| part.is_code)?;
        let end = part.address.checked_add(part.file.len() as u64)?;
        (address < end).then_some(end)
    }

    /// Whether an address is in code.
    pub fn is_code(&self, address: u64) -> bool {
        self.code_end(address).is_some()
    }

    /// The parts that hold code: their names, addresses and bytes.
    pub fn code_parts(&self) -> impl Iterator<Item = (&str, u64, &[u8])> {
        let code = self.mapped.iter().filter(|part| part.is_code);
        code.filter_map(|part| Some((part.name.as_str(), part.address, self.bytes.get(part.file.clone())?)))
    }

    /// A signed number of four bytes at an address.
    pub fn offset_at(&self, address: u64) -> Option<i64> {
        let bytes = self.rest(address)?.first_chunk::<4>()?;
        Some(i64::from(i32::from_le_bytes(*bytes)))
    }

    /// A number of eight bytes at an address.
    pub fn address_at(&self, address: u64) -> Option<u64> {
        Some(u64::from_le_bytes(*self.rest(address)?.first_chunk::<8>()?))
    }
}

/// Refuses what is no program or library for x86-64.
fn check_kind(bytes: &[u8]) -> Result<(), StructureError> {
    const X86_64: u16 = 62;
    if !bytes.starts_with(b"\x7fELF") {
        return Err(StructureError::NotElf);
    }
    let (Some(&class), Some(&order), Some(machine)) = (bytes.get(4), bytes.get(5), bytes.get(18..20)) else {
        return Err(StructureError::Damaged("the file ends within its first header".to_owned()));
    };
    let big = u16::from_be_bytes([machine[0], machine[1]]);
    let machine = if order == 2 { big } else { big.swap_bytes() };
    if machine == X86_64 && class == 2 && order == 1 {
        return Ok(());
    }
    Err(StructureError::Machine(machine_name(machine, class)))
}

fn machine_name(machine: u16, class: u8) -> String {
    let name = match machine {
        3 => "x86",
        8 => "MIPS",
        20 => "PowerPC",
        21 => "PowerPC64",
        22 => "S/390",
        40 => "ARM",
        62 => "x86-64 with addresses of 32 bits",
        183 => "AArch64",
        190 => "CUDA",
        224 => "AMD GPU",
        243 => "RISC-V",
        258 => "LoongArch",
        _ => return format!("machine number {machine}, {} bits", if class == 2 { 64 } else { 32 }),
    };
    name.to_owned()
}

fn range_in(bytes: &[u8], offset: u64, n_bytes: u64) -> Option<Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(n_bytes).ok()?)?;
    (end <= bytes.len()).then_some(start..end)
}

fn little(bytes: &[u8]) -> Option<u64> {
    let mut number = [0; 8];
    number.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(u64::from_le_bytes(number))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
