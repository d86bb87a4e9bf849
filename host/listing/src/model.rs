//! The data that are read from a listing.
//!
//! Invariant: every figure has its line number and the text of the line.
//! Not here: how they are found.

pub mod natural;
pub mod ztpf;

use serde::Serialize;

pub use crate::evidence::{Evidence, Figure};
use crate::sections::{Field, Kind};

/// The kind of a doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubtful {
    /// The report has no end line: it is cut, or lines are missing.
    Cut,
    /// The input ends within this line.
    CutLine,
    /// Lines end at the column of the values: their last digits may be missing.
    CutAtTheRight,
    /// One value of a column has lost its first digits: others may have, too.
    CutAtTheLeft,
    /// A mark in the place of a number: OCR damage, a letter among digits.
    NotANumber,
    /// A label without its value.
    NoValue,
    /// A number apart from its label; it was given to the nearest label.
    Apart,
    /// A number that fits no label.
    NoLabel,
    /// Labels without the heading of their section.
    NoSection,
    /// Lines of two reports are mixed.
    Interleaved,
    /// Two figures of one report that cannot both be true.
    Contradiction,
    /// An impossible figure: more than there is.
    Absurd,
    /// A possible repetition of another item.
    Again,
    /// A misspelt name.
    Misspelt,
    /// A part whose layout no published source confirms: not read.
    LayoutNotKnown,
}

impl Doubtful {
    /// True if figures of the report must not be used at all; the reader hands over none of them.
    #[must_use]
    pub fn spoils_the_report(self) -> bool {
        matches!(self, Self::Interleaved | Self::CutAtTheRight)
    }
}

/// The separator in [`Doubt::words`] between a message about an option text and its line.
pub const IN: &str = "; in: ";

/// A doubt, and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Doubt {
    /// What kind.
    pub kind: Doubtful,
    /// The line that causes it.
    pub line: u64,
    /// In words.
    pub words: String,
}

/// One section of a storage report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// Which one.
    pub kind: Kind,
    /// Its heading.
    pub heading: Evidence,
    /// Its figures, in the order of the labels.
    pub figures: Vec<(Field, Figure)>,
}

impl Section {
    /// A figure that is certain.
    #[must_use]
    pub fn get(&self, field: Field) -> Option<&Figure> {
        self.any(field).filter(|figure| !figure.likely)
    }

    /// A figure, be it certain or likely.
    #[must_use]
    pub fn any(&self, field: Field) -> Option<&Figure> {
        self.figures.iter().find(|(known, _)| *known == field).map(|(_, figure)| figure)
    }
}

/// One line of the summary of heap pools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pool {
    /// Bytes of a cell.
    pub cell: u64,
    /// Bytes of an element: the cell and its control bytes.
    pub element: u64,
    /// Size of an extent in hundredths of HEAP's initial size; None in HEAPPOOLS64.
    pub percent: Option<u64>,
    /// Cells of an extent.
    pub cells_per_extent: u64,
    /// Extents that were got.
    pub extents: u64,
    /// Most cells that were used.
    pub used_peak: u64,
    /// Cells that were in use at the end.
    pub in_use: u64,
    /// Its place in the listing.
    pub evidence: Evidence,
}

/// One storage report, or a fragment of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StorageReport {
    /// Name of the enclave; None in a fragment without heading.
    pub enclave: Option<String>,
    /// Date and time, as printed: its form follows the country.
    pub date: Option<String>,
    /// The line below the heading: name and level of the run-time.
    pub release: Option<String>,
    /// Its first and last line.
    pub lines: (u64, u64),
    /// Whether its end line was seen.
    pub ended: bool,
    /// Its sections.
    pub sections: Vec<Section>,
    /// Most threads at one time.
    pub threads: Option<Figure>,
    /// Requests larger than the largest cell.
    pub larger_than_cells: Option<Figure>,
    /// Requests by range of sizes: from, to, and how many.
    pub ranges: Vec<(u64, u64, Figure)>,
    /// Summary of the heap pools.
    pub pools: Vec<Pool>,
    /// The cells of each pool in the statistics, and the line, until the report ends.
    #[serde(skip)]
    pub(crate) named_pools: Vec<(u64, u64)>,
    /// Rows whose cells per extent do not fit HEAP's initial size, until the report ends.
    #[serde(skip)]
    pub(crate) other_pools: Vec<Pool>,
    /// The heap sizes that fit the pools, if they agree on another size than HEAP's initial size.
    #[serde(skip)]
    pub(crate) pools_of: Option<(u64, u64)>,
    /// Whether the columns of the summary are those of underbar's HEAPPOOLS64, which has no percentages.
    #[serde(skip)]
    pub(crate) pools_have_counts: bool,
    /// The first unusable line about pools.
    #[serde(skip)]
    pub(crate) doubtful_pool: Option<Box<Doubt>>,
    /// Its doubts.
    pub doubts: Vec<Doubt>,
}

impl StorageReport {
    /// Whether it is a report of underbar.
    pub(crate) fn is_own(&self) -> bool {
        self.release.as_ref().is_some_and(|words| words.starts_with("underbar"))
    }

    /// A section, if it is there.
    #[must_use]
    pub fn section(&self, kind: Kind) -> Option<&Section> {
        self.sections.iter().find(|section| section.kind == kind)
    }

    /// Whether the date has a time, which distinguishes two reports of one program.
    #[must_use]
    pub fn has_time(&self) -> bool {
        self.date.as_deref().is_some_and(has_time)
    }

    /// False if the figures must not be used.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.doubts.iter().all(|doubt| !doubt.kind.spoils_the_report())
    }

    /// Whether it is a report of a 64-bit program.
    #[must_use]
    pub fn is_64bit(&self) -> bool {
        self.sections.iter().any(|section| section.kind.is_64bit_only())
    }
}

/// Whether a printed date has a time: alone it has no more than 8 digits.
#[must_use]
pub fn has_time(date: &str) -> bool {
    date.bytes().filter(u8::is_ascii_digit).count() >= 10
}

/// One row of an options report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OptionRow {
    /// The source that set the option last, as printed; empty if it is not shown.
    pub source: String,
    /// False if the option cannot be overridden; None if that is not shown.
    pub overridable: Option<bool>,
    /// Name of the option in capitals, without NO.
    pub name: String,
    /// Whether it has the prefix NO.
    pub negative: bool,
    /// The text between the parentheses, without blanks.
    pub values: String,
    /// Its place in the listing.
    pub evidence: Evidence,
}

impl OptionRow {
    /// Whether it is in an option text: no report shows that it is in force.
    #[must_use]
    pub fn is_in_a_text(&self) -> bool {
        self.source.is_empty()
    }

    /// The sub-options.
    #[must_use]
    pub fn sub_options(&self) -> Vec<&str> {
        crate::words::sub_options(&self.values)
    }
}

/// One options report, or the options of a CEEDUMP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OptionsReport {
    /// Name of the enclave; None in a CEEDUMP.
    pub enclave: Option<String>,
    /// Whether it has the form of a CEEDUMP: numbers filled with zeros, and OVR.
    pub dump: bool,
    /// Its first and last line.
    pub lines: (u64, u64),
    /// Its rows.
    pub rows: Vec<OptionRow>,
    /// Its doubts.
    pub doubts: Vec<Doubt>,
}

/// The carrier of an option text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// A CEEOPTS data set, or bare options.
    Ceeopts,
    /// Linked with a program: the macro CEEXOPT (CEEUOPT, CEEROPT), `#pragma runopts`, PLIXOPT.
    Ceeuopt,
    /// A member CEEPRMxx.
    Ceeprm,
    /// The part of a member CEEPRMxx that is for CICS: CEECOPT.
    Ceecopt,
    /// The environment variable.
    CeeRunopts,
    /// PARM of a job step.
    Parm,
}

/// An option text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OptionText {
    /// Its carrier.
    pub carrier: Carrier,
    /// Its options, each with its line.
    pub rows: Vec<OptionRow>,
    /// Where it begins.
    pub evidence: Evidence,
    /// Its errors, as the option check reports them.
    pub doubts: Vec<Doubt>,
}

/// PARM of a step: the program's part besides options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepParm {
    /// The program of the step, if its statement was seen.
    pub program: Option<String>,
    /// The program's own arguments, without the slash.
    pub arguments: String,
    /// The side of the slash for options.
    pub side: Side,
    /// Its place in the listing.
    pub evidence: Evidence,
}

/// The place of options in PARM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Side {
    /// `options/arguments`
    First,
    /// `arguments/options`: COBOL under CBLOPTS(ON).
    Last,
    /// PARM does not show it.
    Unknown,
}

/// The timings of one job step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StepTiming {
    /// Names, in the order before the code: step, procedure step, program.
    pub names: Vec<String>,
    /// Completion code.
    pub code: Option<String>,
    /// Storage used, in bytes.
    pub used: Option<u64>,
    /// CPU time in hundredths of a second.
    pub cpu: Option<u64>,
    /// Elapsed time in hundredths of a second.
    pub elapsed: Option<u64>,
    /// EXCP count.
    pub excp: Option<u64>,
    /// Its place in the listing.
    pub evidence: Option<Evidence>,
}

/// Evidence of the region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Region {
    /// The step's program, if it is named in the same statement.
    pub program: Option<String>,
    /// REGION in bytes; 0 asks for all there is.
    pub region: Option<u64>,
    /// MEMLIMIT in bytes; u64::MAX is NOLIMIT.
    pub memlimit: Option<u64>,
    /// Storage used above the line, in bytes, from a message: not a limit.
    pub used_above: Option<u64>,
    /// Its place in the listing.
    pub evidence: Evidence,
}

/// Recognised but not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// Its place in the listing.
    #[serde(flatten)]
    pub evidence: Evidence,
    /// Why it was not read.
    pub why: String,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "item")]
pub enum Item {
    /// A storage report.
    Storage(StorageReport),
    /// An options report.
    Options(OptionsReport),
    /// An option text.
    Text(OptionText),
    /// Timings of a step.
    Step(StepTiming),
    /// Evidence of the region.
    Region(Region),
    /// PARM of a step; after the option text in it.
    Parm(StepParm),
    /// Something of z/TPF.
    Ztpf(ztpf::Found),
    /// Something of Natural or Adabas.
    Natural(natural::Natural),
    /// Recognised but not read.
    Unread(Unread),
}
