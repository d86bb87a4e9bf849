//! Invalid frees: a block that is given back twice, from its middle, or damaged. Prints a message and ends the program.
//!
//! ```text
//! free, realloc --> an element in use, with its header and the next header as written?      yes --> go on
//!               --> another thread's cell, or realloc's argument: carved, and of an extent in use? yes --> go on
//!                     | no
//!                     v
//!                   line on standard error, record in the ledger, abort of the C library
//! ```
//!
//! The program ends with SIGABRT in the same cases as with plain malloc. The message takes one system call and no storage. The
//! caller is known if the C library can say whose code is at an address. The return address is the first word on the stack when a
//! function here is entered by a jump, which the compiler makes of a tail call.
//!
//! When a thread frees a cell of its own, it is compared with the cell that was freed last. Every other check on that path costs
//! more than the permitted hundredth.
//! Instructions of a get and a free, and CPU time relative to no check, medians and minima of 7 to 31 rounds on a busy machine
//! with two processors (lifo, random-order and phases of `bench heap`):
//!
//! | check | instructions | lifo | random-order | phases |
//! |---|---|---|---|---|
//! | is it the cell that was freed last? | +2 | 1.00 | 0.99 to 1.01 | 0.98 to 1.01 |
//! | that, and: is it where a cell begins? | +7 | 0.99 to 1.11 | 0.95 to 1.10 | 1.00 to 1.03 |
//! | a word in the freed cell, looked at when it is freed, wiped when it is got | +4 | 1.10 to 1.11 | 1.06 | 1.17 to 1.18 |
//! | is each where a cell begins, and how many are there, when the list goes into the bin? | +11 | 1.07 to 1.08 | 1.18 to 1.40 | 1.26 to 1.31 |
//! | a bit for each cell, outside it | +24 | 1.20 | 1.23 | not measured |
//!
//! So a cell of the thread's own that is freed twice, with others freed in between, is noticed only when the bin is settled, if at
//! all. HEAPCHK(ON) makes every request an element, and knows who got and freed the block (`trace`, `zone`).
//!
//! Invariant: a program that frees each block once passes, whatever it wrote there.
//! Not here: how an element is checked (`space::soundness`), damage that is found elsewhere (`watch`), and the calls of the check: at every free and realloc (the parent).

use core::sync::atomic::Ordering;

use underbar_ledger::layout::OfEcb;
use underbar_ledger::{FaultKind, Key};
use underbar_sys::syscall;

use super::ecb;
use super::extent::Extent;
use super::map::{Descriptor, SEGMENT};
use super::slot;
use super::space::{self, PARKED};
use super::text::Text;
use super::thread::FILLING;
use super::trace::{self, Callers, Kind, Site};
use super::within;
use crate::coverage::{self, Code};
use crate::ledger;

/// A fault, as found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The address that the program gave.
    pub address: usize,
    /// The block in question.
    pub block: usize,
    /// Its usable bytes; 0: not known.
    pub bytes: usize,
}

/// Passes the return address on as the third argument, for functions that are entered by a jump.
macro_rules! with_caller {
    ($($(#[$about:meta])* $name:ident = $function:path;)*) => { $(
        $(#[$about])*
        #[unsafe(naked)]
        #[cold]
        pub unsafe extern "C" fn $name(_address: *mut u8, _second: usize) -> *mut u8 {
            core::arch::naked_asm!("mov rdx, qword ptr [rsp]", "jmp {}", sym $function)
        }
    )* };
}
pub(super) use with_caller;

with_caller! {
    /// Ends the program for a cell that could not be given back. The second argument is its extent.
    ///
    /// # Safety
    /// As free of C; the descriptor is that of the address's page.
    doubtful_free = doubtful_free_by;
}

unsafe extern "C" fn doubtful_free_by(address: *mut u8, extent: *mut Extent, caller: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    end("free", unsafe { look_closely(address as usize, extent) }, caller)
}

/// Ends the program for a cell that came back to its owner and is already free.
///
/// # Safety
/// The extent is the cell's.
#[cold]
#[inline(never)]
pub unsafe fn end_twice(address: usize, extent: *mut Extent) -> ! {
    // SAFETY: the caller's promise.
    let bytes = unsafe { (*extent).cell_bytes as usize };
    end("free", Fault { kind: FaultKind::DoubleFree, address, block: address, bytes }, 0)
}

/// The fault in giving a cell back; None if it is valid.
///
/// # Safety
/// The descriptor is that of the address's page, and no segment's.
#[inline]
pub unsafe fn fault_of_cell(address: usize, extent: *mut Extent) -> Option<Fault> {
    // SAFETY: descriptors stay readable. Only the extent's owner asks for the last freed cell.
    unsafe {
        let owner = (*extent).owner.load(Ordering::Relaxed);
        let sound = Extent::has_cell(extent, address)
            && owner != PARKED
            && !(owner & !FILLING == slot::get() as usize && (*extent).list as usize == address);
        if sound { None } else { Some(look_closely(address, extent)) }
    }
}

#[cold]
#[inline(never)]
unsafe fn look_closely(address: usize, extent: *mut Extent) -> Fault {
    // SAFETY: as the caller.
    unsafe {
        let around = (*extent).cell_around(address);
        let bytes = (*extent).cell_bytes as usize;
        let kind = match around {
            None => FaultKind::NoBlock,
            Some(cell) if cell != address => FaultKind::InsideBlock,
            Some(_) => FaultKind::DoubleFree,
        };
        Fault { kind, address, block: around.unwrap_or(address), bytes }
    }
}

/// The fault in giving an element back, judged by its header; its end is checked under the lock.
///
/// # Safety
/// The descriptor is that of the address's page, and a segment's.
#[inline]
pub unsafe fn fault_of_element(address: usize, segment: *mut Descriptor) -> Option<Fault> {
    // SAFETY: the caller's promise.
    unsafe { if space::looks_sound(address, segment) { None } else { space::look_closely(address, segment) } }
}

/// The fault in giving back a pointer into this heap.
///
/// # Safety
/// The descriptor is that of the address's page.
pub unsafe fn fault_of(address: usize, descriptor: *mut Descriptor) -> Option<Fault> {
    // SAFETY: the caller's promise.
    unsafe {
        if (*descriptor).owner.load(Ordering::Relaxed) == SEGMENT {
            fault_of_element(address, descriptor)
        } else {
            fault_of_cell(address, descriptor.cast())
        }
    }
}

/// The heap's own words about a block were overwritten: found when storage is got or pages are given back.
#[cold]
pub fn end_damaged(fault: Option<Fault>) -> ! {
    end("malloc", fault.unwrap_or(Fault { kind: FaultKind::NoBlock, address: 0, block: 0, bytes: 0 }), 0)
}

/// Prints what is wrong, and ends the program as the C library would.
#[cold]
#[inline(never)]
pub fn end(function: &'static str, fault: Fault, caller: usize) -> ! {
    end_for(&Finding { function, fault, callers: Site::of(caller).callers(), next: None })
}

/// A fault, where it was found, and by whom.
pub struct Finding {
    /// C name of the function that was called.
    pub function: &'static str,
    pub fault: Fault,
    /// The callers of that function.
    pub callers: Callers,
    /// The element behind the damaged one, if a walk found it: its address and size.
    pub next: Option<(usize, usize)>,
}

/// Prints a finding, and ends the program as the C library would.
#[cold]
#[inline(never)]
pub fn end_for(finding: &Finding) -> ! {
    unsafe extern "C" {
        safe fn abort() -> !;
    }
    record(finding);
    tell(finding);
    abort()
}

/// Prints a finding to standard error, as one line.
pub fn tell(finding: &Finding) {
    let mut text = Text::new();
    text.put("underbar: ");
    let stale = stale(&finding.fault);
    words(&mut text, finding.function, &finding.fault, stale.as_ref());
    if let Some(living) = living(&finding.fault) {
        inside(&mut text, &living);
    }
    if let Some((how, callers)) = origin(&finding.fault) {
        names(&mut text, how, &callers);
    }
    if let Some((next, bytes)) = finding.next {
        text.put(", before the block at ").address(next);
        size(&mut text, bytes);
    }
    names(&mut text, if is_access(finding.function) { "in" } else { "called by" }, &finding.callers);
    text.put("\n");
    // If the descriptor is closed, the program wants no message.
    let _ = syscall::write(2, text.as_bytes());
    if finding.fault.kind == FaultKind::Ended {
        ecb::tell_trace();
    }
}

/// Who made the block what it is: who freed one that is freed again, and who got any other.
fn origin(fault: &Fault) -> Option<(&'static str, Callers)> {
    let traced = |kind, address| trace::last(kind, address).map(|(callers, _)| callers);
    match fault.kind {
        FaultKind::DoubleFree => Some(("freed by", traced(Kind::Freed, fault.block)?)),
        FaultKind::InsideBlock | FaultKind::Overflow => {
            let got = traced(Kind::Got, fault.block);
            Some((
                "got by",
                got.or_else(|| {
                    Some(
                        Site::of(space::getter_of(fault.block).or_else(|| ecb::getter_of(fault.block))?)
                            .callers(),
                    )
                })?,
            ))
        }
        FaultKind::NoBlock | FaultKind::StackOverflow | FaultKind::Ended => None,
    }
}

/// Adds the places of callers, up to the first one that is in no module.
fn names(text: &mut Text, how: &str, callers: &Callers) {
    for (at, &caller) in callers.0.iter().enumerate() {
        let mut room = [0; 32];
        let Some(code) = code_at(caller, &mut room) else { break };
        match at {
            0 => text.put(", ").put(how).put(" "),
            _ => text.put(" < "),
        };
        text.put_bytes(code.module).put("+").address(code.offset);
    }
}

/// The owner of the code at an address: the program of the thread's enclave, which the system's loader does not know, or a module.
fn code_at(address: usize, room: &mut [u8; 32]) -> Option<Code<'_>> {
    let Some((name, offset)) = within::place_of(address) else { return coverage::code_at(address, room) };
    *room = name;
    let length = room.iter().position(|&byte| byte == 0).unwrap_or(room.len());
    Some(Code { module: &room[..length], offset })
}

/// Names of what is no function: an access by an instruction.
pub const READ: &str = "read access";
pub const WRITE: &str = "write access";

fn is_access(function: &str) -> bool {
    function == READ || function == WRITE
}

/// Tells and records an access to storage of an ended ECB, by the instruction at that address. False, with nothing done, if it is none.
/// It may be called by a handler of a signal.
pub fn tell_access(is_write: bool, address: usize, instruction: usize) -> bool {
    let fault = Fault { kind: FaultKind::Ended, address, block: address, bytes: 0 };
    if stale(&fault).is_none() {
        return false;
    }
    let function = if is_write { WRITE } else { READ };
    let finding = Finding { function, fault, callers: Site::of(instruction).callers(), next: None };
    record(&finding);
    tell(&finding);
    true
}

/// The ended ECB of a fault, if it is known.
fn stale(fault: &Fault) -> Option<ecb::Stale> {
    if fault.kind == FaultKind::Ended { ecb::stale_at(fault.address) } else { None }
}

/// The ECB of a buffer that was written past its end, or freed twice.
fn living(fault: &Fault) -> Option<ecb::Living> {
    matches!(fault.kind, FaultKind::Overflow | FaultKind::DoubleFree)
        .then(|| ecb::living_at(fault.block))
        .flatten()
}

/// In which ECB the block is, and its name.
fn inside(text: &mut Text, living: &ecb::Living) {
    text.put(", in ECB ").number(living.ecb, 0).put(" of class ");
    shown(text, living.class());
    if living.length > 0 {
        text.put(", named ");
        shown(text, &living.name[..living.length]);
    }
}

/// Bytes of a program's name, as far as they can be shown.
fn shown(text: &mut Text, name: &[u8]) {
    for byte in name {
        text.put_bytes(&[if byte.is_ascii_graphic() || *byte == b' ' { *byte } else { b'?' }]);
    }
}

/// Which ECB has ended, and the buffer.
fn ended(text: &mut Text, address: usize, stale: &ecb::Stale) {
    text.put(": its ECB ").number(stale.ecb, 0).put(" of class ");
    shown(text, stale.class.name());
    text.put(" has ended");
    if stale.bytes > 0 {
        match address - stale.buffer {
            0 => text.put(", a buffer of "),
            inside => text.put(", ").number(inside as u64, 0).put(" bytes into a buffer of "),
        };
        text.number(stale.bytes as u64, 0).put(" bytes");
    }
    if stale.length > 0 {
        text.put(" named ");
        shown(text, &stale.name[..stale.length]);
    }
}

fn words(text: &mut Text, function: &str, fault: &Fault, stale: Option<&ecb::Stale>) {
    let Fault { kind, address, block, bytes } = *fault;
    text.put(function).put(if is_access(function) { " to " } else { "(): " });
    match kind {
        FaultKind::DoubleFree => {
            text.put("double free of ").address(address);
            size(text, bytes);
        }
        FaultKind::InsideBlock => {
            text.put("invalid pointer ").address(address).put(", ").number((address - block) as u64, 0);
            text.put(" bytes into the block at ").address(block);
            size(text, bytes);
        }
        FaultKind::NoBlock => {
            text.put("invalid pointer ").address(address).put(": no block begins there");
        }
        FaultKind::Overflow => {
            text.put("overflow: the block at ").address(block);
            size(text, bytes);
            text.put(" was written past its end");
        }
        // No function of the heap finds one.
        FaultKind::StackOverflow => {}
        FaultKind::Ended => {
            text.put(if is_access(function) { "" } else { "invalid pointer " }).address(address);
            match stale {
                Some(stale) => ended(text, address, stale),
                None => _ = text.put(": its ECB has ended"),
            }
        }
    }
}

fn size(text: &mut Text, bytes: usize) {
    if bytes > 0 {
        text.put(" (").number(bytes as u64, 0).put(" bytes)");
    }
}

/// Records the fault in the ledger, for the report.
fn record(finding: &Finding) {
    let Finding { function, fault, callers, .. } = finding;
    if !is_access(function) {
        ledger::add(Key::HeapFaults, 1);
    }
    let (stale, living) = (stale(fault), living(fault));
    let (block, bytes) =
        stale.as_ref().map_or((fault.block, fault.bytes), |stale| (stale.buffer, stale.bytes));
    let origin = origin(fault);
    let mut rooms = [[0; 32]; 2];
    let [room, other_room] = &mut rooms;
    let caller = code_at(callers.0[0], room);
    let made = origin.and_then(|(_, callers)| code_at(callers.0[0], other_room));
    ledger::slot().fault.store(
        fault.kind,
        function,
        [fault.address, block, bytes].map(|word| word as u64),
        [&caller, &made].map(|code| code.as_ref().map(|code| (code.module, code.offset as u64))),
        match (&stale, &living) {
            (Some(stale), _) => {
                OfEcb { ecb: stale.ecb, class: stale.class.name(), tag: &stale.name[..stale.length] }
            }
            (None, Some(living)) => {
                OfEcb { ecb: living.ecb, class: living.class(), tag: &living.name[..living.length] }
            }
            (None, None) => OfEcb::default(),
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: FaultKind, bytes: usize) -> std::string::String {
        let mut text = Text::new();
        words(&mut text, "free", &Fault { kind, address: 0x1010, block: 0x1000, bytes }, None);
        std::string::String::from_utf8_lossy(text.as_bytes()).into_owned()
    }

    #[test]
    fn each_fault_is_named_with_address_and_size() {
        assert_eq!(told(FaultKind::DoubleFree, 64), "free(): double free of 0x1010 (64 bytes)");
        assert_eq!(told(FaultKind::DoubleFree, 0), "free(): double free of 0x1010");
        assert_eq!(
            told(FaultKind::InsideBlock, 64),
            "free(): invalid pointer 0x1010, 16 bytes into the block at 0x1000 (64 bytes)"
        );
        assert_eq!(told(FaultKind::NoBlock, 0), "free(): invalid pointer 0x1010: no block begins there");
        assert_eq!(
            told(FaultKind::Overflow, 100_008),
            "free(): overflow: the block at 0x1000 (100008 bytes) was written past its end"
        );
    }
}
