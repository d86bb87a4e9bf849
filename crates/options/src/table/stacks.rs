//! The options of stacks.
//!
//! Not here: the order of the table (`table`), and the vocabulary of the rows (`row`).

use crate::entry::Effect::{AcceptedNoEffect, Honoured, Partly};
use crate::entry::{Entry, SubOption, words};
use crate::row::*;
use crate::value::M;
use crate::value::Value::{Auto, Bytes};

// Reasons for having no effect.
const NO_XPLINK: &str = "there is no second, downward stack";

pub(super) const LIBSTACK: Entry = Entry {
    name: "LIBSTACK",
    least: 4,
    alias: "",
    sub_options: &[
        of_idle("init", SIZE, Bytes(4 * K), "first segment"),
        of_idle("incr", SIZE, Bytes(4 * K), "smallest further segment"),
        of_idle("FREE|KEEP", KEEP_FREE, FREE, "whether an emptied increment is given back"),
    ],
    meaning: words("The library's stack below the 16M line."),
    explanation: words("On z/OS, library routines that need a stack below the line take it on first use."),
    effect: AcceptedNoEffect(words("the run-time library uses the program's own stack")),
};

pub(super) const STACK: Entry = Entry {
    name: "STACK",
    least: 3,
    alias: "",
    sub_options: &[
        sub("init", SIZE_STACK, Auto, Bytes(128 * K), "first segment; -n: all available storage except n bytes"),
        sub("incr", SIZE_AUTO, Auto, Bytes(128 * K), "smallest further segment"),
        SubOption {
            underbar: ANYWHERE,
            ..idle("ANYWHERE|BELOW", LOCATION, ANYWHERE, "above or below the 16M line", NO_LINE)
        },
        sub("KEEP|FREE", KEEP_FREE, KEEP, KEEP, "what happens to an emptied increment"),
        idle("dsinit", SIZE, Bytes(512 * K), "first segment of the downward stack", NO_XPLINK),
        idle("dsincr", SIZE, Bytes(128 * K), "smallest further segment of the downward stack", NO_XPLINK),
    ],
    meaning: words("The stack of the initial thread, and of all threads under THREADSTACK(OFF)."),
    explanation: words("\
underbar measures every stack, but sets the size only of stacks that it creates. The kernel creates the main stack
(ulimit -s), the C library those of threads. Use THREADSTACK(ON,init) for threads that ask for the default size.
With a size, the report names a stack overflow of the first thread. A LINKed program gets a stack of these sizes, and
interpreters make such stacks by underbar::Stack."),
    effect: Partly(words("has no effect on stacks that underbar does not create: the kernel creates the main stack (ulimit -s), \
the C library those of threads (THREADSTACK(ON,init) sets their size)")),
};

pub(super) const STACK64: Entry = Entry {
    name: "STACK64",
    least: 7,
    alias: "S64",
    sub_options: &[
        of_idle("init", SIZE64_STACK, Bytes(M), "first part"),
        of_idle("incr", SIZE64_STACK, Bytes(M), "smallest further part"),
        of_idle("max", SIZE64_STACK, Bytes(128 * M), "largest size"),
    ],
    meaning: words("The stack of 64-bit programs on z/OS."),
    explanation: words("On Linux, ulimit -s sets the main stack's largest size."),
    effect: AcceptedNoEffect(words("the kernel creates the main stack; ulimit -s sets its size")),
};

pub(super) const THREADSTACK: Entry = Entry {
    name: "THREADSTACK",
    least: 7,
    alias: "",
    sub_options: &[
        sub("OFF|ON", OFF_ON, OFF, OFF, "whether this option sets the size of threads' stacks"),
        sub("init", SIZE_AUTO, Auto, Bytes(4 * K), "first segment; without increments, the size of a stack"),
        sub("incr", SIZE_AUTO, Auto, Bytes(4 * K), "further segments; AUTO: none"),
        SubOption {
            underbar: ANYWHERE,
            ..idle("ANYWHERE|BELOW", LOCATION, ANYWHERE, "above or below the 16M line", NO_LINE)
        },
        sub("KEEP|FREE|AUTO", KEEP_FREE_AUTO, KEEP_OR_FREE_AUTO, KEEP, "what happens to increments when a thread ends"),
        idle("dsinit", SIZE, Bytes(128 * K), "first segment of the downward stack", NO_XPLINK),
        idle("dsincr", SIZE, Bytes(128 * K), "smallest further segment of the downward stack", NO_XPLINK),
    ],
    meaning: words("The stacks of all threads but the initial one."),
    explanation: words("\
ON governs each thread that asks for the default size. A thread that asks for a size, or brings a stack, gets that.
With init alone, the C library makes stacks of that size, raised to a safe minimum. With incr, KEEP or FREE, underbar
makes them. Then init is the first segment, and a stack grows by incr up to the C library's size. The next thread gets
the stack of one that has ended: under KEEP (and AUTO) with its increments, under FREE without them. The report names
an overflow of such a stack. OFF leaves threads' stacks to the C library and ignores every other sub-option. AUTO keeps
the C library's size."),
    effect: Honoured,
};

pub(super) const THREADSTACK64: Entry = Entry {
    name: "THREADSTACK64",
    least: 13,
    alias: "TS64",
    sub_options: &[
        of_idle("OFF|ON", OFF_ON, OFF, "whether this option sets the size of threads' stacks"),
        of_idle("init", SIZE64_STACK, Bytes(M), "first part"),
        of_idle("incr", SIZE64_STACK, Bytes(M), "smallest further part"),
        of_idle("max", SIZE64_STACK, Bytes(128 * M), "largest size"),
    ],
    meaning: words("The stacks of all threads but the initial one, in 64-bit programs on z/OS."),
    explanation: words("Use THREADSTACK(ON,init)."),
    effect: AcceptedNoEffect(words("set THREADSTACK(ON,init) instead")),
};
