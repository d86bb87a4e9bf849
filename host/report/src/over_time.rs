//! Figures of a run over time, as `run --every` takes them from outside: for all processes together, and for each.
//!
//! ```text
//! looks   |  .  .  .  .  .  .  .  .  |          every so often
//! points  |     .     .     .     .  |          a point holds several looks once there are many: lowest, highest, last
//! ```
//!
//! A point covers the time since the point before it. Its highest value of `heap` also holds a peak between two looks, since the process
//! itself keeps its peak. The other figures are those of the moments of the looks.
//!
//! Invariant: a course has at most [`POINTS`] points, all courses together at most [`POINTS_OF_ALL`]; the first look, the last one and
//! the extremes are never lost. All columns of a course have the same length.
//! Not here: how looks become courses ([`crate::course_recorder`]), how the figures are read (`runner::looks`), and their lines for
//! people (`crate::over_time_lines`).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use underbar_ledger::Unit;

/// The most points of a course.
pub const POINTS: usize = 256;
/// The most points of all courses together.
pub const POINTS_OF_ALL: usize = 8192;
/// The most processes with a course of their own.
pub const COURSES: usize = 256;
/// The number of figures of a course.
pub const FIGURES: usize = TABLE.len();

/// What `run --every` saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverTime {
    /// The interval that was asked for.
    pub every_ns: u64,
    /// The looks that were taken. Fewer than the interval allows if the machine was busy.
    pub looks: u64,
    /// Processes without a course of their own: short ones with little storage, if there were more than [`COURSES`].
    pub left_out: u64,
    /// All processes together.
    pub all: Course,
    /// Each process, in the order of their starts.
    pub processes: Vec<OfProcess>,
}

/// The course of one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfProcess {
    /// The file name of its program.
    pub program: String,
    /// Its number.
    pub process: u32,
    /// When it began: nanoseconds after the run began.
    pub started_ns: u64,
    /// Its figures.
    pub course: Course,
}

/// Figures over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Course {
    /// The looks that a full point holds.
    pub looks_per_point: u64,
    /// When the last look of each point was: nanoseconds after the run began.
    pub at_ns: Vec<u64>,
    /// Storage in use in the heap.
    pub heap: Column,
    /// Resident memory of the process.
    pub resident: Column,
    /// Segments that the heap has.
    pub segments: Column,
    /// Bytes of these segments.
    pub segment_bytes: Column,
    /// The anonymous part of resident memory.
    pub anonymous: Column,
    /// At most so much of it is in this heap.
    pub anonymous_in_heap: Column,
}

/// One figure over time: a value for each point; null where it was not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The lowest value of each point.
    pub low: Vec<Option<u64>>,
    /// The highest value of each point.
    pub high: Vec<Option<u64>>,
    /// The last value of each point.
    pub last: Vec<Option<u64>>,
}

/// A figure of a course.
pub struct Entry {
    /// Its key in a course.
    pub key: &'static str,
    /// The words printed for it.
    pub label: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// What it means.
    pub meaning: &'static str,
    /// Its column.
    pub column: fn(&Course) -> &Column,
    /// The same, to be changed.
    column_of: fn(&mut Course) -> &mut Column,
}

macro_rules! entries {
    ($($field:ident, $label:literal, $unit:ident, $meaning:literal;)*) => {
        /// The figures of a course, in the order of a look's values.
        pub static TABLE: [Entry; [$(stringify!($field)),*].len()] = [$(Entry {
            key: stringify!($field), label: $label, unit: Unit::$unit, meaning: $meaning,
            column: |course| &course.$field, column_of: |course| &mut course.$field,
        }),*];
    };
}

entries! {
    heap, "heap in use", Bytes,
        "Storage in use in the heap. The highest value of a point also holds a peak between two looks.";
    resident, "resident", Bytes,
        "Resident memory of the process, as the kernel counts it. Null for a process that has ended, or of another PID namespace.";
    segments, "segments", Count, "Segments that the heap has at the moment.";
    segment_bytes, "in segments", Bytes, "Bytes of these segments.";
    anonymous, "anonymous", Bytes,
        "The anonymous part of resident memory, as the kernel counts it. Null for a process that has ended, or of another PID namespace.";
    anonymous_in_heap, "anonymous in heap", Bytes,
        "At most so much of it is in this heap: what the process found when it last looked, less what it has given back since. Null before its first look.";
}

/// A value of each figure, in the order of [`TABLE`].
pub type Values = [Option<u64>; FIGURES];

impl Column {
    /// The highest value of all points.
    #[must_use]
    pub fn highest(&self) -> Option<u64> {
        self.high.iter().copied().flatten().max()
    }

    fn push(&mut self, low: Option<u64>, high: Option<u64>) {
        self.low.push(low);
        self.high.push(high);
        self.last.push(low);
    }

    fn merge_into_last(&mut self, value: Option<u64>, high: Option<u64>) {
        if let (Some(at_low), Some(at_high), Some(last)) =
            (self.low.last_mut(), self.high.last_mut(), self.last.last_mut())
        {
            *at_low = least(*at_low, value);
            *at_high = (*at_high).max(high);
            *last = value.or(*last);
        }
    }

    fn halve(&mut self) {
        self.low = self.low.chunks(2).map(|two| two.iter().copied().fold(None, least)).collect();
        self.high = self.high.chunks(2).map(|two| two.iter().copied().max().flatten()).collect();
        self.last = self.last.chunks(2).map(|two| two.iter().rev().copied().flatten().next()).collect();
    }
}

/// The lower of two values; one that is not known does not count.
fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl Course {
    /// The number of its points.
    #[must_use]
    pub fn points(&self) -> usize {
        self.at_ns.len()
    }

    /// Adds a look to the last point, or as a point of its own (`is_new`). `highs` are the values, or more.
    pub(crate) fn add(&mut self, is_new: bool, at_ns: u64, values: &Values, highs: &Values) {
        for (entry, (value, high)) in TABLE.iter().zip(values.iter().zip(highs)) {
            let column = (entry.column_of)(self);
            if is_new { column.push(*value, *high) } else { column.merge_into_last(*value, *high) }
        }
        match self.at_ns.last_mut() {
            Some(last) if !is_new => *last = at_ns,
            _ => self.at_ns.push(at_ns),
        }
    }

    /// Makes one point of each two.
    pub(crate) fn halve(&mut self) {
        for entry in &TABLE {
            (entry.column_of)(self).halve();
        }
        self.at_ns = self.at_ns.chunks(2).filter_map(|two| two.last().copied()).collect();
        self.looks_per_point = self.looks_per_point.saturating_mul(2);
    }

    /// Are all columns as long as the times? A saved report may have any.
    #[must_use]
    pub fn is_even(&self) -> bool {
        let points = self.points();
        TABLE.iter().all(|entry| {
            let column = (entry.column)(self);
            [&column.low, &column.high, &column.last].iter().all(|values| values.len() == points)
        })
    }
}

/// The JSON schema of [`OverTime`].
pub(crate) fn schema() -> Value {
    let number = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
    let with_all = |what: &str, properties: Value| {
        let keys: Vec<String> =
            properties.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect();
        json!({"type": "object", "description": what, "properties": properties, "required": keys})
    };
    let course = || {
        let mut properties = json!({
            "looks_per_point": number("The looks that a full point holds."),
            "at_ns": {"type": "array", "items": number("Nanoseconds after the run began."),
                "description": "When the last look of each point was. A point covers the time since the point before it."},
        });
        for entry in &TABLE {
            let values = |what: &str| json!({"type": "array", "items": {"type": ["integer", "null"], "minimum": 0}, "description": what});
            let mut column = with_all(
                entry.meaning,
                json!({
                    "low": values("The lowest value of each point."),
                    "high": values("The highest value of each point."),
                    "last": values("The last value of each point."),
                }),
            );
            column["x-unit"] = json!(entry.unit.name());
            properties[entry.key] = column;
        }
        with_all("Figures over time, a value for each point; null where not known.", properties)
    };
    with_all(
        "Figures over time, as `run --every` saw them from outside; absent without it.",
        json!({
            "every_ns": number("The interval that was asked for."),
            "looks": number("The looks that were taken."),
            "left_out": number("Processes without a course of their own: short ones with little storage, where there were too many."),
            "all": course(),
            "processes": {"type": "array", "description": "Each process, in the order of their starts.", "items": with_all(
                "The course of one process.",
                json!({
                    "program": {"type": "string", "description": "The file name of its program."},
                    "process": number("Its number."),
                    "started_ns": number("Nanoseconds after the run began."),
                    "course": course(),
                }),
            )},
        }),
    )
}
