//! The context of the figures: options in the listings, CICS, damaged lines, names, mixed reports; and rules of one line.

use super::*;

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
fn segments_that_come_and_go_are_kept() {
    check(
        &heap("main", 32768, 32768, 819_982_896, [70_002, 69_999, 39_122, 39_120]),
        Some("HEAP(100M,100M,,KEEP)"),
    );
    check(&heap("main", 32768, 32768, 30_000, [70, 70, 30, 2]), None);
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
fn free_stays_where_requests_are_larger_than_the_increment() {
    let text = heap("main", 32768, 32768, 900 << 20, [4_000, 3_990, 3_999, 3_990]);
    let all = check(&text, Some("HEAP(116M,116M)"));
    assert!(
        all.iter().any(|advice| advice.rule == "le-keep-free" && advice.reason.contains("FREE is right"))
    );
    let unset =
        check(&heap("main", 0, 0, 900 << 20, [4_000, 3_990, 3_999, 3_990]), Some("HEAP(116M,116M,,KEEP)"));
    assert!(!unset.iter().any(|advice| advice.reason.contains("increment of 0")), "{unset:#?}");
    let set = heap("main", 32768, 32768, 819_982_896, [70_002, 69_999, 39_122, 39_120]);
    let all = check(&format!("HEAP(,,,KEEP)\n{set}"), Some("HEAP(100M,100M)"));
    assert!(all.iter().any(|advice| advice.kind == Kind::NoChange && advice.reason.contains("KEEP is set")));
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
fn cics_is_known_by_its_increments() {
    let text = heap("main", 4096, 4080, 300_000, [900, 100, 80, 0]);
    let all = check(&text, Some("HEAP(336K,86000)"));
    assert!(all[0].risk.starts_with("CICS"), "{}", all[0].risk);
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
        assert!(all[0].evidence.iter().any(|at| at.line().is_some_and(|line| line.line == 1)), "{all:#?}");
    }
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
