//! Reads a whole library and cross-checks everything.
//!
//! Invariant: a library without findings lists every member, returns each unchanged, and its counts
//! are right; damage to one member is reported for that member, and the others are still checked.

use std::collections::BTreeMap;

use serde::Serialize;
use underbar_partitioned::attribute::PAGE;
use underbar_partitioned::count::Counts;
use underbar_partitioned::name::Name;
use underbar_partitioned::pds::{self as pds_layout, Pds, TRACK_HEADER, TrackHeader, track_offset};
use underbar_partitioned::pdse::{FIRST_PAGE, PageSums, Pdse, Run, Superblock, Value};
use underbar_partitioned::read::{Fault, ReadAt, Unread};
use underbar_partitioned::track::TRACK_IMAGE;

use crate::error::Error;
use crate::pdse::{Pending, Reached};

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Its member; None for the library itself.
    pub member: Option<String>,
    /// The fault.
    pub what: String,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Members read whole.
    pub members: u64,
    /// Aliases that were followed.
    pub aliases: u64,
    /// Bytes of members.
    pub bytes: u64,
    /// The findings, in order.
    pub problems: Vec<Problem>,
}

impl Verdict {
    fn library(&mut self, what: impl ToString) {
        self.problems.push(Problem { member: None, what: what.to_string() });
    }

    fn member(&mut self, name: &Name, what: impl ToString) {
        self.problems.push(Problem { member: Some(name.to_string()), what: what.to_string() });
    }

    fn counts(&mut self, what: &str, says: u64, has: u64) {
        if says != has {
            self.library(format!("its label counts {says} {what}, but it has {has}"));
        }
    }
}

/// Reads a whole PDSE. `progress` is called for each member.
pub fn pdse<R: ReadAt>(pdse: &Pdse<R>, progress: &mut dyn FnMut(u64)) -> Verdict {
    let mut verdict = Verdict::default();
    let superblock = *pdse.superblock();
    let mut reached = Reached::new(superblock.pages);
    match crate::pdse::nodes(pdse, &mut reached) {
        Ok(nodes) => verdict.counts("pages of its directory", u64::from(superblock.directory_pages), nodes),
        Err(error) => verdict.library(error),
    }
    // Its last pages may be free ones.
    let mut page = [0; PAGE];
    let end = u64::from(superblock.pages - 1) * PAGE as u64;
    if pdse.reader().read_at(end, &mut page) == Err(Unread::End) {
        verdict.library(Fault::Cut { offset: end, length: PAGE as u64 });
    } else {
        free_pages(pdse, &mut reached, &mut verdict);
    }
    let entries = match pdse.entries() {
        Ok(entries) => entries,
        Err(fault) => {
            verdict.library(fault);
            return verdict;
        }
    };
    let mut sums = PageSums::default();
    for entry in entries {
        match entry {
            Err(fault) => verdict.library(fault),
            Ok(Value::Alias(alias)) => {
                verdict.aliases += 1;
                match pdse.find(&alias.name, &mut Counts::default()) {
                    Ok(Some(found)) if found.member.name == alias.of => {}
                    Ok(_) => verdict.member(&alias.name, "the alias points to no member"),
                    Err(fault) => verdict.member(&alias.name, fault),
                }
                if pdse.lists_alias(&alias.of, &alias.name) != Ok(true) {
                    verdict
                        .member(&alias.name, format!("the alias is not listed with its member {}", alias.of));
                }
            }
            Ok(Value::Member(member)) => {
                match crate::pdse::bytes(pdse, &member) {
                    Err(Error::Member { fault, .. }) => verdict.member(&member.name, fault),
                    Err(error) => verdict.member(&member.name, error),
                    Ok(bytes) => {
                        verdict.bytes += bytes.len() as u64;
                        for (number, page) in (0..).zip(bytes.chunks(PAGE)) {
                            let mut whole = [0; PAGE];
                            whole[..page.len()].copy_from_slice(page);
                            if let Err(fault) = sums.check(pdse, &member, number, &whole) {
                                verdict.member(&member.name, fault);
                                break;
                            }
                        }
                    }
                }
                verdict.members += 1;
                progress(verdict.members);
            }
        }
    }
    verdict.counts("members", u64::from(superblock.members), verdict.members);
    verdict.counts("aliases", u64::from(superblock.aliases), verdict.aliases);
    verdict
}

/// Pages outside of the tree: the list of freed pages, and free ones.
fn free_pages<R: ReadAt>(pdse: &Pdse<R>, reached: &mut Reached, verdict: &mut Verdict) {
    let superblock = *pdse.superblock();
    let pending = Run { first: superblock.pending, pages: superblock.pending_pages };
    if pending.pages > 0 && !reached.mark(pending) {
        verdict.library("the list of freed pages is in a page with another use");
    }
    // Only writers use that list: the list of an older generation may have been overwritten.
    let wrong = pending_is_wrong(pdse, reached);
    if let Some(wrong) = wrong.filter(|_| Superblock::newest(pdse.reader()) == Ok(superblock)) {
        verdict.library(wrong);
    }
    let free = superblock.pages - reached.count();
    verdict.counts("free pages", u64::from(superblock.free_pages), u64::from(free));
}

fn pending_is_wrong<R: ReadAt>(pdse: &Pdse<R>, reached: &Reached) -> Option<&'static str> {
    let Some(pending) = Pending::read(pdse.reader(), pdse.superblock()) else {
        return Some("the list of freed pages is damaged");
    };
    let mut runs: Vec<Run> = pending.runs().collect();
    runs.sort_by_key(|run| run.first);
    // Each page is checked once, however many runs claim it.
    let mut looked_at = 0;
    let is_wrong = runs.iter().any(|run| {
        let (from, end) = (run.first.max(looked_at), run.first.saturating_add(run.pages));
        looked_at = looked_at.max(end);
        run.first < FIRST_PAGE || reached.has_any(from..end)
    });
    is_wrong.then_some("a page in use is listed as freed")
}

/// Reads a whole PDS. `progress` is called for each member.
pub fn pds<R: ReadAt>(pds: &Pds<R>, progress: &mut dyn FnMut(u64)) -> Verdict {
    let mut verdict = Verdict::default();
    let header = *pds.header();
    let mut members = BTreeMap::new();
    let mut aliases = Vec::new();
    for entry in pds.entries() {
        match entry {
            Err(fault) => verdict.library(fault),
            Ok(entry) if entry.alias.is_some() => aliases.push(entry),
            Ok(entry) => {
                members.insert(entry.name, entry);
            }
        }
    }
    for entry in members.values() {
        match crate::change::addition_of_pds(pds, entry) {
            Err(Error::Member { fault, .. }) => verdict.member(&entry.name, fault),
            Err(error) => verdict.member(&entry.name, error),
            Ok(addition) => verdict.bytes += addition.bytes.len() as u64,
        }
        verdict.members += 1;
        progress(verdict.members);
    }
    for alias in &aliases {
        verdict.aliases += 1;
        let of = members.get(&alias.member());
        if of.is_none_or(|of| (of.first, of.size, of.text) != (alias.first, alias.size, alias.text)) {
            verdict.member(&alias.name, "the alias points to no member");
        }
    }
    verdict.counts("members", u64::from(header.members), verdict.members);
    verdict.counts("aliases", u64::from(header.aliases), verdict.aliases);
    for track in 0..header.tracks {
        if let Err(fault) = whole_track(pds, track) {
            verdict.library(format!("track {track}: {fault}"));
        }
    }
    verdict
}

/// Every record of a track, with gaps, and the space they take.
fn whole_track<R: ReadAt>(pds: &Pds<R>, track: u32) -> Result<(), Fault> {
    let (header, offset) = (pds.header(), track_offset(track));
    let mut image = vec![0; TRACK_IMAGE];
    pds.reader()
        .read_at(offset, &mut image)
        .map_err(|_| Fault::Cut { offset, length: TRACK_IMAGE as u64 })?;
    let mut start = [0; TRACK_HEADER];
    start.copy_from_slice(&image[..TRACK_HEADER]);
    let label = TrackHeader::decode(&start, header.identity, track)?;
    let (mut at, mut used, mut records) = (TRACK_HEADER, 0, 0);
    let mut data = vec![0; TRACK_IMAGE];
    while let Some(pds_layout::Record { count, next }) = pds.record(track, at, &mut data)? {
        records += 1;
        if u32::from(count.record) != records {
            return Err(Fault::DamagedMember { track, record: count.record });
        }
        used += header.device().cost(count.data, u32::from(count.key));
        at = next;
    }
    let label = (u32::from(label.records), label.used, label.bytes);
    if used > header.device().capacity {
        return Err(Fault::Contradiction("it holds more than a track of the device can"));
    }
    if label != (records, used, at as u32) {
        return Err(Fault::Contradiction("its header does not match its records"));
    }
    Ok(())
}
