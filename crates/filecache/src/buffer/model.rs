//! Models: a process that appends and settles, and a supervisor that takes the buffer from it at any moment.
//!
//! Invariant that they check: each byte is in the file once, in the order of the writes, and after the supervisor's end no byte is left in a
//! buffer that the process goes on to use.

extern crate std;
use super::*;
use loom::sync::{Arc, Mutex};
use loom::thread;
use std::vec::Vec;
use underbar_sys::planted::finds;

struct World {
    words: Words,
    buffer: Mutex<[u8; 4]>,
    content: Mutex<Vec<u8>>,
}

struct Disk<'a>(&'a World);

impl File for Disk<'_> {
    type Error = ();

    fn place(&mut self) -> Result<u64, ()> {
        Ok(self.0.content.lock().expect("whole").len() as u64)
    }

    fn write(&mut self, from: usize, to: usize) -> Result<usize, ()> {
        let piece = self.0.buffer.lock().expect("whole")[from..to].to_vec();
        self.0.content.lock().expect("whole").extend(piece);
        Ok(to - from)
    }

    fn has(&mut self, _: u64, _: usize) -> bool {
        false
    }
}

/// A write of the process: into the buffer, or to the file once the buffer is nobody's.
fn write(world: &World, byte: u8, room: usize) {
    let head = Head(&world.words);
    loop {
        let taken = head.append(1, || room, |at| world.buffer.lock().expect("whole")[at] = byte);
        if taken != Append::Full {
            return;
        }
        match head.owner() {
            Owner::Process => flush(world),
            Owner::Supervisor => thread::yield_now(),
            Owner::Nobody => return world.content.lock().expect("whole").push(byte),
        }
    }
}

fn flush(world: &World) {
    let head = Head(&world.words);
    if head.settle(&mut Disk(world)).is_some() {
        head.yields();
    }
}

/// Runs the process next to a supervisor; the process writes 1, 2, 3, and then 4 when the supervisor has ended.
fn together(room: usize, flushes: bool, looks: bool) {
    loom::model(move || {
        let world = Arc::new(World {
            words: Words::default(),
            buffer: Mutex::new([0; 4]),
            content: Mutex::new(Vec::new()),
        });
        let supervisor = {
            let world = Arc::clone(&world);
            thread::spawn(move || {
                let head = Head(&world.words);
                if looks {
                    head.take(None, &mut Disk(&world), |()| 5, || false);
                }
                head.take(Some(Wish::End), &mut Disk(&world), |()| 5, || false);
            })
        };
        for byte in 1..=2 {
            write(&world, byte, room);
        }
        if flushes {
            flush(&world);
        }
        write(&world, 3, room);
        supervisor.join().expect("it ends");
        // What a process that goes on does sooner or later.
        flush(&world);
        assert_eq!(Head(&world.words).owner(), Owner::Nobody, "the buffer outlived its supervisor");
        write(&world, 4, room);
        assert_eq!(*world.content.lock().expect("whole"), [1, 2, 3, 4]);
    });
}

#[test]
fn loom_a_buffer_is_taken_at_any_moment() {
    finds(&["blind_take", "unseen_wish"], || together(4, true, false));
}

#[test]
fn loom_a_buffer_is_taken_from_a_process_that_fills_it() {
    finds(&["blind_take", "unseen_wish"], || together(1, false, false));
}

#[test]
fn loom_a_buffer_is_looked_at_before_it_is_taken() {
    finds(&["blind_take"], || together(4, false, true));
}
