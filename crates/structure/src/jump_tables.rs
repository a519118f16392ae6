//! Jump tables, as compilers write them for a `switch`.
//!
//! ```text
//! lea base, [rip + table];  movsxd x, [base + i * 4];  add x, base;  jmp x      offsets of four bytes
//! jmp [table + i * 8]  or  mov x, [table + i * 8];  jmp x                       addresses of eight bytes
//! ```
//! A table's length is not looked for in the comparison before it: it ends where an entry is not the address of an
//! instruction of the same function, or where the next table begins. Both are exact in code of compilers.

use crate::image::Image;
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// Instructions before the jump that are looked at: code without optimisation needs ten.
const WINDOW: usize = 48;
/// Most entries of a table.
const ENTRIES_MAX: u64 = 1 << 16;
/// A table of one entry is chance.
const ENTRIES_MIN: usize = 2;

/// What a jump through a register or memory is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// It leads to these addresses of the function, ascending.
    Targets(Vec<u64>),
    /// There is a table that was not found.
    Unknown,
    /// It leaves the function: a call that is not returned from.
    None,
}

#[derive(Clone, Copy)]
enum Width {
    Offset,
    Address,
}

/// The addresses of data that the function loads, ascending.
pub(crate) fn bases(image: &Image, instructions: &[Instruction]) -> Vec<u64> {
    let mut bases: Vec<u64> =
        instructions.iter().filter_map(|instruction| base(image, instruction)).collect();
    bases.sort_unstable();
    bases.dedup();
    bases
}

fn base(image: &Image, instruction: &Instruction) -> Option<u64> {
    let is_address = instruction.mnemonic() == Mnemonic::Lea && instruction.memory_base() == Register::RIP;
    let address = match is_address {
        true => Some(instruction.ip_rel_memory_address()),
        false => absolute(instruction),
    };
    address.filter(|&address| !image.is_code(address))
}

/// The table that an operand indexes without a register for its base.
fn absolute(instruction: &Instruction) -> Option<u64> {
    let is_table = scale(instruction) == Some(8) && instruction.memory_base() == Register::None;
    is_table.then(|| instruction.memory_displacement64())
}

/// The bytes of an entry, where memory is indexed by a register.
fn scale(instruction: &Instruction) -> Option<u32> {
    let has_memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
    let is_indexed = has_memory && instruction.memory_index() != Register::None;
    is_indexed.then(|| instruction.memory_index_scale()).filter(|scale| matches!(scale, 4 | 8))
}

/// Where the jump at `at` leads.
pub(crate) fn find(image: &Image, instructions: &[Instruction], at: usize, bases: &[u64]) -> Table {
    let before = &instructions[at.saturating_sub(WINDOW)..=at];
    let near: Vec<u64> = before.iter().rev().filter_map(|instruction| base(image, instruction)).collect();
    // A table's address may have been loaded before a loop.
    let far = bases.iter().copied().filter(|base| !near.contains(base));
    let is_indexed = before.iter().rev().take(WINDOW / 2).any(|instruction| scale(instruction).is_some());
    if !is_indexed {
        return Table::None;
    }
    for table in near.iter().copied().chain(far) {
        for width in [Width::Offset, Width::Address] {
            let targets = read(image, instructions, table, bases, width);
            if ENTRIES_MIN <= targets.len() {
                let mut targets = targets;
                targets.sort_unstable();
                targets.dedup();
                return Table::Targets(targets);
            }
        }
    }
    // A jump through an array of functions is indexed, too, but by addresses.
    let by_offset = before
        .iter()
        .any(|instruction| instruction.mnemonic() == Mnemonic::Movsxd && scale(instruction) == Some(4));
    if by_offset { Table::Unknown } else { Table::None }
}

fn read(image: &Image, instructions: &[Instruction], table: u64, bases: &[u64], width: Width) -> Vec<u64> {
    let n_bytes = match width {
        Width::Offset => 4,
        Width::Address => 8,
    };
    let end = bases.get(bases.partition_point(|&base| base <= table)).copied().unwrap_or(u64::MAX);
    let places =
        (0..ENTRIES_MAX).map_while(|i| table.checked_add(i * n_bytes)).take_while(|&place| place < end);
    let entries = places.map_while(|place| match width {
        Width::Offset => table.checked_add_signed(image.offset_at(place)?),
        Width::Address => image.address_at(place),
    });
    entries
        .take_while(|&target| instructions.binary_search_by_key(&target, Instruction::ip).is_ok())
        .collect()
}
