//! The JSON schemas of `tune` and `compare`. They are shipped as `share/schema/underbar.tune.1.json` and
//! `underbar.compare.1.json`; a test keeps those files equal to these, and other tests check the output of the commands against
//! them.
//!
//! Readers must ignore unknown keys: within one version of a schema, keys are only added.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use std::path::{Path, PathBuf};

use common::{Folder, command, said};
use serde_json::{Value, json};

fn text(what: &str) -> Value {
    json!({"type": "string", "description": what})
}

fn number(what: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": what})
}

fn ratio(what: &str) -> Value {
    json!({"type": "number", "description": what})
}

fn switch(what: &str) -> Value {
    json!({"type": "boolean", "description": what})
}

fn list(what: &str, items: &Value) -> Value {
    json!({"type": "array", "description": what, "items": items})
}

fn to(definition: &str) -> Value {
    json!({"$ref": format!("#/$defs/{definition}")})
}

fn or_null(of: &Value) -> Value {
    json!({"anyOf": [of, {"type": "null"}]})
}

/// An object with all of these properties, always.
fn object(what: &str, properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().map(|map| map.keys().collect()).unwrap_or_default();
    json!({"type": "object", "description": what, "required": required, "properties": properties})
}

/// One of several: a word, or an object with one key that is the word.
fn one_of(words: &[&str], objects: Value) -> Value {
    let mut ways = vec![json!({"enum": words})];
    for (word, inside) in objects.as_object().into_iter().flatten() {
        ways.push(json!({"type": "object", "required": [word], "properties": {word: inside}}));
    }
    json!({"anyOf": ways})
}

/// The definitions in both schemas.
fn definitions() -> Value {
    let measure = json!({"enum": ["cpu", "elapsed", "peak_rss", "faults"]});
    let counted = |what: &str| object(what, json!({"runs": number("How many.")}));
    let pairs = || object("Pairs with a zero on one side only.", json!({"pairs": number("How many.")}));
    json!({
        "interval": object("A ratio of two arms, candidate to reference: below 1 is better.", json!({
            "ratio": ratio("The estimate."),
            "low": ratio("The lower end of the interval."),
            "high": ratio("Its upper end."),
            "confidence": ratio("Of the interval, as 0.95."),
            "pairs": number("Pairs of runs that it rests on."),
        })),
        "too_few": object("Too few pairs for an interval.", json!({
            "have": number("Pairs at hand."),
            "need": number("Pairs needed."),
        })),
        "estimate": object("What one measure says of two arms.", json!({
            "measure": measure,
            "pairs": number("Pairs that both ended well."),
            "finding": one_of(&[], json!({
                "better": to("interval"), "worse": to("interval"), "neither": to("interval"),
                "too_few": to("too_few"), "no_ratio": pairs(),
            })),
        })),
        "comparison": object("A candidate held against a reference.", json!({
            "candidate": text("The arm on trial."),
            "reference": text("The arm that it is held against."),
            "planned": number("Rounds that were planned."),
            "dropped": object("Rounds that gave no pair.", json!({
                "candidate_failed": number("The candidate failed."),
                "reference_failed": number("The reference failed."),
                "unfinished": number("Interrupted."),
                "rounds": number("For any of these reasons."),
            })),
            "output": one_of(&["not_repeatable", "not_checked"], json!({
                "equal": counted("Runs that agree."), "differs": counted("Runs of the candidate with another output."),
            })),
            "primary": to("estimate"),
            "secondary": list("The other measures.", &to("estimate")),
            "outcome": one_of(&["better", "no_gain", "too_noisy", "worse"], json!({
                "not_enough_runs": to("too_few"),
                "no_ratio": pairs(),
                "output_differs": counted("Runs of the candidate with another output."),
                "fails": object("The candidate failed more often.", json!({
                    "candidate": number("Its failed runs."),
                    "reference": number("Those of the reference."),
                })),
            })),
        })),
        "question": object("What was asked, before the runs.", json!({
            "primary": measure,
            "secondary": list("Measures that decide nothing.", &measure),
        })),
        "runs": object("The plan, and what every run measured.", json!({
            "plan": object("Arms and their order.", json!({
                "arms": list("All arms.", &text("Its name.")),
                "seed": number("What the order was drawn from."),
                "orders": list("The order of each round.", &list("One round.", &text("An arm."))),
            })),
            "rounds": list("Rounds that were made.", &list("One round.", &object("One run.", json!({
                "arm": text("Which arm."),
                "sample": object("What it measured.", json!({
                    "cpu_ns": number("User and system time."),
                    "elapsed_ns": number("From start to end; under --load that of its command."),
                    "peak_rss_bytes": number("Most resident memory."),
                    "faults": number("Page faults."),
                    "ended_well": switch("Did it end as expected?"),
                    "output": or_null(&number("A fingerprint of its output; null where none was taken.")),
                })),
            })))),
        })),
    })
}

/// A schema with its name and definitions, and the definitions of both schemas.
fn schema(name: &str, mut root: Value, more: Value) -> Value {
    let mut all = definitions();
    if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
        all.extend(more);
    }
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["$id"] = json!(format!("underbar.{name}.1.json"));
    root["$defs"] = all;
    root
}

fn of_compare() -> Value {
    let root = object(
        "What `underbar compare --json` prints.",
        json!({
            "schema": {"const": "underbar.compare/1"},
            "command": list("The program and its arguments.", &text("A word.")),
            "arms": list("The arms, in the order of their flags.", &json!({
                "type": "object",
                "description": "One arm: its name, and what makes it different.",
                "required": ["arm"],
                "properties": {
                    "arm": text("Its name in the figures."),
                    "opts": text("Options; `plain` is the program without underbar."),
                    "env": text("A variable, without underbar."),
                    "preload": text("A library that is loaded first, without underbar."),
                    "command": text("A shell command in place of the program, without underbar."),
                },
            })),
            "comparisons": list("Each arm against the first.", &to("comparison")),
            "question": to("question"),
            "interrupted": switch("Were there fewer rounds than planned?"),
            "runs": to("runs"),
        }),
    );
    schema("compare", root, json!({}))
}

fn of_tune() -> Value {
    let root = object(
        "What `underbar tune --json` prints.",
        json!({
            "schema": {"const": "underbar.tune/1"},
            "command": list("The program and its arguments.", &text("A word.")),
            "report": {"$ref": "underbar.report.1.json"},
            "output_repeatable": switch("Did two equal runs print the same?"),
            "suggestions": list("What the reports suggest.", &to("suggestion")),
            "tried": list("Every set that was tried.", &object("One set.", json!({
                "name": text("`suggested`, `less memory`, or the flag that it came with."),
                "options": text("Its options."),
                "verdict": to("tune_verdict"),
            }))),
            "confirmed": or_null(&object("The best set on fresh runs.", json!({
                "confirmation": {"enum": ["confirmed", "not_confirmed", "interrupted"]},
                "first": to("tune_verdict"),
                "fresh": to("tune_verdict"),
            }))),
            "default_plain": or_null(&object("Default against plain, where there was no set to try.", json!({
                "schema": {"const": "underbar.verdict/1"},
                "comparison": to("comparison"),
                "question": to("question"),
                "runs": to("runs"),
            }))),
            "live": or_null(&json!({"type": "object", "description": "What --live tried: one lock's ways of waiting."})),
            "allocators": or_null(&object("Ours against other allocators, with --allocators.", json!({
                "reference": text("The arm that they are compared with: `default` or `tuned`."),
                "better": or_null(&text("The best of those that are better by the primary measure.")),
                "before": or_null(&text("The words that run the program so, before its own.")),
                "comparisons": list("Plain, libraries that are installed, settings of glibc.", &to("comparison")),
                "runs": to("runs"),
            }))),
            "kept": switch("Was a set kept, and confirmed?"),
            "options_file": or_null(&text("The file that was written.")),
            "interrupted": switch("Were there fewer runs than planned?"),
        }),
    );
    let more = json!({
        "suggestion": object("One suggestion, or the reason for none.", json!({
            "rule": text("The rule that made it: `underbar explain RULE`."),
            "program": text("The program that it is for."),
            "area": text("HEAP, STACK, THREADSTACK, LOCK or SWITCHES."),
            "kind": {"enum": ["raise", "lower", "change", "no_change", "no_advice"]},
            "option": or_null(&text("The option to set, as options are written; null where nothing is to be set.")),
            "now": text("What is set now."),
            "suggested": text("What would be set."),
            "evidence": list("The figures that speak for it.", &object("A figure.", json!({
                "key": text("Its key: `underbar explain KEY`."),
                "figure": number("The figure."),
            }))),
            "reason": text("One sentence."),
            "stop": text("When to stop following the rule."),
            "risk": text("What following it could cost."),
            "risky": switch("Could a wrong value break the program?"),
            "acts": switch("Does the option do something on Linux?"),
        })),
        "tune_verdict": object("Tuned, default and plain, compared.", json!({
            "schema": {"const": "underbar.verdict/1"},
            "outcome": {"enum": [
                "kept", "not_better_than_plain", "only_better_than_default", "not_better_than_default", "rejected",
                "too_noisy", "no_verdict",
            ]},
            "tuned_plain": to("comparison"),
            "tuned_default": to("comparison"),
            "default_plain": to("comparison"),
            "question": to("question"),
            "runs": to("runs"),
        })),
    });
    schema("tune", root, more)
}

// ---- held against what is printed ------------------------------------------------------------------------

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../share/schema").join(name)
}

/// The errors in a value, by the parts of JSON Schema that are used here. A key that is not described is an error, too.
fn errors(value: &Value, schema: &Value, root: &Value, path: &str, wrong: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let Some(inside) = reference.strip_prefix('#') else {
            let other = std::fs::read(shipped(reference)).expect(reference);
            let other: Value = serde_json::from_slice(&other).expect("a schema");
            return errors(value, &other, &other, path, wrong);
        };
        return errors(value, root.pointer(inside).expect("a definition"), root, path, wrong);
    }
    if let Some(ways) = schema["anyOf"].as_array() {
        let fits = |way: &Value| {
            let mut wrong = Vec::new();
            errors(value, way, root, path, &mut wrong);
            wrong.is_empty()
        };
        if !ways.iter().any(fits) {
            wrong.push(format!("{path} is none of what it may be: {value}"));
        }
        return;
    }
    let is_fixed = schema.get("const").is_none_or(|fixed| fixed == value);
    let is_listed = schema["enum"].as_array().is_none_or(|all| all.contains(value));
    let has_kind = |kind: &str| match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    };
    let is_of_kind = match &schema["type"] {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(has_kind),
        kind => kind.as_str().is_some_and(has_kind),
    };
    if !(is_fixed && is_listed && is_of_kind) {
        wrong.push(format!("{path} is {value}"));
    }
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.is_object() && value.get(key).is_none() {
            wrong.push(format!("{path} lacks {key}"));
        }
    }
    if let Some(described) = schema["properties"].as_object() {
        for (key, inner) in value.as_object().into_iter().flatten() {
            match described.get(key) {
                Some(schema) => errors(inner, schema, root, &format!("{path}.{key}"), wrong),
                None => wrong.push(format!("{path}.{key} is not described")),
            }
        }
    }
    for (at, inner) in value.as_array().into_iter().flatten().enumerate() {
        errors(inner, &schema["items"], root, &format!("{path}[{at}]"), wrong);
    }
}

#[track_caller]
fn check(schema: &Value, arguments: &[&str]) -> Value {
    let folder = Folder::new(&format!("schema-{}", arguments[0]));
    let output = command(arguments).current_dir(folder.path()).output().expect("it runs");
    let (code, text, error) = said(&output);
    assert_eq!(code, 0, "{error}");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let mut wrong = Vec::new();
    errors(&value, schema, schema, "result", &mut wrong);
    assert_eq!(wrong, [""; 0]);
    // The schema must also reject a value.
    let mut bad = value.clone();
    bad["command"] = json!(7);
    errors(&bad, schema, schema, "result", &mut wrong);
    assert_eq!(wrong.len(), 1);
    value
}

#[test]
fn what_compare_prints_validates() {
    let line = ["compare", "--json", "-q", "--runs", "7", "--opts", "plain", "--opts", "", "--", "true"];
    check(&of_compare(), &line);
    let line = ["compare", "--json", "-q", "--runs", "1", "--env", "A=1", "--command", "true", "--", "true"];
    check(&of_compare(), &line);
}

#[test]
fn what_tune_prints_validates_with_a_set_and_without() {
    let own = env!("CARGO_BIN_EXE_underbar");
    let begin = ["tune", "--json", "-q", "--runs", "7"];
    let suggested = check(&of_tune(), &[&begin[..], &["--opts", "HEAP(4K,4K)", "--", own, "man"]].concat());
    assert!(suggested["tried"][0]["name"] == "suggested", "{suggested}");
    assert!(
        suggested["suggestions"].as_array().expect("a list").iter().any(|said| !said["option"].is_null())
    );
    // Under FREE there is no set for less memory.
    let opts = "HEAP(AUTO,AUTO,,FREE)";
    let nothing = check(&of_tune(), &[&begin[..], &["--opts", opts, "--", "true"]].concat());
    assert!(nothing["default_plain"].is_object(), "{nothing}");
    let others = ["tune", "--json", "-q", "--runs", "1", "--allocators", "--opts", opts, "--", "true"];
    assert!(check(&of_tune(), &others)["allocators"].is_object());
}

#[test]
fn the_shipped_schemas_are_these() {
    for (name, schema) in [("underbar.tune.1.json", of_tune()), ("underbar.compare.1.json", of_compare())] {
        let made = format!("{}\n", serde_json::to_string_pretty(&schema).expect("JSON"));
        if std::env::var_os("UNDERBAR_BLESS").is_some() {
            std::fs::write(shipped(name), &made).expect("written");
        }
        let found = std::fs::read_to_string(shipped(name)).unwrap_or_default();
        assert!(
            found == made,
            "{name} is not what this file makes; UNDERBAR_BLESS=1 cargo test -p underbar-cli writes it"
        );
    }
}
