//! The sample area of this process: made, filled with the list of mappings, and mapped for ever.
//!
//! The list of mappings is read at the start, and once more at the end, since libraries may have been loaded meanwhile.
//! While the process lives the host can ask the kernel.
//!
//! Invariant: the ring is written by the handler alone. The text is written by one thread at a time, and never in a part
//! that the host may already read.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use underbar_ledger::samples::{
    Header, LEAST, MAGIC, MOST, SAMPLE_BYTES, SAMPLES_OFFSET, Sample, TEXT_OFFSET, TEXT_ROOM, VERSION,
    namespace, note,
};
use underbar_sys::{file, syscall};

use crate::executable::executable_mappings;
use crate::ledger::beside;

const CLOCK_BOOTTIME: u32 = 7;
/// No kernel's tick gives more samples a second than this.
const MOST_RATE: u64 = 1000;

/// The mapped area; null if there is none. Written before timers run, and in a forked child's only thread; relaxed.
static AREA: AtomicPtr<u8> = AtomicPtr::new(null_mut());
/// The number of samples in its ring, kept by the process itself, as the one in the file may be changed by others.
static ROOM: AtomicUsize = AtomicUsize::new(0);
/// 1 while a thread writes the text.
static WRITING: AtomicUsize = AtomicUsize::new(0);

/// The header, if there is an area.
pub(super) fn header() -> Option<&'static Header> {
    // SAFETY: null, or mapped for ever, page-aligned and made of atomics.
    unsafe { AREA.load(Ordering::Relaxed).cast::<Header>().as_ref() }
}

/// Forgets the area, which is another process's. None if there was none.
pub(super) fn forget() -> Option<()> {
    WRITING.store(0, Ordering::Relaxed);
    (!AREA.swap(null_mut(), Ordering::Relaxed).is_null()).then_some(())
}

/// Makes an area for samples at this rate.
pub(super) fn make(period: u64) -> Option<&'static Header> {
    let room = room(period, syscall::processors());
    let area = beside::make(c"samples", SAMPLES_OFFSET + room * SAMPLE_BYTES)?;
    ROOM.store(room, Ordering::Relaxed);
    AREA.store(area, Ordering::Relaxed);
    let header = header()?;
    header.version.store(VERSION, Ordering::Relaxed);
    header.process.store(syscall::getpid().cast_unsigned(), Ordering::Relaxed);
    header.made_ns.store(syscall::clock_nanoseconds(CLOCK_BOOTTIME), Ordering::Relaxed);
    let mut link = [0; 64];
    let link = file::readlink(c"/proc/self/ns/pid", &mut link).unwrap_or_default();
    header.namespace.store(namespace(link), Ordering::Relaxed);
    header.room.store(room as u32, Ordering::Relaxed);
    look_again();
    header.magic.store(MAGIC, Ordering::Release);
    Some(header)
}

/// The samples of all processors in half a second: the host reads more often.
fn room(period: u64, processors: u32) -> usize {
    let rate = (1_000_000_000 / period.max(1)).clamp(1, MOST_RATE);
    let half_a_second = usize::try_from(rate * u64::from(processors.max(1)) / 2).unwrap_or(MOST);
    half_a_second.clamp(LEAST, MOST).next_power_of_two()
}

/// Records where a thread is. For the handler.
#[inline]
pub(super) fn take(address: u64, thread: u32) {
    let area = AREA.load(Ordering::Relaxed);
    if area.is_null() {
        return;
    }
    // SAFETY: the area is mapped for ever and made of atomics; its ring has the number of samples for which room was made.
    let (header, ring) = unsafe {
        let ring = area.add(SAMPLES_OFFSET).cast::<Sample>();
        (&*area.cast::<Header>(), core::slice::from_raw_parts(ring, ROOM.load(Ordering::Relaxed)))
    };
    note(header, ring, address, thread);
}

/// Appends the current executable mappings to the text, if they have changed.
pub(super) fn look_again() {
    let Some(header) = header() else { return };
    // A child that was made without the C library's knowledge has its parent's area.
    let is_own = header.process.load(Ordering::Relaxed) == syscall::getpid().cast_unsigned();
    if !is_own || WRITING.swap(1, Ordering::Acquire) != 0 {
        return;
    }
    let before = header.text_bytes.load(Ordering::Relaxed) as usize;
    if before < TEXT_ROOM {
        // SAFETY: within the mapped area; this thread alone writes the text, and the host reads up to `before` only.
        let text = unsafe {
            let start = AREA.load(Ordering::Relaxed).add(TEXT_OFFSET);
            core::slice::from_raw_parts_mut(start, TEXT_ROOM)
        };
        let (old, new) = text.split_at_mut(before);
        let (length, is_cut) = executable_mappings(new);
        if !old.ends_with(&new[..length]) || before == 0 {
            header.text_bytes.store((before + length) as u32, Ordering::Release);
            header.text_cut.store(u32::from(is_cut), Ordering::Relaxed);
        }
    }
    WRITING.store(0, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_room_for_half_a_second() {
        assert_eq!(room(1_000_000, 2), LEAST);
        assert_eq!(room(4_000_000, 64), 8192);
        assert_eq!(room(1, 64), 1 << 15);
        assert_eq!((room(1, 4096), room(u64::MAX, 1), room(0, 0)), (MOST, LEAST, LEAST));
    }
}
