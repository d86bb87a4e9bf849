//! The JSON schema of a profile. It is shipped as `share/schema/underbar.profile.1.json`; a test keeps that file equal to
//! this, and another validates profiles with it.
//!
//! Readers must ignore unknown keys: within one version of the schema keys are only added.

use serde_json::{Value, json};
use underbar_report::json_schema::{document, integer, list, number, object, switch, text, text_or_null};

use crate::model::SCHEMA;

/// The schema, in JSON Schema's 2020-12 form.
#[must_use]
pub fn schema() -> Value {
    let row = object(
        "An instruction and its samples.",
        json!({
            "program": text("Its file, or the kernel's name for it."),
            "function": text_or_null("The function, or the section in brackets; null without symbols."),
            "displacement": integer("Bytes from the start of the function; without one, the address."),
            "address": integer("Its address in the file; if nothing is known of the file, its address in memory."),
            "instruction": text_or_null("The instruction; null if its bytes are not known."),
            "line": text_or_null("Source file and line, if the file has such tables."),
            "count": integer("Samples."),
            "charged": integer("The samples of these that were taken at the next instruction, which waited for this one."),
            "percent": number("Its part of all samples."),
        }),
    );
    let root = object(
        "An instruction profile of underbar. `samples` is the sum of all counts.",
        json!({
            "schema": {"const": SCHEMA},
            "underbar": text("The version that made it."),
            "sampler": text("The sampler: perf, the kernel itself; timer, a timer in each thread."),
            "event": text("The clock that samples: task-clock or thread-timer, both CPU time of each thread."),
            "mode": text("What is sampled: user, or user and kernel; kernel time appears at the instruction after the system call."),
            "notes": list("Notes about the samples.", &text("The reason for this sampler, missed samples.")),
            "program": text("The program that was started."),
            "arguments": list("Its arguments.", &text("An argument.")),
            "rate_hz": integer("Requested samples in a second of CPU time."),
            "true_rate_hz": number("Samples in a second of the CPU time that is sampled."),
            "raw": switch("Whether samples were left in their places."),
            "elapsed_ns": integer("From start to end."),
            "user_ns": integer("CPU time in user mode, as the kernel accounts it."),
            "system_ns": integer("CPU time in the kernel, which perf does not sample."),
            "samples": integer("All samples."),
            "lost": integer("Lost records."),
            "throttled": integer("The number of times that the kernel throttled sampling."),
            "processes": integer("Processes with samples."),
            "threads": integer("Threads with samples."),
            "instructions": list("The instructions with samples.", &row),
        }),
    );
    document("underbar.profile.1.json", root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::example;
    use underbar_report::json_schema::errors;
    use underbar_report::shipped;

    #[test]
    fn profiles_conform() {
        let value: Value = serde_json::from_str(&example().to_json()).expect("JSON");
        assert_eq!(errors(&value, &schema(), &|_| None), [""; 0]);
        let counts = value["instructions"].as_array().expect("rows").iter().map(|row| row["count"].as_u64());
        assert_eq!(counts.sum::<Option<u64>>(), value["samples"].as_u64());
    }

    #[test]
    fn the_shipped_schema_is_this_one() {
        shipped::check(
            "share/schema/underbar.profile.1.json",
            &format!("{:#}\n", schema()),
            "underbar-profile",
        );
    }
}
