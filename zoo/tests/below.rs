//! Storage below 16 MiB and 2 GiB: `__malloc24` and `__malloc31`, and their heaps in the report.

use underbar_zoo::heap::{on_heap, plain, text};
use underbar_zoo::{compiled, left, run, scratch};

fn program(flags: &[&str], name: &str) -> String {
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../api/capi/include");
    text(compiled("heap/below", name, &[&["-fno-builtin", "-pthread", include], flags].concat()))
}

const OPTIONS: [&str; 5] = [
    "",
    "HEAP(64K,32K,,FREE,4K,4K)",
    "STORAGE(AA,55)",
    "HEAPZONES(,,16),HEAPCHK(ON,50)",
    "HEAP(,,,KEEP,64K,64K)",
];

#[test]
fn addresses_are_below_the_limit_and_contents_stay() {
    let program = program(&[], "heap-below");
    assert_eq!(plain(&[&program, "use"]).output, "none\n", "weak: the program runs without underbar");
    for options in OPTIONS {
        let found = on_heap(options, &[&program, "use"]);
        assert_eq!((found.output.as_str(), found.error.as_str()), ("used\n", ""), "{options} {found:?}");
    }
}

#[test]
fn below_the_line_storage_ends_with_enomem() {
    for (flags, name) in [(&[][..], "heap-below"), (&["-no-pie"][..], "heap-below-fixed")] {
        let program = program(flags, name);
        for options in OPTIONS {
            let found = on_heap(options, &[&program, "exhaust"]);
            assert_eq!(
                (found.output.as_str(), found.error.as_str()),
                ("exhausted\n", ""),
                "{options} {found:?}"
            );
        }
    }
}

#[test]
fn storage_below_the_bar_has_zones_of_its_own() {
    const SIGABRT: i32 = 6;
    let program = program(&[], "heap-below");
    // Each: below the bar and above, E: ended, M: a message, -: nothing.
    for (options, reactions) in [
        ("HEAPZONES(16)", "E-"),
        ("HEAPZONES(16,MSG)", "M-"),
        ("HEAPZONES(16,QUIET,16,MSG)", "-M"),
        ("HEAPZONES(16,MSG,16)", "ME"),
        ("HEAPZONES(,,16)", "EE"),
        ("HEAPZONES(,,16,MSG)", "MM"),
        ("HEAPZONES(0,,16)", "-E"),
        ("", "--"),
    ] {
        for (what, reaction) in ["past-31", "past-64"].into_iter().zip(reactions.chars()) {
            let found = on_heap(options, &[&program, what]);
            let signal = std::os::unix::process::ExitStatusExt::signal(&found.status);
            assert_eq!(
                signal,
                if reaction == 'E' { Some(SIGABRT) } else { None },
                "{options} {what} {found:?}"
            );
            let says = found.error.contains("was written past its end");
            assert_eq!(says, reaction != '-', "{options} {what} {found:?}");
        }
    }
}

#[test]
fn each_heap_has_its_row_and_heap24_its_area() {
    let folder = scratch("below");
    let file = folder.join("report");
    let path = file.to_str().expect("a path of text");
    let program = program(&[], "heap-below");
    let report = |flags: &[&str], what: &str| {
        let found = left(&mut run(&[flags, &["-o", path]].concat(), &[&program, what]));
        assert!(found.status.success(), "{found:?}");
        std::fs::read_to_string(&file).expect("a report")
    };
    let json = report(&["--json"], "use");
    assert!(json.contains("\"kind\":\"below_16m\"") && json.contains("\"kind\":\"below_2g\""), "{json}");
    let le = report(&["--report", "le"], "exhaust");
    let area = le.split("    HEAP24 statistics:\n").nth(1).expect("the area");
    let lines: Vec<u64> =
        area.lines().take(7).filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect();
    let [initial, increment, used, gets, frees, segments, freed] = lines[..] else { panic!("{le}") };
    assert_eq!((initial, increment, frees, freed), (8192, 4096, 0, 0), "{le}");
    assert!(gets > 100 && segments >= gets && used > gets * 60_000 && used < 16 << 20, "{le}");
    assert!(le.contains("* HEAP24: 3 requests found no room below 16 MiB."), "{le}");
    let amode64 = report(&["--report", "amode64"], "use");
    assert!(amode64.contains("    31bit User HEAP statistics:\n"), "{amode64}");
    assert!(amode64.contains("    24bit User HEAP statistics:\n"), "{amode64}");
}
