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

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::io::IoSlice;
    use std::mem::{MaybeUninit, offset_of};
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileExt, MetadataExt};

    use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
    use underbar_filecache::buffer::HEAD_BYTES;
    use underbar_filecache::message::{DONE, Kind, Message};
    use underbar_ledger::layout::{Directory, SlotState};
    use underbar_ledger::{Header, Identity};

    use super::*;
    use crate::ledger::tests::folder;

    /// Sends a message as a program does; returns the answer, and none if the connection ends without one.
    fn tell(path: &std::path::Path, message: &Message, files: [&File; 2]) -> Option<u8> {
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .expect("a socket");
        rustix::net::connect(&socket, &SocketAddrUnix::new(path).expect("a name")).expect("connected");
        let descriptors = files.map(AsFd::as_fd);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
        let bytes = message.to_bytes();
        rustix::net::sendmsg(&socket, &[IoSlice::new(&bytes)], &mut control, SendFlags::empty())
            .expect("sent");
        let mut answer = [0];
        match rustix::net::recv(&socket, &mut answer, RecvFlags::empty()) {
            Ok((1, _)) => Some(answer[0]),
            _ => None,
        }
    }

    #[test]
    fn a_process_that_is_not_of_the_run_gets_no_buffer() {
        let folder = folder("file-keeper");
        let path = folder.join("1-1.ledger");
        let ledger = LedgerFile::create_at(&path, b"", false).expect("a ledger");
        let keeper = FileKeeper::begin(&ledger).expect("a supervisor");
        let mut new = OpenOptions::new();
        new.read(true).write(true).create(true).truncate(true);
        let [file, memory] = ["file", "memory"].map(|name| new.open(folder.join(name)).expect("a file"));
        memory.set_len(HEAD_BYTES as u64 + 16).expect("pages");
        memory.write_all_at(b"in the buffer", HEAD_BYTES as u64).expect("bytes");
        let status = file.metadata().expect("numbers");
        let message =
            |kind, size| Message { kind, buffer: 0, size, device: status.dev(), inode: status.ino() };
        let take = message(Kind::Take, 16);
        assert_eq!(tell(&keeper.path, &take, [&file, &memory]), None, "it is not in the ledger");
        assert_eq!(tell(&keeper.path, &message(Kind::Escape, 0), [&file, &memory]), None);
        assert_eq!(tell(&keeper.path, &message(Kind::Look, 0), [&file, &memory]), Some(DONE));

        let this = Identity { number: std::process::id(), ..Identity::default() };
        let word = Directory::word(SlotState::Live, this).to_ne_bytes();
        let in_file = OpenOptions::new().write(true).open(&path).expect("the ledger");
        in_file.write_all_at(&word, offset_of!(Header, directory) as u64).expect("written");
        assert_eq!(tell(&keeper.path, &take, [&memory, &file]), None, "the file is another one");
        assert_eq!(tell(&keeper.path, &message(Kind::Take, 17), [&file, &memory]), None, "it is too small");
        assert_eq!(tell(&keeper.path, &take, [&file, &memory]), Some(DONE));
        // Its state: thirteen bytes.
        memory.write_all_at(&13_u64.to_ne_bytes(), 0).expect("a state");
        let kept = keeper.finish();
        assert_eq!(
            (std::fs::read(folder.join("file")).expect("read"), kept.not_written),
            (b"in the buffer".to_vec(), vec![])
        );
        drop(ledger);
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
