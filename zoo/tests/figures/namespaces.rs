//! Processes with numbers of another namespace than those of the programs around them.

use super::*;

/// More short programs than the ledger has slots, so that slots are reused after their owners have ended.
const MANY: u64 = 400;

/// Runs `script` as `sh -c` in a new namespace of process numbers; `flags` are more of `unshare`.
fn inside(flags: &str, script: &str) -> String {
    format!("unshare {flags} sh -c '{script}'")
}

fn can_unshare(flags: &str) -> bool {
    code(left(Command::new("unshare").args(flags.split(' ')).arg("true")).status) == 0
}

fn of_program<'a>(report: &'a Value, name: &str) -> Vec<&'a Value> {
    let sections = report["processes"].as_array().expect("processes").iter();
    sections.filter(|section| section["program"].as_str().is_some_and(|path| path.ends_with(name))).collect()
}

/// A look from inside counted every outer process as dead, since no process there has its number: their slots were reused while
/// they wrote to them.
#[test]
fn who_looks_from_another_namespace_takes_nobody_for_dead() {
    let loop_of = format!("i=0; while [ $i -lt {MANY} ]; do /bin/true; i=$((i+1)); done");
    let gets = |section: &Value| figure(section, Key::HeapGets);
    let alone = account_of(&[], &["/bin/true"], text(&fs::canonicalize("/bin/true").expect("true")));
    for flags in ["-pf", "-pf --mount-proc", "-Urpf --mount-proc", "-Upf"] {
        if !can_unshare(flags) {
            skipped(&format!("unshare {flags} is not allowed here"));
            continue;
        }
        // Both `cat` wait for the end of the loop.
        let script = format!("{} | cat | cat", inside(flags, &loop_of));
        let account = account_of(
            &[],
            &["/bin/sh", "-c", &script],
            text(&fs::canonicalize("/bin/sh").expect("a shell")),
        );
        assert_eq!((code(account.left.status), account.left.error.as_str()), (0, ""), "{flags}");
        let report = &account.report;
        let cats = of_program(report, "/cat");
        let states: Vec<_> = cats.iter().map(|cat| (&cat["state"], &cat["processes"])).collect();
        assert_eq!(states, [(&"ended".into(), &1.into()); 2], "{flags}: each has its own section");
        assert_eq!(gets(cats[0]), gets(cats[1]), "{flags}");
        let short = of_program(report, "/true");
        let sum = |get: &dyn Fn(&Value) -> u64| short.iter().map(|section| get(section)).sum::<u64>();
        let runs = |section: &Value| section["processes"].as_u64().expect("a count");
        assert_eq!(sum(&runs), MANY, "{flags}");
        assert_eq!(sum(&gets), MANY * gets(&alone.section), "{flags}");
        assert_eq!(report["tree"]["unrecorded"], 0, "{flags}");
    }
}

/// Numbers of another namespace have no meaning here: these are alive though no process has their number, and then dead.
#[test]
fn the_end_of_a_process_of_another_namespace_is_seen_from_outside() {
    let flags = "-pf --mount-proc --kill-child";
    if !can_unshare(flags) {
        return skipped("unshare is not allowed here");
    }
    let holds = program("counted");
    let script = format!("{} ; true", inside(flags, &format!("{holds} killed 100 64; true")));
    let account =
        account_of(&[], &["/bin/sh", "-c", &script], text(&fs::canonicalize("/bin/sh").expect("a shell")));
    let killed = of_program(&account.report, "/figures-counted");
    assert_eq!(killed.len(), 1, "{}", account.report);
    assert_eq!(killed[0]["state"], "killed");
}
