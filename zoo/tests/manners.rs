//! The manners of a wrapper, column by column: a caller sees the same of a program with us as without.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use underbar_zoo::{
    Running, WAYS, Way, as_user, code, command, compiled, left, line, program, scratch, text, underbar,
};

const HUP: i32 = 1;
const INT: i32 = 2;
const KILL: i32 = 9;
const USR1: i32 = 10;
const TERM: i32 = 15;

// ---- exit codes ------------------------------------------------------------------------------------------

#[test]
fn the_exit_code_is_the_programs() {
    let exit3 = program("exit3");
    for way in WAYS {
        assert_eq!(code(left(&mut command(way, &[text(&exit3)])).status), 3, "{way:?}");
        for number in [0, 1, 101, 125, 126, 127, 139, 255] {
            let script = format!("exit {number}");
            let status = left(&mut command(way, &["/bin/sh", "-c", &script])).status;
            assert_eq!(code(status), number, "{way:?}");
        }
    }
}

#[test]
fn a_death_by_signal_is_seen_as_one() {
    let die = program("die");
    for way in WAYS {
        for signal in [KILL, 1, 2, 3, 6, 8, 10, 11, 13, 14, 15, 24, 31, 34, 64] {
            let status = left(&mut command(way, &[text(&die), &signal.to_string()])).status;
            assert_eq!(status.signal(), Some(signal), "{way:?}");
            // The shell's view, and whether we dumped our own core in addition to the program's.
            assert!(way == Way::Bare || !status.core_dumped() || way == Way::Replaced, "{signal}");
        }
        let line = line(way, &[text(&die), "9"]).join(" ");
        let shell = left(Command::new("/bin/sh").args(["-c", &format!("{line}; echo $?")]));
        assert_eq!(shell.output, "137\n", "{way:?}");
    }
}

#[test]
fn our_own_failures_have_codes_of_their_own() {
    let folder = scratch("codes");
    let not_executable = folder.join("data");
    fs::write(&not_executable, "data").expect("written");
    let no_interpreter = executable(&folder, "lost", "#!/no/such/interpreter\n");
    let run = |arguments: &[&str]| left(Command::new(underbar()).args(arguments));
    for before in [vec!["run", "--"], vec!["run", "-q", "--"], vec!["run", "-q", "--exec", "--"]] {
        for (program, expect) in [
            ("no-such-program", 127),
            ("/no/such/program", 127),
            ("", 127),
            (text(&no_interpreter), 127),
            (text(&not_executable), 126),
            (text(&folder), 126),
        ] {
            let result = run(&[before.as_slice(), &[program]].concat());
            assert_eq!(code(result.status), expect, "{before:?} {program}");
            assert!(result.error.starts_with("underbar: error: "), "{}", result.error);
            assert_eq!(result.output, "");
        }
    }
    for wrong in [
        vec!["run"],
        vec!["run", "--no-such-flag", "--", "true"],
        vec!["run", "--color", "mauve", "--", "true"],
        vec![],
        vec!["--no-such-flag"],
    ] {
        let result = run(&wrong);
        assert_eq!(code(result.status), 125, "{wrong:?}");
        assert_eq!(result.output, "");
    }
}

#[test]
fn a_program_without_a_verb_gets_a_hint() {
    let result = left(Command::new(underbar()).args(["/bin/ls", "-l"]));
    assert_eq!(code(result.status), 125);
    assert!(result.error.contains("did you mean `underbar run -- /bin/ls`?"), "{}", result.error);
}

// ---- streams ---------------------------------------------------------------------------------------------

#[test]
fn what_the_program_writes_is_unchanged_byte_for_byte() {
    let exit3 = program("exit3");
    let report = scratch("streams").join("report-%e");
    let bare = left(&mut command(Way::Bare, &[text(&exit3)]));
    for before in [
        vec!["run", "-q", "--"],
        vec!["run", "-o", text(&report), "--"],
        vec!["run", "-q", "-o", text(&report), "--"],
        vec!["run", "-q", "--exec", "--"],
    ] {
        let result = left(Command::new(underbar()).args(&before).arg(&exit3));
        assert_eq!(result, bare, "{before:?}");
    }
    let report = fs::read_to_string(report.with_file_name("report-exit3")).expect("the report");
    assert!(report.contains("exit3: exit 3"), "{report}");
}

#[test]
fn the_report_comes_after_the_program_on_standard_error_only() {
    let exit3 = program("exit3");
    let bare = left(&mut command(Way::Bare, &[text(&exit3)]));
    let result = left(Command::new(underbar()).args(["run", "--"]).arg(&exit3));
    assert_eq!((result.status, &result.output), (bare.status, &bare.output));
    let report = result.error.strip_prefix(&bare.error).expect("first what the program wrote");
    assert!(report.starts_with("underbar: "), "{report}");
    // --json, of a program that dies.
    let result = left(Command::new(underbar()).args(["run", "--json", "--", text(&program("die")), "9"]));
    assert!(result.error.starts_with("{\"schema\":\"underbar.report/1\""), "{}", result.error);
    assert!(result.error.contains("\"end\":{\"signal\":9}"), "{}", result.error);
    assert_eq!(result.status.signal(), Some(KILL));
}

#[test]
fn the_report_goes_where_the_options_say() {
    let folder = scratch("message-file");
    let option = format!("MSGFILE({}/%e-%h-of-%p)", text(&folder));
    let exit3 = program("exit3");
    let bare = left(&mut command(Way::Bare, &[text(&exit3)]));
    let run = |flags: &[&str]| {
        left(Command::new(underbar()).arg("run").args(flags).args(["--opts", &option, "--"]).arg(&exit3))
    };
    let files = || {
        let names = fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("a file").path());
        let files: Vec<_> = names.collect();
        let text = files.iter().map(|path| fs::read_to_string(path).expect("text")).collect::<String>();
        files.iter().for_each(|path| fs::remove_file(path).expect("removed"));
        (files, text)
    };
    assert_eq!(run(&[]), bare);
    let (paths, report) = files();
    assert!(paths.len() == 1 && text(&paths[0]).contains("/exit3-"), "{paths:?}");
    assert!(report.contains("exit3: exit 3"), "{report}");
    // A flag of the command itself has precedence.
    let result = run(&["-q"]);
    assert_eq!((result, files().0.len()), (bare.clone(), 0));
    let other = scratch("message-file-not").join("other");
    let result = run(&["-o", text(&other)]);
    assert_eq!((result, files().0.len()), (bare.clone(), 0));
    assert!(fs::read_to_string(&other).expect("the report").contains("exit3: exit 3"));
    // If it cannot be written, there is a message, and the report is not lost.
    let nowhere = ["run", "--opts", "MSGFILE(/no/such/folder/x)", "--"];
    let result = left(Command::new(underbar()).args(nowhere).arg(&exit3));
    assert_eq!(code(result.status), 3);
    assert!(
        result.error.contains("warning: the report could not be written to /no/such"),
        "{}",
        result.error
    );
    assert!(result.error.contains("exit3: exit 3"), "{}", result.error);
}

#[test]
fn a_report_that_cannot_be_written_changes_no_exit_code() {
    let exit3 = program("exit3");
    let result = left(Command::new(underbar()).args(["run", "-o", "/no/such/folder/x", "--"]).arg(&exit3));
    assert_eq!(code(result.status), 3);
    assert!(result.error.contains("warning: the report could not be written"), "{}", result.error);
    // It may be of a run of hours: printing it here is better than losing it, unless nothing is to be printed here.
    assert!(result.error.contains("exit3: exit 3"), "{}", result.error);
    let silent = ["run", "-q", "-o", "/no/such/folder/x", "--"];
    let result = left(Command::new(underbar()).args(silent).arg(&exit3));
    assert_eq!(code(result.status), 3);
    assert!(!result.error.contains("exit3: exit 3"), "{}", result.error);
    // A reader of standard error that has gone away is no failure.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut run = Command::new(underbar());
    let status = run.args(["run", "--", "/bin/sh", "-c", "exit 4"]).stderr(writer).status().expect("run");
    assert_eq!(code(status), 4);
}

#[test]
fn standard_input_is_the_programs() {
    for way in WAYS {
        let mut line = command(way, &["/bin/cat"]);
        let file = fs::File::open(env!("CARGO_MANIFEST_PATH")).expect("a file");
        let output = line.stdin(Stdio::from(file)).output().expect("run");
        assert_eq!(output.stdout, fs::read(env!("CARGO_MANIFEST_PATH")).expect("a file"), "{way:?}");
    }
}

// ---- what a program is given -----------------------------------------------------------------------------

/// The output of `given` in this way, after this shell code.
fn given(name: &str, way: Way, before: &str) -> String {
    let file = scratch(name).join("given");
    let quoted: Vec<String> = line(way, &[text(&program("given")), text(&file), "an argument", "", "x=y"])
        .iter()
        .map(|word| format!("'{word}'"))
        .collect();
    let mut shell = Command::new("/bin/bash");
    shell.args(["-c", &format!("{before}; exec {}", quoted.join(" "))]);
    shell.env_remove("LD_PRELOAD").env("MARK", "a\nvalue").stdin(Stdio::null());
    let status = as_user(&mut shell).status().expect("a shell");
    assert!(status.success(), "{way:?} after {before}: {status}");
    fs::read_to_string(file).expect("written")
}

#[test]
fn a_program_is_given_what_it_would_be_given_without_us() {
    for (number, before) in [
        "true",
        "exec <&-",
        "exec >&-",
        "exec 2>&-",
        "exec <&- >&- 2>&-",
        "exec 7</dev/null",
        "trap '' HUP INT PIPE CHLD USR1 TSTP",
        "trap '' TERM QUIT",
        "umask 027; ulimit -c 0 -n 100; renice -n 3 -p $$ >/dev/null",
        "export UNDERBAR_OPTS=X; export LD_LIBRARY_PATH=/nowhere A=",
        "unset HOME XDG_CACHE_HOME",
    ]
    .into_iter()
    .enumerate()
    {
        let name = |way: Way| format!("given-{number}-{way:?}");
        let mut bare = given(&name(Way::Bare), Way::Bare, before);
        for way in [Way::Wrapped, Way::Replaced] {
            let found = given(&name(way), way, before)
                .replace(&format!("{way:?}"), "Bare")
                .replace("variable _=", "\u{0}");
            bare = bare.replace("variable _=", "\u{0}");
            // bash puts the command into `_`, and that is the wrapper.
            let without =
                |text: &str| text.lines().filter(|l| !l.contains('\0')).collect::<Vec<_>>().join("\n");
            // The wrapper is the caller, and in the same group; without it the caller is the test.
            let same = |text: String| text.replace("caller 0", "caller 1");
            assert_eq!(same(without(&found)), same(without(&bare)), "{way:?} after {before}");
        }
    }
}

#[test]
fn little_address_space_is_enough() {
    for way in WAYS {
        let line = line(way, &[text(&program("exit3"))]).join(" ");
        let result = left(Command::new("/bin/sh").args(["-c", &format!("ulimit -v 40000; exec {line}")]));
        assert_eq!(
            (code(result.status), result.output.as_str()),
            (3, "a line on standard output\n"),
            "{way:?}"
        );
        assert_eq!(result.error, "a line on standard error\n");
    }
}

#[test]
fn few_descriptors_are_enough() {
    // With 3 no loader could open a library, ours included.
    for limit in 4..=8 {
        for way in WAYS {
            let line = line(way, &[text(&program("exit3"))]).join(" ");
            let result =
                left(Command::new("/bin/sh").args(["-c", &format!("ulimit -n {limit}; exec {line}")]));
            assert_eq!(
                (code(result.status), result.output.as_str(), result.error.as_str()),
                (3, "a line on standard output\n", "a line on standard error\n"),
                "{way:?} with {limit}"
            );
        }
        // A missing one is still reported.
        let line = line(Way::Wrapped, &["/no/such/program"]).join(" ");
        let result = left(Command::new("/bin/sh").args(["-c", &format!("ulimit -n {limit}; exec {line}")]));
        assert_eq!(code(result.status), 127, "{}", result.error);
    }
}

/// Each further library takes a tenth of a millisecond of every run.
#[test]
fn the_command_loads_the_c_library_and_nothing_else() {
    let loaded = left(Command::new(underbar()).env("LD_TRACE_LOADED_OBJECTS", "1")).output;
    let names: Vec<&str> = loaded.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"libc.so.6"), "{loaded}");
    let is_usual = |name: &&str| {
        ["linux-vdso.so", "libc.so.", "/lib64/ld-linux"].iter().any(|start| name.starts_with(start))
    };
    assert!(names.iter().all(is_usual), "{loaded}");
}

/// `cargo xtask layout` names them, and the linker places them together: otherwise each run would touch code all over the command. A name
/// of a generic function fits all of its instances, so there are more than a run needs.
#[test]
fn the_functions_of_a_run_lie_together() {
    let sections = left(Command::new("readelf").args(["--sections", "--wide"]).arg(underbar())).output;
    let of_a_run = sections.lines().find_map(|line| line.split_once(" .text.run ")).expect(&sections).1;
    let bytes = of_a_run.split_whitespace().nth(3).and_then(|size| usize::from_str_radix(size, 16).ok());
    assert!((64 * 1024..2 * 1024 * 1024).contains(&bytes.expect("a size")), "{of_a_run}");
}

#[test]
fn exec_keeps_the_process() {
    let mut running = Running::start(&mut command(Way::Replaced, &[text(&program("signals"))]));
    assert_eq!(running.line(), format!("ready {}", running.child.id()));
    running.send(TERM);
    assert_eq!(running.line(), "15");
    assert_eq!(running.end(), 7);
}

// ---- signals ---------------------------------------------------------------------------------------------

#[test]
fn a_signal_to_the_wrapper_reaches_the_programs_handler() {
    for way in WAYS {
        let mut running = Running::start(&mut command(way, &[text(&program("signals"))]));
        assert!(running.line().starts_with("ready"));
        for signal in [1, 2, 3, 6, USR1, 12, 13, 14, 23, 24, 26, 27, 28, 30, 35] {
            running.send(signal);
            assert_eq!(running.line(), signal.to_string(), "{way:?}");
        }
        running.send(TERM);
        assert_eq!(running.line(), "15");
        assert_eq!(running.end(), 7, "{way:?}");
    }
}

#[test]
fn a_signal_sent_with_a_value_arrives_with_it() {
    let signals = program("signals");
    for way in WAYS {
        let mut running = Running::start(&mut command(way, &[text(&signals)]));
        assert!(running.line().starts_with("ready"));
        let pid = running.child.id().to_string();
        for (signal, value) in [("35", "77"), ("35", "78"), ("10", "79")] {
            let sent = left(Command::new(&signals).args(["send", &pid, signal, value]));
            assert_eq!(code(sent.status), 0);
            assert_eq!(running.line(), format!("{signal} {value}"), "{way:?}");
        }
        running.send(TERM);
        assert_eq!(running.line(), "15");
        assert_eq!(running.end(), 7, "{way:?}");
    }
}

#[test]
fn what_the_program_sends_to_its_whole_group_reaches_it_once() {
    use std::os::unix::process::CommandExt;
    for way in WAYS {
        let mut line = command(way, &[text(&program("signals")), "group"]);
        let mut running = Running::start(line.process_group(0));
        assert!(running.line().starts_with("ready"));
        assert_eq!(running.line(), "35");
        // Signals of this kind queue up, the lowest first: a second 35 would come before this one.
        running.send(36);
        assert_eq!(running.line(), "36", "{way:?}");
        running.send(TERM);
        assert_eq!(running.line(), "15");
        assert_eq!(running.end(), 7, "{way:?}");
    }
}

#[test]
fn a_timer_that_was_set_before_us_is_the_programs() {
    // A shell has no alarm(2); perl has, and this is its idiom for a limit of time.
    let start = |way| {
        let line = line(way, &[text(&program("signals"))]);
        Running::start(Command::new("perl").args(["-e", "alarm 3; exec @ARGV", "--"]).args(line))
    };
    for (way, mut running) in WAYS.map(|way| (way, start(way))) {
        assert!(running.line().starts_with("ready"));
        assert_eq!(running.line(), "14", "{way:?}");
        running.send(TERM);
        assert_eq!(running.line(), "15");
        assert_eq!(running.end(), 7, "{way:?}");
    }
}

#[test]
fn a_terminal_that_goes_away_is_told_to_the_program() {
    let terminal = compiled("terminal", "terminal", &["-lutil"]);
    for way in WAYS {
        let line = line(way, &[text(&program("signals")), "quiet"]);
        let result = left(Command::new(&terminal).arg("hangup").args(line));
        assert_eq!(
            result.output, "ready\n1\n18\njob exited with 7\r\n",
            "{way:?}: {:?} {}",
            result.status, result.error
        );
    }
}

#[test]
fn a_signal_without_a_handler_kills_both_alike() {
    for way in WAYS {
        let script = "echo ready; exec sleep 1000";
        let mut running = Running::start(&mut command(way, &["/bin/sh", "-c", script]));
        assert_eq!(running.line(), "ready");
        running.send(TERM);
        assert_eq!(running.end(), -TERM, "{way:?}");
    }
}

/// Sends the program `signals` one signal after another: it prints the number of each, and ends after TERM.
#[track_caller]
fn hears(mut running: Running, signals: &[i32]) {
    for &signal in signals {
        running.send(signal);
        assert_eq!(running.line(), signal.to_string());
    }
    assert_eq!(running.end(), 7);
}

#[test]
fn what_was_ignored_stays_ignored() {
    for way in WAYS {
        let line = line(way, &[text(&program("signals"))]).join(" ");
        let mut shell = Command::new("/bin/sh");
        let mut running = Running::start(shell.args(["-c", &format!("trap '' HUP; exec {line}")]));
        assert!(running.line().starts_with("ready"));
        running.send(HUP);
        hears(running, &[USR1, TERM]);
    }
}

#[test]
fn what_was_ignored_is_sent_on_to_a_program_that_listens_all_the_same() {
    for way in WAYS {
        // As a shell starts a background program.
        let line = line(way, &[text(&program("signals")), "anyhow"]).join(" ");
        let mut shell = Command::new("/bin/sh");
        let mut running = Running::start(shell.args(["-c", &format!("trap '' INT QUIT; exec {line}")]));
        assert!(running.line().starts_with("ready"));
        hears(running, &[INT, TERM]);
    }
}

#[test]
fn the_death_of_the_wrapper_leaves_no_orphan() {
    let mut running = Running::start(&mut command(Way::Wrapped, &[text(&program("signals"))]));
    let ready = running.line();
    let pid: i32 = ready.strip_prefix("ready ").and_then(|pid| pid.parse().ok()).expect("a process");
    assert_ne!(pid.unsigned_abs(), running.child.id());
    running.send(KILL);
    // The end of the output: there is no writer left. Would hang if the program lived on.
    assert_eq!(running.line(), "");
    assert_eq!(running.end(), -KILL);
}

#[test]
fn a_program_that_runs_is_told_to_continue() {
    const CONT: i32 = 18;
    for way in WAYS {
        let mut running = Running::start(&mut command(way, &[text(&program("signals"))]));
        assert!(running.line().starts_with("ready"));
        running.send(CONT);
        assert_eq!(running.line(), "18", "{way:?}");
        running.send(TERM);
        assert_eq!(running.line(), "15");
        assert_eq!(running.end(), 7);
    }
}

#[test]
fn a_program_stopped_and_continued_by_somebody_else_runs_on() {
    let mut running = Running::start(&mut command(Way::Wrapped, &[text(&program("signals"))]));
    let ready = running.line();
    let pid: i32 = ready.strip_prefix("ready ").and_then(|pid| pid.parse().ok()).expect("a process");
    const STOP: i32 = 19;
    const CONT: i32 = 18;
    underbar_sys::syscall::kill(pid, STOP).expect("stopped");
    underbar_sys::syscall::kill(pid, CONT).expect("continued");
    assert_eq!(running.line(), "18");
    running.send(TERM);
    assert_eq!(running.line(), "15");
    assert_eq!(running.end(), 7);
}

/// Whether a process is stopped.
fn is_stopped(pid: i32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).expect("its state");
    state.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// A caller sees it stopped by `waitpid(..., WUNTRACED)`, also without a terminal.
#[test]
fn a_program_that_stops_itself_is_seen_as_stopped() {
    for (signal, status) in [("STOP", 147), ("TSTP", 148)] {
        for way in WAYS {
            let program = ["/bin/sh", "-c", &format!("'kill -{signal} $$; exit 3'")];
            let line = line(way, &program).join(" ");
            // With job control, bash waits for a change of the job.
            let script = format!("set -m; {line} & wait $!; echo $?; kill -CONT -- -$!; wait $!; echo $?");
            let mut bash = Command::new("timeout");
            let result = left(bash.args(["60", "bash", "-c", &script]));
            let expect = format!("{status}\n3\n");
            assert_eq!(result.output, expect, "{way:?} {signal}: {}", result.error);
        }
    }
}

#[test]
fn the_wrapper_of_a_stopped_program_goes_on_with_it() {
    const STOP: i32 = 19;
    const CONT: i32 = 18;
    let stopped = || {
        let mut running = Running::start(&mut command(Way::Wrapped, &[text(&program("signals"))]));
        let ready = running.line();
        let pid: i32 = ready.strip_prefix("ready ").and_then(|pid| pid.parse().ok()).expect("a process");
        underbar_sys::syscall::kill(pid, STOP).expect("stopped");
        let begin = std::time::Instant::now();
        while !is_stopped(running.child.id().cast_signed()) {
            assert!(begin.elapsed().as_secs() < 60, "the wrapper runs");
            std::thread::yield_now();
        }
        (running, pid)
    };
    // Continued by somebody who does not know of the wrapper.
    let (mut running, pid) = stopped();
    underbar_sys::syscall::kill(pid, CONT).expect("continued");
    assert_eq!(running.line(), "18");
    running.send(TERM);
    assert_eq!(running.line(), "15");
    assert_eq!(running.end(), 7);
    // Only the wrapper is continued.
    let (mut running, _) = stopped();
    running.send(CONT);
    assert_eq!(running.line(), "18");
    running.send(TERM);
    assert_eq!(running.line(), "15");
    assert_eq!(running.end(), 7);
    // Ended while it is stopped.
    let (running, pid) = stopped();
    underbar_sys::syscall::kill(pid, KILL).expect("ended");
    assert_eq!(running.end(), -KILL);
}

#[test]
fn ctrl_c_and_ctrl_z_are_what_they_are_without_us() {
    let terminal = compiled("terminal", "terminal", &["-lutil"]);
    for mode in ["interrupt", "stop", "alone"] {
        let transcript = |way| {
            let line = line(way, &[text(&program("signals")), "quiet"]);
            let result = left(Command::new(&terminal).arg(mode).args(line));
            assert_eq!(code(result.status), 0, "{mode} {way:?}: {}{}", result.output, result.error);
            result.output
        };
        let bare = transcript(Way::Bare);
        assert!(bare.ends_with("job exited with 7\r\n"), "{bare}");
        assert_eq!(transcript(Way::Wrapped), bare, "{mode}");
        assert_eq!(transcript(Way::Replaced), bare, "{mode}");
    }
}

// ---- scripts ---------------------------------------------------------------------------------------------

fn executable(folder: &std::path::Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    underbar_zoo::executable::write(&path, text);
    path
}

#[test]
fn scripts_run_with_and_without_a_first_line() {
    let folder = scratch("scripts");
    let with = executable(&folder, "with", "#!/bin/sh\necho \"$@\"; exit 4\n");
    let without = executable(&folder, "without", "echo \"$@\"; exit 4\n");
    for script in [with, without] {
        for way in [Way::Wrapped, Way::Replaced] {
            let result = left(&mut command(way, &[text(&script), "a", "b c"]));
            assert_eq!((code(result.status), result.output.as_str()), (4, "a b c\n"), "{way:?} {script:?}");
            assert_eq!(result.error, "");
        }
    }
}

// ---- other preloaded libraries ---------------------------------------------------------------------------

/// A function that another library defines in place of the C library's may ask for storage: underbar calls none while it holds a
/// lock of the heap.
#[test]
fn a_clock_of_another_library_may_ask_for_storage() {
    let clock = compiled("heap/clock", "heap-clock.so", &["-shared", "-fPIC", "-DLIBRARY"]);
    let program = compiled("heap/clock", "heap-clock", &[]);
    for options in ["", "HEAP(,,,FREE)", "HEAPCHK(ON)", "HEAP(1M,1M,,KEEP),LOCK(SIMPLE)"] {
        let line = ["60", text(underbar()), "run", "-q", "--opts", options, "--", text(&program)];
        let result = left(Command::new("timeout").args(line).env("LD_PRELOAD", &clock));
        assert_eq!(
            (code(result.status), result.output.as_str()),
            (0, "done\n"),
            "{options}: {}",
            result.error
        );
    }
}
