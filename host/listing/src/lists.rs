//! Lists of data sets: recognised by their labels, so that the report can name the command that reads them.
//! A DD statement holds everything that the rule of listed block sizes needs, so that rule answers it.
//!
//! | list | recognised by |
//! |---|---|
//! | ISPF 3.4 | a heading with Dsorg, Recfm and Blksz, in any order |
//! | LISTDS | `--RECFM-LRECL-BLKSIZE-DSORG`, in any order |
//! | LISTCAT | `NONVSAM ------- name` |
//! | loads by block size | a heading with Blocksize, EXCPs and Elapsed Time: timings, and in print that was copied run together |
//!
//! | DD statement | `RECFM=U`, a `BLKSIZE=` of 8,192 or less, and what makes it a PDS: `DSORG=PO`, or directory blocks in `SPACE=` |
//!
//! Invariant: of each kind one list is named for each listing, however many pages it has.
//! Not here: reading them (the library survey).

use crate::lines::Line;
use crate::model::{Item, Unread};
use crate::words::{evidence, find, has, split};

/// The first words of the text that names a list.
pub const LISTS: [&str; 3] =
    ["a list of data sets", "timings of loads by block size", "a load library in job control"];

/// Blocks up to this are small.
const SMALL: u64 = 8192;

/// The state between lines.
#[derive(Default)]
pub(crate) struct Lists {
    said: [bool; 4],
}

impl Lists {
    /// Reads a line.
    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) {
        if let Some(size) = defined(line.text).filter(|_| line.whole) {
            let why = format!(
                "{} with blocks of {size}: 32760 loads a large module with fewer channel programs and takes no more tracks; a PDSE \
                 has pages of its own (`underbar explain block-size-listed`)",
                LISTS[2]
            );
            return out(Item::Unread(Unread { evidence: evidence(line.number, line.text), why }));
        }
        let Some(kind) = kind(line.text) else { return };
        if std::mem::replace(&mut self.said[kind], true) {
            return;
        }
        let why = match ["ISPF 3.4", "LISTDS", "LISTCAT"].get(kind) {
            Some(name) => format!(
                "{} ({name}): `underbar lib survey FILE` reads it and advises on its load libraries",
                LISTS[0]
            ),
            None => format!(
                "{}: layout not known, not read; `underbar explain block-size` has the rule",
                LISTS[1]
            ),
        };
        out(Item::Unread(Unread { evidence: evidence(line.number, line.text), why }));
    }
}

/// The block size of a PDS for programs in a DD statement, if it is small. The whole statement is on one line.
fn defined(text: &[u8]) -> Option<u64> {
    let start = text.strip_prefix(b"//").filter(|rest| !rest.starts_with(b"*"))?;
    let operands = split(start).skip_while(|word| !word.eq_ignore_ascii_case(b"DD")).nth(1)?;
    let value = |name: &[u8]| {
        let at = find(operands, name)?;
        let free = at == 0 || !operands[at - 1].is_ascii_alphanumeric();
        free.then(|| &operands[at + name.len()..])
    };
    let word = |text: &'_ [u8]| {
        text.iter()
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .map(u8::to_ascii_uppercase)
            .collect::<Vec<u8>>()
    };
    let is = |name: &[u8], expect: &[u8]| value(name).is_some_and(|value| word(value) == expect);
    // (CYL,(10,5,100)): the third is the directory.
    let directory = || {
        let inner = value(b"space=(")?.split(|byte| *byte == b'(').nth(1)?;
        let blocks = inner.split(|byte| *byte == b')').next()?.split(|byte| *byte == b',').nth(2)?;
        (!blocks.is_empty() && blocks.iter().all(u8::is_ascii_digit)).then_some(())
    };
    let partitioned = is(b"dsorg=", b"PO") || directory().is_some();
    if !partitioned || !is(b"recfm=", b"U") || value(b"dsntype=").is_some() {
        return None;
    }
    let digits = word(value(b"blksize=")?);
    let size: u64 = String::from_utf8(digits).ok()?.parse().ok()?;
    (1..=SMALL).contains(&size).then_some(size)
}

fn kind(text: &[u8]) -> Option<usize> {
    let words: Vec<&[u8]> = split(text).collect();
    let is_word = |names: &[&str]| {
        words.iter().any(|word| names.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes())))
    };
    if is_word(&["dsorg", "org"]) && is_word(&["recfm"]) && is_word(&["blksz", "blksize"]) {
        return Some(0);
    }
    let names = ["blocksize", "excps", "elapsed time"];
    if names.iter().all(|name| has(text, name)) {
        return Some(3);
    }
    let joined = |word: &&[u8]| word.starts_with(b"--") && has(word, "recfm-") && has(word, "blksize");
    let joined_last = |word: &&[u8]| word.starts_with(b"--") && has(word, "blksize-") && has(word, "recfm");
    if words.iter().any(|word| joined(word) || joined_last(word)) {
        return Some(1);
    }
    let entry = words.windows(3).any(|three| {
        three[0].eq_ignore_ascii_case(b"nonvsam")
            && three[1].len() >= 3
            && three[1].iter().all(|byte| *byte == b'-')
            && three[2].contains(&b'.')
    });
    entry.then_some(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_blocks_of_a_load_library_in_job_control() {
        let check = |text: &str, expect| assert_eq!(defined(text.as_bytes()), expect, "{text}");
        check(
            "//NEWLIB DD DSN=P.LOAD,DISP=(NEW,CATLG),RECFM=U,BLKSIZE=6144,SPACE=(CYL,(10,5,100)),DSORG=PO",
            Some(6144),
        );
        check("//NEWLIB DD DSN=P.LOAD,RECFM=U,BLKSIZE=6144,SPACE=(CYL,(10,5,100))", Some(6144));
        check("//OUT DD DSN=A.B,DCB=(RECFM=U,BLKSIZE=6144,DSORG=PO)", Some(6144));
        for text in [
            "//NEWLIB DD DSN=P.LOAD,RECFM=U,BLKSIZE=32760,DSORG=PO",
            "//NEWLIB DD DSN=P.LOAD,RECFM=U,BLKSIZE=0,DSORG=PO",
            "//NEWLIB DD DSN=P.LOAD,RECFM=U,BLKSIZE=6144,SPACE=(CYL,(10,5))",
            "//NEWLIB DD DSN=P.SRC,RECFM=FB,BLKSIZE=6160,DSORG=PO",
            "//NEWLIB DD DSN=P.LOAD,RECFM=U,BLKSIZE=6144,DSORG=PO,DSNTYPE=LIBRARY",
            "//NEWLIB DD DSN=P.LOAD,RECFM=U,BLKSIZE=6K,DSORG=PO",
            "//* DD DSN=P.LOAD,RECFM=U,BLKSIZE=6144,DSORG=PO",
            "RECFM=U,BLKSIZE=6144,DSORG=PO",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn lists_are_known_by_their_labels() {
        let check = |text: &str, expect| assert_eq!(kind(text.as_bytes()), expect, "{text}");
        check("      Tracks %Used  XT Device  Dsorg Recfm Lrecl Blksz", Some(0));
        check("Name Blksz Recfm Dsorg Volume", Some(0));
        check("--RECFM-LRECL-BLKSIZE-DSORG", Some(1));
        check("--DSORG-BLKSIZE-RECFM", Some(1));
        check(" NONVSAM ------- PROD.LOADLIB", Some(2));
        check("//OUT DD DSN=A.B,DCB=(RECFM=U,BLKSIZE=6144,DSORG=PO)", None);
        check("Block sizeBlocksizeCPU SecondsEXCPsElapsed Time (sec)", Some(3));
        check("NONVSAM data sets are not listed", None);
    }
}
