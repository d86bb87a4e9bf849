//! The words of a buffer, and its three operations: append, settle and take.
//!
//! ```text
//! state:  63 ... 32 generation | 31 GIVEN_UP | 30 TAKEN | 29 FLUSHING | 28 ... 0 length
//!
//! process     append    length + bytes                                          whoever changes the state first wins:
//!             settle    FLUSHING ─> writes ─> length 0, next generation         all changes are by compare-exchange
//! supervisor  take      TAKEN ─> FLUSHING ─> writes ─> GIVEN_UP, length 0; or it gives it back: length 0, next generation
//! ```
//!
//! The flags are above the length in one half of the word, so an append that sees one finds a length for which there is no room, and asks no
//! further question.
//!
//! A signal handler may write in the middle of an append of its own thread. It settles the buffer, which begins another generation; the
//! interrupted append finds that its state is gone and copies its bytes again. Settling blocks all signals, so nothing interrupts it but
//! the end of the process.
//!
//! The supervisor takes a buffer from a living process if another one is about to write to the file, or before it ends itself; for one that
//! is about to look at the file, it gives it back. It cannot
//! while the process settles, which may have been stopped in the middle of that. So it stores its wish first, and the process looks at it
//! after each settle: one of the two sees the other.
//!
//! Invariant: the first `length` bytes of the buffer are whole. While FLUSHING or TAKEN is set the length does not change, and one of the two
//! writes to the file alone.
//! Not here: the lock that keeps threads apart; the caller holds it. The messages.

use underbar_sys::planted;
use underbar_sys::sync::atomic::{AtomicU64, Ordering, fence};

/// Bytes in front of the buffer's own: a page.
pub const HEAD_BYTES: usize = 4096;
/// The largest buffer, in bytes.
pub const LARGEST: usize = 64 << 20;

const FLUSHING: u64 = 1 << 29;
const TAKEN: u64 = 1 << 30;
const GIVEN_UP: u64 = 1 << 31;
const LENGTH: u64 = FLUSHING - 1;
const GENERATION: u64 = 1 << 32;

const _: () = assert!(LARGEST < LENGTH as usize);

/// The words in front of a buffer, in shared memory.
pub type Words = [AtomicU64; 8];
/// Bytes of these words.
pub const WORDS_BYTES: usize = size_of::<Words>();

/// Generation, flags, length. Process and supervisor change it by compare-exchange, or with a store while their flag keeps the other away;
/// with Release, after the bytes that the length counts, or after the words that a flag is about; read with Acquire.
const STATE: usize = 0;
/// The place of the file when the process's flush under way began. The process writes it before FLUSHING is set.
/// Relaxed.
const START: usize = 1;
/// The same of the supervisor's flush, plus 1; written while TAKEN is set, before FLUSHING is. Relaxed.
const TAKER_START: usize = 2;
/// A [`Wish`]: the supervisor writes it before it looks at the state, and a fence is between; the process reads it after it has stored a
/// state, and a fence is between. So one of them sees what the other wrote.
const WISH: usize = 3;
/// What the supervisor's flushes did: calls, bytes written, bytes lost, the number of the error. It adds to them before it gives the buffer
/// up or back; the process takes them out; relaxed.
const RESULT: usize = 4;

/// Why a buffer is taken from a living process. The numbers are those of its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Wish {
    /// Another process is about to write to the file.
    Others = 1,
    /// The supervisor ends.
    End = 2,
}

/// The words of one buffer.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a>(pub &'a Words);

/// A file as a flush sees it.
pub trait File {
    /// The number of an error.
    type Error;

    /// The place of the description: where the next write goes.
    ///
    /// # Errors
    /// There is none, as of a closed descriptor.
    fn place(&mut self) -> Result<u64, Self::Error>;

    /// Writes bytes of the buffer at the place, and moves it. Returns how many.
    ///
    /// # Errors
    /// The kernel's, as of a full disk.
    fn write(&mut self, from: usize, to: usize) -> Result<usize, Self::Error>;

    /// Whether the file has these bytes of the buffer from that place on: asked if somebody else has moved the place.
    fn has(&mut self, place: u64, length: usize) -> bool;
}

/// What a flush did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled<E> {
    /// Bytes that were in the buffer.
    pub length: usize,
    /// Bytes that this flush wrote.
    pub written: usize,
    /// Calls that it took.
    pub calls: u64,
    /// The place before the first of them; none if nothing was to be written.
    pub place: Option<u64>,
    /// Bytes that are lost, and why.
    pub lost: Option<(usize, E)>,
}

impl<E> Settled<E> {
    const fn of(length: usize) -> Self {
        Self { length, written: 0, calls: 0, place: None, lost: None }
    }
}

/// What became of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Append {
    /// The bytes are in the buffer, which holds so many now.
    Taken(usize),
    /// There is no room for them; or the buffer is not the process's any more.
    Full,
}

/// Whose a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The process's.
    Process,
    /// The supervisor writes what is in it.
    Supervisor,
    /// Nobody's: it is empty for good.
    Nobody,
}

/// What the supervisor did with a buffer that it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Calls that it took.
    pub calls: u64,
    /// Bytes that it wrote.
    pub written: u64,
    /// Bytes that are lost, and the number of the error.
    pub lost: Option<(u64, i32)>,
    /// Why it took the buffer for good.
    pub wish: Option<Wish>,
}

impl Head<'_> {
    fn state(self) -> u64 {
        self.0[STATE].load(Ordering::Acquire)
    }

    fn change(self, from: u64, to: u64) -> bool {
        self.0[STATE].compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Bytes in the buffer.
    #[must_use]
    #[inline]
    pub fn length(self) -> usize {
        (self.state() & LENGTH) as usize
    }

    /// Its state: it changes with each append, flush and take.
    #[must_use]
    pub fn mark(self) -> u64 {
        self.state()
    }

    /// Whose it is.
    #[must_use]
    #[inline]
    pub fn owner(self) -> Owner {
        match self.state() {
            state if state & GIVEN_UP != 0 => Owner::Nobody,
            state if state & TAKEN != 0 => Owner::Supervisor,
            _ => Owner::Process,
        }
    }

    /// Begins another generation of an empty buffer, so that an append that was interrupted does not go on in this one. The supervisor has
    /// given its duplicate back before.
    pub fn end(self) {
        let state = self.state();
        self.0[STATE].store(next(state), Ordering::Release);
    }

    /// Appends bytes, which `copy` puts at the place in the buffer that it gets; it may be called again. `room` is the size of the buffer
    /// at that moment: 0 if it is given up.
    #[inline]
    pub fn append(self, bytes: usize, room: impl Fn() -> usize, mut copy: impl FnMut(usize)) -> Append {
        loop {
            let state = self.state();
            // Of the flags, FLUSHING is never seen: a handler that leaves the thread by a jump cannot be called in the middle of a flush.
            // Each of the others is more than any room.
            let length = state as u32 as usize;
            if bytes > room().saturating_sub(length) {
                return Append::Full;
            }
            copy(length);
            let next = state + bytes as u64;
            if self.0[STATE].compare_exchange(state, next, Ordering::Release, Ordering::Relaxed).is_ok() {
                return Append::Taken(length + bytes);
            }
        }
    }

    /// Writes all that is in the process's buffer. What cannot be written is lost, and told. None: the buffer is the supervisor's, or was.
    /// Nothing interrupts the caller.
    pub fn settle<F: File>(self, file: &mut F) -> Option<Settled<F::Error>> {
        loop {
            let state = self.state();
            if state & (TAKEN | GIVEN_UP) != 0 {
                return None;
            }
            let length = (state & LENGTH) as usize;
            if length == 0 {
                return Some(Settled::of(0));
            }
            let place = file.place();
            if let Ok(place) = place {
                // The supervisor has a word of its own for its start, so this one may be stored while it takes the buffer.
                self.0[START].store(place, Ordering::Relaxed);
            }
            if !self.change(state, state | FLUSHING) {
                continue;
            }
            let settled = match place {
                Ok(place) => self.write(Settled { place: Some(place), ..Settled::of(length) }, 0, file),
                Err(error) => Settled { lost: Some((length, error)), ..Settled::of(length) },
            };
            self.0[STATE].store(next(state), Ordering::Release);
            return Some(settled);
        }
    }

    /// Whether the process gives the buffer up, as the supervisor wishes it: asked after each settle, when the buffer is empty.
    pub fn yields(self) -> bool {
        if planted!(unseen_wish) {
            return false;
        }
        fence(Ordering::SeqCst);
        if self.0[WISH].load(Ordering::Relaxed) == 0 {
            return false;
        }
        let state = self.state();
        // The supervisor may be faster.
        state & LENGTH == 0 && state & TAKEN == 0 && self.change(state, next(state) | GIVEN_UP)
    }

    /// Takes the buffer from a living process, and writes what is in it; without a wish, it gives it back unless bytes are lost. `waits` is
    /// called while the process settles: it returns false to give up, and then the process gives up the buffer after that, as wished. None:
    /// it has yet to do it.
    pub fn take<F: File>(
        self,
        wish: Option<Wish>,
        file: &mut F,
        number: impl Fn(&F::Error) -> i32,
        mut waits: impl FnMut() -> bool,
    ) -> Option<Settled<F::Error>> {
        if let Some(wish) = wish {
            self.0[WISH].store(wish as u64, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
        let state = loop {
            let state = self.state();
            if state & GIVEN_UP != 0 {
                return Some(Settled::of(0));
            }
            if state & FLUSHING != 0 {
                if waits() {
                    continue;
                }
                return None;
            }
            let taken = match (state & LENGTH, wish) {
                (0, None) => return Some(Settled::of(0)),
                (0, _) => next(state) | GIVEN_UP,
                _ => state | TAKEN,
            };
            if planted!(blind_take) {
                self.0[STATE].store(taken, Ordering::Release);
                break taken;
            }
            if self.change(state, taken) {
                break taken;
            }
        };
        if state & GIVEN_UP != 0 {
            return Some(Settled::of(0));
        }
        Some(self.finish(state, file, number, wish.is_none()))
    }

    /// Goes on with a take whose supervisor has ended in the middle of it. The process alone calls this.
    pub fn resume<F: File>(
        self,
        file: &mut F,
        number: impl Fn(&F::Error) -> i32,
    ) -> Option<Settled<F::Error>> {
        let state = self.state();
        (state & TAKEN != 0).then(|| self.finish(state, file, number, false))
    }

    /// Writes what is in a buffer whose process has ended, from whatever point its flush stopped at.
    pub fn settle_left<F: File>(self, file: &mut F) -> Settled<F::Error> {
        let state = self.state();
        let length = (state & LENGTH) as usize;
        if length == 0 {
            return Settled::of(0);
        }
        let start = (state & FLUSHING != 0).then(|| self.0[START].load(Ordering::Relaxed));
        let settled = self.write_from(start, length, file);
        self.0[STATE].store(next(state), Ordering::Release);
        settled
    }

    /// The end of a take.
    fn finish<F: File>(
        self,
        state: u64,
        file: &mut F,
        number: impl Fn(&F::Error) -> i32,
        gives_back: bool,
    ) -> Settled<F::Error> {
        let length = (state & LENGTH) as usize;
        let start = match state & FLUSHING {
            0 => file.place().inspect(|place| {
                self.0[TAKER_START].store(*place, Ordering::Relaxed);
                self.0[STATE].store(state | FLUSHING, Ordering::Release);
            }),
            _ => Ok(self.0[TAKER_START].load(Ordering::Relaxed)),
        };
        let settled = match start {
            Ok(start) => self.write_from(Some(start), length, file),
            Err(error) => Settled { lost: Some((length, error)), ..Settled::of(length) },
        };
        let (lost, error) =
            settled.lost.as_ref().map_or((0, 0), |(bytes, error)| (*bytes as u64, number(error) as u64));
        for (word, value) in self.0[RESULT..].iter().zip([settled.calls, settled.written as u64, lost, error])
        {
            word.fetch_add(value, Ordering::Relaxed);
        }
        // The process asks for an error only when it has no room.
        let end = if gives_back && settled.lost.is_none() { 0 } else { GIVEN_UP };
        self.0[STATE].store(next(state) | end, Ordering::Release);
        settled
    }

    /// Writes the rest of a flush that began at that place, if it began.
    fn write_from<F: File>(self, start: Option<u64>, length: usize, file: &mut F) -> Settled<F::Error> {
        let place = match file.place() {
            Ok(place) => place,
            Err(error) => return Settled { lost: Some((length, error)), ..Settled::of(length) },
        };
        let done = start.map_or(0, |start| {
            let moved = place.checked_sub(start).and_then(|moved| usize::try_from(moved).ok());
            match moved.filter(|moved| *moved <= length) {
                Some(moved) => moved,
                // Others moved the place meanwhile: the content tells.
                None if file.has(start, length) => length,
                None => 0,
            }
        });
        self.write(Settled { place: Some(place), ..Settled::of(length) }, done, file)
    }

    fn write<F: File>(
        self,
        mut settled: Settled<F::Error>,
        mut done: usize,
        file: &mut F,
    ) -> Settled<F::Error> {
        while done < settled.length {
            settled.calls += 1;
            match file.write(done, settled.length) {
                Ok(0) => continue,
                Ok(bytes) => {
                    let bytes = bytes.min(settled.length - done);
                    done += bytes;
                    settled.written += bytes;
                }
                Err(error) => {
                    settled.lost = Some((settled.length - done, error));
                    break;
                }
            }
        }
        settled
    }

    /// What the supervisor did since this was last asked. The process alone calls this.
    #[must_use]
    pub fn left(self) -> Left {
        let [calls, written, lost, error] = [0, 1, 2, 3].map(|at| {
            let word = &self.0[RESULT + at];
            // Mostly 0: a load is cheaper than an exchange.
            if word.load(Ordering::Relaxed) == 0 { 0 } else { word.swap(0, Ordering::Relaxed) }
        });
        let wish = match self.0[WISH].load(Ordering::Relaxed) {
            1 => Some(Wish::Others),
            2 => Some(Wish::End),
            _ => None,
        };
        Left { calls, written, lost: (lost > 0).then_some((lost, error as i32)), wish }
    }
}

/// The state after this one, of an empty buffer.
const fn next(state: u64) -> u64 {
    (state & !(GENERATION - 1)).wrapping_add(GENERATION)
}

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;
