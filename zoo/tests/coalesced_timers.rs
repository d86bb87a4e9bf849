//! TIMER(COALESCE) against plain timers: signals come no earlier and none is missing, whatever kind of timer and however often it is set.
//!
//! ```text
//! timers.c   counts by itself what was left of each timer, signals, and signals before their time
//! chance.c   sets, ends and reads timers by chance, and compares what it is told with its own clock
//! ```

use std::process::Command;

use serde_json::Value;
use underbar_zoo::{Left, Way, code, command, compiled, left, skip, text, underbar};

/// The program plain, and under TIMER(COALESCE) with its report.
fn both(program: &str, words: &[&str]) -> (Left, Left, Value) {
    let plain = left(&mut command(Way::Bare, &[&[program], words].concat()));
    let run = ["run", "--json", "--opts", "TIMER(COALESCE)", "--", program];
    let mut ours = Command::new(underbar());
    let ours = left(ours.args(run).args(words).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    let (_, report) = ours.error.split_once('{').unwrap_or_else(|| panic!("{ours:?}"));
    let report = serde_json::from_str(&format!("{{{report}")).expect("a report");
    (plain, ours, report)
}

fn timers(report: &Value, name: &str) -> u64 {
    report["tree"]["counters"]["timer"][name].as_u64().unwrap_or_else(|| panic!("{name} in {report}"))
}

#[test]
fn each_signal_comes_in_its_time() {
    let program = compiled("timers", "timers", &[]);
    for timer in ["setitimer", "posix", "alarm"] {
        let (plain, ours, report) = both(text(&program), &[timer, "20000", "all"]);
        assert_eq!(code(plain.status), 0, "{timer}: {plain:?}");
        assert_eq!((code(ours.status), &ours.output), (0, &plain.output), "{timer}");
        let (set, swallowed) = (timers(&report, "set"), timers(&report, "swallowed"));
        assert!(set >= 20_000 && set - swallowed < 1_000, "{timer}: {swallowed} of {set}");
    }
}

/// Orders of settings by chance, also from a signal's handler, from two threads, across fork, vfork and exec.
#[test]
fn settings_by_chance_are_answered_as_plain() {
    let program = compiled("timers_chance", "timers-chance", &["-pthread"]);
    for seed in 1..=6 {
        for how in ["alone", "threads", "fork", "exec"] {
            let (plain, ours, _) = both(text(&program), &[how, &seed.to_string()]);
            assert_eq!(
                (code(plain.status), plain.output.as_str()),
                (0, "right\n"),
                "{how} {seed}: {plain:?}"
            );
            assert_eq!((code(ours.status), ours.output.as_str()), (0, "right\n"), "{how} {seed}: {ours:?}");
        }
    }
}

/// Its thread would keep rights that the process gives up.
#[test]
fn a_process_that_changes_its_user_has_no_thread_of_ours() {
    let program = compiled("timers_chance", "timers-chance", &["-pthread"]);
    let (plain, ours, report) = both(text(&program), &["rights", "1"]);
    for left in [&plain, &ours] {
        assert_eq!((code(left.status), left.output.as_str()), (0, "right\n"), "{left:?}");
    }
    assert!(timers(&report, "swallowed") > 0, "{report}");
}

/// perl's `alarm` around each step of a loop, as scripts and servers limit their requests.
#[test]
fn a_real_program_that_limits_its_steps() {
    const STEPS: &str = "$SIG{ALRM} = sub { die qq(late\\n) }; my $n = 0; \
        for (1..20000) { alarm 30; $n += $_ & 1; alarm 0 } \
        alarm 1; my $r = eval { select undef, undef, undef, 20; 1 } ? 'missed' : $@; print qq($n $r);";
    if Command::new("perl").arg("-v").output().is_err() {
        return skip("a real program that limits its steps: needs perl");
    }
    let (plain, ours, report) = both("perl", &["-e", STEPS]);
    assert_eq!(plain.output, "10000 late\n", "{plain:?}");
    assert_eq!((code(ours.status), &ours.output), (0, &plain.output), "{ours:?}");
    let (set, swallowed) = (timers(&report, "set"), timers(&report, "swallowed"));
    assert!(set == 40_001 && set - swallowed < 100, "{swallowed} of {set}");
}
