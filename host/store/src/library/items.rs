//! What a member or alias of a library of ours is, from its entry in the directory.
//!
//! Invariant: without `long` no member is looked at, only its entry.

use std::collections::BTreeMap;

use underbar_partitioned::attribute::{Attributes, FetchOptions, pages};
use underbar_partitioned::count::Counts;
use underbar_partitioned::pds::{Entry, Pds};
use underbar_partitioned::pdse::{Value, load_counts, table_pages};
use underbar_partitioned::symbol::Symbol;

use super::shown::Item;
use crate::error::{Error, Result};
use crate::storage::OnDisk;

/// What reading all blocks of a member counts, found from its control records alone.
pub(super) fn pds_counts(pds: &Pds<OnDisk>, entry: &Entry) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut texts = pds.texts(entry);
    while texts.next_text(&mut counts).map_err(|fault| Error::member(entry.name, fault))?.is_some() {}
    Ok(counts)
}

pub(super) fn pds_item(pds: &Pds<OnDisk>, entry: &Entry, long: bool) -> Result<Item> {
    let (mut blocks, mut tracks, mut modified, mut function) = (None, None, None, None);
    if long {
        let counts = pds_counts(pds, entry)?;
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
