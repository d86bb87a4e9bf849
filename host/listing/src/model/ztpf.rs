//! The data that are read from listings of z/TPF.
//!
//! Invariant: a figure is there only if its line holds it whole; if a line may be cut after it, it is *likely*.
//! Not here: how they are found.

use serde::Serialize;

use super::{Doubt, Evidence, Figure};

/// Something of z/TPF that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "report")]
pub enum Found {
    /// Requests by size, or ECBs by heap used.
    Frequencies(Frequencies),
    /// Requests that the available lists of one ECB filled (`ZDECB HAVL`).
    Lists(Lists),
    /// The system heap (`ZSTAT SYSHEAP`).
    SystemHeap(SystemHeap),
    /// Name-value pairs.
    Metrics(Metrics),
    /// Instructions by samples (`ZTRAP EI`).
    Profile(Profile),
    /// Values of a memory configuration, as `NAME=value`.
    Values(Values),
}

impl Found {
    /// Its doubts.
    #[must_use]
    pub fn doubts(&self) -> &[Doubt] {
        match self {
            Self::Frequencies(found) => &found.doubts,
            Self::Lists(found) => &found.doubts,
            Self::SystemHeap(found) => &found.doubts,
            Self::Metrics(found) => &found.doubts,
            Self::Profile(found) => &found.doubts,
            Self::Values(found) => &found.doubts,
        }
    }
}

/// Which table of frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// Requests for ECB heap by their size in bytes.
    RequestSizes,
    /// ECBs by their use of the preallocated 31-bit heap, in bytes.
    Preallocated,
    /// ECBs that exceeded it, by their total use, in bytes.
    Virtual,
}

impl Table {
    /// The title without "TPF" and without "REPORT".
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::RequestSizes => "ECB HEAP REQUEST SIZE",
            Self::Preallocated => "31-BIT PREALLOCATED ECB HEAP STORAGE USAGE",
            Self::Virtual => "31-BIT VIRTUAL ECB HEAP STORAGE USAGE",
        }
    }
}

/// One row of a table of frequencies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Class {
    /// Its upper limit in bytes; for the last row of a usage report the limit that was exceeded.
    pub limit: u64,
    /// True for the row above the limit.
    pub over: bool,
    /// The percentage as printed, in hundredths.
    pub percent: u64,
    /// The number of observations.
    pub count: Figure,
}

/// The total of observations that the percentages allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Total {
    /// At least this many.
    pub least: u64,
    /// At most this many; None if the percentages set no limit.
    pub most: Option<u64>,
}

/// A table of frequencies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Frequencies {
    /// Its kind.
    pub table: Table,
    /// Its title.
    pub title: Evidence,
    /// Its first and last line.
    pub lines: (u64, u64),
    /// The line with the time of collection, if one preceded it.
    pub run: Option<Evidence>,
    /// The set of sizes that it is about, if it is named.
    pub set: Option<String>,
    /// Buffer sizes of the available lists: number of the list, bytes.
    pub sizes: Vec<(u8, Figure)>,
    /// Its rows, smallest first.
    pub rows: Vec<Class>,
    /// The total of observations, with missing rows.
    pub total: Option<Total>,
    /// False if the figures must not be used.
    pub sound: bool,
    /// Its doubts.
    pub doubts: Vec<Doubt>,
}

impl Frequencies {
    /// Observations in the rows that were read.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.rows.iter().fold(0, |sum, row| sum.saturating_add(row.count.value))
    }

    /// Observations in rows that are missing: at least, at most.
    #[must_use]
    pub fn missing(&self) -> (u64, Option<u64>) {
        let read = self.read();
        self.total.map_or((0, None), |total| {
            (total.least.saturating_sub(read), total.most.map(|most| most.saturating_sub(read)))
        })
    }

    /// Whether its classes are multiples of 128, as they were before PJ47265.
    #[must_use]
    pub fn is_coarse(&self) -> bool {
        self.table == Table::RequestSizes && self.rows.first().is_some_and(|row| row.limit >= 128)
    }
}

/// The display of one ECB's available lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lists {
    /// The message's line.
    pub title: Evidence,
    /// Its first and last line.
    pub lines: (u64, u64),
    /// Address of the ECB, as printed.
    pub ecb: Option<String>,
    /// Address of the main thread's ECB, as printed.
    pub main: Option<String>,
    /// The set of sizes that serves it.
    pub set: Option<String>,
    /// Buffer sizes: number of the list, bytes.
    pub sizes: Vec<(u8, Figure)>,
    /// Requests by list, where the columns are those of underbar.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<ListRow>,
    /// ECBs and their frames: 31-bit, 64-bit; both are the same figure where one is printed for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ecbs: Vec<(EcbRow, Figure, Figure)>,
    /// Its doubts.
    pub doubts: Vec<Doubt>,
}

/// Requests that a list filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListRow {
    /// The number of the list; None: all other sizes.
    pub list: Option<u8>,
    /// By thread-unique lists, in 31-bit storage.
    pub own_31: Figure,
    /// By shared lists, in 31-bit storage.
    pub shared_31: Figure,
    /// By thread-unique lists, in 64-bit storage.
    pub own_64: Figure,
    /// By shared lists, in 64-bit storage.
    pub shared_64: Figure,
    /// By new storage.
    pub new_storage: Figure,
    /// Buffers that were freed.
    pub freed: Figure,
    /// Buffers that were dispensed: the sum of the first five.
    pub dispensed: Figure,
}

/// A row about the ECBs of a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EcbRow {
    /// ECBs with at least one buffer.
    WithBuffer,
    /// ECBs that expanded the hash table of tags.
    ExpandedTable,
    /// ECBs with at least one frame of 1 MB.
    WithFrame,
    /// Frames of 1 MB.
    Frames,
    /// The most bytes of one ECB.
    HighWater,
}

/// A row of the display of the system heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRow {
    /// Preallocated size.
    PreallocatedSize,
    /// Preallocated in use.
    PreallocatedInUse,
    /// Storage in frames of 1 MB.
    Frames,
    /// Heap storage in use.
    InUse,
    /// On available lists.
    Available,
    /// Most in use.
    MostInUse,
    /// Size of the heap.
    Size,
}

/// The system heap, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SystemHeap {
    /// The message's line.
    pub title: Evidence,
    /// Its first and last line.
    pub lines: (u64, u64),
    /// Row, 31-bit, 64-bit; None where N/A is printed.
    pub rows: Vec<(SystemRow, Option<Figure>, Option<Figure>)>,
    /// Its doubts.
    pub doubts: Vec<Doubt>,
}

/// One row of a table of name-value pairs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MetricRow {
    /// The ECB: its address and the time at which it was made, as printed.
    pub ecb: Option<String>,
    /// The owner name in effect.
    pub owner: Option<String>,
    /// The name and the value by which it was collected (columns NVP_NAME and NVP_VALUE).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<(String, String)>,
    /// Its counters, cumulative.
    pub values: Vec<(String, u64)>,
    /// Its place in the listing.
    pub evidence: Evidence,
}

/// A table of name-value pairs, or a piece of a long one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Metrics {
    /// Its headers.
    pub title: Evidence,
    /// Its first and last line.
    pub lines: (u64, u64),
    /// Its rows.
    pub rows: Vec<MetricRow>,
    /// Its doubts.
    pub doubts: Vec<Doubt>,
}

impl Metrics {
    /// The changes between neighbouring rows of the same ECB: the later line, and each counter that changed.
    ///
    /// Counters are cumulative. Rows may be in ascending or descending order; if one counter rises and
    /// another falls, the rows do not belong together and the result is empty.
    #[must_use]
    pub fn steps(&self) -> Vec<(u64, Vec<(&str, u64)>)> {
        self.rows.windows(2).filter_map(|two| step(&two[0], &two[1])).collect()
    }
}

fn step<'a>(before: &MetricRow, row: &'a MetricRow) -> Option<(u64, Vec<(&'a str, u64)>)> {
    if before.ecb.is_none() || before.ecb != row.ecb {
        return None;
    }
    let (mut rises, mut falls, mut changes) = (false, false, Vec::new());
    for (name, value) in &row.values {
        let Some((_, old)) = before.values.iter().find(|(known, _)| known == name) else { continue };
        rises |= value > old;
        falls |= value < old;
        if value != old {
            changes.push((name.as_str(), value.abs_diff(*old)));
        }
    }
    (!(rises && falls)).then_some((row.evidence.line, changes))
}

/// One row of the profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// The object, as printed: `CFVS - slockc.goff`; empty if none is above it.
    pub object: String,
    /// Displacement of the instruction; None if print has broken it.
    pub displacement: Option<u64>,
    /// Its mnemonic, in capitals.
    pub mnemonic: String,
    /// The number of its samples.
    pub count: Figure,
}

/// Instructions by samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// Its headers.
    pub title: Evidence,
    /// Its first and last line.
    pub lines: (u64, u64),
    /// Its rows.
    pub samples: Vec<Sample>,
    /// Its doubts.
    pub doubts: Vec<Doubt>,
}

/// Values of a memory configuration on one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Values {
    /// Name in capitals, value.
    pub values: Vec<(String, Figure)>,
    /// Their place in the listing.
    pub evidence: Evidence,
    /// Their doubts.
    pub doubts: Vec<Doubt>,
}
