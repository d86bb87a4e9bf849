//! The words of a buffer, and its two operations: append and settle.
//!
//! ```text
//! state:  63 ... 33 generation | 32 FLUSHING | 31 ... 0 length
//! ```
//!
//! A signal handler may write in the middle of an append of its own thread. It settles the buffer, which begins another generation; the
//! interrupted append finds that its state is gone and copies its bytes again. Settling blocks all signals, so nothing interrupts it but
//! the end of the process.
//!
//! Invariant: the first `length` bytes of the buffer are whole. While FLUSHING is set the length does not change.
//! Not here: the lock that keeps threads apart; the caller holds it.

use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes in front of the buffer's own: a page.
pub const HEAD_BYTES: usize = 4096;
/// The largest buffer, in bytes.
pub const LARGEST: usize = 64 << 20;

const FLUSHING: u64 = 1 << 32;
const LENGTH: u64 = FLUSHING - 1;
const GENERATION: u64 = FLUSHING << 1;

/// The words in front of a buffer, in shared memory.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Head {
    /// Generation, FLUSHING, length. The process writes: with Release, after the bytes that the length counts, or after `start`; read with
    /// Acquire. After the process has ended the supervisor reads it.
    state: AtomicU64,
    /// The place of the file when the flush under way began. Written before FLUSHING is; relaxed.
    start: AtomicU64,
}

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

/// What became of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Append {
    /// The bytes are in the buffer, which holds so many now.
    Taken(usize),
    /// There is no room for them.
    Full,
}

impl Head {
    /// A head as its bytes say, for a supervisor that reads them.
    #[must_use]
    pub fn of(state: u64, start: u64) -> Self {
        Self { state: AtomicU64::new(state), start: AtomicU64::new(start) }
    }

    /// Bytes in the buffer.
    #[must_use]
    #[inline]
    pub fn length(&self) -> usize {
        (self.state.load(Ordering::Acquire) & LENGTH) as usize
    }

    /// Begins another generation of an empty buffer, so that an append that was interrupted does not go on in this one.
    pub fn end(&self) {
        let state = self.state.load(Ordering::Acquire);
        self.state.store((state & !(FLUSHING | LENGTH)).wrapping_add(GENERATION), Ordering::Release);
    }

    /// Appends bytes, which `copy` puts at the place in the buffer that it gets; it may be called again. `room` is the size of the buffer
    /// at that moment: 0 if it is given up.
    #[inline]
    pub fn append(&self, bytes: usize, room: impl Fn() -> usize, mut copy: impl FnMut(usize)) -> Append {
        loop {
            let state = self.state.load(Ordering::Acquire);
            let length = (state & LENGTH) as usize;
            // A handler left the thread in the middle of a flush by a jump, which it cannot: signals were blocked. So FLUSHING is never seen.
            if bytes > room().saturating_sub(length) {
                return Append::Full;
            }
            copy(length);
            let next = state + bytes as u64;
            if self.state.compare_exchange(state, next, Ordering::Release, Ordering::Relaxed).is_ok() {
                return Append::Taken(length + bytes);
            }
        }
    }

    /// Writes all that is in the buffer, from whatever point an earlier call of this stopped at. What cannot be written is lost, and told.
    /// Nothing interrupts the caller.
    pub fn settle<F: File>(&self, file: &mut F) -> Settled<F::Error> {
        let state = self.state.load(Ordering::Acquire);
        let length = (state & LENGTH) as usize;
        let mut settled = Settled { length, written: 0, calls: 0, place: None, lost: None };
        if length == 0 {
            return settled;
        }
        let mut done = 0;
        match file.place() {
            Err(error) => settled.lost = Some((length, error)),
            Ok(place) if state & FLUSHING == 0 => {
                settled.place = Some(place);
                self.start.store(place, Ordering::Relaxed);
                self.state.store(state | FLUSHING, Ordering::Release);
            }
            Ok(place) => {
                settled.place = Some(place);
                let start = self.start.load(Ordering::Relaxed);
                let moved = place.checked_sub(start).and_then(|moved| usize::try_from(moved).ok());
                done = match moved.filter(|moved| *moved <= length) {
                    Some(moved) => moved,
                    // Others moved the place meanwhile: the content tells.
                    None if file.has(start, length) => length,
                    None => 0,
                };
            }
        }
        if settled.lost.is_none() {
            while done < length {
                settled.calls += 1;
                match file.write(done, length) {
                    Ok(0) => continue,
                    Ok(bytes) => {
                        let bytes = bytes.min(length - done);
                        done += bytes;
                        settled.written += bytes;
                    }
                    Err(error) => {
                        settled.lost = Some((length - done, error));
                        break;
                    }
                }
            }
        }
        let next = (state & !(FLUSHING | LENGTH)).wrapping_add(GENERATION);
        self.state.store(next, Ordering::Release);
        settled
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::vec;
    use std::vec::Vec;

    /// A file, the memory that the supervisor shares, and the step at which the process dies.
    struct World {
        content: Vec<u8>,
        place: usize,
        buffer: Vec<u8>,
        steps_left: usize,
        room_on_disk: usize,
        /// Bytes that one write takes.
        most: usize,
        /// A planted fault: the place does not move with the write.
        forgets_place: bool,
    }

    struct Dead;
    struct Disk<'a>(&'a RefCell<World>);

    impl Disk<'_> {
        fn step(&self) {
            let mut world = self.0.borrow_mut();
            if world.steps_left == 0 {
                drop(world);
                resume_unwind(std::boxed::Box::new(Dead));
            }
            world.steps_left -= 1;
        }
    }

    impl File for Disk<'_> {
        type Error = i32;

        fn place(&mut self) -> Result<u64, i32> {
            self.step();
            Ok(self.0.borrow().place as u64)
        }

        fn write(&mut self, from: usize, to: usize) -> Result<usize, i32> {
            self.step();
            let mut world = self.0.borrow_mut();
            let bytes = (to - from).min(world.most).min(world.room_on_disk);
            if bytes == 0 {
                return Err(28);
            }
            let piece = world.buffer[from..from + bytes].to_vec();
            let place = world.place;
            if world.content.len() < place + bytes {
                world.content.resize(place + bytes, 0);
            }
            world.content[place..place + bytes].copy_from_slice(&piece);
            world.room_on_disk -= bytes;
            if !world.forgets_place {
                world.place += bytes;
            }
            drop(world);
            // The process may die between the write and what comes after it.
            self.step();
            Ok(bytes)
        }

        fn has(&mut self, place: u64, length: usize) -> bool {
            let world = self.0.borrow();
            world.content.get(place as usize..place as usize + length) == Some(&world.buffer[..length])
        }
    }

    fn world(steps_left: usize) -> RefCell<World> {
        RefCell::new(World {
            content: b"before".to_vec(),
            place: 6,
            buffer: vec![0; 16],
            steps_left,
            room_on_disk: 1 << 20,
            most: 7,
            forgets_place: false,
        })
    }

    fn append(head: &Head, world: &RefCell<World>, bytes: &[u8]) -> Append {
        head.append(
            bytes.len(),
            || 16,
            |at| {
                world.borrow_mut().buffer[at..at + bytes.len()].copy_from_slice(bytes);
            },
        )
    }

    /// Writes the numbers as the runtime does; returns how many the program has seen as written.
    fn run(head: &Head, world: &RefCell<World>) -> Vec<u8> {
        let mut told = b"before".to_vec();
        let _ = catch_unwind(AssertUnwindSafe(|| {
            for number in 0..8_u8 {
                let line = [b'a' + number; 5];
                if append(head, world, &line) == Append::Full {
                    head.settle(&mut Disk(world));
                    assert!(matches!(append(head, world, &line), Append::Taken(5)));
                }
                told.extend(line);
            }
            head.settle(&mut Disk(world));
        }));
        told
    }

    /// Whether the file has what the program wrote, wherever the process dies.
    fn survives(forgets_place: bool) -> bool {
        let mut died = 0;
        for steps in 0..64 {
            let world = world(steps);
            world.borrow_mut().forgets_place = forgets_place;
            let head = Head::default();
            let told = run(&head, &world);
            died += usize::from(told.len() < 46);
            // The supervisor sees what the memory holds, and no more.
            let seen = Head::of(head.state.load(Ordering::Acquire), head.start.load(Ordering::Relaxed));
            world.borrow_mut().steps_left = usize::MAX;
            seen.settle(&mut Disk(&world));
            if world.borrow().content != told || world.borrow().place != told.len() {
                return false;
            }
        }
        assert!(died > 10, "the steps are too many");
        true
    }

    #[test]
    fn the_supervisor_writes_the_rest_wherever_the_process_dies() {
        assert!(survives(false));
        assert!(!survives(true), "a planted fault is found");
    }

    /// A handler settles between the copy and the length, and writes itself.
    #[test]
    fn an_append_that_a_handler_interrupts_comes_behind_it() {
        let world = world(usize::MAX);
        let head = Head::default();
        append(&head, &world, b"first");
        let mut is_first = true;
        let taken = head.append(
            4,
            || 16,
            |at| {
                world.borrow_mut().buffer[at..at + 4].copy_from_slice(b"last");
                if is_first {
                    is_first = false;
                    head.settle(&mut Disk(&world));
                    append(&head, &world, b"handler");
                    head.settle(&mut Disk(&world));
                }
            },
        );
        assert_eq!(taken, Append::Taken(4));
        head.settle(&mut Disk(&world));
        assert_eq!(world.borrow().content, b"beforefirsthandlerlast");
    }

    /// A handler gives the buffer up.
    #[test]
    fn an_append_finds_that_its_buffer_was_given_up() {
        let head = Head::default();
        let room = std::cell::Cell::new(16);
        let taken = head.append(
            4,
            || room.get(),
            |_| {
                room.set(0);
                head.end();
            },
        );
        assert_eq!((taken, head.length()), (Append::Full, 0));
    }

    #[test]
    fn what_the_disk_refuses_is_told_and_not_tried_again() {
        let world = world(usize::MAX);
        world.borrow_mut().room_on_disk = 9;
        let head = Head::default();
        append(&head, &world, b"0123456789abcde");
        let settled = head.settle(&mut Disk(&world));
        assert_eq!((settled.written, settled.calls, settled.lost), (9, 3, Some((6, 28))));
        world.borrow_mut().room_on_disk = 100;
        assert_eq!(head.settle(&mut Disk(&world)).length, 0);
        assert_eq!(world.borrow().content, b"before012345678");
    }

    /// Others write by the same description while the process is in the middle of a flush, and then it dies.
    #[test]
    fn the_content_tells_if_others_moved_the_place() {
        for was_written in [false, true] {
            let world = world(usize::MAX);
            world.borrow_mut().buffer[..4].copy_from_slice(b"mine");
            let head = Head::of(FLUSHING | 4, 6);
            {
                let mut world = world.borrow_mut();
                world.content =
                    if was_written { b"beforemineother".to_vec() } else { b"beforeother".to_vec() };
                world.place = world.content.len();
            }
            head.settle(&mut Disk(&world));
            let expect: &[u8] = if was_written { b"beforemineother" } else { b"beforeothermine" };
            assert_eq!(world.borrow().content, expect);
        }
    }

    #[test]
    fn a_buffer_takes_what_fits() {
        let head = Head::default();
        assert_eq!(head.append(16, || 16, |_| ()), Append::Taken(16));
        assert_eq!(head.append(1, || 16, |_| ()), Append::Full);
        assert_eq!(head.append(usize::MAX, || 16, |_| ()), Append::Full);
        assert_eq!(head.length(), 16);
    }
}
