//! Thread storage against the buffers of a program, limits against its processes, timers against the calls that it makes (`strace`).

use super::*;

pub(super) fn a_reservation_holds_the_buffers_that_fit() {
    const MIB: u64 = 1 << 20;
    let program = program("churn");
    let used = account("THSIZE(64M)", &[&program, "50"]);
    exact(&used, Key::ThreadStorageSize, 64 * MIB);
    exact(&used, Key::ThreadStorageOutside, 0);
    // Twenty buffers of 200,000 bytes to 3.81 MB are held together; standard output's buffer, and what the loader got, too.
    let buffers: u64 = (0..20).map(|at| 200_000 + 190_000 * at).sum();
    between(&used, Key::ThreadStorageReached, buffers..=buffers + MIB);
    // None of these fits, and each gets a segment.
    let held = account("THSIZE(8M)", &[&program, "0", "5"]);
    exact(&held, Key::ThreadStorageSize, 8 * MIB);
    exact(&held, Key::ThreadStorageOutside, 5);
}

pub(super) fn limits_are_those_of_the_processes() {
    let program = program("burns");
    let account = account("MT(7)", &[&program, "0.1", "forked"]);
    exact(&account, Key::CpuLimit, 7);
    // The program has made one child.
    let all = Account { section: account.report["tree"].clone(), ..account };
    exact(&all, Key::CpuLimitStarts, 2);
    exact(&all, Key::CpuLimitByKernel, 0);
    // Nobody watches a program without a parent.
    let ledger = scratch("figures-limits").join("ledger");
    let mut run = Command::new(underbar());
    run.args(["run", "--exec", "-o", text(&ledger), "--opts", "MT(7)", "--", &program, "0.1", "forked"]);
    let alone = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert_eq!(alone.output, "child status 0\n", "{alone:?}");
    let left = left(Command::new(underbar()).args(["report", "--json", text(&ledger)]));
    let report: Value = serde_json::from_str(&left.output).expect("a report");
    let alone = Account { section: report["tree"].clone(), report, left };
    exact(&alone, Key::CpuLimitStarts, 2);
    exact(&alone, Key::CpuLimitByKernel, 2);
}

pub(super) fn timers_are_those_that_the_program_sets() {
    const SETS: u64 = 5_000;
    let program = text(&compiled("timers", "timers", &[])).to_owned();
    let account = |how: &str, timer: &str, sets: u64| {
        account("TIMER(COALESCE)", &[&program, timer, &sets.to_string(), how])
    };
    for timer in ["setitimer", "posix"] {
        let all = account("all", timer, SETS);
        exact(&all, Key::TimerSet, all.said("sets"));
        // Each of these was set again often enough before.
        exact(&all, Key::TimerSent, all.said("near"));
    }
    // A machine with other work may let the program sleep over the time that it sets first, or the sleeper until it has set another.
    let is_in_time = |early: &Account| early.said("signals") == 0 && early.get(Key::TimerEarly) > 0;
    let early = (0..20).map(|_| account("early", "setitimer", 20)).find(is_in_time);
    exact(&early.expect("a run in time"), Key::TimerEarly, 1);
    let file = scratch("figures-timers").join("trace");
    let strace = ["strace", "-f", "-o", text(&file), "-e", "trace=setitimer,futex", "--"];
    if code(left(Command::new("/bin/sh").args(["-c", "strace -o /dev/null true"])).status) != 0 {
        return skipped("timers against the kernel's calls: strace does not work here");
    }
    let number = SETS.to_string();
    let line = [&strace[..], &[program.as_str(), "setitimer", &number, "later"]].concat();
    let later = account_of(&["--opts", "TIMER(COALESCE)"], &line, &program);
    let trace = fs::read_to_string(file).expect("the trace");
    let (thread, _) = trace.split_once(' ').expect("the number of the first thread");
    let of_program = trace.lines().filter(|line| line.starts_with(thread));
    let (mut set, mut woken) = (0, 0);
    for line in of_program {
        set += u64::from(line.contains("setitimer("));
        woken += u64::from(line.contains("FUTEX_WAKE_PRIVATE"));
    }
    // One call more took the timer out of the kernel, to keep it; the sleeper may have been woken for that one.
    exact(&later, Key::TimerSet, SETS + 1);
    let swallowed = later.get(Key::TimerSwallowed);
    assert!(set > 1 && set < 20 && woken <= 2, "{trace}");
    assert!(
        (SETS + 1 - (set - 1) - woken..=SETS + 1 - (set - 1)).contains(&swallowed),
        "{swallowed}: {trace}"
    );
}
