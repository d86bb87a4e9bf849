//! The work of a system log: many tasks format records and append them under one lock, at a given rate each.
//!
//! ```text
//! task   ... due: format a record | lock: append; every eighth time hand over what there is, and wait | sleep until due
//!                                                                │                      ^
//!                                                                v pipe                 │ pipe
//! device                                                       read, take 2 ms, say that it is safe
//! ```
//!
//! The load is open: a record is due at its time, whether or not the previous one is done. A late task continues at
//! once. So a lock that lets the holder run keeps up with the demand, and one that does not falls behind.
//!
//! Invariant: the data under the lock is also in a mutex that is only tried. Two holders at once end the run.

use crate::Figures;
use crate::histogram::Histogram;
use crate::lock::Lock;
use crate::threads::process_cpu;
use crate::work::work;
use std::fmt::Write as _;
use std::io::{self, PipeReader, PipeWriter, Read, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The number of records that are handed over at a time.
const BATCH: u64 = 8;
/// The time of the device.
const DEVICE: Duration = Duration::from_millis(2);

/// The parameters of a run.
#[derive(Debug, Clone, Copy)]
pub struct Parameters {
    /// Tasks.
    pub tasks: u64,
    /// Records of each a second.
    pub per_second: u64,
    /// Its length.
    pub milliseconds: u64,
    /// The start of each task.
    pub seed: u64,
}

/// The log: the data under the lock.
struct Log {
    records: u64,
    gathered: Vec<u8>,
    device: PipeWriter,
    safe: PipeReader,
}

impl Log {
    /// Appends a record; blocks each eighth time.
    fn append(&mut self, record: &str) -> io::Result<()> {
        self.gathered.extend_from_slice(record.as_bytes());
        self.records += 1;
        if self.records.is_multiple_of(BATCH) {
            self.device.write_all(&self.gathered)?;
            self.gathered.clear();
            self.safe.read_exact(&mut [0])?;
        }
        Ok(())
    }
}

struct Shared<L> {
    lock: L,
    log: Mutex<Log>,
    began: Instant,
    appended: AtomicU64,
    stop: AtomicBool,
    ready: Barrier,
}

/// Runs it.
///
/// # Panics
/// When the lock let in two at once, or the system has no pipes.
#[must_use]
pub fn run<L: Lock>(parameters: &Parameters) -> Figures {
    let (reader, device) = io::pipe().expect("a pipe");
    let (safe, writer) = io::pipe().expect("a pipe");
    let shared = Shared {
        lock: L::new(),
        log: Mutex::new(Log { records: 0, gathered: Vec::with_capacity(4096), device, safe }),
        began: Instant::now(),
        appended: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        ready: Barrier::new(parameters.tasks as usize + 1),
    };
    let served = thread::spawn(move || serve(reader, writer));
    let (figures, late) = thread::scope(|scope| {
        let shared = &shared;
        let tasks: Vec<_> =
            (0..parameters.tasks).map(|which| scope.spawn(move || task(shared, parameters, which))).collect();
        let (began, cpu) = (Instant::now(), process_cpu());
        shared.ready.wait();
        thread::sleep(Duration::from_millis(parameters.milliseconds));
        // The three figures are of one moment, even if this thread is scheduled late.
        let figures = Figures::default()
            .with("records", shared.appended.load(Ordering::Relaxed))
            .with("elapsed_ns", began.elapsed().as_nanos() as u64)
            .with("cpu_ns", process_cpu() - cpu);
        shared.stop.store(true, Ordering::Relaxed);
        let mut late = Histogram::default();
        tasks.into_iter().for_each(|task| late.merge(&task.join().expect("a task's end")));
        (figures, late)
    });
    // The device ends when no task can write to it any more.
    drop(shared);
    served.join().expect("the device's end").expect("its pipes");
    figures
        .with("offered_per_second", parameters.tasks * parameters.per_second)
        .with("late_p50_ns", late.quantile(500_000))
        .with("late_p99_ns", late.quantile(990_000))
        .with("late_worst_ns", late.longest())
}

/// The device: takes its time over its input, then confirms it.
fn serve(mut reader: PipeReader, mut writer: PipeWriter) -> io::Result<()> {
    let mut room = [0; 8192];
    while reader.read(&mut room)? > 0 {
        thread::sleep(DEVICE);
        writer.write_all(&[1])?;
    }
    Ok(())
}

/// One task: the delays of its records.
fn task<L: Lock>(shared: &Shared<L>, parameters: &Parameters, which: u64) -> Histogram {
    let between = Duration::from_nanos(1_000_000_000 / parameters.per_second.max(1));
    let lot = work((parameters.seed << 20) + which, 8) >> 16;
    let (mut late, mut record) = (Histogram::default(), String::with_capacity(256));
    shared.ready.wait();
    let mut due = Instant::now() + between.mul_f64((lot % 1000) as f64 / 1000.0);
    let mut number = 0_u64;
    while !shared.stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        if due > now {
            thread::sleep(due - now);
        }
        number += 1;
        record.clear();
        // A line like those of syslog; writing to a string cannot fail.
        let time = shared.began.elapsed();
        let _ = writeln!(
            record,
            "<13>1 {:>9}.{:06} host task{which}[{}]: record {number}: transaction {lot:016x} took {} us",
            time.as_secs(),
            time.subsec_micros(),
            1000 + which,
            lot % 977 + number % 13
        );
        shared.lock.with(|| {
            let mut log = shared.log.try_lock().expect("the lock lets in one at a time");
            log.append(&record).expect("the device takes it");
        });
        shared.appended.fetch_add(1, Ordering::Relaxed);
        late.add(due.elapsed().as_nanos() as u64);
        due += between;
    }
    late
}

#[cfg(test)]
mod tests {
    use super::{Parameters, run};
    use underbar::SimpleLock;

    #[test]
    fn records_are_appended_one_at_a_time_and_the_device_ends() {
        let parameters = Parameters { tasks: 8, per_second: 1_000, milliseconds: 50, seed: 3 };
        let figures = run::<SimpleLock<()>>(&parameters);
        let get = |name| figures.get(name).expect("a figure");
        assert!(get("records") > 0 && get("offered_per_second") == 8_000, "{figures}");
        // No task gets more requests than were due: one in a millisecond each, and one that begins at once.
        assert!(get("records") <= 8 * (get("elapsed_ns") / 1_000_000 + 1), "{figures}");
        assert!(get("late_worst_ns") >= get("late_p99_ns") && get("late_p99_ns") >= get("late_p50_ns"));
    }
}
