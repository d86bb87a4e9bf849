//! KEEP or FREE for increments that come and go.

use underbar_listing::{Field, Kind as Part};
use underbar_model::Figure;

use super::{ProgramCase, contradiction, found, lines};
use crate::advice::{Advice, Kind, Setting};
use crate::keep::PATTERN;

/// Sections, and the position of KEEP or FREE among the sub-options of their option.
const PARTS: [(Part, usize); 9] = [
    (Part::Heap, 3),
    (Part::AnyHeap, 3),
    (Part::BelowHeap, 2),
    (Part::Stack, 3),
    (Part::ThreadStack, 4),
    (Part::LibStack, 2),
    (Part::ThreadHeap, 3),
    (Part::User64, 2),
    (Part::User31, 5),
];

pub(crate) fn apply(case: &ProgramCase<'_>) -> Vec<Advice> {
    PARTS.iter().filter_map(|(part, at)| one(case, *part, *at)).collect()
}

fn one(case: &ProgramCase<'_>, part: Part, at: usize) -> Option<Advice> {
    let storage = case.storage_most_freed(part)?;
    let (allocated, freed) = (storage.segments.certain()?, storage.freed.certain()?);
    if contradiction::concerns(case, part) {
        return None;
    }
    if part == Part::ThreadStack && !case.is_set("THREADSTACK", 0, "ON") {
        return None;
    }
    if freed < PATTERN || !storage.is_mostly_freed() {
        return None;
    }
    let (option, _) = part.row()?.option;
    let mut evidence = lines([&storage.segments, &storage.freed]);
    let counts =
        format!("{}: {allocated} segments allocated and {freed} freed: they come and go.", part.title());
    if case.is_set(option, at, "KEEP") {
        evidence.extend(case.option(option).map(|(file, row)| case.line(file, &row.evidence)));
        let reason = format!("{counts} But KEEP is set.");
        return Some(found(Kind::NoChange, format!("{option} KEEP"), evidence, reason));
    }
    let now = format!("{option} FREE (segments were freed)");
    // These fields show whether the increment is too small for the requests.
    let fields = part.row()?.fields;
    let of = |field: Field, figure: &Figure| fields.contains(&field).then(|| (field, figure.certain()));
    let needed = [
        of(Field::Increment, &storage.increment),
        of(Field::Total, &storage.used),
        of(Field::Gets, &storage.requests),
    ];
    let missing = needed.iter().flatten().filter(|(_, figure)| figure.is_none());
    let missing: Vec<&str> = missing.map(|(field, _)| field.label()).collect();
    if !missing.is_empty() {
        let reason = format!(
            "{counts} But {} cannot be read, so that nobody can say whether requests are larger than the increment.",
            missing.join(", ")
        );
        return Some(found(Kind::NoAdvice, now, evidence, reason));
    }
    // No peak is larger than all requests together: so the average request is at least this large. An increment of 0 is no size.
    if let [Some((_, Some(increment))), Some((_, Some(total))), Some((_, Some(gets)))] = needed
        && increment > 0
        && total / gets.max(1) >= increment
    {
        let reason = format!(
            "{counts} Requests are of {} bytes or more on average, larger than the increment of {increment}: a server that \
             runs for long fragments under KEEP, and FREE is right there; a larger increment helps both.",
            total / gets.max(1)
        );
        return Some(found(Kind::NoAdvice, now, evidence, reason));
    }
    let mut keep = found(Kind::Change, now, evidence, counts);
    let mut words = vec![None; at];
    if matches!(option, "THREADSTACK") {
        words[0] = Some("ON".to_owned());
    }
    words.push(Some("KEEP".to_owned()));
    keep.option = Some(Setting { option, sub_options: words });
    if matches!(part, Part::BelowHeap | Part::LibStack) {
        keep.risk = format!("It lies below the 16M line, where there is little storage. {}", case.risk);
    }
    keep.effect = "emptied increments are used again instead of being asked for anew.".to_owned();
    Some(keep)
}
