//! The supervisor of caches of files: holds duplicates of their descriptors and their memory, and writes what is left in them when their
//! process has ended, whatever ended it.
//!
//! ```text
//! program ── TAKE, LEAVE, DRAIN ──> socket next to the ledger ──> thread of this process ── the process ends ──> settle
//! ```
//!
//! Any process of the run may have buffers. One of them at a time has a buffer of a file: before another one writes to it, the buffer of the
//! first is taken and written, so that the bytes are in the file in the order of the writes. When this process ends, it takes the buffers of
//! those that live on.
//!
//! | module | holds |
//! |---|---|
//! | `buffers` | what each message does |
//! | `buffer` | one buffer: taken from a living process, or settled for one that has ended |
//! | `peer` | whether a process is of the run |
//!
//! Invariant: a buffer is settled by its process or here, never by both at a time; its state decides.
//! Not here: the steps of a buffer (`underbar_filecache`), and who calls (`runtime`).

mod buffer;
mod buffers;
mod peer;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::thread::JoinHandle;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use underbar_filecache::message::SUFFIX;
use underbar_shown::Shown;
use underbar_sys::signal::{self, SignalSet};

use crate::LedgerFile;
use buffers::Buffers;

/// Bytes that could not be written when a process had ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotWritten {
    /// The file, by the kernel's name.
    pub path: PathBuf,
    /// How many.
    pub bytes: u64,
    /// Why.
    pub error: String,
}

/// What was done for processes that had ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Buffers that were not empty.
    pub buffers: u64,
    /// Bytes that were written from them.
    pub bytes: u64,
    /// What could not be written.
    pub not_written: Vec<NotWritten>,
    /// Why standard output was not rerouted.
    pub refused: Option<String>,
}

/// A supervisor that works. When it is dropped, so is its socket.
pub struct FileKeeper {
    path: PathBuf,
    end: OwnedFd,
    thread: Option<JoinHandle<Kept>>,
}

impl Kept {
    /// What is to be said of it: what the program can no longer be told.
    pub fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        let lost = self.not_written.iter().map(|lost| {
            let NotWritten { path, bytes, error } = lost;
            format!(
                "{bytes} bytes of {} could not be written after the program had ended: {error}",
                path.shown()
            )
        });
        lost.chain(self.refused.clone())
    }
}

impl FileKeeper {
    /// Begins, next to a ledger.
    ///
    /// # Errors
    /// The system's, or the name is too long for a socket.
    pub fn begin(ledger: &LedgerFile) -> io::Result<Self> {
        let mut buffers = Buffers::new(ledger)?;
        let mut name = ledger.path().as_os_str().as_bytes().to_vec();
        name.extend_from_slice(SUFFIX);
        let path = PathBuf::from(std::ffi::OsString::from_vec(name));
        let flags = SocketFlags::CLOEXEC;
        let listener = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        rustix::net::bind(&listener, &SocketAddrUnix::new(&path)?)?;
        rustix::net::listen(&listener, 128)?;
        let (ended, end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // Signals are for the thread that attends to the program.
        let mask = signal::block(every_signal()).ok();
        let thread =
            std::thread::Builder::new().stack_size(256 << 10).spawn(move || buffers.serve(&listener, &ended));
        if let Some(mask) = mask {
            let _ = signal::set_mask(mask);
        }
        Ok(Self { path, end, thread: Some(thread?) })
    }

    /// The program has ended: writes what it left, and takes the buffers of processes that live on.
    pub fn finish(mut self) -> Kept {
        let _ = rustix::io::write(&self.end, &[0]);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for FileKeeper {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        if self.thread.is_some() {
            let _ = rustix::io::write(&self.end, &[0]);
        }
    }
}

fn every_signal() -> SignalSet {
    (1..=64).fold(SignalSet::NONE, SignalSet::with)
}
