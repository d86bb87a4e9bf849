//! Programs that take a sample of themselves, and the samples.
#![allow(dead_code)] // Each test program uses some of it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use underbar_sites::files::Files;
use underbar_sites::maps;
use underbar_sites::record::Recorder;
use underbar_sites::report::{Facts, Report, report};
use underbar_sites::space::{Code, Space};
use underbar_sites::walk::{Kind, Made, Walk, Walker};
use underbar_sites::{Event, Registers, Sample, Stack};

/// A program built from a source of `tests/programs`, with `take`; None if there is no compiler for it.
pub fn built(name: &str, source: &str, flags: &[&str]) -> Option<Program> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("underbar-sites-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let (object, path) = (folder.join("take.o"), folder.join(name));
    let mut take = Command::new("cc");
    take.args(["-c", "-O1", "-fPIC", "-o"]).arg(&object).arg(sources.join("take.c"));
    let source = sources.join(source);
    let mut program = match source.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => {
            let mut program = Command::new("rustc");
            program.args(["--edition=2024", "-g"]).arg(format!("-Clink-arg={}", object.display()));
            program
        }
        extension => {
            let mut program = Command::new(if extension == Some("cc") { "c++" } else { "cc" });
            program.arg("-g").arg(&object).arg("-pthread");
            program
        }
    };
    program.args(flags).arg(&source).arg("-o").arg(&path);
    for command in [&mut take, &mut program] {
        if !command.status().is_ok_and(|status| status.success()) {
            eprintln!("skipped: {name}: cannot be built here");
            return None;
        }
    }
    Some(Program { folder, path })
}

/// A built program; its folder goes with it.
pub struct Program {
    folder: PathBuf,
    pub path: PathBuf,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A sample, and what its process had mapped.
pub struct Taken {
    pub process: u32,
    pub files: Files,
    pub space: Space,
    /// Its registers and stack.
    pub raw: Stack,
    /// The callers by the C library.
    pub frames: Stack,
    /// A record in which its mappings are known.
    pub recorder: Recorder,
}

/// No names of code made at run time.
pub struct Nothing;

impl Made for Nothing {
    fn kind(&self, _: u32, _: u64) -> Option<Kind> {
        None
    }
}

impl Taken {
    pub fn walk(&self, stack: &Stack) -> Walk {
        let Taken { process, files, space, .. } = self;
        Walker { files, space, process: *process, made: &Nothing }.walk(1, stack)
    }
}

impl Taken {
    /// The report of a run with this one sample, of a request of this size.
    pub fn report(mut self, size: u64) -> Report {
        let (process, stack) = (self.process, self.raw.clone());
        let sample = Sample {
            thread: process,
            time: 1,
            address: 0x10,
            size,
            mean: 1 << 19,
            in_use: size,
            most: size,
            stack,
        };
        self.recorder.take(process, Event::Got(sample));
        self.recorder.ended(process, 0);
        report(self.recorder, Facts { program: "callers".to_owned(), ..Facts::default() })
    }
}

/// Runs the program in this way, up to its sample.
pub fn take(program: &Program, how: &str, variables: &[(&str, &str)]) -> Taken {
    take_by(Command::new(&program.path).arg(how).envs(variables.iter().copied()))
}

/// The same with a command that runs until its sample.
pub fn take_by(command: &mut Command) -> Taken {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let taken = read(&mut child);
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").code().is_some(), "{command:?}: it ended by itself");
    taken
}

fn read(child: &mut Child) -> Taken {
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    let mut line = || {
        let mut text = String::new();
        output.read_line(&mut text).expect("a line");
        text.trim().to_owned()
    };
    let numbers = |text: &str| -> Vec<u64> {
        text.split_whitespace().map(|word| u64::from_str_radix(word, 16).expect("a number")).collect()
    };
    let [rip, rsp, rbp, rbx, r12, r13, r14, r15] = numbers(&line())[..] else { panic!("registers") };
    let hex = line();
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("a byte");
    let stack = (0..hex.len()).step_by(2).map(byte).collect();
    let addresses = numbers(&line());
    let process = child.id();
    let text = std::fs::read(format!("/proc/{process}/maps")).expect("its mappings");
    let mut files = Files::default();
    let mut space = Space::default();
    let code = maps::parse(&text)
        .iter()
        .map(|mapping| Code {
            range: mapping.range.clone(),
            offset: mapping.offset,
            file: files.of(process, mapping),
        })
        .collect();
    space.see(0, code);
    let mut recorder =
        Recorder::new(vec!["/tmp".into()], std::time::SystemTime::now() - std::time::Duration::from_secs(60));
    recorder.look(process, 0);
    let registers = Registers { rip, rsp, rbp, rbx, r12, r13, r14, r15 };
    Taken {
        process,
        files,
        space,
        raw: Stack::Raw { registers, stack },
        frames: Stack::Frames { addresses, whole: true },
        recorder,
    }
}
