//! The kernel's own counts of read and write calls of this process, next to ours: how much of its entries we see.
//!
//! ```text
//! the program begins:  syscr, syscw, our own reads      (the loader's, and those of an earlier program, are before)
//! a look:              the same again, and the sum of what we counted of each type
//! ```
//!
//! A process's file has the calls of its children that it has waited for, too. The file of its first thread has not. So the latter is
//! read as long as there is one thread; with more threads and such children there is no comparison.
//!
//! Invariant: both sums are taken at the same look. What underbar itself reads is in neither.
//! Not here: the comparison (`report`).

use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_ledger::switch_names::{Function, function};
use underbar_ledger::switches::{Entry, Fixed, parts};
use underbar_sys::syscall::{self, O_CLOEXEC, O_RDONLY, usage_of_children};

use crate::ledger::{self, own_reads};
use crate::sandbox;

/// Read and write calls before the program began, as the file of the thread has them and that of the process. Written at the start and in
/// a forked child; relaxed, as nothing depends on it.
static BEFORE: [[AtomicU64; 2]; 2] = [const { [const { AtomicU64::new(0) }; 2] }; 2];
/// Page faults of children that were waited for before. Written likewise.
static FAULTS_OF_CHILDREN: AtomicU64 = AtomicU64::new(0);

/// Of one thread, and of all with the children.
#[derive(Clone, Copy)]
enum Of {
    Thread = 0,
    Process = 1,
}

/// The program begins.
pub(super) fn begin() {
    FAULTS_OF_CHILDREN.store(usage_of_children().minor_faults, Ordering::Relaxed);
    for of in [Of::Thread, Of::Process] {
        let [reads, writes] = calls(of).unwrap_or_default();
        // The loader's read of this library is behind us, and is told as our own later.
        BEFORE[of as usize][0].store(reads.saturating_sub(1), Ordering::Relaxed);
        BEFORE[of as usize][1].store(writes, Ordering::Relaxed);
    }
    tell();
}

/// A host that notes a reset has to know what was before.
fn tell() {
    let Some(pages) = ledger::switch_pages() else { return };
    for (told, before) in pages.head.before.iter().flatten().zip(BEFORE.iter().flatten()) {
        told.store(before.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// A forked child is counted from its start.
pub(super) fn in_child() {
    FAULTS_OF_CHILDREN.store(0, Ordering::Relaxed);
    BEFORE.iter().flatten().for_each(|before| before.store(0, Ordering::Relaxed));
}

/// Compares now.
pub(crate) fn look() {
    if !super::is_on() || sandbox::is_closed() || !ledger::attach::is_ours() {
        return;
    }
    let Some(pages) = ledger::switch_pages() else { return };
    let is_one = ledger::slot().cell(Key::ThreadsStarted).load(Ordering::Relaxed) <= 1;
    let has_waited = usage_of_children().minor_faults != FAULTS_OF_CHILDREN.load(Ordering::Relaxed);
    let of = if is_one { Of::Thread } else { Of::Process };
    if !is_one && has_waited {
        return;
    }
    let Some(kernel) = calls(of) else { return };
    let counted = counted(pages);
    let since = |at: usize| kernel[at].saturating_sub(BEFORE[of as usize][at].load(Ordering::Relaxed));
    ledger::set(Key::SwitchKernelReads, since(0));
    ledger::set(Key::SwitchKernelWrites, since(1));
    ledger::set(Key::SwitchReads, counted[0]);
    ledger::set(Key::SwitchWrites, counted[1]);
}

/// The sums of what was counted: calls of the read type, and of the write type.
fn counted(pages: &Fixed) -> [u64; 2] {
    let mut sums = [0_u64; 2];
    let mut add = |number: usize, count: u64| {
        let Some(function) = function(number) else { return };
        for (sum, fact) in sums.iter_mut().zip([Function::READS, Function::WRITES]) {
            if function.is(fact) {
                *sum = sum.wrapping_add(count);
            }
        }
    };
    let mut add_entry = |entry: &Entry| {
        let key = entry.key.load(Ordering::Relaxed);
        if key != 0 {
            add(parts(key).0, entry.count.load(Ordering::Relaxed));
        }
    };
    pages.known.iter().for_each(&mut add_entry);
    let made = pages.head.made.load(Ordering::Acquire);
    for number in 0..u64::BITS as usize {
        if made >> number & 1 != 0
            && let Some(table) = ledger::switch_table(number)
        {
            table.0.iter().for_each(&mut add_entry);
        }
    }
    for (number, of) in pages.head.overflow.iter().enumerate() {
        add(number, of.count.load(Ordering::Relaxed));
    }
    sums
}

/// Read and write calls of this process so far, less underbar's own reads. None if the kernel does not tell.
fn calls(of: Of) -> Option<[u64; 2]> {
    let own = ledger::slot().cell(Key::OwnReads).load(Ordering::Relaxed);
    let path = match of {
        Of::Thread => c"/proc/thread-self/io",
        Of::Process => c"/proc/self/io",
    };
    let fd = syscall::open(path, O_RDONLY | O_CLOEXEC, 0).ok()?;
    let mut text = [0; 256];
    let read = own_reads::read(fd, &mut text);
    let _ = syscall::close(fd);
    let text = text.get(..read.ok()?)?;
    let figure = |name: &[u8]| {
        let line = text.split(|&byte| byte == b'\n').find(|line| line.starts_with(name))?;
        core::str::from_utf8(line.get(name.len()..)?).ok()?.trim().parse::<u64>().ok()
    };
    Some([figure(b"syscr:")?.saturating_sub(own), figure(b"syscw:")?])
}
