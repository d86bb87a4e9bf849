//! One buffer of a process, as its supervisor has it: the file by a duplicate of the descriptor, and the memory.
//!
//! Invariant: the memory is mapped for a moment only, while the buffer is taken or settled.
//! Not here: the steps (`underbar_filecache::buffer`).

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::SeekFrom;
use rustix::process::Pid;

use underbar_filecache::buffer::{File, HEAD_BYTES, Head, Settled, Wish};
use underbar_filecache::message::Message;
use underbar_sys::shared::SharedPage;

use super::{Kept, NotWritten};

/// A buffer.
pub(super) struct Buffer {
    pub(super) process: Pid,
    pub(super) message: Message,
    file: OwnedFd,
    memory: OwnedFd,
    /// Whether its process was asked to give it up, when it could not be taken.
    pub(super) is_asked_for: bool,
}

impl Buffer {
    /// A buffer whose descriptors are what the message says; None if they are not.
    pub(super) fn new(process: Pid, message: Message, file: OwnedFd, memory: OwnedFd) -> Option<Self> {
        let status = rustix::fs::fstat(&file).ok()?;
        let is_the_file = (status.st_dev, status.st_ino) == (message.device, message.inode);
        let has_room = u64::try_from(rustix::fs::fstat(&memory).ok()?.st_size).ok()?
            >= (HEAD_BYTES as u64).checked_add(message.size)?;
        (is_the_file && has_room).then_some(Self { process, message, file, memory, is_asked_for: false })
    }

    /// Whether it is of that file.
    pub(super) fn is_of(&self, device: u64, inode: u64) -> bool {
        (self.message.device, self.message.inode) == (device, inode)
    }

    fn with_head<R>(&self, then: impl FnOnce(Head<'_>, &mut Duplicate<'_>) -> R) -> Option<R> {
        let length = rustix::fs::fstat(&self.memory).ok()?.st_size.cast_unsigned();
        let page = SharedPage::map(self.memory.as_raw_fd(), 0, length).ok()?;
        let words = page.words().first_chunk()?;
        let most = length.saturating_sub(HEAD_BYTES as u64);
        Some(then(Head(words), &mut Duplicate { file: &self.file, memory: &self.memory, most }))
    }

    /// Takes it from its living process; without a wish, gives it back. False: the process settles, and was stopped meanwhile, or it takes long; it gives the buffer up
    /// after that.
    pub(super) fn take(&self, wish: Option<Wish>) -> bool {
        let mut patience = Patience::new(self.process);
        let number = |error: &io::Error| error.raw_os_error().unwrap_or_default();
        let taken = self.with_head(|head, file| head.take(wish, file, number, || patience.waits()).is_some());
        taken.unwrap_or(true)
    }

    /// Writes what its process left in it, which has ended or waits for that.
    pub(super) fn settle(&self, kept: &mut Kept) {
        let Some(Settled { length, written, lost, .. }) = self.with_head(|head, file| head.settle_left(file))
        else {
            return;
        };
        if length == 0 {
            return;
        }
        kept.buffers += 1;
        kept.bytes += written as u64;
        if let Some((bytes, error)) = lost {
            let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            let path = std::fs::read_link(path).unwrap_or_default();
            kept.not_written.push(NotWritten { path, bytes: bytes as u64, error: error.to_string() });
        }
    }
}

/// How long a process may settle.
struct Patience {
    process: Pid,
    times: u32,
    began: Instant,
}

impl Patience {
    const LONGEST: Duration = Duration::from_secs(5);

    fn new(process: Pid) -> Self {
        Self { process, times: 0, began: Instant::now() }
    }

    fn waits(&mut self) -> bool {
        self.times += 1;
        if self.times < 100 {
            std::thread::yield_now();
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
        !self.times.is_multiple_of(8) || self.is_at_work() && self.began.elapsed() < Self::LONGEST
    }

    /// Whether the process has neither ended nor been stopped.
    fn is_at_work(&self) -> bool {
        let path = format!("/proc/{}/stat", self.process.as_raw_nonzero());
        let text = std::fs::read(path).unwrap_or_default();
        // Behind the name, which may have anything in it.
        let state = text.rsplit(|byte| *byte == b')').next().and_then(|rest| rest.get(1));
        state.is_some_and(|state| !b"TtZXx".contains(state))
    }
}

/// A file by the duplicate of its descriptor.
struct Duplicate<'a> {
    file: &'a OwnedFd,
    memory: &'a OwnedFd,
    /// Bytes of the buffer.
    most: u64,
}

impl Duplicate<'_> {
    fn content(&self, from: usize, to: usize) -> io::Result<Vec<u8>> {
        let is_cut = || io::Error::other("its memory was cut");
        if to as u64 > self.most {
            return Err(is_cut());
        }
        let mut content = vec![0; to - from];
        read_whole(self.memory, &mut content, (HEAD_BYTES + from) as u64).ok_or_else(is_cut)?;
        Ok(content)
    }
}

impl File for Duplicate<'_> {
    type Error = io::Error;

    fn place(&mut self) -> io::Result<u64> {
        Ok(rustix::fs::seek(self.file, SeekFrom::Current(0))?)
    }

    fn write(&mut self, from: usize, to: usize) -> io::Result<usize> {
        match rustix::io::write(self.file, &self.content(from, to)?) {
            Err(rustix::io::Errno::INTR) => Ok(0),
            result => Ok(result?),
        }
    }

    fn has(&mut self, place: u64, length: usize) -> bool {
        let mut there = vec![0; length];
        // A descriptor for writing only cannot be read; by its path it can.
        let by_path = std::fs::File::open(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        by_path.is_ok_and(|file| read_whole(&file, &mut there, place).is_some())
            && self.content(0, length).is_ok_and(|content| content == there)
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
