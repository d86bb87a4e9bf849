//! The command as a user runs it, and its output.
#![allow(dead_code, reason = "each file of tests uses some of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder for one test, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("underbar-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file with this content; its path as text.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("written");
        path.to_str().expect("text").to_owned()
    }

    /// The path of a file, as text.
    pub fn name(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("text").to_owned()
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).expect(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The command, without the options of the user who runs the tests.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_underbar"));
    command.args(arguments).env("XDG_CONFIG_HOME", "/nowhere").env_remove("UNDERBAR_OPTS");
    command
}

/// Exit status, standard output and standard error.
pub fn run(arguments: &[&str]) -> (i32, String, String) {
    said(&command(arguments).output().expect("it runs"))
}

pub fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    (output.status.code().expect("an exit status"), text(&output.stdout), text(&output.stderr))
}

/// The output of a command that succeeds.
pub fn good(arguments: &[&str]) -> String {
    let (code, output, error) = run(arguments);
    assert_eq!((code, error.as_str()), (0, ""), "{arguments:?}\n{output}");
    output
}

/// The message of a command that fails with this status.
pub fn bad(code: i32, arguments: &[&str]) -> String {
    let (found, output, error) = run(arguments);
    assert_eq!((found, output.as_str()), (code, ""), "{arguments:?}\n{error}");
    error
}

/// Saves the report of a run of this program as JSON, and returns its path.
pub fn saved(folder: &Folder, name: &str, program: &[&str]) -> String {
    let path = folder.name(name);
    let (code, _, error) = run(&[&["run", "--json", "-o", &path, "--"], program].concat());
    assert_eq!((code, error.as_str()), (0, ""));
    path
}

/// A mainframe's library as a transmission in this folder, with the members A, B and C; returns its path.
pub fn transmission(folder: &Path) -> String {
    let name = |name: &str| folder.join(name).to_str().expect("text").to_owned();
    let (library, sent) = (name("sent.pdse"), name("sent.xmi"));
    for path in [&library, &sent] {
        let _ = std::fs::remove_file(path);
    }
    good(&["lib", "create", &library]);
    for (member, length) in [("A", 5_000), ("B", 50_000), ("C", 9_000)] {
        let file = name(&format!("{member}.sent"));
        std::fs::write(&file, vec![member.as_bytes()[0]; length]).expect("written");
        good(&["lib", "add", "--name", member, &library, &file]);
    }
    good(&["lib", "export", "-o", &sent, &library]);
    sent
}
