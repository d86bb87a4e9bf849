//! From any file to a tree of its contents: transmissions on tapes, unloads in transmissions, libraries on disks.
//!
//! ```text
//! open ── examine ──┬─ transmission ── each file ──┐
//!                   ├─ tape ── each data set ──────┤
//!                   ├─ disk ── each data set ──────┼──> examine
//!                   ├─ AMATERSE ── what it packed ─┤
//!                   └─ library ── members that are ┘
//!                                 themselves containers
//! ```
//!
//! The bytes decide on the format, never the name of the file. Invariant: depth, number of items, and inflated bytes
//! are bounded by the options; a reached bound is a fault of the item that was not opened.
//! Not here: the formats; the use of members.

use super::directory::Ttr;
use super::fault::{Fault, Trouble};
use super::image::{self, Form, Image};
use super::library::{Library, RecordFormat};
use super::netdata::{self, Attributes};
use super::source::{OpenFile, Pieces, Records, Shared, Stretch, some, take};
use super::tree::{Item, Options, What};
use super::volume::{DataSet, Volume};
use super::{label, module, object, spanned, tape, terse, transport, unload, volume};
use std::path::Path;

/// Opens a file and everything in it.
///
/// # Errors
/// If the file cannot be opened; all other faults are in the tree.
pub fn open(path: &Path, options: &Options) -> Result<Item, Trouble> {
    let name = path
        .file_name()
        .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let source = OpenFile::open(path)
        .map_err(|error| Trouble { place: path.display().to_string(), fault: error.into() })?;
    Ok(examine(&name, source, options))
}

/// Everything in these bytes.
#[must_use]
pub fn examine(name: &str, source: Shared, options: &Options) -> Item {
    let mut walk = Walk { options, items: 0, inflated: 0 };
    walk.examine(&Place::root(name), name, Data::of(source))
}

/// The path to an item, and its depth.
struct Place {
    way: String,
    depth: u32,
}

impl Place {
    fn root(name: &str) -> Place {
        Place { way: name.to_owned(), depth: 0 }
    }

    fn inner(&self, name: &str) -> Place {
        Place { way: format!("{} > {name}", self.way), depth: self.depth + 1 }
    }

    fn trouble(&self, fault: impl Into<Fault>) -> Trouble {
        Trouble { place: self.way.clone(), fault: fault.into() }
    }

    fn troubles<F: Into<Fault>>(&self, faults: impl IntoIterator<Item = F>) -> Vec<Trouble> {
        faults.into_iter().map(|fault| self.trouble(fault)).collect()
    }
}

/// Bytes to examine, with the borders of records or blocks if the container keeps them.
struct Data {
    records: Records,
    /// Whether the borders are those of the data, not of a file without borders.
    bordered: bool,
    format: Option<RecordFormat>,
    name: Option<String>,
}

impl Data {
    fn of(source: Shared) -> Data {
        let (mut stretches, mut at) = (Vec::new(), 0);
        while at < source.length() {
            let length = u32::try_from(source.length() - at).unwrap_or(1 << 31);
            stretches.push(Stretch { at, length });
            at += u64::from(length);
        }
        Data {
            records: Records { source, stretches: stretches.into() },
            bordered: false,
            format: None,
            name: None,
        }
    }

    fn bordered(records: Records, format: Option<RecordFormat>, name: Option<String>) -> Data {
        Data { records, bordered: true, format, name }
    }
}

struct Walk<'a> {
    options: &'a Options,
    items: usize,
    inflated: u64,
}

/// The most characters of a file's name in a transmission: a data set name has at most 44. The name is part of the path of
/// everything below, and so of each fault: a name of 32 KB would be there thousands of times.
const NAME_MOST: usize = 80;
/// Bytes that decide on the format.
const HEAD: u64 = 512;
/// Items up to this size are examined as a glued load module: storage for modules ends there.
const MODULE_MOST: u64 = 16 << 20;

impl Walk<'_> {
    fn examine(&mut self, place: &Place, name: &str, data: Data) -> Item {
        self.items += 1;
        let most = self.options.depth;
        let mut item = Item {
            name: name.to_owned(),
            bytes: data.records.bytes(),
            what: What::Unknown,
            faults: Vec::new(),
            inner: Vec::new(),
            data: Some(data.records.clone()),
        };
        if place.depth > most {
            item.faults.push(place.trouble(Fault::Depth { most }));
            return item;
        }
        let source = data.records.joined();
        let head = match some(&*source, 0, HEAD) {
            Ok(head) => head,
            Err(error) => {
                item.faults.push(place.trouble(error));
                return item;
            }
        };
        if !data.bordered
            && let Some((records, faults)) = transport::unwrapped(&source, &head)
        {
            let mut inner = self.examine(place, name, Data::bordered(records, data.format, data.name));
            inner.bytes = item.bytes;
            inner.faults.splice(0..0, place.troubles(faults));
            return inner;
        }
        if image::begins(&head) {
            self.disk(place, &mut item, &source);
        } else if netdata::begins(&head) {
            self.transmission(place, &mut item, &source);
        } else if let Some(records) = self.unload_records(place, &mut item, &data, &source, &head) {
            self.unload(place, &mut item, &records, data.name);
        } else if terse::header(&head).is_some() {
            self.terse(place, &mut item, &source);
        } else if tape::begins(&*source) {
            self.tape(place, &mut item, &source);
        } else if object::begins(&head) {
            match object::read(&*source, self.options.page) {
                Ok((object, faults)) => {
                    item.faults = place.troubles(faults);
                    item.what = What::Object(object);
                }
                Err(fault) => item.faults.push(place.trouble(fault)),
            }
        } else if data.format.is_some_and(RecordFormat::variable) && data.bordered {
            // Records of variable length may hold a known format: a transmission sent as VB, for example.
            let (records, faults) = spanned::records(&data.records);
            if faults.is_empty() && netdata::begins(&some(&*records.joined(), 0, 8).unwrap_or_default()) {
                self.transmission(place, &mut item, &records.joined());
            }
        } else {
            self.module(place, &mut item, &source, &head);
        }
        if matches!(item.what, What::Unknown) && item.faults.is_empty() {
            let head = some(&*source, 0, transport::HEAD).unwrap_or_default();
            item.what = transport::foreign(&head).map_or(What::Unknown, |what| What::Foreign { what });
        }
        item
    }

    /// The logical records of an unload, in any storage form; None if there is none.
    fn unload_records(
        &self,
        place: &Place,
        item: &mut Item,
        data: &Data,
        source: &Shared,
        head: &[u8],
    ) -> Option<Records> {
        let at = |offset: usize| head.get(offset..).is_some_and(unload::begins);
        if at(8) {
            // Blocks with their descriptors: those of the tape, or found by walking along the file.
            let (blocks, fault) =
                if data.bordered { (data.records.clone(), None) } else { spanned::blocks(source) };
            let (records, faults) = spanned::records(&blocks);
            item.faults.extend(place.troubles(fault.into_iter().chain(faults)));
            return Some(records);
        }
        if at(0) {
            let alone = data.records.count() < 3;
            return if data.bordered && !alone { Some(data.records.clone()) } else { unload::glued(source) };
        }
        None
    }

    fn unload(&mut self, place: &Place, item: &mut Item, records: &Records, name: Option<String>) {
        match unload::read(records, self.options.page) {
            Ok(unload) => {
                item.faults.extend(place.troubles(unload.faults));
                let mut library = unload.library;
                library.label.name = library.label.name.or(name);
                self.library(place, item, library);
            }
            Err(fault) => item.faults.push(place.trouble(fault)),
        }
    }

    /// A library, and its members that are containers themselves.
    fn library(&mut self, place: &Place, item: &mut Item, library: Library) {
        item.faults.extend(place.troubles(library.faults.clone()));
        item.data = None;
        if !library.label.programs {
            let mut members: Vec<_> = library
                .members
                .iter()
                .filter(|member| member.alias_of.is_none() && member.blocks > 0)
                .collect();
            members.sort_by_key(|member| (member.range.start, member.range.end));
            // Overlapping members are opened once: no block is examined twice on one level.
            let mut opened = 0;
            for member in members {
                let Some(block) = library.blocks_of(member).first() else { continue };
                let head = library.head(block, HEAD).unwrap_or_default();
                let packed = terse::header(&head).is_some_and(|header| header.block_size > 0);
                if member.range.start < opened || !(netdata::begins(&head) || packed) {
                    continue;
                }
                if !self.room(place, item) {
                    break;
                }
                opened = member.range.end;
                let data = Data::bordered(library.records(member), Some(library.label.record_format), None);
                item.inner.push(self.examine(&place.inner(&member.name), &member.name, data));
            }
        }
        item.what = What::Library(Box::new(library));
    }

    /// Whether there is room for one more item; otherwise adds a fault.
    fn room(&self, place: &Place, item: &mut Item) -> bool {
        let most = self.options.items;
        if self.items >= most {
            item.faults.push(place.trouble(Fault::Many { most }));
        }
        self.items < most
    }

    /// A transmission, and those after it: a file may be several, one after the other.
    fn transmission(&mut self, place: &Place, item: &mut Item, source: &Shared) {
        let mut end = self.one_transmission(place, item, source);
        for number in 2.. {
            let Some(begin) = end.and_then(|end| netdata::next(&**source, end)) else { break };
            if !self.room(place, item) {
                break;
            }
            self.items += 1;
            let mut rest = Pieces::of(source);
            rest.add(begin, source.length() - begin);
            let (rest, name) = (rest.shared(), format!("transmission {number}"));
            let mut next = Item {
                name: name.clone(),
                bytes: 0,
                what: What::Unknown,
                faults: Vec::new(),
                inner: Vec::new(),
                data: None,
            };
            let read = self.one_transmission(&place.inner(&name), &mut next, &rest);
            next.bytes = read.unwrap_or(rest.length());
            item.inner.push(next);
            end = read.map(|read| begin + read);
        }
    }

    /// Returns its end.
    fn one_transmission(&mut self, place: &Place, item: &mut Item, source: &Shared) -> Option<u64> {
        let found = match netdata::read(source, self.options.page) {
            Ok(found) => found,
            Err(fault) => {
                item.faults.push(place.trouble(fault));
                return None;
            }
        };
        item.faults.extend(place.troubles(found.faults));
        item.what = What::Transmission { header: found.header };
        item.data = None;
        for (index, file) in found.files.into_iter().enumerate() {
            if !self.room(place, item) {
                break;
            }
            let attributes = file.data_set();
            let name = match &attributes.name {
                Some(name) if !name.is_empty() => name.chars().take(NAME_MOST).collect(),
                _ => format!("file {}", index + 1),
            };
            let place = place.inner(&name);
            // INMCOPY's format is that of the records' data set; a library's own is in the unload.
            let format = attributes.record_format.map(|format| RecordFormat((format >> 8) as u8));
            let format = format.filter(|_| !file.uses("IEBCOPY"));
            // A sequential data set of variable length has records without their descriptors.
            let format = format.filter(|format| !format.variable());
            let data = Data::bordered(file.records, format, attributes.name.clone());
            let mut inner = self.examine(&place, &name, data);
            if matches!(inner.what, What::Unknown) {
                inner.what = if file.message { What::Message } else { What::DataSet { attributes } };
            }
            item.inner.push(inner);
        }
        found.end
    }

    fn terse(&mut self, place: &Place, item: &mut Item, source: &Shared) {
        let found = match terse::read(source, self.options.inflated.saturating_sub(self.inflated)) {
            Ok(found) => found,
            Err(fault) => return item.faults.push(place.trouble(fault)),
        };
        self.inflated = self.inflated.saturating_add(found.took);
        item.faults.extend(found.fault.map(|fault| place.trouble(fault)));
        let method = match found.header.method {
            terse::Method::Pack => "PACK",
            terse::Method::Spack => "SPACK",
        };
        item.what = What::Terse { method };
        let name = "what was packed";
        let format = found.header.record_format;
        let attributes = Attributes {
            record_format: Some(u16::from(format.0) << 8),
            record_length: Some(found.header.record_length),
            block_size: Some(found.header.block_size.into()).filter(|size| *size > 0),
            ..Attributes::default()
        };
        let data = Data::bordered(found.records, None, None);
        let mut inner = self.examine(&place.inner(name), name, data);
        if matches!(inner.what, What::Unknown) {
            inner.what = What::DataSet { attributes };
        }
        item.inner.push(inner);
    }

    fn tape(&mut self, place: &Place, item: &mut Item, source: &Shared) {
        let found = match tape::read(source, self.options.inflated.saturating_sub(self.inflated)) {
            Ok(found) => found,
            Err(fault) => return item.faults.push(place.trouble(fault)),
        };
        if found.packed {
            self.inflated += found.files.iter().map(Records::bytes).sum::<u64>();
        }
        item.faults.extend(place.troubles(found.faults));
        let labelled = label::read(found.files, self.options.page);
        item.faults.extend(place.troubles(labelled.faults()));
        item.what = What::Tape { serial: labelled.serial, packed: found.packed, ended: found.ended };
        item.data = None;
        for file in labelled.files {
            if !self.room(place, item) {
                break;
            }
            let name = file.name.clone().unwrap_or_else(|| format!("file {}", file.number));
            let attributes = Attributes {
                name: file.name.clone(),
                organisation: Some(0x4000),
                record_format: file.record_format.map(|format| u16::from(format.0) << 8),
                record_length: file.record_length,
                block_size: file.block_size,
                ..Attributes::default()
            };
            let data = Data::bordered(file.records, file.record_format, file.name);
            let mut inner = self.examine(&place.inner(&name), &name, data);
            if matches!(inner.what, What::Unknown) {
                inner.what = What::DataSet { attributes };
            }
            item.inner.push(inner);
        }
    }

    fn disk(&mut self, place: &Place, item: &mut Item, source: &Shared) {
        let opened = Image::open(source).map_err(Fault::from);
        let volume = opened.and_then(|image| Volume::open(image, self.options.page).map_err(Fault::from));
        let volume = match volume {
            Ok(volume) => volume,
            Err(fault) => return item.faults.push(place.trouble(fault)),
        };
        item.faults.extend(place.troubles(volume.faults.clone()));
        let image = volume.image();
        item.what = What::Disk {
            serial: volume.serial.clone(),
            device: volume::device_name(image.device),
            packed: image.form != Form::Plain,
            cylinders: image.tracks / image.heads,
            open: image.open,
        };
        item.data = None;
        let mut claimed = 0;
        for set in &volume.data_sets {
            if !self.room(place, item) {
                break;
            }
            claimed += set.extents.iter().map(|extent| u64::from(extent.tracks)).sum::<u64>();
            let inner = self.data_set(&place.inner(&set.name), &volume, set, claimed);
            item.inner.push(inner);
        }
    }

    fn data_set(&mut self, place: &Place, volume: &Volume, set: &DataSet, claimed: u64) -> Item {
        let attributes = Attributes {
            name: Some(set.name.clone()),
            organisation: Some(set.organisation),
            record_format: Some(u16::from(set.record_format.0) << 8),
            record_length: Some(set.record_length),
            block_size: Some(set.block_size),
            ..Attributes::default()
        };
        let mut item = Item {
            name: set.name.clone(),
            bytes: 0,
            what: What::DataSet { attributes },
            faults: Vec::new(),
            inner: Vec::new(),
            data: None,
        };
        let tracks = volume.image().tracks;
        // Sound data sets share no track: shared tracks would be read again and again.
        if claimed > u64::from(tracks) {
            item.faults.push(place.trouble(Fault::Claimed { claimed, tracks }));
        } else if set.is_partitioned() {
            match volume.library(set, self.options.page) {
                Ok((library, faults)) => {
                    item.bytes = library.counts().live_bytes;
                    item.faults = place.troubles(faults);
                    self.library(place, &mut item, library);
                }
                Err(fault) => item.faults.push(place.trouble(fault)),
            }
        } else if set.organisation & 0x4000 != 0 && set.last != Ttr(0) {
            let (records, faults) = volume.sequential(set);
            let mut inner = self.examine(
                place,
                &set.name,
                Data::bordered(records, Some(set.record_format), Some(set.name.clone())),
            );
            inner.faults.splice(0..0, place.troubles(faults));
            if matches!(inner.what, What::Unknown) {
                inner.what = item.what;
            }
            return inner;
        }
        item
    }

    fn module(&mut self, place: &Place, item: &mut Item, source: &Shared, head: &[u8]) {
        let candidate = matches!(head.first(), Some(0x20 | 0x28 | 0x40)) && source.length() <= MODULE_MOST;
        if !candidate || module::borders(head).0.is_empty() {
            return;
        }
        let Ok(bytes) = take(&**source, 0, source.length()) else { return };
        if !module::is_module(&bytes) {
            return;
        }
        let mut reader = module::Reader::new(self.options.page);
        module::borders(&bytes).0.into_iter().for_each(|range| reader.block(&bytes[range]));
        let (summary, faults) = reader.finish();
        item.faults.extend(place.troubles(faults));
        item.what = What::Module(Box::new(summary));
    }
}
