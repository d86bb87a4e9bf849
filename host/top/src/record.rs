//! Recordings: looks as JSON lines, written while they are taken and read again later.
//!
//! ```text
//! look ── one line ──> FILE ── opened: each line read once, its place noted ── looks by number, in any order
//! ```
//!
//! Options and command line of a process are in the first look that has it only: most of a line would be the same again and again.
//!
//! Invariant: any bytes give looks or a message; a recording that is cut or damaged gives the looks before the damage, and says so. A line
//! is never longer than [`LONGEST`], and memory is that of one look and of the names of processes.
//! Not here: the form of a look ([`crate::look`]).

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use underbar_launch::foreign_file;
use underbar_shown::door::{Form, Growing};

use crate::look::{Look, SCHEMA, Who};

/// No line is longer: one with 10,000 processes has 8 MiB.
const LONGEST: u64 = 64 << 20;

/// Writes looks.
pub struct Recorder {
    file: Growing,
    known: HashSet<Who>,
}

impl Recorder {
    /// Makes the file.
    ///
    /// # Errors
    /// Those of making a file.
    pub fn new(path: &Path) -> io::Result<Recorder> {
        Ok(Recorder { file: Growing::new(path)?, known: HashSet::new() })
    }

    /// Adds a look.
    ///
    /// # Errors
    /// Those of writing.
    pub fn add(&mut self, look: &Look) -> io::Result<()> {
        let mut look = look.clone();
        for row in &mut look.processes {
            if !self.known.insert(row.who()) {
                row.options.clear();
                row.command.clear();
            }
        }
        self.file.add(Form::Json, &line(&look))
    }
}

/// A look as a line.
#[must_use]
pub fn line(look: &Look) -> String {
    // Plain structs with string keys: writing them into memory cannot fail.
    let mut line = serde_json::to_string(look).unwrap_or_default();
    line.push('\n');
    line
}

/// A recording that is open.
pub struct Recording {
    file: BufReader<File>,
    /// Where each look begins.
    places: Vec<u64>,
    /// Options and command line of each process.
    words: HashMap<Who, (String, Vec<String>)>,
    /// Why the rest is missing; None: all is there.
    cut: Option<String>,
}

impl Recording {
    /// Opens it, and reads it once.
    ///
    /// # Errors
    /// It cannot be read, or is no recording of this version; in words.
    pub fn open(path: &Path) -> Result<Recording, String> {
        let file = foreign_file::open(path).map_err(|error| error.to_string())?;
        let mut recording =
            Recording { file: BufReader::new(file), places: Vec::new(), words: HashMap::new(), cut: None };
        let mut at = 0;
        loop {
            let text = recording.next_line().map_err(|error| error.to_string())?;
            if text.is_empty() {
                break;
            }
            let number = recording.places.len() + 1;
            let look = match read(&text) {
                Ok(look) => look,
                Err(why) if recording.places.is_empty() => return Err(why),
                Err(_) if text.last() != Some(&b'\n') => {
                    recording.cut = Some(format!("the recording is cut short in look {number}"));
                    break;
                }
                Err(why) => {
                    recording.cut = Some(format!("look {number} of the recording is damaged: {why}"));
                    break;
                }
            };
            for row in look.processes {
                let has_words = !(row.options.is_empty() && row.command.is_empty());
                if has_words {
                    recording.words.entry(row.who()).or_insert((row.options, row.command));
                }
            }
            recording.places.push(at);
            at += text.len() as u64;
        }
        if recording.places.is_empty() {
            return Err("there is no look in it".to_owned());
        }
        Ok(recording)
    }

    /// Looks in it; at least one.
    #[must_use]
    pub fn looks(&self) -> usize {
        self.places.len()
    }

    /// Why the rest is missing.
    #[must_use]
    pub fn cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// The look of that number, from 0 on; None behind the last one, and if the file has changed meanwhile.
    pub fn look(&mut self, number: usize) -> Option<Look> {
        let at = *self.places.get(number)?;
        self.file.seek(SeekFrom::Start(at)).ok()?;
        let text = self.next_line().ok()?;
        let mut look = read(&text).ok()?;
        for row in &mut look.processes {
            if let Some((options, command)) = self.words.get(&row.who()) {
                row.options.clone_from(options);
                row.command.clone_from(command);
            }
        }
        Some(look)
    }

    fn next_line(&mut self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        (&mut self.file).take(LONGEST).read_until(b'\n', &mut text)?;
        Ok(text)
    }
}

/// Reads one line. The version is checked first, so that a newer one is named.
fn read(text: &[u8]) -> Result<Look, String> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema: String,
    }
    let is_other = |_| "it is no recording of `underbar top`".to_owned();
    let version: Version = serde_json::from_slice(text).map_err(is_other)?;
    if version.schema != SCHEMA {
        let schema = underbar_shown::line(&version.schema).into_owned();
        return Err(format!("its schema is {schema}, and this version reads {SCHEMA}"));
    }
    serde_json::from_slice(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Row;
    use std::fs;
    use std::path::PathBuf;

    fn file(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("underbar-record-{name}-{}", std::process::id()))
    }

    fn looks() -> Vec<Look> {
        let row = |requests| Row {
            program: "a\u{1b}[2J\n\"b".to_owned(),
            process: 7,
            requests,
            options: "HEAP(1M)".to_owned(),
            command: vec!["a".to_owned(), "\u{202e}".to_owned()],
            ..Row::default()
        };
        let look = |at_ns: u64| Look {
            schema: SCHEMA.to_owned(),
            at_ns,
            processes: vec![row(at_ns * 3)],
            ..Look::default()
        };
        (1..=4).map(look).collect()
    }

    #[test]
    fn what_was_recorded_comes_back_and_a_cut_one_as_far_as_it_goes() {
        let path = file("whole");
        let mut recorder = Recorder::new(&path).expect("a file");
        looks().iter().for_each(|look| recorder.add(look).expect("written"));
        let bytes = fs::read(&path).expect("there");
        let text = String::from_utf8(bytes.clone()).expect("text");
        assert_eq!((text.lines().count(), text.matches("HEAP(1M)").count()), (4, 1));
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
        let mut whole = Recording::open(&path).expect("a recording");
        assert_eq!((whole.looks(), whole.cut()), (4, None));
        for number in [3, 0, 2, 1] {
            assert_eq!(whole.look(number).as_ref(), looks().get(number));
        }
        assert_eq!(whole.look(4), None);
        // Wherever it is cut, the looks before it are there.
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).expect("written");
            // The last line needs no line feed.
            let full = bytes[..length].iter().filter(|byte| **byte == b'\n').count();
            let is_whole = length > 0 && (bytes[length - 1] == b'\n' || bytes[length] == b'\n');
            let ends = full + usize::from(is_whole && bytes[length - 1] != b'\n');
            match Recording::open(&path) {
                Ok(cut) => {
                    assert_eq!((cut.looks(), cut.cut().is_none()), (ends, is_whole), "{length}");
                }
                Err(_) => assert_eq!(ends, 0, "{length}"),
            }
        }
        fs::remove_file(path).expect("removed");
    }

    #[test]
    fn other_files_are_named_for_what_they_are() {
        let path = file("other");
        let check = |bytes: &[u8], words: &str| {
            fs::write(&path, bytes).expect("written");
            let error = Recording::open(&path).err().expect(words);
            assert!(error.contains(words), "{error}");
        };
        check(b"", "no look");
        check(b"\xff\x00", "no recording");
        check(b"{}\n", "no recording");
        check(
            b"{\"schema\":\"underbar.top/2\"}\n",
            "its schema is underbar.top/2, and this version reads underbar.top/1",
        );
        check(b"{\"schema\":\"x\x1b[2J\"}\n", "no recording");
        check(b"{\"schema\":\"x\\u001b[2J\"}\n", "its schema is x\\x1b[2J");
        check(b"{\"schema\":\"underbar.top/1\"}\n", "missing field");
        let mut text = line(&looks()[0]);
        text += "{\"schema\":\"underbar.top/1\",\"at_ns\":-1}\n";
        fs::write(&path, &text).expect("written");
        let damaged = Recording::open(&path).expect("its first look");
        assert_eq!(damaged.looks(), 1);
        assert!(damaged.cut().is_some_and(|cut| cut.starts_with("look 2 of the recording is damaged")));
        assert!(Recording::open(Path::new("/dev/null")).is_err(), "a device is not opened");
        fs::remove_file(path).expect("removed");
    }
}
