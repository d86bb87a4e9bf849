//! Advice in words.

use std::fmt::{self, Write as _};

use underbar_listing::Place;
use underbar_options::WhereSet;
use underbar_report::Report;

use super::forms::Form;
use super::lines::{Withheld, options_file};
use super::options::{has_values, linked, not_in_form, options};
use super::steps::Steps;
use super::{parameters, values};
use crate::advice::Advice;
use crate::listing::simulate::Tried;
use crate::listing::{Collected, natural, no_storage_report, other_reports, run_again};
use crate::rule::{Area, Platform};

/// The most options in force, and the most steps, that are listed in words. An options report has about 60.
const IN_FORCE: usize = 80;
/// Which of several sources wins: a legend for the list of options in force.
const PRECEDENCE: &str = "  The first source in this list that sets an option wins: storage tuning exit, CEEBXITA, the invocation (PARM, _CEE_RUNOPTS), \
CEEOPTS, CEEUOPT,\n  the region's options (CEEROPT), the system's (CEEPRMxx, SETCEE), IBM's. NONOVR in a later source beats every \
earlier one.\n";

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.platform {
            Platform::Linux => of_accounts(self, f),
            _ => of_listing(self, f),
        }
    }
}

/// Advice from the accounts of a run: the option first.
fn of_accounts(advice: &Advice, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match &advice.option {
        Some(option) => write!(f, "{option}: {}", advice.kind.word())?,
        None => write!(f, "{}: {}", advice.area.map_or("", Area::word), advice.kind.word())?,
    }
    let program: String = advice.target.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    writeln!(f, ", for {program} ({})", advice.rule)?;
    writeln!(f, "  reason     {}", advice.reason)?;
    writeln!(f, "  now        {}", advice.now)?;
    let then = advice.then();
    if then != advice.now {
        writeln!(f, "  suggested  {then}")?;
    }
    let evidence: Vec<String> = advice.evidence.iter().map(ToString::to_string).collect();
    writeln!(f, "  evidence   {}", evidence.join(", "))?;
    writeln!(f, "  stop rule  {}", advice.stop)?;
    if advice.option.is_some() {
        writeln!(f, "  risk       {}", advice.risk)?;
    }
    Ok(())
}

/// Advice from a listing: the target first.
fn of_listing(advice: &Advice, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let suggested = advice.suggested().map_or(String::new(), |suggested| format!(" -> {suggested}"));
    writeln!(f, "{}: {}: {}{suggested}   ({})", advice.target, advice.kind.word(), advice.now, advice.rule)?;
    writeln!(f, "    why        {}", advice.reason)?;
    for line in &advice.evidence {
        writeln!(f, "    evidence   {line}")?;
    }
    if advice.option.is_some() || !advice.effect.is_empty() {
        writeln!(f, "    effect     {}", advice.effect)?;
        writeln!(f, "    risk       {}", advice.risk)?;
    }
    writeln!(f, "    confidence {}", advice.certainty)
}

/// A finding of a check of option texts: its lines, then the error.
#[must_use]
pub fn check(found: &Advice) -> String {
    let lines: String = found.evidence.iter().map(|line| format!("  {line}\n")).collect();
    format!("{lines}    {}   ({})\n", found.reason, found.rule)
}

/// Where a program that a launcher starts finds its options, and the form in which they are written.
#[must_use]
pub fn place_of_options(place: Place) -> &'static str {
    match place {
        Place::DataSet => "--as ceeopts writes the options for //CEEOPTS DD, --as ceeuopt for the program",
        Place::Environment => "--as _cee_runopts writes the options for its environment",
        Place::Program => "--as ceeuopt writes the options for the program",
    }
}

/// Why a program has no PARM although the listing has steps.
pub const OF_ANY: &str = "no step has its name, so it is not known whose PARM it reads; --as ceeopts or --as ceeuopt writes its options";

/// The whole output for listings; `form_name` is the user's name for the form.
#[must_use]
pub fn listings(
    collected: &Collected,
    advice: &[Advice],
    checks: &[Advice],
    what_if: &[Tried],
    form: Form,
    form_name: &str,
) -> String {
    let options = options(collected, advice, form);
    let mut text = String::new();
    // Writing to a string cannot fail.
    for advice in advice {
        let _ = writeln!(text, "{advice}");
    }
    for one in &options {
        let _ = write!(text, "For {}:\n{}", one.program, one.options);
    }
    for (name, main) in linked(collected, advice, form) {
        let _ = writeln!(text, "For {name}: it runs in the step of {main} and uses the options of {main}.");
    }
    let without = not_in_form(collected, advice, form);
    let steps = Steps::of(collected);
    for name in &without {
        let _ = match steps.launcher_of(name).filter(|_| form == Form::Parm) {
            Some((launcher, place)) => {
                let place = place_of_options(place);
                writeln!(text, "For {name}: PARM of its step belongs to {launcher}; {place}.")
            }
            None if form == Form::Parm && steps.is_of_any(name) => {
                writeln!(text, "For {name}: {OF_ANY}.")
            }
            None => writeln!(
                text,
                "For {name}: no setting can be written in the form {form_name}; --as values lists them."
            ),
        };
    }
    if !collected.ztpf.is_empty() {
        if has_values(form) {
            text += &values::text(advice).unwrap_or_default();
        }
        text.push_str(values::afterwards(advice));
    }
    let other = !collected.natural.is_empty() || collected.has_lists();
    match (options.is_empty(), collected.programs.is_empty()) {
        (true, true) if !collected.ztpf.is_empty() => {}
        (true, _) if !without.is_empty() => {}
        (true, true) if !collected.is_of_language_environment() && !other => {
            text.push_str("The files hold nothing to base advice on.\n");
        }
        (true, true) if !other => text += &no_storage_report(collected),
        (true, _) => text.push_str("Nothing to set.\n"),
        (false, true) => {}
        (false, false) => {
            let again = run_again(collected);
            let _ = writeln!(text, "{again}: `underbar diff OLD NEW`, one run each, no interval.");
        }
    }
    if !collected.programs.is_empty() {
        text += &other_reports(collected);
    }
    if advice.iter().any(|advice| advice.option.as_ref().is_some_and(parameters::is_parameter)) {
        text.push_str(natural::NEXT);
    }
    if !collected.programs.is_empty() {
        text.push_str(
            "Not in these figures: storage got before options are read, heap managers of vendors, the reserve stack.\n",
        );
    }
    for one in what_if {
        let _ = write!(text, "{one}");
    }
    if !collected.steps.is_empty() {
        text.push_str("Steps:\n");
    }
    for (file, step) in collected.steps.iter().take(IN_FORCE) {
        let file = collected.name_of(*file);
        let line = step.evidence.as_ref().map_or(0, |evidence| evidence.line);
        let time = |hundredths: Option<u64>| {
            hundredths.map_or("not known".to_owned(), |all| format!("{}.{:02} s", all / 100, all % 100))
        };
        let excp = step.excp.map_or("not known".to_owned(), |excp| excp.to_string());
        let (cpu, elapsed, names) = (time(step.cpu), time(step.elapsed), step.names.join(" "));
        let _ = writeln!(text, "  {names}: CPU {cpu}, elapsed {elapsed}, EXCP {excp}, {file}:{line}");
    }
    if collected.steps.len() > IN_FORCE {
        text.push_str("  and more; --json has all\n");
    }
    if !checks.is_empty() {
        text.push_str("Checks of option texts:\n");
    }
    text.extend(checks.iter().map(check));
    let in_force = collected.options.in_force();
    if !in_force.is_empty() {
        text.push_str("Options in force, as far as known, and where they were set:\n");
    }
    for shown in in_force.iter().take(IN_FORCE) {
        let row = &shown.row;
        let file = collected.name_of(shown.file);
        let no = if row.negative { "NO" } else { "" };
        let over = match row.overridable {
            Some(false) => ", NONOVR",
            Some(true) => ", OVR",
            None => "",
        };
        let values = if row.negative { String::new() } else { format!("({})", row.values) };
        let _ = writeln!(
            text,
            "  {no}{}{values} from {}{over}, {file}:{}",
            row.name, row.source, row.evidence.line
        );
    }
    if in_force.len() > IN_FORCE {
        text.push_str("  and more; --json has all\n");
    }
    if !in_force.is_empty() {
        text.push_str(PRECEDENCE);
    }
    if !collected.unread.is_empty() {
        text.push_str("Not certain, or not read:\n");
    }
    for (place, why) in collected.doubts() {
        let _ = writeln!(text, "  {place}: {why}");
    }
    if collected.beyond > 0 {
        let _ = writeln!(text, "Left out: {} more.", collected.beyond);
    }
    text
}

/// The whole output for the accounts of a run.
#[must_use]
pub fn accounts(report: &Report, suggestions: &[Advice], risky: bool) -> String {
    let mut text = String::new();
    if suggestions.is_empty() {
        let reason = match report.processes.len() {
            0 => "no accounts were kept; `underbar doctor` gives the reason",
            _ => "no storage was asked for",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "No advice: {reason}.");
        return text;
    }
    for suggestion in suggestions {
        let _ = writeln!(text, "{suggestion}");
    }
    text + &to_use(report, suggestions, risky)
}

/// The last lines of that output: the options to use, and how many are left out.
#[must_use]
pub fn to_use(report: &Report, suggestions: &[Advice], risky: bool) -> String {
    let mut text = String::new();
    let withheld = |why| {
        let withheld = |said: &&Advice| Withheld::of(said, risky) == Some(why) && said.option.is_some();
        suggestions.iter().filter(withheld).count()
    };
    let (idle, harmful) = (withheld(Withheld::Idle), withheld(Withheld::Risky));
    match option_line(report, suggestions, risky) {
        Some(line) => {
            let base = if report.options.has_set(WhereSet::LanguageEnvironmentDefault) {
                "--opts-base le "
            } else {
                ""
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "Use: {base}--opts '{}'", line.replace('\'', "'\\''"));
        }
        None if idle + harmful == 0 => text.push_str("Nothing to set.\n"),
        None => {}
    }
    if idle > 0 {
        let _ = writeln!(text, "Left out, without effect on Linux: {idle}.");
    }
    if harmful > 0 {
        let _ = writeln!(text, "Left out, could harm the program: {harmful}; add --risky to set.");
    }
    text
}

/// All settings as one option text, with a section for each program unless there is only one.
///
/// Made from the options file, so that the two cannot disagree.
fn option_line(report: &Report, suggestions: &[Advice], risky: bool) -> Option<String> {
    let file = options_file(report, suggestions, risky);
    let alone = report.programs().len() == 1;
    let mut line = String::new();
    let mut section = None;
    for words in file.lines().filter(|words| !words.is_empty() && !words.starts_with('#')) {
        if words.starts_with('[') {
            section = Some(words);
            continue;
        }
        let separator = if line.is_empty() {
            ""
        } else if section.is_some() && !alone {
            " "
        } else {
            ","
        };
        line += separator;
        if let Some(section) = section.take()
            && !alone
        {
            line += section;
            line.push(' ');
        }
        line += words;
    }
    (!line.is_empty()).then_some(line)
}
