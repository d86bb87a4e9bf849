//! HEAPZONES and HEAPCHK: bytes behind each element, walks over the heap, and who got or freed a block.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use underbar_zoo::heap::{cpp, on_heap, plain, text};
use underbar_zoo::{Left, compiled, left, run, scratch, underbar};

const SIGABRT: i32 = 6;
/// Small, at the edges of granules, an element of its own segment.
const SIZES: [&str; 6] = ["1", "8", "24", "100", "5000", "300000"];

fn program() -> String {
    let flags =
        ["-fno-builtin", "-w", "-pthread", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"];
    text(compiled("faults/zones", "faults-zones", &flags))
}

fn under(options: &str, what: &str, bytes: &str) -> Left {
    on_heap(options, &[&program(), what, bytes])
}

fn is_ended(found: &Left, says: &str) {
    assert_eq!(found.status.signal(), Some(SIGABRT), "{found:?}");
    assert!(found.error.starts_with("underbar: ") && found.error.contains(says), "{found:?}");
    assert_eq!(found.error.lines().count(), 1, "{found:?}");
}

#[test]
fn a_byte_past_the_end_is_found_at_the_free_with_who_got_the_element() {
    for bytes in SIZES {
        for (what, function) in
            [("by-a-byte", "free"), ("by-sixteen", "free"), ("resized", "realloc"), ("in-thread", "free")]
        {
            let found = under("HEAPZONES(,,16)", what, bytes);
            is_ended(&found, &format!("{function}(): overflow: the block at 0x"));
            let says = format!(" ({bytes} bytes) was written past its end, got by the program itself+0x");
            assert!(
                found.error.contains(&says) && found.error.contains(", called by the program itself+0x"),
                "{found:?}"
            );
        }
        // Without zones a byte or two are room that the heap gave.
        assert_eq!(under("HEAPCHK(ON)", "by-a-byte", "20").output, "goes on\n");
    }
}

/// In a thread that has entered another heap, too: the C library is named, not underbar, which serves it from the process's heap.
#[test]
fn what_the_c_library_got_is_named_so_in_a_thread_with_a_heap_of_its_own() {
    for options in ["HEAPZONES(,,16)", "THREADHEAP(64K,64K),HEAPZONES(,,16)"] {
        let found = under(options, "of-library", "100");
        is_ended(&found, " (7 bytes) was written past its end, got by libc.so.6+0x");
        assert!(found.error.contains(", called by the program itself+0x"), "{found:?}");
    }
}

/// Aligned operator new names its caller, too, and not underbar's own function.
#[test]
fn who_got_an_aligned_object_is_named() {
    let program = cpp("aligned_new", &["-std=c++17", "-O1"]);
    for options in ["HEAPZONES(,,16)", "THREADHEAP(64K,64K),HEAPZONES(,,16)"] {
        let found = on_heap(options, &[&program]);
        is_ended(&found, " (64 bytes) was written past its end, got by the program itself+0x");
    }
}

#[test]
fn under_msg_quiet_and_trace_the_program_goes_on() {
    for bytes in SIZES {
        let found = under("HEAPZONES(,,8,MSG)", "three", bytes);
        assert_eq!((found.status.code(), found.output.as_str()), (Some(0), "goes on\n"), "{found:?}");
        assert_eq!(
            found.error.matches("was written past its end, got by the program itself+0x").count(),
            3,
            "{found:?}"
        );
        assert_eq!(found.error.lines().count(), 3, "{found:?}");
        let found = under("HEAPZONES(,,8,QUIET)", "three", bytes);
        assert_eq!((found.output.as_str(), found.error.as_str()), ("goes on\n", ""), "{found:?}");
        // The frames of malloc's caller, of its caller, and of main.
        let found = under("HEAPZONES(,,8,TRACE),HEAPCHK(ON)", "by-a-byte", bytes);
        assert_eq!(found.output, "goes on\n");
        let got = found
            .error
            .split(", got by ")
            .nth(1)
            .and_then(|rest| rest.split(", ").next())
            .expect("who got it");
        assert!(
            got.split(" < ").filter(|place| place.starts_with("the program itself+0x")).count() >= 3,
            "{found:?}"
        );
    }
}

/// The heap could not go on.
#[test]
fn a_header_that_is_gone_ends_the_program_whatever_the_reaction() {
    for reaction in ["ABEND", "MSG", "QUIET", "TRACE"] {
        let found = under(&format!("HEAPZONES(,,8,{reaction})"), "header", "24");
        assert_eq!(found.status.signal(), Some(SIGABRT), "{found:?}");
        assert!(found.error.contains("overflow: the block at 0x"), "{found:?}");
    }
}

#[test]
fn a_walk_finds_damage_of_an_element_that_is_never_freed() {
    for bytes in SIZES {
        let found = under("HEAPZONES(,,16),HEAPCHK(ON,100)", "kept", bytes);
        is_ended(&found, "overflow: the block at 0x");
        assert!(
            found.error.contains(", before the block at 0x") || bytes == "300000",
            "its neighbour: {found:?}"
        );
        // Later than all requests: the walk at the end finds it.
        let found = under("HEAPZONES(,,16),HEAPCHK(ON,100,100000)", "kept", bytes);
        is_ended(&found, "exit(): overflow: the block at 0x");
        is_ended(&under("HEAPZONES(,,16),HEAPCHK(ON,1)", "at-the-end", bytes), "overflow: the block at 0x");
        let found = under("HEAPZONES(,,16,MSG),HEAPCHK(ON,10)", "kept", bytes);
        assert_eq!(
            (found.output.as_str(), found.error.lines().count()),
            ("goes on\n", 1),
            "told once: {found:?}"
        );
        assert_eq!(under("HEAPZONES(,,16)", "kept", bytes).output, "goes on\n");
    }
}

#[test]
fn who_freed_a_block_is_named_when_it_is_freed_again() {
    for bytes in SIZES {
        for options in ["HEAPCHK(ON)", "HEAPZONES(,,8)", "HEAPCHK(ON,1)"] {
            is_ended(&under(options, "twice", bytes), ", freed by the program itself+0x");
        }
        let found = under("HEAPCHK(ON,,,,,0)", "twice", bytes);
        is_ended(&found, "double free of 0x");
        assert!(!found.error.contains("freed by"), "no trace table: {found:?}");
    }
}

#[test]
fn a_sound_program_passes() {
    for bytes in SIZES {
        for options in [
            "HEAPZONES(16,,16,),HEAPCHK(ON,1)",
            "HEAPZONES(,,1024,TRACE),HEAPCHK(ON,10,50,10)",
            "HEAPZONES(,,8),STORAGE(AA,BB),HEAP(64K,32K,,FREE)",
            "HEAPCHK(ON,7),HEAP(1M,4K,,KEEP)",
        ] {
            let found = under(options, "sound", bytes);
            assert_eq!(
                (found.output.as_str(), found.error.as_str()),
                ("goes on\n", ""),
                "{options} {bytes} {found:?}"
            );
        }
    }
}

#[test]
fn the_report_counts_and_names() {
    let folder = scratch("zones");
    let file = folder.join("report.json");
    let path = file.to_str().expect("a path of text");
    let report = |flags: &[&str], options: &str, what: &str| {
        let found =
            left(&mut run(&[flags, &["--opts", options, "-o", path]].concat(), &[&program(), what, "24"]));
        (std::fs::read_to_string(&file).expect("a report"), found)
    };
    let (text, _) = report(&["--json"], "HEAPZONES(,,8,QUIET),HEAPCHK(ON,100)", "three");
    assert!(text.contains("\"damaged_zones\":3"), "{text}");
    let (text, _) = report(&[], "HEAPZONES(,,8,QUIET)", "three");
    assert!(text.starts_with("faults-zones wrote past the end of 3 elements (HEAPZONES)\n"), "{text}");
    let (text, _) = report(&["--json"], "HEAPZONES(,,8)", "by-a-byte");
    assert!(text.contains("\"origin\":{\"module\":\"the program itself\""), "{text}");
    let (text, _) = report(&[], "HEAPCHK(ON)", "twice");
    let second = text.lines().nth(1).unwrap_or_default();
    assert!(
        second.starts_with("  freed by the program itself+0x") && second.contains(", called by "),
        "{text}"
    );
}

/// The fourth value of STORAGE: a last segment when the kernel refuses more, and then ENOMEM.
#[test]
fn the_reserve_is_used_once() {
    let program = text(compiled("faults/reserve", "faults-reserve", &["-fno-builtin"]));
    let folder = scratch("reserve");
    let file = folder.join("report.json");
    let underbar = text(underbar().to_path_buf());
    let blocks = |options: &str| {
        let line = [
            "-c",
            "ulimit -v 200000; exec \"$@\"",
            "sh",
            &underbar,
            "run",
            "--json",
            "--opts",
            options,
            "-o",
        ];
        let mut limited = Command::new("/bin/sh");
        limited.args(line).arg(&file).args(["--", &program, "100000"]).env_remove("LD_PRELOAD");
        let found = left(&mut limited);
        assert_eq!(found.status.code(), Some(0), "{found:?}");
        let report = std::fs::read_to_string(&file).expect("a report");
        (found.output.trim().parse::<u64>().expect("a number"), report)
    };
    let (without, report) = blocks("HEAP(1M,1M,,KEEP)");
    assert!(report.contains("\"reserve_used\":0"), "{report}");
    let (with, report) = blocks("HEAP(1M,1M,,KEEP),STORAGE(,,,20M)");
    assert!(report.contains("\"reserve_used\":20971520"), "{report}");
    // The reserve is address space like any other: the same number in all, within a segment or two.
    assert!(with.abs_diff(without) < 40, "{with} {without}");
    let (_, report) = blocks("HEAP(1M,1M,,KEEP),STORAGE(,,,64K)");
    assert!(report.contains("\"reserve_used\":0"), "too small for a request: {report}");
}

/// The third value: frames and bytes, or that there were none.
#[test]
fn the_report_says_what_filling_frames_did() {
    let folder = scratch("frames");
    let file = folder.join("report");
    let path = file.to_str().expect("a path of text");
    let report = |program: &str, options: &str| {
        let found = left(&mut run(&["--opts", options, "-o", path], &[program]));
        assert_eq!(found.output, "25500\n", "{found:?}");
        std::fs::read_to_string(&file).expect("a report")
    };
    let compiled_for = text(compiled("faults/frames", "faults-frames", &["-O0", "-finstrument-functions"]));
    let not = text(compiled("faults/frames", "faults-frames-not", &["-O0"]));
    let found = report(&compiled_for, "STORAGE(,,FE)");
    let line = found.lines().find(|line| line.starts_with("  frames ")).expect("a line of frames");
    let frames: u64 =
        line.split_whitespace().nth(1).expect("a number").replace(',', "").parse().expect("a number");
    // One frame for each return that has something below it: every call but the deepest ones.
    assert!((20_000..=26_000).contains(&frames) && line.contains(" filled with FE, "), "{found}");
    let found = report(&not, "STORAGE(,,FE)");
    assert!(
        found.contains("STORAGE(,,FE): no stack frame was filled: the program is not compiled"),
        "{found}"
    );
    for options in ["STORAGE(,,CLEAR)", "STORAGE(AA,BB)", ""] {
        let found = report(&not, options);
        assert!(!found.contains("  frames ") && !found.contains("stack frame"), "{options}: {found}");
    }
}

/// Sound programs in which a false alarm would show: interpreters, compilers, compression, a database.
#[test]
fn real_programs_say_the_same_under_zones_and_walks() {
    const PROGRAMS: [&[&str]; 14] = [
        &[
            "python3",
            "-c",
            "import json,re; print(len(json.dumps([{str(i): re.sub('1','x',str(i))} for i in range(3000)])))",
        ],
        &["env", "PYTHONMALLOC=malloc", "python3", "-c", "print(sum(len(str(i) * 3) for i in range(2000)))"],
        &[
            "perl",
            "-e",
            "my %h; $h{$_ % 97} .= $_ for 1..5000; print join(',', map { length $h{$_} } sort keys %h), qq{\\n}",
        ],
        &[
            "sqlite3",
            ":memory:",
            "create table t(a,b); with recursive n(i) as (select 1 union all select i+1 from n where i<2000) insert into t select i, hex(i) from n; select count(*), max(b) from t;",
        ],
        &[
            "gcc",
            "-O1",
            "-S",
            "-o",
            "-",
            "-x",
            "c",
            concat!(env!("CARGO_MANIFEST_DIR"), "/programs/storage.c"),
        ],
        &["git", "hash-object", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")],
        &["sh", "-c", "seq 1 20000 | sort -r | xz -0 -T1 | xz -d | md5sum"],
        &["openssl", "dgst", "-sha256", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")],
        &["ruby", "-e", "puts (1..3000).map { |i| i.to_s * 2 }.sort.last"],
        &["php", "-r", "echo strlen(serialize(array_map('strrev', range(1, 3000)))), PHP_EOL;"],
        &["jq", "-n", "-c", "[range(0; 500) | {a: ., b: (. * 2 | tostring)}] | length"],
        &["awk", "BEGIN { for (i = 0; i < 5000; i++) a[i % 77] = a[i % 77] i; print length(a[3]) }"],
        &["sh", "-c", "echo '2^3000 % 1000007' | bc"],
        &[
            "sh",
            "-c",
            "tar -cf - -C \"$0\" Cargo.toml src --sort=name | gzip -nc | gzip -dc | wc -l",
            env!("CARGO_MANIFEST_DIR"),
        ],
    ];
    let mut ran = 0;
    for program in PROGRAMS {
        let [first, ..] = program else { continue };
        if left(Command::new("sh").args(["-c", "command -v \"$0\"", first])).status.success() {
            let plain = plain(program);
            for options in
                ["HEAPZONES(16,,16),HEAPCHK(ON,100)", "HEAPZONES(,,40,TRACE),HEAPCHK(ON,1000,500,8)"]
            {
                assert_eq!(on_heap(options, program), plain, "{program:?} {options}");
            }
            ran += 1;
        }
    }
    assert!(ran >= 4, "the programs of any system");
}
