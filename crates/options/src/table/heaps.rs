//! The options of heaps: their segments, pools and pages.
//!
//! Not here: the order of the table (`table`), and the vocabulary of the rows (`row`).

use crate::entry::Effect::{AcceptedNoEffect, Honoured};
use crate::entry::{Entry, SubOption, words};
use crate::row::*;
use crate::value::Value::{Auto, Bytes, Unset};
use crate::value::{Kind, M, Value};

// Reasons for having no effect.
const ONE_HEAP: &str =
    "one heap serves the whole 64-bit address space; set HEAP(init,incr,,KEEP|FREE) instead";
const TABLES_STAY: &str = "tables are used again, and stay until the process ends";
const NO_LIBRARY_HEAP: &str =
    "the run-time library allocates nothing in the program; there is no library heap";

pub(super) const ANYHEAP: Entry = Entry {
    name: "ANYHEAP",
    least: 2,
    alias: "",
    sub_options: &[
        sub("init", SIZE_AUTO, Auto, Bytes(16 * K), "first segment of underbar's own tables; AUTO: 64K"),
        sub("incr", SIZE_AUTO, Auto, Bytes(8 * K), "smallest further segment; AUTO: grows with the tables"),
        SubOption {
            underbar: ANYWHERE,
            ..idle("ANYWHERE|BELOW", LOCATION, ANYWHERE, "above or below the 16M line", NO_LINE)
        },
        idle("FREE|KEEP", KEEP_FREE, FREE, "whether an emptied increment is given back", TABLES_STAY),
    ],
    meaning: words("The heap for underbar's own tables."),
    explanation: words("\
On z/OS it is the library's heap, and the first stack segment of every thread but the initial one comes from it. Here
descriptions of segments, extents, threads and heaps come from it; the page map, 2M for each gigabyte of addresses in
use, has mappings of its own. The report also counts under it the first segments of the stacks that THREADSTACK makes
with increments, KEEP or FREE, though each is a mapping of its own."),
    effect: Honoured,
};

pub(super) const BELOWHEAP: Entry = Entry {
    name: "BELOWHEAP",
    least: 2,
    alias: "",
    sub_options: &[
        of_idle("init", SIZE, Bytes(8 * K), "first segment"),
        of_idle("incr", SIZE, Bytes(4 * K), "smallest further segment"),
        of_idle("FREE|KEEP", KEEP_FREE, FREE, "whether an emptied increment is given back"),
    ],
    meaning: words("The library's heap below the 16M line."),
    explanation: words("On z/OS, for storage that the library must keep below the line."),
    effect: AcceptedNoEffect(words(NO_LIBRARY_HEAP)),
};

pub(super) const HEAP: Entry = Entry {
    name: "HEAP",
    least: 1,
    alias: "",
    sub_options: &[
        sub("init", SIZE_AUTO, Auto, Bytes(32 * K), "first segment; 0: taken on first use, with the size of incr"),
        sub("incr", SIZE_AUTO, Auto, Bytes(32 * K), "smallest further segment"),
        SubOption {
            underbar: ANYWHERE,
            ..idle("ANYWHERE|BELOW", LOCATION, ANYWHERE, "above or below the 16M line", NO_LINE)
        },
        sub("KEEP|FREE|AUTO", KEEP_FREE_AUTO, KEEP_OR_FREE_AUTO, KEEP, "what happens to an emptied increment"),
        sub("init24", SIZE, Bytes(8 * K), Bytes(8 * K), "first segment below the line, for __malloc24"),
        sub("incr24", SIZE, Bytes(4 * K), Bytes(4 * K), "smallest further segment below the line"),
    ],
    meaning: words("The heap for malloc and new: segment sizes, and when empty segments are returned to the kernel."),
    explanation: words("\
The heap asks the kernel for segments. The first has init bytes, each further one at least incr bytes; a larger
request gets a separate segment. KEEP keeps an emptied increment for later use: fast, but it costs memory.
FREE returns it at once: this saves memory, but costs a kernel request each time. AUTO is underbar's default for all
three: it takes the first segment on first use, lets increments grow with the heap, and returns whole segments that
were empty for a tenth of a second. It returns them at the next request, so a program that sleeps keeps them.
__malloc24 and __malloc31 (underbar/malloc31.h) get storage below 16 MiB and 2 GiB, from heaps of their own.
A good init is the storage report's \"Total heap storage used\". Sizes are per enclave, not per thread."),
    effect: Honoured,
};

pub(super) const HEAP64: Entry = Entry {
    name: "HEAP64",
    least: 6,
    alias: "H64",
    sub_options: &[
        of_idle("init64", SIZE64, Bytes(M), "first segment above the bar"),
        of_idle("incr64", SIZE64, Bytes(M), "smallest further segment above the bar"),
        of_idle("KEEP|FREE|FILL", KEEP_FREE_FILL, KEEP, "what happens to an emptied increment"),
        of_idle("init31", SIZE, Bytes(32 * K), "first segment below the bar"),
        of_idle("incr31", SIZE, Bytes(32 * K), "smallest further segment below the bar"),
        of_idle("KEEP|FREE", KEEP_FREE, KEEP, "what happens to an emptied increment below the bar"),
        of_idle("init24", SIZE, Bytes(4 * K), "first segment below the line"),
        of_idle("incr24", SIZE, Bytes(4 * K), "smallest further segment below the line"),
        of_idle("KEEP|FREE", KEEP_FREE, FREE, "what happens to an emptied increment below the line"),
    ],
    meaning: words("The user heap of 64-bit programs on z/OS."),
    explanation: words("On z/OS, three heaps: above the bar, below the bar, below the line."),
    effect: AcceptedNoEffect(words(ONE_HEAP)),
};

pub(super) const HEAPPOOLS: Entry = Entry {
    name: "HEAPPOOLS",
    least: 5,
    alias: "",
    sub_options: pools!(
        PERCENT,
        "percent",
        (8, 10),
        (32, 10),
        (128, 10),
        (256, 10),
        (1024, 10),
        (2048, 10),
        (0, 10),
        (0, 10),
        (0, 10),
        (0, 10),
        (0, 10),
        (0, 10)
    ),
    meaning: words("Pools of cells for small requests; extents as a percentage of HEAP's init."),
    explanation: words("\
Each size makes a pool of cells. A request takes a cell of the smallest size that holds it; one above the largest
size takes an element. Cells come in extents: percent of HEAP's init (of 1M under AUTO) divided by the size, at
least 4 cells. Each thread has extents of its own. Cells are multiples of 16 bytes, so a size of 8 serves requests
of up to 16. ALIGN: no cell of up to 64 bytes crosses a cache line, and larger ones begin with one. (size,pools)
divides the threads among that many pools. Pairs that are not set have IBM's sizes, 10 percent each; a size of 0
ends the list. OFF is the default: then the heap has 72 sizes of cells, which waste less. Under RPTSTG(ON) each
request is counted by steps of 8 bytes, which makes requests slower; the storage report then suggests sizes.
HEAPPOOLS acts on the default heap, not on additional heaps and enclaves, and not under HEAPCHK(ON) or HEAPZONES."),
    effect: Honoured,
};

pub(super) const HEAPPOOLS64: Entry = Entry {
    name: "HEAPPOOLS64",
    least: 11,
    alias: "HP64",
    sub_options: pools!(
        COUNT,
        "cells",
        (8, 4000),
        (32, 2000),
        (128, 700),
        (256, 350),
        (1024, 100),
        (2048, 50),
        (3072, 50),
        (4096, 50),
        (8192, 25),
        (16384, 10),
        (32768, 5),
        (65536, 5)
    ),
    meaning: words("Pools of cells for small requests of 64-bit programs; extents as a number of cells."),
    explanation: words(
        "As HEAPPOOLS, except that an extent is given as a number of cells. It acts if HEAPPOOLS is OFF.",
    ),
    effect: Honoured,
};

pub(super) const HUGEPAGES: Entry = Entry {
    name: "HUGEPAGES",
    least: 4,
    alias: "",
    sub_options: &[sub("OFF|ON|AUTO", OFF_ON_AUTO, OFF_OR_ON_AUTO, Unset, "whether segments ask for huge pages")],
    meaning: words("Whether segments of the heap ask for transparent huge pages. An underbar option."),
    explanation: words("\
Huge pages save page faults and address translation in large heaps, and may raise resident memory. ON asks for them
in every segment of 2M or more. AUTO, underbar's default, asks if they save time and cost little memory: for a further
segment of 10M or more, which a heap gets from about 40M on, under HEAP's AUTO, if nearly every page of the previous
segment was touched and if a first huge page, timed against small ones, is not expensive on this machine at this
moment."),
    effect: Honoured,
};

pub(super) const IOHEAP64: Entry = Entry {
    name: "IOHEAP64",
    least: 8,
    alias: "IH64",
    sub_options: &[
        of_idle("init64", SIZE64, Bytes(M), "first segment above the bar"),
        of_idle("incr64", SIZE64, Bytes(M), "smallest further segment above the bar"),
        of_idle("FREE|KEEP", KEEP_FREE, FREE, "what happens to an emptied increment"),
        of_idle("init31", SIZE, Bytes(12 * K), "first segment below the bar"),
        of_idle("incr31", SIZE, Bytes(8 * K), "smallest further segment below the bar"),
        of_idle("FREE|KEEP", KEEP_FREE, FREE, "what happens to an emptied increment below the bar"),
        of_idle("init24", SIZE, Bytes(4 * K), "first segment below the line"),
        of_idle("incr24", SIZE, Bytes(4 * K), "smallest further segment below the line"),
        of_idle("FREE|KEEP", KEEP_FREE, FREE, "what happens to an emptied increment below the line"),
    ],
    meaning: words("The I/O heap of 64-bit programs on z/OS."),
    explanation: words("On z/OS, for the buffers of the C library's files."),
    effect: AcceptedNoEffect(words("the C library takes its buffers from malloc, and so from HEAP")),
};

pub(super) const LIBHEAP64: Entry = Entry {
    name: "LIBHEAP64",
    least: 9,
    alias: "LH64",
    sub_options: &[
        of_idle("init64", SIZE64, Bytes(M), "first segment above the bar"),
        of_idle("incr64", SIZE64, Bytes(M), "smallest further segment above the bar"),
        of_idle("FREE|KEEP", KEEP_FREE, FREE, "what happens to an emptied increment"),
        of_idle("init31", SIZE, Bytes(16 * K), "first segment below the bar"),
        of_idle("incr31", SIZE, Bytes(8 * K), "smallest further segment below the bar"),
        of_idle("FREE|KEEP", KEEP_FREE, FREE, "what happens to an emptied increment below the bar"),
        of_idle("init24", SIZE, Bytes(8 * K), "first segment below the line"),
        of_idle("incr24", SIZE, Bytes(4 * K), "smallest further segment below the line"),
        of_idle("FREE|KEEP", KEEP_FREE, FREE, "what happens to an emptied increment below the line"),
    ],
    meaning: words("The library's heap of 64-bit programs on z/OS."),
    explanation: words("On z/OS, for the needs of the run-time library."),
    effect: AcceptedNoEffect(words(NO_LIBRARY_HEAP)),
};

pub(super) const THREADHEAP: Entry = Entry {
    name: "THREADHEAP",
    least: 7,
    alias: "",
    sub_options: &[
        sub("init", SIZE_AUTO, Auto, Bytes(4 * K), "first segment; AUTO: threads have no heaps of their own"),
        sub("incr", SIZE_AUTO, Auto, Bytes(4 * K), "smallest further segment"),
        SubOption {
            underbar: ANYWHERE,
            ..idle("ANYWHERE|BELOW", LOCATION, ANYWHERE, "above or below the 16M line", NO_LINE)
        },
        sub("KEEP|FREE", KEEP_FREE, KEEP, KEEP, "what happens to an emptied increment"),
    ],
    meaning: words("A heap for each thread but the first, which ends with the thread."),
    explanation: words("\
With a size, as THREADHEAP(64K,64K), each thread that pthread_create makes gets its storage from a heap of its own,
whose segments go back to the kernel when the thread ends. Storage that the C library and the C++ library get for
themselves stays in the process's heap. On z/OS, where it serves PL/I tasks, a thread's storage ends with it. Here
storage that is still in use then stays until it is freed, so that programs whose threads hand storage on compute the
same; the report counts such heaps. Below 16K each request is an element of a segment. A thread that begins and ends
costs several times as much, as its segments come and go. The default is off: one heap serves all threads."),
    effect: Honoured,
};

pub(super) const THSIZE: Entry = Entry {
    name: "THSIZE",
    least: 3,
    alias: "",
    sub_options: &[sub("size", SIZE, Bytes(0), Unset, "bytes of the reservation; 0: none")],
    meaning: words("One reservation of storage that serves the program's buffers and is kept. An underbar option."),
    explanation: words("\
THSIZE(64M) makes the first segment of the heap that large, when the program starts, and keeps it: buffers that come
and go get the same pages again, without calls of the kernel and without page faults, however long the pauses are.
Only what does not fit goes the usual way, and goes back when it is idle. Without the option, unused pages go back
after a quarter of a second. So much memory may stay resident; pages that were never used take none. The report has
the size, how much of it was reached, and the segments besides it. A larger first value of HEAP is used instead.
Natural gives KB: its THSIZE=2000 is THSIZE(2000K). Natural's thread is the storage of a session, as the heap of a
process is here; for heaps of threads see THREADHEAP."),
    effect: Honoured,
};
