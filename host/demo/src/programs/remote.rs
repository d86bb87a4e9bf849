//! A program that frees the last cell of an increment, and prints its resident memory before and after.
//!
//! Under FREE the increment must be gone when free returns, whichever thread freed it.

use std::mem::MaybeUninit;
use std::sync::mpsc;
use std::thread;

use super::{Parameters, resident, say};

/// Pieces, and bytes of each: all of them are written.
const PIECES: usize = 64;
const BYTES: usize = 128 << 10;
static PATTERN: [u8; BYTES] = [1; BYTES];

/// All pieces are freed by the thread that got them.
pub fn same_thread(_: &Parameters) {
    let pieces = got();
    let seen = free(pieces);
    seen.say();
}

/// All pieces are freed by another thread, which never got such a piece.
pub fn another_thread(_: &Parameters) {
    let (give, take) = mpsc::sync_channel(1);
    let other = thread::spawn(move || take.recv().map(free));
    // The other thread exists, and has its own storage, before the first piece is got.
    if give.send(got()).is_ok()
        && let Ok(Ok(seen)) = other.join()
    {
        seen.say();
    }
}

type Piece = Option<Box<[MaybeUninit<u8>]>>;

fn got() -> [Piece; PIECES] {
    std::array::from_fn(|_| {
        let mut piece = Box::new_uninit_slice(BYTES);
        piece.write_copy_of_slice(&PATTERN);
        Some(piece)
    })
}

/// Resident bytes with all pieces, with the last one only, and right after that one was freed.
struct Seen {
    all: u64,
    last: u64,
    none: u64,
}

fn free(mut pieces: [Piece; PIECES]) -> Seen {
    let all = resident();
    // The last piece is in the last increment.
    let (others, last) = pieces.split_at_mut(PIECES - 1);
    for piece in others {
        drop(piece.take());
    }
    let with_last = resident();
    for piece in last {
        drop(piece.take());
    }
    Seen { all, last: with_last, none: resident() }
}

impl Seen {
    fn say(&self) {
        let Seen { all, last, none } = self;
        say(format_args!("resident_all={all} resident_last={last} resident_none={none}\n"));
    }
}
