//! The output: whole buffers, written by a thread of its own from the first full one on.
//!
//! ```text
//! merge ── records ──> buffer ── full ──> thread ── one write ──> output
//!                        └────── empty ──────┘
//! ```
//!
//! Invariant: buffers are written in the order in which they were filled. After an error nothing more is written.
//! Not here: the name of the output (`output`).

use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// Buffers: one is filled while another one is written. Cost: two waits and two wakes for each at most.
pub const BUFFERS: usize = 2;

/// Takes the records of the output.
pub struct Sink<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    size: usize,
    /// The records that were not written yet.
    pub buffer: Vec<u8>,
    /// The output, until a thread has it.
    here: Option<&'env mut (dyn Write + Send)>,
    there: Option<There<'scope>>,
}

struct There<'scope> {
    give: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    /// Buffers that exist.
    made: usize,
    thread: ScopedJoinHandle<'scope, Written>,
}

/// What was written.
#[derive(Debug)]
pub struct Written {
    /// Bytes.
    pub bytes: u64,
    /// Calls.
    pub writes: u64,
    /// Time in these calls.
    pub time: Duration,
    /// Whether all of it was written.
    pub result: io::Result<()>,
}

impl<'scope, 'env> Sink<'scope, 'env> {
    /// A sink with buffers of this size.
    pub fn new(
        scope: &'scope Scope<'scope, 'env>,
        output: &'env mut (dyn Write + Send),
        size: usize,
    ) -> Sink<'scope, 'env> {
        Sink { scope, size, buffer: Vec::new(), here: Some(output), there: None }
    }

    /// Is the buffer full?
    #[inline]
    pub fn is_full(&self) -> bool {
        self.buffer.len() >= self.size
    }

    /// Hands the buffer over. False: the output takes no more.
    pub fn hand_over(&mut self) -> bool {
        let there = match &mut self.there {
            Some(there) => there,
            none => none.insert(start(self.scope, self.here.take())),
        };
        if there.give.send(std::mem::take(&mut self.buffer)).is_err() {
            return false;
        }
        if there.made < BUFFERS {
            there.made += 1;
            self.buffer = Vec::with_capacity(self.size + self.size / 8);
            return true;
        }
        // The thread gives no buffer back after an error.
        let empty = there.empty.recv();
        empty.map(|empty| self.buffer = empty).is_ok()
    }

    /// Writes the rest, and waits until all is written.
    pub fn finish(mut self) -> Written {
        match self.there {
            Some(there) => {
                // After an error nobody takes it.
                let _ = there.give.send(self.buffer);
                drop(there.give);
                there.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            None => {
                let mut written = Written::nothing();
                written.write(self.here.take(), &self.buffer);
                written
            }
        }
    }
}

fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    mut output: Option<&'env mut (dyn Write + Send)>,
) -> There<'scope> {
    let (give, take) = mpsc::sync_channel::<Vec<u8>>(1);
    let (back, empty) = mpsc::channel();
    let thread = scope.spawn(move || {
        let mut written = Written::nothing();
        for mut full in take {
            written.write(output.as_deref_mut().map(|output| output as &mut dyn Write), &full);
            if written.result.is_err() {
                break;
            }
            full.clear();
            // The merge has ended if it takes no buffer back.
            let _ = back.send(full);
        }
        written
    });
    There { give, empty, made: 1, thread }
}

impl Written {
    fn nothing() -> Written {
        Written { bytes: 0, writes: 0, time: Duration::ZERO, result: Ok(()) }
    }

    /// Writes all bytes, unless an error came before.
    fn write<W: Write + ?Sized>(&mut self, to: Option<&mut W>, mut bytes: &[u8]) {
        let Some(to) = to else { return };
        let began = Instant::now();
        while self.result.is_ok() && !bytes.is_empty() {
            self.writes += 1;
            match to.write(bytes) {
                Ok(0) => self.result = Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.bytes += count as u64;
                    bytes = &bytes[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.result = Err(error),
            }
        }
        self.time += began.elapsed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output that takes a few bytes at a time, and fails after so many.
    struct Few {
        taken: Vec<u8>,
        most: usize,
    }

    impl Write for Few {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.taken.len() == self.most {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let count = bytes.len().min(7).min(self.most - self.taken.len());
            self.taken.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(size: usize, most: usize) -> (Vec<u8>, Written) {
        let mut few = Few { taken: Vec::new(), most };
        let written = std::thread::scope(|scope| {
            let mut sink = Sink::new(scope, &mut few, size);
            for byte in 0..200 {
                sink.buffer.push(byte);
                if sink.is_full() && !sink.hand_over() {
                    break;
                }
            }
            sink.finish()
        });
        (few.taken, written)
    }

    #[test]
    fn all_is_written_in_order_here_or_there() {
        for size in [1, 9, 50, 1_000] {
            let (taken, written) = written(size, usize::MAX);
            assert!(taken.iter().copied().eq(0..200), "{size}");
            assert!(written.result.is_ok() && written.bytes == 200 && written.writes >= 200 / 7);
        }
    }

    #[test]
    fn after_an_error_nothing_more_is_written() {
        for size in [1, 9, 50, 1_000] {
            let (taken, written) = written(size, 100);
            assert!(taken.iter().copied().eq(0..100), "{size}");
            assert_eq!(written.result.map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
        }
    }
}
