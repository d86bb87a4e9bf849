//! All buffers of a run, and what each message does to them.
//!
//! ```text
//! TAKE by B ─> A has a buffer of the file: taken from A, written ─> B has it
//!              B lost one of this file twice, or it has escaped ──> B writes plainly, and asks (RECALL) before each write if others may have it
//! ```
//!
//! Invariant: one process at a time has a buffer of a file, but for one that is stopped in the middle of its flush: it gives its up after
//! that. The words of the control page are changed before the answer: see `underbar_ledger::control`.
//! Not here: one buffer (`buffer`), who may ask (`peer`).

use std::collections::{HashMap, HashSet};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags};
use rustix::process::{Pid, Resource, getrlimit};

use underbar_filecache::buffer::{LARGEST, Wish};
use underbar_filecache::message::{ALL, BYTES, DONE, Kind, Message, OTHERS};
use underbar_ledger::control::{BUFFERED, BUFFERED_FILES, GRANTED, bit_of_file};
use underbar_ledger::layout::CONTROL_OFFSET;
use underbar_sys::shared::SharedPage;

use super::buffer::Buffer;
use super::{Kept, peer};
use crate::LedgerFile;

/// Device and inode.
type FileNumbers = (u64, u64);

/// How often a file may be taken from a process that then gets it back.
const PATIENCE: u8 = 2;

/// All buffers.
pub(super) struct Buffers {
    buffers: Vec<Buffer>,
    /// Processes that have some.
    processes: Vec<(Pid, OwnedFd)>,
    /// Connections that have yet to send their message.
    silent: Vec<OwnedFd>,
    /// How often a file was taken from a process.
    lost: HashMap<(Pid, FileNumbers), u8>,
    /// Files that a program without the library got.
    escaped: HashSet<FileNumbers>,
    /// Buffers at a time: each takes two descriptors here, and perhaps one of its process.
    most: usize,
    head: SharedPage,
    control: SharedPage,
    kept: Kept,
}

impl Buffers {
    /// None yet.
    ///
    /// # Errors
    /// The ledger cannot be mapped.
    pub(super) fn new(ledger: &LedgerFile) -> io::Result<Self> {
        let control = ledger.page(CONTROL_OFFSET)?;
        control.words()[GRANTED].store(1, Ordering::Release);
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(1 << 20);
        Ok(Self {
            buffers: Vec::new(),
            processes: Vec::new(),
            silent: Vec::new(),
            lost: HashMap::new(),
            escaped: HashSet::new(),
            most: usize::try_from(descriptors / 4).unwrap_or(usize::MAX),
            head: ledger.page(0)?,
            control,
            kept: Kept::default(),
        })
    }

    /// Serves until the run has ended.
    pub(super) fn serve(&mut self, listener: &OwnedFd, ended: &OwnedFd) -> Kept {
        loop {
            let mut sources = vec![PollFd::new(listener, PollFlags::IN), PollFd::new(ended, PollFlags::IN)];
            let processes = self.processes.iter().map(|(_, process)| process);
            sources.extend(processes.chain(&self.silent).map(|source| PollFd::new(source, PollFlags::IN)));
            if poll(&mut sources, None).is_err() {
                continue;
            }
            let is_ready: Vec<bool> = sources.iter().map(|source| !source.revents().is_empty()).collect();
            drop(sources);
            let (has_new, is_over) = (is_ready.first() == Some(&true), is_ready.get(1) == Some(&true));
            self.settle_ended();
            if has_new {
                match rustix::net::accept_with(listener, SocketFlags::CLOEXEC) {
                    Ok(connection) => self.silent.push(connection),
                    // No descriptors are left; the others need a moment to give some back.
                    Err(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
                }
            }
            for connection in std::mem::take(&mut self.silent) {
                if is_ready_now(&connection) {
                    self.answer(&connection);
                } else {
                    self.silent.push(connection);
                }
            }
            if is_over {
                self.settle_ended();
                self.take_back(Wish::End, |_| true);
                return std::mem::take(&mut self.kept);
            }
        }
    }

    /// Writes what is left of processes that have ended.
    fn settle_ended(&mut self) {
        let gone: Vec<Pid> =
            self.processes.iter().filter(|(_, process)| is_ready_now(process)).map(|(pid, _)| *pid).collect();
        for pid in gone {
            self.settle(pid, ALL);
            self.processes.retain(|(other, _)| *other != pid);
            self.lost.retain(|(other, _), _| *other != pid);
        }
    }

    /// Settles buffers of a process and gives them up.
    fn settle(&mut self, process: Pid, number: u32) {
        let is_meant =
            |buffer: &Buffer| buffer.process == process && (number == ALL || buffer.message.buffer == number);
        let (meant, rest): (Vec<_>, Vec<_>) = self.buffers.drain(..).partition(is_meant);
        self.buffers = rest;
        for buffer in &meant {
            buffer.settle(&mut self.kept);
        }
        drop(meant);
        self.count();
    }

    /// Takes buffers from processes that live on.
    fn take_back(&mut self, wish: Wish, is_meant: impl Fn(&Buffer) -> bool) {
        let (meant, rest): (Vec<_>, Vec<_>) =
            self.buffers.drain(..).partition(|buffer| !buffer.is_asked_for && is_meant(buffer));
        self.buffers = rest;
        for mut buffer in meant {
            let file = (buffer.message.device, buffer.message.inode);
            if let (Wish::Others, times) = (wish, self.lost.entry((buffer.process, file)).or_default()) {
                *times = times.saturating_add(1);
            }
            if !buffer.take(Some(wish)) {
                buffer.is_asked_for = true;
                self.buffers.push(buffer);
            }
        }
        self.count();
    }

    fn take_from_others(&mut self, process: Pid, (device, inode): FileNumbers) {
        self.take_back(Wish::Others, |buffer| buffer.process != process && buffer.is_of(device, inode));
    }

    /// Tells the processes how many buffers there are, and of which files.
    fn count(&self) {
        let mut bits = [0_u64; BUFFERED_FILES.end];
        for buffer in &self.buffers {
            let (word, bit) = bit_of_file(buffer.message.device, buffer.message.inode);
            bits[word] |= bit;
        }
        for word in BUFFERED_FILES {
            self.control.words()[word].store(bits[word], Ordering::Release);
        }
        self.control.words()[BUFFERED].store(self.buffers.len() as u64, Ordering::Release);
    }

    /// Receives a message, and does what it asks.
    fn answer(&mut self, connection: &OwnedFd) {
        if let Some(answer) = self.obey(connection) {
            let _ = rustix::net::send(connection, &[answer], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
    }

    fn obey(&mut self, connection: &OwnedFd) -> Option<u8> {
        let process = peer::of(connection)?;
        // The process may die between its connection and its message: then the end of the connection is read.
        let mut bytes = [0; BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut into = [io::IoSliceMut::new(&mut bytes)];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let received = rustix::net::recvmsg(connection, &mut into, &mut ancillary, flags).ok()?;
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
        // What others have in their buffers may be written at any time: a process without accounts may ask for that.
        let is_for_all = matches!(message.kind, Kind::Recall | Kind::Look | Kind::Ended);
        if !is_for_all && !peer::is_of_the_run(&self.head, process) {
            return None;
        }
        // Whoever asks may have seen the end of another process.
        self.settle_ended();
        let numbers = (message.device, message.inode);
        match message.kind {
            Kind::Leave | Kind::Drain => {
                self.settle(process, message.buffer);
                if !self.buffers.iter().any(|buffer| buffer.process == process) {
                    self.processes.retain(|(other, _)| *other != process);
                }
            }
            Kind::Take => return self.take(connection, Buffer::new(process, message, file?, memory?)?),
            Kind::Recall => self.take_from_others(process, numbers),
            Kind::Escape => {
                self.take_from_others(process, numbers);
                self.escaped.insert(numbers);
            }
            Kind::Look => {
                let is_meant =
                    |buffer: &&Buffer| buffer.process != process && buffer.is_of(numbers.0, numbers.1);
                self.buffers.iter().filter(is_meant).for_each(|buffer| {
                    buffer.take(None);
                });
            }
            Kind::Ended => {}
        }
        Some(DONE)
    }

    fn take(&mut self, connection: &OwnedFd, buffer: Buffer) -> Option<u8> {
        let (process, message) = (buffer.process, buffer.message);
        let numbers = (message.device, message.inode);
        if message.size > LARGEST as u64 || self.buffers.len() >= self.most {
            return None;
        }
        if self.escaped.contains(&numbers) || self.lost.get(&(process, numbers)) >= Some(&PATIENCE) {
            return Some(OTHERS);
        }
        if !self.processes.iter().any(|(other, _)| *other == process) {
            self.processes.push((process, peer::open(process, connection)?));
        }
        self.settle(process, message.buffer);
        self.take_from_others(process, numbers);
        self.buffers.push(buffer);
        self.count();
        self.control.words()[GRANTED].fetch_add(1, Ordering::Release);
        Some(DONE)
    }
}

fn is_ready_now(source: &OwnedFd) -> bool {
    let mut source = [PollFd::new(source, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut source, Some(&now)) == Ok(1)
}
