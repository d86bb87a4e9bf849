//! Stacks and memory past the heap, measured by the program itself.

use super::*;

pub(super) fn threads_are_counted() {
    let account = counted(&["threads", "25"]);
    exact(&account, Key::ThreadsStarted, 1 + 25 * 7);
    exact(&account, Key::ThreadsPeak, 8);
    exact(&account, Key::ThreadsOfDefaultSize, 25 * 7);
    exact(&account, Key::ThreadsOfDefaultSizePeak, 7);
    let account = counted(&[]);
    exact(&account, Key::ThreadsStarted, 1);
    exact(&account, Key::ThreadsPeak, 1);
    exact(&account, Key::ThreadsOfDefaultSize, 0);
    exact(&account, Key::ThreadsOfDefaultSizePeak, 0);
}

pub(super) fn stacks_are_measured_to_the_page() {
    let program = program("depth");
    let run = |what: &str, bytes: u64| account("", &[&program, what, &bytes.to_string()]);
    for bytes in [100_000, 1_000_000, 5_000_000] {
        let main = run("main", bytes);
        let depth = main.said("depth");
        between(&main, Key::StackMain, depth..=depth + PAGE);
        between(&main, Key::StackLargest, depth..=depth + PAGE);
        between(&main, Key::StackThread, 0..=0);
        between(&main, Key::StackConcurrent, depth..=depth + PAGE);
        let thread = run("thread", bytes);
        let (depth, before) = (thread.said("depth"), thread.said("before"));
        between(&thread, Key::StackThread, depth..=depth + PAGE);
        between(&thread, Key::StackDefaultSize, depth..=depth + PAGE);
        between(&thread, Key::StackLargest, depth..=depth + PAGE);
        between(&thread, Key::StackMain, before..=before + PAGE);
        between(&thread, Key::StackConcurrent, depth + before..=depth + before + 2 * PAGE);
        let together = run("together", bytes);
        let (depth, before) = (together.said("depth"), together.said("before"));
        between(&together, Key::StackThread, depth / 4..=depth / 4 + PAGE);
        between(&together, Key::StackConcurrent, depth + before..=depth + before + 5 * PAGE);
    }
}

pub(super) fn locked_stacks_are_what_was_used_of_them() {
    let program = program("depth");
    for what in ["locked-main", "locked"] {
        let account = account("", &[&program, what, "50000"]);
        if code(account.left.status) == 4 {
            return skipped("locked stacks: memory may not be locked here");
        }
        let depth = account.said("depth");
        let key = if what == "locked" { Key::StackThread } else { Key::StackMain };
        between(&account, key, depth..=depth + PAGE);
    }
}

pub(super) fn stacks_that_the_program_brings_are_measured_while_they_are_fresh() {
    for (what, threads) in [("brought", 0), ("again", 2)] {
        let account = account("", &[&program("depth"), what, "1000000"]);
        let depth = account.said("depth");
        between(&account, Key::StackThread, depth..=depth + PAGE);
        exact(&account, Key::StackReused, threads);
        exact(&account, Key::ThreadsOfDefaultSize, 0);
    }
}

pub(super) fn segments_of_threads_are_those_that_they_reach() {
    const INITIAL: u64 = 64 << 10;
    const INCREMENT: u64 = 16 << 10;
    for bytes in ["100000", "1000000"] {
        for keeps in [true, false] {
            let options = format!("THREADSTACK(ON,64K,16K,,{})", if keeps { "KEEP" } else { "FREE" });
            let account = account(&options, &[&program("depth"), "thread", bytes]);
            let least = 1 + (account.said("depth") - INITIAL).div_ceil(INCREMENT);
            // What the C library has above the thread's function is of the first segment, too.
            between(&account, Key::ThreadStackSegmentsAllocated, least..=least + 1);
            let increments = account.get(Key::ThreadStackSegmentsAllocated) - 1;
            exact(&account, Key::ThreadStackSegmentsFreed, if keeps { 0 } else { increments });
        }
    }
}

/// For each thread underbar itself requests a record, the description of a stack, and the stack.
pub(super) fn what_underbar_requests_for_threads_is_counted() {
    let program = program("at_once");
    let with = |count: u64, option: &str| account(option, &[&program, &count.to_string()]);
    const OPTION: &str = "THREADSTACK(ON,64K,64K,,KEEP)";
    let (few, many) = (with(10, OPTION), with(150, OPTION));
    for (account, count) in [(&few, 10), (&many, 150)] {
        exact(account, Key::AnyHeapStacks, count * (64 << 10));
        exact(account, Key::AnyHeapSegmentsFreed, 0);
    }
    let more = |key| many.get(key) - few.get(key);
    assert_eq!((more(Key::AnyHeapGets), more(Key::AnyHeapFrees)), (140 * 3, 140 * 2));
    // And at most one more for tables.
    assert!((140..=141).contains(&more(Key::AnyHeapSegmentsAllocated)));
    // 256 stacks wait for their next thread.
    let plain = with(150, "");
    exact(&plain, Key::AnyHeapStacks, 0);
    COMPARED.with_borrow_mut(|all| all.extend([Key::AnyHeapGets, Key::AnyHeapFrees]));
}

pub(super) fn segments_of_stacks_of_programs_are_those_that_they_count() {
    let account = account("", &[&program("stack_segments")]);
    exact(&account, Key::StackSegmentsAllocated, account.said("allocated"));
    exact(&account, Key::StackSegmentsFreed, account.said("freed"));
}

pub(super) fn a_size_that_was_asked_for_is_given_though_it_is_the_default() {
    for options in ["THREADSTACK(ON,256K)", ""] {
        let account = account(options, &[&program("depth"), "asked", "1000000"]);
        let depth = account.said("depth");
        between(&account, Key::StackThread, depth..=depth + PAGE);
        exact(&account, Key::StackFallbacks, 0);
        exact(&account, Key::ThreadsOfDefaultSize, 0);
        between(&account, Key::StackDefaultSize, 0..=0);
    }
}

pub(super) fn stacks_for_which_there_is_no_room_are_counted() {
    for (size, count) in [("4096G", 7), ("1M", 0)] {
        let line = [program("counted"), "threads".to_owned(), "1".to_owned()];
        let account = account(&format!("THREADSTACK(ON,{size})"), &line.each_ref().map(String::as_str));
        exact(&account, Key::StackFallbacks, count);
    }
}

pub(super) fn a_recycled_stack_reads_no_higher_than_it_was_used() {
    let account = account("", &[&program("depth"), "recycled", "1000000"]);
    let (depth, before) = (account.said("depth"), account.said("before"));
    between(&account, Key::StackThread, depth..=depth + PAGE);
    // One deep thread at a time, and a shallow one of a few pages on the stack of a deep one.
    between(&account, Key::StackConcurrent, depth..=depth + PAGE + before + 6 * PAGE);
}

pub(super) fn memory_past_the_heap_is_seen() {
    const OWN: &str = "the program itself";
    let program = program("owners");
    let check = |options: &str, mapped: u64, got: u64, end: &str, owner: &str, error: u64| {
        // A huge page would be resident whole.
        let line = [&program, &mapped.max(PAGE).to_string(), &got.to_string(), end];
        let account = account(&format!("HUGEPAGES(OFF),{options}"), &line);
        // Every 1,000 bytes are in a cell of 1,024, of which an extent has 63; a list of cells is touched at a time.
        let heap = (got / 1000).div_ceil(63) * 64 * 1024;
        between(&account, Key::CoverageHeap, heap - error..=heap + MIB / 2);
        let whole = mapped + heap;
        // Tables, data of libraries, the stack.
        between(&account, Key::CoverageAnonymous, whole - error..=whole + MIB);
        let owners = account.section["owners"].as_array().expect("owners");
        let past = owners.iter().find(|has| has["name"] == owner);
        let past = past.map_or(0, |has| has["bytes"].as_u64().unwrap_or(0));
        assert!(past.abs_diff(mapped) <= 16 * PAGE, "{past} of {mapped} in {owners:?}");
    };
    check("", 20 * MIB, 10 * MIB, "kept", OWN, MIB / 2);
    check("", 0, 40 * MIB, "kept", OWN, MIB / 2);
    check("", 30 * MIB, MIB, "kept", OWN, MIB / 2);
    // A large one is looked at before it goes.
    check("", 90 * MIB, 30 * MIB, "unmapped", OWN, MIB / 2);
    check("", 90 * MIB, 30 * MIB, "advised", OWN, MIB / 2);
    // The C library maps stacks without our mmap.
    check("", 20 * MIB, 10 * MIB, "thread", "stack", MIB / 2);
    // Segments that go one by one: the first have gone before a look.
    check("HEAP(1M,1M,,FREE)", 0, 99 * MIB, "freed", OWN, 16 * MIB);
}

/// If the figures are not read the kernel is not asked for them; otherwise once for a thread, and in the first threads.
#[test]
fn threads_come_and_go_without_many_calls_of_the_kernel() {
    if code(left(Command::new("/bin/sh").args(["-c", "strace -f -o /dev/null true"])).status) != 0 {
        return skipped("calls of threads: strace does not work here");
    }
    let calls = |start: &[&str], turns: &str| {
        let file = scratch("calls").join("trace");
        let strace = ["-f", "-o", text(&file), "-e", "trace=mincore", "--"];
        let program = program("counted");
        let line = [&strace, start, &[program.as_str(), "threads", turns]].concat();
        assert_eq!(code(left(Command::new("strace").args(line)).status), 0);
        let trace = fs::read_to_string(&file).expect("the trace");
        trace.lines().filter(|line| line.contains("mincore(")).count()
    };
    let bare = format!("LD_PRELOAD={}", underbar_zoo::heap::preload().display());
    let [few, many] = ["1", "101"].map(|turns| calls(&["env", &bare], turns));
    assert!(many <= few + 5, "{many} calls by 700 threads more, {few} else");
    let run = [text(underbar()), "run", "-q", "--"];
    let [few, many] = ["20", "120"].map(|turns| calls(&run, turns));
    // All stacks at one time are looked at when some threads end.
    assert!(many <= few + 700 * 3 / 2, "{many} calls by 700 threads more, {few} else");
}

/// A return fills what calls below it have left, if that is more than the margin of 512 bytes: so the two innermost calls of each
/// descent, with frames of 300 bytes, leave nothing to fill. 1,000 descents go 0 to 49 deep, and `main` returns, too.
pub(super) fn filled_frames_are_the_returns_of_the_program() {
    let flags = ["-O0", "-finstrument-functions"];
    let program = text(&compiled("faults/frames", "faults-frames", &flags)).to_owned();
    let account = account("STORAGE(,,FE)", &[program.as_str()]);
    let frames: u64 = (0_u64..1_000).map(|at| (at % 50).saturating_sub(1)).sum();
    exact(&account, Key::StackFilledFrames, frames + 1);
    let bytes = account.get(Key::StackFilledBytes);
    assert!((frames * 64..frames * 50 * 512).contains(&bytes), "{bytes}");
}
