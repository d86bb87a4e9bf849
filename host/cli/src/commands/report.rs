//! `underbar report [FILE]`: a saved report, or that of the last run, printed again.
//!
//! Invariant: the flags decide the form. Without them, the run's own options do (RPTSTG, RPTOPTS), as at the end of the run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use std::fmt::Write as _;
use underbar_launch::{Alive, ecbs};
use underbar_ledger::LedgerView;
use underbar_ledger::control::EVERY_ECB;
use underbar_options::{OPTIONS, ReleaseLine};
use underbar_report::lock::chapter;
use underbar_report::model::file_name;
use underbar_report::page::{Page, quoted};
use underbar_report::switch_lines::Order;
use underbar_report::units::{count, counted};
use underbar_report::{Report as Accounts, bus, ecb_lines, every, le, summary, switch_lines, ztpf};

use crate::costs;
use crate::exit::ExitCode;
use crate::html;
use crate::printing::Printing;
use crate::saved;
use crate::shared::write_openmetrics;
use crate::site_record;
use underbar_shown::Shown;
use underbar_shown::door;
use underbar_sites::report::Report as Sites;
use underbar_sites::text::{summary_line, wrapped};

/// How long a program may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The flags of `report`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar run --json -o report.json -- ./prog
  underbar report                           the report of the last run that made one, without running the program
  underbar report --report all              every figure of it
  underbar report report.json
  underbar report --report le report.json
  underbar report --html report.html        the last run as a page for a browser
  underbar report --report lock report.json
  underbar report --ecb all run.ledger      ECBs that are alive, of a program that `run --exec -o FILE` started
  underbar report --reset-switches 4711     switches of running programs are counted from now on, by the process or the ledger
  underbar report --openmetrics prog.prom    the figures of the last run, for a collector
  underbar report --json accounts.ledger    a ledger left by `run --exec -o FILE`, or by MSGFILE
  underbar report server                    a program that runs and keeps accounts, by its name; `underbar ls` lists them

Exit status: 0 printed, 2 wrong usage, or FILE cannot be read.")]
pub struct Report {
    /// A report saved with --json, a ledger file, or the name or number of a running program; - is standard input [default: the report
    /// of the last run]
    file: Option<PathBuf>,

    /// Form of the report [default: the form that the run's options asked for]
    #[arg(long, value_enum, value_name = "FORM", conflicts_with = "json")]
    report: Option<Form>,

    /// The display of one ECB that is alive in a running program, by its number, or of all: then FILE is the ledger of its run
    #[arg(long, value_name = "NUMBER", value_parser = which, requires = "file", conflicts_with_all = ["report", "json"])]
    ecb: Option<u64>,

    /// Count switches from now on (SWITCHES(ON)), in all programs of a run: then FILE is the ledger of the run, or the number of a process of it
    #[arg(long, requires = "file", conflicts_with_all = ["report", "json", "ecb", "output"])]
    reset_switches: bool,

    /// Write the figures to FILE as an OpenMetrics text, and print nothing; the file is put into its place whole
    #[arg(long, value_name = "FILE", conflicts_with_all = ["report", "json", "ecb", "reset_switches", "output"])]
    openmetrics: Option<PathBuf>,

    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write the report as one page for a browser, instead of printing it; - is standard output
    #[arg(long, value_name = "PAGE", conflicts_with_all = ["report", "json", "ecb", "reset_switches", "output"])]
    html: Option<PathBuf>,

    #[command(flatten)]
    printing: Printing,
}

impl Report {
    /// Prints it.
    pub fn run(self) -> ExitCode {
        if let (Some(ecb), Some(file)) = (self.ecb, &self.file) {
            return match displays(file, ecb) {
                Ok(text) => self.printing.print(&text, self.output.as_deref(), 0),
                Err(error) => self.printing.fail(error),
            };
        }
        if let (true, Some(file)) = (self.reset_switches, &self.file) {
            return match reset_switches(file) {
                Ok(text) => self.printing.print(&text, None, 0),
                Err(error) => self.printing.fail(error),
            };
        }
        let found = self.file.as_deref().map_or_else(saved::last, saved::read);
        let mut report = match found {
            Ok(report) => weighed(report),
            Err(error) => return self.printing.fail(error),
        };
        let ledger = self.file.as_deref().and_then(saved::ledger_of);
        let sites = ledger.and_then(|path| site_record::of_ledger(&path, &report));
        let (sites, no_sites) = match sites {
            Some(Ok(sites)) => (Some(sites), None),
            Some(Err(why)) => (None, Some(format!("no call sites: {why}"))),
            None => (None, None),
        };
        // Of a saved report they are in it.
        let saved = report.sites.as_ref().and_then(Sites::from_value);
        report.sites = report.sites.or_else(|| sites.as_ref().map(Sites::to_value));
        if let Some(path) = &self.openmetrics {
            return match write_openmetrics(path, &report) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => self.printing.fail(format_args!("{}: {error}", path.shown())),
            };
        }
        if let Some(path) = &self.html {
            return self.printing.print_as(
                door::Form::Text,
                &html::of_report(&report, saved.as_ref().or(sites.as_ref())),
                Some(path),
                0,
            );
        }
        let asked = |option| {
            report.sub_options(option).is_some_and(|values| values.first().is_some_and(|on| *on == "ON"))
        };
        let mut text = String::new();
        if asked("RPTOPTS") && !self.printing.json {
            text = options_report(&report);
        }
        let form = self.report.unwrap_or(if asked("RPTSTG") { Form::Le } else { Form::Summary });
        let is_shown = self.output.as_deref().is_none_or(door::is_output);
        let colour = is_shown && self.printing.color.is_on_output();
        let file = self.file.as_ref().map(|path| quoted(&path.to_string_lossy()));
        let kept = Some(file.as_deref().unwrap_or_default()).filter(|file| *file != "-");
        let columns = if is_shown { door::output_columns() } else { None };
        let pictures = columns.is_some() && door::has_blocks();
        let page = Page { kept, pictures, ..Page::of_terminal(columns, colour) };
        text += &rendered(&report, form, self.printing.json, page);
        let line = saved.as_ref().and_then(|saved| summary_line(saved, page.columns));
        let line =
            line.or_else(|| sites.as_ref().and_then(|sites| line_of_sites(sites, page.columns))).or(no_sites);
        if let Some(line) = line.filter(|_| !self.printing.json) {
            text += &line;
            text.push('\n');
        }
        let form = if colour && !self.printing.json {
            door::Form::Coloured
        } else {
            door::Form::of(self.printing.json)
        };
        self.printing.print_as(form, &text, self.output.as_deref(), 0)
    }
}

/// The site with most in use, and which samples are missing. Nobody has read them while the program ran, so many may have found no room.
fn line_of_sites(sites: &Sites, columns: usize) -> Option<String> {
    let mut line = summary_line(sites, columns)?;
    if sites.lost > 0 {
        let samples = counted(sites.samples, "sample", "samples");
        line += &format!("; the first {samples} only: {} more found no room", count(sites.lost));
    }
    for note in &sites.facts.notes {
        line.push('\n');
        line += &wrapped(&underbar_shown::line(note), columns).join("\n");
    }
    Some(line)
}

/// The number of an ECB, in digits or, as a display has it, in hexadecimal ones; or `all`.
fn which(text: &str) -> Result<u64, String> {
    if text == "all" {
        return Ok(EVERY_ECB);
    }
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None if text.len() == 16 => u64::from_str_radix(text, 16),
        None => text.parse(),
    };
    number.ok().filter(|number| *number > 0).ok_or_else(|| "not the number of an ECB, nor all".to_owned())
}

/// Has the counts of switches begin anew in the programs of a run. An error is the user's.
fn reset_switches(file: &Path) -> Result<String, String> {
    let shown = quoted(&file.to_string_lossy());
    let left = file.to_str().filter(|_| !file.exists());
    let of_process = || Some(underbar_launch::ledger::found::ledger_of(left?.parse().ok()?));
    let path = match left.and_then(underbar_launch::ledger::named) {
        Some(path) => path,
        None => match of_process() {
            Some(found) => found.ok_or_else(|| format!("{shown}: no such process, or not under underbar"))?,
            None => file.to_owned(),
        },
    };
    match underbar_launch::switches::reset(&path).map_err(|error| format!("{shown}: {error}"))? {
        0 => Err(format!("{shown}: no program of this run counts switches")),
        processes => {
            let who = counted(processes as u64, "process", "processes");
            Ok(format!("{who}: switches are counted from now on\n"))
        }
    }
}

/// Displays of ECBs in the programs of a run. An error is the user's.
fn displays(file: &Path, ecb: u64) -> Result<String, String> {
    let left = file.to_str().filter(|_| !file.exists()).and_then(underbar_launch::ledger::named);
    let path = left.as_deref().unwrap_or(file);
    let shown = quoted(&file.to_string_lossy());
    let bytes = std::fs::File::open(path)
        .and_then(|file| underbar_launch::ledger::read(&file))
        .map_err(|error| format!("{shown}: {error}"))?;
    let ledger = LedgerView::new(&bytes).map_err(|error| format!("{shown}: {error}"))?;
    let alive = Alive::default();
    let processes = ledger.slots().filter(|slot| slot.classes().next().is_some() && alive.has(slot)).count();
    if processes == 0 {
        return Err(format!("{shown}: no program of this run has ECBs now"));
    }
    let answers = ecbs::ask(path, ecb, processes, PATIENCE).map_err(|error| format!("{shown}: {error}"))?;
    if answers.is_empty() {
        return Err(format!(
            "{shown}: no program answered within {} s: none entered an ECB or needed storage",
            PATIENCE.as_secs()
        ));
    }
    let text: String = answers.into_iter().map(|answer| answer.text).collect();
    if text.is_empty() { Err(format!("{shown}: no such ECB is alive")) } else { Ok(text) }
}

/// Forms of a report for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// At most 20 lines (the default)
    Summary,
    /// Every figure by its key, every owner of memory, every option
    All,
    /// The 31-bit storage report that IBM documents, as with RPTSTG(ON)
    Le,
    /// The storage report of 64-bit programs that IBM documents
    Amode64,
    /// ECBs: every figure of each class, and the last requests of each thread under ECB(TRACE(n))
    Ecbs,
    /// ECBs in the layouts of z/TPF, with the request sizes of PJ47265
    Ztpf,
    /// The same, with request sizes in multiples of 128 as before PJ47265
    ZtpfPrevious,
    /// Every lock that threads waited for: how long, where, and who held it
    Lock,
    /// Entries to the kernel by component, under SWITCHES(ON), the longest time first
    Switches,
    /// The same, by the name of the function
    SwitchesByName,
    /// The same, by component
    SwitchesByProduct,
    /// The same, the most switches first
    SwitchesByCount,
    /// Buffers of print and work files, in the layout of Natural's BUS
    Bus,
}

/// The report, with this machine's costs of switches if it has some and needs them: a ledger has none.
pub fn weighed(mut report: Accounts) -> Accounts {
    if report.counts_switches() && report.host.switch_costs.is_none() {
        report.host.switch_costs = Some(costs::of_switches(report.starts_processes()));
    }
    report
}

/// A report as JSON or as text.
pub fn rendered(report: &Accounts, form: Form, json: bool, page: Page<'_>) -> String {
    if json {
        return report.to_json();
    }
    match form {
        Form::Le => le::render(report),
        Form::Amode64 => le::amode64::render(report),
        Form::Ecbs => ecb_lines::render(report, page),
        Form::Ztpf => ztpf::render(report, ztpf::Layout::Pj47265),
        Form::ZtpfPrevious => ztpf::render(report, ztpf::Layout::Previous),
        Form::Lock => chapter::render(report, &advice(report)),
        Form::Switches => switch_lines::render(report, Order::Time, page),
        Form::SwitchesByName => switch_lines::render(report, Order::Name, page),
        Form::SwitchesByProduct => switch_lines::render(report, Order::Product, page),
        Form::SwitchesByCount => switch_lines::render(report, Order::Switches, page),
        Form::Bus => bus::render(report),
        Form::All => every::render(report, page),
        Form::Summary => summary::render_on(report, &advice(report), page),
    }
}

/// The suggestions, as short as a report needs them.
fn advice(report: &Accounts) -> Vec<summary::Advice> {
    underbar_advise::lines::for_summary(&underbar_advise::advise(report))
}

/// The options report of a saved run, in its original columns.
fn options_report(report: &Accounts) -> String {
    let name = file_name(&report.run.program);
    let mut text = format!("Options Report for Enclave {name} {}\n{ReleaseLine}\n\n", le::date(report));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{:<31}OPTION\n{:-<79}", "LAST WHERE SET", "");
    for option in &report.options.in_force {
        let word = option.option.split('(').next().unwrap_or_default();
        // An option in its negative form begins two columns further left.
        let indent = if OPTIONS.iter().any(|entry| entry.name == word) { "  " } else { "" };
        let _ = writeln!(text, "{:<31}{indent}{}", option.where_set, option.option);
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_options::{Base, WhereSet};
    use underbar_report::Facts;
    use underbar_runner::layers::Layers;

    #[test]
    fn an_ecb_is_named_by_its_number_as_a_program_or_a_display_has_it() {
        for text in ["4294967299", "0x100000003", "0000000100000003"] {
            assert_eq!(which(text), Ok(4_294_967_299), "{text}");
        }
        assert_eq!(which("all"), Ok(EVERY_ECB));
        for text in ["", "0", "none", "-1", "0xx", "00000001000000xx"] {
            assert!(which(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_options_report_is_the_one_of_the_run() {
        let mut layers = Layers::new(Base::LanguageEnvironment);
        layers.add(WhereSet::CommandLine, "--opts".to_owned(), "NOAIXBLD,HEAP(1M)".to_owned());
        let program = "/bin/ls".as_ref();
        let facts = Facts { options: layers.for_report(program), ..Facts::default() };
        let report = Accounts::without_ledger(facts);
        let mut expected = String::new();
        layers
            .settings(program)
            .write_options_report("", &le::date(&report), &mut expected)
            .expect("a string");
        assert_eq!(options_report(&report), expected + "\n");
    }
}
