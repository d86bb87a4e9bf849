//! Lists of data sets: recognised by their labels, so that it can be said which command reads them.
//!
//! | list | recognised by |
//! |---|---|
//! | ISPF 3.4 | a heading with Dsorg, Recfm and Blksz, in any order |
//! | LISTDS | `--RECFM-LRECL-BLKSIZE-DSORG`, in any order |
//! | LISTCAT | `NONVSAM ------- name` |
//! | loads by block size | a heading with Blocksize, EXCPs and Elapsed Time: timings, and in print that was copied run together |
//!
//! Invariant: of each kind one list is named in a listing, however many pages it has.
//! Not here: reading them, which is the library survey's.

use crate::lines::Line;
use crate::model::{Item, Unread};
use crate::words::{evidence, has, split};

/// How the words begin by which a list is named.
pub const LISTS: [&str; 2] = ["a list of data sets", "timings of loads by block size"];

/// The state between lines.
#[derive(Default)]
pub(crate) struct Lists {
    said: [bool; 4],
}

impl Lists {
    /// Looks at a line.
    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) {
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
