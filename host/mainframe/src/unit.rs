//! Text units: the description of data sets in a transmission.
//!
//! ```text
//! key 2 | count 2 | { length 2 | value } x count | key ...
//! ```
//!
//! Invariant: every unit that is returned was there in full; absurd counts cost nothing, since each value must be there.
//! Not here: the records with units (`netdata`).

use super::bytes::{be16, number, part};
use super::ebcdic::CodePage;

/// The keys that readers and the writer know, each once: number, the field's name.
macro_rules! keys {
    ($($name:ident = $number:literal),* $(,)?) => {
        /// A key of a text unit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names are those of the macro INMR, which every description of the format uses")]
        pub enum Key { $($name),* }

        impl Key {
            const ALL: &[(Key, u16, &str)] = &[$((Key::$name, $number, stringify!($name))),*];
        }
    };
}

keys! {
    Inmddnam = 0x0001, Inmdsnam = 0x0002, Inmmembr = 0x0003, Inmsecnd = 0x000B, Inmdir = 0x000C,
    Inmexpdt = 0x0022, Inmterm = 0x0028, Inmblksz = 0x0030, Inmdsorg = 0x003C, Inmlrecl = 0x0042,
    Inmrecfm = 0x0049, Inmtnode = 0x1001, Inmtuid = 0x1002, Inmfnode = 0x1011, Inmfuid = 0x1012,
    Inmlref = 0x1020, Inmlchg = 0x1021, Inmcreat = 0x1022, Inmfvers = 0x1023, Inmftime = 0x1024,
    Inmttime = 0x1025, Inmfack = 0x1026, Inmerrcd = 0x1027, Inmutiln = 0x1028, Inmuserp = 0x1029,
    Inmrecct = 0x102A, Inmsize = 0x102C, Inmffm = 0x102D, Inmnumf = 0x102F, Inmtype = 0x8012,
}

impl Key {
    /// Its number in the unit.
    #[must_use]
    pub fn number(self) -> u16 {
        // Every key is in the list that the macro makes of the keys.
        Key::ALL.iter().find(|(key, ..)| *key == self).map_or(0, |(_, number, _)| *number)
    }

    /// The key of this number.
    #[must_use]
    pub fn numbered(number: u16) -> Option<Key> {
        Key::ALL.iter().find(|(_, known, _)| *known == number).map(|(key, ..)| *key)
    }

    /// Its name, in capitals.
    #[must_use]
    pub fn name(self) -> String {
        let name = Key::ALL.iter().find(|(key, ..)| *key == self).map_or("", |(.., name)| name);
        name.to_uppercase()
    }
}

/// One unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextUnit {
    /// Its key, which may be unknown.
    pub key: u16,
    /// Its values; none is allowed (INMFACK).
    pub values: Vec<Vec<u8>>,
}

/// Units end in the middle of one: the record's counts are wrong, or it was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text unit at {at} of the control record does not end within it")]
pub struct CutUnit {
    /// The start of the unit in the input.
    pub at: usize,
}

/// Reads units to the end, with those before the fault if there is one.
#[must_use]
pub fn read(bytes: &[u8]) -> (Vec<TextUnit>, Option<CutUnit>) {
    let (mut units, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        match one(bytes, at) {
            Some((unit, next)) => {
                units.push(unit);
                at = next;
            }
            None => return (units, Some(CutUnit { at })),
        }
    }
    (units, None)
}

fn one(bytes: &[u8], at: usize) -> Option<(TextUnit, usize)> {
    let (key, count) = (be16(bytes, at)?, be16(bytes, at + 2)?);
    let (mut values, mut at) = (Vec::new(), at + 4);
    for _ in 0..count {
        let length = usize::from(be16(bytes, at)?);
        values.push(part(bytes, at + 2, length)?.to_vec());
        at += 2 + length;
    }
    Some((TextUnit { key, values }, at))
}

impl TextUnit {
    /// A unit to write.
    #[must_use]
    pub fn new(key: Key, values: Vec<Vec<u8>>) -> TextUnit {
        TextUnit { key: key.number(), values }
    }

    /// A unit with one number, in `length` bytes, at most 8.
    #[must_use]
    pub fn of_number(key: Key, value: u64, length: usize) -> TextUnit {
        TextUnit::new(key, vec![value.to_be_bytes()[8 - length.min(8)..].to_vec()])
    }

    /// Appends its bytes; None if it has more values, or longer ones, than a unit can have.
    pub fn write(&self, to: &mut Vec<u8>) -> Option<()> {
        to.extend(self.key.to_be_bytes());
        to.extend(u16::try_from(self.values.len()).ok()?.to_be_bytes());
        for value in &self.values {
            to.extend(u16::try_from(value.len()).ok()?.to_be_bytes());
            to.extend(value);
        }
        Some(())
    }
}

/// The unit of this key.
#[must_use]
pub fn find(units: &[TextUnit], key: Key) -> Option<&TextUnit> {
    units.iter().find(|unit| unit.key == key.number())
}

/// The first value of this key as a number.
#[must_use]
pub fn value(units: &[TextUnit], key: Key) -> Option<u64> {
    number(find(units, key)?.values.first()?)
}

/// The values of this key as text with dots between, so that qualifiers become a data set's name.
#[must_use]
pub fn text(units: &[TextUnit], key: Key, page: CodePage) -> Option<String> {
    let values = &find(units, key)?.values;
    Some(values.iter().map(|value| page.field(value)).collect::<Vec<_>>().join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_come_back_as_they_were_written() {
        let units = [
            TextUnit::new(Key::Inmfack, Vec::new()),
            TextUnit::of_number(Key::Inmlrecl, 80, 4),
            TextUnit::new(Key::Inmdsnam, vec![vec![0xC1, 0x5B], vec![0xC2]]),
            TextUnit { key: 0x7777, values: vec![Vec::new()] },
        ];
        let mut bytes = Vec::new();
        for unit in &units {
            unit.write(&mut bytes).unwrap();
        }
        let (read, fault) = read(&bytes);
        assert_eq!((read.as_slice(), fault), (units.as_slice(), None));
        assert_eq!(value(&read, Key::Inmlrecl), Some(80));
        assert_eq!(value(&read, Key::Inmfack), None);
        assert_eq!(text(&read, Key::Inmdsnam, CodePage::US).as_deref(), Some("A$.B"));
    }

    #[test]
    fn a_cut_or_absurd_unit_is_named_and_those_before_it_stay() {
        let mut bytes = Vec::new();
        TextUnit::of_number(Key::Inmlrecl, 80, 4).write(&mut bytes).unwrap();
        let whole = bytes.len();
        bytes.extend([0x10, 0x11, 0xFF, 0xFF, 0x00, 0x01, 0x00]);
        for end in whole + 1..=bytes.len() {
            let (units, fault) = read(&bytes[..end]);
            assert_eq!((units.len(), fault), (1, Some(CutUnit { at: whole })));
        }
    }

    #[test]
    fn keys_are_listed_once() {
        for (key, number, name) in Key::ALL {
            assert_eq!(Key::numbered(*number), Some(*key), "{name}");
            assert_eq!(key.number(), *number);
        }
        assert_eq!(Key::Inmutiln.name(), "INMUTILN");
        assert_eq!(Key::numbered(0), None);
    }
}
