//! Each check on texts made for it, and on texts that are right.

use super::*;
use crate::check_texts;

fn check(text: &str, expect: &[(&str, &str)]) {
    let mut collected = Collected::default();
    collected.file("job.txt");
    for item in underbar_listing::read(text.as_bytes()) {
        collected.take(item);
    }
    let found = check_texts(&collected);
    assert_eq!(found.len(), expect.len(), "{found:#?}");
    for (one, (rule, words)) in found.iter().zip(expect) {
        assert_eq!(one.rule, *rule, "{found:#?}");
        assert!(one.reason.contains(words), "{}", one.reason);
        assert!(one.evidence.iter().all(|one| one.line().is_some_and(|line| line.line > 0)));
    }
}

#[test]
fn texts_that_cannot_be_read_as_they_stand() {
    check("export _CEE_RUNOPTS=\"HEAP(1OM,1M)\"\n", &[("le-opt-text", "letter O")]);
    check("export _CEE_RUNOPTS=\"HAEP(1M,1M)\"\n", &[("le-opt-text", "HEAP")]);
    check("export _CEE_RUNOPT=\"HEAP(1M,1M)\"\n", &[("le-opt-text", "_CEE_RUNOPTS")]);
    check("//CEEOPTS DD *\nHEAP(1M,KEEP)\n/*\n", &[("le-opt-text", "KEEP")]);
    check("//CEEOPTS DD *\nHEAP(1M,1M,ANY,KEEP),RPTSTG(ON)\n/*\n", &[]);
}

/// The text before the words of each mistake: the line's number, and the faulty text with its column.
fn places(text: &str) -> Vec<(u64, String)> {
    let mut collected = Collected::default();
    collected.file("job.txt");
    for item in underbar_listing::read(text.as_bytes()) {
        collected.take(item);
    }
    let line = |found: Advice| found.evidence[0].line().map(|line| (line.line, line.text.clone()));
    check_texts(&collected).into_iter().filter_map(line).collect()
}

#[test]
fn an_options_report_that_was_cut_lacks_nothing() {
    let report = |rows: &str| {
        format!(
            "Options Report for Enclave main 11/20/26 10:15:07 AM\nLanguage Environment V03 R01.00\n\nLAST WHERE SET\
             {:17}OPTION\n{}\nProgrammer default               ALL31(OFF)\n{rows}",
            "",
            "-".repeat(79)
        )
    };
    let stack = |text: &str| report(&format!("IBM-supplied default             {text}\n"));
    check(&stack("STACK(131072,131072,ANYWHERE,KEEP,524288,131072)"), &[("le-opt-together", "STACK BELOW")]);
    check(&report(""), &[]);
    check(&stack("STACK(131072,131072,"), &[]);
    check(&stack("STACK(131072,131072,ANYW"), &[]);
}

#[test]
fn a_macro_goes_on_with_a_comma_and_a_mark() {
    let line = |text: &str| format!("{text:<71}X\n");
    let first = line("         CEEXOPT HEAP=(48K,16K)");
    let text = format!("{first}               ALL31=(OFF)\n         END\n");
    check(&text, &[("le-opt-text", "does not end in a comma")]);
    assert_eq!(places(&text), [(2, "ALL31=(OFF) (column 16)".to_owned())]);
    let text = "         CEEXOPT HEAP=(48K,16K),\n               STACK=(96K,128K)\n         END\n";
    check(text, &[("le-opt-text", "no mark in column 72")]);
    let first = line("         CEEXOPT HEAP=(48K,16K),");
    check(&format!("{first}               RPTSTG=(ON)\n         END\n"), &[]);
}

#[test]
fn columns_are_those_of_the_line() {
    let first = format!("{:<71}X\n", "         CEEXOPT HEAP=(48K,16K),");
    let text = format!("{first}               STAKC=(96K)\n         END\n");
    assert_eq!(places(&text), [(2, "STAKC=(96K) (column 16)".to_owned())]);
    assert_eq!(places("HEAP(4OOK,96K)\n"), [(1, "HEAP(4OOK,96K) (column 7)".to_owned())]);
    assert_eq!(places("HEAP(see below)\n"), []);
}

#[test]
fn mistakes_in_parm_are_named() {
    let parm = |value: &str| format!("//GO EXEC PGM=PAY,PARM='{value}'\n");
    check(&parm("/HEAP(48K,16K),STACK(2OOK)"), &[("le-opt-text", "letter O")]);
    check(&parm("/HEEP(48K,16K)"), &[("le-opt-text", "HEAP")]);
    check(&parm("/HEAP(48K,16K,RPTSTG(ON)"), &[("le-opt-text", "")]);
    check(&parm("STACK(BELOW)/12"), &[("le-opt-text", "BELOW")]);
    for other in ["2026-11-20/X", "/PAYDAY", "NODECK,LIST(SHORT)", "/SELECT(7)"] {
        check(&parm(other), &[]);
    }
}

#[test]
fn values_that_cannot_hold_together() {
    check("_CEE_RUNOPTS='ALL31(OFF) STACK(,,ANY)'\n", &[("le-opt-together", "needs STACK BELOW.")]);
    check("_CEE_RUNOPTS='ALL31(OFF)'\n", &[("le-opt-together", "not set here")]);
    check("_CEE_RUNOPTS='ALL31(OFF) STACK(,,BELOW)'\n", &[]);
    check("_CEE_RUNOPTS='ALL31(ON) STACK(,,BELOW)'\n", &[("le-opt-together", "nothing needs it")]);
    check("_CEE_RUNOPTS='THREADSTACK(OFF,1M)'\n", &[("le-opt-together", "are ignored")]);
    check("_CEE_RUNOPTS='BELOWHEAP(6M) LIBSTACK(3M)'\n", &[("le-opt-together", "9M of initial sizes")]);
}

#[test]
fn stack_frames_that_are_filled() {
    check("_CEE_RUNOPTS='STORAGE(NONE,NONE,00)'\n", &[("le-opt-fill", "filled with 00")]);
    check("_CEE_RUNOPTS='STORAGE(00,NONE,CLEAR)'\n", &[]);
    check("_CEE_RUNOPTS='STORAGE(00)'\n", &[]);
}

#[test]
fn the_other_addressing_mode() {
    let report = "Storage Report for Enclave main x\n\n    STACK statistics:\n      Initial size: 4096\nEnd of Storage Report\n";
    check(&format!("_CEE_RUNOPTS='HEAP64(4M)'\n{report}"), &[("le-opt-mode", "CEE3611I")]);
    let report = report.replace("STACK", "STACK64");
    check(&format!("_CEE_RUNOPTS='HEAP64(4M)'\n{report}"), &[]);
    check(&format!("_CEE_RUNOPTS='HEAP(4M)'\n{report}"), &[("le-opt-mode", "64-bit programs")]);
}

#[test]
fn what_is_not_in_force() {
    let member = "CEEDOPT(HEAP((32K,32K),NONOVR))\n";
    check(&format!("{member}_CEE_RUNOPTS='HEAP(4M)'\n"), &[("le-opt-nonovr", "are ignored")]);
    check(&format!("{member}_CEE_RUNOPTS='HEAP(32768)'\n"), &[]);
    let report = "Options Report for Enclave main 11/20/26\n\nDD:CEEOPTS                       HEAP(65536,32768,ANYWHERE,KEEP,8192,4096)\n";
    check(&format!("_CEE_RUNOPTS='HEAP(64K,32K,ANY)'\n{report}"), &[]);
    check(
        &format!("_CEE_RUNOPTS='HEAP(1M)'\n{report}"),
        &[("le-opt-where", "HEAP(65536,32768,ANYWHERE,KEEP,8192,4096), last set by DD:CEEOPTS")],
    );
}

#[test]
fn sizes_beyond_the_region() {
    let job = "//GO EXEC PGM=PAY,REGION=128M\n";
    check(&format!("{job}_CEE_RUNOPTS='HEAP(256M)'\n"), &[("le-opt-region", "leaves 128M")]);
    check(&format!("{job}_CEE_RUNOPTS='HEAP(64M)'\n"), &[]);
    // It may belong to the other step.
    let other = "//LIST EXEC PGM=LIST,REGION=300M\n";
    check(&format!("{job}{other}_CEE_RUNOPTS='HEAP(256M)'\n"), &[]);
    check(&format!("{job}{other}_CEE_RUNOPTS='HEAP(512M)'\n"), &[("le-opt-region", "leaves 300M")]);
    check(&format!("{job}{}_CEE_RUNOPTS='HEAP(512M)'\n", other.replace("300M", "0M")), &[]);
}

#[test]
fn values_that_an_option_cannot_have() {
    let text = |options: &str| format!("//CEEOPTS DD *\n{options}\n/*\n");
    let check = |options: &str, expect: &[&str]| {
        let expect: Vec<_> = expect.iter().map(|words| ("le-opt-values", *words)).collect();
        self::check(&text(options), &expect);
    };
    check("HEAP(3G,32K)", &["3G of HEAP cannot be had: below the bar"]);
    check("HEAP(2048M,32K)", &["2048M of HEAP cannot be had"]);
    check("HEAP(1G,32K)", &["write 1024M"]);
    check("HEAP(32K,AUTO)", &["AUTO is no size of HEAP"]);
    check("HEAP64(1G,1G)", &["write 1024M"]);
    check("HEAP64(1G,1M,KEEP,4G)", &["write 1024M", "4G of HEAP64 cannot be had"]);
    check("HEAPPOOLS(ON,8,10,36,10)", &["36 is no size of a cell"]);
    check("HEAPPOOLS(ON,256,10,32,10)", &["cells of 32 stand behind those of 256"]);
    check("HEAPPOOLS(ON,(8,2),10,32,10,0,10),HEAP(32K,32K)", &[]);
    check("STACK(-4K,128K),HEAP64(1M,1M,KEEP,32768,32K)", &[]);
    // A text that Language Environment does not obey, and that is no misspelt option either.
    check("HEAP(32K,32K),NOEXECOPS,NONIPTSTACK(4K,4K,BELOW,KEEP),PLIST(OS)", &[]);
    self::check(&text("HEAP(32K,32K),NONIPTSTAK(4K)"), &[("le-opt-text", "NONIPTSTAK")]);
}

#[test]
fn sizes_that_cics_does_not_grant() {
    let words = "1536M of HEAP: under CICS a size is at most 1024M";
    check("CEECOPT(HEAP(1536M,1M),STACK(1024M,4080))\n", &[("le-opt-cics", words)]);
    check("CEEDOPT(HEAP(1536M,1M),STACK(1024M,4080))\n", &[]);
    let options = "//CEEOPTS DD *\nHEAP(4M,1536M),ANYHEAP(2000M,4080)\n/*\n";
    let region = format!("//CICS EXEC PGM=DFHSIP,REGION=0M\n{options}");
    check(&region, &[("le-opt-cics", words), ("le-opt-cics", "2000M of ANYHEAP")]);
    check(options, &[]);
    let mut collected = Collected::default();
    for name in ["job1.txt", "job2.txt"] {
        collected.file(name);
        underbar_listing::read(region.as_bytes()).into_iter().for_each(|item| collected.take(item));
    }
    let file = |found: &Advice| found.evidence[1].line().map(|line| line.file.clone());
    let files: Vec<_> = check_texts(&collected).iter().filter_map(file).collect();
    assert_eq!(files, ["job1.txt", "job1.txt", "job2.txt", "job2.txt"]);
}

#[test]
fn letters_among_digits_in_options_reports_are_named() {
    let report = |value: &str| {
        format!(
            "Options Report for Enclave PAY 11/20/26\n\nLAST WHERE SET                 OPTION\n{}\nInvocation command               \
             HEAP({value},32768,ANYWHERE,KEEP,8192,4096)\n",
            "-".repeat(79)
        )
    };
    check(&report("419430O"), &[("le-opt-text", "419430O of HEAP: a letter stands")]);
    check(&report("4194304"), &[]);
}

#[test]
fn what_is_right_is_not_complained_of() {
    check("//GO EXEC PGM=CPGM,PARM='HEAP(1M,1M)/in/file'\n", &[]);
    let items = underbar_listing::read(b"//GO EXEC PGM=CPGM,PARM='HEAP(1M,1M)/in/file'\n");
    assert!(items.iter().any(|item| matches!(item, underbar_listing::Item::Text(_))), "{items:?}");
    check("CEEROPT(ALL)\nCELQROPT(NONE)\nCEEDOPT(HEAP(32K,32K,ANYWHERE,KEEP,8K,4K))\n", &[]);
    // A value that is no fill byte does not fill.
    check("         CEEXOPT STORAGE=(00,NONE,0O,0K)\n         END\n", &[("le-opt-text", "0O is no fill")]);
    check("//CEEOPTS DD *\nSTORAGE(,,'x')\n/*\n", &[("le-opt-fill", "filled with 'x'")]);
}

#[test]
fn sizes_above_the_bar_are_in_m() {
    check(
        "export _CEE_RUNOPTS=\"HEAP64(512K,1M)\"\n",
        &[("le-opt-values", "sizes above the bar are nM; write 1M")],
    );
    check("export _CEE_RUNOPTS=\"HEAP64(1M,1M,KEEP,32K,32K)\"\n", &[]);
    let row = "PARMLIB(CEEPRM00)                HEAP64(1M,1M,KEEP,OK,32K,KEEP,4K,4K,FREE)\n";
    let report =
        format!("Options Report for Enclave main 11/20/26\n\nLAST WHERE SET                 OPTION\n{row}");
    check(&report, &[("le-opt-text", "OK of HEAP64: a letter stands where a digit belongs")]);
}

#[test]
fn the_31_bit_part_of_64_bit_heaps_is_in_the_region() {
    let text = |size: &str| {
        format!("//GO EXEC PGM=PAY,REGION=64M\n//CEEOPTS DD *\nHEAP64(1M,1M,KEEP,{size},1M,KEEP)\n/*\n")
    };
    check(
        &text("64M"),
        &[("le-opt-region", "of its 31-bit part of 64M does not fit: the region leaves 64M")],
    );
    check(&text("8M"), &[]);
}
