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
//! Not here: the vocabulary of the rows (`row`), their search and numbering (`entry`), the kinds of values (`value`).

use crate::entry::Effect::{AcceptedNoEffect, Honoured, Partly};
use crate::entry::{Entry, SubOption, words};
use crate::lists::DEFAULT_LISTS;
use crate::row::*;
use crate::value::Value::{Auto, Bytes, Cell, Lists, Number, Unset};
use crate::value::{FILL_NONE, Kind, M};

// Reasons for having no effect that several options share.
const ONE_HEAP: &str =
    "one heap serves the whole 64-bit address space; set HEAP(init,incr,,KEEP|FREE) instead";
const CHECKED_ELEMENTS: &str = "HEAPCHK serves every request without pools";
const ONE_TABLE: &str = "one trace table has the requests of all heaps";
const TABLES_STAY: &str = "tables are used again, and stay until the process ends";
const NO_LINE: &str = "Linux has no 16M line; storage may be anywhere";
const NO_LIBRARY_HEAP: &str =
    "the run-time library allocates nothing in the program; there is no library heap";
const NO_XPLINK: &str = "there is no second, downward stack";
const NO_CONDITIONS: &str = "Linux uses signals for this; underbar leaves them to the program";
const COBOL_ONLY: &str = "it governs COBOL run-times on z/OS only";
const FORTRAN_ONLY: &str = "it governs Fortran run-times on z/OS only";
const PLI_ONLY: &str = "it governs PL/I run-times on z/OS only";
const LOCALE: &str = "the program's locale decides (LANG, LC_ALL)";
const DEBUGGER: &str = "a Linux debugger needs no run-time option";
const DUMPS: &str = "the kernel writes core dumps; ulimit -c and core_pattern control them";
const NOT_HERE: &str = "it has no counterpart on Linux";
const ORDINARY_FILE: &str = "the report is written as an ordinary text file";

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
    Entry {
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
    },
    other_with_no("AUTOTASK", 3, "Fortran multitasking.", FORTRAN_ONLY),
    Entry {
        name: "AVL",
        least: 3,
        alias: "",
        sub_options: &[sub(
            "class,size1,size2,size3,size4,size5",
            Kind::Lists,
            Lists(DEFAULT_LISTS),
            Unset,
            "a class of ECBs, and bytes of the buffers of its available lists",
        )],
        meaning: words("Sizes of the available lists of a class of ECBs. An underbar option."),
        explanation: words("\
AVL(SSL,32,64,128,256) sets the sizes of the lists AVL1 to AVL4 of all ECBs of the class SSL. Without a class, as
AVL(,48,512), it sets those of each class that has none of its own. A request takes a buffer of the smallest size that
holds it; one above the largest size takes a buffer of another list, whose sizes grow in steps of a quarter. AVL may be
given for up to 12 classes. If it is given twice for a class, the last one counts as a whole. Sizes are rounded up to
multiples of 16. A class has the sizes that are in force when its first ECB is created."),
        effect: Honoured,
    },
    Entry {
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
    },
    other("CBLOPTS", 4, "Order of options and arguments for COBOL.", COBOL_ONLY),
    other("CBLPSHPOP", 4, "CICS PUSH and POP HANDLE around COBOL calls.", COBOL_ONLY),
    other("CBLQDA", 4, "Dynamic allocation of QSAM files for COBOL.", COBOL_ONLY),
    other("CEEDUMP", 3, "Form of the Language Environment dump.", DUMPS),
    other("CHECK", 3, "Checking code of the compilers.", "the compiler decides (sanitizers, bounds checks)"),
    other("COUNTRY", 3, "Country whose formats are used.", LOCALE),
    other_with_no("DEBUG", 3, "COBOL batch debugging.", COBOL_ONLY),
    other("DEPTHCONDLMT", 3, "Maximum nesting of conditions.", NO_CONDITIONS),
    other("DYNDUMP", 3, "Dynamic dumps.", DUMPS),
    Entry {
        name: "ECB",
        least: 3,
        alias: "",
        sub_options: &[
            sub("area", SIZE_OF_AREA, Bytes(36 * K), Unset, "bytes of the area with which an ECB begins"),
            sub("OUTSIDE(file,file)", Kind::Files("OUTSIDE"), Unset, Unset, "libraries whose storage stays with the process"),
            sub("CHECK(size)", CHECK, Unset, Unset, "bytes of ended ECBs that are kept without access; 0: none"),
            sub("TRACE(n)", TRACE, Unset, Unset, "last requests of each thread that are kept; 0: none"),
            sub("LOW(size)", LOW, Unset, Unset, "bytes of the part of an ECB below 2 GiB"),
            sub("WITHOUT(item)", WITHOUT, Unset, Unset, "for underbar demo pj47265: what is left out"),
        ],
        meaning: words("The storage of ECBs, libraries that are served outside of them, and their checks. An underbar option."),
        explanation: words("\
An ECB begins with an area of this size, a multiple of 4K up to 1M. Only the pages that its buffers touch take memory.
An ECB that needs more gets frames of 1M. A good area is one that most ECBs do not outgrow, and an odd multiple of 4K:
areas at distances of a power of two meet in the same sets of the processor's caches.
What the C library, the C++ library and the loader get for themselves while a thread is in an ECB is served from the
process's heap, since it must outlive the ECB. OUTSIDE adds libraries to these: ECB(OUTSIDE(libssl,libcrypto)). A
name is that of a file up to .so; * stands for any end, and / ends the name of a folder. OUTSIDE may be the first
sub-option. It replaces the names of the layer below.
__malloc31 (underbar/malloc31.h) gets storage below 2 GiB from a part of the ECB: LOW is what it takes at a time, 32K
by default. The part ends with the ECB.
CHECK is for a search: an end fills the storage of its ECB and takes access from it, and up to this many bytes are kept
so. A program that reads, writes or frees such storage dies of the same signal as ever, and the ECB and its class, the
buffer, its size and its name are told before. CHECK alone keeps 64M. Requests and ends are slower. A system call that
is given such an address fails with EFAULT, and is not told.
TRACE(n) keeps the last n requests that each thread made in ECBs, up to 127: kind, size, address and caller. They are
in the report (--report ecbs), and on standard error when CHECK tells of a fault. Requests are slower.
Words like these may be given in any order."),
        effect: Honoured,
    },
    other("ENVAR", 3, "Environment variables to set.", "set them before the program starts: env NAME=VALUE"),
    other("ERRCOUNT", 4, "Maximum number of conditions.", NO_CONDITIONS),
    other("ERRUNIT", 4, "Unit of Fortran's messages.", FORTRAN_ONLY),
    other_with_no("FILEHIST", 5, "File history of Fortran.", FORTRAN_ONLY),
    other("FILETAG", 5, "Tags and conversion of files.", "Linux files carry no character set"),
    other_with_no("FLOW", 3, "Flow trace of COBOL.", COBOL_ONLY),
    Entry {
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
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
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
        explanation: words("As HEAPPOOLS, except that an extent is given as a number of cells. It acts if HEAPPOOLS is OFF."),
        effect: Honoured,
    },
    Entry {
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
    },
    Entry {
        name: "HUGEPAGES",
        least: 4,
        alias: "",
        sub_options: &[sub("OFF|ON|AUTO", OFF_ON_AUTO, OFF_OR_ON_AUTO, Unset, "whether segments ask for huge pages")],
        meaning: words("Whether segments of the heap ask for transparent huge pages. An underbar option."),
        explanation: words("\
Huge pages save page faults and address translation in large heaps, and may raise resident memory. ON asks for them
in every segment of 2M or more. AUTO, underbar's default, asks if they save time and cost no memory: for a further
segment of 4M or more, under HEAP's AUTO, if nearly every page of the previous segment was touched and if a first huge
page, timed against small ones, is not expensive on this machine at this moment."),
        effect: Honoured,
    },
    other("INFOMSGFILTER", 5, "Informational messages to drop.", "underbar writes no informational messages"),
    other_with_no("INQPCOPN", 3, "Fortran INQUIRE of open units.", FORTRAN_ONLY),
    other("INTERRUPT", 3, "Attention interrupts.", NO_CONDITIONS),
    Entry {
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
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
        name: "LOCK",
        least: 3,
        alias: "",
        sub_options: &[
            sub("OFF|COUNT|SIMPLE", OFF_COUNT_SIMPLE, LOCKS_COUNT, Unset, "how threads wait for mutexes"),
            sub("place", COUNT, Unset, Unset, "one mutex, by its place in the program's file"),
            sub("COUNT|SIMPLE|SLEEP", COUNT_SIMPLE_SLEEP, Unset, Unset, "how threads wait for that mutex"),
        ],
        meaning: words("How threads wait for a mutex that another thread holds, and whether waits are recorded. An underbar option."),
        explanation: words("\
LOCK applies to private mutexes of the C library of the normal or the adaptive kind; it does not change others. A mutex
without waiters costs the same under all three values. COUNT, underbar's default, leaves waiting to the C library and
records which thread waits for which, how long, and where. SIMPLE also replaces the waiting: a few threads spin for a
moment, reading only; the others sleep. OFF leaves everything to the C library and records nothing.
One mutex may have a separate value; under SLEEP, threads sleep without spinning. place is the address of the variable
in the program's file or, if the mutex is no variable, the return address of a call that waited for it. underbar tune
--live finds the best value for one mutex and writes the option. A place is valid for one build of the program."),
        effect: Honoured,
    },
    Entry {
        name: "MAINPR",
        least: 4,
        alias: "",
        sub_options: &[sub("file", Kind::File, Auto, Unset, "AUTO: standard output stays where it is; or a file name")],
        meaning: words("A file that gets standard output, through a cache. Natural's name."),
        explanation: words("\
MAINPR(out) creates the file, or empties it, and the program that underbar starts writes its standard output there.
Its lines are cached as under PRINT(132), or as PRINT or PWCSIZE say. What the program reads from a terminal or a pipe
still finds all lines before it in the file. In the name, %p is the process id, %e the program's name, %h the host, and
%% a percent sign."),
        effect: Honoured,
    },
    Entry {
        name: "MSGFILE",
        least: 4,
        alias: "",
        sub_options: &[
            sub("file", Kind::File, Auto, Unset, "AUTO, or a file name with %p %e %h in it"),
            idle("recfm", RECORD_FORM, FBA, "record format", ORDINARY_FILE),
            idle("lrecl", COUNT, Number(121), "record length", ORDINARY_FILE),
            idle("blksize", COUNT, Number(0), "block size", ORDINARY_FILE),
            idle("ENQ|NOENQ", ENQUEUE, NOENQ, "whether writers wait for each other", ORDINARY_FILE),
        ],
        meaning: words("Destination of reports."),
        explanation: words("\
AUTO: standard error after the program has ended or, without a parent to print them, underbar's folder.
In a file name, %p is the process id, %e the program's name, %h the host, and %% a percent sign.
Quote a name with commas, parentheses or blanks. SYSOUT, the default of Language Environment, means AUTO."),
        effect: Honoured,
    },
    other("MSGQ", 4, "Number of message queue entries.", NO_CONDITIONS),
    Entry {
        name: "MT",
        least: 2,
        alias: "",
        sub_options: &[sub("seconds", COUNT, Number(0), Unset, "CPU time of one program start, in seconds; 0: no limit")],
        meaning: words("The CPU time that a program may use from its start. An underbar option."),
        explanation: words("\
MT(60) limits each program start to 60 seconds of CPU time, over all threads of the process. A process starts when it
is forked or executes a program, and has a limit of its own. A program that is LINKed, and not from within another
one, is a start, too: then the limit is that of the LINKing thread, and its time does not count for the process. No
timer is set: the command, which looks at all processes of the run five times a second, sends SIGXCPU. A program that
does not handle it ends (shells show status 152). One that goes on gets SIGKILL after another tenth of the limit, at
least a second. Without the command as parent (--exec), the kernel's limit RLIMIT_CPU is set when a process starts,
and LINKs are not limited. Natural has the same parameter, and the message NAT0953; its default is 60, and 0 here."),
        effect: Honoured,
    },
    Entry {
        name: "MULTIFETCH",
        least: 3,
        alias: "",
        sub_options: &[
            sub("rows", COUNT, Number(0), Unset, "rows of one fetch, at most; 0 and 1: as the program writes"),
            sub("size", SIZE_OF_FETCH, Bytes(256 * K), Unset, "bytes of one fetch, at most"),
        ],
        meaning: words("How many rows of a cursor are fetched when the program asks for one. An underbar option."),
        explanation: words("\
MULTIFETCH(100) applies to programs that read a cursor of PostgreSQL row by row through libpq: FETCH 1, FETCH NEXT. The
third and later fetches of a cursor take 2, 4, 8 and so on up to 100 rows, and the program gets them one by one. That is
done where the program cannot tell: in a READ ONLY transaction, with a cursor that is not SCROLL, WITH HOLD or BINARY,
whose plan reads, compares and sorts tables, and does nothing else. Other cursors are left alone, and the report counts
them with the reason. psycopg's iteration and pgjdbc's defaultRowFetchSize already fetch many rows, and gain nothing.
The Adabas and Natural parameters of that purpose are MULTI-FETCH and PREFETCH."),
        effect: Honoured,
    },
    other("NATLANG", 3, "National language of messages.", LOCALE),
    other_with_no("OCSTATUS", 3, "Fortran checks of OPEN and CLOSE.", FORTRAN_ONLY),
    other("PAGEFRAMESIZE", 4, "Page frames for heaps and stacks.", "set HUGEPAGES(ON) for large pages in the heap"),
    other(
        "PAGEFRAMESIZE64",
        15,
        "Page frames for 64-bit heaps and stacks.",
        "set HUGEPAGES(ON) for large pages in the heap",
    ),
    other("PC", 2, "Private common blocks of Fortran.", FORTRAN_ONLY),
    other("PLITASKCOUNT", 3, "Maximum number of active PL/I tasks.", PLI_ONLY),
    other("POSIX", 3, "POSIX semantics.", "Linux always has them"),
    Entry {
        name: "PRINT",
        least: 5,
        alias: "",
        sub_options: &[sub("size", CACHE, Bytes(0), Unset, "KiB of the cache; 0: none")],
        meaning: words("The cache of standard output and standard error, if they are files. An underbar option."),
        explanation: words("\
PRINT(132) gathers small writes to standard output and standard error in 132 KiB of storage that underbar run
shares, so that nothing is lost whatever ends the program: std::endl, fflush, flush=True and the like no longer
enter the kernel for each line. Only regular files are cached, which are not opened for appending. The report names
what was left alone, with the reason. The processes that the program starts have caches, too; without the command
underbar run nothing is cached. Natural's spelling is PWCSIZE(132)."),
        effect: Honoured,
    },
    other("PROFILE", 3, "A profiler to load.", "Linux profilers (perf) need no run-time option"),
    other("PRTUNIT", 3, "Unit of Fortran's PRINT.", FORTRAN_ONLY),
    other("PUNUNIT", 3, "Unit of Fortran's PUNCH.", FORTRAN_ONLY),
    Entry {
        name: "PWCSIZE",
        least: 4,
        alias: "PCWSIZE",
        sub_options: &[
            sub("print", CACHE, Bytes(0), Unset, "KiB of the cache of printed output; 0: as PRINT says"),
            sub("read", CACHE, Bytes(0), Unset, "KiB of the cache of each work file that is read; 0: as WORKFILE says"),
            sub("write", CACHE, Bytes(0), Unset, "KiB of the cache of work files that are written; 0: as WORKFILE says"),
        ],
        meaning: words("Sizes of the print and work file caches, in Natural's order."),
        explanation: words("\
PWCSIZE(300,200,300) is PRINT(300), and 200 and 300 KiB for the files that WORKFILE names without sizes. Natural's
manuals have both spellings. WORKFILE names the work files."),
        effect: Honoured,
    },
    other("RDRUNIT", 3, "Unit of Fortran's READ.", FORTRAN_ONLY),
    other("RECPAD", 3, "Padding of Fortran records.", FORTRAN_ONLY),
    Entry {
        name: "RPTOPTS",
        least: 4,
        alias: "",
        sub_options: &[sub("OFF|ON", OFF_ON, OFF, OFF, "whether the options report is written")],
        meaning: words("Writes the options report when the program has ended."),
        explanation: words("The report lists every option with its value, and where it was last set."),
        effect: Honoured,
    },
    Entry {
        name: "RPTSTG",
        least: 4,
        alias: "",
        sub_options: &[sub("OFF|ON", OFF_ON, OFF, OFF, "whether the storage report is written")],
        meaning: words("Writes the storage report when the program has ended."),
        explanation: words("\
The report has the layout of Language Environment. Accounts are always kept. RPTSTG(ON) also counts each request by
steps of 8 bytes, for the cell sizes of HEAPPOOLS: as on z/OS, requests become slower."),
        effect: Honoured,
    },
    other_with_no("RTEREUS", 3, "A reusable COBOL environment.", COBOL_ONLY),
    other_with_no("SIMVRD", 3, "Simulated VSAM files for COBOL.", COBOL_ONLY),
    Entry {
        name: "SITES",
        least: 3,
        alias: "",
        sub_options: &[
            sub("OFF|ON", OFF_ON, OFF, Unset, "whether requests are sampled with their callers"),
            sub("mean", SIZE_OF_DISTANCE, Bytes(512 * K), Unset, "mean distance between samples, in bytes requested"),
            sub("stack", SIZE_OF_COPY, Bytes(16 * K), Unset, "bytes of a stack that are copied, at most"),
            sub("share", PERMILLE, Number(5), Unset, "thousandths of the CPU time for samples; 0: any"),
        ],
        meaning: words("Samples requests for storage, with their call stacks. An underbar option."),
        explanation: words("\
One request is sampled for each 512K that a thread requests, at random: a request of s bytes with the probability
1 - exp(-s/mean). So many small requests are sampled as well as few large ones. Its free is seen, too. A sample has the
return addresses of its callers if the program keeps frame pointers, and otherwise a copy of the registers and of the
top of the stack, which is unwound outside the program. If the program allocates so fast that samples would take more
than their share of its CPU time, mean doubles, and later samples carry it. The samples wait in a ring of 1M next to the
accounts; those that find no room are counted. Under HEAPPOOLS a sampled request takes no cell of its pool. Requests in
ECBs, those to CEEGTST and storage below 16M or 2G are not sampled, nor is a process under HEAPCHK or HEAPZONES."),
        effect: Honoured,
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
        name: "SWITCHES",
        least: 3,
        alias: "",
        sub_options: &[
            sub("OFF|ON", OFF_ON, OFF, Unset, "whether switches are counted by component"),
            sub("KERNEL", WITH_KERNEL, Unset, Unset, "the kernel's tracing counts all entries, too"),
        ],
        meaning: words("Counts entries to the kernel by the component that makes them. An underbar option."),
        explanation: words("\
A component is the program or one of its libraries. Under ON, some 300 functions of the C library are counted by the
place that calls them, and so are the calls of its streams (printf, puts, std::cout), where they really enter the
kernel. The report has a section of each program: function, kind of work, count, bytes, and the time that so many
calls take on this machine. It also says how many of the kernel's own count of read and write calls were seen. A call
costs about 1 ns more. Programs without the C library's functions (Go, static ones) are not seen.
SWITCHES(ON,KERNEL) has the exact number of all system calls of the run, too, from the kernel's own tracing, where the
kernel allows it: for the superuser, or with CAP_PERFMON. Each call takes 0.1 to 0.2 microseconds more then.
ZIIP(STAT) is Natural's name for the same."),
        effect: Honoured,
    },
    other("TERMTHDACT", 3, "Output at an unhandled condition.", DUMPS),
    other_with_no("TEST", 3, "Starts a debugger.", DEBUGGER),
    Entry {
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
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
        name: "TIMER",
        least: 3,
        alias: "",
        sub_options: &[sub("OFF|COALESCE", OFF_COALESCE, OFF, Unset, "whether timers are kept outside the kernel while they are set again and again")],
        meaning: words("What it costs to set a timer again before it has expired. An underbar option."),
        explanation: words("\
A server that sets a timer anew for each message calls the kernel each time. Under COALESCE, a process that has set
one-shot timers a few times keeps them itself, and setting one to a later time, or ending it, is a store into memory.
A thread of underbar sleeps until the earliest time for which a timer was set, and sends the signal when it is due:
never earlier, and with the values that the kernel gives it. It applies to alarm, setitimer(ITIMER_REAL), and
timer_settime for timers of CLOCK_MONOTONIC with an ordinary signal. Timers with an interval, other clocks and other
notifications are left alone, and so is a process that changes its user, its namespaces, or forbids itself system
calls. The report counts calls and those that the kernel did not see."),
        effect: Honoured,
    },
    other("TRACE", 4, "Trace table of the run-time.", "use strace, ltrace or perf on Linux"),
    other("TRAP", 4, "Whether conditions are handled.", NO_CONDITIONS),
    other("UPSI", 3, "The eight UPSI switches of COBOL.", COBOL_ONLY),
    other_with_no("USRHDLR", 3, "A user-written condition handler.", NO_CONDITIONS),
    other("VCTRSAVE", 3, "Vector registers in condition handlers.", NOT_HERE),
    Entry {
        name: "WORKFILE",
        least: 4,
        alias: "",
        sub_options: &[
            sub("pattern", Kind::WorkFiles, Unset, Unset, "the file's name, or a pattern of names"),
            sub("read", CACHE, Bytes(300 * K), Unset, "KiB of the cache of each such file that is read; 0: none"),
            sub("write", CACHE, Bytes(200 * K), Unset, "KiB of the cache of each such file that is written; 0: none"),
        ],
        meaning: words("Files whose small reads and writes are gathered. An underbar option."),
        explanation: words("\
WORKFILE('*.out',300,200) may be given several times; a file belongs to the first pattern that fits. A pattern
without / fits the last part of the file's path, another one the whole path, absolute or from the working directory.
* and ? do not fit /. Quote a pattern with /*, which begins a comment, with commas, parentheses or blanks. Written
bytes are in storage that underbar run shares, so that nothing is lost whatever ends the program; others see them
when the file is closed, synchronised, looked at or read by the program, when the cache is full, and when the
program ends. Only regular files are cached; those opened for appending are not. Anything that a cache cannot follow
makes the file plain again, and the report counts it with the reason. The processes that the program starts have
caches, too; without the command underbar run nothing is cached."),
        effect: Honoured,
    },
    other("XPLINK", 3, "XPLINK linkage.", NOT_HERE),
    other("XUFLOW", 3, "Exponent underflow.", NOT_HERE),
    Entry {
        name: "ZIIP",
        least: 4,
        alias: "",
        sub_options: &[
            sub("OFF|STAT", OFF_STAT, OFF, Unset, "whether switches are counted by component"),
            sub("ELIGIBLE(file,file)", Kind::Files("ELIGIBLE"), Unset, Unset, "components that could move, or are placed"),
            sub("CPUS(list)", Kind::Processors, Unset, Unset, "processors for threads of eligible components"),
            sub("3GL(file,file)", Kind::Files("3GL"), Unset, Unset, "libraries whose calls by others are counted"),
        ],
        meaning: words("Natural's option for component switch statistics, and the projection of what could move."),
        explanation: words("\
ZIIP(STAT) is SWITCHES(ON). ZIIP(STAT,ELIGIBLE(libssl,libz*)) projects, too, how much CPU time could move to another
class of processors: to cores that are slower or cheaper. The components named are eligible; a name is that of a file
up to .so, and * stands for any end. At each switch of a component the CPU time of the thread is read: the time since
the switch before counts for the component that makes it. The report has the CPU time of eligible components, and how
long it lasts between switches of the others. A call takes about half a microsecond more while this is on.
ZIIP(ELIGIBLE(libworker),CPUS(2,3)) places threads: one whose first function is in an eligible component runs on these
processors only, from its beginning. All other threads run as plain. The report has the CPU time of both. A thread
that the kernel does not place runs as plain, and is counted. With STAT, it is projected, too.
ZIIP(3GL(libpay,libtax*)) counts switches and, too, each call that other components make of functions of these
libraries, by function, caller and place: a call of a program that may not move, in a loop, is a switch each time. A
library is named by its file or by the name that it gives itself. A call costs about 1 ns more."),
        effect: Honoured,
    },
];

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::search::{SLOTS, find_option};
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
