//! Special requirements of single tests, and those that fail under underbar, each with its reason: the only lists of tests.
//!
//! Invariant: an exception asserts an internal of the C library, on which no program could depend.
//! A difference that a program could notice is
//! a fault of ours and is corrected.

/// Requirements of a test besides the usual call of the compiler and the usual run.
#[derive(Debug, Clone, Copy)]
pub struct Special {
    pub name: &'static str,
    /// Of the compiler.
    pub flags: &'static [&'static str],
    /// Other sources, next to the test's.
    pub sources: &'static [&'static str],
    /// Modules that it is linked with.
    pub libraries: &'static [&'static str],
    /// `{programs}` is the folder of the programs.
    pub arguments: &'static [&'static str],
    pub environment: &'static [(&'static str, &'static str)],
}

const USUAL: Special =
    Special { name: "", flags: &[], sources: &[], libraries: &[], arguments: &[], environment: &[] };

/// The C library's own debugging heap, which precedes malloc by a preload.
const DEBUG: &str = "libc_malloc_debug.so.0";

const SPECIAL: &[Special] = &[
    // Programs that call themselves or another test.
    Special { name: "tst-cancel7", arguments: &["--command", "exec {programs}/tst-cancel7"], ..USUAL },
    Special { name: "tst-cancelx7", arguments: &["--command", "exec {programs}/tst-cancelx7"], ..USUAL },
    Special { name: "tst-exec4", arguments: &["{programs}/tst-exec4"], ..USUAL },
    Special {
        name: "tst-stackguard1",
        arguments: &["--command", "{programs}/tst-stackguard1 --child"],
        ..USUAL
    },
    Special {
        name: "tst-oddstacklimit",
        arguments: &["--command", "{programs}/tst-basic1"],
        flags: &["-DODD_STACK_LIMIT=1047552"],
        ..USUAL
    },
    Special { name: "tst-umask1", arguments: &["{programs}/tst-umask1.temp"], ..USUAL },
    // Other objects.
    Special { name: "tst-cleanup4", sources: &["tst-cleanup4aux.c"], ..USUAL },
    Special { name: "tst-cleanupx4", sources: &["tst-cleanupx4aux.c"], flags: &["-fexceptions"], ..USUAL },
    Special { name: "tst-interpose-nothread", sources: &["tst-interpose-aux-nothread.c"], ..USUAL },
    Special { name: "tst-interpose-thread", sources: &["tst-interpose-aux-thread.c"], ..USUAL },
    // Modules.
    Special { name: "tst-compat-forwarder", libraries: &["tst-compat-forwarder-mod.so"], ..USUAL },
    Special {
        name: "tst-audit-threads",
        libraries: &["tst-audit-threads-mod2.so"],
        environment: &[("LD_AUDIT", "{programs}/tst-audit-threads-mod1.so")],
        ..USUAL
    },
    Special { name: "tst-fini1", libraries: &["tst-fini1mod.so"], ..USUAL },
    Special { name: "tst-_res1mod2", libraries: &["tst-_res1mod1.so"], ..USUAL },
    Special { name: "tst-_res1", libraries: &["tst-_res1mod1.so", "tst-_res1mod2.so"], ..USUAL },
    Special { name: "tst-tls5", libraries: &["tst-tls5mod.so"], flags: &["-Wl,--no-as-needed"], ..USUAL },
    Special { name: "tst-execstack", flags: &["-Wl,-z,noexecstack"], ..USUAL },
    Special { name: "tst-execstack-mod", flags: &["-Wl,-z,execstack"], ..USUAL },
    // The debugging heap next to ours.
    Special {
        name: "tst-malloc-check",
        environment: &[("MALLOC_CHECK_", "3"), ("LD_PRELOAD", DEBUG)],
        ..USUAL
    },
    Special {
        name: "tst-malloc-usable",
        environment: &[("MALLOC_CHECK_", "3"), ("LD_PRELOAD", DEBUG)],
        ..USUAL
    },
    Special {
        name: "tst-malloc-usable-tunables",
        environment: &[("GLIBC_TUNABLES", "glibc.malloc.check=3"), ("LD_PRELOAD", DEBUG)],
        ..USUAL
    },
    Special {
        name: "tst-mxfast",
        environment: &[("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0")],
        ..USUAL
    },
    Special { name: "tst-mutex10", environment: &[("GLIBC_TUNABLES", "glibc.elision.enable=1")], ..USUAL },
    Special { name: "tst-compathooks-on", environment: &[("LD_PRELOAD", DEBUG)], ..USUAL },
    Special {
        name: "tst-mallocstate",
        environment: &[("LD_PRELOAD", DEBUG)],
        libraries: &[],
        flags: &["-l:libc_malloc_debug.so.0"],
        ..USUAL
    },
    Special {
        name: "tst-mtrace",
        environment: &[("LD_PRELOAD", DEBUG), ("MALLOC_TRACE", "{programs}/tst-mtrace.trace")],
        ..USUAL
    },
    Special {
        name: "tst-dynarray",
        environment: &[("LD_PRELOAD", DEBUG), ("MALLOC_TRACE", "{programs}/tst-dynarray.trace")],
        ..USUAL
    },
    Special {
        name: "tst-dynarray-fail",
        environment: &[("LD_PRELOAD", DEBUG), ("MALLOC_TRACE", "{programs}/tst-dynarray-fail.trace")],
        ..USUAL
    },
    Special {
        name: "tst-atfork2",
        environment: &[("LD_PRELOAD", DEBUG), ("MALLOC_TRACE", "{programs}/tst-atfork2.trace")],
        ..USUAL
    },
    Special {
        name: "tst-stack3",
        environment: &[("LD_PRELOAD", DEBUG), ("MALLOC_TRACE", "{programs}/tst-stack3.trace")],
        ..USUAL
    },
];

/// Files named like tests that others include.
pub const PARTS: &[&str] = &["tst-cancel-self-cleanup"];

/// Tests that pass plain and not under underbar, and the reason.
pub const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "tst-compathooks-on",
        "counts calls of malloc hooks, which the C library's own debugging heap alone has",
    ),
    (
        "tst-dynarray-fail",
        "fills the heap with one size and expects that no other size has a free cell; cells here serve one size each",
    ),
    (
        "tst-malloc-backtrace",
        "writes over the word before a freed block, where the C library keeps its header and a cell has none",
    ),
    (
        "tst-malloc-usable",
        "expects the usable sizes of the C library's own debugging heap, which are those asked for",
    ),
    (
        "tst-malloc-usable-tunables",
        "expects the usable sizes of the C library's own debugging heap, which are those asked for",
    ),
    (
        "tst-safe-linking",
        "changes the links in free blocks, and expects to be ended for it by the C library's own way of hiding them",
    ),
];

/// Tests that the C library's own build alone can make.
const NOT_COMPILED: &[(&str, &str)] =
    &[("tst-mallocstate", "is linked with malloc_set_state, which programs are no longer linked with")];

/// The requirements of a test.
pub fn special(name: &str) -> Special {
    SPECIAL.iter().find(|special| special.name == name).copied().unwrap_or(USUAL)
}

/// The reason why a test may fail under underbar.
pub fn exception(name: &str) -> Option<&'static str> {
    EXCEPTIONS.iter().find(|(one, _)| *one == name).map(|(_, why)| *why)
}

/// The reason why a test cannot be compiled.
pub fn not_compiled(name: &str) -> Option<&'static str> {
    NOT_COMPILED.iter().find(|(one, _)| *one == name).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::{EXCEPTIONS, NOT_COMPILED, SPECIAL};

    #[test]
    fn tests_are_named_once_in_each_table() {
        let special = SPECIAL.iter().map(|special| special.name).collect::<Vec<_>>();
        let names = |table: &[(&'static str, &str)]| table.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        for table in [special, names(EXCEPTIONS), names(NOT_COMPILED)] {
            for name in &table {
                assert_eq!(table.iter().filter(|other| *other == name).count(), 1, "{name}");
            }
        }
        assert!(EXCEPTIONS.iter().chain(NOT_COMPILED).all(|(_, why)| why.len() > 20));
    }
}
