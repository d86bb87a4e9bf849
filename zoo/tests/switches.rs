//! SWITCHES(ON): what is counted is what the program does, by whatever way it does it, and the program does the same as plain.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;
use underbar_zoo::{code, compiled, left, scratch, underbar};

fn program() -> String {
    let path = compiled("switches/known", "switches-known", &["-pthread", "-fno-builtin"]);
    path.into_os_string().into_string().expect("a path of text")
}

/// Runs a program, and gives its report, its exit status and its output.
fn run(name: &str, options: &str, line: &[&str]) -> (Value, i32, String) {
    let file = scratch(&format!("switches-{name}")).join("report.json");
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&file).args(["--opts", options, "--"]).args(line);
    let left = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert_eq!(left.error, "", "{line:?} under {options:?}");
    let report = serde_json::from_slice(&fs::read(file).expect("a report")).expect("JSON");
    (report, code(left.status), left.output)
}

/// Calls of some functions, or of all, in a section.
fn calls(section: &Value, functions: &[&str]) -> u64 {
    let calls = section["switches"]["calls"].as_array().unwrap_or_else(|| panic!("switches in {section}"));
    let of = |call: &&Value| functions.contains(&call["function"].as_str().expect("a name"));
    calls.iter().filter(of).map(|call| call["count"].as_u64().expect("a count")).sum()
}

const WRITES: [&str; 3] = ["write", "stream write", "stream write to print"];

/// The figures that were compared: counted and the kernel's, of reads and of writes.
fn compared(section: &Value) -> [u64; 4] {
    ["read_calls", "kernel_read_calls", "write_calls", "kernel_write_calls"].map(|name| {
        let figure = &section["counters"]["switches"][name];
        figure["value"]
            .as_u64()
            .or(figure.as_u64())
            .unwrap_or_else(|| panic!("{name} in {}", section["counters"]["switches"]))
    })
}

#[test]
fn known_numbers_of_calls_are_counted_and_the_kernel_agrees() {
    let program = program();
    for (mode, functions, count) in [
        ("write", &["write"][..], 10_000),
        ("read", &["read"], 10_478),
        ("flush", &["stream write to print", "stream write"], 10_000),
        ("fread", &["stream read"], 200),
        ("threads", &["write"], 20_000),
        ("many", &["write"], 12_000),
    ] {
        for options in ["SWITCHES(ON)", "ZIIP(STAT)"] {
            let (report, status, _) = run(&format!("known-{mode}"), options, &[&program, mode]);
            let section = &report["processes"][0];
            assert_eq!((status, calls(section, functions)), (0, count), "{mode}: {section}");
            let [read, kernel_read, wrote, kernel_wrote] = compared(section);
            assert_eq!((read, wrote), (kernel_read, kernel_wrote), "{mode}: {section}");
        }
    }
}

#[test]
fn what_the_program_does_is_as_plain() {
    let program = program();
    for mode in [
        "write",
        "flush",
        "puts",
        "fread",
        "threads",
        "signals",
        "jumps",
        "cancelled",
        "vfork",
        "fork",
        "arguments",
    ] {
        let (_, status, output) = run(&format!("plain-{mode}"), "SWITCHES(ON)", &[&program, mode]);
        let plain = left(Command::new(&program).arg(mode));
        assert_eq!((status, output), (code(plain.status), plain.output), "{mode}");
    }
}

/// Libraries that come later are bound by the changed symbols, however they come, and so is what is looked up by a handle.
#[test]
fn libraries_that_are_opened_count_as_components() {
    let flags = ["-shared", "-fPIC"];
    let library = compiled("switches/opened", "switches-opened.so", &flags);
    let library = library.to_str().expect("a path of text");
    let program = program();
    for mode in ["opened", "deepbound"] {
        let (report, status, output) = run(mode, "SWITCHES(ON)", &[&program, mode, library]);
        assert_eq!((status, output.as_str()), (0, "opened\n"));
        let section = &report["processes"][0];
        let calls = section["switches"]["calls"].as_array().expect("calls");
        let of = |component: &str| {
            let call = calls.iter().find(|call| {
                call["component"].as_str().is_some_and(|name| name == component)
                    && call["function"] == "write"
            });
            call.map_or(0, |call| call["count"].as_u64().expect("a count"))
        };
        assert_eq!((of("switches-opened.so"), of("switches-known")), (105, 10), "{section}");
    }
}

/// A program of a library, whose words underbar's own loader writes.
#[test]
fn a_linked_program_is_counted() {
    let folder = scratch("switches-linked-library");
    let module =
        compiled("switches/known", "switches-module.so", &["-shared", "-fPIC", "-pthread", "-fno-builtin"]);
    fs::copy(module, folder.join("known.so")).expect("copied");
    let program = format!("{}(known)", folder.display());
    let command = underbar().to_str().expect("a path of text");
    let (report, status, _) = run("linked", "SWITCHES(ON)", &[command, "exec", &program, "write"]);
    assert_eq!((status, calls(&report["processes"][0], &["write"])), (0, 10_000), "{report}");
}

/// The C library hides who prints when the program ends; the C++ library always.
#[test]
fn callers_of_libraries_are_sampled() {
    let source =
        "#include <iostream>\nint main() { for (int i = 0; i < 20000; i++) std::cout << i << std::endl; }";
    let folder = scratch("switches-callers-program");
    let (file, program) = (folder.join("lines.cc"), folder.join("lines"));
    fs::write(&file, source).expect("written");
    let compiler = Command::new("c++").arg("-O1").arg(&file).arg("-o").arg(&program).status();
    if !compiler.is_ok_and(|status| status.success()) {
        return underbar_zoo::skip("no C++ compiler");
    }
    let (report, status, output) =
        run("callers", "SWITCHES(ON)", &[program.to_str().expect("a path of text")]);
    let section = &report["processes"][0];
    assert_eq!((status, output.lines().count(), calls(section, &WRITES)), (0, 20_000, 20_000));
    let samples = |caller: &str| {
        let all = section["switches"]["callers"].as_array().expect("callers");
        let of = all.iter().filter(|of| of["component"] == "libstdc++.so.6" && of["caller"] == caller);
        of.map(|of| of["samples"].as_u64().expect("a count")).sum::<u64>()
    };
    assert!(samples("lines") >= 20_000 / 997 && samples("") == 0, "{section}");
}

#[test]
fn without_the_option_nothing_is_counted() {
    let (report, status, _) = run("off", "", &[&program(), "write"]);
    assert_eq!(status, 0);
    assert!(report["processes"][0]["switches"].is_null(), "{report}");
    assert_eq!(compared(&report["processes"][0]), [0; 4]);
}

/// SIGKILL loses no count, and a child by fork has its own.
#[test]
fn a_killed_process_and_a_child_have_their_counts() {
    let program = program();
    let (report, _, _) = run("killed", "SWITCHES(ON)", &[&program, "killed"]);
    assert_eq!(calls(&report["processes"][0], &["write"]), 1234, "{report}");
    let (report, _, _) = run("fork", "SWITCHES(ON)", &[&program, "fork"]);
    let sections = report["processes"].as_array().expect("processes");
    assert_eq!(sections.iter().map(|section| calls(section, &["write"])).collect::<Vec<_>>(), [200, 250]);
    for section in sections {
        let [_, _, wrote, kernel] = compared(section);
        assert_eq!(wrote, kernel, "{section}");
    }
    // What children by vfork do is their parent's.
    let (report, _, _) = run("vfork", "SWITCHES(ON)", &[&program, "vfork"]);
    assert_eq!(calls(&report["processes"][0], &["write"]), 200);
    assert_eq!(calls(&report["processes"][0], &["vfork"]), 10);
}

/// Runs the program of two phases, with a reset in between, twice. Gives its report.
fn reset_between_phases(name: &str, options: &str) -> Value {
    let file = scratch(&format!("switches-{name}")).join("report.json");
    let mut phases = Command::new(underbar())
        .args(["run", "--json", "-o"])
        .arg(&file)
        .args(["--opts", options, "--", &program(), "phases"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut line = String::new();
    BufReader::new(phases.stdout.take().expect("a pipe")).read_line(&mut line).expect("its number");
    for _ in 0..2 {
        let found = reset(line.trim());
        assert_eq!(
            (found.output.as_str(), found.error.as_str()),
            ("1 process: switches are counted from now on\n", "")
        );
    }
    drop(phases.stdin.take());
    assert!(phases.wait().expect("it ends").success());
    let file = file.to_str().expect("a path of text");
    for (which, says) in [(line.trim(), "no such process"), (file, "ledger"), ("none", "No such file")] {
        let found = reset(which);
        assert!(found.status.code() == Some(2) && found.error.contains(says), "{which}: {found:?}");
    }
    serde_json::from_slice(&fs::read(file).expect("a report")).expect("JSON")
}

fn reset(which: &str) -> underbar_zoo::Left {
    left(Command::new(underbar()).args(["report", "--reset-switches", which]))
}

/// Counts begin anew while the program runs, exactly, also those of a thread that lives on; and the kernel's with them.
#[test]
fn a_reset_counts_from_then_on() {
    let report = reset_between_phases("reset", "SWITCHES(ON)");
    let section = &report["processes"][0];
    assert_eq!(
        (calls(section, &["write"]), calls(section, &["getpid", "pthread_create"])),
        (70, 0),
        "{section}"
    );
    assert_eq!(section["switches"]["is_reset"], true);
    let since = |sort: usize| {
        ["counted", "kernel"].map(|name| {
            section["switches"]["since_reset"][sort][name].as_u64().unwrap_or_else(|| panic!("{section}"))
        })
    };
    let [[read, by_kernel], [wrote, written_by_kernel]] = [since(0), since(1)];
    assert!(wrote == written_by_kernel && (70..90).contains(&wrote), "{section}");
    assert!(read.abs_diff(by_kernel) <= 4, "{section}");
}

/// The projection and the waits for mutexes begin anew at the same moment.
#[test]
fn a_reset_takes_off_all_figures_of_the_section() {
    let options = "ZIIP(STAT,ELIGIBLE(switches-known)),LOCK(COUNT)";
    let report = reset_between_phases("reset-all", options);
    let section = &report["processes"][0];
    assert_eq!(calls(section, &["write"]), 70, "{section}");
    let counted = |group: &str, name: &str| {
        let figure = &section["counters"][group][name];
        figure["value"].as_u64().or(figure.as_u64()).unwrap_or_else(|| panic!("{group}.{name} in {section}"))
    };
    // It waited in the first phase only.
    assert!(counted("lock", "contended") > 0, "{section}");
    assert_eq!(calls(section, &["wait for a mutex"]), 0, "{section}");
    let eligible = section["switches"]["projection"]["eligible_ns"].as_u64().expect("a time");
    let all = counted("switches", "eligible_ns");
    assert!(eligible > 0 && eligible < all / 2, "{eligible} of {all}: {section}");
}

/// What a cache reads and writes for the program is counted, so that the kernel's count is ours.
#[test]
fn caches_of_files_count_their_own_calls() {
    let written = scratch("switches-cached-file").join("out");
    let out = format!("of={}", written.display());
    let line = ["/bin/dd", "if=/dev/zero", &out, "bs=80", "count=5000", "status=none"];
    if !fs::exists(line[0]).unwrap_or(false) {
        return underbar_zoo::skip("no dd");
    }
    let (report, status, _) = run("cached", "SWITCHES(ON),WORKFILE(out,200,300)", &line);
    let section = &report["processes"][0];
    let writes = calls(section, &["cache write"]);
    assert!(status == 0 && (1..10).contains(&writes), "{section}");
    assert_eq!(fs::metadata(written).expect("written").len(), 400_000);
    let all = section["switches"]["calls"].as_array().expect("calls");
    let of = all.iter().find(|call| call["function"] == "cache write").expect("a row");
    assert_eq!(
        (&of["component"], &of["kind"], &of["bytes"]),
        (&"libunderbar.so".into(), &"file".into(), &400_000.into())
    );
    let [read, kernel_read, wrote, kernel_wrote] = compared(section);
    assert_eq!((read, wrote), (kernel_read, kernel_wrote), "{section}");
    assert_eq!(wrote, writes + calls(section, &["write"]), "{section}");
}

/// More processes than the ledger has slots: their counts are added.
#[test]
fn counts_of_processes_that_were_folded_are_added() {
    let script = "i=0; while [ $i -lt 400 ]; do /bin/cat /dev/null; i=$((i+1)); done";
    let (report, status, _) = run("folded", "SWITCHES(ON)", &["/bin/sh", "-c", script]);
    assert_eq!(status, 0);
    let sections = report["processes"].as_array().expect("processes");
    let of_cat = sections
        .iter()
        .filter(|section| section["program"].as_str().is_some_and(|name| name.ends_with("/cat")));
    // Each reads once, and finds the end.
    let reads: u64 = of_cat.map(|section| calls(section, &["read"])).sum();
    assert_eq!(reads, 400, "{} sections", sections.len());
}

/// Programs of all kinds: the kernel's counts are ours, within one of a hundred.
#[test]
fn programs_of_many_languages_are_seen() {
    let archive = scratch("switches-archive").join("etc.tar");
    let archive = archive.to_str().expect("a path of text");
    let perl = "$|=1; print \"line $_\\n\" for 1..1000;";
    for (name, line) in [
        ("perl", &["/usr/bin/perl", "-e", perl][..]),
        ("dd", &["/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=80", "count=2000", "status=none"]),
        ("bash", &["/bin/bash", "-c", "for ((i=0;i<1000;i++)); do echo $i; done"]),
        ("awk", &["/usr/bin/awk", "BEGIN { for (i = 0; i < 1000; i++) { print i; fflush() } }"]),
        ("tar", &["/bin/tar", "-C", "/etc", "-cf", archive, "ssl"]),
    ] {
        if !fs::exists(line[0]).unwrap_or(false) {
            continue;
        }
        let (report, _, output) = run(name, "SWITCHES(ON)", line);
        let section = &report["processes"][0];
        let [read, kernel_read, wrote, kernel_wrote] = compared(section);
        assert!(kernel_read.abs_diff(read) <= kernel_read / 100 + 1, "{name}: {section}");
        assert!(kernel_wrote.abs_diff(wrote) <= kernel_wrote / 100, "{name}: {section}");
        if matches!(name, "perl" | "bash" | "awk") {
            assert_eq!(calls(section, &WRITES), 1000, "{name}: {section}");
            assert_eq!(output.lines().count(), 1000);
        }
    }
}

/// A counter of the run.
fn counter(report: &Value, group: &str, name: &str) -> u64 {
    let figure = &report["tree"]["counters"][group][name];
    figure["value"]
        .as_u64()
        .or(figure.as_u64())
        .unwrap_or_else(|| panic!("{group}.{name} in {}", report["tree"]))
}

/// Threads of eligible components run on the processors of their class, the others as plain.
#[test]
fn threads_of_eligible_components_are_placed() {
    let program = program();
    let plain = left(Command::new(&program).arg("affinity")).output;
    let all =
        plain.lines().next().and_then(|line| line.strip_prefix("thread ")).expect("a number").to_owned();
    // The first processor that this process may use.
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let allowed =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list").trim();
    let first: String = allowed.chars().take_while(char::is_ascii_digit).collect();
    for (options, thread, figures) in [
        (format!("ZIIP(ELIGIBLE(switches-known),CPUS({first}))"), "1", [1, 0]),
        (format!("ZIIP(STAT,ELIGIBLE(switches-known),CPUS({first}))"), "1", [1, 0]),
        (format!("ZIIP(ELIGIBLE(switches-kno*),CPUS(1023,{first}-{first}))"), "1", [1, 0]),
        (format!("ZIIP(ELIGIBLE(libother),CPUS({first}))"), all.as_str(), [0, 0]),
        ("ZIIP(ELIGIBLE(switches-known),CPUS(1023))".to_owned(), all.as_str(), [0, 1]),
        (format!("ZIIP(CPUS({first}))"), all.as_str(), [0, 0]),
    ] {
        let (report, status, output) = run("placed", &options, &[&program, "affinity"]);
        assert_eq!((status, output), (0, format!("thread {thread}\nmain {all}\n")), "{options}");
        let found = ["threads", "refused"].map(|name| counter(&report, "class", name));
        assert_eq!(found, figures, "{options}");
        let [class, other] = ["cpu_ns", "other_cpu_ns"].map(|name| counter(&report, "class", name));
        assert_eq!(
            (class > 0, other > 0),
            (figures[0] > 0, figures[0] > 0 || figures[1] > 0 || options.contains("libother")),
            "{options}"
        );
    }
}

/// With and without the class, in turns: both are whole runs of the program, with the same output.
#[test]
fn placement_is_compared_with_plain_threads() {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let allowed =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list").trim();
    let first: String = allowed.chars().take_while(char::is_ascii_digit).collect();
    let class = format!("ZIIP(ELIGIBLE(switches-known),CPUS({first}))");
    let mut compare = Command::new(underbar());
    compare.args([
        "compare",
        "--json",
        "--runs",
        "6",
        "--opts",
        "default",
        "--opts",
        &class,
        "--",
        &program(),
        "many",
    ]);
    let told = left(compare.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert!(told.status.success(), "{told:?}");
    let compared: Value = serde_json::from_str(&told.output).expect("JSON");
    assert!(compared.to_string().contains(&class), "{compared}");
}

/// A projection counts the same calls, and divides the CPU time by the switches that end it.
#[test]
fn a_projection_divides_the_time_between_switches() {
    let program = program();
    let of = |report: &Value| report["processes"][0]["switches"]["projection"].clone();
    for (mode, functions, count) in [
        ("write", &["write"][..], 10_000),
        ("flush", &["stream write to print", "stream write"], 10_000),
        ("threads", &["write"], 20_000),
        ("many", &["write"], 12_000),
    ] {
        for eligible in ["switches-known", "libother"] {
            let options = format!("ZIIP(STAT,ELIGIBLE({eligible}))");
            let (report, status, _) = run(&format!("projected-{mode}"), &options, &[&program, mode]);
            assert_eq!((status, calls(&report["processes"][0], functions)), (0, count), "{mode}");
            let figure = |name: &str| {
                of(&report)[name].as_u64().unwrap_or_else(|| panic!("{name} in {}", of(&report)))
            };
            let [eligible_ns, other_ns] = ["eligible_ns", "ineligible_ns"].map(figure);
            if eligible == "libother" {
                assert!(eligible_ns == 0 && other_ns > 0 && figure("runs") == 0, "{report}");
            } else {
                assert!(eligible_ns > other_ns, "{mode}: {}", of(&report));
            }
        }
    }
    // The library's calls come between those of the program.
    let library = compiled("switches/opened", "switches-opened.so", &["-shared", "-fPIC"]);
    let line = [program.as_str(), "opened", library.to_str().expect("a path of text")];
    let (report, ..) = run("projected-opened", "ZIIP(STAT,ELIGIBLE(switches-opened))", &line);
    assert!(of(&report)["runs"].as_u64().is_some_and(|runs| runs > 0), "{report}");
    assert!(of(&report)["half_below_ns"].as_u64() <= of(&report)["most_below_ns"].as_u64(), "{report}");
    let (report, ..) = run("not-projected", "SWITCHES(ON)", &[&program, "write"]);
    assert!(of(&report).is_null());
}

/// A byte through a pipe, and a wait for a condition, are hand-overs.
#[test]
fn pipes_and_conditions_are_hand_overs() {
    let (report, status, _) = run("cancelled-kinds", "SWITCHES(ON)", &[&program(), "cancelled"]);
    let section = &report["processes"][0];
    let all = section["switches"]["calls"].as_array().expect("calls");
    let kinds = |function: &str| {
        let of =
            all.iter().filter(|call| call["function"] == function && call["component"] == "switches-known");
        of.map(|call| call["kind"].as_str().expect("a kind")).collect::<Vec<_>>()
    };
    assert_eq!((status, kinds("read")), (0, vec!["hand-over"]), "{section}");
    let (report, ..) = run("phases-kinds", "SWITCHES(ON)", &[&program(), "phases"]);
    let calls = report["processes"][0]["switches"]["calls"].as_array().expect("calls");
    let barrier = calls.iter().find(|call| call["function"] == "pthread_barrier_wait").expect("a barrier");
    assert_eq!((barrier["kind"].as_str(), barrier["count"].as_u64()), (Some("hand-over"), Some(6)));
}

/// Files that WORKFILE names are of a kind of their own, whether they are cached or not.
#[test]
fn work_files_are_a_kind() {
    for (pattern, kind) in [("'/dev/null'", "work file"), ("'*.out'", "file")] {
        let options = format!("SWITCHES(ON) WORKFILE({pattern})");
        let (report, status, _) = run("work-files", &options, &[&program(), "write"]);
        let section = &report["processes"][0];
        let all = section["switches"]["calls"].as_array().expect("calls");
        let write = all.iter().find(|call| call["function"] == "write").expect("writes");
        let found = (status, write["kind"].as_str(), write["count"].as_u64());
        assert_eq!(found, (0, Some(kind), Some(10_000)), "{pattern}: {section}");
        // Caches call for the program, which is still known.
        if write["component"] == "libunderbar.so" {
            let callers = section["switches"]["callers"].as_array().expect("callers");
            assert!(callers.iter().any(|caller| caller["caller"] == "switches-known"), "{section}");
        }
    }
}

/// What the kernel's tracing counts more if a program makes 2,000 calls more: dd, in a child of a shell, reads and writes each byte.
#[test]
fn the_kernels_total_has_every_call_of_the_run() {
    let events = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
        .map(|folder| format!("{folder}/events/raw_syscalls/sys_enter/id"));
    let total = |bytes: u64, options: &str| {
        let line = format!("dd if=/dev/zero of=/dev/null bs=1 count={bytes} status=none; true");
        let (report, ..) = run(&format!("kernel-{bytes}"), options, &["sh", "-c", &line]);
        report["steps"]["kernel_entries"].as_u64()
    };
    assert_eq!(total(10, "SWITCHES(ON)"), None, "it costs 0.1 microseconds a call, so it must be asked for");
    let [few, many] = [1_000, 2_000].map(|bytes| total(bytes, "SWITCHES(ON,KERNEL)"));
    match (few, many) {
        (Some(few), Some(many)) => {
            let more = many - few;
            assert!((1_990..=2_010).contains(&more), "{few} and {many}: {more} more");
            assert!(few > 2_000, "the calls of dd are a part of it: {few}");
        }
        // Without the superuser's rights, or in a container that has no such files.
        _ => assert!(events.iter().all(|file| fs::read(file).is_err()), "the kernel would have allowed it"),
    }
}
