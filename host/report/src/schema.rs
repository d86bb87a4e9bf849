//! The JSON schema of a report, derived from the tables of counters and steps.
//!
//! It is shipped as `share/schema/underbar.report.1.json`; a test keeps that file equal to the result of this module. Readers
//! must ignore unknown keys: within one version of the schema, keys are only added.

use serde_json::{Map, Value, json};
use underbar_ledger::counter::Exactness;
use underbar_ledger::table::KEYS;
use underbar_ledger::{self as ledger, Key, Unit};

use crate::absent::ABSENT;
use crate::figures::{areas, split};
use crate::heap;
use crate::json_schema::{self, not_required, object};
use crate::lock::columns;
use crate::model::SCHEMA;
use crate::steps::STEPS;
use crate::tree::TREE;
use crate::{buffers, ecb_trace, ecbs, over_time, pools, switch_costs, switches};

/// The schema, in JSON Schema's 2020-12 form.
#[must_use]
pub fn schema() -> Value {
    let text = || json!({"type": "string"});
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    let number = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
    let maybe = |what: &str| json!({"type": ["integer", "null"], "minimum": 0, "description": what});
    let mut process = object(
        "One process, or several ended processes of one program.",
        json!({
            "program": {"type": "string", "description":
                "Path of the program's file; of a path of more than 256 bytes its last parts, without a slash before them."},
            "started_as": {"type": ["string", "null"], "description":
                "The name by which it was started, where that is another name of the file, as of a link; else null."},
            "arguments": texts(),
            "process": number("Its number; the last one's where several are folded."),
            "parent": number("Its parent."),
            "processes": number("How many processes the figures are from."),
            "state": {"enum": ["running", "ended", "killed", "folded"]},
            "started_ns": number("Nanoseconds after the run began."),
            "ended_ns": maybe("Nanoseconds after the run began; null while it runs and where it was killed."),
            "option_errors": number("Mistakes that the runtime found in its options."),
            "heading": {"type": "string", "description":
                "The heading that it gave to its storage report (CEE3RPH); absent where it gave none."},
            "counters": {"$ref": "#/$defs/counters"},
            "sizes": {"$ref": "#/$defs/sizes"},
            "pools": pools::schema(),
            "ranges": pools::ranges_schema(),
            "ecbs": ecbs::schema(),
            "ecb_traces": ecb_trace::schema(),
            "ecb_threads_without_trace": number(
                "Threads that made requests under ECB(TRACE(n)) while all trace tables were in use; absent if there were none."
            ),
            "switches": switches::schema(),
            "buffers": buffers::schema(),
            "heaps": {
                "type": "array", "items": heap(),
                "description": "Its heaps, the default one first; absent where it has no other, and where several processes are folded.",
            },
            "none": {"type": "array", "items": {"type": "string"}, "description":
                "The areas of the storage report for which it did not ask, such as LIBSTACK: their figures are null or 0 for that reason."},
            "owners": {"type": "array", "items": object(
                "A library or program that mapped anonymous memory past the heap.",
                json!({
                    "name": text(),
                    "bytes": number("Resident bytes, by the look that saw the most memory."),
                    "peak_bytes": number("The most that any look saw."),
                }),
            )},
            "allocator": {
                "type": ["object", "null"],
                "description": "Another allocator that the program has; null where none is known. \
                                replaced: it brings it along, and this heap serves malloc instead. \
                                serves: it serves malloc, and this heap does not. \
                                inside: it is linked in under names of its own, and what calls them does not reach this heap.",
                "properties": {"name": text(), "role": {"enum": ["replaced", "serves", "inside"]}},
                "required": ["name", "role"],
            },
            "locks": {
                "anyOf": [{"$ref": "#/$defs/locks"}, {"type": "null"}],
                "description": "Its locks; null where none was waited for, and where several processes are folded.",
            },
            "fault": {
                "anyOf": [fault(), {"type": "null"}],
                "description": "Why underbar ended it with SIGABRT, or the access or overflow of which it died; null where nothing is known. Of several processes, the first.",
            },
        }),
    );
    not_required(&mut process, "started_as");
    not_required(&mut process, "sizes");
    not_required(&mut process, "heading");
    not_required(&mut process, "pools");
    not_required(&mut process, "ranges");
    not_required(&mut process, "ecbs");
    not_required(&mut process, "ecb_traces");
    not_required(&mut process, "ecb_threads_without_trace");
    not_required(&mut process, "switches");
    not_required(&mut process, "buffers");
    not_required(&mut process, "heaps");
    not_required(&mut process, "none");
    not_required(&mut process, "allocator");
    not_required(&mut process, "locks");
    not_required(&mut process, "fault");
    let mut tree = object(
        "All processes together.",
        json!({
            "counters": {"$ref": "#/$defs/counters"},
            "sizes": {"$ref": "#/$defs/sizes"},
            "other_locks": {
                "type": "array", "items": {"$ref": "#/$defs/locks"},
                "description": "Locks of processes that were folded with others.",
            },
        }),
    );
    for of in &TREE {
        let field = split(of.key).1;
        tree["properties"][field] = number(of.meaning);
        if let Some(keys) = tree["required"].as_array_mut() {
            keys.push(json!(field));
        }
    }
    not_required(&mut tree, "sizes");
    not_required(&mut tree, "other_locks");
    let mut host = object(
        "The machine.",
        json!({
            "name": {"type": "string", "description": "Its name; absent in reports of an older underbar."},
            "kernel": text(),
            "cores": number("Processors that the run could use."),
            "page_bytes": number("Bytes of a page."),
            "memory_limit_bytes": maybe("The least of what limits the run's memory."),
            "thread_stack_bytes": maybe("Stack of a thread that does not ask for a size."),
            "utc_offset_seconds": {"type": "integer"},
            "switch_costs": switch_costs::schema(),
        }),
    );
    not_required(&mut host, "switch_costs");
    not_required(&mut host, "name");
    let mut schema = object(
        "A report of underbar: what a run was, what it took, and the accounts of its processes. \
         Integers are bytes and nanoseconds.",
        json!({
            "schema": {"const": SCHEMA},
            "underbar": text(),
            "host": host,
            "run": object("The program that was started.", json!({
                "program": text(),
                "arguments": texts(),
                "process": number("Its number; 0 where not known."),
                "started_unix_ns": number("Nanoseconds since 1970-01-01 00:00 UTC."),
                "end": {
                    "type": ["object", "null"],
                    "description": "How it ended; null while it runs, or if no process waited for it.",
                    "properties": {"exit": {"type": "integer"}, "signal": {"type": "integer"}},
                },
                "later": {
                    "type": ["object", "null"],
                    "description": "Processes that went on when the program had ended, and the name by which `underbar report` finds their accounts; null where none did.",
                    "properties": {"running": {"type": "integer"}, "name": {"type": "string"}},
                },
            })),
            "steps": steps(),
            "options": object("The run-time options.", json!({
                "text": text(),
                "in_force": {"type": "array", "items": object(
                    "One option and where it was set last.",
                    json!({"option": text(), "where_set": text()}),
                )},
                "without_effect": texts(),
                "errors": texts(),
                "sources": {"type": "array", "items": object(
                    "A text with options that was read; the later are stronger.",
                    json!({"where_set": text(), "origin": text(), "text": text()}),
                )},
            })),
            "tree": tree,
            "processes": {"type": "array", "items": process},
            "over_time": over_time::schema(),
            "sites": {
                "type": "object",
                "description": "Call sites, by samples: an object of underbar.heap.1.json. Absent without `run --sites`.",
                "required": ["schema"],
                "properties": {"schema": {"const": "underbar.heap/1"}},
            },
        }),
    );
    not_required(&mut schema, "over_time");
    not_required(&mut schema, "sites");
    let mut schema = json_schema::document("underbar.report.1.json", schema);
    schema["$defs"] = json!({
        "counters": counters(), "sizes": sizes(), "locks": locks(), "lock": lock(), "place": place(), "spread": spread(),
    });
    schema["title"] = json!(SCHEMA);
    schema
}

/// The schema as text, as in its file.
#[must_use]
pub fn text() -> String {
    format!("{:#}\n", schema())
}

/// Storage that was freed wrongly, or a stack overflow.
fn fault() -> Value {
    let text = || json!({"type": "string"});
    let number = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
    let mut fault = object(
        "Storage that the program gave back wrongly, or used after its ECB had ended; or a stack overflow of which it died.",
        json!({
            "kind": {"enum": ["double_free", "inside_block", "no_block", "overflow", "stack_overflow", "ended"]},
            "function": text(),
            "address": number("The address that the program gave, or that it could not access."),
            "block": number("Where the block begins that it is about. Of a stack, the kernel's number of its thread; 0: the first one."),
            "block_bytes": {"type": ["integer", "null"], "minimum": 0, "description": "Bytes that could be used of the block; null where not known. Of a stack, its size."},
            "size_is_asked": {"type": "boolean", "description": "Of a stack: the program asked for its size. Absent where it did not."},
            "caller": {"anyOf": [object(
                "Code that called.",
                json!({"module": text(), "offset": number("Place in the module, as symbol tables count.")}),
            ), {"type": "null"}], "description": "Who called, or where the stack overflowed; null where not known."},
            "origin": {"anyOf": [object(
                "Code that freed or got the block before.",
                json!({"module": text(), "offset": number("Place in the module, as symbol tables count.")}),
            ), {"type": "null"}], "description": "Who freed a block that was freed again, or got a block with another fault; null where not known. Of a stack, the LINKed program that ran on it."},
             "ecb": {"type": ["object", "null"], "description": "The ECB that has ended, of storage that ECB(CHECK) kept; absent where not known.",
                "properties": {
                    "number": number("Its number."),
                    "class": text(),
                    "tag": {"type": ["string", "null"], "description": "The name of the buffer; null where it had none."},
                },
                "required": ["number", "class", "tag"]},
        }),
    );
    not_required(&mut fault, "origin");
    not_required(&mut fault, "ecb");
    not_required(&mut fault, "size_is_asked");
    fault
}

fn locks() -> Value {
    let number = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
    object(
        "The locks of one process that threads waited for.",
        json!({
            "process": number("The process's number."),
            "started_ns": number("Nanoseconds after the run began."),
            "mode": {"enum": ["off", "count", "simple", "unknown"], "description": "What LOCK said."},
            "unrecorded": number("Contended acquisitions of locks for which there was no record."),
            "edges_lost": number("Pairs of a held and a wanted lock for which there was no room."),
            "locks": {"type": "array", "items": {"$ref": "#/$defs/lock"}, "description": "The longest wait first."},
            "edges": {"type": "array", "items": object(
                "One lock was held while another was waited for.",
                json!({
                    "held": number("Place in `locks` of the one that was held."),
                    "wanted": number("Place in `locks` of the one that was waited for."),
                    "site": {"$ref": "#/$defs/place"},
                    "count": number("How often."),
                }),
            )},
            "circles": {
                "type": "array",
                "items": {"type": "array", "items": number("A place in `edges`.")},
                "description": "Circles among the edges: possible deadlocks.",
            },
            "missing": {"type": "array", "items": object(
                "A figure that nothing under this LOCK could fill.",
                json!({"key": {"type": "string"}, "why": {"type": "string"}}),
            )},
        }),
    )
}

fn lock() -> Value {
    let number = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
    let maybe = |what: &str| json!({"type": ["integer", "null"], "minimum": 0, "description": what});
    let place = || json!({"$ref": "#/$defs/place"});
    let percentile =
        |what: &str| json!({"anyOf": [{"$ref": "#/$defs/spread"}, {"type": "null"}], "description": what});
    let sites = |what: &str| {
        let site = object(
            "A call that locks or unlocks.",
            json!({"place": place(), "count": number("How often."), "ns": number("How long, together.")}),
        );
        json!({"type": "array", "items": site, "description": what})
    };
    let mut lock = object(
        "One lock.",
        json!({
            "place": place(),
            "address": number("Its address in the process."),
            "sort": {"enum": ["mutex_normal", "mutex_adaptive", "simple", "simple_small", "unknown"]},
            "first_site": place(),
            "p50_ns": percentile("Half of the waits were at most about this long; null without waits."),
            "p99_ns": percentile("All but one of a hundred were; null without waits."),
            "spin_share_millionths": maybe("spin_ns in millionths of the processor time of the whole run."),
            "waiting": number("Threads that waited for it when the report was made."),
            "policy": number("Policy of waiting in force; 0 as LOCK says."),
            "histogram": {
                "type": "array", "items": number("Waits."),
                "description": "Waits by their length: entry n counts those of 2^n to 2^(n+1) nanoseconds.",
            },
            "waiters": sites("Where threads waited, the longest first."),
            "holders": sites("Where it was given up while others waited; time is that of all who waited then."),
            "blocked": {"type": "array", "items": object(
                "A system call in which its holder was seen while a thread waited for a millisecond or longer.",
                json!({"name": {"type": "string"}, "number": number("Its number."), "count": number("How often.")}),
            )},
        }),
    );
    let mut add = |field: &str, described: Value| {
        lock["properties"][field] = described;
        if let Some(keys) = lock["required"].as_array_mut() {
            keys.push(json!(field));
        }
    };
    for column in columns::of_each() {
        let field = split(column.key).1;
        if !matches!(field, "blocked") {
            add(field, figure(column.unit, column.meaning, None));
        }
    }
    lock
}

fn place() -> Value {
    object(
        "A place in a file of the process, or an address of it.",
        json!({
            "file": {"type": ["string", "null"], "description": "Path; null where the address is in no file."},
            "offset": {"type": "integer", "minimum": 0, "description":
                "Address in the file, as its symbols have it; without a file, the address in the process."},
            "symbol": {"type": ["string", "null"], "description": "The function or variable there, where known."},
            "displacement": {"type": "integer", "minimum": 0, "description": "How far behind its beginning."},
            "line": {"type": ["string", "null"], "description": "Source file and line, where known."},
        }),
    )
}

fn spread() -> Value {
    object(
        "Between which times a percentile is, in nanoseconds.",
        json!({
            "at_least": {"type": "integer", "minimum": 0, "description": "It is no less."},
            "at_most": {"type": "integer", "minimum": 0, "description": "It is no more."},
        }),
    )
}

/// An object that gets more keys from version to version.
fn optional(what: &str, properties: Map<String, Value>) -> Value {
    json!({"type": "object", "description": what, "properties": properties})
}

fn steps() -> Value {
    let properties: Map<String, Value> = STEPS
        .iter()
        .map(|step| (split(step.key).1.to_owned(), figure(step.unit, step.meaning, None)))
        .collect();
    let mut steps = optional("What the run took, as the kernel accounts it.", properties);
    steps["type"] = json!(["object", "null"]);
    steps
}

fn counters() -> Value {
    let area = |area: &'static str| {
        let counted = KEYS.into_iter().filter(|key| split(key.entry().key).0 == area).map(|key: Key| {
            let entry = key.entry();
            (split(entry.key).1.to_owned(), figure(entry.unit, entry.meaning, Some(entry.live)))
        });
        let absent = ABSENT.iter().filter(|absent| split(absent.key).0 == area).map(|absent| {
            (split(absent.key).1.to_owned(), json!({"type": "null", "description": absent.why}))
        });
        let what = format!("The counters of {area}; a report of an older underbar may lack some.");
        (area.to_owned(), optional(&what, counted.chain(absent).collect()))
    };
    optional("Counters by area.", areas().map(area).collect())
}

/// Requests by size: a key for each row of the table that has requests.
fn sizes() -> Value {
    let common = &ledger::sizes::COMMON;
    json!({
        "type": ["object", "null"],
        "description": format!("{} A size without requests is left out. Null where not known.", common.meaning),
        "propertyNames": {"pattern": "^up_to_[0-9]+$"},
        "additionalProperties": {"type": "integer", "minimum": 0},
        "x-unit": common.unit.name(),
        "x-exactness": crate::manual::exactness(common.live),
    })
}

/// A heap of a process that has more than one.
fn heap() -> Value {
    let area = |area: &'static str| {
        let counted = heap::keys().filter(|key| split(key.entry().key).0 == area).map(|key| {
            let entry = key.entry();
            (split(entry.key).1.to_owned(), figure(entry.unit, entry.meaning, Some(entry.live)))
        });
        let properties: Map<String, Value> = counted.collect();
        (!properties.is_empty())
            .then(|| (area.to_owned(), optional("Null where not known apart.", properties)))
    };
    let mut heap = object(
        "A heap. Of the default heap the sums are what the others leave of the process's.",
        json!({
            "kind": {"enum": heap::KINDS.map(|(_, word)| word)},
            "name": {"type": "string", "description": "Empty where it has none."},
            "ended": {"type": "boolean", "description": "Whether all of its storage was given back."},
            "created": json!({"type": "integer", "minimum": 0, "description": "How many heaps of this kind and name there were, one after the other; the counters are those of all."}),
            "counters": optional("Counters by area.", areas().filter_map(area).collect()),
            "ranges": pools::ranges_schema(),
        }),
    );
    not_required(&mut heap, "ranges");
    heap
}

fn figure(unit: Unit, meaning: &str, live: Option<Exactness>) -> Value {
    let mut figure = json!({
        "type": ["integer", "null"], "minimum": 0, "description": meaning, "x-unit": unit.name(),
    });
    if let Some(live) = live {
        figure["x-exactness"] = json!(crate::manual::exactness(live));
    }
    figure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn errors(report: &Value) -> Vec<String> {
        json_schema::errors(report, &schema(), &|_| None)
    }

    fn json_of(report: &crate::Report) -> Value {
        serde_json::from_str(&report.to_json()).expect("JSON")
    }

    #[test]
    fn reports_validate() {
        let mut without_steps = sample::getfree();
        (without_steps.steps, without_steps.run.end) = (None, None);
        let mut all_options = sample::getfree();
        all_options.options.errors = vec!["x".to_owned()];
        all_options.options.without_effect = vec!["x".to_owned()];
        let mut locks = crate::lock::sample::report();
        locks.name_locks(&mut crate::lock::sample::Symbols);
        locks.tree.other_locks = vec![crate::lock::sample::locks()];
        let heaps = crate::heaps::tests::sample();
        let mut over_time = sample::tree();
        let mut recorder = crate::course_recorder::Recorder::new(1);
        recorder.look(1, vec![crate::course_recorder::Seen::default()]);
        over_time.over_time = Some(recorder.finish(&over_time));
        over_time.sites = Some(json!({"schema": "underbar.heap/1"}));
        let again = crate::Report::from_json(over_time.to_json().as_bytes()).expect("a report");
        assert_eq!(again.sites, over_time.sites);
        for report in [
            sample::getfree(),
            sample::tree(),
            sample::low_coverage(),
            without_steps,
            all_options,
            locks,
            heaps,
            over_time,
        ] {
            assert_eq!(errors(&json_of(&report)), [""; 0]);
        }
    }

    #[test]
    fn a_report_gathered_from_a_ledger_validates() {
        use underbar_ledger::{LedgerView, SlotState};
        let bytes = crate::gather::tests::ledger(&[
            (SlotState::Ended, 10, "/bin/a", 9_000),
            (SlotState::Live, 11, "/bin/b", 0),
            (SlotState::Aggregate, 12, "/bin/c", 7_000),
        ]);
        let view = LedgerView::new(&bytes).expect("a good ledger");
        let report = crate::Report::from_ledger(&view, crate::Facts::default(), |_| false);
        assert_eq!(report.processes.len(), 3);
        assert_eq!(errors(&json_of(&report)), [""; 0]);
    }

    #[test]
    fn what_is_no_report_does_not_validate() {
        let good = json_of(&sample::tree());
        for (pointer, wrong) in [
            ("/schema", json!("underbar.report/2")),
            ("/host/cores", json!("two")),
            ("/tree/counters/heap/gets", json!(-1)),
            ("/tree/counters/heap/used_peak", json!(1.5)),
            ("/processes/0/state", json!("asleep")),
            ("/processes/0/counters/libstack/segments_allocated", json!(0)),
            ("/tree/sizes", json!({"up_to_64": -1})),
            ("/tree/sizes", json!({"from_65": 1})),
            ("/processes", json!(null)),
            ("/run", json!({})),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).expect(pointer) = wrong;
            assert!(!errors(&bad).is_empty(), "{pointer}");
        }
    }

    #[test]
    fn the_shipped_schema_is_this_one() {
        crate::shipped::check("share/schema/underbar.report.1.json", &text(), "underbar-report");
    }
}
