//! `underbar explain NAME`: the meaning of an option, a figure, a rule or a word of the mainframe, from the tables.
//!
//! Invariant: every name in a report, in JSON, in a suggestion or in an option text is explained here, and only names of a
//! table are.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use underbar_advise::{Platform, rules};
use underbar_ledger::TABLE;
use underbar_ledger::sizes::{self, COMMON};
use underbar_options::{Effect, Entry, OPTIONS, find_option};
use underbar_report::absent::ABSENT;
use underbar_report::ecbs;
use underbar_report::gate::nearest;
use underbar_report::glossary::{self, TERMS};
use underbar_report::lock::columns::COLUMNS;
use underbar_report::manual::REQUEST_SIZES;
use underbar_report::pools::FIGURES;
use underbar_report::steps::STEPS;
use underbar_report::tree::TREE;

use crate::exit::ExitCode;
use crate::say::{Color, Kind, say};

/// The flags of `explain`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar explain
  underbar explain HEAP
  underbar explain heap.used_peak heap-size
  underbar explain 'Number of segments allocated'
  underbar explain CEECAA

Exit status: 0 explained, 2 there is no such name.")]
pub struct Explain {
    /// An option, the key or label of a figure, a rule, or a word of the mainframe [default: list all names]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// When text is coloured
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,
}

impl Explain {
    /// Explains.
    pub fn run(self) -> ExitCode {
        let printing = crate::printing::Printing { json: false, color: self.color };
        if self.names.is_empty() {
            return printing.print_words(&topics(), self.output.as_deref(), 0);
        }
        let (mut text, mut code) = (String::new(), 0);
        for name in &self.names {
            match explain(name) {
                Ok(explanation) => {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text += &explanation;
                }
                Err(message) => {
                    say(self.color, Kind::Error, message);
                    code = crate::printing::NO_ANSWER;
                }
            }
        }
        printing.print_words(&text, self.output.as_deref(), code)
    }
}

/// The meaning of a name. An option may come with its sub-options, as in an option text.
fn explain(name: &str) -> Result<String, String> {
    let name = name.trim();
    let word = name.split('(').next().unwrap_or_default().trim();
    if let Some(option) = find_option(word.as_bytes()) {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = OPTIONS[option].write_explanation(&mut text);
        // Some rules have the name of the option that they set.
        if let Ok(rule) = underbar_advise::explain(&word.to_ascii_lowercase()) {
            text = format!("{text}\nThe rule of that name\n\n{rule}");
        }
        // Some words of z/TPF have the name of the option that governs them here.
        if let Some(term) = glossary::find(word) {
            text = format!("{text}\nThe word of that name\n\n{}", term.explanation());
        }
        return Ok(text);
    }
    if let Some(term) = glossary::find(name) {
        return Ok(term.explanation());
    }
    // Heaps that the program creates have the labels of the default one.
    let labelled = TABLE.iter().filter(|entry| entry.label.eq_ignore_ascii_case(name));
    let labelled: Vec<String> =
        labelled.filter_map(|entry| underbar_advise::explain(entry.key).ok()).collect();
    if !labelled.is_empty() {
        return Ok(labelled.join("\n"));
    }
    let labels = TABLE.iter().map(|entry| (entry.label, entry.key));
    let labels = labels.chain([(COMMON.label, REQUEST_SIZES)]);
    let labels = labels.chain(FIGURES.iter().map(|figure| (figure.label, figure.key)));
    let mut labels = labels.chain(ABSENT.iter().map(|absent| (absent.label.text(), absent.key)));
    let mut begun = labels.clone().filter(|(label, _)| is_begun(label, name)).map(|(_, key)| key);
    let label = labels.find(|(label, _)| label.eq_ignore_ascii_case(name)).map(|(_, key)| key);
    let key = label.map_or_else(|| name.to_ascii_lowercase(), str::to_owned);
    underbar_advise::explain(&key).map_err(|_| {
        let shown: String = name.chars().take(80).map(|c| if c.is_control() { '?' } else { c }).collect();
        // Values of options and common words have no explanation of their own, but other explanations use them.
        let places: Vec<&str> = names().filter(|place| tells_of(place, name)).take(PLACES).collect();
        let mut keys: Vec<&str> = Vec::new();
        for key in begun.by_ref() {
            if !keys.contains(&key) && keys.len() < PLACES {
                keys.push(key);
            }
        }
        let hint = if !keys.is_empty() {
            format!(" labels of {} begin so.", keys.join(", "))
        } else if places.is_empty() {
            let all = names().chain(sizes::TABLE.iter().map(|row| row.key));
            nearest(name, all).map_or(String::new(), |name| format!(" did you mean {name}?"))
        } else {
            format!(" the explanation of {} uses the word.", places.join(", "))
        };
        format!("no option, figure, rule or word is called \"{shown}\";{hint} `underbar explain` lists all")
    })
}

/// Whether a label begins with these words, two or more. One word alone finds all explanations that use it.
fn is_begun(label: &str, words: &str) -> bool {
    words.contains(' ') && label.get(..words.len()).is_some_and(|start| start.eq_ignore_ascii_case(words))
}

/// The most names that a hint has.
const PLACES: usize = 5;

/// Does the explanation of `name` hold this word?
fn tells_of(name: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let is_word = !word.is_empty() && word.chars().all(is_letter);
    is_word
        && explain(name).is_ok_and(|text| {
            text.split(|c: char| !is_letter(c))
                .any(|known| known.trim_matches('.').eq_ignore_ascii_case(word))
        })
}

/// All names that are listed; labels and sub-options are explained with them.
pub fn names() -> impl Iterator<Item = &'static str> {
    let absent = FIGURES
        .iter()
        .map(|figure| figure.key)
        .chain(ecbs::FIGURES.iter().map(|figure| figure.key))
        .chain(ABSENT.iter().map(|absent| absent.key));
    let terms = TERMS.iter().map(|term| term.name);
    OPTIONS.iter().map(|entry| entry.name).chain(underbar_advise::explain::names()).chain(absent).chain(terms)
}

/// All names, by kind; options with an effect on Linux come first.
fn topics() -> String {
    let acts = |entry: &&Entry| !matches!(entry.effect, Effect::AcceptedNoEffect(_));
    let mut text = String::from("Options with an effect on Linux: underbar explain HEAP\n");
    list(&mut text, OPTIONS.iter().filter(acts).map(|entry| (entry.name, entry.meaning.text())));
    text.push_str("\nRules of suggestions: underbar explain heap-size\n");
    let rules = |platform| rules::of(platform).map(|rule| (rule.id, rule.title));
    list(&mut text, rules(Platform::Linux));
    figures(&mut text);
    text.push_str("\nOptions without an effect on Linux, accepted: underbar explain LIBSTACK\n");
    list(
        &mut text,
        OPTIONS.iter().filter(|entry| !acts(entry)).map(|entry| (entry.name, entry.meaning.text())),
    );
    text.push_str("\nRules for listings of Language Environment: underbar explain le-heap-size\n");
    list(&mut text, rules(Platform::LanguageEnvironment));
    text.push_str("\nRules for listings of z/TPF: underbar explain tpf-avl-size\n");
    list(&mut text, rules(Platform::Ztpf));
    text.push_str(
        "\nRules for listings of Natural, and for load libraries: underbar explain natural-thread-size\n",
    );
    list(&mut text, rules(Platform::Natural).chain(rules(Platform::Libraries)));
    text.push_str("\nChecks of option texts in listings: underbar explain le-opt-text\n");
    list(&mut text, rules::checks().map(|check| (check.id, check.title)));
    text.push_str("\nFigures of the storage report that underbar does not have, null in JSON: underbar explain libstack.largest\n");
    list(&mut text, ABSENT.iter().map(|absent| (absent.key, absent.label.text())));
    text.push_str("\nWords of the mainframe: underbar explain CEECAA\n");
    list(&mut text, TERMS.iter().map(|term| (term.name, term.long)));
    text
}

/// Names with their meanings, in two columns.
fn list<'a>(text: &mut String, names: impl Iterator<Item = (&'a str, &'a str)> + Clone) {
    let width = names.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, meaning) in names {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name:<width$}  {meaning}");
    }
}

fn figures(text: &mut String) {
    text.push_str("\nFigures of a report: underbar explain heap.used_peak\n");
    let keys = STEPS
        .iter()
        .map(|step| (step.key, step.label))
        .chain(TREE.iter().map(|of| (of.key, of.label)))
        .chain(TABLE.iter().map(|entry| (entry.key, entry.label)))
        .chain([(REQUEST_SIZES, COMMON.label)])
        .chain(COLUMNS.iter().map(|column| (column.key, column.label)))
        .chain(FIGURES.iter().map(|figure| (figure.key, figure.label)))
        .chain(ecbs::FIGURES.iter().map(|figure| (figure.key, figure.label)));
    list(text, keys);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_linux_comes_first() {
        let topics = topics();
        let (first, rest) = topics.split_once("Options without an effect on Linux").expect("both kinds");
        let has_line = |part: &str, name: &str, meaning: &str| {
            part.lines().any(|line| {
                line.strip_prefix("  ")
                    .and_then(|line| line.strip_prefix(name))
                    .is_some_and(|rest| rest.starts_with("  ") && rest.trim_start() == meaning)
            })
        };
        for entry in OPTIONS {
            let is_idle = matches!(entry.effect, Effect::AcceptedNoEffect(_));
            let found = [first, rest].map(|part| has_line(part, entry.name, entry.meaning.text()));
            assert_eq!(found, [!is_idle, is_idle], "{}", entry.name);
        }
        assert!(first.contains("heap.used_peak") && rest.contains("le-heap-size"), "{topics}");
    }

    #[test]
    fn every_topic_is_explained() {
        for line in topics().lines().filter(|line| line.starts_with("  ")) {
            let name = line.trim_start().split("  ").next().expect("a name");
            let text = explain(name).expect(name);
            assert!(text.starts_with(name) || text.contains(&format!("\n{name}: ")), "{name}: {text}");
        }
        assert!(names().all(|name| topics().contains(name)));
    }

    #[test]
    fn a_word_that_is_no_name_leads_to_where_it_stands() {
        for (word, place) in [("KEEP", "HEAP"), ("anywhere", "HEAP"), ("packing", "heap-size")] {
            let message = explain(word).expect_err(word);
            assert!(
                message.contains("; the explanation of ")
                    && message.contains(" uses the word.")
                    && message.contains(place),
                "{message}"
            );
        }
        let message = explain("heep.used_peak").expect_err("misspelt");
        assert!(message.contains("did you mean heap.used_peak?"), "{message}");
        let message = explain("Number of segments").expect_err("the beginning of labels");
        assert!(message.contains("; labels of heap.segments_allocated, heap.segments_freed"), "{message}");
        let message = explain("faketime").expect_err("like nothing");
        assert!(message.ends_with("is called \"faketime\"; `underbar explain` lists all"), "{message}");
        let message = explain("sizes.up_to_65").expect_err("no row");
        assert!(message.contains("did you mean sizes.up_to_64?"), "{message}");
    }

    #[test]
    fn an_option_and_the_word_of_its_name_are_both_explained() {
        let text = explain("avl(SSL,32)").expect("an option");
        let (option, word) = text.split_once("\nThe word of that name\n\n").expect("both");
        assert!(option.starts_with("AVL(class,") && word.contains("available list"), "{text}");
        assert!(!explain("HEAP").expect("an option").contains("\nThe word of that name\n"));
    }

    #[test]
    fn names_are_found_as_they_are_written_elsewhere() {
        for (given, start) in [
            ("heap(64M,16M)", "HEAP("),
            ("rptstg", "RPTSTG("),
            ("HEAP.USED_PEAK", "heap.used_peak:"),
            (" heap-size ", "heap-size:"),
        ] {
            let text = explain(given).expect(given);
            assert!(text.starts_with(start), "{text}");
        }
        assert!(
            explain(COMMON.label).is_ok_and(|text| text.starts_with("request-sizes: Requests by size\n"))
        );
        assert!(explain("sizes.up_to_64").is_ok_and(|text| text.contains("\nThis row: 49 to 64 bytes.\n")));
        for entry in &TABLE {
            let text = explain(entry.label).expect(entry.label);
            let is_there = text.lines().any(|line| line.starts_with(&format!("{}:", entry.key)));
            assert!(is_there, "{}: {text}", entry.key);
        }
    }
}
