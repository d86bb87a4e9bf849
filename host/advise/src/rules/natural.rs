//! The rules for Natural's buffers and parameters. Those that have a counterpart here also serve programs on Linux.
//!
//! Not here: the table that joins the parts (`rules`), and the functions of the rules.

use crate::listing::natural;
use crate::rule::{Apply, Platform, Rule};
use crate::{caches, fetches, library_calls, sorts, thread_sizes, timers};

/// In the order in which they are applied.
pub(super) const RULES: [Rule; 11] = [
    Rule {
        id: "natural-sound",
        title: "Whether the report of buffers can be used",
        source: "Own: no advice rather than a wrong one",
        condition: "Lines of two reports are mixed.",
        formula: "No advice from that report.",
        stop: "Nothing of this kind was found.",
        risk: "None: nothing is set.",
        platforms: &[Platform::Natural],
        apply: Apply::Program(natural::caches::sound),
    },
    Rule {
        id: "natural-cache-size",
        title: "PWCSIZE, PRINT, WORKFILE: caches of print and work files",
        source: "Natural, tuning of zIIP usage: several 100 KB are sufficient; ZIIP=(PWCSIZE=(300,200,300)); 10,000 lines took \
                 10,003 switches without a cache and 10 with one, 386 and 68 ms; 10,000 records read 10,478 and 5, 641 and \
                 305 ms",
        condition: "A cache was full (95 % or more) and is smaller than 300K for print, 200K for read, 300K for write (raise); \
                    or less than 62 % of it and 64K less were ever used (lower); or zIIP is on and no cache is set. For a run under \
                    SWITCHES(ON): 1,000 calls or more of 4K or less each, where caches of these sizes spare a hundredth of the \
                    processor time or more, by the costs of this machine.",
        formula: "PWCSIZE=(print,read,write) in KB. Raise: 300, 200, 300. Lower: the most that was used in any session and an \
                  eighth of it, rounded up. Each cache stops as many switches as its size holds lines or records. For a run: \
                  PRINT and WORKFILE with the sizes of Raise; all files, since SWITCHES does not tell them apart.",
        stop: "The caches are that large, or hold all: no change. A larger one only divides what is left. A cache whose size is in no \
               report and no text: nothing is set, since the parameter has all three. For a run: less than a hundredth is not worth it.",
        risk: "Caches are in the session's storage: one for all print files, one for all work files written, one for each work \
               file read; they are allocated only when used. If a session fails, its cached lines and records are not yet in the file.",
        platforms: &[Platform::Natural, Platform::Linux],
        apply: Apply::Switching(caches::of_run, natural::caches::caches),
    },
    Rule {
        id: "natural-thread-size",
        title: "THSIZE: one GETMAIN instead of one for each buffer",
        source: "Natural, tuning of zIIP usage, and the reference of THSIZE: 256 to 2097151 KB, 0 for none; batch and TSO only",
        condition: "All buffers together are larger than the thread, or there is none (raise); or they and an eighth fill less \
                    than 62 % of it (lower). For a run without THSIZE: 1,000 pages or more that were given back and came again, four times what \
                    is held at most, at a hundredth of the processor time or more by the costs of this machine.",
        formula: "All buffers together, the most of any session, and an eighth of it, rounded up to 64K. For a run: what was reached of \
                  the reservation, or all segments together if they did not fit, rounded up to 1M.",
        stop: "The thread holds all buffers and is not far too large: no change.",
        risk: "The thread is taken at once, out of the region. It must hold all buffers of fixed size, or the session does not \
               start. THSIZE is ignored in strings of SYS= and PROFILE= and in an alternative parameter module.",
        platforms: &[Platform::Natural, Platform::Linux],
        apply: Apply::Switching(thread_sizes::of_run, natural::thread::thread),
    },
    Rule {
        id: "natural-time-limit",
        title: "MT: no timer at each FETCH",
        source: "Natural, tuning of zIIP usage: MT=0 for sessions that execute many FETCH statements; the reference of MT: 0 to \
                 9999999 seconds, default 60",
        condition: "MT is set to more than 0. For a run under SWITCHES(ON): 1,000 calls or more that set timers, at a hundredth of the \
                    processor time or more.",
        formula: "MT=0, for sessions that execute many FETCH statements. For a run: TIMER(COALESCE).",
        stop: "MT=0: no change. MT in no text: no advice, since the default of 60 may be overridden where it is not seen.",
        risk: "It pays on the zIIP only. Without a limit an endless loop is not ended by Natural: leave it to TIME of the step. Natural Security may \
               override MT, and allows 32767 at most.",
        platforms: &[Platform::Natural, Platform::Linux],
        apply: Apply::Switching(timers::of_run, natural::parameters::time_limit),
    },
    Rule {
        id: "natural-sort",
        title: "SORT: Natural's own instead of an external one",
        source: "Natural, tuning of zIIP usage: SORT=(WRKSIZE=1000,EXT=OFF); 1,145 records took 3,435 switches with an external \
                 sort and 1,148 with the internal one, 155 and 70 ms",
        condition: "EXT=ON (change), or a WRKSIZE below 1000 (raise). For a run: a program named sort that another program of the run \
                    started, and that ran for a hundredth of its time or more.",
        formula: "EXT=OFF, and WRKSIZE=1000 unless it is larger. For a run nothing is set: underbar sort, or the crate \
                  underbar-records in the program.",
        stop: "EXT=OFF with a WRKSIZE of 1000 or more: no change. The listing shows no SORT: no advice.",
        risk: "Under STORAGE=MAIN, the default, WRKSIZE must hold all records of a sort and its control data, else the SORT \
               fails: size it for the largest one, or leave large sorts external.",
        platforms: &[Platform::Natural, Platform::Linux],
        apply: Apply::Switching(sorts::of_run, natural::parameters::sort),
    },
    Rule {
        id: "natural-main-printer",
        title: "MAINPR: primary output through a cache",
        source: "Natural, tuning of zIIP usage: primary output is not cached; the reference of MAINPR: 0 to 31, default 0",
        condition: "MAINPR=0, or it is in no text.",
        formula: "MAINPR=n, where printer n is defined (PRINT, NTPRINT or job control): the number is the site's to choose.",
        stop: "MAINPR is a printer: no change.",
        risk: "Output leaves CMPRINT, where operators may look for it; INPUT statements and programs of SYSLIB stay there.",
        platforms: &[Platform::Natural],
        apply: Apply::Program(natural::parameters::main_printer),
    },
    Rule {
        id: "natural-work-pools",
        title: "WPSIZE=(0,0) against the zIIP",
        source: "Natural, reference of WPSIZE and THSIZE: fewer GETMAINs are fewer switches",
        condition: "All sizes of WPSIZE are 0.",
        formula: "Nothing is set: without work pools each physical buffer is a GETMAIN and so a switch.",
        stop: "There are work pools: no advice.",
        risk: "Work pools are storage next to that of the thread.",
        platforms: &[Platform::Natural],
        apply: Apply::Program(natural::parameters::work_pools),
    },
    Rule {
        id: "natural-multi-fetch",
        title: "MULTI-FETCH: records for each call",
        source: "Natural, tuning of zIIP usage: 100,000 records took 100,000 switches without and 12,500 with multi-fetch (factor \
                 8), 5,389 and 958 ms; experts' rule: 10, in batch rarely more than 100",
        condition: "A clause MULTI-FETCH in a program, or MFSET. For a run: 1,000 rows or more that the program asked for one by \
                    one, of cursors that may be read ahead.",
        formula: "A factor of 10 spares nine calls of ten. The records of one call must be below 32 KB together: factor at most \
                  32767 / RBL, if the listing shows the length of the record buffer as RBL=. For a run: MULTIFETCH(100), which \
                  bytes limit, below a factor of 10, where the calls that it spares take a hundredth of the run or more.",
        stop: "Factors of 2 to 100 that fit, for a run of 10 to 100: no change. Cursors that must be left alone: no advice, and why.",
        risk: "Records are as old as the call that fetched them. Reads with hold ignore the clause. Loops within loops each take \
               a buffer. Without a TO limit records beyond the last one wanted are fetched.",
        platforms: &[Platform::Natural, Platform::Linux],
        apply: Apply::Switching(fetches::of_run, natural::fetch::fetch),
    },
    Rule {
        id: "natural-prefetch",
        title: "PREFSBL: the buffer that a factor needs",
        source: "Adabas, operations: PREFSBL = 300 + FBL + 2 (16 + RBL) + 2 (16 + RBL) records; 1024 to 65535, default 3000; \
                 PREFTBL 6144 to 16777215, default 30000",
        condition: "PREFETCH=YES or OLD, and a line FBL=n,RBL=n with the lengths of format and record buffer.",
        formula: "The formula, inverted, gives the records that the buffer holds; fewer than 10: the PREFSBL that holds 10, as far \
                  as 65535 and 32 KB of records allow, and a PREFTBL that is not smaller.",
        stop: "It holds 10 records or more: no change.",
        risk: "PREFTBL must hold one PREFSBL for each sequential read at a time, and is always allocated. Records that are fetched \
               and not wanted are wasted.",
        platforms: &[Platform::Natural],
        apply: Apply::Program(natural::prefetch::prefetch),
    },
    Rule {
        id: "natural-switches",
        title: "Switches for each record",
        source: "Natural, tuning of zIIP usage: its tables of records, switches and processor time",
        condition: "A table of records read or lines written, switches into SRB mode, and processor time.",
        formula: "Records for each switch; between two ways the processor time for each switch that was spared.",
        stop: "Two records or more for each switch: no change.",
        risk: "None: nothing is set.",
        platforms: &[Platform::Natural],
        apply: Apply::Program(natural::switches::switches),
    },
    Rule {
        id: "natural-components",
        title: "Components that cause switches, and 3GL programs",
        source: "Natural, system command ZIIP, and tuning of zIIP usage: each call of a 3GL program leaves the zIIP; with a high \
                 share of 3GL code sessions are not suitable for it",
        condition: "Component switch statistics, whose layout is not known, or ZIIP=OFF. For a run under ZIIP(3GL(library)): a place \
                    calls a function of such a library 1,000 times or more.",
        formula: "Nothing is set: ZIIP PRINT STAT SORTSWITCHES PARAMETER Y shows what parameters can avoid; count switches first \
                  by ZIIP STAT ON. For a run: the calls, and what they would take as hand-overs to another thread and back.",
        stop: "The listing shows none: no advice. For a run: hand-overs of less than a hundredth of its processor time: suitable.",
        risk: "None: nothing is set.",
        platforms: &[Platform::Natural, Platform::Linux],
        apply: Apply::Switching(library_calls::of_run, natural::switches::components),
    },
];
