//! Programs that filter their own system calls: our calls of the kernel may be forbidden, or kill.
//!
//! Each program is run bare first: if that does not end as it should, this machine forbids filters,
//! and the test is skipped with a message.
//! Elsewhere: programs that are started with a filter (`follow`).

use std::fs;
use std::path::Path;

use serde_json::Value;
use underbar_zoo::{
    WAYS, Way, code, command, compiled, fault, left, program, run, scratch, skip, text, try_compiled,
    underbar,
};

#[test]
fn a_program_that_locks_itself_in_is_not_killed_for_our_looking() {
    let sandbox = fault("sandbox");
    if code(left(&mut command(Way::Bare, &[&sandbox, "prctl"])).status) != 6 {
        return skip("programs that lock themselves in: seccomp is not allowed here");
    }
    for how in ["prctl", "seccomp", "past"] {
        let file = scratch(&format!("sandboxes-{how}")).join("report.json");
        assert_eq!(code(left(&mut run(&["--json", "-o", text(&file)], &[&sandbox, how])).status), 6, "{how}");
        let report: Value = serde_json::from_slice(&fs::read(&file).expect("a report")).expect("a report");
        let section = &report["processes"][0];
        assert_eq!((&section["state"], &section["ended_ns"]), (&"ended".into(), &Value::Null));
        assert!(section["counters"]["heap"]["gets"].as_u64() >= Some(6000), "{section}");
    }
}

/// A heap that asks for no huge pages and clears storage itself makes no such call.
#[test]
fn a_program_that_forbids_itself_advice_on_memory_is_not_killed() {
    let sandbox = fault("sandbox");
    if code(left(&mut command(Way::Bare, &[&sandbox, "unadvised"])).status) != 6 {
        return skip("programs that forbid themselves madvise: seccomp is not allowed here");
    }
    for options in ["", "HUGEPAGES(ON)", "HUGEPAGES(OFF)", "HEAP(1M,64K,ANYWHERE,FREE)", "HEAPCHK(ON)"] {
        let result = left(run(&["-q"], &[&sandbox, "unadvised"]).env("UNDERBAR_OPTS", options));
        assert_eq!(result.status.code(), Some(6), "{options}: {:?}", result.status);
    }
}

#[test]
fn a_program_that_libseccomp_locks_in_is_not_killed_either() {
    let flags = ["-DLIBRARY", "-lseccomp"];
    let Ok(sandbox) = try_compiled("faults/sandbox", "faults-sandbox-library", &flags) else {
        return skip("programs that libseccomp locks in: it is not there to be linked");
    };
    let line = [text(&sandbox), "library"];
    if code(left(&mut command(Way::Bare, &line)).status) != 6 {
        return skip("programs that libseccomp locks in: seccomp is not allowed here");
    }
    assert_eq!(code(left(&mut run(&["-q"], &line)).status), 6);
}

/// `syscall` takes up to six arguments, two of them in unusual places, and sets errno only if the kernel fails.
#[test]
fn syscall_passes_everything_on() {
    let program = compiled("faults/calls", "faults-calls", &["-pthread"]);
    for way in WAYS {
        let result = left(&mut command(way, &[text(&program)]));
        assert_eq!((code(result.status), result.error.as_str()), (0, ""), "{way:?}: {}", result.output);
    }
}

#[test]
fn a_program_in_strict_mode_lives_on_the_storage_that_it_has_and_one_that_cannot_end_its_process_ends_its_thread()
 {
    let sandbox = fault("sandbox");
    for how in ["strict", "past-strict", "unending"] {
        let bare = left(&mut command(Way::Bare, &[&sandbox, how]));
        if code(bare.status) != 6 {
            return skip("strict mode, and ends that are refused: seccomp is not allowed here");
        }
        for options in ["", "HEAP(1M,64K,ANYWHERE,FREE)"] {
            assert_eq!(
                left(run(&["-q"], &[&sandbox, how]).env("UNDERBAR_OPTS", options)),
                bare,
                "{how} {options}"
            );
        }
    }
}

#[test]
fn what_the_kernel_refuses_to_be_asked_is_not_closed() {
    const FCNTL: &str = "72";
    let (refused, exit3) = (fault("refused"), text(&program("exit3")).to_owned());
    let bare = left(&mut command(Way::Bare, &[&refused, FCNTL, &exit3]));
    if code(bare.status) != 3 {
        return skip("what the kernel refuses to be asked: seccomp is not allowed here");
    }
    let with = left(&mut command(Way::Bare, &[&refused, FCNTL, text(underbar()), "run", "-q", "--", &exit3]));
    assert_eq!(with, bare);
}
