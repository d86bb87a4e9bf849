//! Lines by Rust's standard library: `writer HOW ENDING LINES FILE`. HOW is file, line (a buffer that flushes at line ends) or print.

use std::fs::{File, OpenOptions};
use std::io::{LineWriter, Write};
use std::process::Command;

unsafe extern "C" {
    fn kill(process: i32, signal: i32) -> i32;
    fn getpid() -> i32;
    fn _exit(code: i32) -> !;
}

struct Lines {
    out: Box<dyn Write + Send>,
    number: usize,
}

impl Lines {
    fn write(&mut self, count: usize) {
        for _ in 0..count {
            let text = format!("{:06} {:x<125}\n", self.number, "");
            self.number += 1;
            self.out.write_all(text.as_bytes()).expect("written");
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (how, ending, count, path) = (&words[1], &words[2], words[3].parse().expect("a number"), &words[4]);
    let out: Box<dyn Write + Send> = match how.as_str() {
        "file" => Box::new(File::create(path).expect("created")),
        "line" => Box::new(LineWriter::new(File::create(path).expect("created"))),
        _ => Box::new(std::io::stdout()),
    };
    let mut lines = Lines { out, number: 0 };
    lines.write(count);
    match ending.as_str() {
        "exit" => std::process::exit(3),
        "return" => {}
        // SAFETY: it ends the process.
        "_exit" => unsafe { _exit(4) },
        "abort" => std::process::abort(),
        // SAFETY: signals to the own process.
        "kill" => unsafe { assert_eq!(kill(getpid(), 9), 0) },
        // SAFETY: as above.
        "segv" => unsafe { assert_eq!(kill(getpid(), 11), 0) },
        "panic" => panic!("on purpose"),
        "run" => {
            let counted = format!("wc -c < {path} >> counted");
            assert!(Command::new("/bin/sh").args(["-c", &counted]).status().expect("run").success());
            lines.write(10);
        }
        "threads" => {
            std::thread::scope(|scope| {
                scope.spawn(|| lines.write(10));
            });
            lines.write(10);
        }
        "reopened" if how != "print" => {
            lines.out = Box::new(OpenOptions::new().append(true).open(path).expect("opened"));
            lines.write(10);
        }
        "renamed" if how != "print" => {
            lines.out = Box::new(std::io::sink());
            std::fs::rename(path, format!("{path}.new")).expect("renamed");
        }
        "read-back" => {
            for _ in 0..3 {
                let size = std::fs::metadata(path).expect("there").len();
                let read = std::fs::read(path).expect("read").len();
                let mut seen = OpenOptions::new().create(true).append(true).open("seen").expect("opened");
                writeln!(seen, "{size} {read}").expect("written");
                lines.write(10);
            }
        }
        _ => std::process::exit(99),
    }
}
