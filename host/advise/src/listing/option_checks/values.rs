//! Values that an option cannot have: sizes that do not fit their place, units, cells, letters among digits.
//!
//! Invariant: the table of sections of a storage report defines which sub-options are sizes, and their limits.
//! Not here: errors that the check of options itself reports (`underbar_options::check`).

use underbar_listing::sections::SECTIONS;
use underbar_listing::{Carrier, Kind as Part, OptionRow};

use super::super::collect::Collected;
use super::super::known_options::Placed;
use super::{found, line};
use crate::advice::Advice;
use crate::sizes::{size, written};

const MOST: usize = 100;
/// The largest initial size or increment under CICS.
const MOST_OF_CICS: u64 = 1 << 30;

/// Sizes and units, in texts.
pub(crate) fn values(collected: &Collected) -> Vec<Advice> {
    let all = collected.options.in_texts().flat_map(|placed| {
        let (evidence, row) = (line(collected, placed), &placed.row);
        let say = move |words: String| found(vec![evidence.clone()], words);
        sizes(row).chain(cells(row)).map(say)
    });
    all.take(MOST).collect()
}

/// Letters among digits in options reports. Nobody typed these values, so text recognition has misread them.
pub(super) fn misread(collected: &Collected) -> Vec<Advice> {
    let all = collected.options.in_reports().filter_map(|placed| {
        let row = &placed.row;
        let value = row.sub_options().into_iter().map(str::trim).find(|value| is_misread(value))?;
        let words =
            format!("{value} of {}: a letter stands where a digit belongs; the value is not used.", row.name);
        Some(found(vec![line(collected, placed)], words))
    });
    all.take(MOST).collect()
}

/// Sizes of HEAP, ANYHEAP and STACK that CICS does not grant: sizes that are for CICS, or in a file with its step.
pub(crate) fn under_cics(collected: &Collected) -> Vec<Advice> {
    let all = collected.options.rows().iter().flat_map(|placed| {
        let Placed { file, carrier, row, .. } = placed;
        let step = collected.step_of(*file, "DFHSIP").map(|at| collected.line(*file, at));
        let is_cics = *carrier == Some(Carrier::Ceecopt) || step.is_some();
        let is_ours = matches!(row.name.as_str(), "HEAP" | "ANYHEAP" | "STACK");
        let values = if is_cics && is_ours { row.sub_options() } else { Vec::new() };
        let large =
            values.into_iter().take(2).filter(|value| size(value).is_some_and(|bytes| bytes > MOST_OF_CICS));
        let large: Vec<String> = large.map(|value| value.trim().to_owned()).collect();
        large.into_iter().map(move |value| {
            let evidence = std::iter::once(line(collected, placed)).chain(step.clone()).collect();
            found(evidence, format!("{value} of {}: under CICS a size is at most 1024M.", row.name))
        })
    });
    all.take(MOST).collect()
}

fn is_misread(value: &str) -> bool {
    let digits = value.strip_suffix(['K', 'M', 'k', 'm']).unwrap_or(value);
    let is_like = |c: char| matches!(c, 'O' | 'o' | 'I' | 'l');
    // `OK`, `OM`: a size of 0.
    (matches!(digits, "O" | "o") && digits.len() < value.len())
        || digits.contains(|c: char| c.is_ascii_digit())
            && digits.contains(is_like)
            && digits.chars().all(|c| c.is_ascii_digit() || is_like(c))
}

fn sizes(row: &OptionRow) -> impl Iterator<Item = String> {
    let sections = SECTIONS.iter().filter(|section| section.option.0 == row.name);
    let places = sections.flat_map(|section| [0, 1].map(|next| (section.kind, section.option.1 + next)));
    let values = row.sub_options();
    let found = places.filter_map(move |(kind, at)| {
        let value = values.get(at)?.trim();
        if value.eq_ignore_ascii_case("AUTO") {
            return Some(format!("AUTO is no size of {}: Language Environment takes n, nK or nM.", row.name));
        }
        let bytes = size(value)?;
        let most = kind.most_bytes();
        if bytes >= most {
            let place = match most {
                0x100_0000 => "there are 16M below the line",
                0x8000_0000 => "below the bar there are 2G",
                _ => "no address space is as large",
            };
            return Some(format!("{value} of {} cannot be had: {place}.", row.name));
        }
        let is_above = matches!(kind, Part::Stack64 | Part::ThreadStack64 | Part::User64);
        if is_above && value.ends_with(['K', 'k']) && bytes > 0 {
            let whole = bytes.next_multiple_of(1 << 20) >> 20;
            return Some(format!("{value} of {}: sizes above the bar are nM; write {whole}M.", row.name));
        }
        let unit = value.chars().last().filter(char::is_ascii_alphabetic)?.to_ascii_uppercase();
        (!matches!(unit, 'K' | 'M'))
            .then(|| format!("{value} of {}: sizes are n, nK or nM; write {}.", row.name, written(bytes)))
    });
    let mut found: Vec<String> = found.collect();
    found.dedup();
    found.into_iter()
}

fn cells(row: &OptionRow) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    if matches!(row.name.as_str(), "HEAPPOOLS" | "HEAPPOOLS64") {
        let values = row.sub_options();
        let cell = |value: &&str| {
            let inner = value.trim().trim_start_matches('(').split(',').next().unwrap_or_default();
            size(inner).filter(|bytes| *bytes > 0)
        };
        let cells: Vec<u64> = values.iter().skip(1).step_by(2).take(12).filter_map(cell).collect();
        for cell in cells.iter().filter(|cell| !cell.is_multiple_of(8)) {
            found.push(format!("{cell} is no size of a cell of {}: it must be a multiple of 8.", row.name));
        }
        if let Some(two) = cells.windows(2).find(|two| two[0] >= two[1]) {
            let words = "cells of {1} stand behind those of {0}: sizes grow in all published values; check what was meant.";
            let words = words.replace("{1}", &two[1].to_string()).replace("{0}", &two[0].to_string());
            found.push(format!("{}: {words}", row.name));
        }
    }
    found.into_iter()
}
