//! From the registers of a function to those of its caller, by the rules that compilers leave for exceptions (`.eh_frame`), or for
//! debuggers (`.debug_frame`).
//!
//! ```text
//! address ── bisection ──> entry ── its instructions ──> rules ── registers, stack ──> registers of the caller
//!            once for a file: the range of each entry    kept by address
//! ```
//!
//! Only x86-64. Numbers of registers are those of DWARF: 3 rbx, 6 rbp, 7 rsp, 12 to 15 r12 to r15, 16 the return address.
//!
//! Invariant: nothing is guessed: no rules, or a value that is not in the stack, give a reason and no registers. The bytes are
//! untrusted; expressions end after [`MOST_STEPS`] steps.
//! Not here: which file an address is in, and walks over many frames.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, CommonInformationEntry, DebugFrame, EhFrame, EndianSlice,
    EvaluationResult, Expression, LittleEndian, Location, RegisterRule, UnwindContext, UnwindOffset,
    UnwindSection, Value,
};

/// The registers that matter, by their numbers: `None` where a value is not known.
pub type Registers = [Option<u64>; COUNT];

/// The number of registers.
pub const COUNT: usize = 17;
/// The frame pointer.
pub const RBP: usize = 6;
/// The stack pointer.
pub const RSP: usize = 7;
/// The instruction pointer.
pub const RIP: usize = 16;
/// What a function must give back as it found it.
const CALLEE_SAVED: [usize; 6] = [3, RBP, 12, 13, 14, 15];

/// More steps than an expression of a compiler needs.
const MOST_STEPS: u32 = 1_000;

/// More bytes of rules than programs have.
pub const MOST_BYTES: u64 = 256 << 20;

/// The caller of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Its registers at the call.
    pub registers: Registers,
    /// Whether its address is the next instruction itself, and not behind a call: a signal interrupted it.
    pub is_interrupted: bool,
}

/// Why there is no caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCaller {
    /// This is the first function of its thread.
    First,
    /// The file has no rules for the address.
    NoRules,
    /// A value that is needed is not in the stack.
    NotInStack,
    /// The rules are wrong, or of a kind that is not read.
    Unreadable,
}

/// The step from a function to its caller, if it needs no register but rsp and rbp and no expression. Distances are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// It is the first function of its thread.
    pub is_first: bool,
    /// The end of the frame is counted from rbp, else from rsp. The return address is in the word below the end.
    pub is_from_rbp: bool,
    /// How far the end of the frame is above that register.
    pub frame: i64,
    /// How far below the end the caller's rbp is saved; none if rbp is still the caller's.
    pub saved_rbp: Option<i64>,
}

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The rules of a file.
#[derive(Default)]
pub struct CallFrames {
    eh_frame: Bytes,
    debug_frame: Bytes,
    entries: Vec<Entry>,
    /// Where the kernel starts the file; 0 if it does not.
    start: u64,
    rows: RefCell<HashMap<u64, Option<Rc<Row>>>>,
}

#[derive(Default)]
struct Bytes {
    address: u64,
    bytes: Vec<u8>,
}

/// The range of a function, and the place of its rules.
struct Entry {
    start: u64,
    end: u64,
    offset: usize,
    is_debug: bool,
}

/// The code at which the kernel starts a file is no longer than this.
const START_BYTES: u64 = 64;

/// The rules at one address.
struct Row {
    cfa: Rule,
    registers: Vec<(usize, Rule)>,
    return_register: usize,
    is_signal: bool,
}

impl Row {
    /// That of code without a caller.
    fn first() -> Row {
        let registers = vec![(RIP, Rule::Undefined)];
        Row { cfa: Rule::Register(RSP, 8), registers, return_register: RIP, is_signal: false }
    }
}

#[derive(Clone, PartialEq, Eq)]
enum Rule {
    Undefined,
    Same,
    /// The value is in the stack, this far from the frame's address.
    At(i64),
    /// The value is this far from the frame's address.
    Plus(i64),
    /// The value is this far from that of a register.
    Register(usize, i64),
    /// The value is in the stack where the expression says.
    AtExpression(Vec<u8>),
    /// The value is that of the expression.
    Expression(Vec<u8>),
}

impl CallFrames {
    /// Reads the ranges of all entries. Each section comes with its address.
    #[must_use]
    pub fn new(eh_frame: Option<(u64, Vec<u8>)>, debug_frame: Option<(u64, Vec<u8>)>) -> CallFrames {
        let bytes = |part: Option<(u64, Vec<u8>)>| {
            part.map(|(address, bytes)| Bytes { address, bytes }).unwrap_or_default()
        };
        let mut rules = CallFrames {
            eh_frame: bytes(eh_frame),
            debug_frame: bytes(debug_frame),
            ..CallFrames::default()
        };
        let mut entries = Vec::new();
        index(&rules.eh(), &rules.eh_frame.bases(), false, &mut entries);
        index(&rules.debug(), &BaseAddresses::default(), true, &mut entries);
        // Of two entries for one function, the one for exceptions counts.
        entries.sort_by_key(|entry| (entry.start, entry.is_debug));
        entries.dedup_by_key(|entry| entry.start);
        rules.entries = entries;
        rules
    }

    /// The same with the address at which the kernel starts the file. That code has no caller, and in a loader no rules.
    #[must_use]
    pub fn with_start(self, start: u64) -> CallFrames {
        CallFrames { start, ..self }
    }

    fn eh(&self) -> EhFrame<Slice<'_>> {
        let mut section = EhFrame::new(&self.eh_frame.bytes, LittleEndian);
        section.set_address_size(8);
        section
    }

    fn debug(&self) -> DebugFrame<Slice<'_>> {
        let mut section = DebugFrame::new(&self.debug_frame.bytes, LittleEndian);
        section.set_address_size(8);
        section
    }

    /// The caller of the function at an address of the file. `word` reads eight bytes of the stack at an address of the process.
    ///
    /// # Errors
    /// It is the first one, or it is not known.
    pub fn caller(
        &self,
        address: u64,
        registers: &Registers,
        word: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<Caller, NoCaller> {
        let row = self.row(address).ok_or(NoCaller::NoRules)?;
        let cfa = match &row.cfa {
            Rule::Register(number, offset) => value(registers, *number)?.wrapping_add_signed(*offset),
            Rule::Expression(bytes) => evaluate(bytes, registers, None, word)?,
            _ => return Err(NoCaller::Unreadable),
        };
        let mut caller: Registers = [None; COUNT];
        for number in CALLEE_SAVED {
            caller[number] = registers[number];
        }
        caller[RSP] = Some(cfa);
        let mut is_first = false;
        for (number, rule) in &row.registers {
            let found = match rule {
                Rule::Undefined => {
                    is_first |= *number == row.return_register;
                    None
                }
                Rule::Same => registers[*number],
                Rule::At(offset) => word(cfa.wrapping_add_signed(*offset)),
                Rule::Plus(offset) => Some(cfa.wrapping_add_signed(*offset)),
                Rule::Register(other, _) => registers.get(*other).copied().flatten(),
                Rule::AtExpression(bytes) => evaluate(bytes, registers, Some(cfa), word).ok().and_then(word),
                Rule::Expression(bytes) => evaluate(bytes, registers, Some(cfa), word).ok(),
            };
            caller[*number] = found;
        }
        if is_first {
            return Err(NoCaller::First);
        }
        caller[RIP] = caller[row.return_register];
        match caller[RIP] {
            None => Err(NoCaller::NotInStack),
            Some(0) => Err(NoCaller::First),
            Some(_) => Ok(Caller { registers: caller, is_interrupted: row.is_signal }),
        }
    }

    /// The step from the function at an address of the file to its caller, without its registers; none if it needs more than a [`Step`]
    /// says, or was interrupted by a signal.
    #[must_use]
    pub fn step(&self, address: u64) -> Option<Step> {
        const RETURN_ADDRESS: i64 = -8;
        let row = self.row(address).filter(|row| !row.is_signal)?;
        let Rule::Register(from @ (RSP | RBP), frame) = row.cfa else { return None };
        let mut step = Step { is_first: false, is_from_rbp: from == RBP, frame, saved_rbp: None };
        let mut returns = false;
        for (number, rule) in &row.registers {
            match rule {
                Rule::Undefined if *number == row.return_register => step.is_first = true,
                Rule::At(RETURN_ADDRESS) if *number == row.return_register => returns = true,
                Rule::At(offset) if *number == RBP => step.saved_rbp = Some(offset.checked_neg()?),
                Rule::Same if *number == RBP => {}
                _ if [row.return_register, RBP, RSP].contains(number) => return None,
                _ => {}
            }
        }
        (returns || step.is_first).then_some(step)
    }

    fn row(&self, address: u64) -> Option<Rc<Row>> {
        if let Some(known) = self.rows.borrow().get(&address) {
            return known.clone();
        }
        let row = self.read_row(address).map(Rc::new);
        self.rows.borrow_mut().insert(address, row.clone());
        row
    }

    fn read_row(&self, address: u64) -> Option<Row> {
        let after = self.entries.partition_point(|entry| entry.start <= address);
        let before = after.checked_sub(1).and_then(|at| self.entries.get(at));
        match before.filter(|entry| address < entry.end) {
            Some(entry) if entry.is_debug => {
                row(&self.debug(), &BaseAddresses::default(), entry.offset, address)
            }
            Some(entry) => row(&self.eh(), &self.eh_frame.bases(), entry.offset, address),
            None => self.is_start(address, before).then(Row::first),
        }
    }

    /// Whether an address without rules is in the code at which the kernel starts the file: no function with rules is between.
    fn is_start(&self, address: u64, before: Option<&Entry>) -> bool {
        self.start != 0
            && (self.start..self.start.saturating_add(START_BYTES)).contains(&address)
            && before.is_none_or(|entry| entry.start < self.start)
    }
}

impl Bytes {
    fn bases(&self) -> BaseAddresses {
        BaseAddresses::default().set_eh_frame(self.address)
    }
}

/// The ranges of the entries of a section.
fn index<'a, S: UnwindSection<Slice<'a>>>(
    section: &S,
    bases: &BaseAddresses,
    is_debug: bool,
    into: &mut Vec<Entry>,
) {
    // Thousands of entries share one header.
    let mut headers: HashMap<usize, CommonInformationEntry<Slice<'a>>> = HashMap::new();
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(part) = entry else { continue };
        let parsed = part.parse(|section, bases, offset| {
            if let Some(known) = headers.get(&UnwindOffset::into(offset)) {
                return Ok(known.clone());
            }
            let header = section.cie_from_offset(bases, offset)?;
            headers.insert(UnwindOffset::into(offset), header.clone());
            Ok(header)
        });
        let Ok(entry) = parsed else { continue };
        let start = entry.initial_address();
        let Some(end) = start.checked_add(entry.len()).filter(|end| start > 0 && *end > start) else {
            continue;
        };
        into.push(Entry { start, end, offset: entry.offset(), is_debug });
    }
}

/// The rules of an entry at an address.
fn row<'a, S: UnwindSection<Slice<'a>>>(
    section: &S,
    bases: &BaseAddresses,
    offset: usize,
    address: u64,
) -> Option<Row> {
    let entry = section.fde_from_offset(bases, S::Offset::from(offset), S::cie_from_offset).ok()?;
    let mut context = UnwindContext::new();
    let found = entry.unwind_info_for_address(section, bases, &mut context, address).ok()?;
    let bytes = |expression: &gimli::UnwindExpression<usize>| -> Option<Vec<u8>> {
        Some(expression.get(section).ok()?.0.slice().to_vec())
    };
    let cfa = match found.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => Rule::Register(register.0.into(), *offset),
        CfaRule::Expression(expression) => Rule::Expression(bytes(expression)?),
    };
    let mut registers = Vec::new();
    for (number, rule) in found.registers() {
        let number = usize::from(number.0);
        if number >= COUNT {
            continue;
        }
        let rule = match rule {
            RegisterRule::Undefined => Rule::Undefined,
            RegisterRule::SameValue => Rule::Same,
            RegisterRule::Offset(offset) => Rule::At(*offset),
            RegisterRule::ValOffset(offset) => Rule::Plus(*offset),
            RegisterRule::Register(other) => Rule::Register(other.0.into(), 0),
            RegisterRule::Expression(expression) => Rule::AtExpression(bytes(expression)?),
            RegisterRule::ValExpression(expression) => Rule::Expression(bytes(expression)?),
            _ => return None,
        };
        registers.push((number, rule));
    }
    let return_register = usize::from(entry.cie().return_address_register().0);
    (return_register < COUNT).then_some(())?;
    Some(Row { cfa, registers, return_register, is_signal: entry.is_signal_trampoline() })
}

fn value(registers: &Registers, number: usize) -> Result<u64, NoCaller> {
    registers.get(number).copied().flatten().ok_or(NoCaller::Unreadable)
}

/// The result of an expression.
fn evaluate(
    bytes: &[u8],
    registers: &Registers,
    cfa: Option<u64>,
    word: &dyn Fn(u64) -> Option<u64>,
) -> Result<u64, NoCaller> {
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 5 };
    let mut evaluation = Expression(EndianSlice::new(bytes, LittleEndian)).evaluation(encoding);
    evaluation.set_max_iterations(MOST_STEPS);
    if let Some(cfa) = cfa {
        evaluation.set_initial_value(cfa);
    }
    let mut result = evaluation.evaluate();
    loop {
        result = match result.map_err(|_| NoCaller::Unreadable)? {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = value(registers, register.0.into())?;
                evaluation.resume_with_register(Value::Generic(value))
            }
            EvaluationResult::RequiresMemory { address, size, .. } => {
                let all = word(address).ok_or(NoCaller::NotInStack)?;
                let bits = u32::from(size.min(8)) * 8;
                let value = if bits == 64 { all } else { all & ((1 << bits) - 1) };
                evaluation.resume_with_memory(Value::Generic(value))
            }
            _ => return Err(NoCaller::Unreadable),
        };
    }
    match evaluation.as_result() {
        [piece] => match piece.location {
            Location::Address { address } => Ok(address),
            Location::Value { value: Value::Generic(value) } => Ok(value),
            _ => Err(NoCaller::Unreadable),
        },
        _ => Err(NoCaller::Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUNCTION: u64 = 0x1000;

    /// One function of 16 bytes: at its start the return address is at rsp; from byte 1 on, rbp is saved, too.
    fn rules(changed: impl Fn(&mut Vec<u8>)) -> CallFrames {
        let mut bytes: Vec<u8> = Vec::new();
        // Header: version 1, no augmentation, factors 1 and -8, return address 16; CFA rsp + 8, r16 at CFA - 8.
        let header = [1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0];
        bytes.extend((4 + header.len() as u32).to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(header);
        let at = bytes.len() as u32;
        // After one byte: CFA rsp + 16, rbp at CFA - 16.
        let program = [0x41, 0x0e, 16, 0x86, 2, 0, 0, 0];
        bytes.extend((20 + program.len() as u32).to_le_bytes());
        bytes.extend((at + 4).to_le_bytes());
        bytes.extend(FUNCTION.to_le_bytes());
        bytes.extend(16_u64.to_le_bytes());
        bytes.extend(program);
        bytes.extend(0_u32.to_le_bytes());
        changed(&mut bytes);
        CallFrames::new(Some((0x9000, bytes)), None)
    }

    fn stack(address: u64) -> Option<u64> {
        (0x7000..0x7100).contains(&address).then_some(address | 0xabc0_0000)
    }

    fn registers(rsp: u64) -> Registers {
        let mut registers = [None; COUNT];
        (registers[RSP], registers[RBP], registers[3]) = (Some(rsp), Some(5), Some(9));
        registers
    }

    #[test]
    fn callers_have_the_saved_registers() {
        let rules = rules(|_| ());
        let caller = rules.caller(FUNCTION, &registers(0x7000), &stack).expect("a caller").registers;
        assert_eq!([caller[RIP], caller[RSP], caller[RBP]], [Some(0xabc0_7000), Some(0x7008), Some(5)]);
        let caller = rules.caller(FUNCTION + 1, &registers(0x7000), &stack).expect("a caller").registers;
        assert_eq!([caller[RIP], caller[RSP]], [Some(0xabc0_7008), Some(0x7010)]);
        assert_eq!([caller[RBP], caller[3], caller[0]], [Some(0xabc0_7000), Some(9), None]);
    }

    #[test]
    fn code_at_which_the_kernel_starts_a_file_has_no_caller() {
        let end = FUNCTION + 16;
        let caller = |rules: &CallFrames, address| rules.caller(address, &registers(0x7000), &stack).err();
        assert_eq!(caller(&rules(|_| ()), end), Some(NoCaller::NoRules), "it is not known");
        let behind = rules(|_| ()).with_start(end);
        assert_eq!(caller(&behind, end + 63), Some(NoCaller::First));
        assert_eq!(caller(&behind, end + 64), Some(NoCaller::NoRules));
        assert!(behind.step(end).is_some_and(|step| step.is_first));
        assert!(
            caller(&behind, FUNCTION).is_none() && caller(&behind, FUNCTION - 1) == Some(NoCaller::NoRules)
        );
        // A function with rules is between.
        assert_eq!(caller(&rules(|_| ()).with_start(FUNCTION - 8), end), Some(NoCaller::NoRules));
    }

    #[test]
    fn a_step_is_the_caller_without_values() {
        let step = rules(|_| ()).step(FUNCTION + 1).expect("a step");
        let expected = Step { is_first: false, is_from_rbp: false, frame: 16, saved_rbp: Some(16) };
        assert_eq!(step, expected);
        assert_eq!(rules(|_| ()).step(FUNCTION).map(|step| (step.frame, step.saved_rbp)), Some((8, None)));
        assert_eq!(rules(|_| ()).step(FUNCTION - 1), None);
        // The return address is undefined, or elsewhere; the end is counted from r12; rbp is in another register.
        let change = |at: usize, to: &'static [u8]| {
            rules(move |bytes| bytes[at..at + to.len()].copy_from_slice(to)).step(FUNCTION + 1)
        };
        assert_eq!(change(16, &[0x07, 16]).map(|step| step.is_first), Some(true));
        assert_eq!(change(17, &[2]), None);
        assert_eq!(change(14, &[12]), None);
        assert_eq!(change(47, &[0x09, 6, 3]), None);
    }

    #[test]
    fn nothing_is_guessed() {
        let rules = rules(|_| ());
        for address in [0, FUNCTION - 1, FUNCTION + 16, u64::MAX] {
            assert_eq!(
                rules.caller(address, &registers(0x7000), &stack),
                Err(NoCaller::NoRules),
                "{address:x}"
            );
        }
        assert_eq!(rules.caller(FUNCTION, &registers(0x8000), &stack), Err(NoCaller::NotInStack));
        assert_eq!(rules.caller(FUNCTION, &[None; COUNT], &stack), Err(NoCaller::Unreadable));
        assert_eq!(rules.caller(FUNCTION, &registers(0x7000), &|_| Some(0)), Err(NoCaller::First));
    }

    #[test]
    fn no_bytes_make_it_panic_or_run_for_ever() {
        for at in 0..72 {
            for value in [0, 1, 0x0f, 0x16, 0x7f, 0x80, 0xff] {
                let rules = rules(|bytes| {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = value;
                    }
                });
                for address in FUNCTION - 1..FUNCTION + 17 {
                    let _ = rules.caller(address, &registers(0x7000), &stack);
                }
            }
            rules(|bytes| bytes.truncate(at));
        }
        // An expression that jumps to itself.
        assert_eq!(evaluate(&[0x2f, 0xfd, 0xff], &[None; COUNT], None, &stack), Err(NoCaller::Unreadable));
        assert_eq!(evaluate(&[0x77, 8], &registers(0x7000), None, &stack), Ok(0x7008));
        assert_eq!(evaluate(&[0x77, 8, 0x06], &registers(0x7000), None, &stack), Ok(0xabc0_7008));
    }
}
