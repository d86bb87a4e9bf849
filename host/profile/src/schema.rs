//! The JSON schema of a profile. It is shipped as `share/schema/underbar.profile.1.json`; a test keeps that file equal to
//! this, and another validates profiles with it.
//!
//! Readers must ignore unknown keys: within one version of the schema keys are only added.

use serde_json::{Value, json};

use crate::model::SCHEMA;

/// The schema, in JSON Schema's 2020-12 form.
#[must_use]
pub fn schema() -> Value {
    let text = |what: &str| json!({"type": "string", "description": what});
    let maybe = |what: &str| json!({"type": ["string", "null"], "description": what});
    let number = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
    let row = object(
        "An instruction and its samples.",
        json!({
            "program": text("Its file, or the kernel's name for it."),
            "function": maybe("The function, or the section in brackets; null without symbols."),
            "displacement": number("Bytes from the start of the function; without one, the address."),
            "address": number("Its address in the file; if nothing is known of the file, its address in memory."),
            "instruction": maybe("The instruction; null if its bytes are not known."),
            "line": maybe("Source file and line, if the file has such tables."),
            "count": number("Samples."),
            "charged": number("The samples of these that were taken at the next instruction, which waited for this one."),
            "percent": {"type": "number", "description": "Its part of all samples."},
        }),
    );
    let mut schema = object(
        "An instruction profile of underbar. `samples` is the sum of all counts.",
        json!({
            "schema": {"const": SCHEMA},
            "underbar": text("The version that made it."),
            "sampler": text("The sampler: perf, the kernel itself; timer, a timer in each thread."),
            "event": text("The clock that samples: task-clock or thread-timer, both CPU time of each thread."),
            "mode": text("What is sampled: user, or user and kernel; kernel time appears at the instruction after the system call."),
            "notes": {"type": "array", "items": text("Notes about the samples: the reason for this sampler, missed samples.")},
            "program": text("The program that was started."),
            "arguments": {"type": "array", "items": text("An argument.")},
            "rate_hz": number("Requested samples in a second of CPU time."),
            "true_rate_hz": {"type": "number", "description": "Samples in a second of the CPU time that is sampled."},
            "raw": {"type": "boolean", "description": "Whether samples were left in their places."},
            "elapsed_ns": number("From start to end."),
            "user_ns": number("CPU time in user mode, as the kernel accounts it."),
            "system_ns": number("CPU time in the kernel, which perf does not sample."),
            "samples": number("All samples."),
            "lost": number("Lost records."),
            "throttled": number("The number of times that the kernel throttled sampling."),
            "processes": number("Processes with samples."),
            "threads": number("Threads with samples."),
            "instructions": {"type": "array", "items": row},
        }),
    );
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["$id"] = json!("underbar.profile.1.json");
    schema
}

/// An object all of whose properties are always there.
fn object(description: &str, properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().map(|map| map.keys().collect()).unwrap_or_default();
    json!({"type": "object", "description": description, "required": required, "properties": properties})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::example;

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
            "boolean" => value.is_boolean(),
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
    fn profiles_conform() {
        let value: Value = serde_json::from_str(&example().to_json()).expect("JSON");
        conforms(&value, &schema(), "profile");
        let counts = value["instructions"].as_array().expect("rows").iter().map(|row| row["count"].as_u64());
        assert_eq!(counts.sum::<Option<u64>>(), value["samples"].as_u64());
    }

    #[test]
    fn the_shipped_schema_is_this_one() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../share/schema/underbar.profile.1.json");
        let text = format!("{:#}\n", schema());
        if std::env::var_os("UNDERBAR_BLESS").is_some() {
            std::fs::write(&path, &text).expect("the file can be written");
        }
        let shipped = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(shipped == text, "UNDERBAR_BLESS=1 cargo test -p underbar-profile writes {}", path.display());
    }
}
