//! The JSON schema of the report. It is shipped as `share/schema/underbar.heap.1.json`; a test keeps that file equal to this, and another
//! validates a report with it.
//!
//! Readers must ignore unknown keys: within one version of the schema keys are only added.

use serde_json::{Map, Value, json};
use underbar_report::json_schema::{document, integer, integer_or_null, list, object, text, text_or_null};

use crate::report::SCHEMA;
use crate::walk::End;

/// The schema, in JSON Schema's 2020-12 form.
#[must_use]
pub fn schema() -> Value {
    let percent = |what: &str| json!({"type": "number", "minimum": 0, "maximum": 100, "description": what});
    let estimate = |what: &str| {
        object(
            what,
            json!({
                "bytes": integer("Estimated bytes."),
                "bytes_low": integer("Low end of the interval of 95 %."),
                "bytes_high": integer("High end."),
                "requests": integer("Estimated requests."),
                "samples": integer("The samples that the estimates are made from."),
                "percent": percent("Share in that of all stacks."),
                "percent_low": percent("Low end of its interval of 95 %."),
                "percent_high": percent("High end."),
            }),
        )
    };
    let figures = || {
        json!({
            "requested": estimate("All requests."),
            "most_in_use": estimate("In use when the run had most in use, by the heaps' own counts."),
            "in_use_at_end": estimate("Still in use when its process ended."),
        })
    };
    let function = json!({
        "function": text_or_null("The function, as people write it."),
        "file": text_or_null("The file of source."),
        "line": integer_or_null("The line."),
    });
    let site = joined([
        function.clone(),
        json!({
            "module": text("The program file that has it; empty for code made at run time."),
            "address": integer_or_null("The address in the file, if nothing else names the place."),
            "note": text_or_null("Why there is no more, for instance stripped."),
            "by": text_or_null("The function by which it requests, if that only hands requests on to malloc."),
        }),
        figures(),
    ]);
    let stack = joined([
        json!({
            "locations": list("Places in `locations`, innermost first.", &integer("A place.")),
            "site": integer("The place of its site in `sites`."),
            "end": text("How the walk ended: a key of `walks`."),
        }),
        figures(),
    ]);
    let location = json!({
        "module": text("The program file; empty for code made at run time."),
        "address": integer("The file's own address, as in nm; for code made at run time, that in the process."),
        "note": text_or_null("Why there are no names or lines: stripped, deleted, replaced, unreadable, made at run time; or that a .dwo file is missing."),
        "functions": list(
            "The functions at this place, innermost first: all but the last were inlined.",
            &object("A function.", function),
        ),
    });
    let walks: Map<String, Value> =
        End::ALL.into_iter().map(|end| (end.key().to_owned(), integer(end.words()))).collect();
    let root = object(
        "Call sites of a run's storage, by samples of `underbar heap`. Each stack belongs to one site.",
        json!({
            "schema": {"const": SCHEMA},
            "underbar": text("The version that made it."),
            "program": text("The program that was started."),
            "arguments": list("Its arguments.", &text("An argument.")),
            "notes": list("Notes about the samples.", &text("A note.")),
            "processes": integer("Processes with samples."),
            "samples": integer("Samples."),
            "lost": integer("Samples for which there was no room: figures are too low by them."),
            "mean_bytes_least": integer("The least mean distance of samples in bytes."),
            "mean_bytes_largest": integer("The largest: it grows while a program requests fast."),
            "heap": object("The heap's own counts of the same; null where they are not known.", json!({
                "requests": integer_or_null("Requests that were served."),
                "requested_bytes_least": integer_or_null("The bytes that they asked for, at least: they are counted by ranges of sizes."),
                "requested_bytes_most": integer_or_null("At most."),
                "most_in_use_bytes": integer_or_null("In use when most was, of all processes, rounded up to cells."),
                "in_use_at_end_bytes": integer_or_null("Still in use when their processes ended, rounded up to cells."),
                "requests_not_sampled": integer_or_null("Requests for storage below 16 MiB and 2 GiB, which are not sampled; part of requests."),
                "bytes_not_sampled": integer_or_null("What they still had in use at the end."),
                "outside_bytes": integer_or_null("Memory in no heap, of the process with most memory."),
                "memory_bytes": integer_or_null("All memory of that process, without files."),
            })),
            "longest_copy_bytes": integer("The longest piece of stack that was too short for its walk."),
            "walks": object("Samples by how the walk over their stack ended.", Value::Object(walks)),
            "total": object("All stacks together.", figures()),
            "sites": list("The sites, that with most in use first.", &object("A site.", site)),
            "stacks": list("The different stacks.", &object("A stack.", stack)),
            "locations": list("Places in code.", &object("A place.", location)),
        }),
    );
    document("underbar.heap.1.json", root)
}

fn joined<const COUNT: usize>(parts: [Value; COUNT]) -> Value {
    let parts = parts.into_iter().filter_map(|part| match part {
        Value::Object(map) => Some(map),
        _ => None,
    });
    Value::Object(parts.flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::example;
    use underbar_report::json_schema::errors;
    use underbar_report::shipped;

    #[test]
    fn reports_conform() {
        let value: Value = serde_json::from_str(&example().to_json()).expect("JSON");
        assert_eq!(errors(&value, &schema(), &|_| None), [""; 0]);
    }

    #[test]
    fn the_shipped_schema_is_this_one() {
        shipped::check("share/schema/underbar.heap.1.json", &format!("{:#}\n", schema()), "underbar-sites");
    }
}
