//! Several suggestions as one option line for each option, as an options file with a section for
//! each program, as lines of the summary, and as JSON.

use std::fmt::Write as _;

use serde_json::json;
use underbar_options::WhereSet;
use underbar_report::Report;
use underbar_report::summary;

use crate::advice::{Advice, Kind, Setting};
use crate::rule::Area;

/// Name and version of the JSON schema of suggestions.
pub const SCHEMA: &str = "underbar.advice/1";

/// The options suggested for one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramOptions {
    /// File name of the program: the section's name.
    pub program: String,
    /// One setting for each option, with the suggestions that it is based on.
    pub settings: Vec<(Setting, Vec<Advice>)>,
}

/// The reason why a suggested option is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withheld {
    /// It has no effect on Linux.
    Idle,
    /// It could do harm, and the user did not request it.
    Risky,
}

impl Withheld {
    /// The reason why one suggestion is not followed.
    #[must_use]
    pub fn of(suggestion: &Advice, risky: bool) -> Option<Withheld> {
        if !suggestion.acts {
            Some(Withheld::Idle)
        } else if suggestion.risky && !risky {
            Some(Withheld::Risky)
        } else {
            None
        }
    }

    /// The reason why the option of these suggestions is not set.
    #[must_use]
    pub fn any_of(from: &[Advice], risky: bool) -> Option<Withheld> {
        from.iter().find_map(|suggestion| Withheld::of(suggestion, risky))
    }
}

impl ProgramOptions {
    /// The options as one text: `HEAP(64M,16M,,KEEP),HUGEPAGES(ON)`.
    #[must_use]
    pub fn text(&self) -> String {
        let words: Vec<String> = self.settings.iter().map(|(setting, _)| setting.to_string()).collect();
        words.join(",")
    }
}

/// Merges suggestions by program and option. Suggestions without a setting are omitted.
#[must_use]
pub fn merged<'a>(suggestions: impl IntoIterator<Item = &'a Advice>) -> Vec<ProgramOptions> {
    let mut programs: Vec<ProgramOptions> = Vec::new();
    for suggestion in suggestions {
        let Some(setting) = &suggestion.option else { continue };
        let at = programs.iter().position(|p| p.program == suggestion.target).unwrap_or_else(|| {
            programs.push(ProgramOptions { program: suggestion.target.clone(), settings: Vec::new() });
            programs.len() - 1
        });
        let settings = &mut programs[at].settings;
        match settings.iter_mut().find(|(known, _)| known.is_of(setting)) {
            Some((known, from)) => {
                known.merge(setting);
                from.push(suggestion.clone());
            }
            None => settings.push((setting.clone(), vec![suggestion.clone()])),
        }
    }
    programs
}

/// The options to set: without those that have no effect here, and without risky ones unless requested.
#[must_use]
pub fn to_set(suggestions: &[Advice], risky: bool) -> Vec<ProgramOptions> {
    merged(suggestions.iter().filter(|suggestion| Withheld::of(suggestion, risky).is_none()))
}

/// An options file: a section for each program, each option with its reasons as comments. Risky
/// suggestions are comments only, unless requested.
#[must_use]
pub fn options_file(report: &Report, suggestions: &[Advice], risky: bool) -> String {
    let words = std::iter::once(&report.run.program).chain(&report.run.arguments);
    let command = words.map(String::as_str).collect::<Vec<_>>().join(" ");
    let mut text = format!(
        "# Suggested by underbar {} from one run of: {}\n# One run's peak need not be the largest: run it on other input, too.\n",
        clean(&report.underbar),
        clean(&command)
    );
    if report.options.has_set(WhereSet::LanguageEnvironmentDefault) {
        text.push_str("# It had the defaults of Language Environment beneath its options: --opts-base le.\n");
    }
    for program in merged(suggestions) {
        // Writing to a String cannot fail.
        let nameable = nameable(&program.program);
        let _ = writeln!(text, "\n{}[{}]", if nameable { "" } else { "# " }, clean(&program.program));
        for (setting, from) in &program.settings {
            for suggestion in from {
                let _ = writeln!(text, "# {}: {}", suggestion.rule, clean(&suggestion.reason));
                let _ = writeln!(text, "#   was {}", clean(&suggestion.now));
            }
            let withheld = Withheld::any_of(from, risky).filter(|_| nameable);
            match withheld {
                Some(Withheld::Idle) => text.push_str("#   not set, since it does nothing on Linux\n"),
                Some(Withheld::Risky) => {
                    text.push_str("#   not set, since it could harm; --risky sets it\n");
                }
                None => {}
            }
            let _ = writeln!(text, "{}{setting}", if nameable && withheld.is_none() { "" } else { "# " });
        }
    }
    text
}

/// True if a section of an options file can apply to exactly this program.
fn nameable(program: &str) -> bool {
    let odd = |c: char| c.is_control() || "[]#".contains(c);
    !program.is_empty() && program != "*" && !program.starts_with("build-id:") && !program.chars().any(odd)
}

/// The lines for the summary of a report.
#[must_use]
pub fn for_summary(suggestions: &[Advice]) -> Vec<summary::Advice> {
    let mut advice = Vec::new();
    for program in merged(suggestions) {
        for (setting, from) in &program.settings {
            advice.push(summary::Advice {
                program: program.program.clone(),
                area: from.first().map_or(Area::Heap, row_of),
                option: Some(setting.to_string()),
                verdict: from.first().map_or("", |suggestion| suggestion.kind.word()),
                // A line of the summary has room for one reason; rules are in order of importance.
                reason: from.first().map_or(String::new(), |suggestion| suggestion.reason.clone()),
                risky: from.iter().any(|suggestion| suggestion.risky),
                acts: Withheld::any_of(from, true).is_none(),
            });
        }
    }
    for suggestion in suggestions.iter().filter(|suggestion| suggestion.option.is_none()) {
        let verdict = match (suggestion.kind, suggestion.area) {
            (Kind::NoAdvice, Some(Area::Heap)) => "no heap advice",
            (Kind::NoAdvice, Some(Area::Switches)) => "nothing to set",
            (Kind::NoAdvice, _) => "measured to the page",
            (kind, _) => kind.word(),
        };
        advice.push(summary::Advice {
            program: suggestion.target.clone(),
            area: row_of(suggestion),
            option: None,
            verdict,
            reason: suggestion.reason.clone(),
            risky: suggestion.risky,
            acts: suggestion.acts,
        });
    }
    advice
}

/// The row of the summary for a suggestion: the first thread's stack and the stacks of other threads have one row each.
fn row_of(suggestion: &Advice) -> Area {
    if suggestion.rule == "threadstack" { Area::ThreadStack } else { suggestion.area.unwrap_or(Area::Heap) }
}

/// Suggestions as JSON, one line and a line feed: all of them, and the options to set.
#[must_use]
pub fn to_json(suggestions: &[Advice], risky: bool) -> String {
    let options: Vec<_> = to_set(suggestions, risky)
        .iter()
        .map(|program| json!({"program": program.program, "options": program.text()}))
        .collect();
    format!("{}\n", json!({"schema": SCHEMA, "suggestions": suggestions, "options": options}))
}

fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use underbar_ledger::Key;
    use underbar_report::sample;

    /// A compiler that needs larger segments, KEEP, huge pages and smaller thread stacks, and a
    /// driver that needs no change.
    fn report() -> Report {
        let mut compiler =
            sample::heap("/usr/libexec/cc1plus", 100 << 20, 8_000, 110 << 20, (16 << 10, 16 << 10));
        compiler.counters.set(Key::HeapSegmentsFreed, 7_900);
        compiler.counters.set(Key::HeapSegmentBytesTotal, 220 << 20);
        compiler.counters.set(Key::ProcessFaults, 30_000);
        compiler.counters.set(Key::ThreadsPeak, 101);
        compiler.counters.set(Key::StackLargest, 8 << 10);
        compiler.counters.set(Key::StackThread, 8 << 10);
        compiler.counters.set(Key::StackDefaultSize, 8 << 10);
        compiler.counters.set(Key::ThreadsOfDefaultSize, 100);
        compiler.counters.set(Key::ThreadsOfDefaultSizePeak, 100);
        let driver = sample::heap("/usr/bin/g++", 1 << 20, 1, 1 << 20, (0, 0));
        sample::report(vec![driver, compiler])
    }

    #[test]
    fn several_suggestions_are_one_line() {
        let suggestions = advise(&report());
        let all = merged(&suggestions);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].program, "cc1plus");
        assert_eq!(all[0].text(), "HEAP(112M,28M,,KEEP),HUGEPAGES(ON),THREADSTACK(ON,256K)");
        assert_eq!(to_set(&suggestions, false)[0].text(), "HEAP(112M,28M,,KEEP),HUGEPAGES(ON)");
    }

    #[test]
    fn the_file_has_sections_and_reasons() {
        let report = report();
        assert_eq!(
            options_file(&report, &advise(&report), false),
            "\
# Suggested by underbar 0.1.0 from one run of: g++ -c x.cc
# One run's peak need not be the largest: run it on other input, too.

[cc1plus]
# heap-size: 8,000 segments, a kernel call each, to hold 100 MiB.
#   was HEAP(16K,16K,,AUTO)
# heap-keep-free: 7,900 of 8,000 segments freed; 220 MiB asked of the kernel to hold 110 MiB.
#   was HEAP(16K,16K,,AUTO)
HEAP(112M,28M,,KEEP)
# hugepages: 30,000 faults to touch 100 MiB, page by page.
#   was HUGEPAGES(AUTO)
HUGEPAGES(ON)
# threadstack: 100 threads at once with 8 MiB each; at most 8 KiB were used.
#   was THREADSTACK(OFF), 8 MiB by default
#   not set, since it could harm; --risky sets it
# THREADSTACK(ON,256K)
"
        );
        assert!(options_file(&report, &advise(&report), true).ends_with("\nTHREADSTACK(ON,256K)\n"));
    }

    #[test]
    fn a_name_that_no_section_can_have_sets_nothing() {
        for name in ["x]\nHEAP(1)", "*", "build-id:12345678", "a#b", "\u{1b}[2J"] {
            let mut report = report();
            report.processes[1].program = format!("/tmp/{name}");
            let text = options_file(&report, &advise(&report), true);
            assert!(text.lines().all(|line| line.is_empty() || line.starts_with('#')), "{text}");
        }
    }

    #[test]
    fn the_file_is_read_as_it_is_meant() {
        use underbar_options::{Base, ProgramName, Settings, WhereSet};
        let report = report();
        let text = options_file(&report, &advise(&report), false);
        let read = |name: &str| {
            let mut settings = Settings::new(Base::Underbar);
            let program = ProgramName { name: name.as_bytes(), started_as: b"", build_id: &[] };
            let mut complaints = 0;
            settings.apply(text.as_bytes(), &program, WhereSet::CommandLine, &mut |_| complaints += 1);
            assert_eq!(complaints, 0, "{text}");
            let mut short = String::new();
            settings.canonical(&mut short).expect("a String takes everything");
            short
        };
        assert_eq!(read("cc1plus"), "HEAP(112M,28M,,KEEP),HUGEPAGES(ON)");
        assert_eq!(read("g++"), "");
    }

    #[test]
    fn the_summary_shows_them() {
        let report = report();
        let text = underbar_report::summary::render(&report, &for_summary(&advise(&report)), false);
        assert!(
            text.contains("HEAP(16K,16K)                      100 MiB        HEAP(112M,28M,,KEEP)\n"),
            "{text}"
        );
        assert!(text.contains("THREADSTACK(ON,256K)\n"), "{text}");
        assert!(
            text.contains("why       HEAP(112M,28M,,KEEP): 8,000 segments, a kernel call each"),
            "{text}"
        );
        assert!(!text.contains("..."), "nothing is cut: {text}");
        assert!(
            text.ends_with(
                "3 suggestions, 1 of them risky. Prove the others: underbar tune -- g++ -c x.cc\n"
            ),
            "{text}"
        );
        assert!(text.lines().count() <= underbar_report::summary::LINES);
    }

    #[test]
    fn json_has_option_texts() {
        let json: serde_json::Value =
            serde_json::from_str(&to_json(&advise(&report()), false)).expect("JSON");
        assert_eq!(json["schema"], SCHEMA);
        assert_eq!(json["suggestions"][0]["rule"], "heap-size");
        assert_eq!(json["suggestions"][0]["option"], "HEAP(112M,28M)");
        assert_eq!(json["suggestions"][0]["kind"], "raise");
        assert_eq!(json["suggestions"][0]["evidence"][0]["figure"], 100 << 20);
        assert_eq!(json["options"][0]["program"], "cc1plus");
        assert_eq!(
            json["options"][0]["options"], "HEAP(112M,28M,,KEEP),HUGEPAGES(ON)",
            "what could harm is not set"
        );
        let risky: serde_json::Value =
            serde_json::from_str(&to_json(&advise(&report()), true)).expect("JSON");
        let options = risky["options"][0]["options"].as_str().expect("text");
        assert!(options.ends_with("THREADSTACK(ON,256K)"), "{options}");
    }
}
