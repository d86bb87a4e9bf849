//! Switches against the kernel's own calls (`strace`).

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
