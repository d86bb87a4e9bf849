//! The blocks of a tape as a source: uncompressed ones are read in place, the others inflated on each read.
//!
//! Invariant: blocks are one after the other; only the last inflated one is kept.
//! Not here: from chunks to blocks (the parent).

use super::super::inflate::{self, Method, inflate};
use super::super::source::{Pieces, ReadError, Shared, Source, take};
use super::BLOCK_MOST;
use std::sync::{Mutex, PoisonError};

/// A block in the tape's own source.
pub(super) struct Place {
    /// Its offset there.
    pub start: u64,
    /// Its bytes.
    pub length: u32,
    /// The storage form of its chunks.
    pub method: Method,
    /// Data of each chunk: place and length.
    pub chunks: Vec<(u64, u32)>,
}

/// The reason why a block is not available.
pub(super) enum Unpack {
    Read(ReadError),
    Inflate(inflate::Fault),
}

/// The bytes of a block: its chunks joined, then inflated.
pub(super) fn unpack(source: &dyn Source, method: Method, chunks: &[(u64, u32)]) -> Result<Vec<u8>, Unpack> {
    let mut packed = Vec::new();
    for (at, length) in chunks {
        packed.extend(take(source, *at, u64::from(*length)).map_err(Unpack::Read)?);
        if packed.len() > BLOCK_MOST {
            return Err(Unpack::Inflate(inflate::Fault::TooLong { most: BLOCK_MOST }));
        }
    }
    inflate(method, &packed, BLOCK_MOST).map_err(Unpack::Inflate)
}

/// The blocks of a tape as a source: uncompressed ones are read in place, the others inflated, the last one kept.
pub(super) struct Blocks {
    source: Shared,
    blocks: Vec<Place>,
    length: u64,
    /// Number of a block and its bytes.
    held: Mutex<(usize, Vec<u8>)>,
}

impl Blocks {
    /// These blocks, whose chunks are in `source`.
    pub fn new(source: &Shared, blocks: Vec<Place>, length: u64) -> Blocks {
        Blocks { source: source.clone(), blocks, length, held: Mutex::new((usize::MAX, Vec::new())) }
    }
}

impl Source for Blocks {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), ReadError> {
        let beyond = ReadError::Beyond { at, wanted: into.len() as u64, length: self.length };
        if at.checked_add(into.len() as u64).is_none_or(|end| end > self.length) {
            return Err(beyond);
        }
        let (mut at, mut rest) = (at, into);
        // The block with the first byte: empty ones begin at the offset of their successor.
        let mut index = self.blocks.partition_point(|block| block.start + u64::from(block.length) <= at);
        while !rest.is_empty() {
            let block = self.blocks.get(index).ok_or_else(|| beyond.clone())?;
            let skip = (at - block.start) as usize;
            let now = rest.len().min(block.length as usize - skip);
            let (part, later) = rest.split_at_mut(now);
            self.part(index, block, skip, part)?;
            (rest, at, index) = (later, at + now as u64, index + 1);
        }
        Ok(())
    }
}

impl Blocks {
    fn part(&self, index: usize, block: &Place, skip: usize, into: &mut [u8]) -> Result<(), ReadError> {
        if block.method == Method::Plain {
            let mut pieces = Pieces::of(&self.source);
            block.chunks.iter().for_each(|(at, length)| pieces.add(*at, u64::from(*length)));
            return pieces.read(skip as u64, into);
        }
        // A thread that panicked while it held the lock left a whole pair, since the pair is replaced at once.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.0 != index {
            let bytes = unpack(&*self.source, block.method, &block.chunks).map_err(|error| match error {
                Unpack::Read(error) => error,
                Unpack::Inflate(fault) => {
                    let at = block.chunks.first().map_or(0, |(at, _)| *at);
                    ReadError::Packed { at, message: fault.to_string() }
                }
            })?;
            *held = (index, bytes);
        }
        let there = held.1.get(skip..skip + into.len());
        // The file changed after the index was made: a block may be shorter now.
        let there = there.ok_or(ReadError::Beyond {
            at: skip as u64,
            wanted: into.len() as u64,
            length: held.1.len() as u64,
        })?;
        into.copy_from_slice(there);
        Ok(())
    }
}
