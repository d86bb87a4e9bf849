//! `underbar advise FILE...`: suggestions from saved reports, and advice from listings of Language Environment, each with
//! its evidence, reason, stop rule and risk.
//!
//! A file that is a saved report is read as one; any other is searched for listings, and all listings together are
//! advised upon, so that several runs of a program count as such.
//! Invariant: nothing is run and nothing is set; what is printed is for `--opts` or for an options file.
//! Not here: the rules (`underbar_advise`), and whether a suggestion helps (`tune`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use underbar_shown::Shown;

use clap::{Args, ValueEnum};
use underbar_advise::lines::Withheld;
use underbar_advise::listing::simulate::Tried;
use underbar_advise::listing::{
    Collected, Form, advise_listing, has_values, json, linked, lint, natural, no_storage_report, not_in_form,
    options, other_reports, page, run_again, simulate, ztpf,
};
use underbar_advise::{Advice, advise, lines};
use underbar_options::WhereSet;
use underbar_report::Report;

use crate::exit::ExitCode;
use crate::listings::{self, Found};
use crate::printing::Printing;
use underbar_shown::door;

/// The flags of `advise`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar run --json -o report.json -- ./prog
  underbar advise report.json
  underbar advise -o prog.opts report.json
  underbar run --opts-file prog.opts -- ./prog
  underbar advise --as ceeuopt job1.txt job2.txt
  underbar advise --simulate AVL ztpf-reduction.txt
  underbar advise --html job1.txt > advice.html

Exit status: 0 read, with suggestions or without; 2 wrong usage, or a FILE cannot be read.")]
pub struct Advise {
    /// Reports saved with --json, ledger files, or listings of z/OS, z/TPF and Natural; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Set what could harm the program, too: a smaller stack, for instance
    #[arg(long)]
    risky: bool,

    /// The form of the options for what a listing is about [default: ceeopts]
    #[arg(long = "as", value_enum, value_name = "FORM")]
    form: Option<As>,

    /// What these values would have come to for a listing's requests: HEAP(64M,16M), HEAPPOOLS(ON,16,10), sizes of z/TPF's
    /// available lists as HAVSZ1=64,HAVSZ2=128, or AVL for those that are advised
    #[arg(long, value_name = "OPTIONS")]
    simulate: Option<String>,

    /// What is advised for listings as one page of HTML, with a picture of sizes
    #[arg(long, conflicts_with_all = ["json", "output"])]
    html: bool,

    /// Write an options file, with the reasons as comments; for one report, or the options of a listing's program
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    printing: Printing,
}

/// So many options in force, and so many steps, are listed in words. An options report has about 60.
const IN_FORCE: usize = 80;
/// Which of several places wins, to read the list of options in force by.
const PRECEDENCE: &str = "  The first of these that sets an option wins: storage tuning exit, CEEBXITA, the invocation (PARM, _CEE_RUNOPTS), \
CEEOPTS, CEEUOPT,\n  the region's options (CEEROPT), the system's (CEEPRMxx, SETCEE), IBM's. NONOVR in a lower place beats every place \
above it.\n";

/// The form of an option text.
#[derive(Clone, Copy, ValueEnum)]
enum As {
    /// A CEEOPTS data set
    Ceeopts,
    /// An assembler source with CEEXOPT
    Ceeuopt,
    /// PARM of a job step
    Parm,
    /// The environment variable
    #[value(name = "_cee_runopts")]
    CeeRunopts,
    /// One line for each value
    Values,
    /// Parameters of Natural, also as macros of the parameter module
    Natparm,
    /// Options of underbar, as far as it honours them
    Underbar,
}

impl From<As> for Form {
    fn from(form: As) -> Self {
        match form {
            As::Ceeopts => Self::Ceeopts,
            As::Ceeuopt => Self::Ceeuopt,
            As::Parm => Self::Parm,
            As::CeeRunopts => Self::CeeRunopts,
            As::Values => Self::Values,
            As::Natparm => Self::Natparm,
            As::Underbar => Self::Underbar,
        }
    }
}

impl Advise {
    /// Reads, and says what it suggests; a file that cannot be read does not keep it from the others.
    pub fn run(self) -> ExitCode {
        if self.output.is_some() && self.files.len() > 1 {
            return self.printing.fail("-o writes the options of one report; give one FILE");
        }
        let (mut text, mut failed) = (String::new(), None);
        let mut collected = Collected::default();
        for file in &self.files {
            let report = match listings::read(file, &mut collected) {
                Ok(Found::Listings) => continue,
                Ok(Found::Other(Ok(report))) => report,
                Ok(Found::Other(Err(error))) | Err(error) => {
                    failed = Some(self.printing.fail(error));
                    continue;
                }
            };
            if let Some(message) = self.of_listings_only() {
                failed =
                    Some(self.printing.fail(format_args!("{}: a saved report, and {message}", file.shown())));
                continue;
            }
            let suggestions = advise(&report);
            if self.printing.json {
                text += &lines::to_json(&suggestions, self.risky);
            } else {
                if self.files.len() > 1 {
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "== {}", file.shown());
                }
                text += &self.in_words(&report, &suggestions);
            }
            if let Some(path) = &self.output
                && let Err(error) = door::to_file(
                    path,
                    door::Form::Text,
                    &lines::options_file(&report, &suggestions, self.risky),
                )
            {
                failed = Some(self.printing.fail(format_args!("{}: {error}", path.shown())));
            }
        }
        let simulated = self.simulate.as_deref().map(|options| simulate(&collected, options));
        match simulated {
            Some(Err(error)) => failed = Some(self.printing.fail(format_args!("--simulate: {error}"))),
            Some(Ok(all)) if collected.items > 0 => text += &self.of_listings(&collected, &all),
            _ if collected.items > 0 => text += &self.of_listings(&collected, &[]),
            _ => {}
        }
        if let (Some(path), true) = (&self.output, collected.items > 0)
            && let Err(message) = self.write_options(path, &collected)
        {
            failed = Some(self.printing.fail(message));
        }
        // A page, and options in a form that was asked for, go somewhere else as they are.
        let printed = match (self.html, self.form) {
            (false, None) => self.printing.print_words(&text, None, 0),
            _ => self.printing.print(&text, None, 0),
        };
        failed.unwrap_or(printed)
    }

    fn form(&self) -> As {
        self.form.unwrap_or(As::Ceeopts)
    }

    /// Why a saved report cannot be shown as was asked.
    fn of_listings_only(&self) -> Option<&'static str> {
        match (self.html, &self.simulate, self.form) {
            (true, ..) => Some("--html shows listings; `underbar report` shows this"),
            (_, Some(_), _) => {
                Some("--simulate is for the requests of a listing; `underbar tune` tries options")
            }
            (_, _, Some(form)) if !matches!(form, As::Underbar) => {
                Some("--as is for what a listing is about; this has options of underbar")
            }
            _ => None,
        }
    }

    fn form_name(&self) -> String {
        self.form().to_possible_value().map_or(String::new(), |form| form.get_name().to_owned())
    }

    /// The option text of the one program that a listing is about, or the values of the one system, into a file.
    fn write_options(&self, path: &Path, collected: &Collected) -> Result<(), String> {
        let all = advise_listing(collected);
        let form = self.form().into();
        let options = options(collected, &all, form).into_iter().map(|one| one.options);
        // Values of z/TPF have a form of their own.
        let names = if has_values(form) { ztpf::names(&all) } else { Vec::new() };
        let values = names.into_iter().filter_map(|name| ztpf::values_of(&all, name));
        let mut texts = options.chain(values);
        match (texts.next(), texts.next()) {
            (Some(text), None) => door::to_file(path, door::Form::Text, &text)
                .map_err(|error| format!("{}: {error}", path.shown())),
            (None, _) if !not_in_form(collected, &all, form).is_empty() => Err(format!(
                "-o: nothing of what is to be set has the form {}; --as values writes it",
                self.form_name()
            )),
            (None, _) => Err("-o: there is nothing to set".to_owned()),
            _ => Err("-o writes the options of one program; the listing is about several".to_owned()),
        }
    }

    fn of_listings(&self, collected: &Collected, what_if: &[Tried]) -> String {
        let all = advise_listing(collected);
        let form = self.form().into();
        let lints = lint(collected);
        if self.html {
            return page(collected, &all, &lints, what_if, form);
        }
        if self.printing.json {
            return json(collected, &all, &lints, what_if, form);
        }
        let options = options(collected, &all, form);
        let mut text = String::new();
        // Writing to a string cannot fail.
        for advice in &all {
            let _ = writeln!(text, "{advice}");
        }
        for one in &options {
            let _ = write!(text, "For {}:\n{}", one.program, one.options);
        }
        for (name, main) in linked(collected, &all, form) {
            let _ =
                writeln!(text, "For {name}: it runs in the step of {main}, whose options are its own, too.");
        }
        let without = not_in_form(collected, &all, form);
        for name in &without {
            let _ = writeln!(
                text,
                "For {name}: nothing of what is to be set has the form {}; --as values names it.",
                self.form_name()
            );
        }
        if !collected.ztpf.is_empty() {
            if has_values(form) {
                text += &ztpf::values_text(&all).unwrap_or_default();
            }
            text.push_str(ztpf::afterwards(&all));
        }
        let other = !collected.natural.is_empty() || collected.has_lists();
        match (options.is_empty(), collected.programs.is_empty()) {
            (true, true) if !collected.ztpf.is_empty() => {}
            (true, _) if !without.is_empty() => {}
            (true, true) if !collected.is_of_language_environment() && !other => {
                text.push_str("Nothing was read that an advice could rest on.\n");
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
        if all.iter().any(|advice| advice.option.as_ref().is_some_and(natural::is_parameter)) {
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
        if !lints.is_empty() {
            text.push_str("About option texts:\n");
        }
        for lint in &lints {
            let _ = write!(text, "{lint}");
        }
        let in_force = collected.options.in_force();
        if !in_force.is_empty() {
            text.push_str("In force as far as is known, and set where:\n");
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
            let _ = writeln!(text, "Left out, since there are so many: {} more.", collected.beyond);
        }
        text
    }

    fn in_words(&self, report: &Report, suggestions: &[Advice]) -> String {
        let mut text = String::new();
        if suggestions.is_empty() {
            let reason = match report.processes.len() {
                0 => "no accounts were kept: `underbar doctor` says why",
                _ => "no storage was asked for",
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "Nothing to advise upon: {reason}.");
            return text;
        }
        for suggestion in suggestions {
            let _ = writeln!(text, "{suggestion}");
        }
        let withheld = |why| {
            let withheld =
                |said: &&Advice| Withheld::of(said, self.risky) == Some(why) && said.option.is_some();
            suggestions.iter().filter(withheld).count()
        };
        let (idle, risky) = (withheld(Withheld::Idle), withheld(Withheld::Risky));
        match option_line(report, suggestions, self.risky) {
            Some(line) => {
                let base = if report.options.has_set(WhereSet::LanguageEnvironmentDefault) {
                    "--opts-base le "
                } else {
                    ""
                };
                let _ = writeln!(text, "Use: {base}--opts '{}'", line.replace('\'', "'\\''"));
            }
            None if idle + risky == 0 => text.push_str("Nothing to set.\n"),
            None => {}
        }
        if idle > 0 {
            let _ = writeln!(text, "Left out, since it does nothing on Linux: {idle}.");
        }
        if risky > 0 {
            let _ = writeln!(text, "Left out, since it could harm: {risky}; --risky sets it.");
        }
        text
    }
}

/// All settings as one option text: with a section for each program, unless there is only one program.
///
/// Made from the options file, so that the two cannot disagree.
fn option_line(report: &Report, suggestions: &[Advice], risky: bool) -> Option<String> {
    let file = lines::options_file(report, suggestions, risky);
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
