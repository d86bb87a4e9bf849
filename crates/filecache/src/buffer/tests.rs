//! The steps of a buffer, with a process or a supervisor that dies at each of them.

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

fn append(head: Head<'_>, world: &RefCell<World>, bytes: &[u8]) -> Append {
    head.append(
        bytes.len(),
        || 16,
        |at| {
            world.borrow_mut().buffer[at..at + bytes.len()].copy_from_slice(bytes);
        },
    )
}

/// Writes the numbers as the runtime does; returns how many the program has seen as written.
fn run(head: Head<'_>, world: &RefCell<World>) -> Vec<u8> {
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
        let words = Words::default();
        let head = Head(&words);
        let told = run(head, &world);
        died += usize::from(told.len() < 46);
        // The supervisor sees what the memory holds, and no more.
        world.borrow_mut().steps_left = usize::MAX;
        head.settle_left(&mut Disk(&world));
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
    let words = Words::default();
    let head = Head(&words);
    append(head, &world, b"first");
    let mut is_first = true;
    let taken = head.append(
        4,
        || 16,
        |at| {
            world.borrow_mut().buffer[at..at + 4].copy_from_slice(b"last");
            if is_first {
                is_first = false;
                head.settle(&mut Disk(&world));
                append(head, &world, b"handler");
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
    let words = Words::default();
    let head = Head(&words);
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
    let words = Words::default();
    let head = Head(&words);
    append(head, &world, b"0123456789abcde");
    let settled = head.settle(&mut Disk(&world)).expect("ours");
    assert_eq!((settled.written, settled.calls, settled.lost), (9, 3, Some((6, 28))));
    world.borrow_mut().room_on_disk = 100;
    assert_eq!(head.settle(&mut Disk(&world)).expect("ours").length, 0);
    assert_eq!(world.borrow().content, b"before012345678");
}

/// Others write by the same description while the process is in the middle of a flush, and then it dies.
#[test]
fn the_content_tells_if_others_moved_the_place() {
    for was_written in [false, true] {
        let world = world(usize::MAX);
        world.borrow_mut().buffer[..4].copy_from_slice(b"mine");
        let words = Words::default();
        words[STATE].store(FLUSHING | 4, Ordering::Relaxed);
        words[START].store(6, Ordering::Relaxed);
        let head = Head(&words);
        {
            let mut world = world.borrow_mut();
            world.content = if was_written { b"beforemineother".to_vec() } else { b"beforeother".to_vec() };
            world.place = world.content.len();
        }
        head.settle_left(&mut Disk(&world));
        let expect: &[u8] = if was_written { b"beforemineother" } else { b"beforeothermine" };
        assert_eq!(world.borrow().content, expect);
    }
}

#[test]
fn a_buffer_takes_what_fits() {
    let words = Words::default();
    let head = Head(&words);
    assert_eq!(head.append(16, || 16, |_| ()), Append::Taken(16));
    assert_eq!(head.append(1, || 16, |_| ()), Append::Full);
    assert_eq!(head.append(usize::MAX, || 16, |_| ()), Append::Full);
    assert_eq!(head.length(), 16);
}

/// The process goes on after its supervisor has died in the middle of a take, at any of its steps; or the process dies after a take.
#[test]
fn a_take_is_whole_wherever_the_supervisor_dies() {
    let mut died = 0;
    for steps in 0..16 {
        let world = world(usize::MAX);
        let words = Words::default();
        let head = Head(&words);
        append(head, &world, b"first");
        head.settle(&mut Disk(&world));
        append(head, &world, b"0123456789");
        world.borrow_mut().steps_left = steps;
        let taken = catch_unwind(AssertUnwindSafe(|| {
            head.take(Some(Wish::Others), &mut Disk(&world), |error| *error, || false)
                .expect("nobody flushes");
        }));
        world.borrow_mut().steps_left = usize::MAX;
        died += usize::from(taken.is_err());
        // Whatever happened: the process has no room, and cannot write by itself.
        assert_eq!(append(head, &world, b"x"), Append::Full);
        assert!(head.settle(&mut Disk(&world)).is_none());
        if taken.is_err() {
            assert_eq!(head.owner(), Owner::Supervisor);
            head.resume(&mut Disk(&world), |error| *error).expect("it was taken");
        }
        assert_eq!((head.owner(), head.length()), (Owner::Nobody, 0));
        assert_eq!(world.borrow().content, b"beforefirst0123456789");
        let left = head.left();
        assert_eq!((left.lost, left.wish), (None, Some(Wish::Others)));
        assert_eq!(head.settle_left(&mut Disk(&world)).length, 0);
        assert!(head.resume(&mut Disk(&world), |error| *error).is_none());
    }
    assert!((3..16).contains(&died), "{died} steps");
}

/// The supervisor finds the process in the middle of a flush, and does not wait for it: the process gives the buffer up after that.
#[test]
fn a_process_that_flushes_gives_up_its_buffer_afterwards() {
    struct Asks<'a>(Disk<'a>, Head<'a>);
    impl File for Asks<'_> {
        type Error = i32;
        fn place(&mut self) -> Result<u64, i32> {
            self.0.place()
        }
        fn write(&mut self, from: usize, to: usize) -> Result<usize, i32> {
            assert!(self.1.take(Some(Wish::End), &mut self.0, |error| *error, || false).is_none());
            self.0.write(from, to)
        }
        fn has(&mut self, place: u64, length: usize) -> bool {
            self.0.has(place, length)
        }
    }
    let world = world(usize::MAX);
    let words = Words::default();
    let head = Head(&words);
    append(head, &world, b"0123456789");
    assert!(!head.yields(), "nobody wishes it");
    assert_eq!(head.settle(&mut Asks(Disk(&world), head)).expect("ours").written, 10);
    assert_eq!(head.owner(), Owner::Process);
    assert!(head.yields());
    assert_eq!((head.owner(), head.left().wish), (Owner::Nobody, Some(Wish::End)));
    assert_eq!(append(head, &world, b"x"), Append::Full);
    assert_eq!(world.borrow().content, b"before0123456789");
}

#[test]
fn the_process_hears_what_a_take_could_not_write() {
    let world = world(usize::MAX);
    world.borrow_mut().room_on_disk = 9;
    let words = Words::default();
    let head = Head(&words);
    append(head, &world, b"0123456789abcde");
    head.take(Some(Wish::End), &mut Disk(&world), |error| *error, || false).expect("nobody flushes");
    let left = head.left();
    assert_eq!((left.calls, left.written, left.lost), (3, 9, Some((6, 28))));
}

/// Another process looks at the file: the process goes on with its buffer.
#[test]
fn a_buffer_is_given_back_after_a_look() {
    let world = world(usize::MAX);
    let words = Words::default();
    let head = Head(&words);
    for (line, written) in [(b"first", 5), (b"again", 5)] {
        append(head, &world, line);
        let taken = head.take(None, &mut Disk(&world), |error| *error, || false).expect("nobody flushes");
        assert_eq!((taken.written, head.owner(), head.left().written), (written, Owner::Process, 5));
        assert_eq!(head.left().written, 0, "it is counted once");
    }
    assert_eq!(world.borrow().content, b"beforefirstagain");
    world.borrow_mut().room_on_disk = 2;
    append(head, &world, b"last");
    head.take(None, &mut Disk(&world), |error| *error, || false).expect("nobody flushes");
    assert_eq!((head.owner(), append(head, &world, b"x")), (Owner::Nobody, Append::Full));
    assert_eq!(head.left().lost, Some((2, 28)));
}
