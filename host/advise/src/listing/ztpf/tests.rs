//! Each rule fires, says no change, lowers, or says why it gives no advice; with invented values.

use super::super::Collected;
use super::super::simulate::{Simulation, Tried};
use crate::advice::shown;
use crate::advice::{Advice, Kind};
use crate::advise_listing;
use crate::render::values::text as values_text;

fn simulate(collected: &Collected) -> Vec<Simulation> {
    tried(collected, "AVL").expect("sizes")
}

fn tried(collected: &Collected, text: &str) -> Result<Vec<Simulation>, String> {
    let all = super::super::simulate(collected, text)?;
    Ok(all.into_iter().filter_map(|one| if let Tried::Lists(one) = one { Some(one) } else { None }).collect())
}

fn listing(text: &str) -> Collected {
    let mut collected = Collected::default();
    collected.file("reduction.txt");
    for item in underbar_listing::read(text.as_bytes()) {
        collected.take(item);
    }
    collected
}

/// A request size report with percentages that fit.
fn requests(sizes: &str, rows: &[(u64, u64)]) -> String {
    let all: u64 = rows.iter().map(|row| row.1).sum();
    let mut text = format!(
        "TPF ECB HEAP REQUEST SIZE REPORT                                                 SYSTEM  WIDE\n\
         CURRENT BUFFER SIZES IN BYTES: {sizes}\n   CLASS UPPER   FREQUENCY   PERCENT\n      LIMIT      OBSERVED    OF TOTAL\n"
    );
    for (limit, count) in rows {
        let percent = (count * 20_000 / all).div_ceil(2);
        text += &format!("{limit:>12} {count:>12} {:>9}.{:02}%\n", percent / 100, percent % 100);
    }
    text
}

/// A pair of usage reports: classes in KB.
fn usage(first: &[(u64, u64)], over: u64, second: &[(u64, u64)]) -> String {
    let table = |rows: &[(u64, u64)], above: u64| {
        let all = rows.iter().map(|row| row.1).sum::<u64>() + above;
        let mut text =
            "   CLASS UPPER   FREQUENCY   PERCENT\n      LIMIT      OBSERVED    OF TOTAL\n".to_owned();
        let last = rows.last().map_or(0, |row| row.0);
        for (sign, limit, count) in rows.iter().map(|row| ("", row.0, row.1)).chain([("> ", last, above)]) {
            text += &format!("  {sign}{limit}KB  {count}  {}.00%\n", count * 100 / all.max(1));
        }
        text
    };
    let mut text = format!(
        "TPF 31-BIT PREALLOCATED ECB HEAP STORAGE USAGE REPORT    SYSTEM  WIDE\n{}",
        table(first, over)
    );
    if !second.is_empty() {
        text += &format!(
            "\nTPF 31-BIT VIRTUAL ECB HEAP STORAGE USAGE REPORT    SYSTEM  WIDE\n{}",
            table(second, 0)
        );
    }
    text
}

fn profile(rows: &[(&str, u64)]) -> String {
    let mut text =
        "SSU PROG DISP INST                               COUNT\nHPN  IPAY - queue.goff\n".to_owned();
    for (at, (mnemonic, count)) in rows.iter().enumerate() {
        text += &format!("P {:016X} {mnemonic:<8} {count:>9}\n", 0x40 + at * 6);
    }
    text
}

/// The first advice of a rule: its kind, and the values to set.
fn check(rule: &str, text: &str, expect: Option<(Kind, &str)>) -> Option<Advice> {
    let all = advise_listing(&listing(text));
    let said = all.iter().find(|advice| advice.rule == rule);
    let got = said.map(|advice| (advice.kind, shown(&advice.values)));
    assert_eq!(got.as_ref().map(|(kind, values)| (*kind, values.as_str())), expect, "{all:#?}");
    said.cloned()
}

const FINE: [(u64, u64); 7] =
    [(32, 700), (64, 41_000), (128, 300), (256, 2_000), (512, 900), (768, 0), (1024, 4)];

#[test]
fn sizes_go_where_requests_are() {
    let expect = "HAVSZ1=64 HAVSZ2=128 HAVSZ3=256 HAVSZ4=512";
    let text = requests("AVL1 128 , AVL2 256 , AVL3 512 , AVL4 1024", &FINE);
    let said = check("tpf-avl-size", &text, Some((Kind::Lower, expect))).expect("said");
    assert_eq!(said.now, "HAVSZ1=128 HAVSZ2=256 HAVSZ3=512 HAVSZ4=1024");
    assert_eq!(said.evidence[1].line().map(|line| line.line), Some(6), "{:?}", said.evidence);
    let small = requests("AVL1 32 , AVL2 64 , AVL3 96 , AVL4 128", &FINE);
    check("tpf-avl-size", &small, Some((Kind::Raise, expect)));
    let right = requests("AVL1 64 , AVL2 128 , AVL3 256 , AVL4 512", &FINE);
    check("tpf-avl-size", &right, Some((Kind::NoChange, "")));
    let unknown = requests("A", &FINE);
    let said = check("tpf-avl-size", &unknown, Some((Kind::Change, expect))).expect("said");
    assert!(said.now.contains("not known") && said.effect.contains("not known"), "{said:?}");
}

#[test]
fn a_present_size_that_may_be_cut_is_said_to_be_so() {
    let text = requests("AVL1 64 , AVL2 128 , AVL3 256 , AVL4 512", &FINE);
    let cut = text.replace("                                                 SYSTEM  WIDE", "");
    let said = check("tpf-avl-size", &cut, Some((Kind::NoChange, ""))).expect("said");
    assert!(
        said.now.ends_with("HAVSZ4=512, if the line that ends in the last of them is not cut there"),
        "{}",
        said.now
    );
    let simulations = simulate(&listing(&cut));
    assert!(simulations[0].notes[0].contains("may be cut") && simulations[0].arms.len() == 2);
}

#[test]
fn limits_that_no_layout_has_set_nothing() {
    for (right, wrong) in [("    64 ", "    66 "), ("   256 ", "   250 "), ("  1024 ", "  1021 ")] {
        let text = requests("AVL1 128 , AVL2 256 , AVL3 512 , AVL4 1024", &FINE);
        let all = advise_listing(&listing(&text.replacen(right, wrong, 1)));
        assert!(all.iter().all(|one| one.values.is_empty()), "{wrong}: {all:#?}");
        assert!(
            all.iter().any(|one| one.rule == "tpf-sound" && one.reason.contains("multiples of 32")),
            "{all:#?}"
        );
    }
}

#[test]
fn usage_reports_are_joined_in_any_order_and_from_two_files() {
    let text = usage(&[(0, 50), (16, 20), (32, 20)], 10, &[(40, 8), (48, 2)]);
    let at = text.find("\nTPF 31-BIT VIRTUAL").expect("two reports");
    let (first, second) = text.split_at(at);
    let said = |files: &[&str]| {
        let mut collected = Collected::default();
        for (number, text) in files.iter().enumerate() {
            collected.file(&format!("{number}.txt"));
            for item in underbar_listing::read(text.as_bytes()) {
                collected.take(item);
            }
        }
        let all = advise_listing(&collected);
        let said = all.into_iter().find(|one| one.rule == "tpf-preallocated").expect("said");
        (said.kind, said.suggested().unwrap_or_default(), said.reason)
    };
    let one = said(&[&text]);
    assert_eq!((one.0, one.1.as_str()), (Kind::Raise, "PEH=10"));
    assert_eq!(said(&[first, second]), one);
    assert_eq!(said(&[second, first]), one);
    assert_eq!(said(&[&format!("{second}\n{first}")]), one);
    let alone = said(&[second]);
    assert_eq!(alone.0, Kind::NoAdvice);
    assert!(alone.2.contains("preallocated area that belongs to it is missing"), "{}", alone.2);
}

#[test]
fn the_same_report_twice_is_one_collection() {
    let mut collected = Collected::default();
    let text = requests("AVL1 128 , AVL2 256 , AVL3 512 , AVL4 1024", &FINE);
    for name in ["a.txt", "b.txt"] {
        collected.file(name);
        for item in underbar_listing::read(text.as_bytes()) {
            collected.take(item);
        }
    }
    let all = advise_listing(&collected);
    let said = all.iter().find(|one| one.rule == "tpf-avl-size").expect("said");
    assert!(said.certainty.starts_with("low: 1 report,"), "{}", said.certainty);
    let words = "the same report as that of a.txt:1: it counts once".to_owned();
    assert!(collected.unread.contains(&(1, 1, words)), "{:?}", collected.unread);
}

#[test]
fn values_and_reports_are_held_against_each_other() {
    let text = requests("AVL1 128 , AVL2 256 , AVL3 512 , AVL4 1024", &FINE);
    let values = "\nPEH=10 HAVL1=600 HAVL2=1 HAVL3=1 HAVL4=1 HAVSZ4=2048\n";
    let all = advise_listing(&listing(&format!("{text}{values}")));
    let of = |rule: &str| all.iter().find(|one| one.rule == rule).expect("said");
    let now = &of("tpf-avl-size").now;
    assert!(now.ends_with("HAVSZ4=1024; HAVSZ4=2048 elsewhere contradicts that"), "{now}");
    let reason = &of("tpf-avl-count").reason;
    assert!(reason.contains("These buffers take 79616 bytes, more than PEH=10"), "{reason}");
}

#[test]
fn sizes_within_a_class_are_not_replaced_on_a_guess() {
    // All requests of 33 to 64 may be of 40: the report does not show it.
    let text = requests("AVL1 40 , AVL2 128 , AVL3 256 , AVL4 512", &FINE);
    check("tpf-avl-size", &text, Some((Kind::NoChange, "")));
}

#[test]
fn five_lists_stay_five_and_spare_lists_are_left() {
    let five = requests("AVL1 64 , AVL2 256 , AVL3 1024 , AVL4 2048 , AVL5 4096", &FINE);
    check("tpf-avl-size", &five, Some((Kind::Lower, "HAVSZ1=32 HAVSZ2=64 HAVSZ3=128 HAVSZ4=256 HAVSZ5=512")));
    let few = requests("A", &[(32, 0), (64, 5_000), (128, 100)]);
    let said = check("tpf-avl-size", &few, Some((Kind::Change, "HAVSZ1=64 HAVSZ2=128"))).expect("said");
    assert!(said.reason.contains("not needed for them: 2;"), "{}", said.reason);
}

#[test]
fn nothing_is_chosen_by_a_part_of_the_requests() {
    let text = requests("A", &FINE);
    let cut = &text[..text.find("         128").expect("a row")];
    let said = check("tpf-avl-size", cut, Some((Kind::NoAdvice, ""))).expect("said");
    assert!(said.reason.contains("rows that are not here"), "{}", said.reason);
    check("tpf-avl-size", &requests("A", &[(32, 50)]), Some((Kind::NoAdvice, "")));
    check("tpf-avl-size", &text[..text.find("        32").expect("a row")], None);
}

#[test]
fn what_contradicts_itself_is_not_used() {
    let text = requests("A", &FINE).replace("       41000 ", "        4100 ");
    assert!(check("tpf-avl-size", &text, Some((Kind::NoAdvice, ""))).is_some());
    let mixed = requests("A", &FINE);
    let rows = mixed.split_once("TOTAL\n").expect("rows").1;
    check("tpf-sound", &format!("{mixed}{rows}"), Some((Kind::NoAdvice, "")));
    check("tpf-avl-size", &format!("{mixed}{rows}"), None);
}

#[test]
fn coarse_reports_say_so_and_give_way_to_finer_ones() {
    let coarse = requests("A", &[(128, 9_000), (256, 40), (384, 7)]);
    check("tpf-fine-classes", &coarse, Some((Kind::NoAdvice, "")));
    check("tpf-avl-size", &coarse, Some((Kind::NoAdvice, "")));
    assert_eq!(simulate(&listing(&coarse))[0].arms[0].name, "tried");
    let known =
        requests("AVL1 64 , AVL2 512 , AVL3 1024 , AVL4 2048", &[(128, 9_000), (256, 8_000), (384, 7)]);
    check("tpf-avl-size", &known, Some((Kind::Change, "HAVSZ1=128 HAVSZ2=256 HAVSZ3=384")));
    let both = format!("{coarse}{}", requests("A", &FINE));
    check("tpf-fine-classes", &both, None);
    check("tpf-avl-size", &both, Some((Kind::NoAdvice, "")));
    check("tpf-fine-classes", &requests("A", &FINE), None);
}

#[test]
fn sets_are_populations_of_their_own() {
    let display = "DECB0125I 10.15.07 COUNT OF ECB HEAP AVAILABLE LIST REQUESTS FILLED FOR\n\
                   ECB 1A2B3000 MAIN THREAD ECB 1A2C4000\nSETNAME = JVM\n\
                   ECB HEAP AVL LIST BUFFER SIZES: AVL1 48 , AVL2 96 , AVL3 192 , AVL4 384                   \n\
                   ------------------------------------------------------------------------------------------\n";
    let said = check("tpf-population", display, Some((Kind::NoAdvice, ""))).expect("said");
    assert_eq!(
        (said.target.as_str(), said.now.as_str()),
        ("z/TPF, set JVM", "AVL1 48, AVL2 96, AVL3 192, AVL4 384")
    );
    let said = check(
        "tpf-avl-size",
        &format!("{display}{}", requests("A", &FINE)),
        Some((Kind::Change, "HAVSZ1=64 HAVSZ2=128 HAVSZ3=256 HAVSZ4=512")),
    );
    assert!(said.is_some_and(|said| said.now.contains("not known")));
}

#[test]
fn the_area_holds_ninety_five_of_a_hundred() {
    let lower = usage(&[(0, 60), (24, 20), (32, 16), (40, 2), (48, 1)], 1, &[(56, 0), (64, 1)]);
    let said = check("tpf-preallocated", &lower, Some((Kind::Lower, "PEH=8"))).expect("said");
    assert!(
        said.effect.starts_with("ECBs that exceed the area 1 -> 4 of 100; 16 KB less"),
        "{}",
        said.effect
    );
    let raise = usage(&[(0, 60), (24, 10), (32, 10)], 20, &[(40, 10), (48, 7), (56, 3)]);
    check("tpf-preallocated", &raise, Some((Kind::Raise, "PEH=12")));
    let right = usage(&[(0, 60), (24, 30), (32, 8)], 2, &[(40, 2)]);
    check("tpf-preallocated", &right, Some((Kind::NoChange, "")));
    let few = usage(&[(0, 5), (24, 1), (32, 3)], 1, &[(40, 1)]);
    let said = check("tpf-preallocated", &few, Some((Kind::NoAdvice, ""))).expect("said");
    assert!(said.reason.contains("32 KB hold 90 % of them, 40 KB hold 95 % of them"), "{}", said.reason);
    let said =
        check("tpf-preallocated", &format!("PEH=50\n{right}"), Some((Kind::NoChange, ""))).expect("said");
    assert!(said.now.contains("PEH=50"), "{}", said.now);
}

#[test]
fn reports_that_do_not_fit_each_other_are_not_joined() {
    let other = usage(&[(0, 60), (24, 10), (32, 10)], 20, &[(40, 10), (48, 7)]);
    let said = check("tpf-preallocated", &other, Some((Kind::NoAdvice, ""))).expect("said");
    assert!(said.reason.contains("it is not used"), "{}", said.reason);
    let text = usage(&[(0, 60), (24, 10), (32, 10)], 20, &[(40, 10), (48, 7), (56, 3)]);
    let cut = &text[..text.find("  > 32KB").expect("the last row")];
    check("tpf-preallocated", cut, Some((Kind::NoAdvice, "")));
}

#[test]
fn numbers_of_buffers_are_checked_and_left() {
    let said = check(
        "tpf-avl-count",
        "HAVL1=100 HAVL2=60 HAVL3=0 HAVL4=0\nHAVSZ1=64 HAVSZ2=4096 HAVSZ3=8192 HAVSZ4=16384\nPEH=20\n",
        Some((Kind::NoAdvice, "")),
    )
    .expect("said");
    assert!(said.reason.contains("160 buffers") && said.reason.contains("252160 bytes"), "{}", said.reason);
    check("tpf-avl-count", "SEE YOU\n", None);
}

#[test]
fn what_has_no_rule_is_shown_and_sets_nothing() {
    let pairs = "COLLECTION_ID,ECB_SVM,INTEGER_METRICS\nC1,1A000,{\"EHAVL1\":4,\"FIND\":1}\nC1,1A000,{\"EHAVL1\":9,\"FIND\":7}\n";
    let said = check("tpf-read-only", pairs, Some((Kind::NoAdvice, ""))).expect("said");
    assert!(said.reason.starts_with("Changes within ECBs: EHAVL1 5."), "{}", said.reason);
    let heap = "STAT0126I 10.16.00 SYSTEM HEAP STORAGE OWNER DISPLAY\n       31-BIT HEAP   64-BIT HEAP\n\
                HEAP STORAGE IN USE (KB)  620  20480\nMAX STORAGE IN USE  (KB)  6900  40960\n";
    let said = check("tpf-read-only", heap, Some((Kind::NoAdvice, ""))).expect("said");
    assert_eq!(said.now, "system heap in use: 31-bit 620 KB, 64-bit 20,480 KB");
    assert!(
        said.reason.contains("In use now of the most: 31-bit 8.99 %, 64-bit 50.00 %."),
        "{}",
        said.reason
    );
    let whole = format!("{heap}SIZE OF HEAP  (KB)  13800  81920\n");
    let said = check("tpf-read-only", &whole, Some((Kind::NoAdvice, ""))).expect("said");
    let words = "the least that its size has to hold. Of its size: 31-bit 50.00 %, 64-bit 50.00 %.";
    assert!(said.reason.contains(words), "{}", said.reason);
}

#[test]
fn compare_and_swap_is_contention_where_it_is_much() {
    let much = profile(&[("LG", 40), ("CSG", 900), ("BRC", 60)]);
    let said = check("tpf-contention", &much, Some((Kind::Change, ""))).expect("said");
    assert!(said.reason.contains("simple_lock") && said.reason.contains("90.0 %"), "{said:?}");
    assert!(said.reason.contains("displacement 46"), "{}", said.reason);
    let system = much.replace("IPAY - queue.goff", "CFVS - slockc.goff");
    assert!(
        check("tpf-contention", &system, Some((Kind::Change, "")))
            .is_some_and(|said| said.reason.contains("apply APAR PJ46800"))
    );
    check("tpf-contention", &profile(&[("LG", 4_000), ("CS", 90), ("BRC", 60)]), Some((Kind::NoChange, "")));
    check(
        "tpf-contention",
        &profile(&[("TM", 80), ("CGHSI", 90), ("BRCTG", 60)]),
        Some((Kind::NoChange, "")),
    );
    check("tpf-contention", &profile(&[("CS", 9)]), Some((Kind::NoAdvice, "")));
    // Closed up, and nothing after it: the advice does not depend on later text.
    let closed = "SSU PROG DISP INST COUNT\nBSS CABC - mylock.goff\nP 0000000000000010 CS 5200\n\
                  P 0000000000000014 BRC 3000\nP 0000000000000020 LG 1100\n";
    let alone = check("tpf-contention", closed, Some((Kind::Change, "")));
    let another = format!("{closed}{}", profile(&[("LG", 4_000), ("MVC", 90)]));
    assert_eq!(check("tpf-contention", &another, Some((Kind::Change, ""))), alone);
    check("tpf-contention", &profile(&[("LG", 4_000)]), None);
}

#[test]
fn a_count_that_may_be_cut_makes_no_contention() {
    let text = "SSU PROG DISP INST COUNT\nBSS CFVS - slockc.goff\nP 0000000000000090 CSG 500\nP 00000000000000A0 LG 8 1037\n";
    let text = text.replace("LG 8 1037", "LGHI 103").replace("P 00", &format!("{}P 00", " ".repeat(60)));
    check("tpf-contention", &text, Some((Kind::NoAdvice, "")));
}

#[test]
fn what_if_serves_the_same_requests_twice() {
    let all = simulate(&listing(&requests("AVL1 128 , AVL2 256 , AVL3 512 , AVL4 1024", &FINE)));
    let [one] = &all[..] else { panic!("one population") };
    let [now, proposed] = &one.arms[..] else { panic!("both") };
    assert_eq!((one.requests, now.together.requests.least), (44_904, 44_904));
    assert_eq!(proposed.beyond.requests.most, 4);
    // 700 of 32 and 41,000 of 64 in buffers of 128; then 700 of 32 in buffers of 64.
    assert_eq!(now.together.wasted.least, 700 * 96 + 41_000 * 64);
    assert_eq!(proposed.together.wasted.least, 700 * 32);
    assert!(one.to_string().contains("44,904 requests"), "{one}");
    // A whole table: shares refer to its rows, though rounded percentages would allow some more.
    let rows = "32 120,000 24.00%\n64 180,000 36.00%\n128 150,000 30.00%\n512 49,000 9.80%\n1024 1,000 0.20%\n> 1024 0 0.00%\n";
    let head = "TPF ECB HEAP REQUEST SIZE REPORT\nBUFFER SIZES IN BYTES: AVL1 64 , AVL2 256 , AVL3 1024 , AVL4 4096\n";
    let whole = format!("{head}CLASS UPPER FREQUENCY PERCENT\n{rows}");
    let shown = simulate(&listing(&whole))[0].to_string();
    for words in [", 500,000 requests", " 60.00 %", "100.00 %", "rounded percentages allow: 69."] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let said =
        check("tpf-avl-size", &whole, Some((Kind::Lower, "HAVSZ1=64 HAVSZ2=128 HAVSZ3=512 HAVSZ4=1024")))
            .expect("said");
    assert!(
        said.certainty
            .ends_with("500,000 requests; rounded percentages allow up to 69 more in rows that are not here"),
        "{}",
        said.certainty
    );
    assert!(simulate(&listing("nothing")).is_empty());
    let own = tried(&listing(&requests("A", &FINE)), "havsz1=64, HAVSZ2=1024").expect("sizes");
    let [only] = &own[0].arms[..] else { panic!("one") };
    assert_eq!((only.name, only.rows.len(), only.beyond.requests.most), ("tried", 2, 0));
    for bad in ["HAVSZ1=64,HAVSZ2=64", "HAVSZ2=64", "HAVSZ1=6O", "HAVSZ1=64 and more"] {
        assert!(tried(&listing(""), bad).is_err_and(|why| why.contains("is needed")), "{bad}");
    }
}

#[test]
fn values_are_no_command() {
    let all = advise_listing(&listing(&requests("A", &FINE)));
    let text = values_text(&all).expect("values");
    assert_eq!(
        text.lines().skip(1).collect::<Vec<_>>(),
        ["HAVSZ1=64", "HAVSZ2=128", "HAVSZ3=256", "HAVSZ4=512"]
    );
    assert!(text.contains("HELP") && !text.contains("ZCTKA"));
    // They are read back as the present ones.
    let again = format!("{text}{}", requests("A", &FINE));
    check("tpf-avl-size", &again, Some((Kind::NoChange, "")));
}
