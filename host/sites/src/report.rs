//! What the samples say, with names: the sites, and the whole stacks.
//!
//! ```text
//! tally, names ──> locations, stacks (locations, innermost first) ──> sites ──> text | JSON | folded | pprof | flame
//! ```
//!
//! Invariant: each stack belongs to one site, so a site's figures are the sums over its stacks, and the sum over all sites is the total.
//! Not here: the views.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::heap_counts::HeapCounts;
use crate::names::{Location, locations};
use crate::record::Recorder;
use crate::site::{Site, cut, site};
use crate::tally::Tally;
use crate::walk::{End, Place};
use crate::weights::{Sum, share};
use crate::wrappers::{Sampled, Wrappers};

/// Name and version of its JSON form.
pub const SCHEMA: &str = "underbar.heap/1";

/// The subject of the report.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The program that was started, as given.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Notes about the samples.
    pub notes: Vec<String>,
    /// Functions that only hand requests on to malloc are sites like others.
    #[serde(skip)]
    pub has_wrappers: bool,
}

/// An estimate from samples, with its interval of 95 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Bytes.
    pub bytes: u64,
    /// The low end.
    pub bytes_low: u64,
    /// The high end.
    pub bytes_high: u64,
    /// Requests.
    pub requests: u64,
    /// The samples that it is made from.
    pub samples: u64,
    /// Its share in that of all stacks, percent.
    pub percent: f64,
    /// The low end.
    pub percent_low: f64,
    /// The high end.
    pub percent_high: f64,
}

/// Requested in all, in use when most was, and in use when the process ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// All requests.
    pub requested: Estimate,
    /// In use when all processes together had most in use, by their heaps' own counts.
    pub most_in_use: Estimate,
    /// Still in use when its process ended.
    pub in_use_at_end: Estimate,
}

/// A site and its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteRow {
    /// The function, if it is known.
    pub function: Option<String>,
    /// The file of source.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u64>,
    /// The program file that has it; empty for code made at run time.
    pub module: String,
    /// The address in it, if nothing else names the place.
    pub address: Option<u64>,
    /// Why there is no more.
    pub note: Option<Cow<'static, str>>,
    /// The function by which it requests, if that only hands requests on to malloc; of several, that with most bytes.
    pub by: Option<String>,
    /// What it requested.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A stack and its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackRow {
    /// Its locations by their places in the list, innermost first.
    pub locations: Vec<usize>,
    /// Its site, by its place in the list.
    pub site: usize,
    /// How the walk ended: a key of `walks`.
    pub end: Cow<'static, str>,
    /// What it requested.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: Cow<'static, str>,
    /// The version of underbar.
    pub underbar: Cow<'static, str>,
    /// The file of the program that was run; empty if it is not known. The JSON has only what the user typed.
    #[serde(skip)]
    pub binary: String,
    /// What was run.
    #[serde(flatten)]
    pub facts: Facts,
    /// Processes with samples.
    pub processes: u64,
    /// Samples.
    pub samples: u64,
    /// Samples for which there was no room: the figures are too low by them.
    pub lost: u64,
    /// The least mean distance of samples, bytes.
    pub mean_bytes_least: u64,
    /// The largest: it grows while a program requests fast.
    pub mean_bytes_largest: u64,
    /// The heap's own counts of the same, as far as they are known.
    pub heap: HeapCounts,
    /// The longest piece of stack that was copied among those that were too short, bytes.
    pub longest_copy_bytes: u64,
    /// Samples by how their walks ended.
    pub walks: BTreeMap<Cow<'static, str>, u64>,
    /// All stacks together.
    pub total: Figures,
    /// The sites, that with most in use first.
    pub sites: Vec<SiteRow>,
    /// The stacks.
    pub stacks: Vec<StackRow>,
    /// Places in code.
    pub locations: Vec<Location>,
}

#[derive(Clone, Copy, Default)]
struct Sums([Sum; 3]);

impl Sums {
    fn join(&mut self, other: &Sums) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, other)| sum.join(other));
    }

    fn figures(&self, whole: &Sums) -> Figures {
        let [requested, most_in_use, in_use_at_end] =
            [0, 1, 2].map(|which| estimate(&self.0[which], &whole.0[which]));
        Figures { requested, most_in_use, in_use_at_end }
    }
}

fn estimate(sum: &Sum, whole: &Sum) -> Estimate {
    let interval = sum.interval();
    let (percent, of_share) = share(sum, whole).unwrap_or_default();
    // A conversion from a float saturates.
    let rounded = |value: f64| value.round() as u64;
    let percent_of = |value: f64| (value * 10.0).round() / 10.0;
    Estimate {
        bytes: rounded(sum.bytes),
        bytes_low: rounded(interval.low),
        bytes_high: rounded(interval.high),
        requests: rounded(sum.requests),
        samples: sum.samples,
        percent: percent_of(percent),
        percent_low: percent_of(of_share.low),
        percent_high: percent_of(of_share.high),
    }
}

/// The report of a run whose processes have all ended.
#[must_use]
pub fn report(mut recorder: Recorder, facts: Facts) -> Report {
    recorder.tally.end();
    let Recorder { files, made, tally, programs, binary, processes, .. } = &recorder;
    let places = tally.rows().iter().flat_map(|row| row.walk.places.iter().copied());
    let named = locations(files, made, places);
    let mut builder = Builder { list: Vec::new(), by_place: HashMap::new(), named };
    let mut whole = Sums::default();
    let mut sites: HashMap<Site, OfSite> = HashMap::new();
    let mut walks: BTreeMap<Cow<'static, str>, u64> =
        End::ALL.into_iter().map(|end| (end.key().into(), 0)).collect();
    let mut stacks = Vec::new();
    let chosen: Vec<(usize, Site, Option<String>)> = {
        let all: Vec<Vec<&Location>> = tally
            .rows()
            .iter()
            .map(|row| row.walk.places.iter().filter_map(|place| builder.named.get(place)).collect())
            .collect();
        let cuts: Vec<usize> = all.iter().map(|locations| cut(locations)).collect();
        let wrappers = if facts.has_wrappers { Wrappers::off() } else { wrappers(tally, &all, &cuts) };
        let of_stack = |(locations, cut): (&Vec<&Location>, usize)| {
            let (site, by) = site(&locations[cut..], programs, &wrappers)
                .unwrap_or_else(|| (Site { note: Some("without a stack".into()), ..Site::default() }, None));
            (cut, site, by)
        };
        all.iter().zip(cuts).map(of_stack).collect()
    };
    for (at, (row, (cut, site, by))) in tally.rows().iter().zip(chosen).enumerate() {
        let mut sums = Sums([row.got, tally.at_peak(at), row.at_end]);
        if tally.counts.largest_mean > tally.counts.least_mean {
            sums.0.iter_mut().for_each(|sum| sum.allow_for(tally.counts.largest_mean));
        }
        whole.join(&sums);
        let next = sites.len();
        let entry = sites.entry(site).or_insert_with(|| OfSite { number: next, ..OfSite::default() });
        entry.sums.join(&sums);
        if let Some(by) = by {
            *entry.by.entry(by).or_default() += row.got.bytes;
        }
        *walks.entry(row.walk.end.key().into()).or_default() += row.got.samples;
        let shown = row.walk.places.get(cut..).unwrap_or_default();
        stacks.push((
            shown.iter().filter_map(|place| builder.index(*place)).collect(),
            entry.number,
            row,
            sums,
        ));
    }
    let mut rows: Vec<(usize, SiteRow)> = sites
        .into_iter()
        .map(|(site, of)| (of.number, row_of(site, of.by(), of.sums.figures(&whole))))
        .collect();
    rows.sort_by(|(_, a), (_, b)| {
        let key = |row: &SiteRow| (row.figures.most_in_use.bytes, row.figures.requested.bytes);
        key(b).cmp(&key(a)).then_with(|| (&a.function, &a.file, a.line).cmp(&(&b.function, &b.file, b.line)))
    });
    let place_of: HashMap<usize, usize> =
        rows.iter().enumerate().map(|(at, (number, _))| (*number, at)).collect();
    let stacks = stacks
        .into_iter()
        .map(|(locations, number, row, sums)| StackRow {
            locations,
            site: place_of.get(&number).copied().unwrap_or(0),
            end: row.walk.end.key().into(),
            figures: sums.figures(&whole),
        })
        .collect();
    let counts = tally.counts;
    Report {
        schema: SCHEMA.into(),
        underbar: env!("CARGO_PKG_VERSION").into(),
        binary: binary.as_deref().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default(),
        facts,
        processes: *processes,
        samples: counts.samples,
        lost: counts.lost,
        mean_bytes_least: counts.least_mean,
        mean_bytes_largest: counts.largest_mean,
        heap: HeapCounts {
            most_in_use_bytes: Some(tally.peak_in_use()).filter(|bytes| *bytes > 0),
            ..HeapCounts::default()
        },
        longest_copy_bytes: counts.longest_copy,
        walks,
        total: whole.figures(&whole),
        sites: rows.into_iter().map(|(_, row)| row).collect(),
        stacks,
        locations: builder.list,
    }
}

/// A site while its stacks are added up.
#[derive(Default)]
struct OfSite {
    number: usize,
    sums: Sums,
    /// Bytes by the wrappers that it calls.
    by: BTreeMap<String, f64>,
}

impl OfSite {
    fn by(&self) -> Option<String> {
        let largest = self.by.iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
        largest.map(|(name, _)| name.clone())
    }
}

/// Those of a run, by the stacks of its samples.
fn wrappers(tally: &Tally, all: &[Vec<&Location>], cuts: &[usize]) -> Wrappers {
    let stacks: Vec<Sampled<'_>> = tally
        .rows()
        .iter()
        .zip(all.iter().zip(cuts))
        .map(|(row, (locations, cut))| Sampled {
            locations: &locations[*cut..],
            samples: row.got.samples,
            bytes: row.got.sampled,
        })
        .collect();
    Wrappers::of(&stacks)
}

fn row_of(site: Site, by: Option<String>, figures: Figures) -> SiteRow {
    let Site { function, module, address, note } = site;
    SiteRow {
        function: function.function,
        file: function.file,
        line: function.line,
        module,
        address,
        note,
        by,
        figures,
    }
}

/// Locations that stacks name, once each.
struct Builder {
    named: HashMap<Place, Location>,
    list: Vec<Location>,
    by_place: HashMap<Place, usize>,
}

impl Builder {
    fn index(&mut self, place: Place) -> Option<usize> {
        if let Some(known) = self.by_place.get(&place) {
            return Some(*known);
        }
        self.list.push(self.named.get(&place)?.clone());
        self.by_place.insert(place, self.list.len() - 1);
        Some(self.list.len() - 1)
    }
}

impl Report {
    /// As a part of another JSON object.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        // As for the text.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// From a part of another JSON object, such as a saved report. None if it is of another version, or damaged.
    #[must_use]
    pub fn from_value(value: &serde_json::Value) -> Option<Report> {
        let report = Report::deserialize(value).ok().filter(|report| report.schema == SCHEMA)?;
        let are_there = |stack: &StackRow| {
            stack.site < report.sites.len() && stack.locations.iter().all(|at| *at < report.locations.len())
        };
        report.stacks.iter().all(are_there).then_some(report)
    }

    /// As JSON, one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Writing cannot fail: all keys are texts, and estimates are finite.
        let text = serde_json::to_string(self).unwrap_or_default();
        text + "\n"
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::names::Function;

    fn estimate(bytes: u64, percent: f64, samples: u64) -> Estimate {
        Estimate {
            bytes,
            bytes_low: bytes * 9 / 10,
            bytes_high: bytes * 11 / 10,
            requests: samples * 100,
            samples,
            percent,
            percent_low: (percent - 4.0).max(0.0),
            percent_high: (percent + 4.0).min(100.0),
        }
    }

    fn figures(bytes: u64, percent: f64, samples: u64) -> Figures {
        Figures {
            requested: estimate(bytes * 2, percent, samples * 2),
            most_in_use: estimate(bytes, percent, samples),
            in_use_at_end: Estimate::default(),
        }
    }

    /// Four sites: with a line, of Python, stripped, and with hostile names.
    pub fn example() -> Report {
        let function = |name: &str, file: &str, line: u64| Function {
            function: Some(name.to_owned()),
            file: Some(file.to_owned()).filter(|file| !file.is_empty()),
            line: Some(line).filter(|line| *line > 0),
        };
        let location = |module: &str, address, functions: Vec<Function>| Location {
            module: module.to_owned(),
            address,
            note: functions.is_empty().then_some("stripped".into()),
            functions,
        };
        let main = function("main", "/src/main.c", 9);
        let locations = vec![
            location(
                "/opt/prog",
                0x10,
                vec![
                    function("parse_record", "/src/reader.c", 212),
                    function("read_all", "/src/reader.c", 300),
                ],
            ),
            location("/opt/prog", 0x20, vec![main]),
            location("", 0x7000, vec![function("load", "/srv/job.py", 0)]),
            location("/opt/prog", 0x30, vec![function("run", "", 0)]),
            location("/opt/libx.so", 0x1234, Vec::new()),
            location("/opt/prog", 0x40, vec![function("\u{1b}[31mevil\n", "/src/e\u{202e}.c", 1)]),
        ];
        let parts = [
            (610, 61.0, 60, vec![0, 1]),
            (200, 20.0, 20, vec![2, 3, 1]),
            (150, 15.0, 15, vec![4]),
            (40, 4.0, 4, vec![5]),
        ];
        let mut sites = Vec::new();
        let mut stacks = Vec::new();
        for (site, (kib, percent, samples, of)) in parts.into_iter().enumerate() {
            let first: &Location = &locations[of[0]];
            let named = first.functions.first().cloned();
            let address = named.is_none().then_some(first.address);
            let function = named.unwrap_or_default();
            let chosen = Site { function, module: first.module.clone(), address, note: first.note.clone() };
            let figures = figures(kib << 10, percent, samples);
            sites.push(row_of(chosen, None, figures));
            stacks.push(StackRow { locations: of, site, end: "whole".into(), figures });
        }
        let mut walks: BTreeMap<Cow<'static, str>, u64> =
            End::ALL.into_iter().map(|end| (end.key().into(), 0)).collect();
        walks.extend([("whole".into(), 116), ("cut".into(), 3), ("no_rules".into(), 1)]);
        Report {
            schema: SCHEMA.into(),
            underbar: "0.1.0".into(),
            binary: "/opt/prog".to_owned(),
            facts: Facts { program: "/opt/prog".to_owned(), ..Facts::default() },
            processes: 2,
            samples: 120,
            lost: 2,
            mean_bytes_least: 1 << 19,
            mean_bytes_largest: 1 << 19,
            heap: HeapCounts { most_in_use_bytes: Some(1 << 20), ..HeapCounts::default() },
            longest_copy_bytes: 16 << 10,
            walks,
            total: figures(1000 << 10, 100.0, 99),
            sites,
            stacks,
            locations,
        }
    }

    #[test]
    fn a_report_is_read_back_as_it_was_written() {
        let value = example().to_value();
        let again = Report::from_value(&value).expect("its own");
        assert_eq!(again.to_value(), value);
        for (pointer, wrong) in [
            ("/schema", "underbar.heap/2".into()),
            ("/stacks/0/site", 99.into()),
            ("/stacks/1/locations/0", 99.into()),
            ("/sites/0/most_in_use/bytes", (-1).into()),
            ("/locations", serde_json::Value::Null),
        ] {
            let mut bad = value.clone();
            *bad.pointer_mut(pointer).expect(pointer) = wrong;
            assert!(Report::from_value(&bad).is_none(), "{pointer}");
        }
        let mut newer = value.clone();
        newer["new"] = 1.into();
        assert!(Report::from_value(&newer).is_some(), "keys are added within a version");
    }
}
