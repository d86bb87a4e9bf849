//! Rules of callers in the site area: how a walk goes on from a return address, as the host has found it.
//!
//! ```text
//! process   a copied stack ──> ring ──> host walks it by unwind tables ──> a rule for each return address ──> table
//! process   the next sample of these functions: followed by their rules, so nothing is copied
//!
//! table     sets of 4 entries, by the address        entry: return address | rule, and a check of both
//! ```
//!
//! The host writes an entry while threads read it. One that is half written fails its check.
//!
//! Invariant: a rule describes the frame of a function at its call; it says nothing of frames that a signal has interrupted.
//! Not here: the walk (`runtime::sites::rules`), and unwind tables (`host/symbols`).

/// Entries of a set: a line of the processor's cache.
pub const WAYS: usize = 4;
/// Sets: a power of two.
const SETS: usize = 1 << 11;
/// Entries of the table.
pub const ENTRIES: usize = SETS * WAYS;
/// Words of an entry.
pub const ENTRY_WORDS: usize = 2;
/// Bytes of the table.
pub const TABLE_BYTES: usize = ENTRIES * ENTRY_WORDS * 8;

/// How a walk goes on from a function at its call. All distances are in words of eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// It is the first function of its thread: the walk ends.
    pub is_first: bool,
    /// The frame's end is counted from rbp, else from rsp.
    pub is_from_rbp: bool,
    /// How far the frame's end is above that register. The word below the end is the return address.
    pub frame: u16,
    /// How far below the frame's end the caller's rbp is saved; 0: rbp is still the caller's.
    pub saved_rbp: u16,
}

const DISTANCE_BITS: u32 = 12;
const DISTANCE: u64 = (1 << DISTANCE_BITS) - 1;
const CHECK_SHIFT: u32 = 32;

impl Rule {
    /// A rule with these distances in bytes; none if an entry has no room for them.
    #[must_use]
    pub fn new(is_first: bool, is_from_rbp: bool, frame: i64, saved_rbp: Option<i64>) -> Option<Self> {
        let words = |bytes: i64| {
            let words = u16::try_from(bytes / 8).ok()?;
            (bytes % 8 == 0 && words > 0 && u64::from(words) <= DISTANCE).then_some(words)
        };
        if is_first {
            return Some(Self { is_first, is_from_rbp: false, frame: 0, saved_rbp: 0 });
        }
        let saved_rbp = saved_rbp.map_or(Some(0), words)?;
        Some(Self { is_first, is_from_rbp, frame: words(frame)?, saved_rbp })
    }

    /// The words of the entry of a return address.
    #[must_use]
    pub const fn entry(self, address: u64) -> [u64; ENTRY_WORDS] {
        let rule = self.is_first as u64
            | (self.is_from_rbp as u64) << 1
            | (self.frame as u64 & DISTANCE) << 2
            | (self.saved_rbp as u64 & DISTANCE) << (2 + DISTANCE_BITS);
        [address, rule | check(address, rule) << CHECK_SHIFT]
    }

    /// The rule of a return address, if this is its entry.
    #[must_use]
    #[inline]
    pub const fn of(address: u64, entry: [u64; ENTRY_WORDS]) -> Option<Self> {
        let rule = entry[1] & u32::MAX as u64;
        if entry[0] != address || entry[1] >> CHECK_SHIFT != check(address, rule) {
            return None;
        }
        Some(Self {
            is_first: rule & 1 != 0,
            is_from_rbp: rule & 2 != 0,
            frame: (rule >> 2 & DISTANCE) as u16,
            saved_rbp: (rule >> (2 + DISTANCE_BITS) & DISTANCE) as u16,
        })
    }
}

#[inline]
const fn check(address: u64, rule: u64) -> u64 {
    // An empty entry has none.
    mix(address ^ rule.rotate_left(40)) >> CHECK_SHIFT ^ 1
}

/// The first entry of the set of a return address.
#[must_use]
#[inline]
pub const fn set_of(address: u64) -> usize {
    (mix(address) >> 24) as usize % SETS * WAYS
}

#[inline]
const fn mix(word: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let product = (word ^ word >> 29).wrapping_mul(ODD);
    product ^ product >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_for_its_own_address_only() {
        let rules = [
            Rule::new(false, false, 8, None),
            Rule::new(false, true, 16, Some(16)),
            Rule::new(false, false, 4095 * 8, Some(4095 * 8)),
            Rule::new(true, true, 0, None),
        ];
        for rule in rules.map(|rule| rule.expect("room")) {
            for address in [1, 0x5555_5555_4321, 0x7fff_ffff_ffff] {
                let entry = rule.entry(address);
                assert_eq!(Rule::of(address, entry), Some(rule));
                assert_eq!(Rule::of(address + 1, entry), None);
                // Half of another entry.
                let other = Rule { frame: rule.frame ^ 1, ..rule }.entry(address);
                let torn = [entry[0], entry[1] & u64::from(u32::MAX) | other[1] & u64::from(u32::MAX) << 32];
                assert_eq!(Rule::of(address, torn), None);
                assert!(set_of(address) + WAYS <= ENTRIES && set_of(address).is_multiple_of(WAYS));
            }
        }
        assert_eq!(Rule::of(0, [0, 0]), None, "an empty entry");
    }

    #[test]
    fn frames_that_do_not_fit_have_no_rule() {
        for (frame, saved) in
            [(0, None), (-8, None), (12, None), (4096 * 8, None), (16, Some(-16)), (16, Some(0))]
        {
            assert_eq!(Rule::new(false, false, frame, saved), None, "{frame} {saved:?}");
        }
    }
}
