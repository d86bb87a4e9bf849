//! Switches against the kernel's own calls (`strace`), and CPU time by component against what threads say of their own.

use super::*;

/// Calls of a program in `strace`, of these names.
fn calls(lines: &str, names: &[&str]) -> u64 {
    let is_one = |line: &&str| {
        names.iter().any(|name| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('(')))
    };
    lines.lines().filter(is_one).count() as u64
}

pub(super) fn read_and_write_calls_are_those_of_the_kernel() {
    if code(left(Command::new("/bin/sh").args(["-c", "strace -o /dev/null true"])).status) != 0 {
        return skipped("switches against the kernel's calls: strace does not work here");
    }
    let program =
        text(&compiled("switches/known", "switches-known", &["-pthread", "-fno-builtin"])).to_owned();
    let file = scratch("figures-switches").join("trace");
    for mode in ["write", "read"] {
        let account = account("SWITCHES(ON)", &[&program, mode]);
        let line = ["strace", "-o", text(&file), "--", &program, mode];
        assert_eq!(code(left(Command::new(line[0]).args(&line[1..])).status), 0);
        let trace = fs::read_to_string(&file).expect("the trace");
        let (reads, writes) = (calls(&trace, &["read", "pread64"]), calls(&trace, &["write"]));
        assert!(reads.max(writes) >= 10_000, "{mode}: {reads} {writes}");
        // The loader reads the headers of libraries before anything counts.
        let before = 8;
        for (key, all) in [
            (Key::SwitchReads, reads),
            (Key::SwitchKernelReads, reads),
            (Key::SwitchWrites, writes),
            (Key::SwitchKernelWrites, writes),
        ] {
            between(&account, key, all.saturating_sub(before)..=all);
        }
    }
}

/// A program of two threads: options, and how often the library writes in between.
fn placed(options: &str, times: &str) -> Account {
    let program = text(&compiled("figures/placed", "figures-placed", &["-pthread"])).to_owned();
    let library = text(&compiled("switches/opened", "switches-opened.so", &["-shared", "-fPIC"])).to_owned();
    account(options, &[&program, &library, times])
}

/// What the program says, more or less: the start and the end of a process are not in it.
fn about(account: &Account, key: Key, said: u64) {
    let found = account.get(key);
    let most = said + said / 2 + 200_000_000;
    assert!(
        (said / 10 * 9..=most).contains(&found),
        "{} is {found}, the program says {said}",
        key.entry().key
    );
}

pub(super) fn time_of_components_is_that_of_the_threads() {
    let [few, many] = ["3", "23"].map(|times| placed("ZIIP(STAT,ELIGIBLE(figures-placed))", times));
    about(&few, Key::SwitchEligible, few.said("thread") + few.said("main"));
    // Each write of the library ends a run of the program's.
    assert_eq!(many.get(Key::SwitchRuns) - few.get(Key::SwitchRuns), 20);
    let other = placed("ZIIP(STAT,ELIGIBLE(libnone))", "3");
    about(&other, Key::SwitchIneligible, other.said("thread") + other.said("main"));
}

pub(super) fn time_of_placed_threads_is_that_of_their_clocks() {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list");
    let first: String = allowed.trim().chars().take_while(char::is_ascii_digit).collect();
    let with = placed(&format!("ZIIP(ELIGIBLE(figures-placed),CPUS({first}))"), "3");
    exact(&with, Key::ClassThreads, 1);
    exact(&with, Key::ClassRefused, 0);
    about(&with, Key::ClassTime, with.said("thread"));
    about(&with, Key::ClassOtherTime, with.said("main"));
    let refused = placed("ZIIP(ELIGIBLE(figures-placed),CPUS(1023))", "3");
    exact(&refused, Key::ClassThreads, 0);
    exact(&refused, Key::ClassRefused, 1);
}
