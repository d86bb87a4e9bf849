//! Programs made without a compiler: shared objects with one exported function, text of any size, relocations of any number.
//!
//! ```text
//! offset 0   ELF header, 4 program headers             } segment 1, read and execute
//!            names and symbol (2), hash, relocations   }
//!            text: 8 bytes of code, then an array      }
//! next 16    dynamic section (16 bytes an entry)       \ segment 2, read and write, a page further in memory
//!            the address of malloc, if it is called    |
//!            rows: a pointer and 56 bytes each         |
//! next page  data that the constructor writes          /
//!            section headers: for tools, and for code that finds functions by sections
//! ```
//!
//! Invariant: the same arguments give the same bytes. Code runs at LOAD only if there is data to write. The programs need only
//! the loader.
//! Not here: libraries (`workshop`).

use underbar_fetch::nested::By;

/// The description of a program.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// The function that it exports: adds 1 to its argument.
    pub function: &'static str,
    /// Bytes of text, at least the 8 of the function.
    pub text: usize,
    /// Rows of data, each with a pointer to be relocated.
    pub relocations: usize,
    /// Bytes of data: whole pages; the constructor writes each of them.
    pub written: usize,
    /// What the function does.
    pub action: Action,
}

/// What a program's function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Adds 1 to its argument.
    AddOne,
    /// Gets storage, and calls the function whose address its argument has as a text (`underbar_fetch::nested`).
    Nest(By),
}

/// `lea eax, [rdi + 1]; ret`, and four times `nop`.
const ADD_ONE: [u8; 8] = [0x8d, 0x47, 0x01, 0xc3, 0x90, 0x90, 0x90, 0x90];
/// The storage that a nested program gets: the heap used of the smallest program in the document on storage.
pub const NESTED_GETS: u32 = 3_328;
/// The name of the function that a nested program gets it by.
const IMPORT: &[u8] = b"malloc\0";
/// Bytes of the constructor's code, with room for the instructions of `writing_code`.
const WRITING: usize = 32;
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const SYMBOL: usize = 24;
const SECTION: usize = 64;
const RELOCATION: usize = 24;
/// Bytes of a row of data: a pointer and its filler.
const ROW: usize = 64;
const PAGE: usize = 4096;
/// Names of sections, and the offset of each.
const SECTIONS: &[u8] = b"\0.dynsym\0.dynstr\0.dynamic\0.shstrtab\0";

impl Module {
    /// A program that has only text, and whose function adds 1.
    pub const fn of(function: &'static str, text: usize) -> Module {
        Module { function, text, relocations: 0, written: 0, action: Action::AddOne }
    }

    /// Does it call malloc?
    fn imports(&self) -> bool {
        self.action != Action::AddOne
    }

    /// The bytes of its file.
    pub fn bytes(&self) -> Vec<u8> {
        let own_name = self.function.len() + 2;
        let import: &[u8] = if self.imports() { IMPORT } else { b"" };
        let names: Vec<u8> = [b"\0", self.function.as_bytes(), b"\0", import].concat();
        let count = 2 + usize::from(self.imports());
        let symbols = HEADER + 4 * PROGRAM_HEADER;
        let strings = symbols + count * SYMBOL;
        let hash = (strings + names.len()).next_multiple_of(8);
        // One bucket, a chain for each symbol.
        let relocations = (hash + (3 + count) * 4).next_multiple_of(8);
        let all = self.relocations + usize::from(self.imports());
        let code = (relocations + all * RELOCATION).next_multiple_of(16);
        let length = if self.imports() { NEST } else { ADD_ONE.len() };
        let constructor = code + length;
        let writing = if self.written > 0 { WRITING } else { 0 };
        let end_of_text = code + self.text.max(length + writing);
        let dynamic = end_of_text.next_multiple_of(16);
        // In memory a page further on, so that no page belongs to two segments.
        let data_at = |offset: usize| (offset + PAGE) as u64;
        let entries = self.dynamic(symbols, strings, names.len(), hash, relocations, constructor);
        let import = (dynamic + entries.len()).next_multiple_of(16);
        let rows = import + if self.imports() { 16 } else { 0 };
        let end_of_rows = rows + self.relocations * ROW;
        let written = if self.written > 0 { end_of_rows.next_multiple_of(PAGE) } else { end_of_rows };
        let end_of_data = written + self.written;
        let section_names = end_of_data;
        let sections = (section_names + SECTIONS.len()).next_multiple_of(8);

        let mut file = Bytes(Vec::with_capacity(sections + 5 * SECTION));
        file.bytes(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0]).pad_to(16);
        file.halves(&[3, 62]).words(&[1]).giants(&[0, HEADER as u64, sections as u64]).words(&[0]);
        file.halves(&[HEADER as u16, PROGRAM_HEADER as u16, 4, SECTION as u16, 5, 4]);
        let mut segment = |kind: u32, rights: u32, from: usize, address: u64, size: usize, alignment: u64| {
            file.words(&[kind, rights]).giants(&[from as u64, address, address]);
            file.giants(&[size as u64, size as u64, alignment]);
        };
        segment(1, 5, 0, 0, end_of_text, PAGE as u64);
        segment(1, 6, dynamic, data_at(dynamic), end_of_data - dynamic, PAGE as u64);
        segment(2, 6, dynamic, data_at(dynamic), entries.len(), 8);
        // GNU_STACK: no executable stack.
        segment(0x6474_e551, 6, 0, 0, 0, 16);

        file.pad_to(symbols + SYMBOL);
        // A global function of section 1: any number but 0 says that it is defined here.
        file.words(&[1]).bytes(&[0x12, 0]).halves(&[1]).giants(&[code as u64, length as u64]);
        if self.imports() {
            // A global function of another file.
            file.words(&[own_name as u32]).bytes(&[0x12, 0]).halves(&[0]).giants(&[0, 0]);
        }
        file.bytes(&names).pad_to(hash);
        file.words(&[1, count as u32, 1, 0, 0]).pad_to(relocations);
        for row in 0..self.relocations {
            // Relative to the program's base address: each row points at the code.
            file.giants(&[data_at(rows + row * ROW), 8, code as u64]);
        }
        if self.imports() {
            // The address of symbol 2.
            file.giants(&[data_at(import), 2 << 32 | 6, 0]);
        }
        file.pad_to(code);
        match self.action {
            Action::AddOne => file.bytes(&ADD_ONE),
            Action::Nest(by) => file.bytes(&nesting_code(by, data_at(import) - code as u64)),
        };
        if self.written > 0 {
            file.bytes(&writing_code(data_at(written) - constructor as u64, self.written / PAGE));
        }
        file.array(end_of_text);
        file.pad_to(dynamic);
        file.bytes(&entries).pad_to(end_of_data);
        file.bytes(SECTIONS).pad_to(sections + SECTION);
        let mut section = |name: u32, kind: u32, at: (u64, usize, usize), link: u32, entry: u64| {
            let (address, from, size) = at;
            file.words(&[name, kind]).giants(&[2, address, from as u64, size as u64]);
            file.words(&[link, 1]).giants(&[8, entry]);
        };
        section(1, 11, (symbols as u64, symbols, count * SYMBOL), 2, SYMBOL as u64);
        section(9, 3, (strings as u64, strings, names.len()), 0, 0);
        section(17, 6, (data_at(dynamic), dynamic, entries.len()), 2, 16);
        section(26, 3, (0, section_names, SECTIONS.len()), 0, 0);
        file.0
    }

    /// The dynamic section.
    fn dynamic(
        &self,
        symbols: usize,
        strings: usize,
        names: usize,
        hash: usize,
        relocations: usize,
        constructor: usize,
    ) -> Vec<u8> {
        let mut section = Bytes(Vec::new());
        let mut entry = |tag: u64, value: usize| {
            section.giants(&[tag, value as u64]);
        };
        entry(4, hash);
        entry(5, strings);
        entry(6, symbols);
        entry(10, names);
        entry(11, SYMBOL);
        if self.relocations > 0 || self.imports() {
            entry(7, relocations);
            entry(8, (self.relocations + usize::from(self.imports())) * RELOCATION);
            entry(9, RELOCATION);
            // The number of relative relocations.
            entry(0x6fff_fff9, self.relocations);
        }
        if self.written > 0 {
            entry(12, constructor);
        }
        entry(0, 0);
        section.0
    }
}

/// Bytes of the code of [`Action::Nest`].
const NEST: usize = 72;

/// Code that gets storage, writes its first byte, and calls what its argument names; the address of malloc is `distance` bytes
/// away.
fn nesting_code(by: By, distance: u64) -> [u8; NEST] {
    let mut code = [0x90; NEST];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        code[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
        at
    };
    // push rbx
    put(&[0x53]);
    match by {
        // main: the text is the second argument. mov rbx, [rsi + 8]
        By::Link => put(&[0x48, 0x8b, 0x5e, 0x08]),
        // An entry: it is the parameter. mov rbx, rdi; nop
        By::Call => put(&[0x48, 0x89, 0xfb, 0x90]),
    };
    // mov edi, size; call [rip + distance]
    put(&[0xbf]);
    put(&NESTED_GETS.to_le_bytes());
    let call = put(&[0xff, 0x15]) + 4;
    put(&(distance as u32 - call as u32).to_le_bytes());
    // test rax, rax; jz over; mov byte ptr [rax], 1
    put(&[0x48, 0x85, 0xc0, 0x74, 0x03, 0xc6, 0x00, 0x01]);
    // xor eax, eax; mov ecx, 16
    put(&[0x31, 0xc0, 0xb9, 0x10, 0x00, 0x00, 0x00]);
    // movzx edx, byte ptr [rbx]; sub edx, 'a'; shl rax, 4; or rax, rdx; inc rbx; dec ecx; jnz to the first of these
    put(&[0x0f, 0xb6, 0x13, 0x83, 0xea, 0x61, 0x48, 0xc1, 0xe0, 0x04, 0x48, 0x09, 0xd0]);
    put(&[0x48, 0xff, 0xc3, 0xff, 0xc9, 0x75, 0xec]);
    // call rax; xor eax, eax; pop rbx; ret
    put(&[0xff, 0xd0, 0x31, 0xc0, 0x5b, 0xc3]);
    code
}

/// Code that adds 1 to the first byte of each page; the first page is `distance` bytes away.
fn writing_code(distance: u64, pages: usize) -> [u8; WRITING] {
    const LEA: usize = 7;
    let mut code = [0x90; WRITING];
    let mut put = |at: usize, bytes: &[u8]| code[at..at + bytes.len()].copy_from_slice(bytes);
    // lea rax, [rip + distance]
    put(0, &[0x48, 0x8d, 0x05]);
    put(3, &(distance as u32 - LEA as u32).to_le_bytes());
    // mov ecx, pages
    put(LEA, &[0xb9]);
    put(8, &(pages as u32).to_le_bytes());
    // inc byte ptr [rax]; add rax, 4096; dec ecx; jnz to the first of these; ret
    put(12, &[0xfe, 0x00, 0x48, 0x05, 0x00, 0x10, 0x00, 0x00, 0xff, 0xc9, 0x75, 0xf4, 0xc3]);
    code
}

/// A file while it is written, front to back, little-endian.
struct Bytes(Vec<u8>);

impl Bytes {
    fn bytes(&mut self, bytes: &[u8]) -> &mut Bytes {
        self.0.extend_from_slice(bytes);
        self
    }

    fn halves(&mut self, values: &[u16]) -> &mut Bytes {
        values.iter().for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
        self
    }

    fn words(&mut self, values: &[u32]) -> &mut Bytes {
        values.iter().for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
        self
    }

    fn giants(&mut self, values: &[u64]) -> &mut Bytes {
        values.iter().for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
        self
    }

    fn pad_to(&mut self, offset: usize) -> &mut Bytes {
        debug_assert!(self.0.len() <= offset, "parts follow each other");
        self.0.resize(offset, 0);
        self
    }

    /// The constant array, up to an offset: pseudorandom bytes, so that none can be left out.
    fn array(&mut self, end: usize) -> &mut Bytes {
        let mut value = 1_u32;
        while self.0.len() < end {
            value = value.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.0.push((value >> 24) as u8);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt as _;
    use std::sync::Mutex;

    /// The loader's statistics are those of the process, so one test at a time.
    static ALONE: Mutex<()> = Mutex::new(());

    /// Both loaders take them; underbar's loader never falls back to the system's.
    #[test]
    fn both_loaders_load_them() {
        let _alone = ALONE.lock();
        let folder = std::env::temp_dir().join(format!("underbar-module-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = |path: &std::path::Path| CString::new(path.as_os_str().as_bytes()).expect("a path");
        for (text, relocations, written) in [
            (8, 0, 0),
            (424, 0, 0),
            (5_000, 0, 0),
            (264 << 10, 0, 0),
            (8, 1, 0),
            (100, 10_000, 0),
            (8, 0, 4 << 10),
            (100, 10, 256 << 10),
        ] {
            let module = Module { relocations, written, ..Module::of("PROGRAM", text) };
            let file = folder.join("PROGRAM.so");
            std::fs::write(&file, module.bytes()).expect("written");
            let library = underbar_fetch::table::open(&path(&folder), true).expect("a library");
            let before = underbar_fetch::table::statistics();
            underbar_fetch::repeat::load_and_delete(library, b"PROGRAM", 2).expect("loaded");
            let now = underbar_fetch::table::statistics();
            assert_eq!(now.fetches - before.fetches, 2, "{module:?}");
            assert_eq!(now.fallbacks, before.fallbacks, "{module:?}");
            let relocated = now.relative_relocations - before.relative_relocations;
            assert_eq!(relocated % relocations.max(1) as u64, 0);
            assert_eq!(relocated > 0, relocations > 0, "{module:?}");
            underbar_fetch::table::close(library).expect("open");
            assert_eq!(underbar_fetch::repeat::open_and_close(&path(&file), 2), Ok(()), "{module:?}");
            let name = underbar_partitioned::name::Name::new(b"PROGRAM").expect("a name");
            let addition = underbar_store::change::Addition::new(name, module.bytes(), None, 0);
            assert!(addition.expect("a program").entry_point.is_some(), "its function is found");
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn the_smallest_one_is_one_block_of_the_smallest_size_compared() {
        let tiny = Module::of("IEFBR14", 8);
        assert!(tiny.bytes().len() < 6_144, "{}", tiny.bytes().len());
        assert_eq!(tiny.bytes(), tiny.bytes());
    }

    /// Each of three programs runs the next one, and the last one a function.
    #[test]
    fn programs_nest_by_link_and_by_call() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static ARRIVALS: AtomicUsize = AtomicUsize::new(0);
        let _alone = ALONE.lock();
        let folder = std::env::temp_dir().join(format!("underbar-nest-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        for by in [By::Link, By::Call] {
            for name in ["ONE", "TWO", "THREE"] {
                let module = Module { action: Action::Nest(by), ..Module::of("main", 8) };
                std::fs::write(folder.join(name).with_extension("so"), module.bytes()).expect("written");
            }
            let path = CString::new(folder.as_os_str().as_bytes()).expect("a path");
            let library = underbar_fetch::table::open(&path, true).expect("a library");
            let names: [&'static [u8]; 3] = [b"ONE", b"TWO", b"THREE"];
            let before = ARRIVALS.load(Ordering::Relaxed);
            underbar_fetch::nested::nested(library, by, &names, || {
                ARRIVALS.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap_or_else(|error| panic!("{by:?}: {error}"));
            assert_eq!(ARRIVALS.load(Ordering::Relaxed), before + 1, "{by:?}");
            underbar_fetch::table::close(library).expect("open");
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
