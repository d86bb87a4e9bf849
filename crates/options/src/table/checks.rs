//! The options that check the heap, or give its storage a content.
//!
//! Not here: the order of the table (`table`), and the vocabulary of the rows (`row`).

use crate::entry::Effect::Honoured;
use crate::entry::{Entry, words};
use crate::row::*;
use crate::value::Value::{Bytes, Number};
use crate::value::{FILL_NONE, Kind};

// Reasons for having no effect.
const CHECKED_ELEMENTS: &str = "HEAPCHK serves every request without pools";
const ONE_TABLE: &str = "one trace table has the requests of all heaps";

pub(super) const HEAPCHK: Entry = Entry {
    name: "HEAPCHK",
    least: 5,
    alias: "",
    sub_options: &[
        sub("OFF|ON", OFF_ON, OFF, OFF, "whether the heap is checked"),
        sub("frequency", COUNT, Number(0), Number(1), "requests between two walks over the whole heap; 0: no walks"),
        sub("delay", COUNT, Number(0), Number(0), "requests before the first walk"),
        sub("call depth", COUNT, Number(0), Number(0), "callers that a message names, beyond the first"),
        idle("pool call depth", COUNT, Number(0), "calls in a traceback for heap pools", CHECKED_ELEMENTS),
        sub("entries", COUNT, Number(1024), Number(1024), "requests in the trace table"),
        idle("pool", COUNT, Number(0), "pool to trace", CHECKED_ELEMENTS),
        idle("entries31", COUNT, Number(1024), "entries of the trace table below the bar", ONE_TABLE),
        idle("pool31", COUNT, Number(0), "pool to trace below the bar", CHECKED_ELEMENTS),
    ],
    meaning: words("Checks the heap for damage at each free, and the whole heap at intervals."),
    explanation: words("\
If a block is freed twice, from its middle, or after a write past its end, the program ends with SIGABRT, and the
report gives the reason. Its end is that of malloc_usable_size, a few bytes past what was asked for; HEAPZONES finds
writes to these, too. Without HEAPCHK, this applies to blocks above 32K and to smaller ones that are freed twice in a
row; only some other faults of smaller blocks are found. With ON, all blocks have headers and come from one pool for
all threads: small requests take several times as long. ON,100 also walks over the whole heap at every 100th request
and when the program ends, and names the first damaged block and the one after it: damage shows soon, also of a block
that is never freed. The last requests are kept in a trace table: a message names who got or freed the block. Callers
beyond the first are found by frame pointers, so the program needs -fno-omit-frame-pointer.
Buffers of ECBs have no headers: with ON they have check zones of 8 bytes, as under HEAPZONES."),
    effect: Honoured,
};

pub(super) const HEAPZONES: Entry = Entry {
    name: "HEAPZONES",
    least: 5,
    alias: "",
    sub_options: &[
        of_idle("size31", SIZE, Bytes(0), "bytes of the check zone below the bar; not set: as size64"),
        of_idle("ABEND|QUIET|MSG|TRACE", ZONE, ABEND, "reaction to a damaged zone below the bar"),
        sub("size64", SIZE, Bytes(0), Bytes(0), "bytes of the check zone, at most 1024; 0: none"),
        sub("ABEND|QUIET|MSG|TRACE", ZONE, ABEND, ABEND, "reaction to a damaged zone"),
    ],
    meaning: words("A check zone after every element of the heap."),
    explanation: words("\
A zone begins at the first byte that was not asked for. It is checked when the element is freed or resized, and by the
walks of HEAPCHK. ABEND ends the program with SIGABRT, as a wrong free does. MSG writes a line to standard error and
the program goes on; TRACE adds the callers; QUIET only counts (heap.damaged_zones). The message names the element, its
size, who got it, and who freed it. If more was overwritten than the zone, so that the heap cannot go on, the program
ends whatever the reaction. malloc_usable_size gives the size that was asked for. All blocks have headers and come
from one pool for all threads, as under HEAPCHK(ON). HEAPZONES(,,16) uses zones of 16 bytes.
Buffers of ECBs have zones, too. These are also checked when their ECB ends; the message names the ECB and its class.
The first two values are for storage of __malloc31 and __malloc24; not set, they are as the others."),
    effect: Honoured,
};

pub(super) const STORAGE: Entry = Entry {
    name: "STORAGE",
    least: 3,
    alias: "",
    sub_options: &[
        sub("getheap", Kind::Fill { clear: false }, FILL_NONE, FILL_NONE, "fill byte of new elements"),
        sub("freeheap", Kind::Fill { clear: false }, FILL_NONE, FILL_NONE, "fill byte of freed elements"),
        sub("dsa", Kind::Fill { clear: true }, FILL_NONE, FILL_NONE, "NONE, CLEAR, or byte for stack frames"),
        sub("reserve", SIZE, Bytes(0), Bytes(0), "storage to use once when the kernel refuses more"),
    ],
    meaning: words("Initial content of obtained and of freed storage."),
    explanation: words("\
A byte is two hexadecimal digits (00, FE) or a quoted character ('A'). Fills of the heap cost little. 00 makes new
elements zero; any other byte reveals the use of storage that was not set or was freed. For stack frames (dsa), CLEAR
clears the unused stack once, before main, and costs little. A byte fills each frame that a call leaves; the program
must be compiled with -finstrument-functions, and each call costs several times as much. The report counts the frames,
and says so if there was none. To guarantee initial values, use the compiler's initialization
(-ftrivial-auto-var-init). When the kernel refuses storage, a request that fits into the reserve is still served, once;
the report says so, and the next one gets ENOMEM. The reserve counts as address space (ulimit -v) from the start."),
    effect: Honoured,
};
