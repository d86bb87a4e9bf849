//! The JSON schema of the report. It is shipped as `share/schema/underbar.heap.1.json`; a test keeps that file equal to this, and another
//! validates a report with it.
//!
//! Readers must ignore unknown keys: within one version of the schema keys are only added.

use serde_json::{Map, Value, json};

use crate::report::SCHEMA;
use crate::walk::End;

/// The schema, in JSON Schema's 2020-12 form.
#[must_use]
pub fn schema() -> Value {
    let text = |what: &str| json!({"type": "string", "description": what});
    let maybe = |what: &str| json!({"type": ["string", "null"], "description": what});
    let maybe_number = |what: &str| json!({"type": ["integer", "null"], "minimum": 0, "description": what});
    let number = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
    let percent = |what: &str| json!({"type": "number", "minimum": 0, "maximum": 100, "description": what});
    let list = |what: &str, items: Value| json!({"type": "array", "description": what, "items": items});
    let estimate = |what: &str| {
        object(
            what,
            json!({
                "bytes": number("Estimated bytes."),
                "bytes_low": number("Low end of the interval of 95 %."),
                "bytes_high": number("High end."),
                "requests": number("Estimated requests."),
                "samples": number("The samples that the estimates are made from."),
                "percent": percent("Share in that of all stacks."),
                "percent_low": percent("Low end of its interval of 95 %."),
                "percent_high": percent("High end."),
            }),
        )
    };
    let figures = || {
        json!({
            "requested": estimate("All requests."),
            "most_in_use": estimate("In use when the run had most in use, by the heaps' own counts at samples."),
            "in_use_at_end": estimate("Still in use when its process ended."),
        })
    };
    let function = json!({
        "function": maybe("The function, as people write it."),
        "file": maybe("The file of source."),
        "line": maybe_number("The line."),
    });
    let site = joined([
        function.clone(),
        json!({
            "module": text("The program file that has it; empty for code made at run time."),
            "address": maybe_number("The address in the file, if nothing else names the place."),
            "note": maybe("Why there is no more, for instance stripped."),
            "by": maybe("The function by which it requests, if that only hands requests on to malloc."),
        }),
        figures(),
    ]);
    let stack = joined([
        json!({
            "locations": list("Places in `locations`, innermost first.", number("A place.")),
            "site": number("The place of its site in `sites`."),
            "end": text("How the walk ended: a key of `walks`."),
        }),
        figures(),
    ]);
    let location = json!({
        "module": text("The program file; empty for code made at run time."),
        "address": number("The file's own address, as in nm; for code made at run time, that in the process."),
        "note": maybe("Why there are no names or lines: stripped, deleted, replaced, unreadable, made at run time."),
        "functions": list(
            "The functions at this place, innermost first: all but the last were inlined.",
            object("A function.", function),
        ),
    });
    let walks: Map<String, Value> =
        End::ALL.into_iter().map(|end| (end.key().to_owned(), number(end.words()))).collect();
    let mut schema = object(
        "Call sites of a run's storage, by samples of `underbar heap`. Each stack belongs to one site.",
        json!({
                   "schema": {"const": SCHEMA},
                   "underbar": text("The version that made it."),
                   "program": text("The program that was started."),
                   "arguments": list("Its arguments.", text("An argument.")),
                   "notes": list("Notes about the samples.", text("A note.")),
                   "processes": number("Processes with samples."),
                   "samples": number("Samples."),
                   "lost": number("Samples for which there was no room: figures are too low by them."),
                   "mean_bytes_least": number("The least mean distance of samples in bytes."),
                   "mean_bytes_largest": number("The largest: it grows while a program requests fast."),
        "heap": object(
                       "The heap's own counts of the same; null where they are not known.",
                       json!({
                           "requests": maybe_number("Requests that were served."),
                           "requested_bytes_least": maybe_number("The bytes that they asked for, at least: they are counted by ranges of sizes."),
                           "requested_bytes_most": maybe_number("At most."),
                           "most_in_use_bytes": maybe_number("In use when most was, of all processes, rounded up to cells."),
                           "in_use_at_end_bytes": maybe_number("Still in use when their processes ended, rounded up to cells."),
                           "requests_not_sampled": maybe_number("Requests in heaps that are not sampled, part of requests."),
                           "bytes_not_sampled": maybe_number("What those heaps still had in use at the end."),
                           "outside_bytes": maybe_number("Memory in no heap, of the process with most memory."),
                           "memory_bytes": maybe_number("All memory of that process, without files."),
                       }),
                   ),
                   "longest_copy_bytes": number("The longest piece of stack that was too short for its walk."),
                   "walks": object("Samples by how the walk over their stack ended.", Value::Object(walks)),
                   "total": object("All stacks together.", figures()),
                   "sites": list("The sites, that with most in use first.", object("A site.", site)),
                   "stacks": list("The different stacks.", object("A stack.", stack)),
                   "locations": list("Places in code.", object("A place.", location)),
               }),
    );
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["$id"] = json!("underbar.heap.1.json");
    schema
}

fn joined<const COUNT: usize>(parts: [Value; COUNT]) -> Value {
    let parts = parts.into_iter().filter_map(|part| match part {
        Value::Object(map) => Some(map),
        _ => None,
    });
    Value::Object(parts.flatten().collect())
}

/// An object all of whose properties are always there.
fn object(description: &str, properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().map(|map| map.keys().collect()).unwrap_or_default();
    json!({"type": "object", "description": description, "required": required, "properties": properties})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::example;

    /// Validates a value by the parts of JSON Schema that are used here.
    fn conforms(value: &Value, schema: &Value, at: &str) {
        if let Some(expected) = schema.get("const") {
            assert_eq!(value, expected, "{at}");
        }
        let is = |name: &Value| match name.as_str().expect("a type") {
            "string" => value.is_string(),
            "null" => value.is_null(),
            "integer" => value.is_u64(),
            "number" => value.is_number(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{other}"),
        };
        match schema.get("type") {
            Some(Value::Array(names)) => assert!(names.iter().any(is), "{at}: {value}"),
            Some(name) => assert!(is(name), "{at}: {value}"),
            None => {}
        }
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            assert!(value.get(name.as_str().expect("a name")).is_some(), "{at}: {name}");
        }
        for (key, value) in value.as_object().into_iter().flatten() {
            let property =
                schema["properties"].get(key).unwrap_or_else(|| panic!("{at}: {key} is not described"));
            conforms(value, property, &format!("{at}.{key}"));
        }
        for value in value.as_array().into_iter().flatten() {
            conforms(value, &schema["items"], &format!("{at}[]"));
        }
    }

    #[test]
    fn reports_conform() {
        let value: Value = serde_json::from_str(&example().to_json()).expect("JSON");
        conforms(&value, &schema(), "report");
    }

    #[test]
    fn the_shipped_schema_is_this_one() {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../share/schema/underbar.heap.1.json");
        let text = format!("{:#}\n", schema());
        if std::env::var_os("UNDERBAR_BLESS").is_some() {
            std::fs::write(&path, &text).expect("the file can be written");
        }
        let shipped = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(shipped == text, "UNDERBAR_BLESS=1 cargo test -p underbar-sites writes {}", path.display());
    }
}
