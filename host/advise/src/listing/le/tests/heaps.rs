//! Sizes of the heaps: many segments, small regions, rare and old peaks, heaps below the line and above the bar.

use super::*;

#[test]
fn many_segments_are_made_few_as_in_the_talk() {
    let all =
        check(&heap("main", 32768, 32768, 819_229_056, [50_002, 50_000, 27_949, 0]), Some("HEAP(100M,100M)"));
    assert!(all[0].risk.starts_with("region unknown"), "{}", all[0].risk);
    assert!(all[0].reason.contains("27949 segments"));
    assert_eq!(
        (all[0].evidence[0].line().map(|line| line.line), all[0].effect.as_str()),
        (Some(7), "about 8 segments instead of 27949.")
    );
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
    // An eighth of the region, and half of the rest after the peak.
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
    assert_eq!(all[0].evidence.last().and_then(|last| last.line()).map(|line| line.line), Some(1));
}

#[test]
fn what_is_far_too_large_goes_down() {
    let all = check(&heap("main", 256 << 20, 1 << 20, 20 << 20, [5, 5, 1, 0]), Some("HEAP(23M)"));
    assert_eq!(all[0].kind, Kind::Lower);
}

#[test]
fn a_rare_peak_is_left_to_the_increment() {
    let mut text = String::new();
    for run in 0..12 {
        let (total, allocated) = if run == 5 { (64 << 20, 2_050) } else { (4 << 20, 130) };
        text += &heap("main", 32768, 32768, total, [9_000, 8_000, allocated, 0]);
    }
    let all = check(&text, Some("HEAP(4608K,18M)"));
    assert!(all[0].certainty.starts_with("high: 12 runs"));
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
    // A sixteenth of the increment is used: it does not change.
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
fn an_initial_size_beyond_the_region_is_named() {
    let text = heap("PAY", 256 << 20, 1 << 20, 250 << 20, [5, 5, 1, 0]);
    let all = check(&format!("//GO EXEC PGM=PAY,REGION=300M\n{text}"), None);
    assert!(all.iter().any(|advice| advice.rule == "le-region"), "{all:#?}");
    let all = check(&format!("//GO EXEC PGM=PAY,REGION=0M\n{text}"), None);
    assert!(all.iter().all(|advice| advice.rule != "le-region"));
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
    // Only the total shows that it is too large.
    let large = heap("main", 256 << 20, 1 << 20, 20 << 20, [5, 5, 1, 0]);
    check(&large.replace("allocated: 1", "allocated: l"), Some("HEAP(23M)"));
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
