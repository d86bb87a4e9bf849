//! A member or alias of one of Underbar's libraries, from its entry in the directory.
//!
//! Invariant: without `long` only the entry of a member is read; with it the blocks of each are read once, however many
//! aliases it has.

use std::collections::{BTreeMap, HashMap};

use underbar_partitioned::attribute::{Attributes, FetchOptions, pages};
use underbar_partitioned::count::Counts;
use underbar_partitioned::name::Name;
use underbar_partitioned::pds::{Entry, Pds};
use underbar_partitioned::pdse::{Value, load_counts, table_pages};
use underbar_partitioned::read::ReadAt;
use underbar_partitioned::symbol::Symbol;

use super::display::Item;
use crate::error::{Error, Result};

/// Counts over all blocks of a member, found from its control records alone.
pub(super) fn pds_counts<R: ReadAt>(pds: &Pds<R>, entry: &Entry) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut texts = pds.texts(entry);
    while texts.next_text(&mut counts).map_err(|fault| Error::member(entry.name, fault))?.is_some() {}
    Ok(counts)
}

/// Counts over the members that were read: an alias is its member again.
#[derive(Default)]
pub(super) struct Walked(HashMap<Begin, Counts>);

/// The start of a walk, and the values it is compared with.
type Begin = (Name, (u32, u8), u32, u16, u32);

impl Walked {
    fn counts<R: ReadAt>(&mut self, pds: &Pds<R>, entry: &Entry) -> Result<Counts> {
        let text = (entry.text.track, entry.text.record);
        let begin = (entry.member(), text, entry.text_at, entry.text_length, entry.size);
        if let Some(counts) = self.0.get(&begin) {
            return Ok(*counts);
        }
        let counts = pds_counts(pds, entry)?;
        self.0.insert(begin, counts);
        Ok(counts)
    }
}

/// `walked` if the member is read, too.
pub(super) fn pds_item<R: ReadAt>(pds: &Pds<R>, entry: &Entry, walked: Option<&mut Walked>) -> Result<Item> {
    let (mut blocks, mut tracks, mut modified, mut function) = (None, None, None, None);
    if let Some(walked) = walked {
        let counts = walked.counts(pds, entry)?;
        // Control records are blocks, too; each text but the first was announced by one that had to be read.
        blocks = Some(counts.blocks.div_ceil(2));
        tracks = Some(counts.tracks);
        if entry.alias.is_none() {
            let wrong = |fault| Error::member(entry.name, fault);
            let identification = pds.identification(entry).map_err(wrong)?;
            modified = Some(identification.modified);
            function = text(&identification.symbol);
        }
    }
    Ok(Item {
        name: entry.name.to_string(),
        alias_of: entry.alias.map(|alias| alias.of.to_string()),
        size: u64::from(entry.size),
        ttr: format!("{:04X}{:02X}", entry.first.track, entry.first.record),
        blocks,
        tracks,
        attributes: attribute_names(entry.attributes),
        fetch: Some(entry.fetch.text()),
        entry_point: entry.entry_point.map(u64::from),
        function,
        classes: None,
        storage: u64::from(entry.storage),
        modified,
        aliases: Vec::new(),
        mainframe: None,
    })
}

pub(super) fn pdse_item(value: &Value, long: bool) -> Item {
    match value {
        Value::Member(member) => {
            let all = pages(member.size);
            let counts = load_counts(member, 0..all);
            Item {
                name: member.name.to_string(),
                alias_of: None,
                size: member.size,
                ttr: format!("{:06X}", member.token),
                blocks: long.then_some(counts.blocks + u64::from(table_pages(all))),
                tracks: long.then_some(counts.tracks),
                attributes: attribute_names(member.attributes),
                fetch: Some(member.fetch.text()),
                entry_point: member.entry_point,
                function: text(&member.symbol),
                classes: Some(member.classes().into()),
                storage: member.storage,
                modified: Some(member.modified),
                aliases: Vec::new(),
                mainframe: None,
            }
        }
        Value::Alias(alias) => Item {
            name: alias.name.to_string(),
            alias_of: Some(alias.of.to_string()),
            size: 0,
            ttr: String::new(),
            blocks: None,
            tracks: None,
            attributes: Vec::new(),
            fetch: Some(FetchOptions::Default.text()),
            entry_point: alias.entry_point,
            function: text(&alias.symbol),
            classes: None,
            storage: 0,
            modified: None,
            aliases: Vec::new(),
            mainframe: None,
        },
    }
}

pub(super) fn add_aliases(items: &mut [Item]) {
    let mut aliases: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for item in items.iter() {
        if let Some(of) = &item.alias_of {
            aliases.entry(of.clone()).or_default().push(item.name.clone());
        }
    }
    if aliases.is_empty() {
        return;
    }
    for item in items.iter_mut().filter(|item| item.alias_of.is_none()) {
        item.aliases = aliases.remove(&item.name).unwrap_or_default();
    }
}

fn attribute_names(attributes: Attributes) -> Vec<&'static str> {
    Attributes::NAMES.iter().filter(|(one, _)| attributes.has(*one)).map(|(_, name)| *name).collect()
}

pub(super) fn text(symbol: &Symbol) -> Option<String> {
    let bytes = symbol.as_bytes();
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use underbar_partitioned::read::Unread;

    use super::*;
    use crate::change::apply_to_pds;
    use crate::model::{add, alias};
    use crate::pds::{Make, Making};
    use crate::simulated::{Disk, SimulatedFile};
    use crate::storage::Place;

    struct Counted(SimulatedFile, Cell<u64>);

    impl ReadAt for Counted {
        fn read_at(&self, offset: u64, into: &mut [u8]) -> std::result::Result<(), Unread> {
            self.1.set(self.1.get() + 1);
            self.0.read_at(offset, into)
        }
    }

    #[test]
    fn aliases_are_what_their_member_is_and_cost_no_walk() {
        let making = Making { identity: 5, block_size: 256, directory_blocks: 20, generation: 1, now: 7 };
        let disk = Disk::default();
        let (_, file) =
            Make::new(disk.clone().temporary().expect("room"), &making).and_then(Make::finish).expect("room");
        disk.clone().install(file, false).expect("room");
        let aliases: Vec<String> = (0..50).map(|number| format!("ALIAS{number}")).collect();
        let mut edits = vec![add("BIG", 40_000, false), add("SMALL", 10, false)];
        edits.extend(aliases.iter().map(|name| alias(name, "BIG")));
        let count = edits.len();
        apply_to_pds(
            &disk.open().expect("a library"),
            &mut disk.clone(),
            edits.into_iter().map(Ok),
            count,
            9,
        )
        .expect("room");
        let pds = Pds::open(Counted(disk.open().expect("a library"), Cell::new(0))).expect("a library");
        let entries: Vec<Entry> = pds.entries().map(|entry| entry.expect("sound")).collect();
        assert_eq!(entries.len(), 52);
        // Each entry after the walks before it, and alone.
        let list = |is_kept: bool| {
            let (before, mut walked) = (pds.reader().1.get(), Walked::default());
            let items: Vec<Item> = entries
                .iter()
                .map(|entry| {
                    walked.0.retain(|_, _| is_kept);
                    pds_item(&pds, entry, Some(&mut walked)).expect("sound")
                })
                .collect();
            (items, pds.reader().1.get() - before)
        };
        let ((together, few), (apart, many)) = (list(true), list(false));
        assert_eq!(together, apart);
        assert!(few * 10 < many, "{few} {many}");
    }
}
