//! Settings that are changed from outside while the program runs.

use super::*;

pub(super) fn a_running_program_obeys_what_is_changed_outside() {
    // Elements of a segment each, and cells, of which a segment has many.
    for (size, segments) in [(60_000, 1000), (400, 950)] {
        check_live(size, segments);
    }
}

/// A program that holds at least `segments` segments of freed storage, twice.
fn check_live(size: u32, segments: u64) {
    let (folder, program) = (scratch("live"), program("live"));
    let ledger = folder.join("ledger");
    let mut run = Command::new(underbar());
    run.args(["run", "--exec", "-o", text(&ledger), "--opts", "HEAP(64K,64K,,KEEP)", "--", &program])
        .arg(size.to_string());
    let mut running = Running::start(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    let process = running.child.id();
    let set = |kind, process, value| {
        let page = ControlPage::open(&ledger).expect("the ledger of a program that runs");
        page.set(Target { kind, process, object: 0 }, value).expect("room");
    };
    let mut said = |word: &str| -> u64 {
        let line = running.line();
        let bytes = line.strip_prefix(word).unwrap_or_else(|| panic!("{word}, not {line:?}"));
        bytes.trim().parse().expect("bytes")
    };
    let all = 60_000_000;
    assert!(said("held") >= all, "KEEP keeps");
    // Another process's: it must not be applied.
    set(Kind::HeapTrim, process + 1, 1);
    set(Kind::HeapDisposition, process, Disposition::Free as u64);
    assert!(said("fell") <= all / 4, "FREE gives back");
    set(Kind::HeapDisposition, process, Disposition::Keep as u64);
    assert!(said("held") >= all, "KEEP keeps again");
    set(Kind::HeapTrim, 0, 1);
    assert!(said("fell") <= all / 4, "a trim gives back once");
    assert_eq!(running.end(), 0);
    let left = left(Command::new(underbar()).args(["report", "--json", text(&ledger)]));
    let report: Value = serde_json::from_str(&left.output).expect("a report");
    let account = Account { section: report["processes"][0].clone(), report, left };
    exact(&account, Key::ControlObeyed, 3);
    // All but the first, and the program's use while it waits; more if it fills its heap again before it applies the change.
    let freed = account.get(Key::HeapSegmentsFreed);
    assert!(freed >= 2 * (segments - 3), "{freed}: {}", account.section);
}
