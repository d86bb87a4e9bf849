//! The display of one ECB that is alive: by the program itself, and from outside.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use underbar_zoo::heap::{on_heap, plain, text};
use underbar_zoo::{compiled, left, scratch, underbar};

const FLAGS: [&str; 4] =
    ["-fno-builtin", "-w", "-pthread", concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../api/capi/include")];

fn program() -> String {
    text(compiled("heap/ecb_display", "heap-ecb-display", &FLAGS))
}

#[test]
fn the_figures_of_an_ecb_are_what_its_program_did() {
    let program = program();
    assert_eq!(plain(&[&program, "figures"]).output, "none\n");
    for (options, says) in [
        ("", "held 0\n"),
        ("STORAGE(AA,55)", "held 0\n"),
        ("ECB(TRACE(9))", "held 0\n"),
        // Then all ECBs are counted.
        ("RPTSTG(ON)", "held 1\n"),
    ] {
        let found = on_heap(options, &[&program, "figures"]);
        assert_eq!((found.output.as_str(), found.error.as_str()), (says, ""), "{options}: {found:?}");
    }
}

/// The layout is that of ZDECB HAVL: `advise` reads all of it, from a folder of that name.
fn is_read(folder: &str, display: &str, ecb: u64) {
    for line in [
        &format!("ECB {ecb:016X}   MAIN THREAD ECB {ecb:016X}\n"),
        "SETNAME = SHOWN\n",
        "ECB HEAP AVL LIST BUFFER SIZES: AVL1 32 , AVL2 64 , AVL3 128 , AVL4 256 , AVL5 512\n",
        " NAMED SESSION \n",
        "NAME-VALUE PAIR TRANSACTION = PAY\n",
        "END OF DISPLAY\n",
    ] {
        assert!(display.contains(line), "{line}{display}");
    }
    let listing = scratch(folder).join("listing");
    std::fs::write(&listing, display).expect("written");
    let found = left(Command::new(underbar()).args(["advise", "--json"]).arg(&listing));
    assert!(found.status.success(), "{found:?}");
    assert!(!found.output.contains("not read") && found.output.contains("SHOWN"), "{found:?}");
}

#[test]
fn a_program_prints_the_display_of_its_ecb() {
    let found = on_heap("", &[&program(), "display"]);
    assert!(found.status.success() && found.error.is_empty(), "{found:?}");
    let number = found.output.split_once("MAIN THREAD ECB ").expect("a number").1;
    let number = u64::from_str_radix(number.lines().next().expect("a line"), 16).expect("digits");
    is_read("ecb-printed", &found.output, number);
}

#[test]
fn a_running_program_is_asked_for_its_ecbs() {
    let folder = scratch("ecb-asked");
    let ledger = folder.join("accounts.ledger");
    let mut server = Command::new(underbar())
        .args(["run", "--exec", "-q", "-o"])
        .arg(&ledger)
        .args(["--", &program(), "serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut line = String::new();
    BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut line).expect("its ECB");
    let ecb: u64 = line.trim().parse().expect("a number");
    let ask = |which: &str| left(Command::new(underbar()).args(["report", "--ecb", which]).arg(&ledger));
    for which in [ecb.to_string(), format!("{ecb:016X}"), format!("{ecb:#x}")] {
        let found = ask(&which);
        assert!(found.status.success() && found.error.is_empty(), "{found:?}");
        assert_eq!(found.output.matches("DECB0125I").count(), 1);
        is_read("ecb-asked-display", &found.output, ecb);
    }
    let found = ask("all");
    assert!(found.output.contains("SETNAME = SHOWN\n") && found.status.success(), "{found:?}");
    let found = ask("12345678901");
    assert_eq!(found.status.code(), Some(2));
    assert!(found.error.contains("no such ECB is alive"), "{found:?}");
    assert_eq!(ask("none").status.code(), Some(2));
    drop(server.stdin.take());
    assert!(server.wait().expect("it ends").success());
    let found = ask("all");
    assert_eq!(found.status.code(), Some(2));
    assert!(found.error.contains("no program of this run has ECBs now"), "{found:?}");
    let files: Vec<_> =
        std::fs::read_dir(&folder).expect("the folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(files, ["accounts.ledger"], "answers are removed");
}
