//! What the kernel says of a running process: resident memory, threads, CPU time.
//!
//! Invariant: the figures are those of the process for which the file was opened. The kernel ties an open `/proc/NUMBER/stat` to its
//! process: when another one gets the number, reads fail. Before that, its start is compared with that of the slot.
//! Cost: one system call a look, and one for the CPU time.
//! Not here: whether a process that is in doubt counts as alive ([`crate::alive`]).

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::alive::Stat;
use crate::processor_time;

/// Bytes of such a file, at most: a name and some fifty numbers.
const ROOM: usize = 1536;
const PAGE: u64 = 4096;

/// An open file of a process.
pub struct ProcessFile {
    file: File,
    number: u32,
}

/// The kernel's figures of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelFigures {
    /// Resident memory in bytes, with what it shares with others.
    pub resident_bytes: u64,
    /// Its threads.
    pub threads: u64,
    /// CPU time since its start, with ended threads; in nanoseconds.
    pub processor_ns: u64,
}

impl ProcessFile {
    /// Opens that of a process with this number in our namespace. `began_ns`: when its slot says that it began, in nanoseconds of
    /// CLOCK_BOOTTIME. None if there is no such process, or if another one has its number now.
    #[must_use]
    pub fn open(number: u32, began_ns: u64) -> Option<ProcessFile> {
        let file = File::open(format!("/proc/{number}/stat")).ok()?;
        let process = ProcessFile { file, number };
        (!process.stat()?.is_anothers(number, began_ns)).then_some(process)
    }

    /// Its number in our namespace.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Its figures now; None if it has ended.
    #[must_use]
    pub fn look(&self) -> Option<KernelFigures> {
        let stat = self.stat().filter(|stat| !stat.has_ended())?;
        Some(KernelFigures {
            resident_bytes: stat.resident_pages.saturating_mul(PAGE),
            threads: stat.threads,
            processor_ns: processor_time(self.number).unwrap_or(0),
        })
    }

    fn stat(&self) -> Option<Stat> {
        let mut text = [0; ROOM];
        let bytes = self.file.read_at(&mut text, 0).ok()?;
        Stat::read(&text[..bytes])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_has_figures_until_it_ends_and_never_those_of_another() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("a child");
        let file = ProcessFile::open(child.id(), u64::MAX).expect("it lives");
        let figures = file.look().expect("it lives");
        assert_eq!((file.number(), figures.threads), (child.id(), 1));
        assert!(ProcessFile::open(child.id(), 0).is_none(), "it began after the owner of the slot");
        drop(child.stdin.take());
        // `wait` takes its number away from it; the file stays that of the child.
        assert!(child.wait().expect("our child").success());
        assert_eq!(file.look(), None);
        let me = ProcessFile::open(std::process::id(), u64::MAX).and_then(|me| me.look()).expect("this one");
        assert!(me.resident_bytes > 0 && me.processor_ns > 0);
    }
}
