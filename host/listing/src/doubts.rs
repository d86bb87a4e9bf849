//! Doubts about a storage report: added once each, bounded, and figures that a doubt removes.
//!
//! Invariant: a report has at most [`DOUBTS`] doubts, and one more if it spoils the report.
//! Not here: what raises a doubt (`figures`, `contradictions`, `storage`).

use crate::model::{Doubt, Doubtful, Section, StorageReport};
use crate::sections::Field;

/// Most doubts kept for one report.
const DOUBTS: usize = 100;

/// Adds a doubt, once.
pub(crate) fn doubt(report: &mut StorageReport, kind: Doubtful, line: u64, words: String) {
    let doubt = Doubt { kind, line, words };
    // A doubt that spoils the report is kept once, even if the limit is reached.
    let wanted = match kind.spoils_the_report() {
        true => report.is_sound(),
        false => report.doubts.len() < DOUBTS && !report.doubts.contains(&doubt),
    };
    if wanted {
        report.doubts.push(doubt);
    }
}

/// Removes figures that cannot all be true from a section, and adds the reason as a doubt.
pub(crate) fn drop_refuted(
    report: &mut StorageReport,
    section: &mut Section,
    all: Vec<(Vec<Field>, String)>,
) {
    let title = section.kind.title();
    for (fields, words) in all {
        let line = fields
            .first()
            .and_then(|field| section.any(*field))
            .map_or(section.heading.line, |figure| figure.evidence.line);
        let kind = if fields.len() == 1 { Doubtful::Absurd } else { Doubtful::Contradiction };
        doubt(report, kind, line, format!("{title}: {words}; not used"));
        section.figures.retain(|(field, _)| !fields.contains(field));
    }
}
