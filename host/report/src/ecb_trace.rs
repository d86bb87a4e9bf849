//! The last requests of threads in ECBs (ECB(TRACE(n))): what JSON and `--report ecbs` have of them.
//!
//! ```text
//! "ecb_traces": [{"thread": 4712, "requests": 1204, "last": [{"kind": "freed", "address": ..., "bytes": 128, "ecb": ...,
//!                 "caller": {"module": "server", "offset": 4772}}]}]                                the newest first
//! ```
//!
//! Invariant: absent for a process without trace tables. It does not matter how the process ended: the tables are in the ledger.
//! Not here: the table in memory (`underbar_ledger::traces`), lines for people ([`crate::ecb_lines`]).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use underbar_ledger::traces::Traced;
use underbar_ledger::view::TraceView;

use crate::fault::Caller;

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
    /// It in a word.
    pub(crate) fn word(self) -> &'static str {
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
