//! Programs that are LINKed have heaps of their own, and leave nothing.
//!
//! ```text
//! caller.c, with the C library of underbar ── LINK ──> job.so       plain, and under underbar
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use underbar_zoo::heap::{OPTIONS, on_heap, plain, text};
use underbar_zoo::{Left, code, folder, left, scratch, underbar};

/// The C library, which Cargo has built along with this program: the newest one, as there may be others in the folder.
fn c_library() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let files = fs::read_dir(program.parent().expect("a folder")).expect("a folder").flatten();
    let found = files.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libunderbar_c") && name.ends_with(".a")
    });
    found.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok()).expect("libunderbar_c.a")
}

fn compile(arguments: &[&str]) {
    let output = Command::new("cc").args(arguments).output().expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The caller, and the library of the job: made once.
fn programs() -> &'static (String, String) {
    static MADE: OnceLock<(String, String)> = OnceLock::new();
    MADE.get_or_init(|| {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let place = scratch("enclaves-programs");
        let path = |name: &str| text(place.join(name));
        let source = |name: &str| text(own.join("programs/enclaves").join(name));
        fs::create_dir_all(place.join("library")).expect("a folder");
        let include = format!("-I{}", own.join("../api/capi/include").display());
        let shared = ["-shared", "-fPIC", "-O1", "-pthread", &include];
        compile(&[&shared[..], &["-o", &path("library/job.so"), &source("job.c")]].concat());
        let thrower = ["-o", &path("library/throws.so"), &source("throws.cpp"), "-lstdc++"];
        compile(&[&shared[..], &thrower].concat());
        compile(&[&shared[..], &["-o", &path("library/odd.so"), &source("odd.c")]].concat());
        // The stack is checked by `__longjmp_chk`, as distributions compile.
        let checked = ["-O2", "-D_FORTIFY_SOURCE=2", "-o", &path("library/odd_checked.so"), &source("odd.c")];
        compile(&[&shared[..], &checked].concat());
        let escaping = ["-o", &path("library/escapes.so"), &source("escapes.cpp"), "-lstdc++"];
        compile(&[&shared[..], &escaping].concat());
        let libraries = ["-o", &path("library/libraries.so"), &source("libraries.cpp"), "-lstdc++", "-ldl"];
        compile(&[&shared[..], &libraries].concat());
        fs::write(place.join("no_main.c"), "int entry(void) { return 7; }\n").expect("written");
        compile(&[&shared[..], &["-o", &path("library/no_main.so"), &path("no_main.c")]].concat());
        compile(&[&shared[..], &["-o", &path("library/burner.so"), &source("burner.c")]].concat());
        for name in ["working", "other", "called"] {
            let member = path(&format!("library/{name}.so"));
            compile(&[&shared[..], &["-o", &member, &source("working.c")]].concat());
        }
        let library = text(c_library());
        for program in ["caller", "odd_caller", "limited", "starts"] {
            let flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-rdynamic", &include, "-o", &path(program)];
            let file = source(&format!("{program}.c"));
            let files = [&file, &library, "-lgcc_s", "-lpthread", "-ldl", "-lm"];
            compile(&[&flags[..], &files[..]].concat());
        }
        (path("caller"), path("library"))
    })
}

/// Options under which LINKed programs have stacks of their own.
const STACKS: [&str; 3] = ["STACK(64K,16K,,KEEP)", "STACK(64K,16K,,FREE)", "STACK(16M)"];

fn holds(result: &Left, what: &str) {
    assert!(result.status.success() && result.output.ends_with("all held\n"), "{what}: {result:?}");
}

#[test]
fn a_job_ends_in_each_way_and_its_caller_lives_on() {
    let (caller, library) = programs();
    holds(&plain(&[caller, library, "each"]), "plain");
    for options in OPTIONS {
        holds(&on_heap(options, &[caller, library, "each"]), options);
    }
}

#[test]
fn a_job_has_a_stack_of_its_own_where_stack_gives_a_size() {
    let (caller, library) = programs();
    holds(&on_heap("", &[caller, library, "stack-of-caller"]), "no size");
    for options in STACKS {
        for part in ["stacks", "each", "leaves"] {
            holds(&on_heap(options, &[caller, library, part]), &format!("{part} under {options}"));
        }
    }
}

/// Without underbar the thread runs code of a program that is gone.
#[test]
fn a_job_whose_thread_goes_on_stays_until_the_thread_has_ended() {
    let (caller, library) = programs();
    for options in OPTIONS {
        holds(&on_heap(options, &[caller, library, "leaves"]), options);
    }
}

/// The caller's other programs, in the folder of the first.
fn odd_caller() -> String {
    text(Path::new(&programs().0).with_file_name("odd_caller"))
}

/// Jumps to the caller, exceptions out of main, threads that end or are cancelled inside, exits at exit, children that end: the
/// enclave ends, and its caller lives on.
#[test]
fn a_job_that_leaves_in_an_odd_way_ends_and_its_caller_lives_on() {
    let library = &programs().1;
    for part in ["jumps", "passes", "throws", "threads", "ends"] {
        holds(&plain(&[&odd_caller(), library, part]), &format!("{part}, plain"));
        for options in OPTIONS.into_iter().chain(STACKS) {
            let result = on_heap(options, &[&odd_caller(), library, part, "bounded"]);
            holds(&result, &format!("{part} under {options}"));
        }
    }
}

/// What the C++ library and OpenSSL keep is the process's: the next job uses it, and so do their functions at the end of the process.
#[test]
fn what_libraries_keep_of_a_job_that_leaks_stays() {
    let library = &programs().1;
    holds(&plain(&[&odd_caller(), library, "libraries"]), "plain");
    for options in OPTIONS.into_iter().chain(STACKS) {
        holds(&on_heap(options, &[&odd_caller(), library, "libraries"]), options);
    }
}

/// No heap of a job is left, whatever way it took.
#[test]
fn the_heaps_of_jobs_that_left_in_odd_ways_have_ended() {
    let library = &programs().1;
    for part in ["jumps", "passes", "throws", "threads"] {
        let report = report_of(&odd_caller(), library, "STACK(64K,16K,,KEEP)", part);
        let heaps = report["processes"][0]["heaps"].as_array().expect("heaps");
        let enclaves: Vec<_> = heaps.iter().filter(|heap| heap["kind"] == "enclave").collect();
        assert!(!enclaves.is_empty() && enclaves.iter().all(|heap| heap["ended"] == true), "{enclaves:#?}");
        for heap in enclaves {
            let figure = |key: &str| heap["counters"]["heap"][key].as_u64().expect("a figure");
            // The strings of the C++ library are the process's.
            let has_own = figure("gets") > 120 || part == "throws";
            assert!(has_own && figure("used") == 0, "{part}: {heap:#}");
        }
    }
}

/// Under HEAPZONES a job is named as the program that got and freed the element: the system's loader does not know its code.
#[test]
fn a_job_that_writes_past_an_element_is_named() {
    let found = on_heap("HEAPZONES(,,16)", &[&odd_caller(), &programs().1, "overruns"]);
    let says = " (100 bytes) was written past its end, got by odd+0x";
    assert!(found.error.contains(says) && found.error.contains(", called by odd+0x"), "{found:?}");
}

/// A signal in a job ends the process, and the report says which program was LINKed.
#[test]
fn a_signal_in_a_job_ends_the_process_and_the_report_names_the_job() {
    const SIGABRT: i32 = 6;
    let file = folder().join(format!("enclaves-aborts-{}", std::process::id()));
    let mut run = Command::new(underbar());
    run.args(["run", "-o"]).arg(&file).args(["--", &odd_caller(), &programs().1, "aborts"]);
    let result = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    let report = fs::read_to_string(&file).expect("a report");
    fs::remove_file(&file).expect("removed");
    assert_eq!(code(result.status), -SIGABRT, "{}", result.error);
    assert!(report.contains("ended without notice while odd was LINKed"), "{report}");
}

/// The overflow of a job's own stack is named, in whatever thread it runs; the process dies of the same signal as plain.
#[test]
fn the_overflow_of_a_job_s_own_stack_is_named() {
    const SIGSEGV: i32 = 11;
    let library = &programs().1;
    for part in ["overflows", "overflows-in-thread"] {
        assert_eq!(code(plain(&[&odd_caller(), library, part]).status), -SIGSEGV, "{part}, plain");
        let file = folder().join(format!("enclaves-{part}-{}", std::process::id()));
        let mut run = Command::new(underbar());
        run.args(["run", "--opts", "STACK(64K,16K,,KEEP)", "-o"]).arg(&file);
        run.args(["--", &odd_caller(), library, part]);
        let result = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
        let report = fs::read_to_string(&file).expect("a report");
        fs::remove_file(&file).expect("removed");
        assert_eq!(code(result.status), -SIGSEGV, "{part}: {}", result.error);
        let line = report.lines().next().unwrap_or_default();
        assert!(line.starts_with("odd_caller: odd (LINKed) overflowed its "), "{part}: {line}");
        assert!(line.contains("iB stack; try STACK("), "{part}: {line}");
    }
}

#[test]
fn ten_thousand_jobs_that_leak_leave_no_growth() {
    let (caller, library) = programs();
    for options in ["", "HEAP(64K,32K,,KEEP)", "STACK(64K,16K,,FREE)"] {
        holds(&on_heap(options, &[caller, library, "many"]), options);
    }
}

/// The report of a part of the caller.
fn report(options: &str, part: &str) -> Value {
    let (caller, library) = programs();
    report_of(caller, library, options, part)
}

fn report_of(caller: &str, library: &str, options: &str, part: &str) -> Value {
    let file = folder().join(format!("enclaves-{part}-{}-{}.json", options.len(), std::process::id()));
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "--opts", options, "-o"]).arg(&file).args(["--", caller, library, part]);
    let result = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert_eq!(code(result.status), 0, "{part}: {}", result.error);
    let report = serde_json::from_slice(&fs::read(&file).expect("a report")).expect("JSON");
    fs::remove_file(&file).expect("removed");
    report
}

/// A thousand enclaves of one program, one in the other.
#[test]
fn a_program_links_itself_a_thousand_levels_deep() {
    let (caller, library) = programs();
    for options in ["", "STACK(64K,16K,,KEEP)"] {
        holds(&on_heap(options, &[caller, library, "thousand"]), options);
    }
}

/// Two hundred enclaves, one in the other, have 22.4 MB in use together, of which each counts a part by itself.
#[test]
fn storage_of_nested_enclaves_is_counted() {
    let report = report("", "deep");
    let peaks = report["processes"].as_array().expect("processes").iter();
    let peak = peaks.filter_map(|process| process["counters"]["heap"]["used_peak"].as_u64()).max();
    let peak = peak.expect("a figure");
    assert!((20_800_000..24_600_000).contains(&peak), "{peak}");
}

/// A hundred jobs, one after the other, use one stack. Frames of 250 KB need a dozen increments of 16 KiB beyond the first 64 KiB.
#[test]
fn the_segments_of_a_job_s_stack_are_counted() {
    let counted = |options: &str| {
        let report = report(options, "stacks");
        let figure = |key: &str| report["processes"][0]["counters"]["stack"][key].as_u64().expect("a figure");
        (figure("segments_allocated"), figure("segments_freed"))
    };
    let (kept, freed) = counted("STACK(64K,16K,,KEEP)");
    assert!((12..=18).contains(&kept) && freed == 0, "{kept}, {freed}");
    let (allocated, freed) = counted("STACK(64K,16K,,FREE)");
    assert!(
        freed == allocated - 1 && (100 * (kept - 1)..200 * kept).contains(&freed),
        "{allocated}, {freed}"
    );
}

/// A program that LINKs often is told so, and one whose enclaves do not use their initial size.
#[test]
fn many_links_are_named_in_the_advice() {
    let (caller, library) = programs();
    let says = |options: &str, part: &str| {
        let file = folder().join(format!("enclaves-advice-{}-{part}.json", std::process::id()));
        let mut run = Command::new(underbar());
        run.args(["run", "--json", "--opts", options, "-o"]).arg(&file).args(["--", caller, library, part]);
        let result = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
        assert_eq!(code(result.status), 0, "{part}: {}", result.error);
        let advice = left(Command::new(underbar()).arg("advise").arg(&file));
        fs::remove_file(&file).expect("removed");
        advice.output
    };
    assert!(says("", "many").contains(" LINKs, "), "{}", says("", "many"));
    let advice = says("HEAP(64M,16M)", "each");
    assert!(advice.contains("each takes the initial size of 64M"), "{advice}");
}

/// The accounts of all jobs are one row: what they got is what they and their heap gave back.
#[test]
fn a_report_has_the_enclaves() {
    let report = report("", "each");
    let processes = report["processes"].as_array().expect("processes");
    let heaps = processes.iter().find_map(|process| {
        let heaps = process["heaps"].as_array()?;
        heaps.iter().find(|heap| heap["kind"] == "enclave" && heap["created"] == 21)
    });
    let heap = heaps.unwrap_or_else(|| panic!("{processes:#?}"));
    assert_eq!((heap["name"].as_str(), heap["ended"].as_bool()), (Some("job"), Some(true)));
    let figure = |key: &str| heap["counters"]["heap"][key].as_u64().expect("a figure");
    // In each of three rounds: four ways that leak once, four threads that do, two elements of CEEGTST, and one block before each of
    // the seven `main`s. The child of the job that forks has accounts of its own.
    assert_eq!(figure("gets"), 3 * ((4 + 4) * 3_001 + 2 + 7));
    assert_eq!((figure("gets"), figure("used")), (figure("frees"), 0));
    // The heaps that jobs created and did not discard went with them.
    let of_services = |key: &str| {
        let all = processes.iter().filter_map(|process| process["counters"]["additional_heap"][key].as_u64());
        all.sum::<u64>()
    };
    assert_eq!((of_services("creates"), of_services("discards")), (60, 60));
}

/// Under RPTSTG(ON) each heap has its requests by steps of 8 bytes: those of the enclaves are exact, and all heaps together have those of
/// the process.
#[test]
fn the_requests_of_an_enclave_are_known_by_their_size() {
    let report = report("RPTSTG(ON)", "each");
    let processes = report["processes"].as_array().expect("processes").iter();
    let process = processes
        .filter(|process| process["heaps"].is_array())
        .max_by_key(|process| process["counters"]["heap"]["gets"].as_u64());
    let process = process.expect("one with enclaves");
    let sum = |ranges: &Value| -> u64 {
        ranges.as_object().expect("ranges").values().filter_map(Value::as_u64).sum()
    };
    let heaps = process["heaps"].as_array().expect("heaps");
    let job = heaps.iter().find(|heap| heap["kind"] == "enclave").expect("the enclaves");
    // Blocks of 400 bytes: one before each `main`, and 3,000 in each of the ways that leak.
    assert_eq!(job["ranges"]["up_to_400"], 3 * (7 + 8 * 3_000), "{job:#}");
    assert_eq!(job["ranges"]["up_to_32"], 3 * 8, "{job:#}");
    assert_eq!(sum(&job["ranges"]), job["counters"]["heap"]["gets"].as_u64().expect("a figure"));
    let of_heaps: u64 = heaps.iter().map(|heap| sum(&heap["ranges"])).sum();
    assert_eq!(of_heaps, sum(&process["ranges"]), "{heaps:#?}");
}

/// The storage report has one for each enclave, and `advise` reads the same figures in it.
#[test]
fn a_storage_report_of_an_enclave_is_read_back() {
    let (caller, library) = programs();
    let file = folder().join(format!("enclaves-storage-{}.txt", std::process::id()));
    let mut run = Command::new(underbar());
    run.args(["run", "--report", "le", "-o"]).arg(&file).args(["--", caller, library, "each"]);
    let result = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert_eq!(code(result.status), 0, "{}", result.error);
    let text = fs::read_to_string(&file).expect("a report");
    let (_, enclave) = text.split_once("Storage Report for Enclave job ").expect("a report of the enclave");
    let label = "Total heap storage used (sugg. initial size):";
    let used = enclave.lines().find_map(|line| line.trim().strip_prefix(label)).expect("a line").trim();
    let read = left(Command::new(underbar()).args(["advise", "--json"]).arg(&file));
    fs::remove_file(&file).expect("removed");
    let json: Value =
        serde_json::from_str(&read.output).unwrap_or_else(|error| panic!("{error}: {}", read.error));
    let programs = json["sizes"].as_array().expect("sizes");
    let job =
        programs.iter().find(|program| program["program"] == "job").unwrap_or_else(|| panic!("{json:#}"));
    assert_eq!(job["areas"][0]["used"].to_string(), used, "{job}");
}

/// The numbers that a storage report prints in areas with labels, in its order. `M` is for a size above the bar.
fn printed(text: &str) -> Vec<u64> {
    let mut is_in_pools = false;
    let lines = text.lines().filter(|line| {
        is_in_pools |= line.contains("HEAPPOOLS");
        is_in_pools &= !line.contains("Largest number") && !line.starts_with("Storage Report");
        !is_in_pools && line.starts_with("      ") && line.contains(": ") && !line.contains("none:")
    });
    let value = |line: &str| {
        let value = line.rsplit(' ').next().expect("a value");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        value.strip_suffix('M').map_or_else(|| number(value), |m| number(m) << 20)
    };
    lines.map(value).collect()
}

/// Of a program with threads, pools, additional heaps, children and enclaves, every figure of both layouts is read back, without a
/// doubt; and an area of zeros says who did not ask for it.
#[test]
fn both_layouts_of_a_threaded_pooled_linking_program_are_read_back() {
    use underbar_listing::{Item, read};
    let (caller, library) = programs();
    for options in
        ["HEAPPOOLS(ON),RPTSTG(ON),THREADSTACK(ON,64K,16K,,KEEP),STACK(64K,16K)", "HEAP(64K,32K,,KEEP)", ""]
    {
        for layout in ["le", "amode64"] {
            let file = folder().join(format!("enclaves-{layout}-{}-{}", options.len(), std::process::id()));
            let mut run = Command::new(underbar());
            run.args(["run", "--opts", options, "--report", layout, "-o"]).arg(&file);
            run.args(["--", caller, library, "each"]);
            let result = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
            assert_eq!(code(result.status), 0, "{}", result.error);
            let text = fs::read_to_string(&file).expect("a report");
            fs::remove_file(&file).expect("removed");
            let mut figures = Vec::new();
            for item in read(text.as_bytes()) {
                let Item::Storage(report) = item else { continue };
                assert_eq!(report.doubts, [], "{layout} under {options}:\n{text}");
                let sections = report.sections.iter().flat_map(|section| &section.figures);
                figures.extend(sections.map(|(_, figure)| figure.value));
            }
            assert_eq!(figures, printed(&text), "{layout} under {options}:\n{text}");
            let areas = text.split(" statistics:\n").skip(1);
            for area in areas {
                let lines = area.lines().take_while(|line| line.starts_with("      "));
                let counted: Vec<&str> = lines.filter(|line| !line.contains(" size: ")).collect();
                let is_zero = counted.iter().all(|line| line.ends_with(" 0") || line.ends_with(" 0M"));
                let says = area.trim_start().starts_with("none: no program asked for it");
                assert!(!is_zero || says, "{layout} under {options}: {area}");
            }
        }
    }
}

/// Calls of a LINKed program are its own, not those of code of no module.
#[test]
fn switches_of_a_job_have_its_name() {
    let (caller, library) = programs();
    let file = scratch("enclaves-switches").join("report.json");
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&file).args([
        "--opts",
        "SWITCHES(ON)",
        "--",
        caller,
        library,
        "each",
    ]);
    holds(&left(&mut run), "SWITCHES(ON)");
    let report: Value = serde_json::from_slice(&fs::read(file).expect("a report")).expect("JSON");
    let calls = report["processes"][0]["switches"]["calls"].as_array().expect("calls");
    let count = |component: &str| {
        let of = |call: &&Value| call["component"].as_str() == Some(component);
        calls.iter().filter(of).map(|call| call["count"].as_u64().expect("a count")).sum::<u64>()
    };
    assert!(count("job") + count("JOB") > 0, "{calls:?}");
    // Each start of it is a row, too: a program that is LINKed in a loop is found by its count.
    let links = calls.iter().filter(|call| call["function"] == "LINK");
    assert!(links.map(|call| call["count"].as_u64().expect("a count")).sum::<u64>() > 1, "{calls:?}");
}

/// Programs that are LINKed in turns at the same addresses, and one that is CALLed: each has its own calls, starts and CPU time.
#[test]
fn programs_have_their_switches_starts_and_time() {
    let (caller, library) = programs();
    let starts = text(Path::new(caller).with_file_name("starts"));
    let file = scratch("enclaves-starts").join("report.json");
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&file).args(["--opts", "SWITCHES(ON)", "--", &starts, library]);
    let told = left(run.arg("50").env_remove("UNDERBAR_OPTS"));
    assert!(told.status.success(), "{told:?}");
    let said = |name: &str| {
        let line = told.output.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
        line.trim().parse::<u64>().expect("a number")
    };
    let report: Value = serde_json::from_slice(&fs::read(file).expect("a report")).expect("JSON");
    let switches = &report["processes"][0]["switches"];
    let calls = switches["calls"].as_array().expect("calls");
    let writes = |component: &str| {
        let of = calls.iter().filter(|call| call["component"] == component && call["function"] == "write");
        of.map(|call| call["count"].as_u64().expect("a count")).sum::<u64>()
    };
    assert_eq!(["working", "other", "called", ""].map(writes), [500, 150, 350, 0], "{calls:?}");
    let of = |program: &str, how: &str| {
        let all = switches["programs"].as_array().expect("programs");
        let of = all.iter().find(|one| one["program"] == program && one["how"] == how);
        of.map_or((0, 0), |of| {
            (of["count"].as_u64().expect("a count"), of["cpu_ns"].as_u64().expect("a time"))
        })
    };
    let (working, other, called) = (of("working", "LINK"), of("other", "LINK"), of("called", "CALL"));
    assert_eq!((working.0, other.0, called.0), (50, 50, 50), "{switches}");
    // What a LINK takes besides the program, as its LOAD, is in the caller's figure only.
    assert!(working.1 + other.1 <= said("links") && working.1 > other.1, "{working:?} {other:?} {told:?}");
    assert!(called.1 <= said("calls") && called.1 > said("calls") / 2, "{called:?} {told:?}");
}

/// A program that LINKs others, each of which uses so much CPU time, under MT(1).
fn limited(times: u64, seconds: &str) -> (i32, Left, Option<Value>) {
    let (caller, library) = programs();
    let limited = text(Path::new(caller).with_file_name("limited"));
    let file = scratch(&format!("enclaves-limited-{times}")).join("report");
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&file).args(["--opts", "MT(1)", "--", &limited, library]);
    let left = left(run.args([&times.to_string(), seconds]).env_remove("UNDERBAR_OPTS"));
    let report = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    (code(left.status), left, report)
}

#[test]
fn each_program_that_is_linked_is_a_start_with_a_limit_of_its_own() {
    // Together they use more than the limit.
    let (status, left, report) = limited(3, "0.6");
    assert_eq!((status, left.output.as_str()), (0, "linked 3\n"), "{left:?}");
    let report = report.expect("a report");
    assert_eq!(report["tree"]["counters"]["cpu_limit"]["starts"], 4, "three and the process: {left:?}");
    // One of them does.
    let (status, left, _) = limited(1, "9");
    assert_eq!(status, -24, "{left:?}");
    assert!(left.error.contains(" s of CPU time in a program that thread "), "{left:?}");
}

/// What a program that is LINKed requests is sampled, and ends with it.
#[test]
fn storage_of_a_linked_program_is_sampled_and_not_in_use_at_the_end() {
    let (caller, library) = programs();
    for options in ["SITES(ON,2K,,0)", "SITES(ON,2K,,0),HEAP(64K,32K,,FREE)", "SITES(ON,4K,512,0),RPTSTG(ON)"]
    {
        let arguments = ["heap", "--opts", options, "--json", "--", caller, library, "each"];
        let ran = left(Command::new(underbar()).args(arguments));
        assert_eq!(
            (code(ran.status), ran.output.ends_with("all held\n")),
            (0, true),
            "{options}: {}",
            ran.error
        );
        let report: Value =
            serde_json::from_str(&ran.error).unwrap_or_else(|error| panic!("{error}: {}", ran.error));
        let sites = report["sites"].as_array().expect("sites");
        let of_job: Vec<&Value> = sites.iter().filter(|site| site["function"] == "leaks").collect();
        let samples =
            |kind: &str| of_job.iter().filter_map(|site| site[kind]["samples"].as_u64()).sum::<u64>();
        let (requested, at_end) = (samples("requested"), samples("in_use_at_end"));
        assert!(requested > 200, "{options}: {requested}: {sites:?}");
        // A child of the caller may end in the middle.
        assert!(at_end * 5 < requested, "{options}: {at_end} of {requested}");
    }
}
