//! Sizes of a session for the picture: those of the caches and the thread.

use underbar_listing::natural::Cache;

use super::super::collect::{Collected, Program};
use super::super::natural::storage;
use super::super::program_case::ProgramCase;
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
    let program = Program { name: session.name.clone(), runs: Vec::new() };
    let case = ProgramCase { collected, program: &program, risk: "" };
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
        let Some((over_all, _)) = storage::cache(&case, &session, cache) else { continue };
        let (now, Some(used)) = (over_all.size.value, over_all.used.at_least()) else { continue };
        let suggested = caches.as_ref().and_then(|sizes| *sizes.get(at)?).filter(|size| *size != now);
        all.push(Area { name: name.to_owned(), now, used, suggested });
    }
    let (thread, _) = storage::thread(&case, &session, |_| 0);
    if let (Some(used), Some(now)) = (thread.used.certain(), thread.initial.certain()) {
        let suggested = value("THSIZE=").and_then(|parts| Some(parts.first()?.parse::<u64>().ok()? << 10));
        all.push(Area { name: "thread, all buffers".to_owned(), now, used, suggested });
    }
    all
}
