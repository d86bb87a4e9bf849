//! The options of reports, and of what is counted for them.
//!
//! Not here: the order of the table (`table`), and the vocabulary of the rows (`row`).

use crate::entry::Effect::Honoured;
use crate::entry::{Entry, words};
use crate::row::*;
use crate::value::Kind;
use crate::value::Value::{Auto, Bytes, Number, Unset};

// Reasons for having no effect.
const ORDINARY_FILE: &str = "the report is written as an ordinary text file";

pub(super) const MSGFILE: Entry = Entry {
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
    explanation: words(
        "\
AUTO: standard error after the program has ended or, without a parent to print them, underbar's folder.
In a file name, %p is the process id, %e the program's name, %h the host, and %% a percent sign.
Quote a name with commas, parentheses or blanks. SYSOUT, the default of Language Environment, means AUTO.",
    ),
    effect: Honoured,
};

pub(super) const RPTOPTS: Entry = Entry {
    name: "RPTOPTS",
    least: 4,
    alias: "",
    sub_options: &[sub("OFF|ON", OFF_ON, OFF, OFF, "whether the options report is written")],
    meaning: words("Writes the options report when the program has ended."),
    explanation: words("The report lists every option with its value, and where it was last set."),
    effect: Honoured,
};

pub(super) const RPTSTG: Entry = Entry {
    name: "RPTSTG",
    least: 4,
    alias: "",
    sub_options: &[sub("OFF|ON", OFF_ON, OFF, OFF, "whether the storage report is written")],
    meaning: words("Writes the storage report when the program has ended."),
    explanation: words("\
The report has the layout of Language Environment. Accounts are always kept. RPTSTG(ON) also counts each request by
steps of 8 bytes, for the cell sizes of HEAPPOOLS: as on z/OS, requests become slower."),
    effect: Honoured,
};

pub(super) const SITES: Entry = Entry {
    name: "SITES",
    least: 3,
    alias: "",
    sub_options: &[
        sub("OFF|ON", OFF_ON, OFF, Unset, "whether requests are sampled with their callers"),
        sub("mean", SIZE_OF_DISTANCE, Bytes(512 * K), Unset, "mean distance between samples, in bytes requested"),
        sub("stack", SIZE_OF_COPY, Bytes(16 * K), Unset, "bytes of a stack that are copied, at most"),
        sub("share", PERMILLE, Number(2), Unset, "thousandths of the CPU time for samples; 0: any"),
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
};

pub(super) const SWITCHES: Entry = Entry {
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
};

pub(super) const ZIIP: Entry = Entry {
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
};
