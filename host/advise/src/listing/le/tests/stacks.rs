//! Stacks, and the heaps of PL/I tasks: one thread's use, THREADSTACK, and stacks in ANYHEAP.

use super::*;

#[test]
fn a_stack_is_sized_by_one_thread_and_anyheap_moves_with_it() {
    let stack = [
        (INITIAL, 131_072),
        (INCREMENT, 131_072),
        (ALL, 900_000),
        (ANY, 204_800),
        (ALLOCATED, 9),
        (FREED, 0),
    ];
    let any = [
        (INITIAL, 16_384),
        (INCREMENT, 8_192),
        (USED, 600_000),
        (GETS, 90),
        (FREES, 1),
        (ALLOCATED, 70),
        (FREED, 0),
    ];
    let text = report(&[("STACK", &stack), ("ANYHEAP", &any)]);
    let all = check(&format!("{text}{THREADS}"), Some("ANYHEAP(1152K,288K),STACK(232K)"));
    assert!(all[0].reason.contains("4 threads besides the first"), "{}", all[0].reason);
    assert!(all[1].risk.contains("5 threads at one time, each with 232K, are 1160K"), "{}", all[1].risk);
    let below = check(&format!("STACK(,,BELOW)\n{text}{THREADS}"), Some("ANYHEAP(672K,168K)"));
    assert!(below[1].reason.contains("below the 16M line"));
    let small = format!("//GO EXEC PGM=main,REGION=40M\n{text}");
    let many = "    Largest number of threads concurrently active: 90\nEnd of Storage Report\n";
    let all = check(&format!("{small}{many}"), Some("ANYHEAP(672K,168K)"));
    assert!(all.iter().any(|advice| advice.reason.contains("leaves no room")), "{all:#?}");
}

#[test]
fn thread_stacks_count_only_where_they_are_on() {
    let thread =
        [(INITIAL, 4_096), (INCREMENT, 4_096), (ALL, 90_000), (ANY, 30_000), (ALLOCATED, 9), (FREED, 0)];
    let text = report(&[("THREADSTACK", &thread)]);
    check(&format!("{text}{THREADS}"), None);
    let on = format!("_CEE_RUNOPTS=\"THREADSTACK(ON)\"\n{text}{THREADS}");
    check(&on, Some("THREADSTACK(ON,36K)"));
}

#[test]
fn the_other_stacks_and_the_heaps_of_tasks() {
    let stack =
        [(INITIAL, 4_096), (INCREMENT, 4_096), (ALL, 9_000), (ANY, 9_000), (ALLOCATED, 3), (FREED, 0)];
    let task = [
        (INITIAL, 4_096),
        (INCREMENT, 4_096),
        (ALL, 9_000),
        (ANY, 9_000),
        (GETS, 9),
        (FREES, 9),
        (ALLOCATED, 3),
        (FREED, 0),
    ];
    let down =
        [(INITIAL, 524_288), (INCREMENT, 131_072), (ALL, 9_000), (ANY, 9_000), (ALLOCATED, 1), (FREED, 0)];
    let text = report(&[("XPLINK STACK", &down), ("LIBSTACK", &stack), ("THREADHEAP", &task)]);
    check(&text, Some("STACK(,,,,12K),LIBSTACK(12K),THREADHEAP(12K)"));
}

#[test]
fn stacks_above_the_bar_are_left_alone() {
    let text = "Storage Report for Enclave main x\n\n    STACK64 statistics:\n      Initial size: 1M\n      Increment size: 1M\n      \
                Maximum used by all concurrent threads: 9M\n      Largest used by any thread: 9M\n      Number of \
                increments allocated: 8\nEnd of Storage Report\n";
    let all = check(text, None);
    assert!(all[0].reason.contains("asks nothing of the system"), "{all:?}");
}

#[test]
fn thread_stacks_wait_until_it_is_known_whether_they_are_on() {
    let text = stacks(11, &[("STACK", 131_072, 200_000, 2, 0), ("THREADSTACK", 4096, 40_000, 100, 90)]);
    let all = check(&text, Some("STACK(224K)"));
    let both = all.iter().find(|advice| advice.reason.contains("ON or OFF"));
    let both = both.filter(|advice| advice.evidence.len() == 2).expect("both answers, each with its line");
    assert!(
        both.reason.contains("Under ON THREADSTACK(ON,") && both.reason.contains("Under OFF "),
        "{both:#?}"
    );
    let raise = all.iter().find(|advice| advice.kind == Kind::Raise).expect("STACK");
    assert!(!raise.risk.contains("are 2464K") && raise.risk.contains("cannot be seen"), "{raise:#?}");
    check(
        &format!("//CEEOPTS DD *\nTHREADSTACK(ON)\n/*\n{text}"),
        Some("THREADSTACK(ON,44K,,,KEEP),STACK(224K)"),
    );
    let anyheap = heap("main", 262_144, 8192, 100_000, [90, 90, 1, 0]).replace("HEAP stat", "ANYHEAP stat");
    let anyheap =
        &anyheap[anyheap.find("    ANYHEAP").expect("there")..anyheap.find("End of").expect("there")];
    let with = text.replace("    Largest number", &format!("{anyheap}    Largest number"));
    let all = check(&with, Some("STACK(224K)"));
    assert!(all.iter().any(|advice| advice.reason.contains("stacks of threads will take")), "{all:#?}");
    let small = stacks(11, &[("STACK", 131_072, 20_000, 2, 0), ("THREADSTACK", 4096, 40_000, 100, 90)]);
    check_said(&small, "under THREADSTACK(OFF) threads take it, too");
    let downward =
        stacks(11, &[("STACK", 131_072, 100_000, 2, 0), ("XPLINK THREADSTACK", 4096, 40_000, 100, 90)]);
    check_said(&downward, "XPLINK THREADSTACK: threads used it");
}

#[test]
fn the_risk_of_a_stack_names_the_heap_only_where_it_concerns_it() {
    let risk = |text: &str| {
        let all = advise_listing(&listing(text));
        all.into_iter().find(|advice| advice.rule == "le-stack").expect("there").risk
    };
    let many = risk(&stacks(50, &[("STACK", 131_072, 800_000, 40, 0)]));
    assert!(many.contains("not raised for it here") && !many.contains("which is raised"), "{many}");
    let down = risk(&stacks(11, &[("XPLINK STACK", 524_288, 1_020_480, 30, 0)]));
    assert!(!down.contains("ANYHEAP"), "{down}");
    let single = risk(&stacks(1, &[("STACK", 131_072, 800_000, 40, 0)]));
    assert!(!single.contains("ANYHEAP"), "{single}");
}

#[test]
fn a_stack_above_the_line_names_all31() {
    let text = stacks(1, &[("STACK", 131_072, 20 << 20, 40, 0)]);
    let risk = |text: &str| advise_listing(&listing(text)).remove(0).risk;
    assert!(risk(&text).contains("ALL31 must be ON"), "{}", risk(&text));
    let on = format!("//CEEOPTS DD *\nALL31(ON)\n/*\n{text}");
    assert!(!risk(&on).contains("ALL31"), "{}", risk(&on));
    // All threads together, each of them small: out of ANYHEAP.
    let threads = stacks(400, &[("STACK", 131_072, 200_000, 800, 0)]);
    let region = format!("//GO EXEC PGM=PAY,REGION=900M\n{threads}");
    assert!(risk(&region).contains("ALL31 must be ON, and STACK ANYWHERE"), "{}", risk(&region));
}
