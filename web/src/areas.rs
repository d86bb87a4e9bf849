//! Sizes for the picture: of each area what is set now, the most that was used, and what is suggested.
//!
//! Invariant: a figure that is only likely, or of a report that is not sound, is not drawn; so the picture shows nothing
//! that the advice does not rest on. An area that was never used is left out.
//! Not here: how it is drawn (`web/page/picture.js`).

use serde::Serialize;
use underbar_advise::Setting;
use underbar_advise::listing::Program;
use underbar_listing::sections::{Row, SECTIONS};
use underbar_listing::{Field, StorageReport};

/// One area of one program; all sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Area {
    /// Its name in the storage report.
    pub name: &'static str,
    /// The initial size of the last run.
    pub now: u64,
    /// The most that any run used; of stacks, that any thread used.
    pub used: u64,
    /// The initial size that is suggested; None where it stays.
    pub suggested: Option<u64>,
}

/// The areas of a program, in the order of the report.
#[must_use]
pub fn areas(program: &Program, settings: &[Setting]) -> Vec<Area> {
    let reports: Vec<&StorageReport> =
        program.runs.iter().map(|run| &run.report).filter(|report| report.is_sound()).collect();
    SECTIONS.iter().filter_map(|row| area(row, &reports, settings)).collect()
}

fn area(row: &Row, reports: &[&StorageReport], settings: &[Setting]) -> Option<Area> {
    let figure = |report: &StorageReport, field| Some(report.section(row.kind)?.get(field)?.value);
    let peak = if row.fields.contains(&Field::AnyThread) { Field::AnyThread } else { Field::Total };
    let used = reports.iter().filter_map(|report| figure(report, peak)).max().filter(|used| *used > 0)?;
    let now = reports.iter().rev().find_map(|report| figure(report, Field::Initial))?;
    let (option, at) = row.option;
    let setting = settings.iter().find(|setting| setting.option == option);
    let suggested = setting.and_then(|setting| bytes(setting.sub_options.get(at)?.as_deref()?));
    Some(Area { name: row.title, now, used, suggested })
}

/// A size as options have it: digits, perhaps with K, M or G.
fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read_and_other_words_are_not() {
        let all = [
            ("4792", Some(4792)),
            ("32K", Some(32 << 10)),
            ("104M", Some(104 << 20)),
            ("2G", Some(2 << 30)),
            ("KEEP", None),
            ("K", None),
            ("", None),
            ("99999999999999999999G", None),
            ("99999999999G", None),
        ];
        for (text, expect) in all {
            assert_eq!(bytes(text), expect, "{text}");
        }
    }
}
