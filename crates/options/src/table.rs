//! The table of run-time options: each exactly once, in alphabetical order.
//!
//! Grammar, defaults, options report, explanations and diagnostics all derive from these rows, and so do their tests. Names,
//! syntax and IBM-supplied defaults (outside CICS) follow the published manuals of Language Environment. A sub-option with an
//! effect has an underbar default. One without an effect stays unset until it is set: the options report must not show a
//! value in force that nothing obeys.
//!
//! Shortest abbreviations are IBM's where the manuals give them. Otherwise they are the shortest prefix of at least three
//! letters that no other option shares, which is IBM's own rule.
//!
//! The long rows are in a module for each area. A row that this table leaves out is unused there, and the compiler warns.
//!
//! Not here: the vocabulary of the rows (`row`), their search and numbering (`entry`), the kinds of values (`value`).

mod checks;
mod ecb;
mod files;
mod heaps;
mod reports;
mod stacks;
mod threads;

use crate::entry::Effect::AcceptedNoEffect;
use crate::entry::{Entry, words};
use crate::row::*;

// Reasons for having no effect that several options share.
const NO_CONDITIONS: &str = "Linux uses signals for this; underbar leaves them to the program";
const COBOL_ONLY: &str = "it governs COBOL run-times on z/OS only";
const FORTRAN_ONLY: &str = "it governs Fortran run-times on z/OS only";
const PLI_ONLY: &str = "it governs PL/I run-times on z/OS only";
const LOCALE: &str = "the program's locale decides (LANG, LC_ALL)";
const DEBUGGER: &str = "a Linux debugger needs no run-time option";
const DUMPS: &str = "the kernel writes core dumps; ulimit -c and core_pattern control them";
const NOT_HERE: &str = "it has no counterpart on Linux";

/// All run-time options, in alphabetical order.
pub const OPTIONS: &[Entry] = &[
    other("ABPERC", 3, "Abend code that percolates.", NO_CONDITIONS),
    other("ABTERMENC", 3, "How an enclave ends after an unhandled condition.", NO_CONDITIONS),
    other_with_no("AIXBLD", 3, "Complete VSAM files and indexes for COBOL.", COBOL_ONLY),
    Entry {
        name: "ALL31",
        least: 3,
        alias: "",
        sub_options: &[of_idle("ON|OFF", OFF_ON, ON, "ON: no routine runs in 24-bit mode")],
        meaning: words("Whether the program runs entirely in 31-bit mode."),
        explanation: words("On z/OS, ALL31(OFF) needs STACK(,,BELOW)."),
        effect: AcceptedNoEffect(words("Linux programs have no addressing modes")),
    },
    heaps::ANYHEAP,
    other_with_no("AUTOTASK", 3, "Fortran multitasking.", FORTRAN_ONLY),
    ecb::AVL,
    heaps::BELOWHEAP,
    other("CBLOPTS", 4, "Order of options and arguments for COBOL.", COBOL_ONLY),
    other("CBLPSHPOP", 4, "CICS PUSH and POP HANDLE around COBOL calls.", COBOL_ONLY),
    other("CBLQDA", 4, "Dynamic allocation of QSAM files for COBOL.", COBOL_ONLY),
    other("CEEDUMP", 3, "Form of the Language Environment dump.", DUMPS),
    other("CHECK", 3, "Checking code of the compilers.", "the compiler decides (sanitizers, bounds checks)"),
    other("COUNTRY", 3, "Country whose formats are used.", LOCALE),
    other_with_no("DEBUG", 3, "COBOL batch debugging.", COBOL_ONLY),
    other("DEPTHCONDLMT", 3, "Maximum nesting of conditions.", NO_CONDITIONS),
    other("DYNDUMP", 3, "Dynamic dumps.", DUMPS),
    ecb::ECB,
    other("ENVAR", 3, "Environment variables to set.", "set them before the program starts: env NAME=VALUE"),
    other("ERRCOUNT", 4, "Maximum number of conditions.", NO_CONDITIONS),
    other("ERRUNIT", 4, "Unit of Fortran's messages.", FORTRAN_ONLY),
    other_with_no("FILEHIST", 5, "File history of Fortran.", FORTRAN_ONLY),
    other("FILETAG", 5, "Tags and conversion of files.", "Linux files carry no character set"),
    other_with_no("FLOW", 3, "Flow trace of COBOL.", COBOL_ONLY),
    heaps::HEAP,
    heaps::HEAP64,
    checks::HEAPCHK,
    heaps::HEAPPOOLS,
    heaps::HEAPPOOLS64,
    checks::HEAPZONES,
    heaps::HUGEPAGES,
    other("INFOMSGFILTER", 5, "Informational messages to drop.", "underbar writes no informational messages"),
    other_with_no("INQPCOPN", 3, "Fortran INQUIRE of open units.", FORTRAN_ONLY),
    other("INTERRUPT", 3, "Attention interrupts.", NO_CONDITIONS),
    heaps::IOHEAP64,
    heaps::LIBHEAP64,
    stacks::LIBSTACK,
    threads::LOCK,
    files::MAINPR,
    reports::MSGFILE,
    other("MSGQ", 4, "Number of message queue entries.", NO_CONDITIONS),
    threads::MT,
    files::MULTIFETCH,
    other("NATLANG", 3, "National language of messages.", LOCALE),
    other_with_no("OCSTATUS", 3, "Fortran checks of OPEN and CLOSE.", FORTRAN_ONLY),
    other(
        "PAGEFRAMESIZE",
        4,
        "Page frames for heaps and stacks.",
        "set HUGEPAGES(ON) for large pages in the heap",
    ),
    other(
        "PAGEFRAMESIZE64",
        15,
        "Page frames for 64-bit heaps and stacks.",
        "set HUGEPAGES(ON) for large pages in the heap",
    ),
    other("PC", 2, "Private common blocks of Fortran.", FORTRAN_ONLY),
    other("PLITASKCOUNT", 3, "Maximum number of active PL/I tasks.", PLI_ONLY),
    other("POSIX", 3, "POSIX semantics.", "Linux always has them"),
    files::PRINT,
    other("PROFILE", 3, "A profiler to load.", "Linux profilers (perf) need no run-time option"),
    other("PRTUNIT", 3, "Unit of Fortran's PRINT.", FORTRAN_ONLY),
    other("PUNUNIT", 3, "Unit of Fortran's PUNCH.", FORTRAN_ONLY),
    files::PWCSIZE,
    other("RDRUNIT", 3, "Unit of Fortran's READ.", FORTRAN_ONLY),
    other("RECPAD", 3, "Padding of Fortran records.", FORTRAN_ONLY),
    reports::RPTOPTS,
    reports::RPTSTG,
    other_with_no("RTEREUS", 3, "A reusable COBOL environment.", COBOL_ONLY),
    other_with_no("SIMVRD", 3, "Simulated VSAM files for COBOL.", COBOL_ONLY),
    reports::SITES,
    stacks::STACK,
    stacks::STACK64,
    checks::STORAGE,
    reports::SWITCHES,
    other("TERMTHDACT", 3, "Output at an unhandled condition.", DUMPS),
    other_with_no("TEST", 3, "Starts a debugger.", DEBUGGER),
    heaps::THREADHEAP,
    stacks::THREADSTACK,
    stacks::THREADSTACK64,
    heaps::THSIZE,
    threads::TIMER,
    other("TRACE", 4, "Trace table of the run-time.", "use strace, ltrace or perf on Linux"),
    other("TRAP", 4, "Whether conditions are handled.", NO_CONDITIONS),
    other("UPSI", 3, "The eight UPSI switches of COBOL.", COBOL_ONLY),
    other_with_no("USRHDLR", 3, "A user-written condition handler.", NO_CONDITIONS),
    other("VCTRSAVE", 3, "Vector registers in condition handlers.", NOT_HERE),
    files::WORKFILE,
    other("XPLINK", 3, "XPLINK linkage.", NOT_HERE),
    other("XUFLOW", 3, "Exponent underflow.", NOT_HERE),
    reports::ZIIP,
];

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::search::{SLOTS, find_option};
    use crate::value::Value::Unset;
    use std::string::String;

    #[test]
    fn names_are_in_order_and_every_spelling_means_one_option() {
        for pair in OPTIONS.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} stands before {}", pair[0].name, pair[1].name);
        }
        for (index, entry) in OPTIONS.iter().enumerate() {
            for length in usize::from(entry.least)..=entry.name.len() {
                let spelling = &entry.name.as_bytes()[..length];
                let meant = OPTIONS.iter().filter(|other| other.is_called(spelling)).count();
                assert_eq!(meant, 1, "{}", String::from_utf8_lossy(spelling));
                assert_eq!(find_option(&spelling.to_ascii_lowercase()), Some(index));
            }
            if !entry.alias.is_empty() {
                assert_eq!(find_option(entry.alias.as_bytes()), Some(index), "{}", entry.alias);
            }
            assert!(entry.name.len() <= crate::nearest::LONGEST);
        }
    }

    #[test]
    fn the_texts_of_the_rows_are_whole() {
        for entry in OPTIONS {
            for text in [entry.meaning.text(), entry.explanation.text()] {
                assert!(text.ends_with('.') && !text.contains("  "), "{}: {text}", entry.name);
                assert!(text.lines().all(|line| line.len() <= 120), "{}: {text}", entry.name);
            }
            assert!(!entry.sub_options.is_empty());
            for sub in entry.sub_options {
                assert!(
                    !sub.meaning.text().is_empty() && !sub.meaning.text().ends_with('.'),
                    "{}",
                    sub.meaning
                );
            }
        }
        assert!(SLOTS < usize::from(u16::MAX));
    }

    #[test]
    fn what_does_nothing_has_no_default_of_ours() {
        for entry in OPTIONS {
            if let AcceptedNoEffect(_) = entry.effect {
                assert!(entry.sub_options.iter().all(|sub| sub.underbar == Unset), "{}", entry.name);
            } else {
                assert!(entry.sub_options.iter().any(|sub| sub.underbar != Unset), "{}", entry.name);
            }
        }
    }
}
