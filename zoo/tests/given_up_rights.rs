//! Programs that give up the rights of root, or their root, as daemons do: they cannot open the ledger again in which they have a
//! place.
//!
//! Elsewhere: users who may not read the library (`follow`), and files of other users (`other_users`).

use std::process::Command;

use serde_json::Value;
use underbar_zoo::{code, fault, is_superuser_or_skips, left, scratch, skip, text, underbar};

use crate::faults::{report, same};

#[test]
fn a_program_that_gives_up_its_rights_works_on() {
    if !is_superuser_or_skips("giving up rights") {
        return;
    }
    assert_eq!(same(&["-q"], &[&fault("drops"), "/bin/true"]), "");
    assert_eq!(same(&["-q", "--exec"], &[&fault("drops"), "/bin/true"]), "");
    let report = report(&[], &[&fault("drops"), "/bin/true"]);
    let tree = &report["tree"];
    assert_eq!((&tree["processes"], &tree["unrecorded"]), (&2.into(), &0.into()), "with its child: {tree}");
    let gets = |process: &Value| process["counters"]["heap"]["gets"].as_u64().expect("a figure");
    let processes = report["processes"].as_array().expect("a list");
    let mut gets: Vec<u64> = processes.iter().map(gets).collect();
    gets.sort_unstable();
    // What the child got, and what its parent got before and after the change of its user.
    assert!((20_000..20_100).contains(&gets[0]) && (40_000..40_200).contains(&gets[1]), "{gets:?}");
    assert_eq!(
        tree["counters"]["follow"]["ledger_out_of_reach"], 1,
        "what it became may not open it: {tree}"
    );
}

/// Its children find neither the ledger's path nor /proc.
#[test]
fn a_daemon_with_another_root_is_recorded_with_its_children() {
    if !is_superuser_or_skips("chroot") {
        return;
    }
    let root = scratch("a-root-of-its-own");
    let confined = fault("confined");
    let line = [confined.as_str(), text(&root)];
    assert_eq!(same(&["-q"], &line), "");
    let report = report(&[], &line);
    let tree = &report["tree"];
    assert_eq!((&tree["processes"], &tree["unrecorded"]), (&3.into(), &0.into()), "{tree}");
    for process in report["processes"].as_array().expect("a list") {
        let gets = process["counters"]["heap"]["gets"].as_u64().expect("a figure");
        assert!((20_000..20_200).contains(&gets), "{gets}");
        assert_eq!(process["state"], "ended", "{process}");
    }
}

/// It gets pages of the ledger without a descriptor: a page without room must be an error, not SIGBUS.
#[test]
fn a_child_of_another_user_without_room_runs_and_is_counted() {
    if !is_superuser_or_skips("a full file system under another user") {
        return;
    }
    let folder = scratch("no-room-for-children");
    let (here, drops) = (text(&folder), fault("drops"));
    let underbar = text(underbar());
    let mut seen = Vec::new();
    for size in (24..=48).step_by(4) {
        let script = format!(
            "mount -t tmpfs -o size={size}k none '{here}' || exit 77
            '{underbar}' run --exec -q -o '{here}/accounts' -- '{drops}' /bin/true || exit 1
            exec '{underbar}' report --json '{here}/accounts'"
        );
        let left = left(Command::new("unshare").args(["-m", "--", "sh", "-c", &script]));
        if code(left.status) == 77 {
            return skip("a full file system under another user: mounting is not allowed here");
        }
        assert_eq!(code(left.status), 0, "{size}: {left:?}");
        let tree = serde_json::from_str::<Value>(&left.output).expect("a report")["tree"].clone();
        let number = |key: &str| tree[key].as_u64().expect("a number");
        seen.push((number("processes"), number("unrecorded")));
    }
    assert!(seen.iter().all(|(with, without)| with + without <= 2), "{seen:?}");
    assert!(seen.contains(&(1, 1)) && seen.contains(&(2, 0)), "{seen:?}");
}
