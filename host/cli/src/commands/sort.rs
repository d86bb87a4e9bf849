//! `underbar sort`: record files and lines sorted, merged or copied, by DFSORT's statements or by keys of lines.
//!
//! Invariant: the output has its name only when it is whole. A command that fails has changed nothing, and names the file, the record and
//! its offset; its exit status is 2.
//! Not here: the work (`underbar_records`).

mod summary;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use underbar_records::statement::{self, Statements, Verb};
use underbar_records::{
    Error, Figures, Format, Input, LEAST_MEMORY, Order, Output, Plan, To, line_keys, sort,
};
use underbar_shown::progress::Progress;
use underbar_shown::{Shown, door};

use crate::exit::ExitCode;
use crate::printing::Printing;

/// The flags of `sort`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar sort names.txt sorted.txt                      whole lines
  underbar sort -k 1.5,1.12 -k 1.1,1.4r log.txt sorted.txt
  underbar sort --format 'F(100)' -e 'SORT FIELDS=(1,10,CH,A,21,4,PD,D)' payments.dat sorted.dat
  underbar sort --format V -e 'SORT FIELDS=(5,8,CH,A)' -e 'SUM FIELDS=(13,4,PD)' a.dat b.dat sums.dat
  underbar sort -e 'OPTION COPY' -e \"OMIT COND=(1,1,CH,EQ,C'#')\" in.txt out.txt
  underbar sort --statements sysin.txt --memory 64M --format 'F(80)' in.dat out.dat
  underbar sort --memory 1G - sorted.txt                  standard input

Statements: SORT FIELDS=(position,length,kind,A|D,...), MERGE FIELDS=..., FIELDS=COPY; kinds are CH, BI, FI, PD and ZD.
INCLUDE COND=(...) and OMIT COND=(...); SUM FIELDS=(...) or NONE; OPTION EQUALS, SKIPREC=n, STOPAFT=n, VLSHRT, MAINSIZE=n;
Natural's SORT=(WRKSIZE=n,EXT=OFF). Records with equal keys keep their order. docs/sort.md has all of it.

If the records need more memory than --memory allows, sorted runs go to a work file. It has no name, so nothing is left of it,
and other users cannot open it. The sort calls no other program (EXT=OFF).

Exit status: 0 done, 2 wrong usage, a bad statement, a bad record, or a file that could not be read or written.")]
pub struct Sort {
    /// Statement; may be given several times
    #[arg(short = 'e', long = "statement", value_name = "TEXT")]
    texts: Vec<String>,

    /// File of statements
    #[arg(long, value_name = "FILE")]
    statements: Option<PathBuf>,

    /// Key of lines, as of `sort -k`: 1.5,1.12 for bytes 5 to 12, 1.5 for all from byte 5 on, with r for descending; may be given
    /// several times [default without statements: the whole line]
    #[arg(short, long, value_name = "KEY", value_parser = line_keys::read,
          conflicts_with_all = ["texts", "statements"])]
    key: Vec<Order>,

    /// Form of the records: F(80) for 80 bytes each, V or V(84) for record descriptor words, U(32760) for blocks, LINES
    #[arg(long, value_name = "FORM", default_value = "LINES")]
    format: Format,

    /// Memory for records, 1M at least, as in 300M or 1G [default: MAINSIZE or WRKSIZE, or a quarter of what is available]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<usize>,

    /// Threads that sort [default: one for each processor, 8 at most]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: Option<u16>,

    /// Folder for the work file; no other user may be able to change it, except that it may be sticky as /tmp is [default:
    /// TMPDIR, or /tmp]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,

    /// Replace an existing output, also an input
    #[arg(long)]
    force: bool,

    /// Print no summary
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    printing: Printing,

    /// Files to sort together; - is standard input
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,

    /// The sorted file; - is standard output, then without a summary
    #[arg(required = true, value_name = "OUT")]
    output: PathBuf,
}

fn size(text: &str) -> Result<usize, String> {
    statement::bytes(text)
        .filter(|size| *size >= LEAST_MEMORY)
        .ok_or_else(|| "this must be a size of 1M at least, such as 300M or 1G".to_owned())
}

/// The name of standard input and of standard output.
const STANDARD: &str = "-";

impl Sort {
    /// Sorts.
    pub fn run(self) -> ExitCode {
        let began = Instant::now();
        match self.sort() {
            Ok(_) if self.quiet || self.is_to_output() => ExitCode::SUCCESS,
            Ok((figures, plan)) => {
                let summary = summary::Summary::new(&figures, &plan, began.elapsed());
                let text = if self.printing.json { summary.json() } else { summary.text() };
                self.printing.print(&text, None, 0)
            }
            // The reader of a pipe has enough.
            Err(Failed::Records(Error::Output { error, .. }))
                if self.is_to_output() && error.kind() == io::ErrorKind::BrokenPipe =>
            {
                ExitCode::SUCCESS
            }
            Err(Failed::Records(error @ Error::Exists { .. })) => {
                self.printing.fail(format_args!("{error}; use --force to replace it"))
            }
            Err(Failed::Records(error)) => self.printing.fail(error),
            Err(Failed::Usage(text)) => self.printing.fail(text),
        }
    }

    fn is_to_output(&self) -> bool {
        self.output == Path::new(STANDARD)
    }

    fn sort(&self) -> Result<(Figures, Plan), Failed> {
        if self.is_to_output() && self.printing.json {
            return Err(Failed::usage("--json prints to standard output, where the records go"));
        }
        if self.inputs.iter().filter(|input| *input == Path::new(STANDARD)).count() > 1 {
            return Err(Failed::usage("only one of the inputs can be standard input"));
        }
        let plan = self.plan()?;
        let inputs = self.inputs.iter().map(|path| input(path)).collect::<Result<Vec<Input>, Error>>()?;
        let all = self.bytes();
        let mut progress = Progress::new(false, Duration::from_millis(500), Duration::from_millis(100));
        let mut look = |figures: &Figures| {
            if progress.is_due() {
                progress.over(format_args!("{}", summary::progress(figures, all)));
            }
        };
        if self.is_to_output() {
            let mut file = standard_output()?;
            let to = To { name: "standard output", bytes: &mut file };
            return Ok((sort(inputs, &plan, to, &mut look)?, plan));
        }
        let mut output = Output::create(&self.output, &self.inputs, self.force)?;
        let name = self.output.shown().to_string();
        let figures = sort(inputs, &plan, To { name: &name, bytes: &mut output }, &mut look)?;
        output.finish()?;
        Ok((figures, plan))
    }

    /// Statements, memory, threads and folder.
    fn plan(&self) -> Result<Plan, Failed> {
        let mut plan = Plan::new(self.format, self.read_statements()?);
        plan.memory = self.memory.unwrap_or(plan.memory);
        plan.threads = self.threads.map_or(plan.threads, usize::from);
        if let Some(work) = &self.work {
            plan.work.clone_from(work);
        }
        if plan.statements.verb == Verb::Merge && self.inputs.len() > MOST_MERGED {
            return Err(Failed::Usage(format!("MERGE takes at most {MOST_MERGED} inputs")));
        }
        Ok(plan)
    }

    fn read_statements(&self) -> Result<Statements, Failed> {
        if self.texts.is_empty() && self.statements.is_none() {
            if self.format != Format::Lines {
                let text = "what to sort by? Use -e 'SORT FIELDS=(1,10,CH,A)', or --statements FILE";
                return Err(Failed::usage(text));
            }
            let order = if self.key.is_empty() {
                line_keys::read("1").into_iter().collect()
            } else {
                self.key.clone()
            };
            return Ok(Statements::of(order, self.format));
        }
        let (name, mut text) = match &self.statements {
            None => (None, String::new()),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| Failed::Usage(format!("{}: {error}", path.shown())))?;
                (Some(path), text)
            }
        };
        let lines_of_file = text.lines().count();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        for given in &self.texts {
            text += given;
            text.push('\n');
        }
        statement::read(&text, self.format).map_err(|wrong| {
            Failed::Usage(match name {
                Some(path) if wrong.line <= lines_of_file => format!("{}, {wrong}", path.shown()),
                _ => format!("statement {}: {}", wrong.line - lines_of_file, wrong.what),
            })
        })
    }

    /// Bytes of all inputs, if they are known.
    fn bytes(&self) -> Option<u64> {
        let bytes =
            |path: &PathBuf| path.metadata().ok().filter(std::fs::Metadata::is_file).map(|of| of.len());
        self.inputs.iter().map(bytes).sum()
    }
}

/// The most inputs of MERGE: each has a buffer and an open file.
const MOST_MERGED: usize = 256;

/// Why nothing was sorted.
enum Failed {
    Usage(String),
    Records(Error),
}

impl Failed {
    fn usage(text: &str) -> Failed {
        Failed::Usage(text.to_owned())
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Records(error)
    }
}

fn input(path: &Path) -> Result<Input, Error> {
    if path != Path::new(STANDARD) {
        return Input::open(path);
    }
    let name = "standard input".into();
    match io::stdin().as_fd().try_clone_to_owned() {
        Ok(file) => Ok(Input { name, bytes: Box::new(File::from(file)) }),
        Err(error) => Err(Error::Input { name, error }),
    }
}

/// Standard output as a file: records are bytes of a file, not words for a person.
fn standard_output() -> Result<File, Failed> {
    if door::output_is_terminal() {
        return Err(Failed::usage(
            "records can have any bytes, and are not written to a terminal; use a pipe or a file",
        ));
    }
    #[expect(clippy::disallowed_methods, reason = "records are no text, and a terminal was refused")]
    let output = io::stdout().as_fd().try_clone_to_owned();
    output.map(File::from).map_err(|error| Failed::Usage(format!("standard output: {error}")))
}
