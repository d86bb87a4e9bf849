//! Makes a PDS: always a whole new file, renamed into place.
//!
//! ```text
//! new:      | directory, empty | members ...                        then the directory, then the header
//! changed:  the old tracks unchanged, members after the last       then the directory, then the header
//! ```
//!
//! Deleted or replaced members leave a gap ("gas"), as on the mainframe; compress makes the library anew without gaps.
//!
//! Invariant: readers of the old file keep it; until the rename, the library is the old one.
//! Not here: cutting text into blocks (`underbar_partitioned::binder`).

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use underbar_partitioned::attribute::Attributes;
use underbar_partitioned::binder::{Fill, Place as At};
use underbar_partitioned::count::Counts;
use underbar_partitioned::name::{LONGEST_IN_PDS, Misnomer, Name};
use underbar_partitioned::pds::{
    Alias, Control, Count, DIRECTORY_BLOCK, Entry, HEADER, Header, Identification, Kind, Pds, TRACK_HEADER,
    TrackHeader, directory_track_blocks, put_entry, put_record, track_offset,
};
use underbar_partitioned::read::{Fault, ReadAt};
use underbar_partitioned::sum::sum;
use underbar_partitioned::track::{D3390, TRACK_IMAGE};

pub use crate::member::New;

use crate::error::{Error, Result};
use crate::storage::Storage;

/// The most tracks of a PDS.
const MOST_TRACKS: u32 = 65_535;
/// Members of 36 bytes in a block of the directory.
const IN_A_BLOCK: usize = 7;

/// The properties of a new PDS.
#[derive(Clone, Copy, Debug)]
pub struct Making {
    /// A random number from the caller.
    pub identity: u64,
    /// 256 to 32,760; rounded down to a multiple of 8.
    pub block_size: u32,
    /// Blocks of the directory, at least one.
    pub directory_blocks: u32,
    /// Its first generation: 1, or one more than that of the library that it replaces.
    pub generation: u64,
    /// Seconds since 1970.
    pub now: u64,
}

/// Directory blocks for this many members and aliases, with a quarter more.
#[must_use]
pub fn directory_blocks_for(entries: usize) -> u32 {
    u32::try_from((entries + entries / 4).div_ceil(IN_A_BLOCK - 1) + 1).unwrap_or(u32::MAX)
}

/// A PDS in progress.
#[derive(Debug)]
pub struct Make<S> {
    storage: S,
    header: Header,
    fill: Fill,
    /// The track in progress, and the start of its next record.
    image: Vec<u8>,
    at: usize,
    /// Units of the device in use on it.
    used: u32,
    last: At,
    entries: BTreeMap<Name, Entry>,
}

impl<S: Storage> Make<S> {
    /// Begins an empty one in an empty file.
    ///
    /// # Errors
    /// A directory longer than a PDS; the system's.
    pub fn new(storage: S, making: &Making) -> Result<Make<S>> {
        let fill = Fill::new(&D3390, making.block_size);
        let header = Header {
            identity: making.identity,
            generation: making.generation,
            device: D3390.code,
            block_size: fill.block_size(),
            tracks: 1,
            directory_blocks: making.directory_blocks.max(1),
            directory_used: 1,
            members: 0,
            aliases: 0,
            last: At::default(),
            last_used: 0,
            last_bytes: 0,
            created: making.now,
            modified: making.now,
        };
        let mut make = Make {
            storage,
            header,
            fill,
            image: vec![0; TRACK_IMAGE],
            at: TRACK_HEADER,
            used: 0,
            last: At::default(),
            entries: BTreeMap::new(),
        };
        for _ in 0..header.directory_blocks {
            make.put(Kind::Directory, &[0; 8], &[0; DIRECTORY_BLOCK])?;
        }
        make.put(Kind::EndOfDirectory, &[], &[])?;
        Ok(make)
    }

    /// Begins with the whole contents of an old one, with its gaps.
    ///
    /// # Errors
    /// An old one with a damaged directory; the system's.
    pub fn from_old<R: ReadAt>(mut storage: S, old: &Pds<R>, now: u64) -> Result<Make<S>> {
        let header = *old.header();
        let mut image = vec![0; TRACK_IMAGE];
        for track in 0..header.tracks {
            let offset = track_offset(track);
            old.reader()
                .read_at(offset, &mut image)
                .map_err(|_| Fault::Cut { offset, length: TRACK_IMAGE as u64 })?;
            storage.write_at(offset, &image).map_err(|error| Error::system("the new library", error))?;
        }
        let mut entries = BTreeMap::new();
        for entry in old.entries() {
            let entry = entry?;
            entries.insert(entry.name, entry);
        }
        // The loop left the last track in `image`: it is filled further.
        let mut start = [0; TRACK_HEADER];
        start.copy_from_slice(&image[..TRACK_HEADER]);
        TrackHeader::decode(&start, header.identity, header.last.track)?;
        let at = (header.last_bytes as usize).max(TRACK_HEADER);
        // After the last record there is the mark of the track's end, and nothing else.
        let end = at.min(TRACK_IMAGE - 1);
        image[end..].fill(0);
        image[end] = 0xFF;
        let fill = Fill::from(
            header.device(),
            header.block_size,
            header.last.track,
            header.last_used,
            header.last.record,
        );
        let header = Header { generation: header.generation + 1, modified: now, ..header };
        Ok(Make { storage, header, fill, image, at, used: header.last_used, last: header.last, entries })
    }

    /// Writes a member after the last. One of its name is replaced if `replace` is set; the aliases of a program stay
    /// with it if it still exports their functions: `entry` gives the new address of an alias.
    ///
    /// # Errors
    /// A name that is taken, or too long; no room; the system's.
    pub fn add(&mut self, new: &New<'_>, replace: bool) -> Result<()> {
        let name = short(&new.name)?;
        match self.entries.get(&name) {
            Some(_) if !replace => return Err(Error::Exists(name.to_string())),
            Some(entry) if entry.alias.is_none() => {
                // Addresses of the old member's functions are no longer valid.
                self.entries.retain(|_, entry| entry.alias.is_none_or(|alias| alias.of != name));
            }
            _ => {}
        }
        let size =
            u32::try_from(new.bytes.len()).map_err(|_| Error::Full("a member of a PDS has at most 4 GiB"))?;
        let identification = Identification {
            member: name,
            size: u64::from(size),
            sum: sum(0, new.bytes),
            loadable: new.loadable,
            modified: new.modified,
            texts: 0,
            symbol: new.symbol,
        };
        let (record, length) = identification.encode();
        let first = self.put(Kind::Identification, &[], &record[..length])?.0;
        let (mut text, mut texts, mut rest) = (None, 0u32, new.bytes);
        while !rest.is_empty() {
            let length = self.fill.next_text(rest.len() as u64);
            let (block, behind) = rest.split_at(length as usize);
            let origin = (new.bytes.len() - rest.len()) as u64;
            let control = Control { is_last: behind.is_empty(), origin, length, member: name };
            self.put(Kind::Control, &[], &control.encode())?;
            let (place, at) = self.put(Kind::Text, &[], block)?;
            text.get_or_insert((place, at, length));
            texts += 1;
            rest = behind;
        }
        self.put(Kind::EndOfMember, &[], &[])?;
        let (place, at, length) = text.unwrap_or_default();
        let address = |address: Option<u64>| address.and_then(|address| u32::try_from(address).ok());
        let attributes = new.attributes.without(Attributes::ONE_BLOCK);
        let entry = Entry {
            name,
            first,
            text: place,
            text_at: at as u32,
            text_length: length as u16,
            attributes: if texts == 1 { attributes.with(Attributes::ONE_BLOCK) } else { attributes },
            fetch: new.fetch,
            storage: u32::try_from(new.storage).unwrap_or(u32::MAX),
            entry_point: address(new.entry_point),
            size,
            alias: None,
        };
        self.entries.insert(name, entry);
        Ok(())
    }

    /// Adds an alias to a member.
    ///
    /// # Errors
    /// A name that is taken or too long; an unknown member.
    pub fn alias(&mut self, alias: &Name, of: &Name, entry_point: Option<u64>) -> Result<()> {
        let name = short(alias)?;
        let member = self.member(of)?;
        if self.entries.contains_key(&name) {
            return Err(Error::Exists(name.to_string()));
        }
        let main = Alias { of: *of, entry_point: member.entry_point };
        let entry_point = entry_point.and_then(|address| u32::try_from(address).ok());
        self.entries.insert(name, Entry { name, entry_point, alias: Some(main), ..member });
        Ok(())
    }

    /// Renames a member or alias: its records are written anew, since they have its name; a member's aliases go with
    /// it.
    ///
    /// # Errors
    /// There is none of that name; the new one is taken or too long; no room; the system's.
    pub fn rename(&mut self, from: &Name, to: &Name) -> Result<()> {
        let to = short(to)?;
        let entry = *self.entries.get(from).ok_or_else(|| Error::no_member(from))?;
        if self.entries.contains_key(&to) {
            return Err(Error::Exists(to.to_string()));
        }
        if let Some(alias) = entry.alias {
            self.entries.remove(from);
            return self.alias(&to, &alias.of, entry.entry_point.map(u64::from));
        }
        let aliases = self.aliases_of(from);
        let identification =
            self.as_it_is()?.identification(&entry).map_err(|fault| Error::member(from, fault))?;
        let bytes = self.bytes(from)?;
        self.delete(from)?;
        let new = New {
            name: to,
            bytes: &bytes,
            attributes: entry.attributes,
            fetch: entry.fetch,
            loadable: identification.loadable,
            storage: u64::from(entry.storage),
            entry_point: entry.entry_point.map(u64::from),
            symbol: identification.symbol,
            modified: identification.modified,
        };
        self.add(&new, false)?;
        aliases.iter().try_for_each(|alias| self.alias(&alias.name, &to, alias.entry_point.map(u64::from)))
    }

    /// The bytes of a new member, or of one in the old library.
    ///
    /// # Errors
    /// There is none of that name; it is damaged; the system's.
    pub fn bytes(&mut self, name: &Name) -> Result<Vec<u8>> {
        let entry = self.member(name)?;
        let pds = self.as_it_is()?;
        bytes(&pds, &entry, &mut Counts::default())
    }

    /// The library so far: its directory is not written yet, but entries point to members.
    fn as_it_is(&mut self) -> Result<Pds<&S>> {
        self.flush()?;
        let header = Header { tracks: self.last.track + 1, last: self.last, ..self.header };
        self.write(0, &header.encode())?;
        Ok(Pds::open(&self.storage)?)
    }

    /// Deletes a member with its aliases, or an alias. Its blocks stay, as a gap.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn delete(&mut self, name: &Name) -> Result<()> {
        let entry = self.entries.remove(name).ok_or_else(|| Error::no_member(name))?;
        if entry.alias.is_none() {
            self.entries.retain(|_, entry| entry.alias.is_none_or(|alias| alias.of != *name));
        }
        Ok(())
    }

    /// A member that is not an alias.
    ///
    /// # Errors
    /// There is none of that name, or it is an alias.
    pub fn member(&self, name: &Name) -> Result<Entry> {
        let entry = self.entries.get(name).ok_or_else(|| Error::no_member(name))?;
        match entry.alias {
            Some(alias) => Err(Error::IsAlias(name.to_string(), alias.of.to_string())),
            None => Ok(*entry),
        }
    }

    /// The entry of a name.
    #[must_use]
    pub fn entry(&self, name: &Name) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// The aliases of a member.
    #[must_use]
    pub fn aliases_of(&self, member: &Name) -> Vec<Entry> {
        self.entries
            .values()
            .filter(|entry| entry.alias.is_some_and(|alias| alias.of == *member))
            .copied()
            .collect()
    }

    /// Whether all entries fit into the directory.
    #[must_use]
    pub fn fits(&self) -> bool {
        self.directory().len() <= self.header.directory_blocks as usize
    }

    /// Entries so far.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Writes the directory and the header. The file is then the library, once it is durable and in its place.
    ///
    /// # Errors
    /// Entries that do not fit into the directory; the system's.
    pub fn finish(mut self) -> Result<(Header, S)> {
        let blocks = self.directory();
        if blocks.len() > self.header.directory_blocks as usize {
            return Err(Error::Full("its directory; compress --directory makes it larger"));
        }
        self.flush()?;
        let on_a_track = directory_track_blocks(&D3390) as usize;
        let mut image = vec![0; TRACK_IMAGE];
        for (track, blocks) in (0..).zip(blocks.chunks(on_a_track)) {
            let offset = track_offset(track);
            let unread = Fault::Cut { offset, length: TRACK_IMAGE as u64 };
            self.storage.read_at(offset, &mut image).map_err(|_| unread)?;
            let mut at = TRACK_HEADER;
            for (record, (key, block)) in (1..).zip(blocks) {
                let place = At { track, record };
                // The mark of the track's end after it belongs to the next record, as before.
                let next = at + (Count::LENGTH + 8 + DIRECTORY_BLOCK).next_multiple_of(8);
                let kept = image[next];
                at = put_record(&mut image, at, self.header.identity, place, Kind::Directory, key, block)
                    .ok_or(Error::Full("a track of the directory"))?;
                image[next] = kept;
            }
            self.write(offset, &image)?;
        }
        let is_alias = |entry: &&Entry| entry.alias.is_some();
        let aliases = self.entries.values().filter(is_alias).count() as u32;
        self.header = Header {
            tracks: self.last.track + 1,
            directory_used: blocks.len() as u32,
            members: self.entries.len() as u32 - aliases,
            aliases,
            last: self.last,
            last_used: self.used,
            last_bytes: self.at as u32,
            ..self.header
        };
        let page = self.header.encode();
        debug_assert_eq!(page.len(), HEADER);
        self.write(0, &page)?;
        Ok((self.header, self.storage))
    }

    /// The blocks of the directory, with their keys.
    fn directory(&self) -> Vec<([u8; 8], [u8; DIRECTORY_BLOCK])> {
        let mut blocks = vec![([0; 8], [0; DIRECTORY_BLOCK])];
        for entry in self.entries.values().map(Some).chain([None]) {
            let is_put = blocks.last_mut().is_some_and(|(key, block)| put_entry(key, block, entry));
            if !is_put {
                let (mut key, mut block) = ([0; 8], [0; DIRECTORY_BLOCK]);
                // An empty block has room for any entry.
                put_entry(&mut key, &mut block, entry);
                blocks.push((key, block));
            }
        }
        blocks
    }

    /// Writes a record; returns its place and its start in its track's image.
    fn put(&mut self, kind: Kind, key: &[u8], data: &[u8]) -> Result<(At, usize)> {
        let place = self.fill.put(data.len() as u32, key.len() as u32);
        if place.track != self.last.track {
            if place.track >= MOST_TRACKS {
                return Err(Error::Full("a PDS has at most 65,535 tracks"));
            }
            self.flush()?;
            self.image.fill(0);
            (self.at, self.used) = (TRACK_HEADER, 0);
        }
        let at = self.at;
        let next = put_record(&mut self.image, at, self.header.identity, place, kind, key, data);
        // The image is large enough for a track of the device, with counts and checksums.
        self.at = next.ok_or(Error::Full("a track's image"))?;
        self.used += D3390.cost(data.len() as u32, key.len() as u32);
        self.last = place;
        Ok((place, at))
    }

    /// Writes the track in progress.
    fn flush(&mut self) -> Result<()> {
        let header = TrackHeader {
            track: self.last.track,
            records: self.last.record,
            used: self.used,
            bytes: self.at as u32,
        };
        self.image[..TRACK_HEADER].copy_from_slice(&header.encode(self.header.identity));
        let written = self.storage.write_at(track_offset(self.last.track), &self.image);
        written.map_err(|error| Error::system("the new library", error))
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.storage.write_at(offset, bytes).map_err(|error| Error::system("the new library", error))
    }
}

/// A name in the form of a PDS.
///
/// # Errors
/// One with more than eight characters.
pub fn short(name: &Name) -> Result<Name> {
    if name.as_bytes().len() > LONGEST_IN_PDS {
        return Err(Error::Name { text: name.to_string(), why: Misnomer::Long(LONGEST_IN_PDS) });
    }
    Ok(*name)
}

/// The bytes of a member; each block's checksum is checked.
///
/// # Errors
/// A damaged member.
pub fn bytes<R: ReadAt>(pds: &Pds<R>, entry: &Entry, counts: &mut Counts) -> Result<Vec<u8>> {
    let wrong = |fault| Error::member(entry.member(), fault);
    // A wrong size is not trusted beyond the member's blocks.
    let mut bytes = Vec::new();
    let mut block = vec![0; pds.header().block_size as usize];
    let mut texts = pds.texts(entry);
    while let Some(text) = texts.next_text(counts).map_err(wrong)? {
        pds.read_text(&text, &mut block).map_err(wrong)?;
        bytes.extend_from_slice(&block[..text.length as usize]);
    }
    Ok(bytes)
}
