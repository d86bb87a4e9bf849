//! What a process tells its supervisor: one message for each connection, which the supervisor answers with one byte.
//!
//! ```text
//! process ── TAKE + descriptors of the file and of the memory ──> no other process has a buffer of the file any more ── 1: taken, 2: not
//!         ── LEAVE: the file is closed, its buffer is empty    ──> gives the duplicate back                           ── 1
//!         ── DRAIN: the descriptor is no longer the file       ──> settles by its duplicate                           ── 1
//!         ── RECALL: the file is written                       ──> no other process has a buffer of it                ── 1
//!         ── LOOK: the file is looked at                       ──> what others have in a buffer of it is in the file  ── 1
//!         ── ESCAPE: a program without the library gets it     ──> nobody has a buffer of it from now on              ── 1
//!         ── ENDED: a child was killed                         ──> what processes left that have ended is in the files ── 1
//! ```
//!
//! The answer to LEAVE comes after the duplicate is closed: a program that was just written can be executed, and its locks are gone. Before
//! any answer, what processes left that have ended is written.
//!
//! Invariant: any bytes give a message or none.
//! Not here: sending and receiving.

/// Bytes of a message.
pub const BYTES: usize = 32;
/// The end of the socket's name, behind that of the ledger.
pub const SUFFIX: &[u8] = b".files";
/// The answer of a supervisor that did it.
pub const DONE: u8 = 1;
/// The answer to TAKE if other processes write the file in turn, or got it unseen.
pub const OTHERS: u8 = 2;
/// All buffers of the process.
pub const ALL: u32 = u32::MAX;

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A buffer begins: two descriptors come along, those of the file and of the memory.
    Take = 1,
    /// A buffer ends; it is empty.
    Leave = 2,
    /// The buffer is to be written now.
    Drain = 3,
    /// Buffers that other processes have of the file are taken from them.
    Recall = 4,
    /// The same, and nobody gets another one.
    Escape = 5,
    /// What is in buffers of processes that have ended is to be written. Also asked by a process whose buffer is taken: the answer comes when
    /// that is done.
    Ended = 6,
    /// What other processes have in a buffer of the file is to be written.
    Look = 7,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it is about.
    pub kind: Kind,
    /// The number of the buffer in its process, or [`ALL`].
    pub buffer: u32,
    /// Bytes of the buffer, without its head.
    pub size: u64,
    /// The file.
    pub device: u64,
    /// The file.
    pub inode: u64,
}

impl Message {
    /// The message as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let words = [self.kind as u64 | u64::from(self.buffer) << 32, self.size, self.device, self.inode];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// The message of bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8; BYTES]) -> Option<Self> {
        let mut words = [0; 4];
        for (word, from) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*from);
        }
        let [first, size, device, inode] = words;
        let kind = match first as u32 {
            1 => Kind::Take,
            2 => Kind::Leave,
            3 => Kind::Drain,
            4 => Kind::Recall,
            5 => Kind::Escape,
            6 => Kind::Ended,
            7 => Kind::Look,
            _ => return None,
        };
        Some(Self { kind, buffer: (first >> 32) as u32, size, device, inode })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        for kind in
            [Kind::Take, Kind::Leave, Kind::Drain, Kind::Recall, Kind::Escape, Kind::Ended, Kind::Look]
        {
            let message = Message { kind, buffer: ALL, size: 7, device: 8, inode: u64::MAX };
            assert_eq!(Message::of_bytes(&message.to_bytes()), Some(message));
        }
        assert_eq!(Message::of_bytes(&[0; BYTES]), None);
    }
}
