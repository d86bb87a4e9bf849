//! The table of counters: one entry each, and everything else derives from it.
//!
//! To add a counter, add an entry; its place in the slot, its JSON key, its line in the manual
//! and the fingerprint that keeps old and new ledgers apart follow.

use crate::counter::{
    Counter,
    Exactness::{self, Exact, Sampled, Within},
    Fold, Scope, Unit, Writer,
};

/// The part of gets and frees that may be missing while a process runs or after it was killed. A thread counts gets when a list of
/// cells is used up, frees when an eighth of an extent has come back, and publishes when enough has gathered. It counts cells that
/// other threads freed when it next needs cells.
const BATCH: Exactness = Within(
    "of every running thread and of up to four that have ended, 1,024 requests or 64 KiB (or a 64th of what is in use, \
     if more), one list of cells for each cell size, an eighth of the cells of each extent (64 KiB; of large cells four), \
     and the cells that other threads gave back since its last need of cells",
);

/// As [`BATCH`], of underbar's own requests.
const OWN: Exactness = Within("256 of underbar's own requests, and what came back since they were last told");

/// The part of sums of times that may be missing: a wait is added when it ends.
const ENDED: Exactness = Within("the waits that have not ended");

/// As [`ENDED`], if the C library waits, and more often than a few thousand times a second.
const SHARE: Exactness = Within(
    "the waits that have not ended; where threads wait more than 2,500 times a second under LOCK(COUNT), a share of the waits is \
     measured and represents the rest, except at most 512 waits of each thread",
);

macro_rules! counters {
    ($($name:ident = $key:literal, $label:literal, $unit:ident, by $writer:ident, live $live:expr, killed $killed:expr, $fold:ident $(in $scope:ident)?, $meaning:literal;)*) => {
        /// Names of the counters, in the order of their places in a slot.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(usize)]
        pub enum Key { $(#[doc = $meaning] $name),* }

        /// One entry for each [`Key`], in the same order.
        pub static TABLE: [Counter; COUNTERS] = TABLE_CONST;

        const TABLE_CONST: [Counter; COUNTERS] = [$(Counter {
            key: $key, label: $label, unit: Unit::$unit, writer: Writer::$writer, live: $live, killed: $killed,
            fold: Fold::$fold, scope: counters!(@scope $($scope)?), meaning: $meaning,
        }),*];

        /// The fold rule of each counter: separate, since this is all that a program itself needs of the table.
        pub(crate) static FOLDS: [Fold; COUNTERS] = [$(Fold::$fold),*];

        /// Every key, in order.
        pub const KEYS: [Key; COUNTERS] = [$(Key::$name),*];

        /// How many counters there are.
        pub const COUNTERS: usize = [$($key),*].len();
    };
    (@scope $scope:ident) => { Scope::$scope };
    (@scope) => { Scope::Process };
}

counters! {
    HeapGets = "heap.gets", "Successful Get Heap requests", Count, by Gathered, live BATCH, killed BATCH, Sum in Heap,
        "Requests for heap storage that were served: malloc and its relatives, operator new, and a realloc that had to move.";
    HeapFrees = "heap.frees", "Successful Free Heap requests", Count, by Gathered, live BATCH, killed BATCH, Sum in Heap,
        "Elements and cells that the program gave back, including those that a child by fork has from its parent.";
    HeapInherited = "heap.inherited", "Elements and cells from the parent process", Count, by Start, live BATCH, killed BATCH, Sum,
        "Elements and cells that a child by fork or clone has from its parent at its start. It may free them, so its frees may exceed its gets.";
    HeapUsed = "heap.used", "Heap storage in use", Bytes, by Gathered, live BATCH, killed BATCH, Sum in Heap,
        "Bytes of cells and elements that the program holds now, rounded as the heap rounds them.";
    HeapUsedPeak = "heap.used_peak", "Total heap storage used (sugg. initial size)", Bytes, by Gathered, live BATCH, killed BATCH, Max in Heap,
        "The most bytes of cells and elements in use at one time. An initial size of this many bytes would have held everything, except for losses by packing. Counted exactly at each new maximum by a sixteenth, above 3 MiB by a 64th, above 256 MiB by a 32nd; between two of these it may be off by as much. Of each other thread, one list of cells may be missing (up to 64 KiB, a few KiB as a rule). Of a heap besides the default one it is off by at most 64 KiB for each thread. A buffer of an ECB counts with the bytes of its list, which may be nearly twice what was asked for.";
    HeapSegmentsAllocated = "heap.segments_allocated", "Number of segments allocated", Count, by SpaceLock, live Exact, killed Exact, Sum in Heap,
        "Segments got from the kernel for the heap, the initial one included; each was a kernel call of its own.";
    HeapSegmentsFreed = "heap.segments_freed", "Number of segments freed", Count, by SpaceLock, live Exact, killed Exact, Sum in Heap,
        "Segments given back to the kernel while the program ran.";
    HeapSegmentBytes = "heap.segment_bytes", "Storage in segments", Bytes, by SpaceLock, live Exact, killed Exact, Sum in Heap,
        "Bytes of address space in the heap's segments now.";
    HeapSegmentBytesPeak = "heap.segment_bytes_peak", "Most storage in segments at one time", Bytes, by SpaceLock, live Exact, killed Exact, Max in Heap,
        "The most storage that backed segments at any time, which the documents' report could not say.";
    HeapSegmentBytesTotal = "heap.segment_bytes_total", "Storage asked of the kernel", Bytes, by SpaceLock, live Exact, killed Exact, Sum in Heap,
        "Bytes of all segments ever allocated: their number times their size.";
    HeapInitialSize = "heap.initial_size", "Initial size", Bytes, by Start, live Exact, killed Exact, Max in Heap,
        "First sub-option of HEAP in force; 0 for AUTO.";
    HeapIncrementSize = "heap.increment_size", "Increment size", Bytes, by Start, live Exact, killed Exact, Max in Heap,
        "Second sub-option of HEAP in force; 0 for AUTO.";
    HeapOversizeSegments = "heap.oversize_segments", "Segments larger than HEAP says", Count, by SpaceLock, live Exact, killed Exact, Sum in Heap,
        "Segments made larger than the initial size or the increment for one request that needed it.";
    HeapLargestRequest = "heap.largest_request", "Largest request", Bytes, by Request, live Within("requests of up to 1 KiB are not looked at one by one"), killed Within("requests of up to 1 KiB are not looked at one by one"), Max in Heap,
        "The largest single request for heap storage, in bytes as asked for.";
    HeapPurges = "heap.purges", "Times unused pages were given back", Count, by SpaceLock, live Exact, killed Exact, Sum in Heap,
        "Kernel calls by which unused pages inside kept segments were given back.";
    HeapPurgedBytes = "heap.purged_bytes", "Unused pages given back", Bytes, by SpaceLock, live Exact, killed Exact, Sum in Heap,
        "Bytes given back by those calls.";
    HeapHugeBytes = "heap.huge_bytes", "In segments that asked for huge pages", Bytes, by SpaceLock, live Exact, killed Exact, Sum in Heap,
        "Bytes of all segments ever allocated for which the kernel was asked for huge pages; the kernel may have given small pages instead.";
    HeapRemoteFrees = "heap.remote_frees", "Cells freed by another thread", Count, by Gathered, live BATCH, killed BATCH, Sum in Heap,
        "Small cells that came back to a thread's heap from outside: freed by another thread, or by their own at its very end, when its heap was handed on already. They travel home in batches. 0 under FREE, where segments belong to all threads.";
    HeapFailedGets = "heap.failed_gets", "Requests that failed", Count, by Request, live Exact, killed Exact, Sum in Heap,
        "Requests answered with ENOMEM.";
    HeapForeignFrees = "heap.foreign_frees", "Frees of storage not ours", Count, by Request, live Exact, killed Exact, Sum,
        "Pointers given to free or realloc that this heap did not hand out; they were left alone.";
    HeapFaults = "heap.faults", "Ended for storage given back wrongly", Count, by Request, live Exact, killed Exact, Sum,
        "Processes that the heap ended with SIGABRT, as plain malloc does: they gave storage back twice or from its middle, or wrote past its end.";
    HeapDamagedZones = "heap.damaged_zones", "Elements written past their end", Count, by Request, live Exact, killed Exact, Sum,
        "Elements that were found written past their end while the program went on, or at its end: by HEAPZONES when they were freed or resized, and by the walks of HEAPCHK.";
    HeapWalks = "heap.walks", "Walks over the heap", Count, by Request, live Exact, killed Exact, Sum,
        "Times that HEAPCHK looked at every block of all heaps.";
    HeapReserveUsed = "heap.reserve_used", "Bytes of the reserve used", Bytes, by SpaceLock, live Exact, killed Exact, Max,
        "Bytes of STORAGE's reserve, when a segment was made of it since the kernel refused more; 0: it was not needed, or there is none.";
    HeapMapFallbacks = "heap.map_fallbacks", "Segments not as HEAP says", Count, by SpaceLock, live Exact, killed Exact, Sum in Heap,
        "Segments that were made larger than HEAP says because the kernel's limit on mappings was near, or smaller because it refused that much.";
    HeapGrownInPlace = "heap.grown_in_place", "Reallocations in place", Count, by Request, live Exact, killed Exact, Sum in Heap,
        "realloc calls on elements that were served without moving them.";
    HeapMoved = "heap.moved", "Reallocations that moved", Count, by Request, live Exact, killed Exact, Sum in Heap,
        "realloc calls that had to copy.";
    HeapOwnBytes = "heap.own_bytes", "underbar's own storage", Bytes, by SpaceLock, live Exact, killed Exact, Sum,
        "Bytes got from the kernel for the heap's own tables, outside of the segments.";
    AnyHeapGets = "anyheap.gets", "Successful Get Heap requests", Count, by SpaceLock, live OWN, killed OWN, Sum,
        "Requests of underbar itself: for its tables, and for first segments of the stacks that it makes for threads.";
    AnyHeapFrees = "anyheap.frees", "Successful Free Heap requests", Count, by SpaceLock, live OWN, killed OWN, Sum,
        "Pieces of tables, and stacks, that wait for their next use.";
    AnyHeapSegmentsAllocated = "anyheap.segments_allocated", "Number of segments allocated", Count, by SpaceLock, live OWN, killed OWN, Sum,
        "Mappings got from the kernel for tables (heap.own_bytes) and for the stacks that underbar makes for threads.";
    AnyHeapSegmentsFreed = "anyheap.segments_freed", "Number of segments freed", Count, by SpaceLock, live OWN, killed OWN, Sum,
        "Such mappings given back: those of stacks, since tables stay.";
    AnyHeapStacks = "anyheap.stacks", "First segments of stacks", Bytes, by StacksLock, live Exact, killed Exact, Max,
        "The most bytes in the first segments of the stacks that underbar makes for threads (THREADSTACK with increments, KEEP or FREE), over all threads alive at one time. 0: the C library makes the stacks.";
    AdditionalCreates = "additional_heap.creates", "Successful Create Heap requests", Count, by Request, live Exact, killed Exact, Sum,
        "Heaps that the program created, by CEECRHP.";
    AdditionalDiscards = "additional_heap.discards", "Successful Discard Heap requests", Count, by Request, live Exact, killed Exact, Sum,
        "Heaps that the program discarded, by CEEDSHP.";
    AdditionalUsed = "additional_heap.used", "Storage in use in additional heaps", Bytes, by Gathered, live BATCH, killed BATCH, Sum,
        "Bytes of elements and cells in heaps that the program created, part of heap.used.";
    AdditionalUsedPeak = "additional_heap.used_peak", "Total heap storage used", Bytes, by Gathered, live BATCH, killed BATCH, Max,
        "The most bytes in use at one time in all heaps that the program created.";
    AdditionalGets = "additional_heap.gets", "Successful Get requests of additional heaps", Count, by Gathered, live BATCH, killed BATCH, Sum,
        "Requests served by heaps that the program created, part of heap.gets. CEECZST counts if it moved the element.";
    AdditionalFrees = "additional_heap.frees", "Successful Free requests of additional heaps", Count, by Gathered, live BATCH, killed BATCH, Sum,
        "Elements and cells given back to such heaps, including those that a discarded heap still held.";
    AdditionalSegmentsAllocated = "additional_heap.segments_allocated", "Segments allocated for additional heaps", Count, by SpaceLock, live Exact, killed Exact, Sum,
        "Segments got from the kernel for such heaps, part of heap.segments_allocated.";
    AdditionalSegmentsFreed = "additional_heap.segments_freed", "Segments of additional heaps freed", Count, by SpaceLock, live Exact, killed Exact, Sum,
        "Segments of such heaps given back to the kernel, at the latest when the heap is discarded.";
    ThreadHeapLargest = "threadheap.largest", "Largest used by any thread", Bytes, by Gathered, live BATCH, killed BATCH, Max,
        "The most bytes in use at one time in the heap of any one thread, under THREADHEAP.";
    ThreadHeapsLeft = "threadheap.left", "Threads' heaps in use after their threads", Count, by Request, live Exact, killed Exact, Sum,
        "Heaps of threads (THREADHEAP) of which something was in use when the thread ended. They stay until that is freed.";
    ThreadsStarted = "thread.started", "Threads started", Count, by StacksLock, live Exact, killed Exact, Sum,
        "Threads started with pthread_create, and the first one.";
    ThreadsPeak = "thread.peak", "Largest number of threads concurrently active", Count, by StacksLock, live Exact, killed Exact, Max,
        "The most of these threads alive at one time.";
    ThreadsOfDefaultSize = "thread.default_size_started", "Threads with the default stack size", Count, by StacksLock, live Exact, killed Exact, Sum,
        "Threads started with pthread_create for which the program asked for no stack size and brought no stack: THREADSTACK sets the size of their stacks only.";
    ThreadsOfDefaultSizePeak = "thread.default_size_peak", "Most of them at one time", Count, by StacksLock, live Exact, killed Exact, Max,
        "The most threads with the default stack size alive at one time.";
    StackLargest = "stack.largest", "Largest used by any thread", Bytes, by StacksLock, live Sampled, killed Sampled, Max,
        "The most stack that any one thread used, to the page.";
    StackMain = "stack.main", "Largest used by the first thread", Bytes, by StacksLock, live Sampled, killed Sampled, Max,
        "The most stack that the first thread used, to the page, from where the kernel started the program.";
    StackThread = "stack.thread", "Largest used by another thread", Bytes, by StacksLock, live Sampled, killed Sampled, Max,
        "The most stack that any one thread but the first used, to the page, from where its function began.";
    StackDefaultSize = "stack.default_size", "Largest used by a thread with the default size", Bytes, by StacksLock, live Sampled, killed Sampled, Max,
        "The most stack that any one thread used whose size THREADSTACK sets, to the page.";
    StackConcurrent = "stack.concurrent", "Maximum used by all concurrent threads", Bytes, by StacksLock, live Sampled, killed Sampled, Max,
        "The most stack that all threads alive at one time had used, to the page.";
    StackFallbacks = "stack.fallbacks", "Thread stacks not as THREADSTACK says", Count, by Request, live Exact, killed Exact, Sum,
        "Threads that got the stack they would have without THREADSTACK, since there was no room for the larger one.";
    StackReused = "stack.reused", "Threads on stacks of the program used before", Count, by StacksLock, live Exact, killed Exact, Sum,
        "Threads whose stack is memory that the program had written to before. If such a thread goes no deeper than the written part, its depth is unknown and counts as 0.";
    StackFilledFrames = "stack.filled_frames", "Stack frames filled", Count, by Request, live Exact, killed Exact, Sum,
        "Frames that STORAGE's third value filled, of a program compiled with -finstrument-functions.";
    StackFilledBytes = "stack.filled_bytes", "Bytes of stack frames filled", Bytes, by Request, live Exact, killed Exact, Sum,
        "Bytes that it wrote to fill them.";
    StackSegmentsAllocated = "stack.segments_allocated", "Number of segments allocated", Count, by Request, live Exact, killed Exact, Sum,
        "Segments of stacks that the program made for itself (underbar::Stack), and of those of LINKed programs under STACK with a size. The first thread's stack is the kernel's and has none.";
    StackSegmentsFreed = "stack.segments_freed", "Number of segments freed", Count, by Request, live Exact, killed Exact, Sum,
        "Segments of such stacks that were given back to the kernel.";
    ThreadStackSegmentsAllocated = "threadstack.segments_allocated", "Number of segments allocated", Count, by StacksLock, live Sampled, killed Sampled, Sum,
        "Segments of threads' stacks that underbar made (THREADSTACK with increments, KEEP or FREE): the first segment of each stack, and each increment that a thread reached. Increments are counted when a thread ends and when all stacks are looked at. 0 if the C library makes the stacks.";
    ThreadStackSegmentsFreed = "threadstack.segments_freed", "Number of segments freed", Count, by StacksLock, live Exact, killed Exact, Sum,
        "Increments of such stacks that were given back to the kernel.";
    CoverageAnonymous = "coverage.anonymous", "Anonymous memory resident", Bytes, by Look, live Sampled, killed Sampled, Max,
        "Resident anonymous memory of the process, at the look that found the most. The library looks when resident memory has doubled, before much of it is given back, and at the end. Shared mappings and unwritten pages of files do not count. Null without a look, as below 4 MiB.";
    CoverageHeap = "coverage.heap", "of it in this heap", Bytes, by Look, live Sampled, killed Sampled, Max,
        "The part of it in the segments of this heap, counted page by page in the same look. The other owners have the rest.";
    ProcessFaults = "process.minor_faults", "Page faults of the process without I/O", Count, by Look, live Sampled, killed Sampled, Sum,
        "Page faults that the kernel served from memory, such as the first use of a page, since the library was loaded. Read when resident memory doubles, and at the end.";
    SwitchReads = "switches.read_calls", "Read calls that were counted", Count, by Look, live Sampled, killed Sampled, Sum,
        "Calls of the read type that SWITCHES(ON) counted since the program began. Read when the process's memory is looked at, and at its end.";
    SwitchWrites = "switches.write_calls", "Write calls that were counted", Count, by Look, live Sampled, killed Sampled, Sum,
        "Calls of the write type that SWITCHES(ON) counted, at the same moment.";
    SwitchKernelReads = "switches.kernel_read_calls", "Read calls that the kernel counted", Count, by Look, live Sampled, killed Sampled, Sum,
        "The kernel's own count (syscr of /proc/PID/io) at that moment, less underbar's own reads. 0: it was not compared.";
    SwitchKernelWrites = "switches.kernel_write_calls", "Write calls that the kernel counted", Count, by Look, live Sampled, killed Sampled, Sum,
        "The kernel's own count (syscw of /proc/PID/io) at that moment. 0: it was not compared.";
    SwitchEligible = "switches.eligible_ns", "CPU time of eligible components", Nanoseconds, by Request, live Exact, killed Exact, Sum,
        "CPU time of threads before switches of the components that ZIIP(ELIGIBLE) names: the time before a switch is of the component that makes it. What a thread computes after its last switch is in neither figure.";
    SwitchIneligible = "switches.ineligible_ns", "CPU time of other components", Nanoseconds, by Request, live Exact, killed Exact, Sum,
        "CPU time of threads before switches of all other components, under ZIIP(ELIGIBLE).";
    SwitchRuns = "switches.runs", "runs of eligible components", Count, by Request, live Exact, killed Exact, Sum,
        "Times that CPU time of eligible components ended with a switch of another component, under ZIIP(ELIGIBLE): so often a thread would change the class of its processor and come back.";
    ClassThreads = "class.threads", "threads placed on the class", Count, by Request, live Exact, killed Exact, Sum,
        "Threads whose first function is in a component that ZIIP(ELIGIBLE) names, and which run on the processors of ZIIP(CPUS) only.";
    ClassRefused = "class.refused", "threads that the kernel did not place", Count, by Request, live Exact, killed Exact, Sum,
        "Such threads for which the kernel refused the processors of ZIIP(CPUS), as this process may use none of them. They run as plain.";
    ClassTime = "class.cpu_ns", "CPU time of placed threads", Nanoseconds, by Look, live Sampled, killed Sampled, Sum,
        "CPU time of the threads that were placed on the class: of those that have ended, and of those that are alive, of which 64 at a time are known.";
    ClassOtherTime = "class.other_cpu_ns", "CPU time of all other threads", Nanoseconds, by Look, live Sampled, killed Sampled, Sum,
        "CPU time of the process less that of placed threads.";
    OwnReads = "process.own_reads", "Read calls of underbar itself", Count, by Look, live Exact, killed Exact, Sum,
        "Read calls of the library in the process (mappings, arguments, programs to be started), and the loader's read of the library's head. The kernel counts them as the program's; the report subtracts them from the read calls of the run.";
    OwnReadBytes = "process.own_read_bytes", "Bytes read by underbar itself", Bytes, by Look, live Exact, killed Exact, Sum,
        "Bytes that these calls read.";
    ProcessContinued = "process.continued", "Programs that took the place of another", Count, by Start, live Exact, killed Exact, Sum,
        "1 where the process was another program before this one (exec): then the same process has more than one section.";
    DeepbindOpens = "process.deepbind_opens", "Times dlopen was asked for RTLD_DEEPBIND", Count, by Request, live Exact, killed Exact, Sum,
        "Calls of dlopen with RTLD_DEEPBIND. The opened library and its dependencies find functions of the C library before those of preloaded libraries. From the first such call on, they find underbar's functions in place of those that it replaces.";
    DeepbindUnbound = "process.deepbind_unbound", "of them left to the C library's heap", Count, by Request, live Exact, killed Exact, Sum,
        "Of these calls, those before which the kernel refused a change of the C library's symbol table. The opened libraries use the C library's heap.";
    NamespacesOpened = "process.namespaces", "Namespaces opened by dlmopen", Count, by Request, live Exact, killed Exact, Sum,
        "Calls of dlmopen for a new namespace. It has a C library of its own, whose storage is not in these accounts. Blocks of it that the program gives to free are left alone and counted as not ours; blocks of this heap must not be freed there.";
    LockContended = "lock.contended", "Acquisitions that had to wait", Count, by Waits, live SHARE, killed SHARE, Sum,
        "Acquisitions of locks that another thread held at the first try: mutexes that LOCK governs, and simple locks. Not those whose time was up before they got it.";
    LockSpun = "lock.spun", "of them got by looking again, without sleep", Count, by Waits, live Exact, killed Exact, Sum,
        "Of these, those that got the lock without sleeping. Under LOCK(COUNT) the C library waits, and this stays 0 for mutexes.";
    LockParked = "lock.parked", "Times that a thread slept for a lock", Count, by Waits, live Exact, killed Exact, Sum,
        "Times that a thread went to sleep for a lock. Under LOCK(COUNT) the C library waits, and this stays 0 for mutexes.";
    LockWait = "lock.wait_ns", "Time that threads waited for locks", Nanoseconds, by Waits, live SHARE, killed SHARE, Sum,
        "From the first try to the acquisition, summed over those that had to wait.";
    LockWaitMax = "lock.wait_max_ns", "The longest wait for a lock", Nanoseconds, by Waits, live SHARE, killed SHARE, Max,
        "The longest of these waits.";
    LockSpin = "lock.spin_ns", "Time spent looking again", Nanoseconds, by Waits, live ENDED, killed ENDED, Sum,
        "Of these waits, what was spent looking at the lock again and again. Under LOCK(COUNT) this stays 0 for mutexes.";
    LockLocks = "lock.locks", "Locks that threads waited for", Count, by Waits, live Exact, killed Exact, Sum,
        "Different locks, by their addresses, that threads waited for, as far as there was room to record them.";
    LockPassedThrough = "lock.passed_through", "Kinds of mutex left to the C library", Count, by Waits, live Exact, killed Exact, Max,
        "How many kinds of mutex that LOCK does not govern were locked: robust, shared, with priority inheritance, with priority protection, with elision, recursive, error-checking, others. Each kind counts once in a process; a mutex of several kinds is of the first.";
    LockUnrecorded = "lock.unrecorded", "Waits without a record of their lock", Count, by Waits, live SHARE, killed SHARE, Sum,
        "Acquisitions that had to wait and are counted here, but in no lock's record: there was no room, no ledger, or the record was being made.";
    ControlObeyed = "control.obeyed", "Live changes obeyed", Count, by Obeyed, live Exact, killed Exact, Sum,
        "Settings that were changed from outside while the program ran, and that it obeyed: at the next request that a thread's ready cells do not serve.";
    FetchAsked = "fetch.asked", "single rows of cursors asked for", Count, by Request, live Exact, killed Exact, Sum,
        "Times that the program asked for one row of a cursor: of one that it declared by libpq, or by a statement that it sent, while MULTIFETCH was in force; of any by PQexec or PQexecParams, under SWITCHES without MULTIFETCH.";
    FetchWaited = "fetch.waited_ns", "time in single rows", Nanoseconds, by Request, live Exact, killed Exact, Sum,
        "How long the program was in calls of libpq for one row of a cursor each, under SWITCHES without MULTIFETCH. Most of it is the way to the server and back, which MULTIFETCH(n) leaves to one of n.";
    FetchServed = "fetch.served", "single rows that came from larger fetches", Count, by Request, live Exact, killed Exact, Sum,
        "Single rows that the program got of a larger fetch, and the end behind the last one. The others were fetched from the server one by one.";
    FetchSent = "fetch.sent", "larger fetches", Count, by Request, live Exact, killed Exact, Sum,
        "Fetches of several rows that took the place of one for a single row.";
    FetchAlone = "fetch.alone", "fetches left as they are", Count, by Request, live Exact, killed Exact, Sum,
        "Fetches of one row from cursors that are not read ahead; the next figures have the reasons.";
    FetchNotReadOnly = "fetch.not_read_only", "cursors left alone: not READ ONLY", Count, by Request, live Exact, killed Exact, Sum,
        "Cursors that are not read ahead since their transaction may write: later rows could change, and WHERE CURRENT OF would mean another row.";
    FetchDeclaration = "fetch.declaration", "cursors left alone: SCROLL, BINARY or HOLD", Count, by Request, live Exact, killed Exact, Sum,
        "Cursors that are not read ahead since they are SCROLL, BINARY or WITH HOLD, or were declared in a text with other statements.";
    FetchLimit = "fetch.limit", "cursors left alone: a time limit, or SERIALIZABLE", Count, by Request, live Exact, killed Exact, Sum,
        "Cursors that are not read ahead since statement_timeout would count a whole fetch, or a SERIALIZABLE transaction could fail early.";
    FetchVolatileType = "fetch.volatile_type", "cursors left alone: volatile types", Count, by Request, live Exact, killed Exact, Sum,
        "Cursors that are not read ahead since the database has operators, types or casts with volatile functions, which EXPLAIN does not show.";
    FetchNode = "fetch.node", "cursors left alone: the plan does more", Count, by Request, live Exact, killed Exact, Sum,
        "Cursors that are not read ahead since their plan does more than read, join and sort tables: functions as tables, FOR UPDATE, foreign tables, subqueries for each row.";
    FetchTemporary = "fetch.temporary", "cursors left alone: a temporary table", Count, by Request, live Exact, killed Exact, Sum,
        "Cursors that are not read ahead since they read a temporary table, which a READ ONLY transaction can change.";
    FetchFunction = "fetch.function", "cursors left alone: a function", Count, by Request, live Exact, killed Exact, Sum,
        "Cursors that are not read ahead since their plan calls a function, which could be volatile or fail in a later row.";
    FetchOperator = "fetch.operator", "cursors left alone: it computes or casts", Count, by Request, live Exact, killed Exact, Sum,
        "Cursors that are not read ahead since their plan computes or casts, which could fail in a later row.";
    FetchDoubtful = "fetch.doubtful", "cursors left alone: an unclear plan", Count, by Request, live Exact, killed Exact, Sum,
        "Cursors that are not read ahead since what the server said of them could not be read with certainty.";
    FetchConnection = "fetch.connection", "cursors left alone: statements not waited for", Count, by Request, live Exact, killed Exact, Sum,
        "Cursors that are not read ahead since the program sends statements and does not wait for each (psycopg 3, pipelines), or since other statements came between their DECLARE and their second row.";
    CacheCalls = "cache.calls", "reads and writes served by caches of files", Count, by Request, live Exact, killed Exact, Sum,
        "Reads and writes of files that PRINT or WORKFILE name, by the program or the C library's streams, which a cache took or served.";
    CacheKernelCalls = "cache.kernel_calls", "kernel reads and writes of caches of files", Count, by Request, live Exact, killed Exact, Sum,
        "Reads and writes that took the place of these. Those after a process was killed, by underbar run, are not among them.";
    CacheBytes = "cache.bytes", "bytes that went through caches of files", Bytes, by Request, live Exact, killed Exact, Sum,
        "Bytes of the calls that caches took or served.";
    CacheNotWritten = "cache.not_written", "bytes of caches that the kernel refused", Bytes, by Request, live Exact, killed Exact, Sum,
        "Bytes that the program had written into a cache and the kernel refused later, as on a full disk. The program got the error from its next write, fsync or close of the file.";
    CacheLeftPlain = "cache.left_plain", "named files without a cache", Count, by Request, live Exact, killed Exact, Sum,
        "Times that a file which PRINT or WORKFILE names was not cached, or no more; the rows of the caches have the reasons.";
    ThreadStorageSize = "thread_storage.size", "Thread size total", Bytes, by SpaceLock, live Exact, killed Exact, Max,
        "Bytes of the reservation of THSIZE, which serves the program's buffers and is kept; 0: there is none.";
    ThreadStorageReached = "thread_storage.reached", "Most of the thread size used", Bytes, by Look, live Sampled, killed Sampled, Max,
        "Bytes from the start of that reservation to the highest one that was ever in use: a reservation of this size would have held the same.";
    ThreadStorageOutside = "thread_storage.outside", "Segments besides the thread size", Count, by SpaceLock, live Exact, killed Exact, Sum,
        "Segments that were got from the kernel since a request did not fit into the reservation of THSIZE.";
    CpuLimit = "cpu_limit.seconds", "CPU time of a program start, in seconds", Count, by Start, live Exact, killed Exact, Max,
        "The limit of MT in force; 0: none.";
    CpuLimitStarts = "cpu_limit.starts", "Program starts with a CPU limit", Count, by Request, live Exact, killed Exact, Sum,
        "Starts to which MT applied: the process itself, and each program LINKed in it that was not LINKed by a LINKed one. None of them made a call for it, but for those whose limit the kernel keeps (cpu_limit.by_kernel).";
    CpuLimitByKernel = "cpu_limit.by_kernel", "Starts whose limit the kernel keeps", Count, by Start, live Exact, killed Exact, Sum,
        "Processes that set the kernel's limit RLIMIT_CPU for MT, since no command watches over them.";
    TimerSet = "timer.set", "One-shot timers set", Count, by Request, live Exact, killed Exact, Sum,
        "Times that the program set a one-shot timer, or ended one, that TIMER(COALESCE) can keep.";
    TimerSwallowed = "timer.swallowed", "of these, without the kernel", Count, by Request, live Exact, killed Exact, Sum,
        "Of these, those for which the kernel was not called, since a thread of underbar already sleeps until an earlier time, or the timer ended.";
    TimerEarly = "timer.early", "times that thread woke too early", Count, by Request, live Exact, killed Exact, Sum,
        "Times that the thread of TIMER(COALESCE) came to the end of its sleep and no timer was due, since all were set to later times or ended.";
    TimerSent = "timer.sent", "signals of timers sent", Count, by Request, live Exact, killed Exact, Sum,
        "Signals that the thread of TIMER(COALESCE) sent for timers that were due.";
    NotFollowedStatic = "follow.static", "not followed: statically linked", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started that have no dynamic loader, so no library can be loaded with them.";
    NotFollowedSetUid = "follow.setuid", "not followed: set-user-ID or set-group-ID", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started that take another user's or group's rights; the loader ignores a preload there.";
    NotFollowedCapabilities = "follow.file_capabilities", "not followed: file capabilities", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started that gain capabilities from their file; the loader ignores a preload there.";
    NotFollowedBits32 = "follow.bits32", "not followed: 32-bit", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started that are 32-bit.";
    NotFollowedOtherLibc = "follow.other_libc", "not followed: another C library", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started whose loader is not glibc's (musl, for example).";
    NotFollowedSanitizer = "follow.sanitizer", "not followed: sanitizer", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started that need the library of AddressSanitizer, ThreadSanitizer or LeakSanitizer, or a heap that finds errors (Electric Fence, DUMA), which serves the heap itself.";
    NotFollowedOtherMachine = "follow.other_machine", "not followed: another processor", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started that are for another processor.";
    NotFollowedMalformed = "follow.malformed", "not followed: a file that makes no sense", Count, by Follow, live Exact, killed Exact, Sum,
        "Files started that are neither a program nor a script that can be understood.";
    NotFollowedPreloadHidden = "follow.preload_hidden", "not followed: the preload library is not visible there", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started in another root or mount namespace, where the preload library's path does not exist.";
    NotFollowedEnvironment = "follow.environment_cleared", "not followed: environment without the library", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started with an environment from which the preload was gone: cleared, or with another LD_PRELOAD in its place.";
    NotFollowedLedger = "follow.ledger_out_of_reach", "not followed: may not write to the ledger", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started by a process that runs as another user than the one whose ledger this is, or that sees another file system.";
    NotFollowedLittleMemory = "follow.little_memory", "not followed: limited to little memory", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started whose address space may not grow beyond 64 MiB, or whose data not beyond 32 MiB: what the heap and the accounts take, some 5 MiB at the start and about as much again as the heap grows, could be what they lack.";
    NotFollowedFiltered = "follow.filtered", "not followed: behind a filter of system calls", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started by a process that installed a filter of system calls (seccomp), which may kill for calls that only our library makes. Filters that were there before the program are no reason.";
    NotFollowedOtherRun = "follow.other_run", "not followed: under another underbar", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started by another underbar command, which the run itself started: they are in that one's report.";
    NotFollowedUnreadable = "follow.unreadable", "not followed: the file cannot be read", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs started whose file could not be looked at.";
    NotFollowedByRequest = "follow.by_request", "not followed: as asked", Count, by Follow, live Exact, killed Exact, Sum,
        "Programs that were kept plain: by --no-follow, by UNDERBAR=off, or by a list of names.";
}

/// Number of counters, from the first one on, that include all whose scope is a heap: a heap's row has room for them.
pub const HEAP_COUNTERS: usize = {
    let (mut entry, mut count) = (0, 0);
    while entry < COUNTERS {
        if matches!(TABLE_CONST[entry].scope, Scope::Heap) {
            count = entry + 1;
        }
        entry += 1;
    }
    count
};

/// Changes when a structure of the file changes (`layout`, `heaps`, `pools`, `classes`, `pairs`, `traces`, `heap_steps`, `switches`, `caches`).
pub const LAYOUT_VERSION: u32 = 24;

/// A number that changes whenever the table or the layout does; it detects a ledger of another table. FNV-1a over keys, units,
/// folds and scopes.
pub const FINGERPRINT: u64 = {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut entry = 0;
    while entry < COUNTERS {
        let key = TABLE_CONST[entry].key.as_bytes();
        let mut at = 0;
        while at < key.len() {
            hash = (hash ^ key[at] as u64).wrapping_mul(0x100_0000_01b3);
            at += 1;
        }
        hash = (hash ^ TABLE_CONST[entry].unit as u64).wrapping_mul(0x100_0000_01b3);
        hash = (hash ^ TABLE_CONST[entry].fold as u64).wrapping_mul(0x100_0000_01b3);
        hash = (hash ^ TABLE_CONST[entry].scope as u64).wrapping_mul(0x100_0000_01b3);
        entry += 1;
    }
    hash ^ LAYOUT_VERSION as u64 ^ crate::switch_names::FINGERPRINT
};

impl Key {
    /// This counter's entry.
    #[must_use]
    pub fn entry(self) -> &'static Counter {
        &TABLE[self as usize]
    }

    /// The counter with that key path, if there is one.
    #[must_use]
    pub fn find(path: &str) -> Option<Key> {
        KEYS.into_iter().find(|key| key.entry().key == path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_snake_case_paths() {
        for (at, entry) in TABLE.iter().enumerate() {
            assert!(TABLE[..at].iter().all(|other| other.key != entry.key), "{} twice", entry.key);
            let mut parts = entry.key.split('.');
            let well_formed = |part: &str| {
                !part.is_empty()
                    && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            };
            assert!(
                parts.next().is_some_and(well_formed) && parts.next().is_some_and(well_formed),
                "{}",
                entry.key
            );
            assert!(parts.next().is_none(), "{}", entry.key);
            assert_eq!(Key::find(entry.key), Some(KEYS[at]));
        }
    }

    #[test]
    fn labels_are_unique_within_an_area_and_fit_the_report() {
        let area = |key: &'static str| key.split('.').next();
        for (at, entry) in TABLE.iter().enumerate() {
            let twin = TABLE[..at]
                .iter()
                .find(|other| area(other.key) == area(entry.key) && other.label == entry.label);
            assert!(twin.is_none(), "{} has the label of {}", entry.key, twin.map_or("", |other| other.key));
            assert!(entry.label.len() <= 56 && !entry.label.ends_with(':'), "{}", entry.label);
            assert!(entry.meaning.ends_with('.'), "{}: a meaning is a sentence", entry.key);
        }
    }

    #[test]
    fn folding_is_symmetric_and_never_overflows() {
        for entry in &TABLE {
            assert_eq!(entry.fold.apply(3, 5), entry.fold.apply(5, 3));
            assert_eq!(entry.fold.apply(u64::MAX, 1), u64::MAX);
        }
    }
}
