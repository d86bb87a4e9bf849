//! SUM: records with equal keys become one.
//!
//! Invariant: without SUM no record changes. A sum that does not fit is not made: both records stay, as in DFSORT.
//! Not here: the check that the fields are numbers, which is made while the place of a record is known (`order`).

use crate::field::{Field, Short};
use crate::key::Keys;
use crate::statement::Sum;

/// Adds records up, in the order of their keys.
pub struct Sums<'a> {
    keys: &'a Keys,
    fields: &'a [Field],
    short: Short,
    /// The last record, to which others may still be added.
    pending: Vec<u8>,
    has_pending: bool,
    /// Rooms for made keys, and for a record with its new sums.
    rooms: [Vec<u8>; 2],
    sum: Vec<u8>,
}

impl<'a> Sums<'a> {
    /// None: all records stay.
    #[must_use]
    pub fn new(sum: &'a Sum, keys: &'a Keys, short: Short) -> Option<Sums<'a>> {
        let fields = match sum {
            Sum::None => return None,
            Sum::Duplicates => &[],
            Sum::Fields(fields) => &fields[..],
        };
        let (pending, rooms, sum) = Default::default();
        Some(Sums { keys, fields, short, pending, has_pending: false, rooms, sum })
    }

    /// Takes the next record. If it cannot be added to the one before it, that one is complete, and `give` gets it.
    pub fn take(&mut self, record: &[u8], give: impl FnOnce(&[u8])) {
        if self.has_pending {
            if self.is_equal(record) && self.add(record) {
                return;
            }
            give(&self.pending);
        }
        self.pending.clear();
        self.pending.extend_from_slice(record);
        self.has_pending = true;
    }

    /// The last record.
    #[must_use]
    pub fn finish(&mut self) -> Option<&[u8]> {
        std::mem::take(&mut self.has_pending).then_some(&self.pending)
    }

    fn is_equal(&mut self, record: &[u8]) -> bool {
        let [room, other_room] = &mut self.rooms;
        self.keys.key(&self.pending, room).ok() == self.keys.key(record, other_room).ok()
    }

    /// Adds the fields of a record to those of the last one. Returns false, and changes nothing, if a sum does not fit.
    fn add(&mut self, record: &[u8]) -> bool {
        self.sum.clone_from(&self.pending);
        for field in self.fields {
            let numbers = (field.number(&self.pending, self.short), field.number(record, self.short));
            let (Ok(Some(one)), Ok(Some(other))) = numbers else { return false };
            let fits = one.checked_add(other).is_some_and(|sum| field.set_number(&mut self.sum, sum));
            if !fits {
                return false;
            }
        }
        std::mem::swap(&mut self.sum, &mut self.pending);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Kind, Order};

    fn summed(sum: &Sum, records: &[&[u8]]) -> Vec<Vec<u8>> {
        let field = Field { at: 0, length: 1, kind: Kind::Ch };
        let keys = Keys::new(&[Order { field, is_descending: false }], Short::Refused);
        let mut sums = Sums::new(sum, &keys, Short::Refused).expect("a sum");
        let mut all = Vec::new();
        records.iter().for_each(|record| sums.take(record, |whole| all.push(whole.to_vec())));
        all.extend(sums.finish().map(<[u8]>::to_vec));
        assert_eq!(sums.finish(), None);
        all
    }

    #[test]
    fn records_with_equal_keys_become_one() {
        let records: [&[u8]; 4] = [b"a1x", b"a2y", b"b8z", b"b1z"];
        let fields = Sum::Fields(vec![Field { at: 1, length: 1, kind: Kind::Zd }]);
        assert_eq!(summed(&fields, &records), [b"a3x", b"b9z"]);
        assert_eq!(summed(&Sum::Duplicates, &records), [b"a1x", b"b8z"]);
        assert!(summed(&fields, &[]).is_empty());
    }

    #[test]
    fn a_sum_that_does_not_fit_leaves_both_records() {
        let fields = Sum::Fields(vec![Field { at: 1, length: 1, kind: Kind::Zd }]);
        assert_eq!(summed(&fields, &[b"a7", b"a7", b"a2"]), [b"a7", b"a9"]);
    }
}
