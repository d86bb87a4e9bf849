//! The layers of run-time options, weakest first, and the errors in them.
//!
//! ```text
//! defaults (underbar's, or those of Language Environment)
//! /etc/underbar.opts
//! $XDG_CONFIG_HOME/underbar/opts
//! underbar.opts in the program's folder
//! UNDERBAR_OPTS
//! --opts-file
//! --opts
//! ```
//!
//! The library inside the program gets all layers as one text, and applies them to the defaults in the same order.
//! Invariant: no file is read unasked from the current directory, or if other users can write it. A layer that cannot be
//! read is a warning, and the program still runs.
//! Not here: the grammar (`options`).

use std::env;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use underbar_shown::Shown;

use underbar_options::{Base, Form, ProgramName, Settings, Severity, WhereSet, check, may_name_build_ids};
use underbar_report::model::{OptionInForce, OptionSource, Options};
use underbar_sys::syscall::{O_NOCTTY, O_NONBLOCK};

/// All texts together must fit into one variable of the program's environment, which the kernel limits to 128 KiB.
const MOST_BYTES: usize = 100_000;
/// The most warnings that a run prints. The report and `underbar options` have all of them.
const MOST_WARNINGS: usize = 10;

/// One source of options.
struct Layer {
    source: WhereSet,
    /// How messages name it: a path, or a flag.
    origin: String,
    text: String,
}

/// A message about an option text.
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The layer: a path, or a flag.
    pub origin: String,
    /// Line and column, both from 1.
    pub place: (usize, usize),
    /// The number of Language Environment's message for the same case.
    pub number: Option<&'static str>,
    /// Origin, place and message.
    pub text: String,
    /// The line of the text, with carets under the words at fault.
    pub excerpt: String,
}

/// All sources of options of a run.
pub struct Layers {
    base: Base,
    layers: Vec<Layer>,
    /// Messages about sources that could not be read.
    unread: Vec<String>,
}

impl Layers {
    /// The defaults, without other layers.
    pub fn new(base: Base) -> Layers {
        Layers { base, layers: Vec::new(), unread: Vec::new() }
    }

    /// Reads the layers that every run of `program` has.
    pub fn of_run(base: Base, program: Option<&Path>) -> Layers {
        let mut layers = Layers::new(base);
        layers.add_file(WhereSet::SystemFile, Path::new("/etc/underbar.opts"), false);
        if let Some(folder) = config_folder() {
            layers.add_file(WhereSet::UserFile, &folder.join("underbar/opts"), false);
        }
        let beside = program.and_then(|program| fs::canonicalize(program).ok()?.parent().map(PathBuf::from));
        if let Some(folder) = beside
            && env::current_dir().and_then(fs::canonicalize).is_ok_and(|here| here != folder)
        {
            layers.add_file(WhereSet::ProgramFile, &folder.join("underbar.opts"), false);
        }
        if let Some(text) = env::var_os("UNDERBAR_OPTS") {
            layers.add(
                WhereSet::Environment,
                "UNDERBAR_OPTS".to_owned(),
                text.to_string_lossy().into_owned(),
            );
        }
        layers
    }

    /// Adds a text as the strongest layer, unless all texts together would be too long for the program's environment.
    pub fn add(&mut self, source: WhereSet, origin: String, text: String) {
        if self.text().len() + text.len() > MOST_BYTES {
            self.unread.push(format!("{origin} was left out: {}", too_large()));
            return;
        }
        self.layers.push(Layer { source, origin, text });
    }

    /// Adds a file's text as the strongest layer. A file that the user did not name may be absent, and is not read if other
    /// users can write it.
    pub fn add_file(&mut self, source: WhereSet, path: &Path, asked_for: bool) {
        match read(path, asked_for) {
            Ok(text) => self.add(source, path.shown().to_string(), text),
            Err(error) if !asked_for && error.kind() == io::ErrorKind::NotFound => {}
            // In a folder that this user cannot read, such as another user's, a file counts as absent.
            Err(error)
                if !asked_for
                    && error.kind() == io::ErrorKind::PermissionDenied
                    && fs::metadata(path).is_err() => {}
            Err(error) => self.unread.push(format!("options file {} was left out: {error}", path.shown())),
        }
    }

    /// All texts as one; each begins outside of any program's section.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.layers.iter().map(|layer| layer.text.trim_end()).collect();
        texts.join("\n[*]\n")
    }

    /// The text for a ledger that is read without this command. Such a ledger names no base, so the options of the base come
    /// first.
    pub fn text_with_base(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = Settings::new(self.base).canonical_over(&Settings::new(Base::Underbar), &mut text);
        if text.is_empty() { self.text() } else { format!("{text}\n[*]\n{}", self.text()) }
    }

    /// Can the texts have sections for programs? Each section begins with a bracket, but not every bracket begins a section.
    pub fn may_have_sections(&self) -> bool {
        self.layers.iter().any(|layer| layer.text.contains('['))
    }

    /// The name of the base, for the library.
    pub fn base(&self) -> Option<&'static str> {
        self.base.name()
    }

    /// The options in force for a program.
    pub fn settings(&self, program: &OsStr) -> Settings {
        // The name that the library sees: the file that is executed in the end, and the link by which it is started. It is not
        // needed if no text has a section, as in most runs.
        let found = Some(program).filter(|_| self.may_have_sections()).and_then(underbar_launch::find);
        let Some(found) = found else { return self.settings_of(Path::new(program), OsStr::new("")) };
        match underbar_launch::foreign_file::interpreter(&found) {
            Some(interpreter) => self.settings_of(&interpreter, OsStr::new("")),
            None => self.settings_of(&found, found.file_name().unwrap_or_default()),
        }
    }

    /// The options in force for the program in this file; `started_as` is the name of a link to the file, if the program was
    /// started by one.
    pub fn settings_of(&self, path: &Path, started_as: &OsStr) -> Settings {
        let file =
            Some(path).filter(|_| self.may_have_sections()).and_then(|path| fs::canonicalize(path).ok());
        let path = file.as_deref().unwrap_or(path);
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let started_as = started_as.to_string_lossy();
        let asked_for = self.layers.iter().any(|layer| may_name_build_ids(layer.text.as_bytes()));
        let build_id =
            file.as_deref().filter(|_| asked_for).map(underbar_launch::build_id).unwrap_or_default();
        let program =
            ProgramName { name: name.as_bytes(), started_as: started_as.as_bytes(), build_id: &build_id };
        let texts = self.layers.iter().map(|layer| (layer.source, layer.text.as_bytes()));
        let mut settings = Settings::new(self.base);
        settings.evaluate(texts, &program, &mut |_| ());
        settings
    }

    /// The options given for this run only, by UNDERBAR_OPTS, --opts-file and --opts, as a text for a file.
    pub fn given(&self) -> String {
        let given = [WhereSet::Environment, WhereSet::OptionsFile, WhereSet::CommandLine];
        let layers = self.layers.iter().filter(|layer| given.contains(&layer.source));
        layers
            .map(|layer| {
                let text = layer.text.trim_end();
                // Text after it is outside of its sections.
                let end = if text.contains('[') { "\n[*]" } else { "" };
                format!("\n# Given with {}.\n{text}{end}\n", layer.origin)
            })
            .collect()
    }

    /// The warnings, each with its place and an excerpt.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.unread.clone();
        let found = self.findings().into_iter().filter(|finding| finding.severity == Severity::Warning);
        // With a margin, so that a line of an option text does not look like a message of this command.
        warnings.extend(found.map(|finding| {
            let excerpt: String = finding.excerpt.lines().map(|line| format!("\n  | {line}")).collect();
            finding.text + &excerpt
        }));
        warnings
    }

    /// The first warnings, for a run: all of them would hide its report.
    pub fn first_warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings();
        let more = warnings.len().saturating_sub(MOST_WARNINGS);
        if more > 0 {
            warnings.truncate(MOST_WARNINGS);
            warnings.push(format!("{more} more about the option texts; `underbar options` prints them all"));
        }
        warnings
    }

    /// Notes about options that are accepted without effect, or with less effect than on z/OS.
    pub fn notes(&self) -> Vec<String> {
        let found = self.findings().into_iter().filter(|finding| finding.severity == Severity::Note);
        found.map(|finding| finding.text).collect()
    }

    /// Does a layer of this source have a valid option?
    pub fn has_options_of(&self, source: WhereSet) -> bool {
        self.layers.iter().any(|layer| layer.source == source && check(layer.text.as_bytes(), &mut |_| ()))
    }

    /// Messages about sources that could not be read.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// All messages about the texts, layer by layer, in the order of the text.
    pub fn findings(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for layer in &self.layers {
            check(layer.text.as_bytes(), &mut |diagnostic| {
                let mut excerpt = String::new();
                // Writing to a string cannot fail.
                let _ = diagnostic.write_excerpt(&mut excerpt);
                found.push(Finding {
                    severity: diagnostic.severity(),
                    origin: layer.origin.clone(),
                    place: diagnostic.line_and_column(),
                    number: diagnostic.message_number(),
                    text: format!("{}: {diagnostic}", layer.origin),
                    excerpt: excerpt.trim_end().to_owned(),
                });
            });
        }
        found
    }

    /// Where options were read from, weakest first.
    pub fn origins(&self) -> impl Iterator<Item = &str> {
        self.layers.iter().map(|layer| layer.origin.as_str())
    }

    /// A name for the options of a run that was given none: the defaults, and the sources that apply to every run.
    pub fn words_for_none_given(&self) -> String {
        let is_unasked =
            |source| source == WhereSet::Environment || WhereSet::UNASKED_FILES.contains(&source);
        let layers = self.layers.iter().filter(|layer| is_unasked(layer.source));
        let origins: Vec<&str> = layers.map(|layer| layer.origin.as_str()).collect();
        let base = match self.base {
            Base::LanguageEnvironment => "the defaults of Language Environment",
            _ => "the default options",
        };
        if origins.is_empty() {
            base.to_owned()
        } else {
            format!("{base} and those of {}", origins.join(", "))
        }
    }

    /// The layers in the form of a report, for the program that was started.
    pub fn for_report(&self, program: &OsStr) -> Options {
        self.told(&self.settings(program))
    }

    /// The layers in the form of a report, with these options in force.
    pub fn told(&self, settings: &Settings) -> Options {
        let in_force = settings
            .rows()
            .map(|row| {
                let mut text = String::new();
                // Writing to a string cannot fail.
                let _ = row.write(Form::Exact, &mut text);
                OptionInForce { option: text, where_set: row.where_set().label().to_owned() }
            })
            .collect();
        let sources = self.layers.iter().map(|layer| OptionSource {
            where_set: layer.source.label().to_owned(),
            origin: layer.origin.clone(),
            text: layer.text.clone(),
        });
        Options {
            text: self.text(),
            in_force,
            without_effect: self.notes(),
            errors: self.warnings(),
            sources: sources.collect(),
        }
    }
}

fn config_folder() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))
}

fn too_large() -> String {
    format!("it is too large; all option texts together are limited to {MOST_BYTES} bytes")
}

fn read(path: &Path, asked_for: bool) -> io::Result<String> {
    // Unasked, it may be a pipe, so the open does not wait for a writer. The checks below use the open file: by its name,
    // a different file could be read than was checked.
    let flags = if asked_for { 0 } else { O_NONBLOCK | O_NOCTTY };
    let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    let status = file.metadata()?;
    let trusted = |owner: u32| owner == 0 || owner == our_user();
    if !asked_for && (!trusted(status.uid()) || status.mode() & 0o022 != 0) {
        return Err(io::Error::other("other users can write it; pass it with --opts-file to use it anyway"));
    }
    // Asked for, it may be a pipe of the shell: `--opts-file <(...)`. Unasked, a pipe would make the program wait.
    if !asked_for && !status.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    let mut bytes = Vec::new();
    // With a limit, since /dev/zero has no end.
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MOST_BYTES {
        return Err(io::Error::other(too_large()));
    }
    if bytes.contains(&0) {
        return Err(io::Error::other("it is not text"));
    }
    underbar_options::take_off_numbers(&mut bytes);
    // An invalid character is an error only at its own place.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn our_user() -> u32 {
    underbar_launch::user()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use underbar_options::Size;

    #[test]
    fn a_stronger_layer_wins_and_the_report_says_which() {
        let mut layers = Layers::new(Base::Underbar);
        layers.add(WhereSet::UserFile, "opts".to_owned(), "HEAP(1M,2M)\n[cc1plus]\nHEAP(8M)".to_owned());
        layers.add(WhereSet::CommandLine, "--opts".to_owned(), "HEAP(4M)".to_owned());
        let heap = layers.settings("/usr/bin/ls".as_ref()).heap();
        assert_eq!((heap.init, heap.increment), (Size::Bytes(4 << 20), Size::Bytes(2 << 20)));
        // The library reads the whole text at once, with the same result.
        let program = ProgramName { name: b"cc1plus", started_as: b"", build_id: b"" };
        let text = layers.text();
        let text = [(WhereSet::Environment, text.as_bytes())];
        let mut at_once = Settings::new(Base::Underbar);
        at_once.evaluate(text, &program, &mut |_| ());
        assert!(at_once.same_values(&layers.settings("cc1plus".as_ref())));
        let report = layers.for_report("ls".as_ref());
        let heap = report.in_force.iter().find(|option| option.option.starts_with("HEAP(")).expect("HEAP");
        assert_eq!(heap.where_set, "command line (--opts)");
    }

    #[test]
    fn the_file_that_is_read_is_the_one_that_was_judged() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let folder = env::temp_dir().join(format!("underbar-judged-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let (safe, open, name) = (folder.join("safe"), folder.join("open"), folder.join("opts"));
        for (path, text, mode) in [(&safe, "HEAP(1M)", 0o600), (&open, "HEAP(2M)", 0o666)] {
            fs::write(path, text).expect("written");
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        }
        fs::hard_link(&safe, &name).expect("linked");
        let (is_over, mut read_safe) = (AtomicBool::new(false), 0);
        std::thread::scope(|scope| {
            // One name for both files by turns, as another user could do in a folder that he can write.
            scope.spawn(|| {
                let beside = folder.join("beside");
                for file in [&open, &safe].into_iter().cycle() {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    fs::hard_link(file, &beside).and_then(|()| fs::rename(&beside, &name)).expect("renamed");
                }
            });
            while read_safe < 5_000 {
                match read(&name, false) {
                    Ok(text) => {
                        // Set before the assertion fails: the other thread would not end by itself.
                        is_over.store(text != "HEAP(1M)", Ordering::Relaxed);
                        assert_eq!(text, "HEAP(1M)", "other users can write it");
                        read_safe += 1;
                    }
                    Err(error) => assert!(error.to_string().starts_with("other users can write"), "{error}"),
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_file_without_an_end_is_no_file_of_options() {
        let endless = read("/dev/zero".as_ref(), true).expect_err("too large");
        assert_eq!(
            endless.to_string(),
            "it is too large; all option texts together are limited to 100000 bytes"
        );
    }

    #[test]
    fn a_data_set_of_ceeopts_is_read_as_it_lies_there() {
        let path = env::temp_dir().join(format!("underbar-ceeopts-{}", std::process::id()));
        let lines = ["HEAP(1M,", "* between", "4M,,FREE),", "THREADSTAK(ON)"];
        let records = lines.map(|line| format!("{line:<72}00010000\n"));
        fs::write(&path, records.concat()).expect("written");
        let mut layers = Layers::new(Base::Underbar);
        layers.add_file(WhereSet::OptionsFile, &path, true);
        fs::remove_file(&path).expect("removed");
        let heap = layers.settings("ls".as_ref()).heap();
        assert_eq!((heap.init, heap.increment), (Size::Bytes(1 << 20), Size::Bytes(4 << 20)));
        let places: Vec<_> = layers.findings().iter().map(|finding| finding.place).collect();
        assert_eq!(places, [(4, 1)], "the error has the right line");
    }

    #[test]
    fn a_text_with_its_base_says_the_same_without_it() {
        let mut layers = Layers::new(Base::LanguageEnvironment);
        layers.add(WhereSet::CommandLine, "--opts".to_owned(), "HEAP(,2M)".to_owned());
        let mut read = Layers::new(Base::Underbar);
        read.add(WhereSet::Environment, "ledger".to_owned(), layers.text_with_base());
        let (said, meant) = (read.settings("ls".as_ref()), layers.settings("ls".as_ref()));
        assert_eq!(said.heap(), meant.heap());
        assert_eq!(said.heap().init, Size::Bytes(32 << 10));
        assert_eq!(Layers::new(Base::Underbar).text_with_base(), "");
    }

    #[test]
    fn what_is_wrong_names_its_layer_and_its_place() {
        let mut layers = Layers::new(Base::Underbar);
        layers.add(WhereSet::CommandLine, "--opts".to_owned(), "HEPA(1M)".to_owned());
        let warnings = layers.warnings();
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].starts_with("--opts: column 1: HEPA"), "{}", warnings[0]);
        assert!(warnings[0].ends_with("\n  | HEPA(1M)\n  | ^^^^"), "{}", warnings[0]);
    }

    #[test]
    fn no_line_of_an_option_text_begins_like_a_message() {
        let mut layers = Layers::new(Base::Underbar);
        let text = "HEPA(1M)\nunderbar: error: all is lost\nunderbar: warning: HEPA(";
        layers.add(WhereSet::CommandLine, "--opts".to_owned(), text.to_owned());
        let lines: Vec<String> =
            layers.warnings().iter().flat_map(|text| text.lines().skip(1)).map(str::to_owned).collect();
        assert!(lines.len() > 4 && lines.iter().all(|line| line.starts_with("  | ")), "{lines:?}");
    }

    #[test]
    fn a_file_that_others_can_write_is_read_only_where_asked_for() {
        let path = env::temp_dir().join(format!("underbar-layers-{}", std::process::id()));
        fs::write(&path, "HEAP(1M)").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("opened");
        let mut layers = Layers::new(Base::Underbar);
        layers.add_file(WhereSet::UserFile, &path, false);
        assert_eq!((layers.layers.len(), layers.warnings().len()), (0, 1));
        layers.add_file(WhereSet::OptionsFile, &path, true);
        assert_eq!(layers.layers.len(), 1);
        fs::remove_file(path).expect("removed");
    }
}
