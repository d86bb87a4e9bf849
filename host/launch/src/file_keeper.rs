//! The supervisor of caches of files: holds duplicates of their descriptors and their memory, and writes what is left in them when their
//! process has ended, whatever ended it.
//!
//! ```text
//! program ── TAKE, LEAVE, DRAIN ──> socket next to the ledger ──> thread of this process ── the process ends ──> settle
//! ```
//!
//! Only the program that this process started may have buffers here: a process that outlives this one would lose its supervisor.
//!
//! Invariant: a buffer is settled by its process or, when that has ended or asks for it, here; never by both at a time. The file of the
//! duplicate is compared with the one that the process named.
//! Not here: the steps of a buffer (`underbar_filecache`), and who calls (`runtime`).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::SeekFrom;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};
use rustix::process::{Pid, PidfdFlags};

use underbar_filecache::buffer::{HEAD_BYTES, Head, LARGEST};
use underbar_filecache::message::{ALL, BYTES, DONE, Kind, Message, SUFFIX};
use underbar_shown::Shown;
use underbar_sys::signal::{self, SignalSet};

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
    pub fn begin(ledger: &Path) -> io::Result<Self> {
        let mut name = ledger.as_os_str().as_bytes().to_vec();
        name.extend_from_slice(SUFFIX);
        let path = PathBuf::from(std::ffi::OsString::from_vec(name));
        let flags = SocketFlags::CLOEXEC;
        let listener = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        rustix::net::bind(&listener, &SocketAddrUnix::new(&path)?)?;
        rustix::net::listen(&listener, 128)?;
        let (ended, end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // Signals are for the thread that attends to the program.
        let mask = signal::block(every_signal()).ok();
        let thread = std::thread::Builder::new()
            .stack_size(256 << 10)
            .spawn(move || Buffers::default().serve(&listener, &ended));
        if let Some(mask) = mask {
            let _ = signal::set_mask(mask);
        }
        Ok(Self { path, end, thread: Some(thread?) })
    }

    /// The program has ended: writes what it left.
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

/// One buffer of a process.
struct Buffer {
    process: Pid,
    message: Message,
    file: OwnedFd,
    memory: OwnedFd,
}

#[derive(Default)]
struct Buffers {
    buffers: Vec<Buffer>,
    /// Processes that have some.
    processes: Vec<(Pid, OwnedFd)>,
    kept: Kept,
}

impl Buffers {
    fn serve(mut self, listener: &OwnedFd, ended: &OwnedFd) -> Kept {
        loop {
            let mut sources = vec![PollFd::new(listener, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
            sources.extend(self.processes.iter().map(|(_, process)| PollFd::new(process, PollFlags::IN)));
            if poll(&mut sources, None).is_err() {
                continue;
            }
            let is_ready: Vec<bool> = sources.iter().map(|source| !source.revents().is_empty()).collect();
            drop(sources);
            if is_ready.first() == Some(&true) {
                while self.answer(listener) {
                    // A process that asks waits for the answer, so there are few at a time.
                    let mut more = [PollFd::new(listener, PollFlags::IN)];
                    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
                    if poll(&mut more, Some(&now)) != Ok(1) {
                        break;
                    }
                }
            }
            self.settle_ended();
            if is_ready.get(1) == Some(&true) {
                return self.kept;
            }
        }
    }

    /// Writes what is left of processes that have ended.
    fn settle_ended(&mut self) {
        let has_ended = |process: &OwnedFd| {
            let mut source = [PollFd::new(process, PollFlags::IN)];
            let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut source, Some(&now)) == Ok(1)
        };
        let gone: Vec<Pid> =
            self.processes.iter().filter(|(_, process)| has_ended(process)).map(|(pid, _)| *pid).collect();
        for pid in gone {
            self.settle(pid, ALL);
            self.processes.retain(|(other, _)| *other != pid);
        }
    }

    /// Settles buffers of a process and gives them up.
    fn settle(&mut self, process: Pid, number: u32) {
        let is_meant =
            |buffer: &Buffer| buffer.process == process && (number == ALL || buffer.message.buffer == number);
        let (mut meant, rest): (Vec<_>, Vec<_>) = self.buffers.drain(..).partition(is_meant);
        self.buffers = rest;
        for buffer in &mut meant {
            buffer.settle(&mut self.kept);
        }
    }

    /// Takes one connection. False if there was none.
    fn answer(&mut self, listener: &OwnedFd) -> bool {
        let Ok(connection) = rustix::net::accept_with(listener, SocketFlags::CLOEXEC) else { return false };
        if self.take(&connection).is_some() {
            let _ = rustix::net::send(&connection, &[DONE], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
        true
    }

    fn take(&mut self, connection: &OwnedFd) -> Option<()> {
        let process = socket_peercred(connection).ok()?.pid;
        // The process may die between its connection and its message: then the end of the connection is read.
        let mut bytes = [0; BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut into = [io::IoSliceMut::new(&mut bytes)];
        let received =
            rustix::net::recvmsg(connection, &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC).ok()?;
        let mut descriptors = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(rights) => Some(rights),
            _ => None,
        });
        let mut descriptors = descriptors.next().into_iter().flatten();
        let (file, memory) = (descriptors.next(), descriptors.next());
        if received.bytes != BYTES {
            return None;
        }
        let message = Message::of_bytes(&bytes)?;
        match message.kind {
            Kind::Leave | Kind::Drain => {
                self.settle(process, message.buffer);
                if !self.buffers.iter().any(|buffer| buffer.process == process) {
                    self.processes.retain(|(other, _)| *other != process);
                }
            }
            Kind::Take => {
                if message.size > LARGEST as u64 || !is_our_child(process) {
                    return None;
                }
                let (file, memory) = (file?, memory?);
                if !self.processes.iter().any(|(other, _)| *other == process) {
                    let descriptor = rustix::process::pidfd_open(process, PidfdFlags::empty()).ok()?;
                    self.processes.push((process, descriptor));
                }
                self.settle(process, message.buffer);
                self.buffers.push(Buffer { process, message, file, memory });
            }
        }
        Some(())
    }
}

/// Whether this process started that one.
fn is_our_child(process: Pid) -> bool {
    let Ok(text) = std::fs::read(format!("/proc/{}/stat", process.as_raw_nonzero())) else { return false };
    // Behind the name, which may have anything in it: the state, and the parent.
    let text = String::from_utf8_lossy(&text).into_owned();
    let parent = text.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(1));
    parent.and_then(|parent| parent.parse().ok()) == Some(std::process::id())
}

impl Buffer {
    fn settle(&mut self, kept: &mut Kept) {
        let mut words = [0; 16];
        if rustix::io::pread(&self.memory, &mut words, 0) != Ok(16) {
            return;
        }
        let [state, start] = [0, 8].map(|at| {
            let mut word = [0; 8];
            word.copy_from_slice(&words[at..at + 8]);
            u64::from_le_bytes(word)
        });
        let head = Head::of(state, start);
        let length = head.length();
        if length == 0 {
            return;
        }
        let path = std::fs::read_link(format!("/proc/self/fd/{}", self.file.as_raw_fd())).unwrap_or_default();
        kept.buffers += 1;
        let is_the_file = rustix::fs::fstat(&self.file)
            .is_ok_and(|status| (status.st_dev, status.st_ino) == (self.message.device, self.message.inode));
        let mut content = vec![0; length];
        let lost = if !is_the_file || length as u64 > self.message.size {
            Some((length, "it is another file now".to_owned()))
        } else if read_whole(&self.memory, &mut content, HEAD_BYTES as u64).is_none() {
            Some((length, "its memory was cut".to_owned()))
        } else {
            let settled = head.settle(&mut Duplicate { file: &self.file, content: &content });
            kept.bytes += settled.written as u64;
            settled.lost.map(|(bytes, error)| (bytes, error.to_string()))
        };
        if let Some((bytes, error)) = lost {
            kept.not_written.push(NotWritten { path, bytes: bytes as u64, error });
        }
    }
}

fn read_whole(file: impl AsFd, mut into: &mut [u8], mut at: u64) -> Option<()> {
    while !into.is_empty() {
        let bytes = rustix::io::pread(&file, &mut *into, at).ok().filter(|bytes| *bytes > 0)?;
        into = into.get_mut(bytes..)?;
        at += bytes as u64;
    }
    Some(())
}

/// A file by the duplicate of its descriptor.
struct Duplicate<'a> {
    file: &'a OwnedFd,
    content: &'a [u8],
}

impl underbar_filecache::buffer::File for Duplicate<'_> {
    type Error = io::Error;

    fn place(&mut self) -> io::Result<u64> {
        Ok(rustix::fs::seek(self.file, SeekFrom::Current(0))?)
    }

    fn write(&mut self, from: usize, to: usize) -> io::Result<usize> {
        match rustix::io::write(self.file, self.content.get(from..to).unwrap_or_default()) {
            Err(rustix::io::Errno::INTR) => Ok(0),
            result => Ok(result?),
        }
    }

    fn has(&mut self, place: u64, length: usize) -> bool {
        let mut there = vec![0; length];
        // A descriptor for writing only cannot be read; by its path it can.
        let by_path = std::fs::File::open(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        by_path.is_ok_and(|file| read_whole(&file, &mut there, place).is_some())
            && self.content.get(..length) == Some(&there[..])
    }
}
