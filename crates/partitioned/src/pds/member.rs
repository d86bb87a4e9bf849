//! The blocks of a member, in the order of fetch: the first text by its directory entry, then each control record with its
//! text.
//!
//! ```text
//! directory: place and length of the first text      text                     1 channel program
//!   control record: length of the next               control, text            2 more, by the article's count
//!   ...
//! ```
//!
//! Cost: one read of 16 bytes for the first block, one of 72 for each further one, and the text itself, which the caller
//! reads into its own buffer.
//!
//! Invariant: places ascend, origins follow each other, the lengths' sum is the entry's size: the walk ends.

use super::layout::{CONTROL, Control, Count, Identification, Kind, Record, TRACK_HEADER, track_offset};
use super::{Entry, Pds};
use crate::binder::Place;
use crate::bytes::take;
use crate::count::Counts;
use crate::read::{Fault, ReadAt, fill};
use crate::track::TRACK_IMAGE;

/// A block of text: its location and its check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// Offset of its data in the file.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// Its offset in the member.
    pub origin: u64,
    /// Its track and record.
    pub place: Place,
    count: Count,
    identity: u64,
}

impl Text {
    /// Does the sum of these bytes match?
    ///
    /// # Errors
    /// [`Fault::DamagedMember`] with its place.
    pub fn check(&self, bytes: &[u8]) -> Result<(), Fault> {
        let sum = self.count.sum_of(self.identity, self.place.track, &[], bytes);
        if sum == self.count.sum { Ok(()) } else { Err(damaged(self.place)) }
    }
}

/// The blocks of text of a member.
#[derive(Clone, Debug)]
pub struct Texts<'a, R> {
    pds: &'a Pds<R>,
    entry: Entry,
    /// Offset of the next record in its track's image.
    at: usize,
    place: Place,
    origin: u64,
}

impl<'a, R: ReadAt> Texts<'a, R> {
    pub(super) fn new(pds: &'a Pds<R>, entry: &Entry) -> Texts<'a, R> {
        Texts { pds, entry: *entry, at: entry.text_at as usize, place: entry.text, origin: 0 }
    }

    /// The next block; None after the last. `counts` rises by the cost of reading it.
    ///
    /// # Errors
    /// A member that is cut, damaged, or contradicts its entry.
    pub fn next_text(&mut self, counts: &mut Counts) -> Result<Option<Text>, Fault> {
        let size = u64::from(self.entry.size);
        if self.origin == size {
            return Ok(None);
        }
        let before = self.place.track;
        let (count, is_last) = if self.origin == 0 { self.first()? } else { self.following()? };
        let place = self.place;
        let text = Text {
            offset: track_offset(place.track) + (self.at + Count::LENGTH) as u64,
            length: count.data,
            origin: self.origin,
            place,
            count,
            identity: self.pds.header.identity,
        };
        let end = self.origin + u64::from(count.data);
        if count.data == 0 || end > size {
            return Err(Fault::Contradiction(
                "the blocks of the member are not as long as its directory entry says",
            ));
        }
        if is_last.is_some_and(|is_last| is_last != (end == size)) {
            return Err(Fault::Contradiction("the member ends elsewhere than its directory entry says"));
        }
        let is_first = self.origin == 0;
        counts.programs_by_article += if is_first { 1 } else { 2 };
        counts.programs_by_fetch += u64::from(is_first);
        counts.blocks += if is_first { 1 } else { 2 };
        counts.tracks += u64::from(is_first || place.track != before);
        self.at += count.stride();
        self.place.record = place.record.saturating_add(1);
        self.origin = end;
        Ok(Some(text))
    }

    /// The first block, whose place and length the directory gives.
    fn first(&mut self) -> Result<(Count, Option<bool>), Fault> {
        let place = self.place;
        let count = read_count(self.pds, place, self.at)?.ok_or(damaged(place))?;
        if count.kind != Kind::Text || count.data != u32::from(self.entry.text_length) {
            return Err(Fault::Contradiction(
                "the first block of the member is not what its directory entry says",
            ));
        }
        Ok((count, None))
    }

    /// Each further block comes after its control record.
    fn following(&mut self) -> Result<(Count, Option<bool>), Fault> {
        let control_count = match read_count(self.pds, self.place, self.at)? {
            Some(count) => count,
            None => {
                self.place = Place { track: self.place.track + 1, record: 1 };
                self.at = TRACK_HEADER;
                read_count(self.pds, self.place, self.at)?.ok_or(damaged(self.place))?
            }
        };
        let place = self.place;
        if control_count.kind != Kind::Control || control_count.data as usize != CONTROL {
            return Err(Fault::Contradiction("a block of another kind stands where the member goes on"));
        }
        let mut data = [0; CONTROL];
        fill(&self.pds.read, track_offset(place.track) + (self.at + Count::LENGTH) as u64, &mut data)?;
        let sum = control_count.sum_of(self.pds.header.identity, place.track, &[], &data);
        let control = Control::decode(&data).filter(|_| sum == control_count.sum).ok_or(damaged(place))?;
        if control.origin != self.origin || control.member != self.entry.member() {
            return Err(Fault::Contradiction("a block of another member stands where the member goes on"));
        }
        self.at += control_count.stride();
        self.place.record = place.record.saturating_add(1);
        let count = read_count(self.pds, self.place, self.at)?.ok_or(damaged(self.place))?;
        if count.kind != Kind::Text || count.data != control.length {
            return Err(Fault::Contradiction("a block is not as long as its control record says"));
        }
        Ok((count, Some(control.is_last)))
    }
}

pub(super) fn identification<R: ReadAt>(pds: &Pds<R>, entry: &Entry) -> Result<Identification, Fault> {
    let (mut at, place) = (TRACK_HEADER, entry.first);
    // A record on a track is found by walking the records before it: their counts give their lengths.
    for record in 1..place.record {
        let before = Place { record, ..place };
        at += read_count(pds, before, at)?.ok_or(damaged(before))?.stride();
    }
    let count = read_count(pds, place, at)?.ok_or(damaged(place))?;
    let mut data = [0; Identification::LONGEST];
    let data = data.get_mut(..count.data as usize).filter(|_| count.kind == Kind::Identification);
    let data = data.ok_or(Fault::Contradiction("no member begins where the directory entry says"))?;
    fill(&pds.read, track_offset(place.track) + (at + Count::LENGTH) as u64, data)?;
    let sum = count.sum_of(pds.header.identity, place.track, &[], data);
    let found = Identification::decode(data).filter(|_| sum == count.sum).ok_or(damaged(place))?;
    if found.member != entry.member() || found.size != u64::from(entry.size) {
        return Err(Fault::Contradiction("another member begins where the directory entry says"));
    }
    Ok(found)
}

pub(super) fn record<R: ReadAt>(
    pds: &Pds<R>,
    track: u32,
    at: usize,
    into: &mut [u8],
) -> Result<Option<Record>, Fault> {
    let mut bytes = [0; Count::LENGTH];
    let unknown = Fault::DamagedMember { track, record: 0 };
    if at + Count::LENGTH > TRACK_IMAGE {
        return Ok(None);
    }
    fill(&pds.read, track_offset(track) + at as u64, &mut bytes)?;
    let Some(count) = Count::decode(&bytes) else { return Ok(None) };
    let count = count.map_err(|()| unknown)?;
    let place = Place { track, record: count.record };
    let length = usize::from(count.key) + count.data as usize;
    if at + count.stride() > TRACK_IMAGE {
        return Err(damaged(place));
    }
    let both = into.get_mut(..length).ok_or(Fault::ShortBuffer { needed: length as u32 })?;
    fill(&pds.read, track_offset(track) + (at + Count::LENGTH) as u64, both)?;
    let (key, data) = both.split_at(usize::from(count.key));
    if count.sum_of(pds.header.identity, track, key, data) != count.sum {
        return Err(damaged(place));
    }
    Ok(Some(Record { count, next: at + count.stride() }))
}

/// The count of a record at a place; None after the end of the track.
fn read_count<R: ReadAt>(pds: &Pds<R>, place: Place, at: usize) -> Result<Option<Count>, Fault> {
    if place.track >= pds.header.tracks {
        return Err(Fault::Contradiction("a TTR lies beyond the last track"));
    }
    if at < TRACK_HEADER || at + Count::LENGTH > TRACK_IMAGE {
        return Ok(None);
    }
    let mut bytes = [0; Count::LENGTH];
    fill(&pds.read, track_offset(place.track) + at as u64, &mut bytes)?;
    let Some(count) = Count::decode(&take::<{ Count::LENGTH }>(&bytes, 0)) else { return Ok(None) };
    match count {
        Ok(count) if count.record == place.record && at + count.stride() <= TRACK_IMAGE => Ok(Some(count)),
        _ => Err(damaged(place)),
    }
}

fn damaged(place: Place) -> Fault {
    Fault::DamagedMember { track: place.track, record: place.record }
}
