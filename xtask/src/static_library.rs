//! `cargo xtask static-library`: `libunderbar.a` and `libunderbar-static.a`, with which a C or C++ program has the runtime in itself.
//!
//! ```text
//! crates/preload as an archive ── ld -r ──> one object ── objcopy ──> its functions renamed ─┐
//!                                              └─ readelf ─> their names ─> table, stubs ────┴─ ld -r ─> objcopy ──> libunderbar.a
//! ```
//!
//! Each function of the preload library gets an entry, through which the function of its name jumps. `crates/preload/src/linked.rs` sets
//! the entries at the start. The second library is for programs without a loader (`-static`). It has the heap only, as the other
//! functions call those of the C library that they replace, which a loader finds.
//!
//! Invariant: an object defines for others the functions that the preload library exports, and `underbar_linked`; everything else in it is
//! its own, so that it meets no name of the program or of another Rust library.
//! Not here: the compiler's flags (`host/cli/nested.rs`).

#[path = "../../host/cli/nested.rs"]
#[allow(dead_code, reason = "the shared library is built elsewhere")]
mod nested;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::steps::{command, output, root, step, succeeds, target};

/// The program links this name if the library is in it.
const MARK: &str = "underbar_linked";
/// Room for a name in the table, as `linked.rs` has it.
const NAME: usize = 48;

/// A program that a loader starts with the first library gets this line from the linker, if there is no loader: the name is one of
/// the C library's that only such programs need.
const WITHOUT_LOADER: &str = "__libc_setup_tls";
const WARNING: &str = "libunderbar.a needs a loader: link libunderbar-static.a in programs with -static";

/// Functions of the heap.
const HEAP: [&str; 19] = [
    "malloc",
    "free",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "malloc_usable_size",
    "free_sized",
    "free_aligned_sized",
    "cfree",
    "malloc_trim",
    "mallopt",
    "mallinfo",
    "mallinfo2",
    "malloc_stats",
];

/// More names that glibc's archive has next to malloc: if one were missing, the linker would take both heaps, and complain.
/// The second is the function that it names; nothing: one that does nothing, as the other heap is not there.
const OF_GLIBC: [(&str, &str); 25] = [
    ("__malloc", "malloc"),
    ("__free", "free"),
    ("__calloc", "calloc"),
    ("__realloc", "realloc"),
    ("__memalign", "memalign"),
    ("__posix_memalign", "posix_memalign"),
    ("__valloc", "valloc"),
    ("__pvalloc", "pvalloc"),
    ("__malloc_usable_size", "malloc_usable_size"),
    ("__malloc_trim", "malloc_trim"),
    ("__mallopt", "mallopt"),
    ("__libc_mallopt", "mallopt"),
    ("__mallinfo", "mallinfo"),
    ("__libc_mallinfo", "mallinfo"),
    ("__mallinfo2", "mallinfo2"),
    ("__libc_mallinfo2", "mallinfo2"),
    ("__malloc_stats", "malloc_stats"),
    ("__malloc_info", "malloc_info"),
    ("__libc_reallocarray", "reallocarray"),
    ("__glibc_morecore", ""),
    ("__malloc_fork_lock_parent", ""),
    ("__malloc_fork_unlock_parent", ""),
    ("__malloc_fork_unlock_child", ""),
    ("__malloc_arena_thread_freeres", ""),
    ("__malloc_hugepage_config", ""),
];

/// Functions of the C library that the runtime takes if they are there: an archive gives only what is asked for.
const ASKED_FOR: [&str; 5] =
    ["__pthread_key_create", "pthread_key_delete", "pthread_setspecific", "pthread_atfork", "getauxval"];

/// The two libraries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    WithLoader,
    WithoutLoader,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::WithLoader => "libunderbar.a",
            Kind::WithoutLoader => "libunderbar-static.a",
        }
    }

    fn has(self, name: &str) -> bool {
        let is_heap = || {
            HEAP.contains(&name)
                || name == "malloc_info"
                || ["_Zn", "_Zd", "__libc_"].iter().any(|start| name.starts_with(start))
        };
        self == Kind::WithLoader || is_heap()
    }
}

/// Builds them, into the folder after `--out`, or `target/static-library`.
pub fn make(words: &[&str]) -> Result<bool, String> {
    let folder = match words {
        [] => root().join(target()).join("static-library"),
        ["--out", folder] => PathBuf::from(folder),
        _ => return Err("cargo xtask static-library [--out FOLDER]".to_owned()),
    };
    let Some(archive) = step("the preload library as an archive", build) else { return Ok(false) };
    Ok(step("libraries", || write(&archive, &folder)).is_some())
}

fn build() -> Option<PathBuf> {
    let wanted = nested::Wanted {
        cargo: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        root: &root(),
        target: &root().join(target()).join("preload-library"),
        triple: &nested::triple()?,
        features: "linked",
    };
    succeeds(&mut wanted.archive_command()).then(|| wanted.built_archive())
}

/// Makes the libraries of the archive; the files in the folder `parts` are steps on the way.
fn write(archive: &Path, folder: &Path) -> Option<()> {
    let parts = folder.join("parts");
    fs::create_dir_all(&parts).ok()?;
    let run =
        |program: &str, words: &[&str]| succeeds(command(program, words).current_dir(&parts)).then_some(());
    // Rust's own objects carry LLVM's code, of another version than the linker's plugin may know.
    let without = ["--strip-debug", "--remove-section=.llvmbc", "--remove-section=.llvmcmd"];
    run("objcopy", &[&without[..], &[archive.to_str()?, "clean.a"]].concat())?;
    run("ld", &["-r", "-u", "malloc", "-o", "whole.o", "clean.a"])?;
    let symbols = output(command("readelf", &["--symbols", "--wide", "whole.o"]).current_dir(&parts))?;
    let names = functions(&symbols);
    let renamed: String = names.iter().map(|name| format!("{name} underbar_own_{name}\n")).collect();
    fs::write(parts.join("renamed"), renamed).ok()?;
    run("objcopy", &["--redefine-syms=renamed", "whole.o", "own.o"])?;
    for kind in [Kind::WithLoader, Kind::WithoutLoader] {
        let names: Vec<&str> = names.iter().copied().filter(|name| kind.has(name)).collect();
        let (mut text, mut kept) = (entries(&names, kind), names.join("\n") + "\n" + MARK + "\n");
        match kind {
            Kind::WithLoader => {
                text += &format!(".section .gnu.warning.{WITHOUT_LOADER}\n.ascii \"{WARNING}\"\n")
            }
            Kind::WithoutLoader => {
                text += &more_names();
                kept.extend(OF_GLIBC.map(|(name, _)| format!("{name}\n")));
            }
        }
        fs::write(parts.join("entries.s"), text).ok()?;
        fs::write(parts.join("kept"), kept).ok()?;
        run("cc", &["-c", "entries.s", "-o", "entries.o"])?;
        run("ld", &["-r", "-o", "joined.o", "own.o", "entries.o"])?;
        run("objcopy", &["--keep-global-symbols=kept", "joined.o", "underbar.o"])?;
        // An archive is added to: it begins empty, under another name, so that no program is linked with half of it.
        let _ = fs::remove_file(parts.join("new.a"));
        run("ar", &["rcsD", "new.a", "underbar.o"])?;
        let path = folder.join(kind.name());
        fs::rename(parts.join("new.a"), &path).ok()?;
        println!("{}", path.display());
    }
    Some(())
}

/// The other names of functions of the heap, and references to functions of the C library.
fn more_names() -> String {
    let mut text = String::from(".text\nunderbar_nothing: ret\n");
    for (name, function) in OF_GLIBC {
        let _ = write!(text, ".globl {name}\n.type {name}, @function\n{name}: ");
        text += &match function {
            "" => "jmp underbar_nothing\n".to_owned(),
            function => format!("jmp {function}\n"),
        };
    }
    text += ".section .data.rel.ro, \"aw\", @progbits\n";
    for name in ASKED_FOR {
        let _ = writeln!(text, ".quad {name}");
    }
    text
}

/// The C functions that others may call, of the output of readelf: neither hidden ones nor those with names of Rust.
fn functions(symbols: &str) -> Vec<&str> {
    let function = |line: &'_ str| -> Option<usize> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [_, _, _, "FUNC", "GLOBAL", "DEFAULT", place, name] if place != "UND" => {
                let is_of_rust = ["_ZN", "_R", "rust_", "__rust"].iter().any(|start| name.starts_with(start));
                (!is_of_rust && name != "underbar_choose" && name.len() < NAME).then_some(name.len())
            }
            _ => None,
        }
    };
    let mut names: Vec<&str> = symbols
        .lines()
        .filter_map(|line| function(line).and_then(|length| line.get(line.len() - length..)))
        .collect();
    names.sort_unstable();
    names
}

/// The table, the entries, the functions that jump through them, and their stubs.
fn entries(names: &[&str], kind: Kind) -> String {
    const KEPT: [&str; 9] = ["rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11", "rax"];
    let mut text = String::from(".intel_syntax noprefix\n");
    // With nine words and eight bytes more, the stack is aligned for the call.
    text +=
        ".text\n.type underbar_first, @function\nunderbar_first:\n.cfi_startproc\n.cfi_adjust_cfa_offset 8\n";
    for register in KEPT {
        let _ = writeln!(text, "push {register}\n.cfi_adjust_cfa_offset 8");
    }
    text +=
        "sub rsp, 8\n.cfi_adjust_cfa_offset 8\ncall underbar_choose\nadd rsp, 8\n.cfi_adjust_cfa_offset -8\n";
    for register in KEPT.iter().rev() {
        let _ = writeln!(text, "pop {register}\n.cfi_adjust_cfa_offset -8");
    }
    text += "ret\n.cfi_endproc\n.size underbar_first, . - underbar_first\n";
    text += ".globl underbar_jumps\nunderbar_jumps:\n";
    let _ = writeln!(text, ".globl {MARK}\n.hidden {MARK}\n.set {MARK}, underbar_first");
    for (at, name) in names.iter().enumerate() {
        let _ = write!(
            text,
            ".p2align 4\n.globl {name}\n.type {name}, @function\n{name}:\n.cfi_startproc\n\
             jmp qword ptr underbar_entry_{at}[rip]\n.cfi_endproc\n.size {name}, . - {name}\n\
             .type underbar_stub_{at}, @function\nunderbar_stub_{at}:\n.cfi_startproc\ncall underbar_first\n\
             jmp qword ptr underbar_entry_{at}[rip]\n.cfi_endproc\n.size underbar_stub_{at}, . - underbar_stub_{at}\n"
        );
    }
    text += ".globl underbar_jumps_end\nunderbar_jumps_end:\n.data\n.p2align 6\n";
    for (at, name) in names.iter().enumerate() {
        // Without a loader there is nothing to choose, and the first call comes before the C library knows its program.
        let _ = match kind {
            Kind::WithLoader => writeln!(text, "underbar_entry_{at}: .quad underbar_stub_{at}"),
            Kind::WithoutLoader => writeln!(text, "underbar_entry_{at}: .quad underbar_own_{name}"),
        };
    }
    let has_loader = u8::from(kind == Kind::WithLoader);
    let _ = writeln!(text, ".globl underbar_has_loader\nunderbar_has_loader: .byte {has_loader}");
    text += ".section .data.rel.ro, \"aw\", @progbits\n.p2align 3\n.globl underbar_functions\nunderbar_functions:\n";
    for (at, name) in names.iter().enumerate() {
        let spare = NAME - name.len();
        let _ = writeln!(
            text,
            ".ascii \"{name}\"\n.zero {spare}\n.quad underbar_own_{name}, underbar_entry_{at}"
        );
    }
    text += ".globl underbar_functions_end\nunderbar_functions_end:\n";
    // By this note the preload library recognises the program.
    text += ".section .note.underbar, \"a\", @note\n.p2align 2\n.long 9, 4, 1\n.asciz \"underbar\"\n.p2align 2\n.long 1\n";
    text += ".section .note.GNU-stack, \"\", @progbits\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_c_are_taken_and_no_others() {
        let symbols = "\
   Num:    Value          Size Type    Bind   Vis      Ndx Name
     1: 0000000000000000    66 FUNC    GLOBAL DEFAULT    9 malloc
     2: 0000000000000000    66 FUNC    LOCAL  DEFAULT    9 local
     3: 0000000000000000    66 FUNC    GLOBAL HIDDEN     9 hidden
     4: 0000000000000000     8 OBJECT  GLOBAL DEFAULT   10 data
     5: 0000000000000000     8 FUNC    GLOBAL DEFAULT    9 _ZN7runtime4heap6malloc17h0E
     6: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND abort
     7: 0000000000000000     0 FUNC    GLOBAL DEFAULT    9 underbar_choose
     8: 0000000000000000    66 FUNC    GLOBAL DEFAULT    9 _Znwm
";
        assert_eq!(functions(symbols), ["_Znwm", "malloc"]);
    }

    #[test]
    fn each_function_has_an_entry_a_stub_and_a_row() {
        let text = entries(&["malloc", "free"], Kind::WithLoader);
        for wanted in [
            ".globl free",
            "jmp qword ptr underbar_entry_1[rip]",
            "underbar_entry_0: .quad underbar_stub_0",
            ".ascii \"free\"\n.zero 44\n.quad underbar_own_free, underbar_entry_1",
        ] {
            assert!(text.contains(wanted), "{wanted}");
        }
        let text = entries(&["malloc", "free"], Kind::WithoutLoader);
        assert!(text.contains("underbar_entry_1: .quad underbar_own_free"));
    }
}
