//! `underbar profile --sampler timer`: samples by a timer in each thread, for machines that forbid the kernel's own.
//!
//! Figures are shares of samples, or compared with the kernel's accounts of the same run.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use underbar_sys::syscall::tick_nanoseconds;
use underbar_zoo::{Left, code, compiled, left, program, skip, text, try_compiled, underbar};

/// About a second on a machine of 3 GHz.
const COUNT: &str = "180000000";

fn hot() -> String {
    text(&compiled("hot", "hot", &["-pthread"])).to_owned()
}

fn sampled() -> String {
    text(&compiled("sampled", "sampled", &["-pthread", "-ldl"])).to_owned()
}

fn profiled(flags: &[&str], words: &[&str]) -> Left {
    left(Command::new(underbar()).args(["profile", "--sampler", "timer"]).args(flags).arg("--").args(words))
}

/// The profile of a run that ends with this code, and its output.
fn profile(end: i32, words: &[&str]) -> (Value, String) {
    let left = profiled(&["--json"], words);
    assert_eq!(code(left.status), end, "{}{}", left.output, left.error);
    let profile: Value =
        serde_json::from_str(&left.error).unwrap_or_else(|error| panic!("{error}: {}", left.error));
    assert_eq!((&profile["sampler"], &profile["event"]), (&"timer".into(), &"thread-timer".into()));
    assert_eq!(rows(&profile).map(|row| number(&row["count"])).sum::<u64>(), number(&profile["samples"]));
    assert_eq!(number(&profile["lost"]), 0, "{profile}");
    (profile, left.output)
}

fn rows(profile: &Value) -> impl Iterator<Item = &Value> {
    profile["instructions"].as_array().expect("rows").iter()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// The share of samples in `locked`, of which there are enough for a statement.
fn part_in_locked(profile: &Value) -> f64 {
    let samples = number(&profile["samples"]);
    assert!(samples >= 20, "{profile}");
    let locked = rows(profile).filter(|row| row["function"] == "locked");
    locked.map(|row| number(&row["count"])).sum::<u64>() as f64 / samples as f64
}

fn notes(profile: &Value) -> String {
    profile["notes"].to_string()
}

#[test]
fn the_slow_instruction_has_the_samples() {
    for (what, function, instruction) in [("lock", "locked", "lock inc"), ("divide", "divided", "div")] {
        let (profile, output) = profile(5, &[&hot(), what, COUNT]);
        assert_eq!(output.lines().last(), Some(what));
        let is_it = |row: &&Value| {
            row["function"] == function
                && row["instruction"].as_str().is_some_and(|text| text.starts_with(instruction))
        };
        let counted: u64 = rows(&profile).filter(is_it).map(|row| number(&row["count"])).sum();
        let samples = number(&profile["samples"]);
        assert!(samples >= 20 && counted as f64 > 0.85 * samples as f64, "{what}: {profile}");
        assert!(notes(&profile).contains("as requested"), "{profile}");
    }
}

#[test]
fn samples_are_cpu_time_at_the_rate_of_the_tick() {
    let (profile, _) = profile(5, &[&hot(), "threads", COUNT]);
    let most = 1e9 / tick_nanoseconds() as f64;
    let (rate, asked) =
        (profile["true_rate_hz"].as_f64().expect("a rate"), number(&profile["rate_hz"]) as f64);
    // Fewer if the processor itself was taken away (a virtual machine's); more if others use it, since slices of time
    // end at ticks, which so meet a running thread more often than its share of the time.
    assert!((0.5..1.35).contains(&(rate / asked.min(most))), "{rate} of {most}: {profile}");
    let used = (number(&profile["user_ns"]) + number(&profile["system_ns"])) as f64 / 1e9;
    assert!((number(&profile["samples"]) as f64 / used / rate - 1.0).abs() < 0.01, "{profile}");
    assert!((4..=5).contains(&number(&profile["threads"])), "{profile}");
    assert!(part_in_locked(&profile) > 0.9, "{profile}");
    if asked > most {
        assert!(notes(&profile).contains("kernel's tick allows"), "{profile}");
    }
}

#[test]
fn a_lower_rate_is_kept() {
    let left = profiled(&["--json", "--rate", "20"], &[&hot(), "threads", COUNT]);
    let profile: Value = serde_json::from_str(&left.error).expect("JSON");
    let rate = profile["true_rate_hz"].as_f64().expect("a rate");
    assert!((8.0..27.0).contains(&rate), "{profile}");
    assert!(!notes(&profile).contains("kernel's tick allows"), "{profile}");
}

#[test]
fn children_and_what_they_execute_are_sampled() {
    let (profile, _) = profile(5, &[&hot(), "tree", COUNT]);
    assert!((2..=3).contains(&number(&profile["processes"])), "{profile}");
    assert!(part_in_locked(&profile) > 0.9, "{profile}");
}

#[test]
fn what_blocks_is_not_disturbed_and_errno_is_kept() {
    for (what, said) in [
        ("blocked", "interrupted 0 times\n"),
        ("reads", "interrupted 0 times\n"),
        ("errno", "errno 0 times wrong\n"),
    ] {
        let (profile, output) = profile(5, &[&sampled(), what, COUNT]);
        assert_eq!(output, said, "{what}: {profile}");
        assert!(number(&profile["samples"]) >= 20, "{what}: {profile}");
    }
}

#[test]
fn the_programs_signals_are_its_own() {
    for what in ["masked", "defaults", "churn"] {
        let (profile, output) = profile(5, &[&sampled(), what, COUNT]);
        assert_eq!(output.trim_end(), what);
        assert!(part_in_locked(&profile) > 0.8, "{what}: {profile}");
        assert!(!notes(&profile).contains("not sampled"), "{what}: {profile}");
    }
    // It took all signals, so the timers stopped; earlier samples stay.
    let (profile, output) = profile(5, &[&sampled(), "taken", COUNT]);
    let words: Vec<&str> = output.split([' ', ',', '\n']).filter(|word| !word.is_empty()).collect();
    let [_, found, _, early, late, _, raised, _, of] = words[..] else { panic!("{output}") };
    assert_eq!((found, early, late, raised), ("0", "0", "0", of), "{output}");
    assert!(notes(&profile).contains("1 process after taking signal"), "{profile}");
    assert!(part_in_locked(&profile) > 0.8, "{profile}");
}

#[test]
fn a_signal_from_elsewhere_ends_the_program_as_without_us() {
    for signal in 34..=64 {
        let script = format!("kill -{signal} $$; exit 3");
        let bare = left(Command::new("sh").args(["-c", &script]));
        let sampled = profiled(&["-q"], &["sh", "-c", &script]);
        assert_eq!(code(sampled.status), code(bare.status), "{signal}: {}", sampled.error);
    }
}

#[test]
fn a_program_that_locks_itself_in_lives() {
    let (profile, output) = profile(5, &[&sampled(), "locks-in", COUNT]);
    assert_eq!(output, "locks-in\n");
    assert!(notes(&profile).contains("1 process after forbidding system calls"), "{profile}");
    assert!(part_in_locked(&profile) > 0.8, "{profile}");
}

#[test]
fn what_was_sampled_before_a_kill_is_there() {
    let (profile, output) = profile(-9, &[&sampled(), "killed", COUNT]);
    assert_eq!(output, "killed\n");
    assert!(part_in_locked(&profile) > 0.9, "{profile}");
}

#[test]
fn libraries_that_come_late_are_known() {
    let library = compiled("hot", "late.so", &["-shared", "-fPIC"]);
    let (profile, _) = profile(5, &[&sampled(), "loads", COUNT, text(&library)]);
    let is_there = |row: &Value| {
        row["program"].as_str().is_some_and(|name| name.ends_with("/late.so")) && row["function"] == "locked"
    };
    assert!(rows(&profile).any(is_there), "{profile}");
    assert!(part_in_locked(&profile) > 0.9, "{profile}");
}

#[test]
fn lines_of_source_are_named_where_the_program_has_them() {
    let with_lines = compiled("hot", "hot-lines", &["-pthread", "-g"]);
    let (profile, _) = profile(5, &[text(&with_lines), "lock", COUNT]);
    let source = include_str!("../programs/hot.c");
    let first = source.lines().position(|line| line.contains("void locked(")).expect("its function") + 1;
    let is_there = |row: &Value| {
        let Some((file, line)) = row["line"].as_str().and_then(|line| line.rsplit_once(':')) else {
            return false;
        };
        let line: usize = line.parse().expect("a number");
        file.ends_with("/hot.c") && (first..first + 4).contains(&line)
    };
    assert!(rows(&profile).filter(|row| row["function"] == "locked").all(is_there), "{profile}");
    assert!(part_in_locked(&profile) > 0.9, "{profile}");
}

#[test]
fn programs_that_are_not_sampled_are_counted_and_one_that_cannot_be_is_not_run() {
    let fixed = match try_compiled("hot", "hot-static", &["-pthread", "-static"]) {
        Ok(program) => program,
        Err(error) => {
            return skip(&format!("a static program: {}", error.lines().next().unwrap_or_default()));
        }
    };
    let script = format!("{0} lock 10; {0} lock 10; exit 0", text(&fixed));
    let (profile, output) = profile(0, &["sh", "-c", &script]);
    assert_eq!(output, "lock\nlock\n");
    assert!(notes(&profile).contains("not sampled: 2 started programs: statically linked"), "{profile}");
    // A limit on the size of files, so there is no room for its samples.
    let script = format!("ulimit -f 120; exec {} lock {COUNT}", text(&compiled("hot", "hot", &["-pthread"])));
    let (profile, output) = self::profile(5, &["sh", "-c", &script]);
    assert_eq!(output, "lock\n");
    assert!(notes(&profile).contains("not sampled: 1 process made by other means"), "{profile}");
    let left = profiled(&[], &[text(&fixed), "lock", "10"]);
    assert_eq!((code(left.status), left.output.as_str()), (125, ""));
    assert!(
        left.error.starts_with("underbar: error: nothing was run: ")
            && left.error.contains("linked statically"),
        "{}",
        left.error
    );
}

#[test]
fn the_program_is_seen_as_without_it() {
    let of = |script: &str| code(profiled(&["-q"], &["sh", "-c", script]).status);
    assert_eq!((of("exit 3"), of("kill -TERM $$"), of("kill -SEGV $$")), (3, -15, -11));
    for (program, expect) in [("/no/such/program", 127), ("/etc/passwd", 126), ("/", 126)] {
        let left = profiled(&[], &[program]);
        assert_eq!((code(left.status), left.output.as_str()), (expect, ""), "{}", left.error);
    }
    let same = profiled(&["-q"], &["sh", "-c", "echo out; echo error >&2"]);
    assert_eq!((code(same.status), same.output.as_str(), same.error.as_str()), (0, "out\n", "error\n"));
}

#[test]
fn where_the_kernel_may_not_sample_timers_do_and_it_is_said() {
    let (unsampled, hot) = (program("unsampled"), hot());
    let filtered = |flags: &[&str], words: &[&str]| {
        let mut command = Command::new(&unsampled);
        left(command.arg(underbar()).arg("profile").args(flags).arg("--").args(words))
    };
    let fallen_back = filtered(&[], &[&hot, "lock", COUNT]);
    assert_eq!(
        (code(fallen_back.status), fallen_back.output.as_str()),
        (5, "lock\n"),
        "{}",
        fallen_back.error
    );
    let mut lines = fallen_back.error.lines();
    assert!(
        lines.next().is_some_and(|line| line.starts_with("underbar profile: hot: ")),
        "{}",
        fallen_back.error
    );
    let note = lines.next().unwrap_or_default();
    assert!(
        note.starts_with("sampled by a timer in each thread: ")
            && ["filter", "perf_event_paranoid"].iter().any(|word| note.contains(word)),
        "{note}"
    );
    assert!(fallen_back.error.contains("hot - locked") && fallen_back.error.contains("lock inc"));
    // Requested by name, the kernel is the only sampler.
    let refused = filtered(&["--sampler", "perf"], &[&hot, "lock", "1"]);
    assert_eq!((code(refused.status), refused.output.as_str()), (125, ""), "{}", refused.error);
    assert!(refused.error.contains("--sampler timer"), "{}", refused.error);
    let Ok(fixed) = try_compiled("hot", "hot-static", &["-pthread", "-static"]) else {
        return skip("neither way: no static programs here");
    };
    let neither = filtered(&[], &[text(&fixed), "lock", "1"]);
    assert_eq!((code(neither.status), neither.output.as_str()), (125, ""), "{}", neither.error);
    for words in ["nothing was run: ", "and timers in its threads cannot sample it", "linked statically"] {
        assert!(neither.error.contains(words), "{}", neither.error);
    }
}
