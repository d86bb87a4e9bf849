//! The site area of this process: made, filled with the list of mappings, and mapped for ever.
//!
//! It is made at the first sample. Libraries may be loaded later, so the list of mappings is read then and when the program ends. While the
//! process lives the host asks the kernel.
//!
//! Invariant: a child that was made without the C library's knowledge writes nothing to its parent's area: the word that leads to it is
//! wiped by the fork.
//! Not here: what is written to the ring (`record`), and how (`ring`).

use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_ledger::site_rules::TABLE_BYTES;
use underbar_ledger::sites::{
    AREA_BYTES, Header, MAGIC, RING_OFFSET, RING_WORDS, RULES_OFFSET, TEXT_OFFSET, TEXT_ROOM, VERSION,
    namespace,
};
use underbar_sys::sync::atomic::AtomicU64;
use underbar_sys::{file, syscall};

use super::ring::Ring;
use crate::executable::executable_mappings;
use crate::ledger::{beside, site_area};
use crate::sandbox;

const CLOCK_BOOTTIME: u32 = 7;

/// Words of the ring that have memory at first: most processes need no more, and pages take time to make and to give back.
const FIRST_WORDS: usize = 8 << 10;
/// Words of this process's ring that have memory. Written before the area is known, then by whoever needs more (`fetch_max`); relaxed.
static BACKED: AtomicUsize = AtomicUsize::new(0);

/// 1 while a thread writes the text.
static WRITING: AtomicUsize = AtomicUsize::new(0);

/// The header, if there is an area.
pub(super) fn header() -> Option<&'static Header> {
    // SAFETY: null, or mapped for ever, page-aligned and made of atomics.
    unsafe { site_area::get().cast::<Header>().as_ref() }
}

/// The header and the ring, if there is an area.
pub(super) fn ring() -> Option<(&'static Header, Ring<'static>)> {
    let area = site_area::get();
    let header = header()?;
    // SAFETY: the area is mapped for ever and made of atomics; the ring is in it.
    let words = unsafe { core::slice::from_raw_parts(area.add(RING_OFFSET).cast::<AtomicU64>(), RING_WORDS) };
    Some((header, Ring { head: &header.head.0, tail: &header.tail.0, backed: &BACKED, words }))
}

/// Gives the ring more memory: twice as much, or all of it. False if it has all, or there is none.
#[cold]
pub(super) fn back_more() -> bool {
    let (area, backed) = (site_area::get(), BACKED.load(Ordering::Relaxed));
    if area.is_null() || backed >= RING_WORDS || sandbox::is_closed() {
        return false;
    }
    let next = (2 * backed).min(RING_WORDS);
    // SAFETY: whole pages of the ring, which is in the mapped area.
    let is_backed = unsafe { beside::back(area.add(RING_OFFSET + backed * 8), (next - backed) * 8) };
    if is_backed {
        BACKED.fetch_max(next, Ordering::Relaxed);
    }
    is_backed
}

/// The rules of callers that the host has written; none if there is no area.
pub(super) fn rules() -> &'static [AtomicU64] {
    let area = site_area::get();
    if area.is_null() {
        return &[];
    }
    // SAFETY: the area is mapped for ever; the table is in it, aligned, and made of words that are read as atomics only.
    unsafe { core::slice::from_raw_parts(area.add(RULES_OFFSET).cast::<AtomicU64>(), TABLE_BYTES / 8) }
}

/// Forgets the area, which is another process's.
pub(super) fn forget() {
    WRITING.store(0, Ordering::Relaxed);
    site_area::set(core::ptr::null_mut());
}

/// Makes an area. None if there is no ledger, or no room.
pub(super) fn make(mean: u64) -> Option<&'static Header> {
    let (area, backed) = beside::make_growing(c"sites", AREA_BYTES, RING_OFFSET + FIRST_WORDS * 8)?;
    BACKED.store((backed - RING_OFFSET) / 8, Ordering::Relaxed);
    site_area::set(area);
    let header = header()?;
    header.version.store(VERSION, Ordering::Relaxed);
    header.process.store(syscall::getpid().cast_unsigned(), Ordering::Relaxed);
    header.made_ns.store(syscall::clock_nanoseconds(CLOCK_BOOTTIME), Ordering::Relaxed);
    let mut link = [0; 64];
    let link = file::readlink(c"/proc/self/ns/pid", &mut link).unwrap_or_default();
    header.namespace.store(namespace(link), Ordering::Relaxed);
    header.mean.store(mean, Ordering::Relaxed);
    look_again();
    header.magic.store(MAGIC, Ordering::Release);
    Some(header)
}

/// Appends the current executable mappings to the text, if they have changed.
pub(super) fn look_again() {
    let Some(header) = header() else { return };
    if WRITING.swap(1, Ordering::Acquire) != 0 {
        return;
    }
    let before = header.text_bytes.load(Ordering::Relaxed) as usize;
    if before < TEXT_ROOM {
        // SAFETY: within the mapped area; this thread alone writes the text, and the host reads up to `before` only.
        let text = unsafe {
            let start = site_area::get().add(TEXT_OFFSET);
            core::slice::from_raw_parts_mut(start, TEXT_ROOM)
        };
        let (old, new) = text.split_at_mut(before);
        let (length, is_cut) = executable_mappings(new);
        if before == 0 || !old.ends_with(&new[..length]) {
            header.text_bytes.store((before + length) as u32, Ordering::Release);
            header.text_cut.store(u32::from(is_cut), Ordering::Relaxed);
        }
    }
    WRITING.store(0, Ordering::Release);
}
