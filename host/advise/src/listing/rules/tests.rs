//! Each rule on listings made for it: what it sets, and when it says that nothing is to be set.

use super::super::{Advice, Form, advise_listing, settings};
use super::*;

fn listing(text: &str) -> Collected {
    let mut collected = Collected::default();
    collected.file("job.txt");
    for item in underbar_listing::read(text.as_bytes()) {
        collected.take(item);
    }
    collected
}

fn heap(name: &str, initial: u64, increment: u64, total: u64, counts: [u64; 4]) -> String {
    let [gets, frees, allocated, freed] = counts;
    format!(
        "Storage Report for Enclave {name} 11/20/26\nLanguage Environment V03 R01.00\n\n    HEAP statistics:\n      \
         Initial size: {initial}\n      Increment size: {increment}\n      Total heap storage used (sugg. initial size): \
         {total}\n      Successful Get Heap requests: {gets}\n      Successful Free Heap requests: {frees}\n      Number of \
         segments allocated: {allocated}\n      Number of segments freed: {freed}\nEnd of Storage Report\n"
    )
}

/// The option line for all programs, and the advice.
fn check(text: &str, expect: Option<&str>) -> Vec<Advice> {
    let collected = listing(text);
    let all = advise_listing(&collected);
    let name = &collected.programs[0].name;
    let line = Form::Ceeopts.text(&settings(&all, name));
    assert_eq!(line.as_deref().map(str::trim_end), expect, "{all:#?}");
    all
}

#[test]
fn many_segments_are_made_few_as_in_the_talk() {
    let all =
        check(&heap("main", 32768, 32768, 819_229_056, [50_002, 50_000, 27_949, 0]), Some("HEAP(100M,100M)"));
    assert!(all[0].risk.starts_with("region unknown"), "{}", all[0].risk);
    assert!(all[0].reason.contains("27949 segments"));
    assert_eq!((all[0].evidence[0].line, all[0].effect.as_str()), (7, "about 8 segments instead of 27949."));
    check(&heap("main", 100 << 20, 100 << 20, 818_334_944, [50_002, 50_000, 8, 0]), None);
}

#[test]
fn small_heaps_hold_everything_at_once_and_need_no_region() {
    let all = check(&heap("main", 32768, 32768, 1_187_336, [6_034, 6_021, 41, 0]), Some("HEAP(1344K,336K)"));
    assert!(!all[0].risk.contains("region unknown"));
}

#[test]
fn a_small_region_raises_the_increment_only_or_nothing() {
    let many = heap("PAY", 32768, 32768, 30 << 20, [9_000, 9, 970, 0]);
    // An eighth of the region, and half of what is left beside the peak.
    let all = check(&format!("//GO EXEC PGM=PAY,REGION=64M\n{many}"), Some("HEAP(,8M)"));
    assert!(all[0].risk.contains("only the increment grows"), "{:?}", all[0]);
    let large = heap("PAY", 32768, 8 << 20, 60 << 20, [9_000, 9, 9, 0]);
    let all = check(&format!("//GO EXEC PGM=PAY,REGION=64M\n{large}"), None);
    assert!(all[0].reason.contains("no room"), "{:?}", all[0]);
    let all = check(&format!("//GO EXEC PGM=PAY,REGION=128M\n{many}"), Some("HEAP(34M,8704K)"));
    assert!(all[0].risk.starts_with("The region leaves 128M"), "{}", all[0].risk);
}

#[test]
fn more_than_the_region_leaves_is_said_and_sets_nothing() {
    let many = heap("PAY", 32768, 32768, 90 << 20, [9_000, 9, 2_900, 0]);
    let all = check(&format!("//GO EXEC PGM=PAY,REGION=64M\n{many}"), None);
    assert!(all[0].reason.contains("more than the 64M that the region leaves"), "{:?}", all[0]);
    assert_eq!(all[0].evidence.last().map(|line| line.line), Some(1));
}

#[test]
fn options_that_the_report_shows_otherwise_set_nothing() {
    let many = heap("PAY", 32768, 32768, 900_000, [9_000, 9, 40, 0]);
    let options = |values: &str| {
        format!(
            "Options Report for Enclave PAY 11/20/26\nLanguage Environment V03 R01.00\n\n\
             LAST WHERE SET                 OPTION\n{}\nInvocation command               HEAP({values})\n\n",
            "-".repeat(79)
        )
    };
    check(&(options("32768,32768,ANYWHERE,KEEP,8192,4096") + &many), Some("HEAP(992K,248K)"));
    // Rounded up to a page, as Language Environment does.
    check(&(options("32000,32768,ANYWHERE,KEEP,8192,4096") + &many), Some("HEAP(992K,248K)"));
    for values in ["4194304,32768,ANYWHERE,KEEP,8192,4096", "32768,4096,ANYWHERE,KEEP,8192,4096"] {
        let all = check(&(options(values) + &many), None);
        let [one] = &all[..] else { panic!("{all:#?}") };
        assert!(one.rule == "le-sound" && one.reason.contains("Nothing is advised upon HEAP"), "{one:#?}");
        assert_eq!(one.evidence.len(), 2, "{one:#?}");
    }
    check(&format!("//CEEOPTS DD *\nHEAP(64K,32K)\n/*\n{many}"), None);
    check(&format!("//CEEOPTS DD *\nHEAP(32K,32K)\n/*\n{many}"), Some("HEAP(992K,248K)"));
}

#[test]
fn what_is_far_too_large_goes_down() {
    let all = check(&heap("main", 256 << 20, 1 << 20, 20 << 20, [5, 5, 1, 0]), Some("HEAP(23M)"));
    assert_eq!(all[0].kind, Kind::Lower);
}

#[test]
fn segments_that_come_and_go_are_kept() {
    check(
        &heap("main", 32768, 32768, 819_982_896, [70_002, 69_999, 39_122, 39_120]),
        Some("HEAP(100M,100M,,KEEP)"),
    );
    check(&heap("main", 32768, 32768, 30_000, [70, 70, 30, 2]), None);
}

#[test]
fn a_rare_peak_is_left_to_the_increment() {
    let mut text = String::new();
    for run in 0..12 {
        let (total, allocated) = if run == 5 { (64 << 20, 2_050) } else { (4 << 20, 130) };
        text += &heap("main", 32768, 32768, total, [9_000, 8_000, allocated, 0]);
    }
    let all = check(&text, Some("HEAP(4608K,18M)"));
    assert!(all[0].confidence.starts_with("high: 12 runs"));
}

#[test]
fn mixed_reports_give_no_advice() {
    let one = heap("A", 32768, 32768, 819_229_056, [50_002, 50_000, 27_949, 0]);
    let (start, rest) = one.split_at(one.find("    HEAP").expect("there"));
    let other = heap("B", 4096, 4096, 3328, [1, 1, 1, 0]);
    let all = check(&format!("{start}{other}{rest}"), None);
    assert!(all.iter().all(|advice| advice.option.is_none()), "{all:#?}");
}

#[test]
fn dear_storage_is_named() {
    let text = heap("main", 32768, 32768, 3_328, [1, 1, 1, 0]);
    check(&format!("export _CEE_RUNOPTS=\"STORAGE(,,00)\"\n{text}"), Some("STORAGE(,,NONE)"));
    check(&format!("export _CEE_RUNOPTS=\"STORAGE(,,CLEAR)\"\n{text}"), None);
}

#[test]
fn rules_have_unique_ids_and_full_words() {
    for (at, rule) in LE_RULES.iter().enumerate() {
        assert!(LE_RULES[..at].iter().all(|other| other.id != rule.id));
        for words in [rule.condition, rule.formula, rule.stop, rule.risk] {
            assert!(words.ends_with('.') && words.len() > 15, "{}: {words}", rule.id);
        }
    }
}

/// A report of these sections: title, and label with value.
fn report(sections: &[(&str, &[(&str, u64)])]) -> String {
    let mut text = "Storage Report for Enclave main 11/20/26\nLanguage Environment V03 R01.00\n\n".to_owned();
    for (title, lines) in sections {
        text += &format!("    {title} statistics:\n");
        for (label, value) in *lines {
            text += &format!("      {:<52}{value:>6}\n", format!("{label}:"));
        }
    }
    text
}

const INITIAL: &str = "Initial size";
const INCREMENT: &str = "Increment size";
const ALL: &str = "Maximum used by all concurrent threads";
const ANY: &str = "Largest used by any thread";
const USED: &str = "Total heap storage used (sugg. initial size)";
const GETS: &str = "Successful Get Heap requests";
const FREES: &str = "Successful Free Heap requests";
const ALLOCATED: &str = "Number of segments allocated";
const FREED: &str = "Number of segments freed";
const THREADS: &str = "    Largest number of threads concurrently active: 5\nEnd of Storage Report\n";

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
fn free_stays_where_requests_are_larger_than_the_increment() {
    let text = heap("main", 32768, 32768, 900 << 20, [4_000, 3_990, 3_999, 3_990]);
    let all = check(&text, Some("HEAP(116M,116M)"));
    assert!(
        all.iter().any(|advice| advice.rule == "le-keep-free" && advice.reason.contains("FREE is right"))
    );
    let set = heap("main", 32768, 32768, 819_982_896, [70_002, 69_999, 39_122, 39_120]);
    let all = check(&format!("HEAP(,,,KEEP)\n{set}"), Some("HEAP(100M,100M)"));
    assert!(all.iter().any(|advice| advice.kind == Kind::NoChange && advice.reason.contains("KEEP is set")));
}

#[test]
fn an_increment_far_too_large_goes_down() {
    let all = check(&heap("main", 4 << 20, 256 << 20, (4 << 20) + 9_000, [5, 5, 2, 0]), Some("HEAP(,64K)"));
    assert_eq!(all[0].kind, Kind::Lower);
    check(&heap("main", 1 << 20, 1 << 20, 0, [0, 0, 1, 0]), Some("HEAP(4K,64K)"));
}

#[test]
fn an_increment_goes_down_with_its_initial_size() {
    let all = check(&heap("main", 64 << 20, 64 << 20, 16, [5, 5, 1, 0]), Some("HEAP(4K,64K)"));
    assert_eq!(
        all[0].effect,
        "65532K less for each enclave at its start; an increment, should one be needed, takes 64K instead of 64M."
    );
    check(&heap("main", 100 << 20, 100 << 20, 1_264_640, [5, 5, 1, 0]), Some("HEAP(1408K,384K)"));
    // A sixteenth of it is used: it stays.
    check(&heap("main", 100 << 20, 8 << 20, 1_264_640, [5, 5, 1, 0]), Some("HEAP(1408K)"));
}

#[test]
fn below_the_line_nothing_grows_beyond_a_little() {
    let text = heap("main", 32768, 32768, 6 << 20, [9_000, 9, 190, 0]);
    check(&text, Some("HEAP(6912K,1728K)"));
    let all = check(&format!("_CEE_RUNOPTS='HEAP(,,BELOW)'\n{text}"), None);
    assert!(all[0].reason.contains("below the line"), "{all:?}");
}

#[test]
fn memlimit_is_looked_at_for_the_heap_above_the_bar() {
    let text = "Storage Report for Enclave main x\n\n    64bit User HEAP statistics:\n      Initial size: 1M\n      Increment size: 1M\n      \
                Total heap storage used: 900000000\n      Suggested initial size: 859M\n      Number of segments allocated: \
                860\nEnd of Storage Report\n";
    let all = check(text, Some("HEAP64(108M,108M)"));
    assert!(all[0].risk.starts_with("region unknown"), "{}", all[0].risk);
    let all = check(&format!("//GO EXEC PGM=main,MEMLIMIT=2G\n{text}"), Some("HEAP64(108M,108M)"));
    assert!(all[0].risk.starts_with("MEMLIMIT is 2048M"), "{}", all[0].risk);
    let all = check(&format!("//GO EXEC PGM=main,MEMLIMIT=100M\n{text}"), None);
    assert!(all[0].reason.contains("more than the 100M that MEMLIMIT allows"), "{all:?}");
    let all = check(&format!("//GO EXEC PGM=main,MEMLIMIT=900M\n{text}"), Some("HEAP64(,20M)"));
    assert!(all[0].risk.contains("only the increment grows"), "{}", all[0].risk);
}

#[test]
fn messages_of_steps_show_what_was_used_but_no_limit() {
    let text = heap("main", 32768, 32768, 819_229_056, [50_002, 50_000, 27_949, 0]);
    let all = check(
        &format!(
            "IEF033I  JOB/PAY /STOP 2026324.1015\n   VIRT: 4K SYS: 224K EXT: 52304K SYS: 11080K\n{text}"
        ),
        Some("HEAP(100M,100M)"),
    );
    assert!(all[0].risk.starts_with("region unknown"), "{}", all[0].risk);
    assert!(all[0].risk.contains("used 52304K above the line"), "{}", all[0].risk);
}

#[test]
fn old_peaks_fade() {
    let mut text = heap("main", 64 << 20, 1 << 20, 60 << 20, [9, 9, 1, 0]);
    for _ in 0..40 {
        text += &heap("main", 64 << 20, 1 << 20, 8 << 20, [9, 9, 1, 0]);
    }
    let all = check(&text, Some("HEAP(13824K)"));
    assert!(
        all[0].reason.contains("in 41 runs, of which half need no more than 8388608"),
        "{}",
        all[0].reason
    );
    let mut runs: Vec<&str> = text.split_inclusive("End of Storage Report\n").collect();
    runs.reverse();
    let newest_first = runs.concat();
    check(&newest_first, None);
}

#[test]
fn cics_is_known_by_its_increments() {
    let text = heap("main", 4096, 4080, 300_000, [900, 100, 80, 0]);
    let all = check(&text, Some("HEAP(336K,86000)"));
    assert!(all[0].risk.starts_with("CICS"), "{}", all[0].risk);
}

#[test]
fn an_initial_size_beyond_the_region_is_named() {
    let text = heap("PAY", 256 << 20, 1 << 20, 250 << 20, [5, 5, 1, 0]);
    let all = check(&format!("//GO EXEC PGM=PAY,REGION=300M\n{text}"), None);
    assert!(all.iter().any(|advice| advice.rule == "le-region"), "{all:#?}");
    let all = check(&format!("//GO EXEC PGM=PAY,REGION=0M\n{text}"), None);
    assert!(all.iter().all(|advice| advice.rule != "le-region"));
}

#[test]
fn pools_get_percentages_or_sizes_that_fit() {
    let heap = heap("main", 32768, 32768, 30_000, [9_500, 9_100, 1, 0]);
    let heap = heap.replace("End of Storage Report\n", "");
    let rows = "    HEAPPOOLS Summary:\n  8 16 1 20 9 170 2\n  32 40 10 81 1 60 5\nEnd of Storage Report\n";
    check(&format!("{heap}{rows}"), Some("HEAPPOOLS(ON,8,9,32,10,0)"));
    let requests = "    HEAPPOOLS Statistics:\n      Successful Get Heap requests: 9-16 5000\n      Successful Get Heap \
                    requests: 1-8 10\n";
    let rows = "    HEAPPOOLS Summary:\n  8 16 1 20 1 10 0\n  128 136 10 24 1 20 5\nEnd of Storage Report\n";
    check(&format!("{heap}{requests}{rows}"), Some("HEAPPOOLS(ON,8,,16,,128,,0)"));
}

#[test]
fn percentages_shrink_where_the_heap_grows() {
    let heap = heap("main", 32768, 32768, 1_187_336, [6_034, 6_021, 41, 0]);
    let heap = heap.replace("End of Storage Report\n", "");
    let rows = "    HEAPPOOLS Summary:\n  8 16 10 204 1 100 2\n  32 40 10 81 2 90 5\n  128 136 10 24 1 20 1\n  256 264 10 12 \
                1 8 0\n  1024 1032 10 4 1 3 0\nEnd of Storage Report\n";
    let line = "HEAP(1344K,336K),HEAPPOOLS(ON,8,1,32,1,128,1,256,1,1024,1,0)";
    let all = check(&format!("{heap}{rows}"), Some(line));
    let pools = all.iter().find(|advice| advice.rule == "le-heap-pools").expect("said");
    // Five times 10 % of 1,376,256 bytes, for 13,128 bytes of cells.
    assert!(pools.reason.contains("688125 bytes") && pools.reason.contains("13128"), "{}", pools.reason);
    // Cells of other sizes wait until the heap has its size.
    let requests = "    HEAPPOOLS Statistics:\n      Successful Get Heap requests: 9-16 5000\n      Successful Get Heap \
                    requests: 1-8 10\n";
    let all = check(&format!("{heap}{requests}{rows}"), Some(line));
    assert!(all.iter().any(|advice| advice.rule == "le-heap-pools"), "{all:#?}");
}

#[test]
fn a_report_without_a_name_is_named_by_its_place() {
    let text = |name: &str| {
        let text = heap("main", 32768, 32768, 1_187_336, [6_034, 6_021, 41, 0]);
        text.replace("main 11/20/26", name)
    };
    let name = |heading: &str| listing(&text(heading)).programs[0].name.clone();
    for date in ["11/20/26", "2026-11-20 10:15:07", "20 Nov 2026 10:15:07 AM", "20.11.2026", ""] {
        assert!(name(date).ends_with(":1"), "{date:?} {:?}", name(date));
    }
    for word in ["main", "12341", "12341 11/20/26 10:15:07 AM", "4ALL 2026-11-20", "main 20 Nov 2026"] {
        assert_eq!(name(word), word.split(' ').next().unwrap());
    }
}

#[test]
fn many_small_enclaves_of_any_name_are_a_hint() {
    let text: String = (0..9).map(|n| heap(&format!("SUB{n}"), 32768, 32768, 3_328, [1, 1, 1, 0])).collect();
    let collected = listing(&text);
    let all = advise_listing(&collected);
    assert_eq!(all.iter().filter(|advice| advice.rule == "le-link-call").count(), 1);
}

/// Nothing is set, and a sentence says why.
fn check_said(text: &str, words: &str) {
    let all = check(text, None);
    assert!(all.iter().any(|advice| advice.reason.contains(words)), "{words}: {all:#?}");
}

#[test]
fn a_pool_that_cannot_be_read_or_is_missing_stops_advice_about_pools() {
    let heap = heap("main", 1 << 20, 1 << 20, 900_000, [9_500, 9_100, 1, 0]);
    let heap = heap.replace("End of Storage Report\n", "");
    let text = |second: &str, third: &str| {
        format!(
            "{heap}    HEAPPOOLS Statistics:\n      Pool 1 size: 8 Get requests: 1200\n      Pool 2 size: 32 Get requests: \
             9000\n      Pool 3 size: {third} Get requests: 20\n    HEAPPOOLS Summary:\n  8 16 10 6553 1 900 12\n{second}  128 \
             136 10 771 4 3000 0\nEnd of Storage Report\n"
        )
    };
    check(&text("  32 40 10 2621 4 9000 5\n", "128"), Some("HEAPPOOLS(ON,8,10,32,35,128,39,0)"));
    check_said(&text("  32 4O 10 2621 4 9000 5\n", "128"), "Not every row");
    check_said(&text("  32 40 IO 2621 4 9000 5\n", "128"), "Not every row");
    check_said(&text("  32 40 10 2621 4 9000 5\n", "1Z8"), "Not every row");
    let all = check(&text("", "128"), None);
    let pools = all.iter().find(|advice| advice.rule == "le-heap-pools").expect("said");
    assert_eq!(pools.evidence[0].line, 14, "{pools:#?}");
    assert!(pools.evidence[0].text.contains("cells of 32 has no row"), "{pools:#?}");
}

#[test]
fn a_number_of_segments_that_cannot_be_read_is_not_made_up() {
    let many = heap("main", 32768, 32768, 12_000_000, [5, 5, 7, 0]);
    check(&many, Some("HEAP(13M,3328K)"));
    check_said(&many.replace("allocated: 7", "allocated: O7"), "the number of segments cannot be read");
    check_said(
        &heap("main", 32768, 32768, 819_229_056, [5, 5, 0, 40]),
        "the number of segments cannot be read",
    );
    // Too large is what the total says alone.
    let large = heap("main", 256 << 20, 1 << 20, 20 << 20, [5, 5, 1, 0]);
    check(&large.replace("allocated: 1", "allocated: l"), Some("HEAP(23M)"));
}

#[test]
fn keep_rests_on_all_figures_that_could_speak_against_it() {
    let come_and_go = heap("main", 32768, 32768, 30_000, [70_002, 69_999, 39_122, 39_120]);
    check(&come_and_go, Some("HEAP(,,,KEEP)"));
    for (whole, damaged) in [
        ("Increment size: 32768", "Increment size: 3Z768"),
        ("initial size): 30000", "initial size): 3O000"),
        ("Get Heap requests: 70002", "Get Heap requests: 7OO02"),
    ] {
        assert!(come_and_go.contains(whole));
        check_said(&come_and_go.replace(whole, damaged), "cannot be read, so that nobody can say");
    }
}

/// A report with the sections of stacks: of each its initial size, the largest use of a thread, and segments allocated and
/// freed.
fn stacks(threads: u64, sections: &[(&str, u64, u64, u64, u64)]) -> String {
    let mut text = "Storage Report for Enclave main 11/20/26\nLanguage Environment V03 R01.00\n\n".to_owned();
    for (title, initial, used, allocated, freed) in sections {
        text += &format!(
            "    {title} statistics:\n      Initial size: {initial}\n      Increment size: 4096\n      Maximum used by all \
             concurrent threads: {used}\n      Largest used by any thread: {used}\n      Number of segments allocated: \
             {allocated}\n      Number of segments freed: {freed}\n"
        );
    }
    text + &format!("    Largest number of threads concurrently active: {threads}\nEnd of Storage Report\n")
}

#[test]
fn thread_stacks_wait_until_it_is_known_whether_they_are_on() {
    let text = stacks(11, &[("STACK", 131_072, 200_000, 2, 0), ("THREADSTACK", 4096, 40_000, 100, 90)]);
    let all = check(&text, Some("STACK(224K)"));
    assert!(all.iter().any(|advice| advice.reason.contains("ON or OFF")), "{all:#?}");
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
fn where_an_option_has_to_be_changed_is_said() {
    let many = heap("NN", 65_536, 32_768, 1_500_000, [9_000, 8_990, 46, 0]);
    let fixed =
        "CEEDOPT(HEAP((64K,32K,ANYWHERE,KEEP,8K,4K),NONOVR))\n//GO EXEC PGM=NN,PARM='HEAP(1M,1M)/X'\n";
    check_said(&format!("{fixed}{many}"), "HEAP(1664K,416K) would be right; but HEAP stands with NONOVR");
    let parm = "//CEEOPTS DD *\nHEAP(32K,32K)\n/*\n//GO EXEC PGM=NN,PARM='HEAP(64K,32K)/'\n";
    let all = check(&format!("{parm}{many}"), Some("HEAP(1664K,416K)"));
    assert!(all[0].risk.starts_with("HEAP is set by PARM, which outranks CEEOPTS"), "{all:#?}");
    // PARM outranks CEEOPTS: what the report shows contradicts it.
    let other = "//CEEOPTS DD *\nHEAP(64K,32K)\n/*\n//GO EXEC PGM=NN,PARM='HEAP(32K,32K)/'\n";
    check_said(&format!("{other}{many}"), "one of them is of another run");
    let report = "Options Report for Enclave NN 11/20/26\nLanguage Environment V03 R01.00\n\nLAST WHERE SET                 \
                  OPTION\n_CEE_RUNOPTS                     HEAP(65536,32768,ANYWHERE,KEEP,8192,4096)\n\n";
    let all = check(&format!("{report}{many}"), Some("HEAP(1664K,416K)"));
    assert!(all[0].risk.starts_with("HEAP is set by _CEE_RUNOPTS"), "{all:#?}");
}

#[test]
fn the_step_of_cics_tells_it_too() {
    let text = heap("TRNA", 32768, 32768, 1_500_000, [900, 899, 46, 0]);
    for step in [
        "//CICSA EXEC PGM=DFHSIP,REGION=0M\n",
        "//CICSA EXEC PGM=DFHSIP\n",
        "+DFHSI1517 CICSA Control is being given to CICS.\n",
    ] {
        let all = check(&format!("{step}{text}"), Some("HEAP(1664K,425968)"));
        assert!(all[0].risk.starts_with("CICS") && all[0].risk.contains("CEEOPTS is not read"), "{all:#?}");
        assert!(all[0].evidence.iter().any(|line| line.line == 1), "{all:#?}");
    }
}

#[test]
fn a_stack_above_the_line_names_all31() {
    let text = stacks(1, &[("STACK", 131_072, 20 << 20, 40, 0)]);
    let risk = |text: &str| advise_listing(&listing(text)).remove(0).risk;
    assert!(risk(&text).contains("ALL31 must be ON"), "{}", risk(&text));
    let on = format!("//CEEOPTS DD *\nALL31(ON)\n/*\n{text}");
    assert!(!risk(&on).contains("ALL31"), "{}", risk(&on));
    // Threads together, each of them small: out of ANYHEAP, which lies there.
    let threads = stacks(400, &[("STACK", 131_072, 200_000, 800, 0)]);
    let region = format!("//GO EXEC PGM=PAY,REGION=900M\n{threads}");
    assert!(risk(&region).contains("ALL31 must be ON, and STACK ANYWHERE"), "{}", risk(&region));
}

#[test]
fn a_heap_above_the_line_names_all31() {
    let risk = |option: &str, total: u64| {
        let text =
            format!("{option}{}", heap("PAY", 32_768, 32_768, total, [4_000, 3_000, total / 32_768 + 1, 0]));
        advise_listing(&listing(&text)).remove(0).risk
    };
    let words = "under ALL31(OFF) programs of AMODE 24";
    let set = |word: &str| format!("//CEEOPTS DD *\nALL31({word})\n/*\n");
    assert!(risk("", 27 << 20).contains(words) && !risk("", 2 << 20).contains(words));
    assert!(!risk(&set("ON"), 27 << 20).contains(words));
    assert!(risk(&set("OFF"), 2 << 20).contains(words), "{}", risk(&set("OFF"), 2 << 20));
}

#[test]
fn a_label_or_a_number_of_threads_that_is_damaged_is_said() {
    let text = stacks(5, &[("STACK", 131_072, 200_000, 2, 0)]);
    let doubts = |text: &str| listing(text).doubts();
    assert_eq!(doubts(&text), []);
    let label = doubts(&text.replace("Initial size", "lnitia1 slze"));
    assert!(
        label.iter().any(|(place, why)| place == "job.txt:4" && why.contains("Initial size")),
        "{label:?}"
    );
    let threads = doubts(&text.replace("active: 5", "active: O5"));
    assert!(threads.iter().any(|(place, _)| place == "job.txt:11"), "{threads:?}");
}

#[test]
fn numbers_of_records_are_taken_off() {
    let text = stacks(5, &[("STACK", 131_072, 200_000, 2, 0)]);
    let numbered: String =
        text.lines().enumerate().map(|(at, line)| format!("{line:<72}{:08}\n", at * 100)).collect();
    let (plain, with) = (listing(&text), listing(&numbered));
    assert_eq!(with.programs[0].runs[0].report, plain.programs[0].runs[0].report);
}

#[test]
fn words_are_those_of_the_part() {
    let raise = |text: &str| {
        let all = advise_listing(&listing(text));
        all.into_iter().find(|advice| advice.kind == Kind::Raise).expect("a raise")
    };
    let below = heap("main", 4096, 4096, 200_000, [900, 9, 40, 0]).replace("HEAP stat", "BELOWHEAP stat");
    assert!(raise(&below).risk.contains("below the 16M line"), "{:#?}", raise(&below));
    let tasks = raise(&stacks(1, &[("THREADHEAP", 4096, 60_000, 9, 0)]));
    assert_eq!(tasks.effect, "the heap of each task fits into its first segment.");
    let library = raise(&stacks(1, &[("LIBSTACK", 4096, 12_000, 9, 0)]));
    assert!(library.risk.contains("below the 16M line"), "{library:#?}");
    let many = heap("main", 1 << 20, 1 << 20, 90 << 20, [900, 9, 89, 0]);
    let bar = raise(&many.replace("HEAP stat", "64bit User HEAP stat"));
    assert_eq!(bar.effect, "no segment beside the first instead of 89.");
    let doubts = |value: &str| {
        let text = many.replace("size: 1048576\n      Increment", &format!("size: {value}\n      Increment"));
        listing(&text).doubts().into_iter().map(|(_, why)| why).collect::<String>()
    };
    assert!(doubts("-131072").contains("it is negative"), "{}", doubts("-131072"));
    assert!(doubts("99999999999999999999").contains("larger than any size"));
}
