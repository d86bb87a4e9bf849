//! Real programs, run twice: plain, and under `underbar run -q`. Nothing may differ.
//!
//! ```text
//! scratch/work  <- inputs, then all steps plain             -> renamed to scratch/plain
//! scratch/work  <- inputs, then all steps under underbar    -> renamed to scratch/under
//!                   exit status, standard output, standard error of each step, and the named files: equal
//! ```
//!
//! Both runs happen in a folder of the same name, so that a program that prints or stores its own path prints and
//! stores the same. Not here: the programs; they are the table in `tests/real_programs.rs`.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A program to be left unharmed.
#[derive(Default)]
pub struct Program {
    /// Programs that must be on the path, or any one of several joined by `|`.
    pub needs: &'static [&'static str],
    /// Files that exist before the first step, by name.
    pub files: &'static [(&'static str, Content)],
    /// Exit status (128 and the signal's number for death by signal) and command, run one after another in the
    /// scratch folder, each as a process of its own.
    pub steps: &'static [(i32, &'static [&'static str])],
    /// Files whose bytes must be the same afterwards.
    pub outputs: &'static [&'static str],
    /// A text that the last step's standard output must contain: proof that the program did its work.
    pub proof: &'static str,
    /// It refuses to be run by root: `nobody` runs it then.
    pub refuses_superuser: bool,
}

/// The contents of a file at the start.
pub enum Content {
    /// This text.
    Text(&'static str),
    /// The result of the function, which must be the same each time.
    Made(fn() -> String),
}

/// The user for programs that root must not run: nobody.
const NOBODY: u32 = 65_534;
/// The time limit of one step before it counts as hanging. Never reached by a program that works.
const LIMIT_SECONDS: &str = "300";

/// Variables that make programs print the same each time, for any user.
const VARIABLES: [(&str, &str); 13] = [
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
    ("RUST_BACKTRACE", "0"),
    ("PYTHONHASHSEED", "0"),
    ("PERL_HASH_SEED", "0"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_AUTHOR_NAME", "A U Thor"),
    ("GIT_AUTHOR_EMAIL", "author@example.org"),
    ("GIT_AUTHOR_DATE", "1700000000 +0000"),
    ("GIT_COMMITTER_NAME", "C O Mitter"),
    ("GIT_COMMITTER_EMAIL", "committer@example.org"),
    ("GIT_COMMITTER_DATE", "1700000000 +0000"),
];

/// Runs `program` both ways and compares.
///
/// # Panics
/// When anything differs, when a step fails to start, or when the proof is missing. If a required program is not
/// installed the test is skipped loudly; with `UNDERBAR_REQUIRE_ALL` set that panics, too.
pub fn same_under_underbar(name: &str, program: &Program) {
    for need in program.needs {
        if !need.split('|').any(on_path) {
            crate::skip(&format!("real program {name}: {need} is not installed"));
            return;
        }
    }
    let scratch = Scratch::new(name, program);
    let underbar = scratch.underbar.to_str().expect("the path of the command is UTF-8");
    let plain = scratch.run(program, &[], "plain");
    let under = scratch.run(program, &[underbar, "run", "-q", "--"], "under");
    for (((status, step), plain), under) in program.steps.iter().zip(&plain).zip(&under) {
        let step = step.join(" ");
        let ended = plain.status.code().or(plain.status.signal().map(|signal| 128 + signal));
        assert_eq!(ended, Some(*status), "{name}: plain status of `{step}`\n{}", stderr(plain));
        assert_eq!(plain.status, under.status, "{name}: exit status of `{step}`\n{}", stderr(under));
        assert_same(&format!("{name}: standard output of `{step}`"), &plain.stdout, &under.stdout);
        assert_same(&format!("{name}: standard error of `{step}`"), &plain.stderr, &under.stderr);
    }
    let last = plain.last().expect("a program has steps");
    let text = String::from_utf8_lossy(&last.stdout).into_owned();
    assert!(text.contains(program.proof), "{name} did not do its work: {text:?}\n{}", stderr(last));
    for file in program.outputs {
        assert_same(&format!("{name}: {file}"), &scratch.read("plain", file), &scratch.read("under", file));
    }
}

/// Whether a program is on the path.
fn on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// A folder for one test, removed when the test passed.
struct Scratch {
    folder: PathBuf,
    /// The command: a copy of it for another user, since the folder of the build outputs may be closed to others.
    underbar: PathBuf,
    /// The user who runs the steps, if it is not the test's own.
    user: Option<u32>,
}

impl Scratch {
    fn new(name: &str, program: &Program) -> Self {
        let folder = std::env::temp_dir().join(format!("underbar-zoo-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a scratch folder");
        let user = (program.refuses_superuser && crate::is_superuser()).then_some(NOBODY);
        let mut underbar = crate::underbar().to_path_buf();
        if user.is_some() {
            underbar = folder.join("underbar");
            crate::executable::copy(crate::underbar(), &underbar);
            chown(&folder, user, user).expect("given away");
        }
        Self { folder, underbar, user }
    }

    /// Writes the inputs, runs all steps with `before` in front of each, and renames the folder to `aside`.
    fn run(&self, program: &Program, before: &[&str], aside: &str) -> Vec<Output> {
        let work = self.folder.join("work");
        fs::create_dir(&work).expect("a working folder");
        chown(&work, self.user, self.user).expect("given away");
        for (name, content) in program.files {
            let text = match content {
                Content::Text(text) => (*text).to_owned(),
                Content::Made(make) => make(),
            };
            let path = work.join(name);
            fs::create_dir_all(path.parent().expect("a file lies in a folder"))
                .expect("a folder for an input");
            fs::write(path, text).expect("an input");
        }
        let outputs = program.steps.iter().map(|(_, step)| self.one(&work, before, step)).collect();
        fs::rename(&work, self.folder.join(aside)).expect("putting the working folder aside");
        outputs
    }

    /// Runs one step in `work`, with a limit that also ends its descendants.
    fn one(&self, work: &Path, before: &[&str], step: &[&str]) -> Output {
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", LIMIT_SECONDS]).args(before).args(step);
        command.current_dir(work).envs(VARIABLES).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
        if let Some(user) = self.user {
            command.uid(user).gid(user).env("HOME", &self.folder);
        }
        crate::as_user(&mut command)
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("`{}` did not start: {error}", step.join(" ")))
    }

    fn read(&self, aside: &str, file: &str) -> Vec<u8> {
        let path = self.folder.join(aside).join(file);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("left for you to look at: {}", self.folder.display());
        } else {
            // Files that cannot be removed stay in the folder for temporary files.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Compares bytes; the message shows the first difference, not megabytes.
fn assert_same(what: &str, plain: &[u8], under: &[u8]) {
    if plain == under {
        return;
    }
    let at =
        plain.iter().zip(under).position(|(one, other)| one != other).unwrap_or(plain.len().min(under.len()));
    let near = |bytes: &[u8]| {
        let (from, to) = (at.saturating_sub(40).min(bytes.len()), (at + 200).min(bytes.len()));
        String::from_utf8_lossy(&bytes[from..to]).into_owned()
    };
    panic!(
        "{what} differs at byte {at} ({} bytes plain, {} under underbar)\nplain: {:?}\nunder: {:?}",
        plain.len(),
        under.len(),
        near(plain),
        near(under)
    );
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{assert_same, on_path};

    #[test]
    fn equal_bytes_are_the_same_and_a_longer_one_is_not() {
        assert_same("nothing", b"abc", b"abc");
        let longer = std::panic::catch_unwind(|| assert_same("length", b"abc", b"abcd"));
        let text = longer.expect_err("a difference").downcast::<String>().expect("a message");
        assert!(text.contains("length differs at byte 3 (3 bytes plain, 4 under underbar)"), "{text}");
    }

    #[test]
    fn the_shell_is_on_the_path() {
        assert!(on_path("sh") && !on_path("no-program-of-this-name"));
    }
}
