//! The storage of a session, as its reports of buffers show it: its thread, and its caches.
//!
//! Invariant: figures come from sound reports only, and only certain ones.
//! Not here: the sizes that are advised (`thread`, `caches`).

use underbar_listing::Figure;
use underbar_listing::natural::{BufferRow, BufferUsage, Cache};
use underbar_model::{self as model, Certainty, Storage};

use super::super::program_case::ProgramCase;
use super::super::sessions::Session;

/// The thread: its size, and the size of all buffers together. `growth` is what a report's buffers would have more; the report
/// with the largest sum decides. Also returns its growth.
///
/// `used_by_all` is the most that was in use of all buffers; unknown if a report contradicts itself about it.
pub(in super::super) fn thread(
    case: &ProgramCase<'_>,
    session: &Session,
    growth: impl Fn(&[BufferRow]) -> u64,
) -> (Storage, u64) {
    let reports = || case.collected.natural.sound(session);
    let certain = |figure: &Option<Figure>| figure.clone().filter(|figure| !figure.likely);
    let uses = || reports().filter_map(|(file, report)| Some((*file, report.thread.as_ref()?)));
    let total = |(file, report): &(usize, BufferUsage)| {
        let total = certain(&report.thread.as_ref()?.total)?;
        Some((*file, total, growth(&report.rows)))
    };
    let most = reports().filter_map(total).max_by_key(|(_, total, more)| total.value.saturating_add(*more));
    let size = uses().filter_map(|(file, of)| Some((file, certain(&of.thread)?))).last();
    let figure = |found: Option<(usize, Figure)>| match found {
        Some((file, figure)) => model::Figure::line(case.line(file, &figure.evidence), figure.value, false),
        None => model::Figure::absent("no report shows it without doubt"),
    };
    let in_use: Option<Vec<_>> =
        uses().map(|(file, of)| certain(&of.max_used).map(|most| (file, most))).collect();
    let in_use = in_use.into_iter().flatten().max_by_key(|(_, most)| most.value);
    let more = most.as_ref().map_or(0, |(_, _, more)| *more);
    let storage = Storage {
        initial: figure(size),
        used: figure(most.map(|(file, total, _)| (file, total))),
        used_by_all: figure(in_use),
        ..Storage::absent("reports of buffers do not show it")
    };
    (storage, more)
}

/// A cache over all reports, and in the report in which it was fullest; None if no report has it.
///
/// The use over all reports is a lower bound if one of them does not show it. That in the fullest one is unknown if none does.
pub(in super::super) fn cache(
    case: &ProgramCase<'_>,
    session: &Session,
    cache: Cache,
) -> Option<(model::Cache, model::Cache)> {
    let reports = case.collected.natural.sound(session);
    let rows = reports.flat_map(|(file, report)| report.rows.iter().map(move |row| (*file, row)));
    let rows: Vec<(usize, &BufferRow)> = rows.filter(|(_, row)| row.cache() == Some(cache)).collect();
    let figure = |file: usize, row: &BufferRow, value: u64| {
        model::Figure::line(case.line(file, &row.evidence), value, false)
    };
    let of = |size, used| {
        let absent = model::Cache::absent(format!("{cache:?}"), "reports of buffers do not show it");
        model::Cache { size, used, ..absent }
    };
    let unused = || model::Figure::absent("no report shows how much of it was used");
    let (last_file, last) = rows.last()?;
    let uses = || rows.iter().filter_map(|(file, row)| Some((*file, *row, row.max_used?)));
    let mut most = uses()
        .max_by_key(|(.., used)| *used)
        .map_or_else(unused, |(file, row, used)| figure(file, row, used));
    if most.certain().is_some() && uses().count() < rows.len() {
        most.certainty = Certainty::AtLeast;
    }
    let share =
        |(_, row, used): &(usize, &BufferRow, u64)| (u128::from(*used) << 64) / u128::from(row.size.max(1));
    let fullest = match uses().max_by_key(share) {
        Some((file, row, used)) => of(figure(file, row, row.size), figure(file, row, used)),
        None => of(unused(), unused()),
    };
    Some((of(figure(*last_file, last, last.size), most), fullest))
}
