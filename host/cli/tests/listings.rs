//! Listings of Language Environment through the command: advice, its forms, comparison.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use common::{Folder, bad, good, run};
use underbar_mainframe::ebcdic::CodePage;

fn report(segments: u64, initial: u64) -> String {
    format!(
        "Storage Report for Enclave PAY1 11/20/26\nLanguage Environment V03 R01.00\n\n    HEAP statistics:\n      Initial size: \
         {initial}\n      Increment size: 32768\n      Total heap storage used (sugg. initial size): 4194304\n      Successful \
         Get Heap requests: 9000\n      Successful Free Heap requests: 8000\n      Number of segments allocated: {segments}\n      \
         Number of segments freed: 0\nEnd of Storage Report\n- STEPNAME PROCSTEP PGMNAME CC USED CPU TIME ELAPSED TIME EXCP\n\
         - S1 GO PAY1 00 64K 0:00:02.00 0:00:09.00 500\n"
    )
}

#[test]
fn advice_says_what_to_set_why_and_on_which_line() {
    let folder = Folder::new("listing-advice");
    let job = folder.file("job", report(128, 32768));
    let text = good(&["advise", &job]);
    assert!(text.contains("HEAP(32K,32K) -> HEAP(4608K,1152K)"), "{text}");
    assert!(
        text.contains(&format!("{job}:7: Total heap storage used (sugg. initial size): 4194304")),
        "{text}"
    );
    assert!(text.contains("one run each, no interval") && text.contains("one run only"));
    assert!(text.contains("S1 GO PAY1: CPU 2.00 s, elapsed 9.00 s, EXCP 500"), "{text}");
    for (form, expected) in [
        ("parm", "PARM='HEAP(4608K,1152K)/'"),
        ("_cee_runopts", "export _CEE_RUNOPTS=\"HEAP(4608K,1152K)\""),
        ("ceeuopt", "CEEXOPT HEAP=(4608K,1152K)"),
        ("values", "HEAP.init=4608K\nHEAP.incr=1152K"),
        ("underbar", "For PAY1:\nHEAP(4608K,1152K)"),
    ] {
        assert!(good(&["advise", "--as", form, &job]).contains(expected), "{form}");
    }
    let json = good(&["advise", "--json", &job]);
    for key in ["underbar.listing-advice/1", "\"option\":\"HEAP(4608K,1152K)\"", "\"lint\":[]", "\"cpu\":200"]
    {
        assert!(json.contains(key), "{key}: {json}");
    }
    assert!(good(&["advise", "--html", &job]).starts_with("<!DOCTYPE html>"));
    good(&["advise", "-o", &folder.name("ceeopts"), &job]);
    assert_eq!(folder.read("ceeopts"), "HEAP(4608K,1152K)\n");
    let small = folder.file("small", report(1, 4_718_592));
    let (code, _, error) = run(&["advise", "-o", &folder.name("none"), &small]);
    assert!(code == 2 && error.contains("nothing to set"), "{code} {error}");
}

#[test]
fn values_are_tried_before_anything_is_changed() {
    let folder = Folder::new("listing-simulate");
    let job = folder.file("job", report(128, 32768));
    let text = good(&["advise", "--simulate", "HEAP(5M,1M)", &job]);
    assert!(text.contains("HEAP(5M,1M)") && text.contains("the report shows 128 segments"), "{text}");
    assert!(bad(2, &["advise", "--simulate", "STACK(5M)", &job]).contains("--simulate: "));
}

#[test]
fn listings_are_compared_figure_by_figure() {
    let folder = Folder::new("listing-diff");
    let (old, new) = (folder.file("old", report(128, 32768)), folder.file("new", report(1, 4718592)));
    let text = good(&["diff", &old, &new]);
    assert!(
        text.contains("Number of segments allocated                           128            1"),
        "{text}"
    );
    assert!(text.contains("one run each, no interval") && text.contains("STEP TIMINGS"), "{text}");
    assert!(good(&["diff", "--json", &old, &new]).contains("underbar.listing-diff/1"));
    assert!(
        bad(2, &["diff", "--fail-on", "heap.used_peak > 1", &old, &new])
            .contains("gates are for saved reports")
    );
    let other = report(1, 4096).replace("PAY1", "OTHER2");
    let two = folder.file("two", format!("{other}{}", other.replace("OTHER2", "THIRD3")));
    assert!(bad(2, &["diff", &old, &two]).contains("no program and no step in common"));
}

#[test]
fn listings_of_other_systems_are_compared_too() {
    let folder = Folder::new("listing-diff-others");
    let profile = |rows: &str| format!("SSU PROG DISP INST COUNT\nHPN IPAY - queue.goff\n{rows}");
    let old = folder.file("old", profile("P 0000000000000046 CSG 1900\nP 0000000000000052 BRC 100 \n"));
    let new = folder.file("new", profile("P 0000000000000046 TM 80 50\nP 0000000000000052 BRC 40 \n"));
    let text = good(&["diff", &old, &new]);
    assert!(
        text.contains("z/TPF: instructions of IPAY - queue.goff") && text.contains("no interval"),
        "{text}"
    );
    assert!(text.contains("Of these compare-and-swap"), "{text}");
    let json = good(&["diff", "--json", &old, &new]);
    assert!(json.contains("\"subjects\":[{") && json.contains("percent_hundredths"), "{json}");
    let natural = folder.file("natural", "Records read 700\nNumber of switches into SRB mode 70\n");
    assert!(good(&["diff", &natural, &natural]).contains("No figure changed."));
    assert!(bad(2, &["diff", &natural, &new]).contains("nothing else that is compared"));
}

#[test]
fn what_has_nothing_of_a_form_says_so() {
    let folder = Folder::new("listing-forms");
    let job = folder.file("job", report(128, 32768));
    let text = good(&["advise", "--as", "natparm", &job]);
    assert!(text.contains("For PAY1: no setting can be written in the form natparm"), "{text}");
    assert!(!text.contains("Nothing to set.") && !text.contains("For PAY1:\n"), "{text}");
    let (code, _, error) = run(&["advise", "--as", "natparm", "-o", &folder.name("none"), &job]);
    assert!(code == 2 && error.contains("in the form natparm"), "{code} {error}");
    assert!(good(&["advise", "--json", "--as", "natparm", &job]).contains("\"not_in_this_form\":[\"PAY1\"]"));
}

#[test]
fn what_cannot_be_tried_says_so() {
    let folder = Folder::new("listing-untried");
    let job = folder.file("job", report(128, 32768));
    for (values, why) in [
        ("HEAPPOOLS(ON,16,10)", "PAY1: it cannot be said: its report has no requests by ranges of sizes"),
        ("AVL", "there is no request size report of z/TPF"),
    ] {
        let text = good(&["advise", "--simulate", values, &job]);
        assert!(text.contains(why), "{text}");
    }
    assert!(bad(2, &["advise", "--simulate", "HEAP(3G)", &job]).contains("below the bar"));
    let above = good(&["advise", "--simulate", "HEAP(64M)", &job]);
    assert!(above.contains("region unknown"), "{above}");
}

#[test]
fn reports_of_other_systems_have_ends_and_files_of_their_own() {
    let folder = Folder::new("listing-ztpf");
    let unread = "ECBM0010I 10.23.01 ECB MONITOR DISPLAY\n";
    let text = good(&["advise", &folder.file("unread", unread)]);
    assert!(
        text.starts_with("The files hold nothing to base advice on.") && !text.contains("RPTSTG"),
        "{text}"
    );
    let requests = folder.file("requests", include_str!("../../listing/tests/listings/ztpf-requests.txt"));
    good(&["advise", "-o", &folder.name("values"), &requests]);
    let values = folder.read("values");
    assert!(values.lines().all(|line| line.starts_with("HAVSZ") || line.starts_with("PEH")), "{values}");
    assert!(!values.is_empty());
    let other = good(&["advise", "--as", "ceeuopt", &requests]);
    assert!(
        other.contains("For z/TPF: no setting can be written in the form ceeuopt; --as values"),
        "{other}"
    );
    assert!(!other.contains("\nHAVSZ1="), "{other}");
    let none = folder.name("none");
    let (code, _, error) = run(&["advise", "--as", "ceeuopt", "-o", &none, &requests]);
    assert!(code == 2 && error.contains("in the form ceeuopt; use --as values"), "{code} {error}");
    assert!(!std::path::Path::new(&none).exists());
    assert!(good(&["advise", "--as", "values", &requests]).contains("\nHAVSZ1="));
    for (name, rule) in [("HAVSZ1", "tpf-avl-size"), ("THSIZE", "natural-thread-size")] {
        assert!(good(&["explain", name]).contains(rule), "{name}");
    }
}

/// Text in the code page that z/OS prints in.
fn ebcdic(text: &str) -> Vec<u8> {
    CodePage::numbered(1047).and_then(|page| page.encode(text)).expect("a character of it")
}

/// A file of RECFM=V, transferred in binary: EBCDIC, and the length before each record.
#[test]
fn records_of_variable_length_are_read() {
    let folder = Folder::new("listing-records");
    let record = |line: &str| {
        let length = u16::try_from(line.len() + 4).expect("a record");
        let data = ebcdic(line);
        length.to_be_bytes().into_iter().chain([0, 0]).chain(data).collect::<Vec<u8>>()
    };
    let records: Vec<u8> = report(128, 32768).lines().flat_map(record).collect();
    let text = good(&["advise", &folder.file("records", records)]);
    assert!(text.contains("HEAP(32K,32K) -> HEAP(4608K,1152K)"), "{text}");
}

#[test]
fn small_blocks_in_job_control_are_remarked_upon() {
    let folder = Folder::new("listing-blocks");
    let jcl =
        "//NEWLIB DD DSN=P.LOAD,DISP=(NEW,CATLG),RECFM=U,BLKSIZE=6144,SPACE=(CYL,(10,5,100)),DSORG=PO\n";
    let job = folder.file("job", jcl);
    let text = good(&["advise", &job]);
    assert!(
        text.contains(&format!("{job}:1: a load library in job control with blocks of 6144: 32760")),
        "{text}"
    );
    assert!(!text.contains("RPTSTG"), "{text}");
}

/// A line of JSON, or an EBCDIC `#`, which is the byte of `{`, does not turn a listing into a saved report.
#[test]
fn what_begins_like_json_may_be_a_listing() {
    let folder = Folder::new("listing-braces");
    let job = format!("{{\"msg\":\"started\"}}\n{}", report(128, 32768));
    let text = good(&["advise", &folder.file("json-line", &job)]);
    assert!(text.contains("HEAP(32K,32K) -> HEAP(4608K,1152K)"), "{text}");
    let rows = "CLASS UPPER FREQUENCY PERCENT\n 32 120000 40.00%\n 64 180000 60.00%\n";
    let text = format!("# collected at noon\nTPF ECB HEAP REQUEST SIZE REPORT\n{rows}");
    let ebcdic = ebcdic(&text);
    assert_eq!(ebcdic[0], b'{');
    let path = folder.name("hash");
    std::fs::write(&path, ebcdic).expect("a file");
    let text = good(&["advise", &path]);
    assert!(text.contains("300,000 requests"), "{text}");
    let none = bad(2, &["advise", &folder.file("none", "{ of a text }\n")]);
    assert!(none.contains("no known listing"), "{none}");
    let cut = bad(2, &["advise", &folder.file("cut", "{\"schema\": \"underbar.report/1\", ")]);
    assert!(cut.contains("the report is cut short"), "{cut}");
}

#[test]
fn every_option_of_a_dump_is_shown_with_what_may_override_it() {
    let folder = Folder::new("listing-options");
    let dump = "PARMLIB(CEEPRM00)              OVR    HEAP(0000065536,0000032768,ANYWHERE,KEEP,0000008192,0000004096)\n\
                IBM-supplied default           NONOVR ABPERC(NONE)\n\
                PARMLIB(CEEPRM00)              OVR    RPTSTG(ON)\n";
    let text = good(&["advise", &folder.file("dump", dump)]);
    for shown in [
        "HEAP(65536,32768,ANYWHERE,KEEP,8192,4096) from PARMLIB(CEEPRM00), OVR,",
        "ABPERC(NONE) from IBM-supplied default, NONOVR,",
        "RPTSTG(ON) from PARMLIB(CEEPRM00), OVR,",
        "CEEOPTS, CEEUOPT,",
        "NONOVR in a later source beats every earlier one.",
        "look in ddname SYSOUT",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
}

#[test]
fn an_enclave_in_the_step_of_another_program_has_no_parm() {
    let folder = Folder::new("listing-step");
    let tax = report(128, 32768).replace("PAY1", "TAX");
    let job = format!("//GO EXEC PGM=PAY1,PARM='DAILY/HEAP(32K,32K)'\n{tax}{}", report(128, 32768));
    let text = good(&["advise", "--as", "parm", &folder.file("job", job)]);
    assert!(text.contains("\nPARM='DAILY/HEAP(4608K,1152K)'\n"), "{text}");
    assert!(text.contains("For TAX: it runs in the step of PAY1"), "{text}");
    assert!(!text.contains("For TAX:\n"), "{text}");
}

#[test]
fn what_is_packed_otherwise_is_named_with_what_to_do() {
    let folder = Folder::new("listing-packed");
    let text = good(&["advise", &folder.file("report", b"BZh91AY&SY packed")]);
    assert!(text.contains("bunzip2"), "{text}");
}
