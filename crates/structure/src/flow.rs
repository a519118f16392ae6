//! The control flow of one function: instructions, blocks, and where each block can go on.
//!
//! Law: all bytes of the function are decoded once, in order; a byte that begins no instruction ends its block and is
//! skipped. A block ends before each target of a jump and behind each instruction that does not always go on.

use crate::image::Image;
use crate::jump_tables::{self, Table};
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use std::ops::Range;

/// Most bytes of a function whose flow is followed; instructions take ten times as much memory.
pub(crate) const FUNCTION_BYTES_MAX: u64 = 16 << 20;

/// Where an instruction leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// To the next one.
    Next,
    /// To an address.
    Jump(u64),
    /// To an address or the next one.
    Branch(u64),
    /// To what a register or memory says.
    IndirectJump,
    /// Into a function and back; none if a register or memory says where.
    Call(Option<u64>),
    /// Into a function whose address is in this slot, and back.
    CallSlot(u64),
    /// To a function whose address is in this slot.
    JumpSlot(u64),
    /// Back to the caller.
    Return,
    /// Nowhere: it stops the program.
    Stop,
}

/// An instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub address: u64,
    pub n_bytes: u8,
    pub transfer: Transfer,
    /// Whether it is a call that never comes back.
    pub stops: bool,
}

/// Instructions that run one after the other.
#[derive(Debug)]
pub(crate) struct Block {
    pub steps: Range<usize>,
    pub successors: Vec<usize>,
    /// Whether the function can be left behind it.
    pub leaves: bool,
}

/// The blocks of a function, by ascending address.
#[derive(Debug, Default)]
pub(crate) struct FlowGraph {
    pub steps: Vec<Step>,
    pub blocks: Vec<Block>,
    pub entry: usize,
    /// Jumps by a table that was not found.
    pub n_unresolved: u64,
}

impl FlowGraph {
    /// The flow of a function that begins at `entry`. `never_returns` judges what a call leads to.
    pub fn new(
        image: &Image,
        ranges: &[Range<u64>],
        entry: u64,
        never_returns: &mut dyn FnMut(Transfer) -> bool,
    ) -> FlowGraph {
        let instructions = decode(image, ranges);
        let steps = instructions.iter().map(step).collect();
        let mut graph = FlowGraph { steps, ..FlowGraph::default() };
        let tables = graph.tables(image, &instructions);
        drop(instructions);
        let leaders = graph.leaders(ranges, &tables);
        graph.cut(&leaders, never_returns);
        graph.connect(&tables, never_returns);
        graph.entry = graph.block_at(entry).unwrap_or(0);
        graph
    }

    /// The targets of each jump by a table, by the place of its instruction.
    fn tables(&mut self, image: &Image, instructions: &[Instruction]) -> Vec<(usize, Vec<u64>)> {
        let mut tables = Vec::new();
        let indirect = |step: &Step| step.transfer == Transfer::IndirectJump;
        if !self.steps.iter().any(indirect) {
            return tables;
        }
        let bases = jump_tables::bases(image, instructions);
        for at in (0..self.steps.len()).filter(|&at| indirect(&self.steps[at])) {
            match jump_tables::find(image, instructions, at, &bases) {
                Table::Targets(targets) => tables.push((at, targets)),
                Table::Unknown => self.n_unresolved += 1,
                Table::None => {}
            }
        }
        tables
    }

    /// The places of instructions that begin a block because something leads there, or a range does.
    fn leaders(&self, ranges: &[Range<u64>], tables: &[(usize, Vec<u64>)]) -> Vec<usize> {
        let jumps = self.steps.iter().filter_map(|step| match step.transfer {
            Transfer::Jump(target) | Transfer::Branch(target) => Some(target),
            _ => None,
        });
        let of_tables = tables.iter().flat_map(|(_, targets)| targets.iter().copied());
        let starts = ranges.iter().map(|range| range.start);
        let mut leaders: Vec<usize> =
            jumps.chain(of_tables).chain(starts).filter_map(|address| self.step_at(address)).collect();
        leaders.sort_unstable();
        leaders.dedup();
        leaders
    }

    fn cut(&mut self, leaders: &[usize], never_returns: &mut dyn FnMut(Transfer) -> bool) {
        let is_leader = |at: usize| leaders.binary_search(&at).is_ok();
        let mut start = 0;
        for at in 0..self.steps.len() {
            let next = at + 1;
            let is_last = next == self.steps.len() || is_leader(next) || !self.is_adjacent(at);
            let ends = match self.steps[at].transfer {
                Transfer::Next => false,
                // What comes behind a call that never returns is led to by something else, such as an exception.
                Transfer::Call(_) | Transfer::CallSlot(_) => {
                    self.steps[at].stops = never_returns(self.steps[at].transfer);
                    self.steps[at].stops
                }
                _ => true,
            };
            if ends || is_last {
                self.blocks.push(Block { steps: start..next, successors: Vec::new(), leaves: false });
                start = next;
            }
        }
    }

    /// Whether the next instruction follows without a gap.
    fn is_adjacent(&self, at: usize) -> bool {
        let step = self.steps[at];
        self.steps.get(at + 1).is_some_and(|next| next.address == step.address + u64::from(step.n_bytes))
    }

    fn connect(&mut self, tables: &[(usize, Vec<u64>)], never_returns: &mut dyn FnMut(Transfer) -> bool) {
        for block in 0..self.blocks.len() {
            let last = self.blocks[block].steps.end - 1;
            let next = (block + 1 < self.blocks.len() && self.is_adjacent(last)).then_some(block + 1);
            let (mut successors, mut leaves) = (Vec::new(), false);
            let to = |target: u64, successors: &mut Vec<usize>| successors.extend(self.block_at(target));
            let is_inside = |target: u64| self.block_at(target).is_some();
            match self.steps[last].transfer {
                _ if self.steps[last].stops => {}
                Transfer::Next | Transfer::Call(_) | Transfer::CallSlot(_) => successors.extend(next),
                Transfer::Jump(target) => {
                    to(target, &mut successors);
                    leaves = !is_inside(target) && !never_returns(Transfer::Call(Some(target)));
                }
                Transfer::Branch(target) => {
                    successors.extend(next);
                    to(target, &mut successors);
                    leaves = !is_inside(target);
                }
                Transfer::JumpSlot(slot) => leaves = !never_returns(Transfer::CallSlot(slot)),
                Transfer::IndirectJump => match tables.binary_search_by_key(&last, |&(at, _)| at) {
                    Ok(found) => tables[found].1.iter().for_each(|&target| to(target, &mut successors)),
                    Err(_) => leaves = true,
                },
                Transfer::Return => leaves = true,
                Transfer::Stop => {}
            }
            successors.sort_unstable();
            successors.dedup();
            (self.blocks[block].successors, self.blocks[block].leaves) = (successors, leaves);
        }
    }

    /// The instruction that begins at an address.
    fn step_at(&self, address: u64) -> Option<usize> {
        self.steps.binary_search_by_key(&address, |step| step.address).ok()
    }

    /// The block that begins at an address.
    pub fn block_at(&self, address: u64) -> Option<usize> {
        let step = self.step_at(address)?;
        self.blocks.binary_search_by_key(&step, |block| block.steps.start).ok()
    }

    /// The instruction that an address is in.
    pub fn step_around(&self, address: u64) -> Option<usize> {
        let at = self.steps.partition_point(|step| step.address <= address).checked_sub(1)?;
        (address - self.steps[at].address < u64::from(self.steps[at].n_bytes)).then_some(at)
    }

    /// The block that an instruction is in.
    pub fn block_of(&self, step: usize) -> usize {
        self.blocks.partition_point(|block| block.steps.end <= step)
    }

    /// For each block whether it can be reached from the function's beginning.
    pub fn reached(&self) -> Vec<bool> {
        let mut reached = vec![false; self.blocks.len()];
        let mut open = if self.blocks.is_empty() { Vec::new() } else { vec![self.entry] };
        while let Some(block) = open.pop() {
            if !std::mem::replace(&mut reached[block], true) {
                open.extend(self.blocks[block].successors.iter().filter(|&&next| !reached[next]));
            }
        }
        reached
    }

    /// Whether the function can end and its caller go on.
    pub fn returns(&self) -> bool {
        let reached = self.reached();
        // Code that cannot be read may do anything.
        self.blocks.is_empty()
            || self.blocks.iter().zip(reached).any(|(block, reached)| reached && block.leaves)
    }
}

/// The instructions of a function, by ascending address.
pub(crate) fn decode(image: &Image, ranges: &[Range<u64>]) -> Vec<Instruction> {
    let mut instructions = Vec::new();
    let mut ranges = ranges.to_vec();
    ranges.sort_by_key(|range| range.start);
    for range in ranges {
        let range = range.start..range.end.min(range.start.saturating_add(FUNCTION_BYTES_MAX));
        let Some(bytes) = image.code(&range) else { continue };
        let mut decoder = Decoder::with_ip(64, bytes, range.start, DecoderOptions::NONE);
        while decoder.can_decode() {
            let instruction = decoder.decode();
            if instruction.code() == Code::INVALID {
                // One byte further: the decoder has skipped as many as it looked at.
                let at = usize::try_from(instruction.ip().wrapping_sub(range.start)).unwrap_or(usize::MAX);
                if decoder.set_position(at.saturating_add(1)).is_err() {
                    break;
                }
                decoder.set_ip(instruction.ip().wrapping_add(1));
                continue;
            }
            instructions.push(instruction);
        }
    }
    instructions
}

fn step(instruction: &Instruction) -> Step {
    Step {
        address: instruction.ip(),
        n_bytes: u8::try_from(instruction.len()).unwrap_or(u8::MAX),
        transfer: transfer(instruction),
        stops: false,
    }
}

fn is_near(instruction: &Instruction) -> bool {
    matches!(instruction.op0_kind(), OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64)
}

pub(crate) fn transfer(instruction: &Instruction) -> Transfer {
    let slot = || {
        let is_slot = instruction.op0_kind() == OpKind::Memory && instruction.memory_base() == Register::RIP;
        is_slot.then(|| instruction.ip_rel_memory_address())
    };
    match instruction.mnemonic() {
        Mnemonic::Jmp if is_near(instruction) => Transfer::Jump(instruction.near_branch_target()),
        Mnemonic::Jmp => slot().map_or(Transfer::IndirectJump, Transfer::JumpSlot),
        Mnemonic::Call if is_near(instruction) => Transfer::Call(Some(instruction.near_branch_target())),
        Mnemonic::Call => slot().map_or(Transfer::Call(None), Transfer::CallSlot),
        Mnemonic::Ret | Mnemonic::Retf | Mnemonic::Iret | Mnemonic::Iretd | Mnemonic::Iretq => {
            Transfer::Return
        }
        Mnemonic::Ud0 | Mnemonic::Ud1 | Mnemonic::Ud2 | Mnemonic::Hlt => Transfer::Stop,
        _ if is_near(instruction) => Transfer::Branch(instruction.near_branch_target()),
        _ => Transfer::Next,
    }
}
