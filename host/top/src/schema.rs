//! The JSON schemas of a look (`top --json`, `--record`) and of a list (`ls --json`). They are shipped as
//! `share/schema/underbar.top.1.json` and `underbar.ls.1.json`; a test keeps those files equal to these, and others validate what is
//! printed.
//!
//! Readers must ignore unknown keys: within one version of a schema, keys are only added.

use serde_json::{Value, json};
use underbar_report::json_schema::{
    document, integer, integer_or_null, list as list_of, not_required, object, text, text_or_null,
};

use crate::{list, look};

/// The schema of a look: a line of `top --json` and of a recording.
#[must_use]
pub fn of_look() -> Value {
    let mut row = object(
        "A process. Counts are since its program began; rates are null at the first look.",
        json!({
            "ledger": text("The name of its ledger, for `underbar report`; the path of a ledger outside the folders of runs."),
            "program": text("The name by which its program was started, or its file's name."),
            "process": integer("Its number, in its own namespace of process numbers."),
            "number_here": integer("Its number here, if it has a namespace of its own and /proc shows it; else absent."),
            "user": integer("The user whose ledger it is."),
            "state": {"enum": ["running", "ended"], "description": "Ended: since an earlier look; the figures are its last ones."},
            "began_ns": integer("When its program began, in nanoseconds since the machine was started."),
            "heap_used_bytes": integer("Heap storage in use."),
            "heap_peak_bytes": integer("The most at one time."),
            "segment_bytes": integer("Address space in the heap's segments."),
            "resident_bytes": integer_or_null("Resident memory of the process; null if /proc does not show it."),
            "threads": integer_or_null("Its threads."),
            "cpu_ns": integer_or_null("Its CPU time."),
            "requests": integer("Requests for heap storage that were served."),
            "lock_waits": integer("Acquisitions of locks that had to wait."),
            "lock_wait_ns": integer("The time of these waits."),
            "switches": integer_or_null("Its entries to the kernel; null without SWITCHES(ON)."),
            "requests_per_s": integer_or_null("Requests in a second, since the look before."),
            "lock_waits_per_s": integer_or_null("Waits for locks in a second."),
            "switches_per_s": integer_or_null("Entries to the kernel in a second."),
            "cpu_per_mille": integer_or_null("CPU time in thousandths of a processor."),
            "options": text("The options of its run. Absent if there are none, and in a recording after its first look."),
            "command": list_of(
                "Its arguments, beginning with its own name, cut to the room in the ledger. In a recording, only at its first look.",
                &text("An argument."),
            ),
        }),
    );
    for key in ["number_here", "options", "command"] {
        not_required(&mut row, key);
    }
    let root = object(
        "A look at the processes that keep accounts: a line of `underbar top --json`, or of a recording.",
        json!({
            "schema": {"const": look::SCHEMA},
            "at_unix_ns": integer("When: nanoseconds since 1970-01-01 00:00 UTC."),
            "at_ns": integer("The same moment in nanoseconds since the machine was started (CLOCK_BOOTTIME)."),
            "ledgers": integer("Ledgers of these processes."),
            "unreadable": integer("Ledgers that this version cannot read, or that are damaged."),
            "processes": list_of("The processes, in the order of their start.", &row),
        }),
    );
    document("underbar.top.1.json", root)
}

/// The schema of a list.
#[must_use]
pub fn of_list() -> Value {
    let ledger = object(
        "A ledger.",
        json!({
            "ledger": text("Its name, for `underbar report` and `underbar top`."),
            "file": text("Its file."),
            "user": integer("The user whose it is."),
            "state": {
                "enum": ["running", "left", "unreadable"],
                "description": "running: a process runs in it; left: all have ended; unreadable: for the reason in `reason`.",
            },
            "program": text("The program that runs in it, the oldest of several; of a left one, the first that ran."),
            "processes": list_of("The numbers of its running processes, the oldest first.", &integer("A number.")),
            "since_unix_ns": integer_or_null("When the oldest of them, or the first program, began: nanoseconds since 1970."),
            "heap_used_bytes": integer_or_null("Heap storage in use, of its running processes together."),
            "resident_bytes": integer_or_null("Their resident memory together; shared memory counts for each."),
            "options": text("The options of the run."),
            "command": list_of(
                "The arguments of the program, beginning with its own name, cut to the room in the ledger.",
                &text("An argument."),
            ),
            "reason": text_or_null("Why it cannot be read; null if it can."),
        }),
    );
    let root = object(
        "The ledgers that there are: what `underbar ls --json` prints.",
        json!({
            "schema": {"const": list::SCHEMA},
            "at_unix_ns": integer("When: nanoseconds since 1970-01-01 00:00 UTC."),
            "ledgers": list_of("The ledgers: those with running processes first, the oldest first.", &ledger),
        }),
    );
    document("underbar.ls.1.json", root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::{List, Listed, ListedState};
    use crate::look::{Look, Row, State};
    use underbar_report::json_schema::errors;
    use underbar_report::shipped;

    #[track_caller]
    fn check(value: &impl serde::Serialize, schema: &Value) {
        let value = serde_json::to_value(value).expect("plain data");
        assert_eq!(errors(&value, schema, &|_| None), [""; 0]);
        let mut bad = value.clone();
        bad["at_unix_ns"] = json!(-1);
        assert_eq!(errors(&bad, schema, &|_| None).len(), 1);
    }

    #[test]
    fn looks_and_lists_conform() {
        let full = Row {
            number_here: Some(7),
            state: State::Ended,
            resident_bytes: Some(1),
            options: "HEAP(1M)".to_owned(),
            command: vec!["a".to_owned()],
            ..Row::default()
        };
        let processes = vec![Row::default(), full];
        check(&Look { schema: look::SCHEMA.to_owned(), processes, ..Look::default() }, &of_look());
        let of =
            |state| Listed { state, reason: Some("x".to_owned()), processes: vec![3], ..Listed::default() };
        let states = [ListedState::Running, ListedState::Left, ListedState::Unreadable];
        let ledgers = states.into_iter().map(of).chain([Listed::default()]).collect();
        check(&List { schema: list::SCHEMA.to_owned(), at_unix_ns: 1, ledgers }, &of_list());
    }

    #[test]
    fn the_shipped_schemas_are_these() {
        for (name, schema) in [("top", of_look()), ("ls", of_list())] {
            let file = format!("share/schema/underbar.{name}.1.json");
            shipped::check(&file, &format!("{schema:#}\n"), "underbar-top");
        }
    }
}
