//! The last line of the summary: the next command to type.
//!
//! ```text
//! no accounts                        underbar doctor -- PROGRAM
//! something to set                   underbar tune [--risky] -- PROGRAM
//! threads wait for locks             underbar run --report lock -- PROGRAM
//! most of the memory is elsewhere    underbar doctor -- PROGRAM
//! nothing to change                  underbar run --report le -- PROGRAM
//! ```
//!
//! Invariant: what is shown can be typed as it stands, with the options that another run would not have by itself.
//! Not here: what is suggested (`advise`).

use underbar_options::WhereSet;

use crate::lock;
use crate::model::{Program, Report};
use crate::page::{Line, Tone, quoted};
use crate::summary::{Advice, mostly_elsewhere};

/// A command to type is given whole, beyond [`crate::page::COLUMNS`], up to so many characters: cut off, it could not be typed.
const LONGEST_COMMAND: usize = 1_000;

/// The next command to type.
pub(crate) fn line(report: &Report, programs: &[Program], advice: &[Advice]) -> Line {
    let mut to_set = advice.iter().filter(|advice| advice.option.is_some()).peekable();
    // Where one is harmless there is something to try without the others.
    let tune = if to_set.peek().is_some() && to_set.clone().all(|advice| advice.risky) {
        "tune --risky"
    } else {
        "tune"
    };
    let to_prove = to_set.count();
    let doctor = || "underbar doctor".to_owned();
    let again = |verb: &str| format!("underbar {verb}{}", options_given(report));
    let (words, verb) = match programs.first() {
        None => ("What can be done here:".to_owned(), doctor()),
        _ if to_prove == 1 => ("1 suggestion. Prove it:".to_owned(), again(tune)),
        _ if to_prove > 1 => (format!("{to_prove} suggestions. Prove them:"), again(tune)),
        _ if lock::lines::have_a_say(report) => {
            ("Who waits for whom:".to_owned(), again("run --report lock"))
        }
        Some(leading) if mostly_elsewhere(leading) => ("Where memory goes:".to_owned(), doctor()),
        _ => ("Nothing to change. Every figure:".to_owned(), again("run --report le")),
    };
    let command = command_line(report);
    Line(vec![(Tone::Plain, format!("{words} ")), (Tone::Command, format!("{verb} -- {command}"))])
}

/// The options of the run that another run would not have by itself, as its command takes them; three dots for a long text.
fn options_given(report: &Report) -> String {
    let options = &report.options;
    let mut given = String::new();
    if options.has_set(WhereSet::LanguageEnvironmentDefault) {
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
    // A report of an underbar that did not say where its texts came from, or one made of a ledger.
    let is_given = [WhereSet::OptionsFile, WhereSet::CommandLine].into_iter().any(|set| options.has_set(set));
    if options.sources.is_empty() && is_given {
        give("--opts", &options.text);
    }
    given
}

/// The program's command line, quoted for a shell; where it is too long, its arguments are three dots.
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
    use crate::summary::render;

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
            format!("Nothing to change. Every figure: underbar run --report le{given} -- ./getfree --seed 7")
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
            source(WhereSet::OptionsFile, "my words.opts", "# Why.\nHEAP(1M)"),
            source(WhereSet::CommandLine, "--opts", "STACK(8K)"),
        ];
        let text = render(&report, &[], false);
        assert!(text.contains(" le --opts-file 'my words.opts' --opts 'STACK(8K)' -- ./getfree"), "{text}");
        assert!(
            text.contains("\n  options   also of /home/x/.config/underbar/opts, read unasked\n"),
            "{text}"
        );
        let long = "HEAP(1M)".repeat(9);
        assert_eq!(last(&long, WhereSet::OptionsFile), next(&format!(" --opts '{long}'")));
        assert!(last(&long.repeat(99), WhereSet::OptionsFile).contains(" le --opts ... -- ./getfree"));
    }
}
