//! Words of Language Environment, z/TPF and Natural: what they are there, and what is in their place here.
//!
//! Invariant: names are unique, whatever their case, and none is that of an option.
//! Not here: options, figures and rules, which have tables of their own.

use std::fmt::Write as _;

/// A word.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    /// As it is written, its short form if it has one.
    pub name: &'static str,
    /// The words that it stands for, or its kind.
    pub long: &'static str,
    /// What it is on the mainframe.
    pub there: &'static str,
    /// What is in its place on Linux.
    pub here: &'static str,
}

const fn term(name: &'static str, long: &'static str, there: &'static str, here: &'static str) -> Term {
    Term { name, long, there, here }
}

/// All words, by subject.
pub static TERMS: [Term; 37] = [
    term(
        "region",
        "address space of a job",
        "The storage in which the programs of a job step run.",
        "The address space of a process, under RLIMIT_AS and the memory limit of its control group.",
    ),
    term(
        "enclave",
        "a main program and all that it calls",
        "Owner of a stack, of heaps, of options and an environment. Each LINK makes one.",
        "A process; and a program that is LINKed in it, with a heap of its own.",
    ),
    term(
        "thread",
        "one flow of control in an enclave",
        "Has its own stack and shares the enclave's heaps.",
        "The same: a thread of pthread_create.",
    ),
    term(
        "IPT",
        "initial processing thread",
        "The thread in which the main program runs.",
        "The first thread of a process.",
    ),
    term(
        "CEECAA",
        "common anchor area",
        "Control block of a thread, to which register 12 points.",
        "The thread's own storage of the C library and of libunderbar.so, to which FS points.",
    ),
    term(
        "CEEEDB",
        "enclave data block",
        "Control block of an enclave: its heaps, its main program, its state.",
        "The descriptions of heaps in libunderbar.so, and the process's slot in the ledger.",
    ),
    term(
        "CEEOCB",
        "options control block",
        "Run-time options of an enclave, and where each was set.",
        "The settings that libunderbar.so has evaluated; `underbar options` shows them.",
    ),
    term(
        "DSA",
        "dynamic save area",
        "A stack frame: saved registers and the automatic variables of one call.",
        "A stack frame. STORAGE(,,dsa) gives it an initial value.",
    ),
    term(
        "RSA",
        "register save area",
        "The first part of a DSA, where a called program saves the caller's registers.",
        "Registers that a function pushes; it has no fixed form.",
    ),
    term(
        "NAB",
        "next available byte",
        "Address in a stack segment at which the next DSA begins.",
        "The stack pointer; stacks grow downwards.",
    ),
    term(
        "user stack",
        "stack of programs",
        "Upward stack in segments: STACK, and THREADSTACK for other threads.",
        "A thread's stack: one mapping, backed page by page as it is used.",
    ),
    term(
        "library stack",
        "stack of Language Environment below the line",
        "LIBSTACK.",
        "None: the library uses the caller's stack.",
    ),
    term(
        "reserve stack",
        "storage for the moment when none is left",
        "Fourth value of STORAGE.",
        "See STORAGE.",
    ),
    term(
        "user heap",
        "heap number 0",
        "Serves malloc, operator new, ALLOCATE of PL/I, and WORKING-STORAGE of COBOL.",
        "The default heap of a process, or the heap of a LINKed program.",
    ),
    term(
        "anywhere heap",
        "ANYHEAP",
        "Storage of Language Environment itself above the line, and the first stack segments of threads.",
        "Tables of libunderbar.so, and first segments of the stacks that it makes for threads: heap.own_bytes, anyheap.stacks.",
    ),
    term(
        "below heap",
        "BELOWHEAP",
        "Storage of Language Environment itself below the line.",
        "None: nothing here must be below 16 MB.",
    ),
    term(
        "additional heap",
        "a heap that a program creates",
        "Made by CEECRHP, discarded as a whole by CEEDSHP.",
        "The same services: underbar/ceeedcct.h.",
    ),
    term("heap ID", "token of an additional heap", "The result of CEECRHP.", "The same."),
    term(
        "element",
        "one allocation in a heap",
        "What CEEGTST or malloc returns, with a header in front.",
        "Storage that serves one request; small ones are cells without a header.",
    ),
    term(
        "segment",
        "piece of storage got from the system",
        "Heaps and stacks are divided into them.",
        "One mapping of a heap.",
    ),
    term(
        "increment",
        "a segment after the first",
        "Its least size is the second value of HEAP.",
        "The same; AUTO lets it grow with the heap.",
    ),
    term(
        "heap pool",
        "cells of one size",
        "Serves small requests under HEAPPOOLS.",
        "Extents: cells of one size that belong to a thread.",
    ),
    term(
        "check zone",
        "bytes after an element that must not change",
        "HEAPZONES.",
        "See HEAPZONES and HEAPCHK.",
    ),
    term(
        "feedback code",
        "condition token of 12 bytes",
        "Result of a callable service.",
        "The same: FEEDBACK in underbar/ceeedcct.h.",
    ),
    term(
        "line",
        "16 MB",
        "Limit of 24-bit addresses.",
        "No limit; vm.mmap_min_addr and ASLR decide what is below it.",
    ),
    term("bar", "2 GB", "Limit of 31-bit addresses.", "No limit."),
    term(
        "WORKING-STORAGE",
        "data of a COBOL program that stays from call to call",
        "In the user heap.",
        "GnuCOBOL makes it static data of the program file, so no heap counts it.",
    ),
    term(
        "LOCAL-STORAGE",
        "data of one call of a COBOL program",
        "In the stack.",
        "GnuCOBOL gets it by malloc at each call: it is in the heap.",
    ),
    term(
        "ECB",
        "entry control block",
        "One unit of work on z/TPF, with a heap of its own.",
        "A unit of work that a program makes with `underbar/ecb.h`, such as a request of a server.",
    ),
    term(
        "AVL",
        "available list",
        "Freed buffers of an ECB heap of one size.",
        "As there: five for each class of ECBs, with sizes of their own.",
    ),
    term(
        "PEH",
        "preallocated ECB heap",
        "Storage that each ECB has from its start.",
        "The initial segment of a heap.",
    ),
    term("frame", "unit of real storage", "4 KB or 1 MB.", "A page, or a huge page."),
    term("tag", "name of a buffer", "Finds a buffer of an ECB heap again.", "None yet."),
    term(
        "LLA",
        "library lookaside",
        "Directories of load libraries kept in storage.",
        "The same for `underbar lib` and `underbar exec`.",
    ),
    term(
        "VLF",
        "virtual lookaside facility",
        "Programs kept in storage for their next LOAD.",
        "Initial states of images, so that the next LOAD needs no relocation.",
    ),
    term(
        "EXCP",
        "execute channel program",
        "A request to a device.",
        "A read of a device; demos count them by the rules of the documents.",
    ),
    term(
        "switch",
        "leaving a processor or a task",
        "On Natural: from an SRB on a zIIP to a TCB.",
        "An entry to the kernel, or handing work to another thread.",
    ),
];

/// A word by its name, whatever the case.
#[must_use]
pub fn find(name: &str) -> Option<&'static Term> {
    TERMS.iter().find(|term| term.name.eq_ignore_ascii_case(name))
}

impl Term {
    /// What it means, for `explain`.
    #[must_use]
    pub fn explanation(&self) -> String {
        format!("{}: {}\n\nOn the mainframe: {}\nHere: {}\n", self.name, self.long, self.there, self.here)
    }
}

/// The page `docs/glossary.md`.
#[must_use]
pub fn page() -> String {
    let mut text = String::from(
        "# Words of the mainframe\n\nFor readers of the source documents and of listings. `underbar explain WORD` prints the same.\n\n\
         | word | stands for | on the mainframe | here |\n|---|---|---|---|\n",
    );
    for Term { name, long, there, here } in &TERMS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {name} | {long} | {there} | {here} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_page_is_this_one() {
        crate::shipped::check("docs/glossary.md", &page(), "underbar-report");
    }

    #[test]
    fn words_are_unique() {
        for (at, term) in TERMS.iter().enumerate() {
            assert!(
                TERMS[..at].iter().all(|other| !other.name.eq_ignore_ascii_case(term.name)),
                "{}",
                term.name
            );
        }
        assert!(find("ceecaa").is_some_and(|term| term.explanation().starts_with("CEECAA: ")));
    }
}
