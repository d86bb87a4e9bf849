//! The one table of rules. `explain`, the manual and the tests walk it.
//!
//! ```text
//! Linux                  accounts of a run        each program of the report
//! Language Environment   storage reports          each program of the listings
//! Natural                buffers, parameters      each session
//! Libraries              load libraries           applied by `underbar lib survey`
//! z/TPF                  request sizes, profiles  everything read
//! Language Environment   option texts             checks, which set nothing
//! ```
//!
//! Invariant: ids are unique, whatever the platform. Rules of one platform are applied in the order of this table.
//! To add a rule, add a row: its id, its words, the platforms it serves, its function, and tests that it fires, that it says
//! "no change", and that it lowers a setting if it can.
//! Not here: how rules are applied (`accounts`, `listing`).

use crate::listing::{le, natural, option_checks, ztpf};
use crate::rule::{Apply, Area, Platform, Rule};
use crate::{
    caches, ecbs, enclaves, fetches, heap, keep, library_calls, lock, pages, pools, requests, sorts, spin,
    stack, thread_sizes, timers,
};

/// The source of the rules about load libraries.
const LOAD_LIBRARIES: &str = "LongEx Mainframe Quarterly, August 2019, Load Library Performance: a module of 4 MB loaded 1,000 times took \
                      1,646,000 EXCPs and 243 s at 6,144, 504,000 and 145 s at 23,440, 426,000 and 133 s at 32,760, 100,000 and 4 s \
                      in a PDSE; a module of one block always the same";

/// When a check of option texts finds nothing, and what it costs.
const RIGHT: &str = "The text is right: no finding.";
const SETS_NOTHING: &str = "None: nothing is set.";

/// All rules.
pub static RULES: [Rule; 57] = [
    Rule {
        id: "coverage",
        title: "Whether this heap is worth tuning",
        source: "Language Environment, storage report: storage of vendor heap managers is not counted",
        condition: "Less than half of the program's resident anonymous memory is in this heap, or another allocator serves \
                    its malloc.",
        formula: "No heap advice; the largest other owner is named.",
        stop: "Half or more of the memory is in this heap.",
        risk: "None: nothing is set.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Heap, acts: true, rule: heap::coverage },
    },
    Rule {
        id: "heap-size",
        title: "Initial size and increment of HEAP",
        source: "Language Environment, \"Total heap storage used (sugg. initial size)\", and the storage tuning talk: \
                 27,949 segments of 32K took 129 times the CPU of 8 segments of 100M",
        condition: "Sizes are set: more than 8 segments were needed and the first did not hold everything (raise), or \
                    less than 62 % of what was taken was used, or a large initial size is held for a rare peak (lower). \
                    Under AUTO: more than 64 segments.",
        formula: "Initial size: the most that was used and an eighth of it for packing, but no more than all segments \
                  together; rounded up to four binary digits and to whole pages. Increment: a quarter of that, from \
                  4K to 64M, but lowered no further than the largest request above 64K. Where memory is limited to less than twice the initial size, or the peak is rare in a \
                  long run, the increment is raised instead.",
        stop: "8 segments or fewer and 62 % or more of them used; under AUTO, 64 segments or fewer: no change.",
        risk: "One run's peak may not be the largest. Address space of the initial size is taken at once; memory is \
               taken only where it is touched. The initial segment is kept to the end, also under FREE.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Heap, acts: true, rule: heap::size },
    },
    Rule {
        id: "large-requests",
        title: "Requests that are larger than what serves them",
        source: "ECB heap talk, 2025 (PJ47265): the request size report is there to tune the sizes of available lists; own: a request \
                 that is larger than the increment takes a segment, a kernel call, of its own",
        condition: "Of 100 requests or more, one in 1,000 and more than 8 are larger than the largest size that serves them: the \
                    increment of HEAP where sizes are set, the largest available list of z/TPF. On Linux they are the segments that \
                    were made for one request, but no more than the requests of such sizes.",
        formula: "HEAP: an increment that holds the largest request, below 64M. z/TPF: tpf-avl-size names the sizes.",
        stop: "Fewer are larger, heap-size advises sizes, or the increments are AUTO: no advice.",
        risk: "Each increment is taken whole, though memory is taken only where it is touched.",
        platforms: &[Platform::Linux, Platform::Ztpf],
        apply: Apply::Supply(requests::large),
    },
    Rule {
        id: "heap-keep-free",
        title: "KEEP or FREE for increments of HEAP",
        source: "Storage tuning talk: 39,122 segments allocated and 39,120 freed under FREE took 25.79 s, KEEP 22.34 s",
        condition: "At least 16 segments, nine of ten freed, and a quarter more storage asked of the kernel than was ever \
                    held at one time (KEEP). Or: kept segments of 64M or more, three quarters of them in place at the \
                    end, a quarter of them or less in use, in a process that ran for long (FREE).",
        formula: "HEAP(,,,KEEP) in the first case, HEAP(,,,FREE) in the second.",
        stop: "Segments are freed once, at the end, or stay in use: no change.",
        risk: "KEEP holds storage that others could use; FREE costs a kernel call for each increment that comes and goes.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Heap, acts: true, rule: keep::free },
    },
    Rule {
        id: "heap-pools",
        title: "HEAPPOOLS: shares of extents, sizes of cells",
        source: "Language Environment: \"use the values in the storage report\"; percentages by its published formula, of the cells \
                 of a thread, since here each thread has extents of its own; sizes by least waste",
        condition: "Under HEAPPOOLS or HEAPPOOLS64: a pool needed more than 2 extents for each thread (raise), or extents of 1M or \
                    more hold four times what was used (lower). Under RPTSTG(ON): a quarter of the bytes of cells is wasted, and \
                    other sizes waste half of that or less (change).",
        formula: "Percentages, or numbers of cells, that hold the most cells in use of a thread in one extent, up to 90. Sizes: up to \
                  12 in which the requests waste least, with shares left open; then one more run.",
        stop: "2 extents or fewer for each thread, and sizes that fit: no change. Sizes with several pools: no advice.",
        risk: "An extent is taken whole, by each thread. By default HEAPPOOLS is off, and no rule turns it on: the usual sizes of \
               cells take fewer instructions and less storage.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Heap, acts: true, rule: pools::apply },
    },
    Rule {
        id: "hugepages",
        title: "Huge pages for the heap",
        source: "Own: a page fault for each 4K of a large heap that is kept",
        condition: "64M or more used at most, segments kept, one program that has most of the run's heap, and page faults \
                    that make up half of that storage or more.",
        formula: "HUGEPAGES(ON); HUGEPAGES(AUTO) where it is on and the heap stays below 64M.",
        stop: "Fewer faults than half of the heap's pages, or already on: no change.",
        risk: "Resident storage may grow by what is left empty in pages of 2M.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Heap, acts: true, rule: pages::huge },
    },
    Rule {
        id: "enclaves",
        title: "LINK against CALL, and the initial size of enclaves",
        source: "Language Environment: every LINK is a new enclave, and extra enclaves are expensive both to initialize and in storage \
                 usage; below 10 LINKs a program has 1,760K less than below 1, below 10 dynamic CALLs 128K less",
        condition: "HEAP has an initial size, and each enclave used at most a quarter of it (lower). Or a program made 100 LINKs or \
                    more (change).",
        formula: "No option: a smaller initial size of HEAP where the program itself allows it, or CALL in place of LINK.",
        stop: "Fewer LINKs, and enclaves that use what they take: no advice.",
        risk: "A CALLed program's leaks stay with its caller, its exit ends the process, and its data are not fresh at each CALL.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Heap, acts: false, rule: enclaves::links },
    },
    Rule {
        id: "stack",
        title: "STACK: the first thread, and all threads under THREADSTACK(OFF)",
        source: "Language Environment, storage report: Largest used by any thread (not the maximum of all threads, which \
                 popular advice takes and which is wrong for threaded programs)",
        condition: "STACK has sizes, and less than 62 % of the initial size was used (lower), or more than all of it (raise).",
        formula: "Initial size: the largest use of any thread, under THREADSTACK(ON) of the first one, rounded up to whole \
                  pages; increment 4K.",
        stop: "62 % or more of the initial size used: no change. Where STACK is not set the use is measured only: the \
               kernel grows the first stack by itself.",
        risk: "The next run may call deeper.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Stack, acts: false, rule: stack::first },
    },
    Rule {
        id: "threadstack",
        title: "THREADSTACK: the default size of threads' stacks",
        source: "Language Environment, THREADSTACK(ON,...); and glibc, which keeps 40M of stacks of ended threads for new ones",
        condition: "Threads that ask for no stack size, and a default at least twice as large as needed where that matters: 64 such \
                    threads or more at one time, or threads that come and go while their stacks exceed 40M (lower). Or more than \
                    three quarters of the default used (raise). Or, with increments, half as many of them given back as threads \
                    started, and 16 or more (raise).",
        formula: "Four times the largest use of any of these threads, at least 256K, which is above PTHREAD_STACK_MIN and 64K of \
                  thread-local storage; rounded up to four binary digits. With increments that come and go: the largest use, or, \
                  where the first segment holds that, the first segment and the increments of a thread. Then first segments come \
                  out of ANYHEAP, which moves with threads times the size.",
        stop: "Few such threads, or a default below twice the need: no change. Each thread asks for a size: no advice.",
        risk: "A thread that needs more than four times the largest use seen would overflow its stack and die; lowering is \
               done only on request.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Stack, acts: true, rule: stack::threads },
    },
    Rule {
        id: "lock-holder-blocks",
        title: "A lock is held over a call that blocks",
        source: "Own: waiters look at what the holder does; the thread that unlocks is charged, as in Go's mutex profile",
        condition: "Threads waited for a lock 10 ms or longer together, and a hundredth of the run; its holder was found in \
                    system calls three times or more; and that accounts for a quarter of the wait or more.",
        formula: "Share of the wait: the time in waits of a millisecond or longer, times the part of the looks that found the \
                  holder in a call. Nothing is set; the call and the holder's place are named: copy under the \
                  lock, and make the call after giving it up.",
        stop: "Less than a quarter of the wait: no change.",
        risk: "Work that is moved out of the lock is no longer ordered by it.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Lock, acts: true, rule: lock::holder_blocks },
    },
    Rule {
        id: "lock-same-line",
        title: "Two hot locks in one cache line",
        source: "Own: addresses of locks",
        condition: "Two locks of one process that are worth a change (10 ms of waits and a hundredth of the run each) share \
                    a cache line of 64 bytes.",
        formula: "Nothing is set; both are named: align each to 64 bytes.",
        stop: "Each lock that is waited for has a line of its own: no change.",
        risk: "Each lock takes 64 bytes.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Lock, acts: true, rule: lock::same_line },
    },
    Rule {
        id: "lock-starves",
        title: "One thread takes a lock again and again",
        source: "Own measurement: under the C library's mutex a thread waited 414 ms, and 2.7 ms under LOCK(SIMPLE)",
        condition: "A lock was given up to waiters 100 times or more, 80 % of these by the thread that did so the time \
                    before, and the longest wait is a millisecond or longer and eight times the median.",
        formula: "LOCK(SIMPLE) for mutexes under LOCK(COUNT), which serves a starving thread; otherwise nothing is set: take \
                  the lock once for several operations.",
        stop: "Less than 80 %, or no wait much longer than the others: no change.",
        risk: "The thread that is served next runs on a cold cache: throughput may fall.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Lock, acts: true, rule: lock::starves },
    },
    Rule {
        id: "lock-spin-pays",
        title: "Waits that are shorter than a sleep",
        source: "Own measurement: a sleep and a wake take about 4 us",
        condition: "Half of the waits for a mutex that is worth a change are shorter than 4,096 ns, under LOCK(COUNT).",
        formula: "LOCK(SIMPLE): look again before sleeping.",
        stop: "LOCK(SIMPLE) is in force: no change.",
        risk: "Looking again takes processor time that others could use.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Lock, acts: true, rule: spin::spin_pays },
    },
    Rule {
        id: "lock-spin-does-not-pay",
        title: "Processor time burnt on waits that are long",
        source: "z/TPF simple locks: 99 % of the processor before, 8 % after waiters gave up control",
        condition: "Half of the waits are 4,096 ns or longer; and either looking again took a hundredth of the run's \
                    processor time and got less than one acquisition in ten, or an adaptive mutex waits under LOCK(COUNT).",
        formula: "LOCK(COUNT) in the first case, for a mutex; LOCK(SIMPLE) in the second, which stops looking once the \
                  holder is known not to run.",
        stop: "Looking again takes less than a hundredth, or gets one in ten: no change.",
        risk: "A sleep and a wake for each wait.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Lock, acts: true, rule: spin::spin_does_not_pay },
    },
    Rule {
        id: "lock-order",
        title: "Locks taken in a circle",
        source: "Own: pairs of a lock that was held and one that was waited for",
        condition: "The pairs make a circle: A was held while B was waited for, and B, directly or by others, while A was.",
        formula: "Nothing is set; locks and places are named: take them in one order everywhere.",
        stop: "Pairs that make no circle: no change. Pairs are seen only where a thread had to wait for the second lock.",
        risk: "None: nothing is set.",
        platforms: &[Platform::Linux],
        apply: Apply::Accounts { area: Area::Lock, acts: true, rule: lock::order },
    },
    Rule {
        id: "le-sound",
        title: "Whether the report can be used",
        source: "Own: no advice rather than a wrong one",
        condition: "Lines of two reports are mixed, or lines are cut at the right; or an options report or text of the \
                    same listing sets a size that the storage report shows otherwise.",
        formula: "No advice based on that report or option.",
        stop: "Nothing of this kind was found.",
        risk: "None: nothing is set.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::sound::apply),
    },
    Rule {
        id: "le-heap-size",
        title: "Initial size and increment of the heaps",
        source: "Language Environment, \"Total heap storage used (sugg. initial size)\"; storage tuning talk: 27,949 segments \
                 of 32K took 15.44 s of CPU, 8 segments of 100M 0.12 s",
        condition: "More used than the initial size holds, in more than 8 segments, or in any number of them where one of 16M \
                    or less would do (raise); an initial size of which less than 62 % and 64K less are used, or an increment \
                    of which less than a sixteenth is used (lower).",
        formula: "Initial size: the most that was used in any run and an eighth of it for headers and packing, rounded up; \
                  above 128M an eighth of it, as initial size and as increment, which makes about 8 segments. Increment: \
                  a quarter of the initial size. In ten runs or more, what was needed long ago counts less: each later run \
                  forgets a sixteenth of what it did not need. Where the largest of ten runs or more is twice the usual \
                  (nine in ten), or the region is less than twice the initial size or leaves less than an increment above \
                  the peak, only the increment is raised, to half of what is left at most. ANYHEAP \
                  grows with the stacks of threads, whose first segments are in it (BELOWHEAP where they are BELOW).",
        stop: "The initial size holds all, or 8 segments or fewer hold more than 16M: no change. Nothing goes down where more \
               segments were allocated than the use takes, and nothing is set by a size that is neither whole K nor a round \
               number: digits may be missing.",
        risk: "A peak of the runs seen need not be the largest. The initial size is taken at once, by each enclave: under \
               CICS and IMS by as many as run at one time.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::heap::apply),
    },
    Rule {
        id: "le-keep-free",
        title: "KEEP or FREE for increments",
        source: "Storage tuning talk: 39,122 segments allocated and 39,120 freed under FREE took 25.79 s of CPU and 62 s, \
                 under KEEP 22.34 s and 25 s",
        condition: "16 segments or more were freed, and nine of ten of those allocated.",
        formula: "KEEP for the increments of that heap or stack; nothing where requests are larger than the increment, since \
                  KEEP then fragments in servers that run for long.",
        stop: "Fewer were freed, or KEEP is set: no change.",
        risk: "KEEP holds storage that others could use. In long-running servers with requests larger than the increment \
               KEEP fragments, and FREE is right.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::keep::apply),
    },
    Rule {
        id: "le-stack",
        title: "Stacks from the largest use of any thread",
        source: "Language Environment, storage report: Largest used by any thread (not the maximum of all threads, which \
                 popular advice takes and which is wrong for threaded programs)",
        condition: "A thread used more than the initial size (raise), or less than 62 % of it and 64K less (lower), of STACK, \
                    THREADSTACK, LIBSTACK, THREADHEAP or the downward stacks.",
        formula: "Initial size: the largest use of any thread and an eighth of it, rounded up. THREADSTACK only where it is \
                  known to be ON. First segments of all threads but the first come out of ANYHEAP (BELOWHEAP if BELOW), \
                  which needs threads times the difference more. STACK64 and THREADSTACK64 are left alone: their increments ask nothing of the system.",
        stop: "The initial size holds what any thread used: no change. Nothing goes down where more segments were allocated \
               than there were threads, and nothing is set by a size that is neither whole K nor a round number: digits may be \
               missing.",
        risk: "The next run may call deeper, which costs an increment.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::stack::apply),
    },
    Rule {
        id: "le-storage-fill",
        title: "STORAGE that fills every stack frame",
        source: "Storage tuning talk: 0.56 s of CPU under NONE, 2.15 s under 00, 0.57 s under CLEAR",
        condition: "The third value of STORAGE is neither NONE nor CLEAR.",
        formula: "STORAGE(,,NONE).",
        stop: "It is NONE or CLEAR: no change.",
        risk: "A program that uses variables before it sets them behaves otherwise; CLEAR clears the unused initial stack \
               once and may serve it.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::fill::apply),
    },
    Rule {
        id: "le-heap-pools",
        title: "HEAPPOOLS: percentages, sizes, leaks",
        source: "Language Environment, storage report: extents allocated should be 1 or 2; suggested percentage = maximum \
                 cells used x element size x 100 / initial heap size, 1 to 90. The method of the suggested sizes is not \
                 published; ours is least waste over the requests by ranges of 8 bytes",
        condition: "A pool needed more than 2 extents, a quarter of the bytes of cells is wasted or a tenth of the requests is \
                    larger than the largest cell, or half of the cells were in use at the end.",
        formula: "Percentages: the published formula, rounded up. Sizes: of all sets of up to 12 sizes the one in which the \
                  requests waste least, with empty percentages as the system itself suggests them; then one more run.",
        stop: "2 extents or fewer everywhere, and sizes that fit: no change.",
        risk: "Counts of pools are not serialized and so inexact. An extent is taken whole.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::pools::apply),
    },
    Rule {
        id: "le-region",
        title: "Initial sizes against the region",
        source: "A site's system member asked for an initial heap of 256M where about 125M was free: the program ended in \
                 abend 0C4 (zowe/zowe-common-c#505)",
        condition: "The initial sizes of heap, stack and library heap above the line are half of the region or more.",
        formula: "Nothing is set by this rule: sizes that are not used go down by le-heap-size and le-stack; otherwise the \
                  region has to be raised.",
        stop: "They are less than half of the region, or the region is unknown: no advice.",
        risk: "An initial size that cannot be had ends the program.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::region::apply),
    },
    Rule {
        id: "le-link-call",
        title: "Many small enclaves",
        source: "Storage tuning talk: 10 levels of LINK took 1760K, of dynamic CALL 128K",
        condition: "Eight storage reports or more in one listing, none of which used more heap than 64K.",
        formula: "Nothing is set: where programs LINK to each other, dynamic CALL saves an enclave each.",
        stop: "Fewer, or larger ones: no advice.",
        risk: "A called program shares the caller's run-time: its options and its leftovers.",
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Program(le::link::apply),
    },
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
    Rule {
        id: "block-size-listed",
        title: "Small blocks, seen in a list",
        source: LOAD_LIBRARIES,
        condition: "A list shows a PDS with RECFM=U and a block size of 8,192 or less.",
        formula: "Copy it at a block size of 32760; survey the library itself for the tracks and channel programs that it saves.",
        stop: "A larger block size, or a PDSE: no advice.",
        risk: "None for programs: the binder fills tracks with shorter blocks, so space does not grow.",
        platforms: &[Platform::Libraries],
        apply: Apply::Survey,
    },
    Rule {
        id: "block-size",
        title: "Block size of a PDS",
        source: LOAD_LIBRARIES,
        condition: "At 32,760 its members would take fewer tracks, or fewer channel programs to load, than now.",
        formula: "32760. SYS1.LINKLIB took 2,895 tracks at 6,144, 2,640 at 23,440 and 2,620 at 32,760.",
        stop: "Nothing is saved, as with members of one block: no advice.",
        risk: "A library must be copied (IEBCOPY COPYMOD, or the binder) for its members to have the new block size.",
        platforms: &[Platform::Libraries],
        apply: Apply::Survey,
    },
    Rule {
        id: "compress",
        title: "Gaps of a PDS",
        source: "Own: what a copy at the same block size takes less",
        condition: "A tenth or more of its tracks are gaps that deleted members left.",
        formula: "Compress it.",
        stop: "Fewer gaps: no advice.",
        risk: "No job may have the library open for output, and a compress that fails may lose members: copy it first.",
        platforms: &[Platform::Libraries],
        apply: Apply::Survey,
    },
    Rule {
        id: "many-members",
        title: "Directory of a PDS",
        source: "LongEx, as above: with 4,200 members instead of 2 loads of a small module took 9 s instead of 3, in a PDSE 2 s \
                 instead of 1",
        condition: "The directory of a PDS is larger than one track.",
        formula: "Make it a PDSE, or part it: a PDS directory is searched in sequence. LLA spares the search as well.",
        stop: "The directory fits on a track: no advice.",
        risk: "A PDSE cannot be read before its address space is up: not for what is needed at IPL.",
        platforms: &[Platform::Libraries],
        apply: Apply::Survey,
    },
    Rule {
        id: "above-4k",
        title: "Block size of a PDSE",
        source: "LongEx, as above: pages of a PDSE are 4K, whatever its block size",
        condition: "A PDSE with a block size below 4,096.",
        formula: "4096 or more; 32760 is usual. Nothing else depends on it.",
        stop: "4,096 or more: no advice.",
        risk: "None: nothing but the label changes.",
        platforms: &[Platform::Libraries],
        apply: Apply::Survey,
    },
    Rule {
        id: "free-pages",
        title: "Pages of a PDSE that hold nothing",
        source: "Own: pages that are free, of all",
        condition: "A quarter or more of its pages, and 64 or more, hold nothing.",
        formula: "Copy it to a smaller one, unless it will grow again.",
        stop: "Fewer are free: no advice.",
        risk: "A library that grows again asks for extents again.",
        platforms: &[Platform::Libraries],
        apply: Apply::Survey,
    },
    Rule {
        id: "tpf-sound",
        title: "Whether a report of z/TPF can be used",
        source: "Own: no advice rather than a wrong one",
        condition: "Counts and percentages of a report contradict each other, or its classes do not grow from row to row.",
        formula: "No advice from that report.",
        stop: "Nothing of this kind was found.",
        risk: "None: nothing is set.",
        platforms: &[Platform::Ztpf],
        apply: Apply::Listings(ztpf::remarks::sound),
    },
    Rule {
        id: ztpf::AVL_SIZE,
        title: "Buffer sizes of the available lists of the ECB heap (HAVSZn; on Linux AVL)",
        source: "ECB heap talk, 2025 (PJ47265): the request size report has finer classes \"to help tune AVL sizes\"; z/TPF \
                 itself gives no advice on sizes. The optimisation is our own",
        condition: "A request size report of which at most one request in 100 is in missing rows; the best sizes \
                    spare one byte in 100 of what is handed out, or more requests find a list.",
        formula: "Of all ways to cut the classes into as many runs as there are lists (4, or as many as the listing shows) the \
                  one with the least sum of requests times (size - class limit), found exactly by dynamic programming. The \
                  lists hold all requests but one in 1,000. Sizes are class limits, multiples of 32. For a run: \
                  AVL(class,s1,...,s5) of each class that spares enough, multiples of 16, by the requests of up to 4096 bytes of the ECBs \
                  that were counted one by one.",
        stop: "The present sizes waste no more for certain: no change. Of a report with classes of 128 of which the first holds half \
               of the requests no sizes are taken where the present ones are not known.",
        risk: "A report shows one interval of one system, and a system-wide one mixes applications with shared SSL and Java, \
               which ask for many small buffers: with PJ48166 these have sizes of their own. The sizes matter even where the \
               numbers of preallocated buffers (HAVLn) are 0.",
        platforms: &[Platform::Ztpf, Platform::Linux],
        apply: Apply::Ecbs(ecbs::sizes, ztpf::avl::sizes),
    },
    Rule {
        id: "tpf-avl-count",
        title: "Numbers of preallocated buffers of the available lists (HAVLn)",
        source: "z/TPF blog, questions and answers on preallocated buffers: before PJ47265 at most 150 over AVL1 to AVL4, since \
                 the first control table has 150 entries in five 4-KB frames",
        condition: "A request size report, or values of a memory configuration, are there.",
        formula: "Nothing is set: a report of requests does not show how many buffers an ECB holds at one time. Values that are \
                  there are checked: at most 150 buffers in all, and their bytes within the preallocated area.",
        stop: "Nothing is set in any case.",
        risk: "None: nothing is set.",
        platforms: &[Platform::Ztpf],
        apply: Apply::Listings(ztpf::remarks::counts),
    },
    Rule {
        id: "tpf-preallocated",
        title: "The preallocated area of an ECB (PEH, 31-bit; on Linux ECB)",
        source: "PJ48166: usage reports of the preallocated and of the virtual 31-bit heap, to tell which size is acceptable",
        condition: "The usage report of the preallocated area, whole, of 20 ECBs or more.",
        formula: "The smallest class that holds 95 of 100 ECBs, in 4-KB frames, over both 31-bit reports where the second holds \
                  as many ECBs as the first says exceed the area. For a run: ECB(area) over the ended ECBs of all classes, lowered only where \
                  the area is four times as large.",
        stop: "The present area is that class: no change.",
        risk: "Every ECB that is defined gets the area, used or not: a frame more is 4 KB times their number. The unit of PEH is \
               not confirmed by a public source. Buffers of the available lists come out of the area.",
        platforms: &[Platform::Ztpf, Platform::Linux],
        apply: Apply::Ecbs(ecbs::area, ztpf::preallocated::area),
    },
    Rule {
        id: "tpf-fine-classes",
        title: "Classes of 128 hide the sizes that matter",
        source: "ECB heap talk, 2025: 99.73 % of the requests in the one class up to 128; with PJ47265 99.29 % in that of 33 to 64",
        condition: "A report with classes of 128, of which the first holds half of all requests or more.",
        formula: "Nothing is set: collect again with APAR PJ47265 (and PJ48131), whose classes begin at 32, before sizes below 128 \
                  are chosen.",
        stop: "The report has the finer classes: no advice.",
        risk: "None: nothing is set. No application changes are needed for the APARs.",
        platforms: &[Platform::Ztpf],
        apply: Apply::Listings(ztpf::remarks::fine),
    },
    Rule {
        id: "tpf-population",
        title: "Sets of sizes for shared SSL and Java, and classes of ECBs that deserve their own",
        source: "ECB heap talk, 2025, and PJ48166: shared SSL and Java run in long-running ECBs and use many small buffers; \
                 applications are likely to benefit from larger sizes. Their sizes are separately tunable",
        condition: "A display of the lists of one ECB (ZDECB HAVL) is there; or a run has two classes of ECBs with 100 counted requests or more each.",
        formula: "Nothing is set: the display names the set and its sizes, the layout of its counts is not known. Its sizes are \
                  the present ones of that set, and of no other. For a run: the classes whose own sizes spare one byte in 20 \
                  of what the best sizes for all classes together hand out.",
        stop: "Nothing is set in any case.",
        risk: "None: nothing is set.",
        platforms: &[Platform::Ztpf, Platform::Linux],
        apply: Apply::Ecbs(ecbs::own_sizes, ztpf::remarks::sets),
    },
    Rule {
        id: "tpf-read-only",
        title: "Reports without advice",
        source: "z/TPF documentation: layout of the name-value pair table (values are cumulative), ZSTAT SYSHEAP; neither it nor the \
                 talks hold a rule for them",
        condition: "Name-value pairs, or a display of the system heap, are there.",
        formula: "Nothing is set: no public source names the counters of the ECB heap among the name-value pairs. For counters \
                  whose names hold AVL or HEAP, the change from row to row of one ECB is shown.",
        stop: "Nothing is set in any case.",
        risk: "None: nothing is set.",
        platforms: &[Platform::Ztpf],
        apply: Apply::Listings(ztpf::remarks::read_only),
    },
    Rule {
        id: "tpf-contention",
        title: "A share of compare-and-swap in the instruction profile",
        source: "Simple lock talk, 2023 (PJ46800): 99 % of CPU with most samples on CSG in slockc.goff, 8 % with the APAR, where \
                 TM, CGHSI and BRCTG take their place",
        condition: "An object with 100 samples or more, of which a quarter or more are of CS, CSG or another compare-and-swap.",
        formula: "In slockc.goff: apply PJ46800. Elsewhere: simple locks, or read before each swap, spin a bounded number of times, \
                  give up control; hold the lock for less time.",
        stop: "A smaller share: no change.",
        risk: "A profile shows where time goes, not how much of it waiting costs: compare CPU and throughput before and after. \
               Programs that refer to fields of the simple lock must be changed for PJ46800.",
        platforms: &[Platform::Ztpf],
        apply: Apply::Listings(ztpf::contention::contention),
    },
    Rule {
        id: "le-opt-text",
        title: "Option texts that cannot be read as written",
        source: "CEE3611I, CEE3614I; a letter O typed for 0 and a missing sub-option fell back without a word \
                 (zowe/community#1852)",
        condition: "A name that is no option, a letter among digits (in options reports, too), a sub-option at another's \
                    place, a parenthesis that is not closed, or a misspelt _CEE_RUNOPTS.",
        formula: "Write it as the message says; until then the value of the level below is in force.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::text),
    },
    Rule {
        id: "le-opt-values",
        title: "Values that an option cannot have",
        source: "Language Environment: sizes are n, nK or nM; cells of heap pools are multiples of 8; 2G below the bar, 16M \
                 below the line",
        condition: "A size as large as all of its area, one in G or AUTO, a cell of HEAPPOOLS that is no multiple of \
                    8, or one that is not larger than the one before it.",
        formula: "Write a size that can be had, in K or M; write cells in growing order.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::values),
    },
    Rule {
        id: "le-opt-cics",
        title: "Sizes that CICS does not grant",
        source: "Language Environment, ANYHEAP under CICS: 1 GB at most, as for HEAP and STACK",
        condition: "An initial size or increment of HEAP, ANYHEAP or STACK beyond 1024M in CEECOPT, or in a file that has the \
                    step of CICS in it.",
        formula: "Lower the size to 1024M or less; each task takes it.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::under_cics),
    },
    Rule {
        id: "le-opt-together",
        title: "Values that cannot hold together",
        source: "Language Environment, ALL31 and THREADSTACK",
        condition: "ALL31(OFF) without STACK BELOW, STACK BELOW with ALL31(ON), sizes after THREADSTACK(OFF), or more than \
                    8M of initial sizes below the 16M line.",
        formula: "Change one of them: ALL31(OFF) needs STACK(,,BELOW); ALL31(ON) needs no storage below the line.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::together),
    },
    Rule {
        id: "le-opt-mode",
        title: "Options of the other addressing mode",
        source: "CEE3611I; 31-bit programs reject HEAP64 (zowe/zss#685)",
        condition: "HEAP64 and related options with reports of 31-bit programs only, or HEAP and related options with reports of 64-bit \
                    programs only.",
        formula: "Write HEAP for HEAP64, or the other way round.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::mode),
    },
    Rule {
        id: "le-opt-fill",
        title: "STORAGE that fills every stack frame",
        source: "Storage tuning talk: 0.56 s of CPU under NONE, 2.15 s under 00, 0.57 s under CLEAR",
        condition: "The third value of STORAGE is neither NONE nor CLEAR, and there is no storage report for \
                    le-storage-fill.",
        formula: "STORAGE(,,NONE), or CLEAR for programs that use variables before they set them.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::fill),
    },
    Rule {
        id: "le-opt-nonovr",
        title: "Options that cannot be overridden",
        source: "Language Environment: NONOVR at a lower level beats everything above it",
        condition: "An option has NONOVR in one place and other values in another.",
        formula: "Change it where it has NONOVR, or have OVR put there.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::nonovr),
    },
    Rule {
        id: "le-opt-where",
        title: "Texts that are not in force",
        source: "Language Environment, options report: LAST WHERE SET",
        condition: "The options report shows other values than a text in the same listing sets.",
        formula: "Look at where the report says it was set: exits, then PARM and _CEE_RUNOPTS, then CEEOPTS, then CEEUOPT, \
                  then region and system members.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::elsewhere),
    },
    Rule {
        id: "le-opt-region",
        title: "Initial sizes that the region cannot hold",
        source: "An initial heap of 256M where about 125M was free ended in abend 0C4 (zowe/zowe-common-c#505)",
        condition: "An initial size of HEAP or ANYHEAP, or the 31-bit one of HEAP64, LIBHEAP64 or IOHEAP64, in a text or an options report, is as large as the region or larger; where there \
                    are several regions, as the largest.",
        formula: "Lower the size or raise REGION.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::beyond),
    },
];

/// The rule with this name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// The rules that serve a platform, in the order in which they are applied, without checks of option texts.
pub fn of(platform: Platform) -> impl Iterator<Item = &'static Rule> + Clone {
    RULES.iter().filter(move |rule| rule.platforms.contains(&platform) && !rule.is_check())
}

/// The checks of option texts, in the order in which they are applied.
pub fn checks() -> impl Iterator<Item = &'static Rule> + Clone {
    RULES.iter().filter(|rule| rule.is_check())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::WELL_USED;

    #[test]
    fn rules_have_unique_ids_and_full_words() {
        for (at, rule) in RULES.iter().enumerate() {
            assert!(RULES[..at].iter().all(|other| other.id != rule.id), "{}", rule.id);
            for words in [rule.condition, rule.formula, rule.stop, rule.risk] {
                assert!(words.ends_with('.') && words.len() > 10, "{}: {words}", rule.id);
            }
        }
    }

    #[test]
    fn every_rule_serves_a_platform_that_can_apply_it() {
        for rule in &RULES {
            assert!(!rule.platforms.is_empty(), "{}", rule.id);
            for platform in rule.platforms {
                let can = match rule.apply {
                    Apply::Accounts { .. } => *platform == Platform::Linux,
                    Apply::Program(_) => {
                        matches!(platform, Platform::LanguageEnvironment | Platform::Natural)
                    }
                    Apply::Supply(_) | Apply::Ecbs(..) => {
                        matches!(platform, Platform::Linux | Platform::Ztpf)
                    }
                    Apply::Switching(..) => matches!(platform, Platform::Linux | Platform::Natural),
                    Apply::Listings(_) => *platform == Platform::Ztpf,
                    Apply::Texts(_) => *platform == Platform::LanguageEnvironment,
                    Apply::Survey => *platform == Platform::Libraries,
                };
                assert!(can, "{} {platform:?}", rule.id);
            }
        }
        assert!(Platform::ALL.iter().all(|platform| of(*platform).next().is_some()));
    }

    #[test]
    fn the_words_name_the_share_that_counts_as_well_used() {
        let with_share = RULES.iter().filter(|rule| rule.condition.contains("less than 62 %"));
        let ids: Vec<&str> = with_share.map(|rule| rule.id).collect();
        assert_eq!(
            ids,
            ["heap-size", "stack", "le-heap-size", "le-stack", "natural-cache-size", "natural-thread-size"]
        );
        assert_eq!(WELL_USED, 62);
    }
}
