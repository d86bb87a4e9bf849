//! The JSON schemas of `tune` and `compare`. They are shipped as `share/schema/underbar.tune.1.json` and
//! `underbar.compare.1.json`; a test keeps those files equal to these, and other tests check the output of the commands against
//! them. What `ls` and `top` print is checked against their schemas, which are in `underbar_top`.
//!
//! Readers must ignore unknown keys: within one version of a schema, keys are only added.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use common::{Folder, command, said};
use serde_json::{Value, json};
use underbar_report::json_schema::{document, errors, integer, list, number, object, switch, text};
use underbar_report::shipped;

fn to(definition: &str) -> Value {
    json!({"$ref": format!("#/$defs/{definition}")})
}

fn or_null(of: &Value) -> Value {
    json!({"anyOf": [of, {"type": "null"}]})
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
    let counted = |what: &str| object(what, json!({"runs": integer("How many.")}));
    let pairs = || object("Pairs with a zero on one side only.", json!({"pairs": integer("How many.")}));
    json!({
        "interval": object("A ratio of two arms, candidate to reference: below 1 is better.", json!({
            "ratio": number("The estimate."),
            "low": number("The lower end of the interval."),
            "high": number("Its upper end."),
            "confidence": number("Of the interval, as 0.95."),
            "pairs": integer("Pairs of runs that it rests on."),
        })),
        "too_few": object("Too few pairs for an interval.", json!({
            "have": integer("Pairs at hand."),
            "need": integer("Pairs needed."),
        })),
        "estimate": object("What one measure says of two arms.", json!({
            "measure": measure,
            "pairs": integer("Pairs that both ended well."),
            "finding": one_of(&[], json!({
                "better": to("interval"), "worse": to("interval"), "neither": to("interval"),
                "too_few": to("too_few"), "no_ratio": pairs(),
            })),
        })),
        "comparison": object("A candidate held against a reference.", json!({
            "candidate": text("The arm on trial."),
            "reference": text("The arm that it is held against."),
            "planned": integer("Rounds that were planned."),
            "dropped": object("Rounds that gave no pair.", json!({
                "candidate_failed": integer("The candidate failed."),
                "reference_failed": integer("The reference failed."),
                "unfinished": integer("Interrupted."),
                "rounds": integer("For any of these reasons."),
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
                    "candidate": integer("Its failed runs."),
                    "reference": integer("Those of the reference."),
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
                "seed": integer("What the order was drawn from."),
                "orders": list("The order of each round.", &list("One round.", &text("An arm."))),
            })),
            "rounds": list("Rounds that were made.", &list("One round.", &object("One run.", json!({
                "arm": text("Which arm."),
                "sample": object("What it measured.", json!({
                    "cpu_ns": integer("User and system time."),
                    "elapsed_ns": integer("From start to end; under --load that of its command."),
                    "peak_rss_bytes": integer("Most resident memory."),
                    "faults": integer("Page faults."),
                    "ended_well": switch("Did it end as expected?"),
                    "output": or_null(&integer("A fingerprint of its output; null where none was taken.")),
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
    root["$defs"] = all;
    document(&format!("underbar.{name}.1.json"), root)
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
            "tuned_report": or_null(&json!({"$ref": "underbar.report.1.json"})),
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
                "less_memory": or_null(&text("Another one that takes less memory, and no more of the primary measure.")),
                "less_memory_before": or_null(&text("The words that run the program so, before its own.")),
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
                "figure": integer("The figure."),
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

#[track_caller]
fn check(schema: &Value, arguments: &[&str]) -> Value {
    let folder = Folder::new(&format!("schema-{}", arguments[0]));
    let output = command(arguments).current_dir(folder.path()).output().expect("it runs");
    let (code, text, error) = said(&output);
    assert_eq!(code, 0, "{error}");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(errors(&value, schema, &shipped::schema), [""; 0]);
    // The schema must also reject a value.
    let mut bad = value.clone();
    bad["command"] = json!(7);
    assert_eq!(errors(&bad, schema, &shipped::schema).len(), 1);
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
    // A course of the run whose accounts the suggestions are from.
    let every =
        ["tune", "--json", "-q", "--runs", "1", "--every", "10ms", "--html", "page.html", "--opts", opts];
    let looked = check(&of_tune(), &[&every[..], &["--", "sleep", "0.1"]].concat());
    assert!(looked["report"]["over_time"]["looks"].as_u64() > Some(0), "{looked}");
    let others = ["tune", "--json", "-q", "--runs", "1", "--allocators", "--opts", opts, "--", "true"];
    assert!(check(&of_tune(), &others)["allocators"].is_object());
}

#[test]
fn what_ls_and_top_print_validates() {
    let folder = Folder::new("schema-top");
    let script = "\"$BIN\" ls --json && \"$BIN\" top --json --every 50ms | head -n 3";
    let mut run = command(&["run", "-q", "--opts", "HEAP(1M)", "--", "sh", "-c", script]);
    run.env("BIN", env!("CARGO_BIN_EXE_underbar")).env("XDG_RUNTIME_DIR", folder.path());
    let (code, text, error) = said(&run.output().expect("it runs"));
    assert_eq!(code, 0, "{error}");
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let list = lines.next().expect("a list");
    assert_eq!(errors(&list, &shipped::schema("underbar.ls.1.json").expect("a schema"), &|_| None), [""; 0]);
    let is_ours = |ledger: &Value| ledger["program"] == "sh" && ledger["state"] == "running";
    assert!(list["ledgers"].as_array().expect("ledgers").iter().any(is_ours), "{list}");
    let looks: Vec<Value> = lines.collect();
    assert_eq!(looks.len(), 3, "{text}");
    let schema = shipped::schema("underbar.top.1.json").expect("a schema");
    for look in looks {
        assert_eq!(errors(&look, &schema, &|_| None), [""; 0]);
        assert!(look["processes"].as_array().expect("processes").iter().any(|row| row["program"] == "sh"));
    }
}

#[test]
fn the_shipped_schemas_are_these() {
    for (name, schema) in [("underbar.tune.1.json", of_tune()), ("underbar.compare.1.json", of_compare())] {
        shipped::check(&format!("share/schema/{name}"), &format!("{schema:#}\n"), "underbar-cli");
    }
}
