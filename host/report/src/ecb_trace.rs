//! The last requests of threads in ECBs (ECB(TRACE(n))): what JSON and `--report ecbs` have of them.
//!
//! ```text
//! "ecb_traces": [{"thread": 4712, "requests": 1204, "last": [{"kind": "freed", "address": ..., "bytes": 128, "ecb": ...,
//!                 "caller": {"module": "server", "offset": 4772}}]}]                                the newest first
//! ```
//!
//! Invariant: absent for a process without trace tables. It does not matter how the process ended: the tables are in the ledger.
//! Not here: the table in memory (`underbar_ledger::traces`).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use underbar_ledger::traces::Traced;
use underbar_ledger::view::TraceView;

use crate::fault::Caller;
use crate::model::Process;
use crate::page::{Line, Tone, clean};
use crate::units::count;

/// The last requests of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EcbTrace {
    /// The kernel's number of the thread; under WITHOUT(TRACE) that of the first one of all.
    pub thread: u64,
    /// Its requests so far.
    pub requests: u64,
    /// The last ones, the newest first.
    pub last: Vec<EcbRequest>,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EcbRequest {
    /// What it did.
    pub kind: RequestKind,
    /// The buffer.
    pub address: u64,
    /// Bytes that were asked for; of a freed buffer its usable bytes.
    pub bytes: u64,
    /// The number of the buffer's ECB.
    pub ecb: u64,
    /// The caller; null where it is in no module.
    pub caller: Option<Caller>,
}

/// What a request did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// A buffer was got.
    Got,
    /// A buffer was freed.
    Freed,
    /// A buffer was got by realloc, which freed the old one.
    Resized,
}

impl RequestKind {
    fn word(self) -> &'static str {
        match self {
            RequestKind::Got => "got",
            RequestKind::Freed => "freed",
            RequestKind::Resized => "resized",
        }
    }
}

impl EcbTrace {
    /// The table of a thread.
    pub(crate) fn of(table: &TraceView<'_>) -> Self {
        let last = table.last().map(|request| EcbRequest {
            kind: match request.kind {
                Traced::Got => RequestKind::Got,
                Traced::Freed => RequestKind::Freed,
                Traced::Resized => RequestKind::Resized,
            },
            address: request.address,
            bytes: request.bytes,
            ecb: request.ecb,
            caller: (!request.module.is_empty()).then(|| Caller {
                module: String::from_utf8_lossy(request.module).into_owned(),
                offset: request.offset,
            }),
        });
        Self { thread: table.thread(), requests: table.requests(), last: last.collect() }
    }
}

/// The requests of each thread of a process, with a heading each.
pub(crate) fn sections(process: &Process) -> Vec<Line> {
    let mut lines = Vec::new();
    for trace in &process.ecb_traces {
        let head = format!(
            "{}, process {}, thread {}: the last {} of {} requests in ECBs, the newest first",
            clean(process.name()),
            process.process,
            trace.thread,
            count(trace.last.len() as u64),
            count(trace.requests)
        );
        lines.push(Line(vec![(Tone::Label, head)]));
        for request in &trace.last {
            let caller = request.caller.as_ref().map_or_else(
                || "not known".to_owned(),
                |at| format!("{}+{:#x}", clean(&at.module), at.offset),
            );
            let text = format!(
                "{:>12} bytes at {:#x} in ECB {}, called by {caller}",
                count(request.bytes),
                request.address,
                request.ecb
            );
            lines.push(Line(vec![
                (Tone::Label, format!("  {:<24}", request.kind.word())),
                (Tone::Plain, text),
            ]));
        }
    }
    lines
}

/// The schema of the tables.
pub(crate) fn schema() -> Value {
    let number = |words: &str| json!({"type": "integer", "minimum": 0, "description": words});
    json!({
        "type": "array",
        "description": "The last requests of its threads in ECBs, under ECB(TRACE(n)); absent without it.",
        "items": {
            "type": "object",
            "description": "A thread.",
            "properties": {
                "thread": number("The kernel's number of the thread."),
                "requests": number("Its requests so far."),
                "last": {"type": "array", "description": "The last ones, the newest first.", "items": {
                    "type": "object",
                    "description": "A request.",
                    "properties": {
                        "kind": {"enum": ["got", "freed", "resized"]},
                        "address": number("The buffer."),
                        "bytes": number("Bytes that were asked for; of a freed buffer its usable bytes."),
                        "ecb": number("The number of the buffer's ECB."),
                        "caller": {"anyOf": [{
                            "type": "object",
                            "description": "The caller.",
                            "properties": {
                                "module": {"type": "string", "description": "File name of the module."},
                                "offset": number("Place in it, in the addresses of its symbol table."),
                            },
                            "required": ["module", "offset"],
                        }, {"type": "null"}], "description": "The caller; null where it is in no module."},
                    },
                    "required": ["kind", "address", "bytes", "ecb", "caller"],
                }},
            },
            "required": ["thread", "requests", "last"],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Page, paint};
    use crate::sample;

    #[test]
    fn requests_are_shown_the_newest_first_and_read_again() {
        let mut process = sample::getfree().processes.remove(0);
        assert!(sections(&process).is_empty());
        let request = |kind, bytes, caller| EcbRequest {
            kind,
            address: 0x7f00_1000,
            bytes,
            ecb: 4_294_967_299,
            caller,
        };
        let caller = Caller { module: "server".to_owned(), offset: 0x12a4 };
        process.ecb_traces = vec![EcbTrace {
            thread: 4712,
            requests: 1_204,
            last: vec![request(RequestKind::Freed, 128, Some(caller)), request(RequestKind::Got, 100, None)],
        }];
        let page = Page { kept: None, pictures: false, ..Page::of_terminal(Some(200), false) };
        let text = paint(&sections(&process), page, usize::MAX);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(
            lines[0].ends_with("thread 4712: the last 2 of 1,204 requests in ECBs, the newest first"),
            "{text}"
        );
        assert!(
            lines[1].contains("freed")
                && lines[1].contains("128 bytes at 0x7f001000 in ECB 4294967299, called by server+0x12a4")
        );
        assert!(lines[2].ends_with("called by not known"), "{text}");
        let json = serde_json::to_value(&process.ecb_traces).expect("plain");
        assert_eq!(json[0]["last"][0]["kind"], "freed");
        assert_eq!(
            serde_json::from_value::<Vec<EcbTrace>>(json).expect("what was written"),
            process.ecb_traces
        );
    }
}
