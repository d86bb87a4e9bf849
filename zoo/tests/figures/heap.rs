//! Requests, their bytes and their peak, against the program's own counts.

use super::*;

pub(super) fn requests_are_those_that_the_program_counts() {
    let modes = ["small", "random", "realloc", "large", "remote", "peak"];
    let lines =
        modes.iter().map(|mode| vec![*mode]).chain([vec![], vec!["fails", "10"], vec!["threads", "20"]]);
    for mode in lines {
        let account = counted(&mode);
        assert_eq!(code(account.left.status), 0, "{mode:?}");
        exact(&account, Key::HeapGets, account.said("gets"));
        exact(&account, Key::HeapFrees, account.said("frees"));
        exact(&account, Key::HeapUsed, account.said("held"));
        exact(&account, Key::HeapMoved, account.said("moved"));
        exact(&account, Key::HeapGrownInPlace, account.said("stayed"));
        exact(&account, Key::HeapFailedGets, account.said("failed"));
    }
    // An aligned element may have a part of its block before it.
    let account = counted(&["aligned"]);
    exact(&account, Key::HeapGets, 5000);
    exact(&account, Key::HeapFrees, 2500);
    let held = account.said("held");
    between(&account, Key::HeapUsed, held..=held + 2500 * 32);
}

pub(super) fn the_peak_is_that_of_the_program() {
    let account = counted(&["peak"]);
    let peak = account.said("peak");
    // Cells of one size: 64 KiB that were not published, and one list of cells of at most 64 KiB.
    between(&account, Key::HeapUsedPeak, peak - 64 * 1024..=peak + 64 * 1024);
    // So little that nothing was published before all was given back; other cells are those of the C library.
    for count in ["3", "40", "300"] {
        let account = counted(&["small-peak", count]);
        let peak = account.said("peak");
        between(&account, Key::HeapUsedPeak, peak - peak / 16..=peak + peak / 16 + 512);
    }
    let account = counted(&["large"]);
    exact(&account, Key::HeapUsedPeak, account.said("peak"));
    // Each thread holds less than one thread alone would publish. Unknown of each is one list of cells, so 8 of its 60 at most: of many threads
    // on average half of that.
    for (threads, blocks, unknown) in
        [("8", "60", 7), ("64", "60", 10), ("200", "60", 10), ("1000", "50", 10), ("3000", "30", 10)]
    {
        let account = counted(&["hold", threads, blocks]);
        let peak = account.said("peak");
        between(&account, Key::HeapUsedPeak, peak - peak / unknown..=peak + peak / 10);
    }
    // Frees of cells are counted when an eighth of an extent has come back.
    let account = counted(&["random"]);
    let peak = account.said("peak");
    between(&account, Key::HeapUsedPeak, peak - 64 * 1024..=peak + peak / 8);
}

pub(super) fn the_largest_request_is_exact_beyond_a_kibibyte() {
    for mode in ["random", "realloc", "large", "aligned"] {
        let account = counted(&[mode]);
        let largest = account.said("largest");
        between(&account, Key::HeapLargestRequest, largest..=largest);
    }
    let account = counted(&["small"]);
    between(&account, Key::HeapLargestRequest, 0..=account.said("largest"));
}

pub(super) fn cells_that_another_thread_gave_back_are_counted() {
    let account = counted(&["remote"]);
    exact(&account, Key::HeapRemoteFrees, 100_000);
    let account = counted(&["small"]);
    exact(&account, Key::HeapRemoteFrees, 0);
}

pub(super) fn what_is_not_ours_is_counted() {
    let account = account("", &[&program("foreign"), "1000"]);
    assert_eq!(account.left.output, "done\n");
    exact(&account, Key::HeapForeignFrees, 1000);
}

pub(super) fn processes_that_the_heap_ended_are_those_with_sigabrt() {
    let misuse = compiled("faults/misuse", "figures-misuse", &["-fno-builtin", "-w", "-pthread"]);
    for (what, bytes) in
        [("twice", "40000"), ("past-end", "40000"), ("inside-elsewhere", "64"), ("none", "64")]
    {
        let account = account("", &[text(&misuse), what, bytes]);
        // The end according to the kernel.
        let aborted = u64::from(account.left.status.signal() == Some(SIGABRT));
        assert_eq!(aborted == 1, what != "none", "{what}: {:?}", account.left);
        exact(&account, Key::HeapFaults, aborted);
    }
}

pub(super) fn a_killed_program_s_figures_keep_their_bound() {
    for (count, size) in [(10, 40), (5_000, 40), (100_000, 16), (100_000, 200), (3_000, 5_000), (100_000, 0)]
    {
        let account = counted(&["killed", &count.to_string(), &size.to_string()]);
        assert_eq!((code(account.left.status), account.was_killed()), (KILLED, true));
        let (gets, held) = (account.said("gets"), account.said("held"));
        // 1,024 requests, and a list of at most 4 KiB or one cell for each size.
        let sizes = if size == 0 { 33 } else { 1 };
        let lists = if size == 0 { sizes * 256 } else { 4096 / size.max(16) + 1 };
        between(&account, Key::HeapGets, gets.saturating_sub(1024 + lists)..=gets);
        let slack = (held / 64).max(64 * 1024) + 8192 * sizes;
        between(&account, Key::HeapUsed, held.saturating_sub(slack)..=held + slack);
        between(&account, Key::HeapUsedPeak, held.saturating_sub(slack)..=held + slack);
    }
    // Requests are published at each look: at each KiB, or sixteenth. A list grows by quarters.
    for count in [100, 300, 900] {
        let account = counted(&["killed", &count.to_string(), "40"]);
        between(&account, Key::HeapGets, count - count / 3 - 32..=account.said("gets"));
    }
    for keep in [2, 10, 1024, 100_000] {
        let account = counted(&["freed-killed", "100000", "64", &keep.to_string()]);
        let (gets, frees, held) = (account.said("gets"), account.said("frees"), account.said("held"));
        // 98 extents of 1,023 cells: an eighth of each may not have been looked at.
        let unseen = 98 * 1023_u64.div_ceil(8) + 1024 + 1023;
        between(&account, Key::HeapGets, gets - 1024 - 1023..=gets);
        between(&account, Key::HeapFrees, frees.saturating_sub(unseen)..=frees);
        between(&account, Key::HeapUsed, held.saturating_sub(128 * 1024)..=held + unseen * 64 + 128 * 1024);
    }
}

pub(super) fn a_killed_program_s_segments_are_exact() {
    let program = program("counted");
    let account = account("HEAP(64K,64K,,KEEP)", &[&program, "killed", "1000", "60000"]);
    assert!(account.was_killed());
    exact(&account, Key::HeapSegmentsAllocated, 1000);
    exact(&account, Key::HeapSegmentBytes, 1000 * 64 * 1024);
    exact(&account, Key::HeapSegmentBytesPeak, 1000 * 64 * 1024);
}

/// The program writes past the end of three elements and frees them.
pub(super) fn writes_past_the_end_are_counted() {
    let flags = ["-fno-builtin", "-w", "-pthread", "-O1"];
    let program = text(&compiled("faults/zones", "figures-zones", &flags)).to_owned();
    for (options, damaged) in [("", 0), ("HEAPZONES(,,8,QUIET)", 3)] {
        let account = account(options, &[program.as_str(), "three", "24"]);
        assert_eq!((code(account.left.status), account.left.error.as_str()), (0, ""), "{options}");
        exact(&account, Key::HeapDamagedZones, damaged);
    }
}

/// Each request and each free is followed by a walk, and the end by the last one.
pub(super) fn walks_are_one_for_each_request() {
    let flags = ["-fno-builtin", "-w", "-pthread", "-O1"];
    let program = text(&compiled("faults/zones", "figures-zones", &flags)).to_owned();
    let account = account("HEAPCHK(ON,1)", &[program.as_str(), "three", "24"]);
    let requests = account.get(Key::HeapGets) + account.get(Key::HeapFrees);
    exact(&account, Key::HeapWalks, requests + 1);
}

/// The program gets blocks until the kernel refuses more: then the reserve is a segment.
pub(super) fn a_reserve_that_is_used_is_counted() {
    let program = text(&compiled("faults/reserve", "faults-reserve", &["-fno-builtin"])).to_owned();
    let line = ["/bin/sh", "-c", "ulimit -v 200000; exec \"$@\"", "sh", program.as_str(), "100000"];
    for (options, used) in [("HEAP(1M,1M,,KEEP)", 0), ("HEAP(1M,1M,,KEEP),STORAGE(,,,20M)", 20 << 20)] {
        let account = account_of(&["--opts", options], &line, &program);
        assert_eq!(code(account.left.status), 0, "{:?}", account.left);
        exact(&account, Key::HeapReserveUsed, used);
    }
}
