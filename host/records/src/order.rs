//! The records of one block in their order: a run.
//!
//! ```text
//! block ── condition ── keys ── (prefix | number of the record) ── sort ──> run
//! ```
//!
//! A block fits into the processor's caches. Its records are copied into their order at once, so that the merge reads all memory in
//! sequence.
//!
//! Invariant: the run has the records that the condition takes; records with equal keys are in the order of the block.
//! Not here: threads (`collect`), and the merge (`merge`).

use crate::blocks::Block;
use crate::condition::Condition;
use crate::error::Error;
use crate::field::{Field, Short};
use crate::format::Format;
use crate::key::{Keys, prefix};
use crate::run::Layout;

/// The checks of a record before it is taken.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// Records for which it does not hold are left out.
    pub condition: Option<&'a Condition>,
    /// Fields that must be numbers, as they will be added.
    pub sums: &'a [Field],
    /// The treatment of short records.
    pub short: Short,
}

impl Choice<'_> {
    /// Whether a record is taken.
    ///
    /// # Errors
    /// A field that is compared or added is missing, or is not a number.
    #[inline]
    pub fn takes(&self, record: &[u8]) -> Result<bool, crate::field::BadField> {
        if let Some(condition) = self.condition
            && !condition.holds(record, self.short)?
        {
            return Ok(false);
        }
        for field in self.sums {
            field.number(record, self.short)?;
        }
        Ok(true)
    }

    /// Leaves only the records of a block that are taken.
    ///
    /// # Errors
    /// Those of [`Self::takes`], with the place.
    pub fn choose(&self, block: &mut Block) -> Result<(), Error> {
        if self.condition.is_none() && self.sums.is_empty() {
            return Ok(());
        }
        let mut pieces = std::mem::take(&mut block.pieces);
        let mut bad = None;
        pieces.retain(|&piece| {
            let is_taken = self.takes(block.data(piece));
            is_taken.unwrap_or_else(|why| {
                bad.get_or_insert((piece, why));
                false
            })
        });
        block.pieces = pieces;
        match bad {
            Some((piece, why)) => Err(Error::Field { place: block.place_of(piece), why }),
            None => Ok(()),
        }
    }
}

/// Sorts blocks, one after another, in the same memory.
pub struct Sorter<'a> {
    keys: &'a Keys,
    layout: Layout,
    /// The prefix of each record's key, and the record's number: equal keys keep their order.
    entries: Vec<u128>,
    /// Keys that are made, one after another, and where each begins. Empty if prefixes or records hold them.
    made: Vec<u8>,
    begins: Vec<usize>,
    room: Vec<u8>,
    /// Memory of a run that was written to the work file.
    spare: Vec<u8>,
}

impl<'a> Sorter<'a> {
    /// A sorter for records of this form.
    #[must_use]
    pub fn new(keys: &'a Keys, format: Format) -> Sorter<'a> {
        let layout = Layout::of(format);
        let (entries, made, begins, room, spare) = Default::default();
        Sorter { keys, layout, entries, made, begins, room, spare }
    }

    /// An empty run, in the memory that was kept if there is some.
    #[must_use]
    pub fn spare(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.spare)
    }

    /// Keeps the memory of a run for the next one.
    pub fn keep(&mut self, mut run: Vec<u8>) {
        run.clear();
        self.spare = run;
    }

    /// Appends the records of a block, in their order, to an empty run.
    ///
    /// # Errors
    /// A record has no such field, or the field is not a number.
    pub fn sort(&mut self, block: &Block, run: &mut Vec<u8>) -> Result<(), Error> {
        let data = self.enter(block)?;
        let pieces = &block.pieces;
        let record = |entry: u128| block.data(pieces[entry as u32 as usize]);
        if self.keys.are_short() {
            self.entries.sort_unstable();
        } else if self.begins.is_empty() {
            let keys = self.keys;
            self.entries.sort_unstable_by(|&one, &other| {
                let key = |entry| keys.in_record(record(entry));
                (one >> 32).cmp(&(other >> 32)).then_with(|| key(one).cmp(key(other)).then(one.cmp(&other)))
            });
        } else {
            let (made, begins) = (&self.made, &self.begins);
            let key = |entry: u128| {
                let number = entry as u32 as usize;
                &made[begins[number]..begins.get(number + 1).copied().unwrap_or(made.len())]
            };
            self.entries.sort_unstable_by(|&one, &other| {
                (one >> 32).cmp(&(other >> 32)).then_with(|| key(one).cmp(key(other)).then(one.cmp(&other)))
            });
        }
        run.reserve_exact(self.layout.bytes(self.entries.len(), data));
        for &entry in &self.entries {
            self.layout.append(record(entry), run);
        }
        Ok(())
    }

    /// Reads all keys. Returns the bytes of all records.
    fn enter(&mut self, block: &Block) -> Result<usize, Error> {
        self.entries.clear();
        self.made.clear();
        self.begins.clear();
        let makes = !self.keys.are_short() && !self.keys.are_in_records();
        let mut data = 0;
        for (number, &piece) in block.pieces.iter().enumerate() {
            let record = block.data(piece);
            data += record.len();
            let prefix = if makes {
                self.keys.key(record, &mut self.room).map(|key| {
                    self.begins.push(self.made.len());
                    self.made.extend_from_slice(key);
                    prefix(key)
                })
            } else {
                self.keys.prefix(record, &mut self.room)
            };
            let prefix = prefix.map_err(|why| Error::Field { place: block.place_of(piece), why })?;
            self.entries.push(prefix | number as u128);
        }
        Ok(data)
    }
}
