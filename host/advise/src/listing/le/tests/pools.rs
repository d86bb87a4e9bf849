//! Heap pools: percentages, sizes, rows that cannot be read.

use super::*;

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
    assert_eq!(pools.evidence[0].line().map(|line| line.line), Some(14), "{pools:#?}");
    assert!(pools.evidence[0].to_string().contains("cells of 32 has no row"), "{pools:#?}");
}

#[test]
fn pools_of_another_heap_size_tell_their_percentages_alone() {
    let heap = heap("main", 1 << 20, 1 << 20, 900_000, [9_500, 9_100, 1, 0]);
    let heap = heap.replace("End of Storage Report\n", "");
    let text = |rows: &str| format!("{heap}    HEAPPOOLS Summary:\n{rows}End of Storage Report\n");
    // Cells of 10 % of 32K: 1,000 of 204 that an extent has.
    let all =
        check(&text("  8 16 10 204 5 1000 2\n  32 40 10 81 1 60 5\n"), Some("HEAPPOOLS(ON,8,50,32,10,0)"));
    let pools = all.iter().find(|advice| advice.rule == "le-heap-pools").expect("said");
    assert!(pools.reason.contains("those of 32640 to 32799 bytes"), "{pools:#?}");
    assert!(
        pools.evidence[0].to_string().contains(": Initial size") && pools.evidence.len() == 2,
        "{pools:#?}"
    );
    assert_eq!(pools.effect, "one extent for each pool, whatever the heap's initial size is.");
    // 98 % is more than can be set.
    let all =
        check(&text("  8 16 10 204 10 2000 2\n  32 40 10 81 1 60 5\n"), Some("HEAPPOOLS(ON,8,90,32,10,0)"));
    let pools = all.iter().find(|advice| advice.rule == "le-heap-pools").expect("said");
    assert_eq!(
        pools.effect,
        "one extent for each pool but 1, whose cells need more than 90 %, whatever the heap's initial size is."
    );
    // One of them only, or each of another size: a row is damaged.
    check_said(&text("  8 16 10 204 5 1000 2\n  32 40 10 2621 1 60 5\n"), "Not every row");
    check(&text("  8 16 10 204 5 1000 2\n  32 40 10 163 1 60 5\n"), None);
    check(&text("  8 16 10 204 5 1000 2\n"), None);
}
