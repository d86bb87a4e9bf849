//! Instructions: the start of each, its name, and whether an interrupt waits for it.
//!
//! An interrupt during a locked instruction or a division is taken after it, so the sample is at the
//! next instruction. Seen on x86-64: of the samples in a loop of `lock cmpxchg` and `jne`, 95 of 100 are at the `jne`, none at
//! the `lock cmpxchg`.
//!
//! Invariant: any bytes give instructions or none; never a panic. An instruction that cannot be decoded ends the list.
//! Not here: the functions of the bytes (`charge`).

use iced_x86::{
    Decoder, DecoderOptions, Formatter, IntelFormatter, Mnemonic, OpKind, SymbolResolver, SymbolResult,
};
use underbar_symbols::{Machine, Place};
use yaxpeax_arch::{Decoder as _, U8Reader};
use yaxpeax_arm::armv8::a64::InstDecoder;

/// The longest instruction, in bytes.
pub const LONGEST: u64 = 15;

/// The start of an instruction and its effect on samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its address.
    pub address: u64,
    /// Whether an interrupt waits for its end: a locked instruction, an exchange with memory, or a division.
    pub is_slow: bool,
}

/// The instructions of a function, from its first byte on. Empty for unknown machines.
#[must_use]
pub fn steps(machine: Machine, bytes: &[u8], address: u64) -> Vec<Step> {
    match bits(machine) {
        Some(bits) => {
            let mut decoder = Decoder::with_ip(bits, bytes, address, DecoderOptions::NONE);
            let mut steps = Vec::new();
            while decoder.can_decode() {
                let instruction = decoder.decode();
                if instruction.is_invalid() {
                    break;
                }
                steps.push(Step { address: instruction.ip(), is_slow: is_slow_x86(&instruction) });
            }
            steps
        }
        None if machine == Machine::Arm64 => {
            let words = bytes.chunks_exact(4).zip((address..).step_by(4));
            words
                .map(|(word, address)| Step {
                    address,
                    is_slow: arm(word).is_some_and(|text| is_slow_arm(&text)),
                })
                .collect()
        }
        None => Vec::new(),
    }
}

/// The first instruction of these bytes as text. `name` gives the name of an address of the same file. None if it cannot
/// be decoded.
#[must_use]
pub fn text(
    machine: Machine,
    bytes: &[u8],
    address: u64,
    name: &dyn Fn(u64) -> Option<Place>,
) -> Option<String> {
    let Some(bits) = bits(machine) else {
        return arm(bytes.get(..4).filter(|_| machine == Machine::Arm64)?);
    };
    let mut decoder = Decoder::with_ip(bits, bytes, address, DecoderOptions::NONE);
    if !decoder.can_decode() {
        return None;
    }
    let instruction = decoder.decode();
    if instruction.is_invalid() {
        return None;
    }
    let names = Names { ask: name, own: name(address).map(|place| address.wrapping_sub(place.displacement)) };
    let mut formatter = IntelFormatter::with_options(Some(Box::new(names.found(&instruction))), None);
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_space_after_operand_separator(true);
    options.set_branch_leading_zeros(false);
    options.set_show_branch_size(false);
    let mut text = String::new();
    formatter.format(&instruction, &mut text);
    Some(text.replace(char::is_control, "?"))
}

fn bits(machine: Machine) -> Option<u32> {
    match machine {
        Machine::X86_64 => Some(64),
        Machine::X86 => Some(32),
        Machine::Arm64 | Machine::Other => None,
    }
}

fn is_slow_x86(instruction: &iced_x86::Instruction) -> bool {
    let touches_memory = || instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    match instruction.mnemonic() {
        Mnemonic::Div | Mnemonic::Idiv => true,
        // Locked without the prefix.
        Mnemonic::Xchg => touches_memory(),
        _ => instruction.has_lock_prefix(),
    }
}

fn arm(word: &[u8]) -> Option<String> {
    let instruction = InstDecoder::default().decode(&mut U8Reader::new(word)).ok()?;
    Some(instruction.to_string())
}

/// Atomic instructions of arm64 begin with one of these, in all their sizes and orderings.
fn is_slow_arm(text: &str) -> bool {
    const ATOMIC: [&str; 17] = [
        "ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin", "ldumax", "ldumin", "swp", "cas", "stxr",
        "stlxr", "stxp", "stlxp", "stadd", "udiv", "sdiv",
    ];
    ATOMIC.iter().any(|name| text.starts_with(name))
}

/// Names for the addresses in an instruction.
struct Names<'a> {
    ask: &'a dyn Fn(u64) -> Option<Place>,
    /// Start of the instruction's function.
    own: Option<u64>,
}

/// The one name in an instruction.
#[derive(Default)]
struct Found(Option<(u64, u64, String)>);

impl Names<'_> {
    fn found(&self, instruction: &iced_x86::Instruction) -> Found {
        let is_branch =
            instruction.op_kinds().any(|kind| matches!(kind, OpKind::NearBranch64 | OpKind::NearBranch32));
        let address = if is_branch {
            instruction.near_branch_target()
        } else if instruction.is_ip_rel_memory_operand() {
            instruction.ip_rel_memory_address()
        } else {
            return Found(None);
        };
        let Some(place) = (self.ask)(address) else { return Found(None) };
        let start = address.wrapping_sub(place.displacement);
        // A jump within the function needs no name, only the displacement in the table.
        if is_branch && self.own == Some(start) {
            return Found(Some((address, address, format!("{:#x}", place.displacement))));
        }
        Found(Some((address, start, place.symbol)))
    }
}

impl SymbolResolver for Found {
    fn symbol(
        &mut self,
        _: &iced_x86::Instruction,
        _: u32,
        _: Option<u32>,
        address: u64,
        _: u32,
    ) -> Option<SymbolResult<'_>> {
        let (known, start, name) = self.0.as_ref()?;
        (*known == address).then(|| SymbolResult::with_str(*start, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: &dyn Fn(u64) -> Option<Place> = &|_| None;

    fn check(machine: Machine, bytes: &[u8], expect: &str, is_slow: bool) {
        assert_eq!(text(machine, bytes, 0x1000, NOTHING).as_deref(), Some(expect), "{bytes:x?}");
        let steps = steps(machine, bytes, 0x1000);
        assert_eq!(steps, [Step { address: 0x1000, is_slow }], "{expect}");
    }

    #[test]
    fn slow_instructions_of_x86_are_known() {
        let x86 = |bytes: &[u8], expect, is_slow| check(Machine::X86_64, bytes, expect, is_slow);
        x86(&[0xf0, 0x0f, 0xb1, 0x0f], "lock cmpxchg [rdi], ecx", true);
        x86(&[0xf0, 0xff, 0x07], "lock inc dword ptr [rdi]", true);
        x86(&[0x87, 0x07], "xchg [rdi], eax", true);
        x86(&[0x87, 0xc8], "xchg eax, ecx", false);
        x86(&[0x48, 0xf7, 0xf1], "div rcx", true);
        x86(&[0xf7, 0xf9], "idiv ecx", true);
        x86(&[0x0f, 0xb1, 0x0f], "cmpxchg [rdi], ecx", false);
        x86(&[0xf3, 0x90], "pause", false);
        x86(&[0x75, 0xfa], "jne 0xffc", false);
        check(Machine::X86, &[0xf0, 0xff, 0x00], "lock inc dword ptr [eax]", true);
    }

    #[test]
    fn atomic_instructions_of_arm64_are_known() {
        let arm64 = |word: u32, expect, is_slow| check(Machine::Arm64, &word.to_le_bytes(), expect, is_slow);
        arm64(0xd503_201f, "nop", false);
        arm64(0xb940_0001, "ldr w1, [x0]", false);
        arm64(0x88e0_fc41, "casal w0, w1, [x2]", true);
        arm64(0xb8e1_0041, "ldaddal w1, w1, [x2]", true);
        arm64(0xb8e1_8041, "swpal w1, w1, [x2]", true);
        arm64(0x8802_fc01, "stlxr w2, w1, [x0]", true);
        arm64(0x1ac1_0800, "udiv w0, w0, w1", true);
        assert_eq!(steps(Machine::Arm64, &[0; 11], 16).len(), 2, "whole words only");
    }

    #[test]
    fn addresses_have_names_where_there_are_any() {
        let known = |address: u64| {
            let of = |start, symbol: &str| Place { symbol: symbol.to_owned(), displacement: address - start };
            match address {
                0x0f00..0x2000 => Some(of(0xf00, "spin")),
                0x2000..0x2100 => Some(of(0x2000, "pthread_mutex_lock")),
                0x4000..0x4010 => Some(of(0x4000, "counter")),
                _ => None,
            }
        };
        let check = |bytes: &[u8], expect: &str| {
            assert_eq!(text(Machine::X86_64, bytes, 0x1000, &known).as_deref(), Some(expect));
        };
        check(&[0x75, 0xfa], "jne 0xfc");
        check(&[0xe8, 0xfb, 0x0f, 0, 0], "call pthread_mutex_lock");
        check(&[0xe8, 0x0b, 0x10, 0, 0], "call pthread_mutex_lock+0x10");
        check(&[0x8b, 0x05, 0xfe, 0x2f, 0, 0], "mov eax, [counter+4]");
        check(&[0xff, 0x25, 0, 0, 0, 0x10], "jmp qword ptr [0x10001006]");
    }

    #[test]
    fn bytes_that_are_no_instruction_end_the_list() {
        assert_eq!(text(Machine::X86_64, &[0x06], 0, NOTHING), None);
        assert_eq!(text(Machine::X86_64, &[], 0, NOTHING), None);
        assert_eq!(text(Machine::X86_64, &[0xf0, 0x0f], 0, NOTHING), None);
        assert_eq!(text(Machine::Arm64, &[0; 3], 0, NOTHING), None);
        assert_eq!(text(Machine::Other, &[0x90; 16], 0, NOTHING), None);
        assert_eq!(steps(Machine::X86_64, &[0x90, 0x06, 0x90], 5).len(), 1);
        assert!(steps(Machine::Other, &[0x90; 16], 0).is_empty());
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..3_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let bytes = [state.to_le_bytes(), state.rotate_left(29).to_le_bytes()].concat();
            for machine in [Machine::X86_64, Machine::X86, Machine::Arm64] {
                let _ = (steps(machine, &bytes, state), text(machine, &bytes, state, NOTHING));
            }
        }
    }
}
