//! Segments against the kernel's own calls (`strace`) and the process's memory map.

use super::*;

/// Calls of the program in `strace`: name, and the numbers of its arguments as far as they are numbers.
struct Trace(Vec<String>);

impl Trace {
    /// Lengths of the private mappings without a file that the program made, and that stayed writable.
    fn mapped(&self) -> Vec<u64> {
        self.0
            .iter()
            .filter(|line| line.starts_with("mmap(NULL, ") && is_ours_to_write(line))
            .map(|line| length(line))
            .collect()
    }

    fn unmapped(&self) -> Vec<u64> {
        self.0.iter().filter(|line| line.starts_with("munmap(")).map(|line| length(line)).collect()
    }

    fn asked_for_huge(&self) -> Vec<u64> {
        let is_advice = |line: &&String| {
            line.starts_with("madvise(") && line.contains("MADV_HUGEPAGE") && line.ends_with("= 0")
        };
        self.0.iter().filter(is_advice).map(|line| length(line)).collect()
    }

    fn given_back(&self) -> Vec<u64> {
        let is_advice = |line: &&String| line.starts_with("madvise(") && line.contains("MADV_DONTNEED");
        self.0.iter().filter(is_advice).map(|line| length(line)).collect()
    }
}

fn is_ours_to_write(line: &str) -> bool {
    line.contains("PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1") && !line.contains("= -1")
}

/// The second argument.
fn length(line: &str) -> u64 {
    line.split([',', ')'])
        .nth(1)
        .and_then(|length| length.trim().parse().ok())
        .unwrap_or_else(|| panic!("{line}"))
}

/// Runs a program under `strace`; None, with a message, if there is none.
fn traced(name: &str, options: &str, line: &[&str]) -> Option<(Account, Trace)> {
    let file = scratch(name).join("trace");
    if code(left(Command::new("/bin/sh").args(["-c", "strace -o /dev/null true"])).status) != 0 {
        skipped("segments against the kernel's calls: strace does not work here");
        return None;
    }
    let filter = ["strace", "-o", text(&file), "-e", "trace=mmap,munmap,madvise,mincore", "--"];
    let account = account_of(&["--opts", options], &[&filter, line].concat(), line[0]);
    let lines = fs::read_to_string(file).expect("the trace").lines().map(str::to_owned).collect();
    Some((account, Trace(lines)))
}

pub(super) fn segments_are_the_kernel_s_calls() {
    let program = program("segments");
    let Some((bare, nothing)) = traced("segments-none", "", &[&program, "0", "1"]) else { return };
    exact(&bare, Key::HeapSegmentsAllocated, 0);
    for (options, count, size, free) in [
        ("HEAP(1M,1M,,KEEP)", 1000_u64, 60_000_u64, false),
        ("HEAP(4K,4K,,KEEP)", 1000, 3_000, true),
        ("HEAP(4K,4K,,FREE)", 1000, 3_000, true),
        ("HEAP(64K,64K,,KEEP)", 100, 100_000, false),
        ("HEAP(64K,128K,,FREE)", 200, 100_000, true),
        ("HEAP(64K,1M,,KEEP)", 2_000, 700, false),
    ] {
        let (number, bytes) = (count.to_string(), size.to_string());
        let mut line = vec![program.as_str(), &number, &bytes];
        line.extend(free.then_some("free"));
        let Some((account, trace)) = traced("segments", options, &line) else { return };
        let increment = account.get(Key::HeapIncrementSize);
        let initial = account.get(Key::HeapInitialSize);
        let segments = account.get(Key::HeapSegmentsAllocated);
        // Mappings without segments: those of the C library and for our own tables, which are larger.
        let mut mapped = trace.mapped();
        assert!((mapped.len() as u64).abs_diff(segments + nothing.mapped().len() as u64) <= 64, "{options}");
        for other in nothing.mapped() {
            let at = mapped.iter().position(|bytes| *bytes == other).expect("mapped without segments, too");
            mapped.remove(at);
        }
        let least = initial.min(increment).min(size.next_multiple_of(PAGE));
        // 64 KiB for descriptors and 2 MiB for a part of the page map.
        let own: u64 = account.get(Key::HeapOwnBytes);
        let total: u64 = mapped.iter().sum();
        exact(&account, Key::HeapSegmentBytesTotal, total - own);
        let is_own = |bytes: u64| bytes == 2 * MIB || bytes == 65_536;
        if least > 65_536 || initial != 65_536 {
            let of_tables = mapped.iter().filter(|bytes| is_own(**bytes)).count();
            exact(&account, Key::AnyHeapSegmentsAllocated, of_tables as u64);
            mapped.retain(|bytes| !is_own(*bytes));
            exact(&account, Key::HeapSegmentsAllocated, mapped.len() as u64);
        }
        mapped.retain(|bytes| !is_own(*bytes));
        let beyond = |bytes: &[u64], size| bytes.iter().filter(|bytes| **bytes > size).count() as u64;
        let (first, others) = mapped.split_at(usize::from(initial != 65_536 || size > initial));
        exact(&account, Key::HeapOversizeSegments, beyond(first, initial) + beyond(others, increment));
        let unmapped =
            |bytes: u64| trace.unmapped().into_iter().filter(move |other| *other == bytes).count() as u64;
        let freed = unmapped(increment);
        exact(&account, Key::HeapSegmentsFreed, freed);
        exact(&account, Key::HeapSegmentBytes, total - own - freed * increment);
        // Everything is got before anything is given back.
        exact(&account, Key::HeapSegmentBytesPeak, total - own);
    }
}

pub(super) fn segments_are_in_the_memory_map() {
    let program = program("segments");
    for options in ["HEAP(1M,1M,,KEEP)", "HEAP(64K,256K,,FREE)", "HEAP(AUTO,AUTO,ANYWHERE,AUTO)"] {
        let with = |count: &str| account(options, &[&program, count, "60000"]);
        let (few, many) = (with("10"), with("2000"));
        let ours = |account: &Account| account.get(Key::HeapSegmentBytes) + account.get(Key::HeapOwnBytes);
        assert_eq!(many.said("mapped") - few.said("mapped"), ours(&many) - ours(&few), "{options}");
    }
}

pub(super) fn sizes_are_those_of_the_option() {
    let program = program("segments");
    for (options, initial, increment) in
        [("HEAP(3M,5M)", 3 * MIB, 5 * MIB), ("HEAP(1,1)", 8, 8), ("HEAP(AUTO,AUTO,ANYWHERE,AUTO)", 0, 0)]
    {
        let account = account(options, &[&program, "1", "1"]);
        exact(&account, Key::HeapInitialSize, initial);
        exact(&account, Key::HeapIncrementSize, increment);
    }
    // ANYHEAP is for underbar's own tables: 64 KiB hold them here.
    let own = |options| account(options, &[&program, "1", "1"]).get(Key::HeapOwnBytes);
    let usual = own("");
    assert_eq!([own("ANYHEAP(1M)"), own("ANYHEAP(,1M)")], [usual - (64 << 10) + MIB, usual]);
}

pub(super) fn pages_given_back_are_the_kernel_s_calls() {
    let Some((account, trace)) = traced("purges", "", &[&program("purges"), "25", "burst"]) else { return };
    assert_eq!(account.left.output, "gone\n", "a burst stays");
    let calls = trace.given_back();
    assert!(!calls.is_empty(), "nothing was given back");
    exact(&account, Key::HeapPurges, calls.len() as u64);
    exact(&account, Key::HeapPurgedBytes, calls.iter().sum());
}

#[test]
fn a_large_free_makes_no_call_of_the_kernel() {
    const FREES: usize = 2_000;
    let Some((_, trace)) = traced("frees", "", &[&program("purges"), &FREES.to_string()]) else { return };
    let calls = trace.0.iter().filter(|line| line.starts_with("mincore(") || line.starts_with("madvise("));
    // At the end memory and stacks are looked at.
    assert!(calls.count() < FREES / 20);
}

pub(super) fn huge_pages_are_asked_of_the_kernel_where_all_is_touched() {
    let (dense, sparse) = ([&program("segments"), "20000", "4000"], [&program("segments"), "4000", "20000"]);
    // In a small heap, one that is empty would be more than a twentieth.
    let small = [&program("segments"), "7000", "4000"];
    let has_them = fs::exists("/sys/kernel/mm/transparent_hugepage").is_ok_and(|exists| exists);
    for (options, line, asks) in [
        ("", dense, true),
        ("", sparse, false),
        ("", small, false),
        ("HUGEPAGES(OFF)", dense, false),
        ("HUGEPAGES(ON)", sparse, true),
        ("HEAP(8M,8M,,KEEP)", dense, false),
        ("HEAP(8M,8M,,KEEP),HUGEPAGES(ON)", dense, true),
    ] {
        let Some((account, trace)) = traced("huge", options, &line) else { return };
        let asked = trace.asked_for_huge();
        assert_eq!(!asked.is_empty(), asks && has_them, "{options} {line:?}");
        exact(&account, Key::HeapHugeBytes, asked.iter().sum());
    }
}

pub(super) fn segments_are_joined_near_the_kernel_s_limit() {
    let line = [&program("segments"), "60000", "3000"];
    let Some((account, trace)) = traced("fallbacks", "HEAP(4K,4K,,KEEP)", &line) else { return };
    assert_eq!(code(account.left.status), 0);
    let joined = trace.mapped().into_iter().filter(|bytes| *bytes == 64 * PAGE).count() as u64;
    assert!(joined > 0, "the limit was not reached");
    exact(&account, Key::HeapMapFallbacks, joined);
}
