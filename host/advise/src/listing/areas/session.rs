//! Sizes of a session for the picture: those of the caches and the thread.

use underbar_listing::natural::Cache;

use super::super::collect::Collected;
use super::Area;
use crate::advice::Setting;

/// In the order of PWCSIZE.
const CACHES: [(Cache, &str); 3] =
    [(Cache::Print, "PCACHE, print"), (Cache::Read, "WCACHEnn, read"), (Cache::Write, "WCACHEO, write")];

/// The areas of the session of that name; none if there is no such session.
pub(super) fn areas(collected: &Collected, name: &str, settings: &[Setting]) -> Vec<Area> {
    let Some(session) = collected.natural.sessions().into_iter().find(|session| session.name == name) else {
        return Vec::new();
    };
    let reports: Vec<_> = collected.natural.sound(&session).map(|(_, report)| report).collect();
    let value = |option: &str| {
        let setting = settings.iter().find(|setting| setting.option == option)?;
        Some(setting.sub_options.iter().flatten().map(String::as_str).collect::<Vec<_>>())
    };
    let caches = value("ZIIP=").and_then(|parts| {
        let sizes = parts.into_iter().find_map(|part| part.strip_prefix("PWCSIZE=(")?.strip_suffix(')'))?;
        Some(sizes.split(',').map(|kb| kb.parse::<u64>().ok().map(|kb| kb << 10)).collect::<Vec<_>>())
    });
    let mut all = Vec::new();
    for (at, (cache, name)) in CACHES.into_iter().enumerate() {
        let rows = || reports.iter().flat_map(|report| &report.rows).filter(|row| row.cache() == Some(cache));
        let Some((now, used)) =
            rows().map(|row| row.size).next_back().zip(rows().filter_map(|row| row.max_used).max())
        else {
            continue;
        };
        let suggested = caches.as_ref().and_then(|sizes| *sizes.get(at)?).filter(|size| *size != now);
        all.push(Area { name: name.to_owned(), now, used, suggested });
    }
    let threads = || reports.iter().filter_map(|report| report.thread.as_ref());
    let certain = |figure: &Option<underbar_listing::Figure>| {
        figure.as_ref().filter(|figure| !figure.likely).map(|figure| figure.value)
    };
    let total = threads().filter_map(|of| certain(&of.total)).max();
    if let Some((used, now)) = total.zip(threads().filter_map(|of| certain(&of.thread)).next_back()) {
        let suggested = value("THSIZE=").and_then(|parts| Some(parts.first()?.parse::<u64>().ok()? << 10));
        all.push(Area { name: "thread, all buffers".to_owned(), now, used, suggested });
    }
    all
}
