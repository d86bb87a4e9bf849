//! Labels and members of mainframe libraries, in the form of Underbar's lists.
//!
//! Invariant: an alias shows its member's size and place, and the entry point and modes of its own name.
//! Not here: the content of a program (`mainframe::program`).

use crate::entry::Details;
use crate::library::{Library, Member, Organisation};
use crate::source::ReadError;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use underbar_store::library::{self as store, Item, Label, Mainframe};

/// Pages on a track, as for Underbar's libraries.
const PAGES_ON_A_TRACK: u32 = 12;

impl From<Organisation> for store::Organisation {
    fn from(organisation: Organisation) -> store::Organisation {
        match organisation {
            Organisation::Pds => store::Organisation::Pds,
            Organisation::Pdse => store::Organisation::Pdse,
        }
    }
}

/// Blocks of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Blocks {
    /// Bytes of data.
    pub length: u32,
    /// Their number.
    pub blocks: u64,
}

/// The label of the library; `file_bytes` is the size of the file that carries it.
#[must_use]
pub fn label(library: &Library, file_bytes: u64) -> Label {
    let counts = library.counts();
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let pages = (library.label.organisation == Organisation::Pdse).then_some(number(library.blocks.len()));
    Label {
        name: library.label.name.clone(),
        organisation: library.label.organisation.into(),
        record_format: library.label.record_format.to_string(),
        record_length: library.label.record_length,
        block_size: library.label.block_size,
        members: number(counts.primaries),
        aliases: number(counts.aliases),
        file_bytes,
        tracks: tracks(library),
        directory_blocks: library.directory_blocks,
        directory_depth: 0,
        directory_allocated: None,
        pages,
        free_pages: None,
        space_pages: None,
        generation: None,
        created: None,
        modified: None,
        extents: Some(number(library.label.extents.len())).filter(|extents| *extents > 0),
    }
}

/// Tracks up to the last in use, on the library's device; twelve pages of a PDSE are one.
#[must_use]
pub fn tracks(library: &Library) -> u32 {
    if library.label.organisation == Organisation::Pdse {
        return u32::try_from(library.blocks.len()).unwrap_or(u32::MAX).div_ceil(PAGES_ON_A_TRACK);
    }
    let places = library.blocks.iter().map(|block| block.ttr).chain(library.ends.iter().copied());
    places.map(|ttr| ttr.track() + 1).max().unwrap_or(0)
}

/// All members and aliases, in the directory's order.
#[must_use]
pub fn list(library: &Library) -> Vec<Item> {
    let mut aliases: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for member in &library.members {
        if let Some(of) = &member.alias_of {
            aliases.entry(of).or_default().push(member.name.clone());
        }
    }
    let members: HashMap<&str, &Member> = library
        .members
        .iter()
        .filter(|member| member.alias_of.is_none())
        .map(|member| (member.name.as_str(), member))
        .collect();
    let tracks = member_tracks(library);
    let item = |member: &Member| {
        let owner = |name: &String| members.get(name.as_str()).copied();
        let item = item(library, member, member.alias_of.as_ref().and_then(owner), &tracks);
        // Of several members of one name the first counts: a search would find it.
        Item { aliases: aliases.remove(member.name.as_str()).unwrap_or_default(), ..item }
    };
    library.members.iter().map(item).collect()
}

/// The tracks with blocks of each member of a PDS, by the borders of the blocks.
///
/// Overlapping members end together. So those with one end are counted in one walk, from the end to the front:
/// no directory makes more work than the library has blocks.
fn member_tracks(library: &Library) -> HashMap<(usize, usize), u64> {
    let mut borders: Vec<(usize, usize)> =
        library.members.iter().map(|member| (member.range.end, member.range.start)).collect();
    borders.sort_unstable_by_key(|(end, start)| (*end, std::cmp::Reverse(*start)));
    borders.dedup();
    let (mut found, mut seen, mut group, mut at) = (HashMap::new(), HashSet::new(), None, 0);
    for (end, start) in borders {
        if group != Some(end) {
            seen.clear();
            (group, at) = (Some(end), end);
        }
        let blocks = library.blocks.get(start..at).unwrap_or(&[]);
        seen.extend(blocks.iter().map(|block| block.ttr.track()));
        at = start;
        found.insert((start, end), seen.len() as u64);
    }
    found
}

fn item(
    library: &Library,
    member: &Member,
    owner: Option<&Member>,
    tracks: &HashMap<(usize, usize), u64>,
) -> Item {
    let blocks = library.blocks_of(member);
    let tracks = match library.label.organisation {
        Organisation::Pds => tracks.get(&(member.range.start, member.range.end)).copied().unwrap_or(0),
        Organisation::Pdse => (blocks.len() as u64).div_ceil(PAGES_ON_A_TRACK.into()),
    };
    // An alias without data of its own has its member's.
    let details = match (&member.details, owner) {
        (Details::Bare, Some(owner)) => &owner.details,
        (details, _) => details,
    };
    let mut item = Item {
        name: member.name.clone(),
        alias_of: member.alias_of.clone(),
        size: member.bytes,
        ttr: format!("{:06X}", member.ttr.0),
        blocks: Some(member.blocks as u64),
        tracks: Some(tracks),
        attributes: Vec::new(),
        fetch: None,
        entry_point: None,
        function: None,
        classes: None,
        storage: 0,
        modified: None,
        aliases: Vec::new(),
        mainframe: Some(Box::default()),
    };
    let mut mainframe = Mainframe::default();
    match details {
        Details::Program(program) => {
            item.attributes.clone_from(&program.attributes);
            item.entry_point = Some(program.entry_point.into());
            item.storage = program.storage.into();
            mainframe.amode = Some(program.amode);
            mainframe.rmode = Some(program.rmode);
            mainframe.authorisation = program.authorisation;
            mainframe.ssi = program.ssi.map(|ssi| format!("{ssi:08X}"));
        }
        Details::Text(text) => mainframe.statistics = Some(text.clone()),
        Details::Bare | Details::Other { .. } => {}
    }
    item.mainframe = Some(Box::new(mainframe));
    item
}

/// The lengths of the blocks of these members, most frequent first: text blocks of load modules, every block of other
/// members. Of overlapping members the longest counts: no block is read twice.
///
/// # Errors
/// If blocks cannot be read.
pub fn block_sizes<'a>(
    library: &Library,
    members: impl IntoIterator<Item = &'a Member>,
) -> Result<Vec<Blocks>, ReadError> {
    let mut lengths: BTreeMap<u32, u64> = BTreeMap::new();
    let mut members: Vec<&Member> = members.into_iter().collect();
    members.sort_by_key(|member| (member.range.start, std::cmp::Reverse(member.range.end)));
    let mut measured = 0;
    for member in members {
        if member.range.start < measured {
            continue;
        }
        measured = member.range.end;
        let modules = library.label.programs && library.label.organisation == Organisation::Pds;
        let texts = if modules { library.outline(member)?.texts } else { Vec::new() };
        if texts.is_empty() {
            library.blocks_of(member).iter().for_each(|block| *lengths.entry(block.length).or_default() += 1);
        }
        texts.into_iter().for_each(|length| *lengths.entry(length).or_default() += 1);
    }
    let mut found: Vec<Blocks> =
        lengths.into_iter().map(|(length, blocks)| Blocks { length, blocks }).collect();
    found.sort_by_key(|one| (std::cmp::Reverse(one.blocks), std::cmp::Reverse(one.length)));
    Ok(found)
}
