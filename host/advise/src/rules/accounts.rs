//! The rules for programs on Linux, from the accounts of a run.
//!
//! Not here: the table that joins the parts (`rules`), and the functions of the rules.

use crate::rule::{Apply, Area, Platform, Rule};
use crate::{enclaves, heap, keep, lock, pages, pools, requests, spin, stack};

/// In the order in which they are applied.
pub(super) const RULES: [Rule; 15] = [
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
];
