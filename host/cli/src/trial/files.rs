//! The files of trials: input that can be read again, captured output, fingerprints; and which of the compared files a run has
//! written.
//!
//! Invariant: no file of the trial has a name while a program runs, so none is left, however the command ends.
//! Not here: their use as a run's streams ([`super::single_run`]).

use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};
use underbar_shown::Shown;

/// The most of a captured text that is shown.
const SHOWN_BYTES: u64 = 2_000;
/// The most lines of it.
const SHOWN_LINES: usize = 10;

/// An empty file without a name. Only this user can read it.
pub fn nameless() -> io::Result<File> {
    let folder = std::env::temp_dir();
    for attempt in 0..1_000 {
        let path = folder.join(format!(".underbar-{}-{attempt}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return fs::remove_file(&path).map(|()| file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(in_folder(&folder, &error)),
        }
    }
    Err(in_folder(&folder, &"too many files"))
}

fn in_folder(folder: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", folder.shown()))
}

/// The standard input of all runs: a copy of the command's own. It is empty if that is a terminal, since no user wants to type
/// the same text thirty times. Calls `waits` before it reads from another process, which may take a long time.
pub fn input(waits: impl FnOnce()) -> io::Result<File> {
    let mut copy = nameless()?;
    let mut given = io::stdin().lock();
    if given.is_terminal() {
        return Ok(copy);
    }
    let kind = File::from(given.as_fd().try_clone_to_owned()?).metadata()?.file_type();
    if kind.is_fifo() || kind.is_socket() {
        waits();
    }
    io::copy(&mut given, &mut copy)?;
    Ok(copy)
}

/// An error if a path to be compared exists and is not a file, such as a folder: its contents would not be compared.
pub fn can_be_compared(checked: &[PathBuf]) -> Result<(), String> {
    let is_other = |path: &&PathBuf| fs::metadata(path).is_ok_and(|found| !found.is_file());
    checked.iter().find(is_other).map_or(Ok(()), |path| {
        Err(format!("--check {}: no file whose contents could be compared; name each file", path.shown()))
    })
}

/// The compared files, as they are before a run.
pub struct Before<'a>(Vec<(&'a Path, Option<State>)>);

/// What changes when a file is written: device, inode, when its inode changed, length.
type State = (u64, u64, i64, i64, u64);

fn state(path: &Path) -> Option<State> {
    let data = fs::metadata(path).ok()?;
    Some((data.dev(), data.ino(), data.ctime(), data.ctime_nsec(), data.len()))
}

/// The longest step of a file system's clock: two changes within one step may have the same time.
const STEP: Duration = Duration::from_millis(20);

impl<'a> Before<'a> {
    /// Reads the state of the files. Waits if a file was written so recently that another change might have the same time.
    pub fn of(checked: &'a [PathBuf]) -> Before<'a> {
        let states: Vec<_> = checked.iter().map(|path| (path.as_path(), state(path))).collect();
        let changed = |state: &State| {
            let since = Duration::new(u64::try_from(state.2).ok()?, u32::try_from(state.3).ok()?);
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + since).ok()
        };
        if let Some(age) = states.iter().filter_map(|(_, state)| changed(state.as_ref()?)).min() {
            thread::sleep(STEP.saturating_sub(age));
        }
        Before(states)
    }

    /// The first of them that does not exist.
    pub fn absent(&self) -> Option<&'a Path> {
        self.0.iter().find(|(path, _)| !path.is_file()).map(|(path, _)| *path)
    }
}

/// A number for the contents of these files: it differs if they differ (except by chance, 2^-53).
///
/// It covers `captured` from its start, then the compared files. A file that cannot be read counts as absent. A file that was
/// not written since `before` counts as not written, whatever an earlier run left in it.
pub fn fingerprint(captured: &mut File, before: &Before<'_>) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    can_grow(captured).map_err(|error| in_folder(&std::env::temp_dir(), &error))?;
    captured.rewind()?;
    add(&mut hasher, captured)?;
    for (path, before) in &before.0 {
        if before.is_some() && state(path) == *before {
            hasher.write_u8(2);
        } else if !path.is_file()
            || File::open(path).and_then(|mut file| add(&mut hasher, &mut file)).is_err()
        {
            hasher.write_u8(0);
        }
    }
    // 53 bits, so that a JSON reader that knows only floating point reads it exactly.
    Ok(hasher.finish() >> 11)
}

/// An error if its file system has no room for more: then what a program wrote may be missing.
fn can_grow(captured: &mut File) -> io::Result<()> {
    let end = captured.seek(SeekFrom::End(0))?;
    captured.write_all(&[0; 4096]).and_then(|()| captured.set_len(end))
}

fn add(hasher: &mut DefaultHasher, file: &mut File) -> io::Result<()> {
    let mut buffer = [0; 16 << 10];
    let mut length = 0_u64;
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => {
                hasher.write(&buffer[..read]);
                length += read as u64;
            }
        }
    }
    // The length marks the end: bytes that move from one file to the next are a difference.
    hasher.write_u64(length);
    hasher.write_u8(1);
    Ok(())
}

/// The end of a captured text, to be shown: a few lines, without control characters.
pub fn tail(file: &mut File) -> String {
    let mut text = || -> io::Result<Vec<u8>> {
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(SHOWN_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let text = String::from_utf8_lossy(&text().unwrap_or_default()).into_owned();
    let clean = |line: &str| line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let lines: Vec<String> = text.lines().map(clean).collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn holding(text: &str) -> File {
        let mut file = nameless().expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        file
    }

    #[test]
    fn fingerprints_differ_with_contents_and_with_their_places() {
        let folder = std::env::temp_dir().join(format!("underbar-files-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let [one, two] = ["one", "two"].map(|name| folder.join(name));
        let mut prints = Vec::new();
        for (output, first, second) in [
            ("a", Some("b"), Some("c")),
            ("ab", Some(""), Some("c")),
            ("a", Some("bc"), Some("")),
            ("a", Some("b"), None),
            ("a", None, Some("b")),
            ("", None, None),
        ] {
            for (path, content) in [(&one, first), (&two, second)] {
                let _ = fs::remove_file(path);
                if let Some(content) = content {
                    fs::write(path, content).expect("written");
                }
            }
            // The state before a run that writes both.
            let before = Before(vec![(&one, None), (&two, None)]);
            let print = fingerprint(&mut holding(output), &before).expect("read");
            assert_eq!(print, fingerprint(&mut holding(output), &before).expect("read"));
            assert!(print < 1 << 53);
            prints.push(print);
        }
        let count = prints.len();
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), count);
        fs::remove_dir_all(folder).expect("removed");
    }

    /// Once, a file left by an earlier run was taken for output of this run.
    #[test]
    fn a_file_that_a_run_does_not_write_is_not_the_same_as_one_that_it_does() {
        let folder = std::env::temp_dir().join(format!("underbar-before-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let checked = [folder.join("file")];
        let print = |run: &dyn Fn()| {
            let before = Before::of(&checked);
            run();
            fingerprint(&mut holding(""), &before).expect("read")
        };
        let writes = || fs::write(&checked[0], "data").expect("written");
        let absent = print(&|| ());
        assert_eq!(Before::of(&checked).absent(), Some(checked[0].as_path()));
        let written = [print(&writes), print(&writes), print(&writes)];
        assert_eq!(Before::of(&checked).absent(), None);
        let left = print(&|| ());
        assert!(written.iter().all(|print| *print == written[0]), "{written:?}");
        assert!(absent != written[0] && left != written[0] && left != absent);
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn the_end_of_a_text_is_shown_clean() {
        let text: String = (0..1_000).map(|line| format!("line {line}\x1b[2J\n")).collect();
        let tail = tail(&mut holding(&text));
        assert_eq!(tail.lines().count(), SHOWN_LINES);
        assert!(tail.ends_with("line 999 [2J") && !tail.contains('\x1b'), "{tail}");
    }
}
