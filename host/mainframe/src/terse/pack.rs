//! PACK: each code adds an entry to the table: the previous code's text and one byte more.
//!
//! ```text
//! entry = { the entry it extends, the byte it adds }     all entries in a ring by their last use, the oldest goes first
//! ```
//!
//! An entry's byte is only known from the next code: it is filled in when that begins. While a code is looked up, the chain of
//! entries is reversed to be written from its beginning, and reversed back.
//!
//! Invariant: the ring changes exactly as in the packer. Codes of a damaged file may make a chain a circle: its steps are
//! counted.
//! Not here: codes and records (the parent).

use super::{CODES, Codes, Fault, Output, RECORD_END};

/// The code of a blank: the table begins as strings of blanks, which are frequent in text records.
const BLANK: u16 = 0x40 + 1;
const FIRST: u16 = RECORD_END + 1;
/// Head of the ring.
const HEAD: usize = 0;

struct Table {
    /// The entry that each entry extends.
    father: [u16; CODES],
    /// The byte it adds, as a code.
    byte: [u16; CODES],
    older: [u16; CODES],
    newer: [u16; CODES],
}

impl Table {
    fn new() -> Box<Table> {
        let mut table =
            Box::new(Table { father: [0; CODES], byte: [0; CODES], older: [0; CODES], newer: [0; CODES] });
        let mut before = BLANK;
        for entry in FIRST..CODES as u16 {
            let at = usize::from(entry);
            (table.father[at], table.byte[at]) = (before, BLANK);
            table.older[at] = if entry == FIRST { 0 } else { entry - 1 };
            table.newer[at] = if at + 1 == CODES { 0 } else { entry + 1 };
            before = entry;
        }
        table.older[HEAD] = CODES as u16 - 1;
        table.newer[HEAD] = FIRST;
        table
    }
}

pub(super) fn unpack(codes: &mut Codes<'_>, output: &mut Output) -> Result<(), Fault> {
    let mut table = Table::new();
    let t = &mut *table;
    // The entry without its byte so far.
    let mut waiting = HEAD;
    while let Some(code) = codes.next()? {
        // The entry at the ring's end is reused for the current text; every entry is an index below 4,096.
        let new = t.older[HEAD];
        let before = t.older[usize::from(new)];
        t.older[HEAD] = before;
        t.newer[usize::from(before)] = 0;
        let (mut entry, mut child, mut last) = (code, 0_u16, new);
        let mut steps = 0;
        while entry > RECORD_END {
            steps += 1;
            if steps > CODES {
                return Err(codes.fault(code));
            }
            let at = usize::from(entry);
            let (newer, older) = (t.newer[at], t.older[at]);
            t.newer[usize::from(older)] = newer;
            t.older[usize::from(newer)] = older;
            t.newer[at] = last;
            t.older[usize::from(last)] = entry;
            last = entry;
            let father = t.father[at];
            t.father[at] = child;
            child = entry;
            entry = father;
        }
        if entry == 0 {
            return Err(codes.fault(code));
        }
        let first = t.newer[HEAD];
        t.newer[usize::from(new)] = first;
        t.older[usize::from(first)] = new;
        t.newer[HEAD] = last;
        t.older[usize::from(last)] = 0;
        t.byte[waiting] = entry;
        output.put(entry, codes)?;
        waiting = new.into();
        while child != 0 {
            let at = usize::from(child);
            let next = t.father[at];
            let byte = t.byte[at];
            if byte == 0 || byte > RECORD_END {
                return Err(codes.fault(code));
            }
            output.put(byte, codes)?;
            t.father[at] = entry;
            entry = child;
            child = next;
        }
        t.father[usize::from(new)] = entry;
    }
    Ok(())
}
