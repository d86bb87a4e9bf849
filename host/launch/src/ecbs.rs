//! Displays of ECBs that are alive in running programs, asked for by the control page of their ledger.
//!
//! ```text
//! ask ── control page: EcbDisplay ──> a thread of each program that enters an ECB, or asks for storage
//!  '──<── <ledger>.<process>-<moment>.ecbs: length, text ──<──'
//! ```
//!
//! Invariant: only files next to the ledger that belong to its owner are read, and each is removed when it was.
//! Not here: the display itself (`runtime::heap::ecb::display`).

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use underbar_ledger::control::{DISPLAY_BYTES, Kind, Target};

use crate::control::{ControlError, ControlPage};
use crate::foreign_file;
use crate::ledger::displays;

/// The time between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A display of a process.
#[derive(Debug, PartialEq, Eq)]
pub struct Display {
    /// The process.
    pub process: u32,
    /// Its lines; empty: it has no such ECB.
    pub text: String,
}

/// Asks for the display of an ECB, or of [`EVERY_ECB`]. It waits until that many processes have answered, or as long as that.
///
/// # Errors
/// Those of [`ControlError`].
///
/// [`EVERY_ECB`]: underbar_ledger::control::EVERY_ECB
pub fn ask(
    ledger: &Path,
    which: u64,
    processes: usize,
    patience: Duration,
) -> Result<Vec<Display>, ControlError> {
    let page = ControlPage::open(ledger)?;
    for (_, left) in displays(ledger) {
        let _ = fs::remove_file(left);
    }
    let target = Target { kind: Kind::EcbDisplay, process: 0, object: 0 };
    page.set(target, which)?;
    let (mut found, until) = (Vec::new(), Instant::now() + patience);
    while found.len() < processes && Instant::now() < until {
        let before = found.len();
        for (process, path) in displays(ledger) {
            if let Some(text) = text(&path, ledger) {
                found.push(Display { process, text });
                let _ = fs::remove_file(path);
            }
        }
        if found.len() == before {
            thread::sleep(LOOK_AGAIN);
        }
    }
    page.set(target, 0)?;
    found.sort_by_key(|display| display.process);
    Ok(found)
}

/// The text of a file; None until it is complete, or if it is another user's.
fn text(path: &Path, ledger: &Path) -> Option<String> {
    let file = foreign_file::open_unlinked(path).ok()?;
    if file.metadata().ok()?.uid() != fs::metadata(ledger).ok()?.uid() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(DISPLAY_BYTES as u64).read_to_end(&mut bytes).ok()?;
    let (word, text) = bytes.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*word)).ok()?.checked_sub(1)?;
    Some(String::from_utf8_lossy(text.get(..length)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LedgerFile;
    use underbar_ledger::control::EVERY_ECB;

    #[test]
    fn an_answer_is_read_when_it_is_complete_and_then_removed() {
        let folder = std::env::temp_dir().join(format!("underbar-displays-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder");
        let path = folder.join("1-1.ledger");
        let _ledger = LedgerFile::create_at(&path, b"", false).expect("a ledger");
        let answer = |process: u32, word: u64, text: &str| {
            let mut bytes = word.to_le_bytes().to_vec();
            bytes.extend_from_slice(text.as_bytes());
            fs::write(folder.join(format!("1-1.ledger.{process}-a.ecbs")), bytes).expect("written");
        };
        answer(7, 9, "left by an earlier question");
        let nothing = ask(&path, EVERY_ECB, 1, Duration::ZERO).expect("a control page");
        assert_eq!(nothing, []);
        let asked = thread::scope(|scope| {
            let asked = scope.spawn(|| ask(&path, 5, 2, Duration::from_secs(600)));
            // Answers come after the question, which removes what is there.
            let is_asked = || {
                let bytes = fs::read(&path).expect("a ledger");
                let at = underbar_ledger::layout::CONTROL_OFFSET;
                bytes[at] > 2
            };
            while !is_asked() {
                thread::yield_now();
            }
            answer(9, 0, "not complete");
            answer(8, 4, "ECB and what is behind it");
            answer(9, 5, "MORE");
            asked.join().expect("a thread")
        });
        let found = asked.expect("a control page");
        let of = |process, text: &str| Display { process, text: text.to_owned() };
        assert_eq!(found, [of(8, "ECB"), of(9, "MORE")]);
        assert_eq!(displays(&path), []);
        fs::remove_dir_all(&folder).expect("removed");
    }
}
