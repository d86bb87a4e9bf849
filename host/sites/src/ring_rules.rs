//! The rules of callers in a site area, as this process writes them there.
//!
//! ```text
//! return address ─> set of 4 entries ─> known already: nothing | a free entry: written | all taken: left out
//! ```
//!
//! Invariant: what is kept here is what was written to the file. A set that is full stays so until all rules are forgotten, so that a
//! program with many callers makes no storm of writes.
//! Not here: which rules there are (`walk`), and who reads them (`runtime::sites`).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use underbar_ledger::site_rules::{ENTRIES, ENTRY_WORDS, Rule, WAYS, set_of};
use underbar_ledger::sites::RULES_OFFSET;

/// The table of one area: the words of each entry; nothing until there is a rule.
#[derive(Default)]
pub struct Rules(Vec<[u64; ENTRY_WORDS]>);

const NONE: [u64; ENTRY_WORDS] = [0; ENTRY_WORDS];

impl Rules {
    /// Adds the rule of a return address, or changes it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, file: &File, address: u64, rule: Rule) -> io::Result<()> {
        if self.0.is_empty() {
            self.0 = vec![NONE; ENTRIES];
        }
        let first = set_of(address);
        let entry = rule.entry(address);
        let Some(set) = self.0.get_mut(first..first + WAYS) else { return Ok(()) };
        let at = set.iter().position(|known| known[0] == address).or_else(|| {
            let free = set.iter().position(|known| *known == NONE);
            free.filter(|_| address != 0)
        });
        if let Some(at) = at
            && set[at] != entry
        {
            set[at] = entry;
            write(file, first + at, &entry)?;
        }
        Ok(())
    }

    /// Forgets all rules.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn clear(&mut self, file: &File) -> io::Result<()> {
        for (at, _) in self.0.iter().enumerate().filter(|(_, entry)| **entry != NONE) {
            write(file, at, &NONE)?;
        }
        self.0.clear();
        Ok(())
    }
}

fn write(file: &File, at: usize, entry: &[u64; ENTRY_WORDS]) -> io::Result<()> {
    let mut bytes = [0; ENTRY_WORDS * 8];
    for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(entry) {
        *place = word.to_le_bytes();
    }
    file.write_all_at(&bytes, (RULES_OFFSET + at * bytes.len()) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_in_the_file_until_they_are_forgotten() {
        let path = std::env::temp_dir().join(format!("underbar-rules-{}", std::process::id()));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.expect("a file");
        let _ = std::fs::remove_file(&path);
        let mut rules = Rules::default();
        let found = |address: u64| -> Option<Rule> {
            (0..WAYS).find_map(|way| {
                let mut bytes = [0; 16];
                let at = RULES_OFFSET + (set_of(address) + way) * 16;
                file.read_exact_at(&mut bytes, at as u64).ok()?;
                let word = |at: usize| bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
                Rule::of(address, [word(0), word(8)])
            })
        };
        let rule = |frame| Rule::new(false, false, frame, None).expect("room");
        // More addresses of one set than it has room for.
        let same: Vec<u64> = (1..).filter(|address| set_of(*address) == set_of(1)).take(WAYS + 1).collect();
        file.set_len((RULES_OFFSET + ENTRIES * 16) as u64).expect("its length");
        for &address in &same {
            rules.add(&file, address, rule(16)).expect("written");
        }
        rules.add(&file, same[1], rule(24)).expect("written");
        let frames: Vec<Option<u16>> =
            same.iter().map(|address| found(*address).map(|rule| rule.frame)).collect();
        assert_eq!(frames, [Some(2), Some(3), Some(2), Some(2), None]);
        rules.clear(&file).expect("written");
        assert!(same.iter().all(|address| found(*address).is_none()));
        rules.add(&file, same[4], rule(8)).expect("written");
        assert!(found(same[4]).is_some());
    }
}
