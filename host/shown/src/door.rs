//! The only way for output of the command: to standard output, to standard error, to a file.
//!
//! ```text
//! answer, report, message, progress ── form ── write ──> standard output | standard error | file
//!                                       │
//!                                       text: only line feeds and tabs act       coloured: underbar's colours, too
//!                                       JSON: its own escapes                    screen: moves on a terminal, too
//! ```
//!
//! Invariant: whatever foreign names and texts are in the output, no byte of it controls a terminal or reverses text.
//! Nothing else in the command prints (its `clippy.toml` forbids it), except the programs that demos run: they write their own
//! output.
//! Output never goes to another user's file through a name that the other user made. In a folder where everybody may make files,
//! a link or file is left alone if it belongs neither to this user nor to the folder's owner, and so is a file with a second
//! name. Kernels can be set to enforce this.
//! Not here: names, which pass [`Shown`] when a message is made, so that a line feed in a name begins no new line.

use std::borrow::Cow;
use std::env;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::{Shown, coloured, json, screen, text};
use rustix::fs::OFlags;
use rustix::process::geteuid;
use rustix::termios::tcgetwinsize;

/// The form of a text, which decides the control characters that it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lines for people.
    Text,
    /// Lines with underbar's colours.
    Coloured,
    /// JSON.
    Json,
    /// A picture that is drawn on a terminal: colours, moves, and the few modes that a picture needs.
    Screen,
}

impl Form {
    /// JSON or lines.
    pub fn of(is_json: bool) -> Form {
        if is_json { Form::Json } else { Form::Text }
    }

    /// The text in this form, ready for output.
    fn passed(self, words: &str) -> Cow<'_, str> {
        match self {
            Form::Text => text(words),
            Form::Coloured => Cow::Owned(coloured(words)),
            Form::Json => json(words),
            Form::Screen => Cow::Owned(screen(words)),
        }
    }
}

/// Writes to standard output, to the last byte. A closed pipe is no failure.
pub fn to_output(form: Form, words: &str) -> io::Result<()> {
    is_read(form, words).map(drop)
}

/// Writes to standard output, and says whether somebody still reads there: false for a closed pipe.
pub fn is_read(form: Form, words: &str) -> io::Result<bool> {
    #[allow(clippy::disallowed_methods, reason = "this is the door")]
    let mut output = io::stdout().lock();
    match output.write_all(form.passed(words).as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}

/// Writes to standard error. A closed pipe is no failure.
pub fn to_error(form: Form, words: &str) -> io::Result<()> {
    #[allow(clippy::disallowed_methods, reason = "this is the door")]
    match io::stderr().write_all(form.passed(words).as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// A file that grows by and by, such as a recording.
pub struct Growing(File);

impl Growing {
    /// Makes the file, or empties an existing one.
    pub fn new(path: &Path) -> io::Result<Growing> {
        create(path).map(Growing)
    }

    /// Adds to it.
    pub fn add(&mut self, form: Form, words: &str) -> io::Result<()> {
        self.0.write_all(form.passed(words).as_bytes())
    }
}

/// Is this the name of standard output, as `-o -` gives it?
pub fn is_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// The name of an output in a message.
#[must_use]
pub fn name_of(path: &Path) -> String {
    if is_output(path) { "standard output".to_owned() } else { path.shown().to_string() }
}

/// Writes a file, and replaces its former content; `-` is standard output.
pub fn to_file(path: &Path, form: Form, words: &str) -> io::Result<()> {
    if is_output(path) {
        return to_output(form, words);
    }
    create(path)?.write_all(form.passed(words).as_bytes())
}

/// Writes a file in a form that programs read, such as a profile of pprof, and replaces its former content; `-` is standard output, but
/// no terminal: bytes may steer it.
pub fn bytes_to_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if !is_output(path) {
        return create(path)?.write_all(bytes);
    }
    if output_is_terminal() {
        return Err(io::Error::other("standard output is a terminal"));
    }
    #[allow(clippy::disallowed_methods, reason = "this is the door")]
    let mut output = io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Output that is written piece by piece, to a file or to standard output.
pub struct Pieces {
    /// None: standard output.
    file: Option<File>,
    form: Form,
}

impl Pieces {
    /// Opens a file, and empties it; `-` and None are standard output.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn open(path: Option<&Path>, form: Form) -> io::Result<Pieces> {
        let file = path.filter(|path| !is_output(path)).map(create).transpose()?;
        Ok(Pieces { file, form })
    }

    /// Writes the next piece, whole lines.
    ///
    /// # Errors
    /// It cannot be written. A closed pipe is no failure.
    pub fn write(&mut self, words: &str) -> io::Result<()> {
        match &mut self.file {
            Some(file) => file.write_all(self.form.passed(words).as_bytes()),
            None => to_output(self.form, words),
        }
    }
}

/// Writes a file that others read at any time: they see its former content or the new one, never a part.
///
/// # Errors
/// The file cannot be made, or not put into its place; then the former one remains.
pub fn into_place(path: &Path, form: Form, words: &str) -> io::Result<()> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "this names no file");
    let name = path.file_name().ok_or_else(wrong)?;
    if let Ok(status) = fs::symlink_metadata(path) {
        if status.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        may_be_written(path, &status)?;
    }
    // Hidden, and without the ending of the name: a reader of *.prom does not take it.
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}", std::process::id()));
    let new = path.with_file_name(hidden);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&new)
        .and_then(|mut file| file.write_all(form.passed(words).as_bytes()))
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // It may not be there.
        let _ = fs::remove_file(&new);
    }
    written
}

/// An error if a file could not be written: better before a program runs than after it. Changes no content, and opens no pipe and no
/// device, which may block.
///
/// # Errors
/// Those that writing it would have.
pub fn can_be_written(path: &Path) -> io::Result<()> {
    if is_output(path) {
        return Ok(());
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(found) if !found.is_file() => Ok(()),
        Ok(_) => {
            may_be_written(path, &fs::symlink_metadata(path)?)?;
            OpenOptions::new().append(true).open(path).map(drop)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A link to a file that is not there yet is followed when the file is made.
            if fs::symlink_metadata(path).is_ok() {
                return Ok(());
            }
            OpenOptions::new().write(true).create_new(true).open(path).and_then(|_| fs::remove_file(path))
        }
        Err(error) => Err(error),
    }
}

/// Overwrites the current line of a terminal; an empty text clears it. A failed write is ignored.
pub fn over(words: fmt::Arguments<'_>) {
    let mut words = crate::line(&words.to_string()).into_owned();
    // A line that continues in the next row could not be overwritten.
    if let Some(columns) = error_columns()
        && let Some((end, _)) = words.char_indices().nth(usize::from(columns).saturating_sub(1))
    {
        words.truncate(end);
    }
    #[allow(clippy::disallowed_methods, reason = "this is the door")]
    let _ = io::stderr().write_all(format!("\r\x1b[K{words}").as_bytes());
}

/// Is standard output a terminal?
pub fn output_is_terminal() -> bool {
    #[allow(clippy::disallowed_methods, reason = "this is the door")]
    io::stdout().is_terminal()
}

/// Is standard error a terminal?
pub fn error_is_terminal() -> bool {
    #[allow(clippy::disallowed_methods, reason = "this is the door")]
    io::stderr().is_terminal()
}

/// Columns and rows of the terminal, if standard output is one.
pub fn output_size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(rustix::stdio::stdout()).ok()?;
    Some((size.ws_col, size.ws_row)).filter(|(columns, rows)| *columns > 0 && *rows > 0)
}

/// Columns of the terminal, if standard output is one.
pub fn output_columns() -> Option<u16> {
    columns(rustix::stdio::stdout())
}

/// Columns of the terminal, if standard error is one.
pub fn error_columns() -> Option<u16> {
    columns(rustix::stdio::stderr())
}

/// Can the terminal show block characters, as far as its variables say? The question whether the output is a terminal is another.
pub fn has_blocks() -> bool {
    are_blocks_shown(|name| env::var(name).ok())
}

/// By the encoding of the locale, which the first of its variables with a value decides, and by the kind of terminal: a text
/// console lacks most of them.
fn are_blocks_shown(variable: impl Fn(&str) -> Option<String>) -> bool {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(&variable).find(|value| !value.is_empty());
    let is_unicode = locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    is_unicode && !matches!(variable("TERM").as_deref(), None | Some("dumb" | "linux"))
}

/// None if it is no terminal, or does not know.
fn columns(terminal: BorrowedFd<'_>) -> Option<u16> {
    tcgetwinsize(terminal).ok().map(|size| size.ws_col).filter(|columns| *columns > 0)
}

/// Makes a file, or empties an existing one.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    let status = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Fails if another process makes the file meanwhile.
            return options.create_new(true).open(path);
        }
        status => status?,
    };
    may_be_written(path, &status)?;
    if status.is_symlink() {
        // This user's link in such a folder is safe: no other user can replace it. The file that it names is checked as well.
        match fs::canonicalize(path) {
            Ok(target) if target != path => return create(&target),
            // A pipe of the shell, as in `-o >(gzip)`, is a link to no path; and a link may name a file that does not exist yet.
            _ => return options.create(true).truncate(false).open(path),
        }
    }
    let is_file = status.is_file();
    // Another user may have replaced a file with a pipe; the open does not wait for the pipe's reader.
    let common = OFlags::NOFOLLOW | OFlags::NOCTTY;
    let flags = if is_file { common | OFlags::NONBLOCK } else { common };
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    let status = file.metadata()?;
    may_be_written(path, &status)?;
    if status.is_file() {
        // Emptied only after its owner is known.
        file.set_len(0)?;
    } else if is_file {
        return Err(io::Error::other("another file was put in its place"));
    }
    Ok(file)
}

/// Refuses a file that another user put into a folder where everybody may make files.
fn may_be_written(path: &Path, status: &Metadata) -> io::Result<()> {
    const STICKY: u32 = 0o1000;
    const OTHERS_WRITE: u32 = 0o022;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::metadata(folder)?;
    let is_shared = folder.mode() & STICKY != 0 && folder.mode() & OTHERS_WRITE != 0;
    let refuse = |words| Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
    if is_shared && status.uid() != folder.uid() && status.uid() != geteuid().as_raw() {
        return refuse("another user made it, in a folder where everybody may make files");
    }
    if is_shared && status.is_file() && status.nlink() > 1 {
        return refuse("it has several names (hard links), in a folder where everybody may make files");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

    #[test]
    fn blocks_need_unicode_and_a_terminal_that_has_them() {
        let has = |variables: &[(&str, &str)]| {
            are_blocks_shown(|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let of = |locale, term| has(&[("LC_ALL", ""), ("LC_CTYPE", locale), ("LANG", "C"), ("TERM", term)]);
        assert!(of("de_DE.UTF-8", "xterm") && of("C.utf8", "screen-256color"));
        assert!(!of("C", "xterm") && !of("de_DE.UTF-8", "dumb") && !of("de_DE.UTF-8", "linux"));
        assert!(!has(&[("LC_ALL", "POSIX"), ("LANG", "C.UTF-8"), ("TERM", "xterm")]));
        assert!(!has(&[("TERM", "xterm")]) && !has(&[("LANG", "C.UTF-8")]));
    }

    #[test]
    fn what_leaves_is_of_its_form() {
        let words = "a\n\x1b[1mb\x1b[2J\u{202e}";
        assert_eq!(Form::Text.passed(words), "a\n\\x1b[1mb\\x1b[2J\\u{202e}");
        assert_eq!(Form::Coloured.passed(words), "a\n\x1b[1mb\\x1b[2J\\u{202e}");
        assert_eq!(Form::of(true).passed("\"\u{202e}\""), r#""\u202e""#);
        let picture = "\x1b[?1049h\x1b[2J\x1b[3;10H\x1b[0;7ma";
        assert_eq!(Form::Screen.passed(picture), picture);
        assert_eq!(
            Form::Screen.passed("\x1b]0;t\x07\x1b[6n\x1b[?1h\u{202e}"),
            "\\x1b]0;t\\x07\\x1b[6n\\x1b[?1h\\u{202e}"
        );
    }

    #[test]
    fn a_file_is_written_through_links_and_to_what_is_no_file() {
        let folder = std::env::temp_dir().join(format!("underbar-door-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let (file, link) = (folder.join("file"), folder.join("link"));
        symlink("file", &link).expect("linked");
        for (path, words) in [(&link, "longer words"), (&file, "words"), (&link, "last")] {
            to_file(path, Form::Text, words).expect("written");
            assert_eq!(fs::read_to_string(&file).expect("there"), words);
        }
        to_file(Path::new("/dev/null"), Form::Text, "x").expect("a device");
        // A pipe like that of the shell's `>(...)`, and a named pipe that has a reader.
        let (absent, pipe, to_pipe) = (folder.join("absent"), folder.join("pipe"), folder.join("to-pipe"));
        symlink("made", &absent).expect("linked");
        to_file(&absent, Form::Text, "new").expect("made through the link");
        assert_eq!(fs::read_to_string(folder.join("made")).expect("there"), "new");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        symlink("pipe", &to_pipe).expect("linked");
        for path in [&pipe, &to_pipe] {
            let reader = {
                let pipe = pipe.clone();
                std::thread::spawn(move || fs::read_to_string(pipe).expect("read"))
            };
            to_file(path, Form::Text, "through").expect("written");
            assert_eq!(reader.join().expect("no panic"), "through");
        }
        assert_eq!(
            to_file(&folder, Form::Text, "x").expect_err("a folder").kind(),
            io::ErrorKind::IsADirectory
        );
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_place_is_tried_without_a_trace() {
        let folder = std::env::temp_dir().join(format!("underbar-door-tried-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let (file, absent, link) = (folder.join("file"), folder.join("absent"), folder.join("link"));
        fs::write(&file, "kept").expect("written");
        symlink("nothing", &link).expect("linked");
        for path in [file.as_path(), &absent, &link, Path::new("-"), Path::new("/dev/null")] {
            can_be_written(path).expect("it can be written");
        }
        assert_eq!(fs::read_to_string(&file).expect("there"), "kept");
        for path in [&folder, &folder.join("none/x"), &file.join("x")] {
            assert!(can_be_written(path).is_err(), "{}", path.display());
        }
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 2, "nothing else is left");
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_file_is_put_into_its_place_whole() {
        let folder = std::env::temp_dir().join(format!("underbar-door-place-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let file = folder.join("a.prom");
        for words in ["first\n", "second\n"] {
            into_place(&file, Form::Text, words).expect("written");
            assert_eq!(fs::read_to_string(&file).expect("there"), words);
        }
        // A reader that has the former file open keeps it.
        let former = File::open(&file).expect("there");
        into_place(&file, Form::Text, "third\n").expect("written");
        assert_eq!(io::read_to_string(former).expect("there"), "second\n");
        assert!(
            into_place(&folder, Form::Text, "x").is_err()
                && into_place(Path::new("/"), Form::Text, "x").is_err()
        );
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 1, "nothing else is left");
        let mut pieces = Pieces::open(Some(&file), Form::Text).expect("opened");
        for words in ["one\n", "two\x1b\n"] {
            pieces.write(words).expect("written");
        }
        assert_eq!(fs::read_to_string(&file).expect("there"), "one\ntwo\\x1b\n");
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn what_others_put_where_everybody_may_is_left_alone() {
        const OTHER: u32 = 47_813;
        if !geteuid().is_root() {
            // This user cannot give a file away.
            return;
        }
        let folder = std::env::temp_dir().join(format!("underbar-door-others-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let (kept, file, link) = (folder.join("kept"), folder.join("file"), folder.join("link"));
        fs::write(&kept, "kept").expect("written");
        fs::write(&file, "theirs").expect("written");
        symlink("kept", &link).expect("linked");
        chown(&file, Some(OTHER), None).expect("given away");
        lchown(&link, Some(OTHER), None).expect("given away");
        let mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("a mode");
        mode(0o1777);
        for path in [&file, &link] {
            let error = to_file(path, Form::Text, "ours").expect_err("another's");
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        }
        assert_eq!(fs::read_to_string(&kept).expect("there"), "kept");
        assert_eq!(fs::read_to_string(&file).expect("there"), "theirs");
        // The open does not wait for a reader of another user's pipe, and a file of this user is not emptied by its second name.
        let (pipe, second) = (folder.join("pipe"), folder.join("second"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        chown(&pipe, Some(OTHER), None).expect("given away");
        fs::hard_link(&kept, &second).expect("linked");
        for path in [&pipe, &second] {
            let error = to_file(path, Form::Text, "ours").expect_err("another's");
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        }
        assert_eq!(fs::read_to_string(&kept).expect("there"), "kept");
        fs::remove_file(second).expect("removed");
        // In this user's own folder, this user put it there.
        mode(0o755);
        to_file(&link, Form::Text, "ours").expect("written");
        assert_eq!(fs::read_to_string(&kept).expect("there"), "ours");
        fs::remove_dir_all(folder).expect("removed");
    }
}
