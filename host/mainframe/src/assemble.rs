//! Makes a library from the parts of a carrier in its order: directory blocks, blocks of members, ends.
//!
//! Invariant: the work is proportional to blocks and names, wherever the names point: no name walks over its blocks.
//! Not here: the kind of carrier (`unload`, `volume`), the library itself (`library`).

use super::directory::{self, Ttr};
use super::ebcdic::CodePage;
use super::entry::{self, Details};
use super::library::{Block, Fault, Label, Library, MEMBERS_MOST, Member, Organisation};
use super::source::Shared;
use std::collections::HashMap;

/// The most faults kept for one library.
const FAULTS_MOST: usize = 100;

/// Collects the parts of a carrier, in its order, and makes the library of them.
#[derive(Default)]
pub(crate) struct Builder {
    directory_blocks: u32,
    directory_ended: bool,
    entries: Vec<directory::Entry>,
    blocks: Vec<Block>,
    attributes: Vec<Block>,
    /// The first block or end at each place.
    starts: HashMap<Ttr, Start>,
    ends: Vec<Ttr>,
    /// Numbers of blocks before each end, ascending.
    ended: Vec<usize>,
    faults: Vec<Fault>,
}

#[derive(Clone, Copy)]
enum Start {
    Block(usize),
    End(usize),
}

impl Builder {
    /// The data of a directory block at this offset. Blocks after the last one are counted, not read.
    pub fn directory(&mut self, at: u64, bytes: &[u8]) {
        self.directory_blocks += 1;
        if self.directory_ended {
            return;
        }
        let block = directory::read(bytes);
        self.directory_ended = block.last;
        if let Some(fault) = block.fault {
            self.fault(Fault::Directory { number: self.directory_blocks, at, fault });
        }
        if self.entries.len() + block.entries.len() > MEMBERS_MOST {
            self.directory_ended = true;
            self.fault(Fault::TooMany { most: MEMBERS_MOST });
        } else {
            self.entries.extend(block.entries);
        }
    }

    /// Whether the highest name was seen.
    pub fn directory_ended(&self) -> bool {
        self.directory_ended
    }

    pub fn block(&mut self, block: Block) {
        self.starts.entry(block.ttr).or_insert(Start::Block(self.blocks.len()));
        self.blocks.push(block);
    }

    pub fn attribute(&mut self, block: Block) {
        self.attributes.push(block);
    }

    pub fn end(&mut self, ttr: Ttr) {
        self.starts.entry(ttr).or_insert(Start::End(self.blocks.len()));
        self.ends.push(ttr);
        self.ended.push(self.blocks.len());
    }

    fn fault(&mut self, fault: Fault) {
        if self.faults.len() < FAULTS_MOST {
            self.faults.push(fault);
        }
    }

    pub fn finish(mut self, label: Label, source: Shared, page: CodePage) -> Library {
        if !self.directory_ended {
            self.fault(Fault::Unended);
        }
        let entries = std::mem::take(&mut self.entries);
        for pair in entries.windows(2) {
            if pair[1].name <= pair[0].name {
                self.fault(Fault::Order { name: pair[1].name.text(page), before: pair[0].name.text(page) });
            }
        }
        // Bytes before each block: many names may point to one long member, so no name walks over its blocks.
        let mut before = vec![0_u64];
        before.extend(self.blocks.iter().scan(0, |sum, block| {
            *sum += u64::from(block.length);
            Some(*sum)
        }));
        let mut members: Vec<Member> = Vec::with_capacity(entries.len());
        for entry in entries {
            members.push(self.member(entry, &label, &before, page));
        }
        self.relate(&mut members, label.organisation);
        Library {
            label,
            directory_blocks: self.directory_blocks,
            members,
            blocks: self.blocks,
            attributes: self.attributes,
            ends: self.ends,
            faults: self.faults,
            source,
        }
    }

    fn member(&mut self, entry: directory::Entry, label: &Label, before: &[u64], page: CodePage) -> Member {
        let name = entry.name.text(page);
        let mut damage = None;
        let range = match self.starts.get(&entry.ttr) {
            Some(Start::Block(start)) => {
                let start = *start;
                let after = self.ended.partition_point(|end| *end <= start);
                let end = self.ended.get(after).copied().unwrap_or_else(|| {
                    damage = Some(Fault::Endless { name: name.clone() });
                    self.blocks.len()
                });
                start..end
            }
            Some(Start::End(at)) => *at..*at,
            None => {
                damage = Some(Fault::Nowhere { name: name.clone(), ttr: entry.ttr });
                0..0
            }
        };
        damage.iter().for_each(|fault| self.fault(fault.clone()));
        let details = entry::read(&entry.user_data, entry.alias, label.record_format.undefined(), page);
        if let Details::Program(program) = &details
            && !program.missing.is_empty()
        {
            self.fault(Fault::UserData { name: name.clone(), sections: program.missing.clone() });
        }
        Member {
            name,
            raw: entry.name,
            alias: entry.alias,
            alias_of: None,
            ttr: entry.ttr,
            details,
            blocks: range.len(),
            bytes: before[range.end] - before[range.start],
            range,
            damage,
            user_data: entry.user_data,
            user_ttrs: entry.ttrs,
        }
    }

    /// Finds the member of each alias: by the alias's data if the member is there, otherwise by the place that both share. The
    /// first alias of a place without a member becomes the member.
    fn relate(&mut self, members: &mut [Member], organisation: Organisation) {
        let mut at_place: HashMap<Ttr, usize> = HashMap::new();
        let mut places: HashMap<&str, Ttr> = HashMap::new();
        for (index, member) in members.iter().enumerate().filter(|(_, member)| !member.alias) {
            at_place.entry(member.ttr).or_insert(index);
            places.entry(&member.name).or_insert(member.ttr);
        }
        let is_pds = organisation == Organisation::Pds;
        let (mut found, mut orphans) = (vec![None; members.len()], Vec::new());
        let mut first_at: HashMap<Ttr, &str> = HashMap::new();
        for (index, member) in members.iter().enumerate().filter(|(_, member)| member.alias) {
            let by_data = match &member.details {
                Details::Program(program) => program.alias.as_ref().map(|alias| alias.member.as_str()),
                _ => None,
            };
            // A PDS member that was replaced is elsewhere, and its alias still has the old place.
            let is_there = |of: &&str| places.get(of).is_some_and(|ttr| !is_pds || *ttr == member.ttr);
            let by_place = || at_place.get(&member.ttr).map(|index| members[*index].name.as_str());
            if let Some(of) = by_data.filter(is_there).or_else(by_place) {
                found[index] = Some(of.to_owned());
                continue;
            }
            let first = *first_at.entry(member.ttr).or_insert(&member.name);
            found[index] = Some(first.to_owned()).filter(|first| *first != member.name);
            orphans.push(Fault::Orphan {
                name: member.name.clone(),
                of: by_data.unwrap_or("its member").to_owned(),
                first: first.to_owned(),
            });
        }
        orphans.into_iter().for_each(|fault| self.fault(fault));
        for (member, of) in members.iter_mut().zip(found) {
            member.alias_of = of;
        }
    }
}
