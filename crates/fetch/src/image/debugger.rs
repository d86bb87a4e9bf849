//! Reports programs to debuggers, by the interface of gdb and lldb for code that no loader has loaded.
//!
//! ```text
//! __jit_debug_descriptor ──> entry ──> entry ──> ...        each points to an ELF file in memory:
//! __jit_debug_register_code(): a debugger stops here          header | frames | symbols | names | sections
//! ```
//!
//! The file gives the address of the program's code and its functions, with their addresses in this process, and its frames,
//! so that a debugger can unwind through it. Lines and variables need the program's file: gdb's
//! `add-symbol-file FILE -o BIAS`.
//!
//! Invariant: an entry and its file do not change until the debugger was told that they go.
//! Not here: symbols that are not exported: loading does not read the file that contains them.

use core::ptr::{NonNull, null_mut};

use underbar_sys::syscall::Errno;

use crate::arena;
use crate::elf::{Layout, Tables};
use crate::reentrant::Again;

/// The interface's entry.
#[repr(C)]
struct Entry {
    next: *mut Entry,
    before: *mut Entry,
    file: *const u8,
    size: u64,
}

/// The interface's root.
#[repr(C)]
struct Descriptor {
    version: u32,
    action: u32,
    relevant: *mut Entry,
    first: *mut Entry,
}

// Weak: a program that contains another compiler has these names already, and both share them.
core::arch::global_asm!(
    ".pushsection .text.__jit_debug_register_code,\"ax\",@progbits",
    ".weak __jit_debug_register_code",
    ".type __jit_debug_register_code,@function",
    "__jit_debug_register_code:",
    "ret",
    ".size __jit_debug_register_code, 1",
    ".popsection",
    ".pushsection .data.__jit_debug_descriptor,\"aw\",@progbits",
    ".weak __jit_debug_descriptor",
    ".type __jit_debug_descriptor,@object",
    ".balign 8",
    "__jit_debug_descriptor:",
    ".long 1",
    ".long 0",
    ".quad 0",
    ".quad 0",
    ".size __jit_debug_descriptor, 24",
    ".popsection",
);

unsafe extern "C" {
    fn __jit_debug_register_code();
    static mut __jit_debug_descriptor: Descriptor;
}

static LOCK: Again<()> = Again::new(());

/// The lock, for fork.
pub(crate) fn hold() {
    LOCK.hold();
}

/// # Safety
/// After [`hold`], in the same thread or its copy.
pub(crate) unsafe fn release() {
    // SAFETY: the caller's promise.
    unsafe { LOCK.release() }
}

/// A program that debuggers know.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    entry: NonNull<Entry>,
    file: NonNull<u8>,
    size: usize,
}

/// Reports a program to debuggers. `frames` is the address of its frames and their length in bytes.
///
/// # Errors
/// No storage.
pub fn tell(
    bias: usize,
    layout: &Layout,
    tables: &Tables<'_>,
    frames: Option<(u64, u64)>,
) -> Result<Option<Known>, Errno> {
    let plan = Plan::of(bias, layout, tables, frames);
    if plan.symbols == 0 {
        return Ok(None);
    }
    let file = arena::get(plan.size())?;
    plan.write(file.as_ptr(), tables);
    let entry = Entry { next: null_mut(), before: null_mut(), file: file.as_ptr(), size: plan.size() as u64 };
    let entry = match arena::keep(entry) {
        Ok(entry) => entry,
        Err(errno) => {
            // SAFETY: got above, not visible to others.
            unsafe { arena::put(file, plan.size()) };
            return Err(errno);
        }
    };
    // SAFETY: the interface's structures, changed under the lock; entries in the list are valid until untold.
    LOCK.with(|_| unsafe {
        let descriptor = &raw mut __jit_debug_descriptor;
        let first = (*descriptor).first;
        (*entry.as_ptr()).next = first;
        if let Some(first) = first.as_mut() {
            first.before = entry.as_ptr();
        }
        (*descriptor).first = entry.as_ptr();
        announce(REGISTER, entry.as_ptr());
    });
    Ok(Some(Known { entry, file, size: plan.size() }))
}

/// Tells debuggers that a program goes away.
///
/// # Safety
/// It was told, and not untold since.
pub unsafe fn untell(known: Known) {
    // SAFETY: as in `tell`; the entry is not used after this.
    unsafe {
        LOCK.with(|_| {
            let Entry { next, before, .. } = *known.entry.as_ptr();
            match before.as_mut() {
                Some(before) => before.next = next,
                None => __jit_debug_descriptor.first = next,
            }
            if let Some(next) = next.as_mut() {
                next.before = before;
            }
            announce(UNREGISTER, known.entry.as_ptr());
        });
        arena::take(known.entry);
        arena::put(known.file, known.size);
    }
}

const REGISTER: u32 = 1;
const UNREGISTER: u32 = 2;

unsafe fn announce(action: u32, entry: *mut Entry) {
    // SAFETY: under the lock; the function does nothing but let a debugger stop.
    unsafe {
        let descriptor = &raw mut __jit_debug_descriptor;
        (*descriptor).action = action;
        (*descriptor).relevant = entry;
        __jit_debug_register_code();
        (*descriptor).action = 0;
        (*descriptor).relevant = null_mut();
    }
}

// ---- the file --------------------------------------------------------------------------------------------

const HEADER: usize = 64;
const SECTION: usize = 64;
const SYMBOL: usize = 24;
/// Nothing, code, frames, symbols, names, names of sections.
const SECTIONS: usize = 6;
const SECTION_NAMES: &[u8] = b"\0.text\0.eh_frame\0.symtab\0.strtab\0.shstrtab\0";

/// The layout of the file.
struct Plan {
    bias: usize,
    code: (u64, u64),
    frames: Option<(u64, u64)>,
    /// Functions.
    symbols: usize,
    /// Bytes of their names.
    names: usize,
}

impl Plan {
    fn of(bias: usize, layout: &Layout, tables: &Tables<'_>, frames: Option<(u64, u64)>) -> Plan {
        let code = layout.segments().iter().filter(|segment| segment.is_executable());
        let code = code
            .fold((u64::MAX, 0), |(low, high), segment| (low.min(segment.address), high.max(segment.end())));
        let mut plan =
            Plan { bias, code: (code.0, code.1.saturating_sub(code.0)), frames, symbols: 0, names: 1 };
        let (mut symbols, mut names) = (0, 1);
        plan.functions(tables, |_, length| (symbols, names) = (symbols + 1, names + length + 1));
        (plan.symbols, plan.names) = (symbols, names);
        plan
    }

    /// Each function of the program: its number, and the length of its name.
    fn functions(&self, tables: &Tables<'_>, mut take: impl FnMut(u32, usize)) {
        for number in 1..tables.count() {
            if let Some(symbol) = tables.symbol(number)
                && symbol.is_defined()
                && symbol.is_function()
                && symbol.value.wrapping_sub(self.code.0) < self.code.1
                && let Ok((_, length)) = tables.name(number, &symbol)
            {
                take(number, length);
            }
        }
    }

    fn frames_at(&self) -> usize {
        HEADER
    }

    fn symbols_at(&self) -> usize {
        (self.frames_at() + self.frames.map_or(0, |(_, size)| size as usize)).next_multiple_of(8)
    }

    fn names_at(&self) -> usize {
        // The first symbol is none.
        self.symbols_at() + (self.symbols + 1) * SYMBOL
    }

    fn sections_at(&self) -> usize {
        (self.names_at() + self.names + SECTION_NAMES.len()).next_multiple_of(8)
    }

    fn size(&self) -> usize {
        self.sections_at() + SECTIONS * SECTION
    }

    fn write(&self, file: *mut u8, tables: &Tables<'_>) {
        // SAFETY: `file` has `size()` bytes, which belong to this module, and nothing reads them yet.
        let bytes = unsafe {
            file.write_bytes(0, self.size());
            core::slice::from_raw_parts_mut(file, self.size())
        };
        let (symbols_at, names_at, sections_at) = (self.symbols_at(), self.names_at(), self.sections_at());
        let section_names_at = names_at + self.names;
        put(bytes, 0, b"\x7fELF\x02\x01\x01");
        // A shared object, so that addresses are taken literally; for x86-64; version 1.
        put(bytes, 16, &3_u16.to_le_bytes());
        put(bytes, 18, &62_u16.to_le_bytes());
        put(bytes, 20, &1_u32.to_le_bytes());
        put(bytes, 40, &(sections_at as u64).to_le_bytes());
        put(bytes, 52, &(HEADER as u16).to_le_bytes());
        put(bytes, 58, &(SECTION as u16).to_le_bytes());
        put(bytes, 60, &(SECTIONS as u16).to_le_bytes());
        put(bytes, 62, &(SECTIONS as u16 - 1).to_le_bytes());
        if let Some((address, size)) = self.frames {
            let from = self.bias.wrapping_add(address as usize) as *const u8;
            if let Some(into) = bytes.get_mut(HEADER..HEADER + size as usize) {
                // SAFETY: the frames of the loaded program, found within their segment; the file is elsewhere.
                unsafe { core::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), size as usize) };
            }
        }
        let (mut symbol_at, mut name_at) = (symbols_at + SYMBOL, names_at + 1);
        let bias = self.bias as u64;
        self.functions(tables, |number, length| {
            let Some(symbol) = tables.symbol(number) else { return };
            put(bytes, symbol_at, &((name_at - names_at) as u32).to_le_bytes());
            // A global function of section 1.
            put(bytes, symbol_at + 4, &[0x12, 0, 1, 0]);
            put(bytes, symbol_at + 8, &bias.wrapping_add(symbol.value).to_le_bytes());
            put(bytes, symbol_at + 16, &symbol.size.to_le_bytes());
            for at in 0..length {
                let byte = tables.names().read::<u8>(symbol.name as usize + at).unwrap_or(0);
                put(bytes, name_at + at, &[byte]);
            }
            symbol_at += SYMBOL;
            name_at += length + 1;
        });
        put(bytes, section_names_at, SECTION_NAMES);
        let code = bias.wrapping_add(self.code.0);
        let (frames, frames_size) = self.frames.unwrap_or((0, 0));
        let at = |place: usize| place as u64;
        // Name, kind, flags, address, place, size, link, information, alignment, size of an entry.
        let rows: [[u64; 10]; SECTIONS] = [
            [0; 10],
            [1, 8, 6, code, at(HEADER), self.code.1, 0, 0, 16, 0],
            [7, 1, 2, bias.wrapping_add(frames), at(HEADER), frames_size, 0, 0, 8, 0],
            [17, 2, 0, 0, at(symbols_at), at(names_at - symbols_at), 4, 1, 8, at(SYMBOL)],
            [25, 3, 0, 0, at(names_at), at(self.names), 0, 0, 1, 0],
            [33, 3, 0, 0, at(section_names_at), at(SECTION_NAMES.len()), 0, 0, 1, 0],
        ];
        for (row, number) in rows.iter().zip(0..) {
            let [name, kind, flags, address, place, size, link, information, alignment, entry] = *row;
            let start = sections_at + number * SECTION;
            put(bytes, start, &(name as u32).to_le_bytes());
            put(bytes, start + 4, &(kind as u32).to_le_bytes());
            put(bytes, start + 40, &(link as u32).to_le_bytes());
            put(bytes, start + 44, &(information as u32).to_le_bytes());
            for (value, at) in
                [(flags, 8), (address, 16), (place, 24), (size, 32), (alignment, 48), (entry, 56)]
            {
                put(bytes, start + at, &value.to_le_bytes());
            }
        }
    }
}

/// Writes bytes into the file, if there is room for them, as the plan provides.
fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(into) = bytes.get_mut(at..at + value.len()) {
        into.copy_from_slice(value);
    }
}
