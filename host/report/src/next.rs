//! The last line of the summary: the next command to type.
//!
//! ```text
//! no accounts                        underbar doctor -- PROGRAM
//! a crash                            PROGRAM, without underbar
//! something to set                   underbar tune [--risky] -- PROGRAM
//! threads wait for locks             underbar report --report lock
//! another allocator serves           underbar doctor -- PROGRAM
//! most of the memory is elsewhere    underbar report --report all
//! programs without accounts          underbar explain follow.REASON
//! nothing to change                  underbar report --report all
//! ```
//!
//! A report that is not kept is printed by another run: underbar run --report all -- PROGRAM.
//!
//! Invariant: the command can be typed as printed. It has the options that another run would not have by itself.
//! Not here: which suggestions there are (`advise`).

use underbar_options::WhereSet;

use crate::lock;
use crate::memory::mostly_elsewhere;
use crate::model::{End, Report};
use crate::page::{Line, Tone, clean, clip, quoted};
use crate::program::Program;
use crate::remedies::Unseen;
use crate::suggestion::Advice;
use crate::units::counted;

/// The most characters of a command to type. It is printed whole, beyond [`crate::page::COLUMNS`], since a shortened one cannot
/// be typed.
const LONGEST_COMMAND: usize = 1_000;

/// The variable with options for all runs of a shell.
const VARIABLE: &str = "UNDERBAR_OPTS";

/// The next command to type.
pub(crate) fn line(report: &Report, programs: &[Program], advice: &[Advice], kept: Option<&str>) -> Line {
    let to_set: Vec<&Advice> =
        advice.iter().filter(|advice| advice.option.is_some() && advice.acts).collect();
    // If one suggestion is not risky, it can be tried without the others.
    let tune = if to_set.iter().all(|advice| advice.risky) { "tune --risky" } else { "tune" };
    let doctor = || "underbar doctor".to_owned();
    let again = |verb: &str| format!("{}underbar {verb}{}", variable_given(report), options_given(report));
    let command = command_line(report);
    let unseen = Unseen::of(report, programs);
    let with_program = |verb: String| format!("{verb} -- {command}");
    // A report that is kept needs no new run.
    let shown = |form: &str| match kept {
        Some(name) => format!("underbar report --report {form} {name}").trim_end().to_owned(),
        None => with_program(again(&format!("run --report {form}"))),
    };
    let (words, command) = match (programs.first(), &unseen) {
        (None, _) => ("What can be done here:".to_owned(), with_program(doctor())),
        (_, Some(Unseen::Crash)) => (
            "It crashed: the figures are of a part of a run. Does it without underbar:".to_owned(),
            command.clone(),
        ),
        (Some(leading), _) if !to_set.is_empty() => {
            let verb = again(&format!("{tune}{}", expected(report)));
            (suggestions(&to_set, leading), with_program(verb))
        }
        _ if lock::lines::have_a_say(report) => ("Who waits for whom:".to_owned(), shown("lock")),
        (Some(leading), _) if leading.served_by().is_some() => {
            ("Which allocator serves:".to_owned(), with_program(doctor()))
        }
        (Some(leading), _) if mostly_elsewhere(leading) => {
            ("Most memory is not in this heap. Every figure:".to_owned(), shown("all"))
        }
        (_, Some(unseen @ Unseen::Programs { reason, .. })) => (
            format!("{}. What that means:", in_what_was_seen(unseen)),
            format!("underbar explain {}", reason.entry().key),
        ),
        (_, Some(unseen)) => (format!("{}. Every figure:", in_what_was_seen(unseen)), shown("all")),
        _ => ("Nothing to change. Every figure:".to_owned(), shown("all")),
    };
    Line(vec![(Tone::Plain, format!("{words} ")), (Tone::Command, command)])
}

fn in_what_was_seen(unseen: &Unseen) -> String {
    format!("Nothing to change in what was seen; {}", clean(&unseen.words()))
}

/// The exit status of the run, if `tune` must know that it is no failure.
fn expected(report: &Report) -> String {
    match report.run.end {
        Some(End::Exit(status)) if status != 0 => format!(" --expect {status}"),
        _ => String::new(),
    }
}

/// The number of suggestions, the other programs that they are for, and which of them the command tries: all, or those that are
/// not risky.
fn suggestions(to_set: &[&Advice], leading: &Program) -> String {
    const NAMED: usize = 2;
    let number = to_set.len();
    let risky = to_set.iter().filter(|advice| advice.risky).count();
    let mut words = counted(number as u64, "suggestion", "suggestions");
    let is_leading = to_set.iter().any(|advice| advice.program == leading.name);
    let mut others: Vec<&str> =
        to_set.iter().map(|advice| advice.program.as_str()).filter(|&name| name != leading.name).collect();
    others.sort_unstable();
    others.dedup();
    if !others.is_empty() {
        let named: Vec<String> = others.iter().take(NAMED).map(|name| clip(&clean(name), 24)).collect();
        let more = match others.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        words += &format!(", {}for {}{more}", if is_leading { "also " } else { "" }, named.join(", "));
    }
    let object = match number - risky {
        0 if number == 1 => "it",
        0 => "them",
        harmless if harmless == number => {
            if number == 1 {
                "it"
            } else {
                "them"
            }
        }
        1 => "the other",
        _ => "the others",
    };
    if (1..number).contains(&risky) {
        words += &format!(", {risky} of them risky");
    }
    format!("{words}. Prove {object}:")
}

/// The variable with the options that the run had. If it was exported, the next run has it, too; if it was set for one command
/// only, the next run lacks it.
fn variable_given(report: &Report) -> String {
    let sources = &report.options.sources;
    let given = sources.iter().rfind(|source| source.where_set == WhereSet::Environment.label());
    given.filter(|source| source.origin == VARIABLE).map_or(String::new(), |source| {
        let text = quoted(source.text.trim());
        format!("{VARIABLE}={} ", if text.chars().count() <= LONGEST_COMMAND { &text } else { "..." })
    })
}

/// The options of the run that another run would not have by itself, as flags; three dots for a long text.
fn options_given(report: &Report) -> String {
    let options = &report.options;
    let mut given = String::new();
    if options.has_le_defaults() {
        given += " --opts-base le";
    }
    let mut give = |flag: &str, text: &str| {
        let text = quoted(text.trim());
        given += &format!(" {flag} {}", if text.chars().count() <= LONGEST_COMMAND { &text } else { "..." });
    };
    for source in &options.sources {
        if source.where_set == WhereSet::OptionsFile.label() {
            give("--opts-file", &source.origin);
        } else if source.where_set == WhereSet::CommandLine.label() {
            give("--opts", &source.text);
        }
    }
    // The report is of an underbar that did not record where its texts came from, or it was made from a ledger.
    let is_given = [WhereSet::OptionsFile, WhereSet::CommandLine].into_iter().any(|set| options.has_set(set));
    if options.sources.is_empty() && is_given {
        give("--opts", &options.text);
    }
    given
}

/// The program's command line, quoted for a shell; if it is too long, its arguments are three dots.
fn command_line(report: &Report) -> String {
    let words: Vec<String> =
        std::iter::once(&report.run.program).chain(&report.run.arguments).map(|word| quoted(word)).collect();
    let whole = words.join(" ");
    let is_short = |text: &str| text.chars().count() <= LONGEST_COMMAND;
    match words.first() {
        _ if is_short(&whole) => whole,
        Some(program) if is_short(program) => format!("{program} ..."),
        _ => "PROGRAM ...".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{OptionInForce, OptionSource};
    use crate::page::Page;
    use crate::summary::render;

    #[test]
    fn suggestions_are_counted_by_whom_they_are_for_and_what_they_risk() {
        let report = crate::sample::tree();
        let words = |given: &[(&str, bool)]| {
            let advice = given.iter().map(|&(program, risky)| Advice {
                program: program.to_owned(),
                area: underbar_model::Area::Heap,
                option: Some("HEAP(1M)".to_owned()),
                verdict: "raise",
                reason: String::new(),
                risky,
                acts: program != "idle",
            });
            let text = render(&report, &advice.collect::<Vec<_>>(), false);
            let last = text.lines().last().expect("lines");
            last.strip_suffix(" -- g++ -c 'it'\\''s.cc'").expect("the command").to_owned()
        };
        let check = |given: &[(&str, bool)], expected: &str| assert_eq!(words(given), expected);
        const ONE: (&str, bool) = ("cc1plus", false);
        check(&[ONE], "1 suggestion. Prove it: underbar tune");
        check(&[("cc1plus", true)], "1 suggestion. Prove it: underbar tune --risky");
        check(&[ONE, ("idle", false)], "1 suggestion. Prove it: underbar tune");
        check(&[ONE, ONE], "2 suggestions. Prove them: underbar tune");
        check(&[("as", true); 2], "2 suggestions, for as. Prove them: underbar tune --risky");
        check(
            &[ONE, ("as", false), ("as", true)],
            "3 suggestions, also for as, 1 of them risky. Prove the others: underbar tune",
        );
        let many = [("d", false), ("b", true), ("c", true), ("a", true)];
        check(&many, "4 suggestions, for a, b and 2 more, 3 of them risky. Prove the other: underbar tune");
    }

    #[test]
    fn the_next_command_has_the_options_of_this_one() {
        let last = |text: &str, set: WhereSet| {
            let mut report = crate::sample::getfree();
            report.options.text = text.to_owned();
            let where_set = set.label().to_owned();
            report.options.in_force = vec![OptionInForce { option: "HEAP(1M)".to_owned(), where_set }];
            render(&report, &[], false).lines().last().expect("lines").to_owned()
        };
        let next = |given: &str| {
            format!("Nothing to change. Every figure: underbar run --report all{given} -- ./getfree --seed 7")
        };
        assert_eq!(last("", WhereSet::UnderbarDefault), next(""));
        // It is in force in the next run, too.
        assert_eq!(last("HEAP(1M)", WhereSet::Environment), next(""));
        assert_eq!(last("", WhereSet::LanguageEnvironmentDefault), next(" --opts-base le"));
        assert_eq!(last("HEAP(1M)", WhereSet::CommandLine), next(" --opts 'HEAP(1M)'"));
        let mut report = crate::sample::getfree();
        let source = |set: WhereSet, origin: &str, text: &str| OptionSource {
            where_set: set.label().to_owned(),
            origin: origin.to_owned(),
            text: text.to_owned(),
        };
        report.options.sources = vec![
            source(WhereSet::UserFile, "/home/x/.config/underbar/opts", "TRACE(OFF)"),
            source(WhereSet::Environment, "UNDERBAR_OPTS", "HEAP(2M)"),
            source(WhereSet::OptionsFile, "my words.opts", "# Why.\nHEAP(1M)"),
            source(WhereSet::CommandLine, "--opts", "STACK(8K)"),
        ];
        let text = render(&report, &[], false);
        let whole = "figure: UNDERBAR_OPTS='HEAP(2M)' underbar run --report all --opts-file 'my words.opts' --opts 'STACK(8K)' -- ./get";
        assert!(text.contains(whole), "{text}");
        assert!(
            text.contains("\n  options   also of /home/x/.config/underbar/opts, read unasked\n"),
            "{text}"
        );
        let long = "HEAP(1M)".repeat(9);
        assert_eq!(last(&long, WhereSet::OptionsFile), next(&format!(" --opts '{long}'")));
        let page = Page { kept: Some("r.json"), ..Page::of_terminal(None, false) };
        let text = crate::summary::render_on(&report, &[], page);
        assert!(text.ends_with("Every figure: underbar report --report all r.json\n"), "{text}");
        assert!(last(&long.repeat(99), WhereSet::OptionsFile).contains(" all --opts ... -- ./getfree"));
    }
}
