//! Tickets, and each thread sleeps for its own: strict order, without spinning.
//!
//! ```text
//! lock    ticket = next++          sleep while turns[ticket mod 128] is not the ticket
//! unlock  turns[(ticket + 1) mod 128] = ticket + 1; if that ticket has been drawn, wake its thread
//! ```
//!
//! This is the lower bound for the time of a queue that serves each thread in turn: no lock that lets threads sleep can be
//! fairer. The price is a sleep and a wake for each acquisition that met another.
//!
//! Invariant: fewer than 128 threads, so that no two wait for one entry.

use crate::lock::Lock;
use std::sync::atomic::{AtomicU32, Ordering};
use underbar_sys::syscall;

const PLACES: u32 = 128;
const _: () = assert!(crate::contend::MOST_THREADS < PLACES as usize);

/// An entry in its own cache line, so that sleepers disturb no other thread.
#[repr(align(64))]
struct Turn(AtomicU32);

/// The queue.
pub struct Fifo {
    next: AtomicU32,
    turns: [Turn; PLACES as usize],
}

impl Fifo {
    fn turn(&self, ticket: u32) -> &AtomicU32 {
        &self.turns[(ticket % PLACES) as usize].0
    }

    fn wait(&self, ticket: u32) {
        let turn = self.turn(ticket);
        loop {
            let seen = turn.load(Ordering::SeqCst);
            if seen == ticket {
                return;
            }
            // The futex call may return without a reason; then test again.
            let _ = syscall::futex_wait(turn, seen, None);
        }
    }

    fn pass_on(&self, ticket: u32) {
        let next = ticket.wrapping_add(1);
        // SeqCst on both sides: either the next one sees its turn, or its ticket is seen here.
        self.turn(next).store(next, Ordering::SeqCst);
        if self.next.load(Ordering::SeqCst) != next {
            let _ = syscall::futex_wake(self.turn(next), 1);
        }
    }
}

impl Lock for Fifo {
    fn new() -> Self {
        Self {
            next: AtomicU32::new(0),
            // Ticket 0 may go; all others wait for their number.
            turns: std::array::from_fn(|place| Turn(AtomicU32::new(if place == 0 { 0 } else { u32::MAX }))),
        }
    }

    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        let ticket = self.next.fetch_add(1, Ordering::SeqCst);
        self.wait(ticket);
        let result = work();
        self.pass_on(ticket);
        result
    }
}
