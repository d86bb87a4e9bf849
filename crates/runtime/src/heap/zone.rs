//! Check zones: bytes of a known pattern behind each element, under HEAPZONES.
//!
//! ```text
//!  header 8   the bytes asked for      zone, at least n bytes     24                    next header
//! +---------+------------------------+--------------------------+------+--------+-----+---------+--
//! | size|FP | the program's          | pattern                  | size | getter | sum | size|FP |
//! +---------+------------------------+--------------------------+------+--------+-----+---------+--
//!                                    ^ the first byte that was not asked for
//! ```
//!
//! The pattern depends on the address and never has the value 0 or that of a letter, so that one byte too many of a text shows. A
//! write that goes past the zone changes the words behind it, whose sum no longer matches.
//!
//! Invariant: where zones are on, each element in use has one, from before the lock of its space is given up after it was got. So
//! a walk under that lock never meets an element without.
//! Not here: elements that get one (`space::zoned`), buffers of ECBs that do (`ecb::zoned`), the reaction to a damaged zone (`watch`), and when zones are checked (`unusual`, `space::walk`).

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::block::Block;

/// The largest zone, in bytes.
const MOST: usize = 1024;
/// The words behind a zone: size, getter, sum.
const WORDS: usize = 3;
const TAIL: usize = WORDS * size_of::<usize>();

/// Whether elements have zones, or at least the words behind them; bytes of a zone, at least, above 2 GiB and below; 0: zones there
/// are not looked at. Written once, before the first request; relaxed.
static ARE_ON: AtomicBool = AtomicBool::new(false);
static BYTES: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// A place in this library: the loader chooses its address.
static HERE: u8 = 0;

/// The state of an element's zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// As written. The bytes that were asked for.
    Sound(usize),
    /// The program wrote to it. The bytes that were asked for, if the words behind the zone still say so.
    Damaged(Option<usize>),
}

/// Obeys HEAPZONES, with the sizes above 2 GiB and below. Before the first request.
pub fn configure(above: u64, below: u64) {
    for (bytes, zone) in [above, below].into_iter().zip(&BYTES) {
        zone.store(usize::try_from(bytes).unwrap_or(MOST).min(MOST), Ordering::Relaxed);
    }
    ARE_ON.store(above > 0 || below > 0, Ordering::Relaxed);
}

/// Whether elements have zones.
#[inline]
pub fn are_on() -> bool {
    ARE_ON.load(Ordering::Relaxed)
}

fn bytes(is_below: bool) -> usize {
    BYTES[usize::from(is_below)].load(Ordering::Relaxed)
}

/// Whether zones are looked at, of storage below 2 GiB or above.
pub fn are_checked(is_below: bool) -> bool {
    bytes(is_below) != 0
}

/// Bytes behind a buffer of an ECB, which has no header that a write past its end would change: so there is a zone under HEAPCHK, too.
pub fn room_in_ecb(is_below: bool) -> usize {
    bytes(is_below).max(size_of::<usize>()) + TAIL
}

/// Bytes that an element needs for its zone and the words behind it; 0: there are none.
#[inline]
pub fn room(is_below: bool) -> usize {
    if are_on() { bytes(is_below) + TAIL } else { 0 }
}

/// The bytes that the program may use of an element: those that it asked for, if zones are on.
///
/// # Safety
/// The address is that of an element in use whose header is sound.
pub unsafe fn usable(address: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { if are_on() { Zoned::element(address).usable() } else { Block::of_element(address).usable() } }
}

/// Who got an element: the return address of its request. None if zones are off, or the words behind the zone are damaged.
///
/// # Safety
/// As [`usable`].
pub unsafe fn getter(address: usize) -> Option<usize> {
    // SAFETY: the caller's promise.
    unsafe { if are_on() { Zoned::element(address).getter() } else { None } }
}

/// The state of an element's zone. Zones are on.
///
/// # Safety
/// As [`usable`].
pub unsafe fn state(address: usize) -> State {
    // SAFETY: the caller's promise.
    unsafe { Zoned::element(address).state() }
}

/// Writes a damaged zone anew, so that it is reported once. If its size is not known any more, all bytes are the program's.
///
/// # Safety
/// As [`usable`].
pub unsafe fn mend(address: usize) {
    // SAFETY: the caller's promise.
    unsafe { Zoned::element(address).mend() }
}

/// Writes a zone behind the first `bytes` bytes of an element, and the words behind it.
///
/// # Safety
/// The element has room for them.
pub unsafe fn lay(address: usize, bytes: usize, getter: usize) {
    // SAFETY: the caller's promise.
    unsafe { Zoned::element(address).lay(bytes, getter) }
}

/// Storage with a zone: an element, or a buffer of an ECB.
#[derive(Clone, Copy)]
pub struct Zoned {
    address: usize,
    /// The words behind the zone end here.
    end: usize,
}

/// All functions: zones are on, the storage is in use, and has room for a zone and the words behind it.
#[allow(clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl Zoned {
    /// Storage that ends there.
    pub const unsafe fn new(address: usize, end: usize) -> Self {
        Self { address, end }
    }

    /// An element whose header is sound.
    unsafe fn element(address: usize) -> Self {
        // SAFETY: the caller's promise.
        Self { address, end: address + unsafe { Block::of_element(address).usable() } }
    }

    /// The bytes that the program may use: those that it asked for.
    pub unsafe fn usable(self) -> usize {
        // SAFETY: the contract above.
        match unsafe { self.state() } {
            State::Sound(bytes) | State::Damaged(Some(bytes)) => bytes,
            State::Damaged(None) => self.end - self.address,
        }
    }

    /// Who got it; None if the words behind the zone are damaged.
    pub unsafe fn getter(self) -> Option<usize> {
        // SAFETY: the contract above.
        unsafe { self.words() }.map(|[_, getter]| getter).filter(|getter| *getter != 0)
    }

    /// The state of its zone.
    pub unsafe fn state(self) -> State {
        // SAFETY: the contract above.
        unsafe {
            let Some([bytes, _]) = self.words() else { return State::Damaged(None) };
            let (first, end) = (self.address + bytes, self.tail().addr());
            if (first..end).all(|at| *(at as *const u8) == pattern(at)) {
                State::Sound(bytes)
            } else {
                State::Damaged(Some(bytes))
            }
        }
    }

    /// See [`mend`].
    pub unsafe fn mend(self) {
        // SAFETY: the contract above.
        unsafe {
            match self.words() {
                Some([bytes, getter]) => self.lay(bytes, getter),
                None => self.lay(self.end - self.address - TAIL, 0),
            }
        }
    }

    /// See [`lay`].
    pub unsafe fn lay(self, bytes: usize, getter: usize) {
        // SAFETY: the contract above: zone and words are inside the storage.
        unsafe {
            let tail = self.tail();
            for at in self.address + bytes..tail.addr() {
                *(at as *mut u8) = pattern(at);
            }
            *tail = bytes;
            *tail.add(1) = getter;
            *tail.add(2) = sum(self.address, bytes, getter);
        }
    }

    /// Size and getter; None if they were overwritten.
    unsafe fn words(self) -> Option<[usize; 2]> {
        // SAFETY: the contract above.
        unsafe {
            let tail = self.tail();
            let [bytes, getter, found] = *tail.cast::<[usize; WORDS]>();
            let is_right = found == sum(self.address, bytes, getter) && bytes <= tail.addr() - self.address;
            is_right.then_some([bytes, getter])
        }
    }

    /// The words behind the zone.
    fn tail(self) -> *mut usize {
        (self.end - TAIL) as *mut usize
    }
}

fn sum(address: usize, bytes: usize, getter: usize) -> usize {
    const ODD: usize = 0x9e37_79b9_7f4a_7c15;
    let folded = bytes ^ getter.rotate_left(23) ^ address.rotate_left(41);
    (folded ^ (&raw const HERE).addr()).wrapping_mul(ODD)
}

fn pattern(at: usize) -> u8 {
    0x80 | (at as u8 ^ 0x2a)
}

#[cfg(test)]
mod tests {
    use super::super::ONE_AT_A_TIME;
    use super::super::object::DEFAULT;
    use super::super::space::Space;
    use super::*;

    /// An element of `bytes` with a zone of 16, in a space of its own.
    fn with_element(bytes: usize, align: usize, then: impl FnOnce(usize)) {
        let _turn = ONE_AT_A_TIME.lock();
        configure(16, 16);
        let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
        let element = space.get_with_zone(bytes, align, 0x1234).expect("storage").address;
        assert!(element.is_multiple_of(align));
        then(element);
        // SAFETY: in use, and not used again.
        unsafe { space.free(element) }.expect("the headers are sound");
        configure(0, 0);
    }

    #[test]
    fn every_byte_of_zone_and_words_is_watched_and_none_of_the_programs() {
        for bytes in [0, 1, 7, 8, 15, 16, 24, 100, 4096, 70_001] {
            with_element(bytes, 16, |element| {
                // SAFETY: bytes of the element, all of which are read and written here alone.
                unsafe {
                    let all = Block::of_element(element).usable();
                    assert!(all >= bytes + 16 + TAIL);
                    (element as *mut u8).write_bytes(0xab, bytes);
                    assert_eq!((state(element), usable(element)), (State::Sound(bytes), bytes));
                    assert_eq!(getter(element), Some(0x1234));
                    for at in element + bytes..element + all {
                        let byte = at as *mut u8;
                        for wrong in [0, b'A', *byte ^ 1] {
                            let right = byte.replace(wrong);
                            let expected =
                                if at < Zoned::element(element).tail().addr() { Some(bytes) } else { None };
                            if wrong != right {
                                assert_eq!(
                                    state(element),
                                    State::Damaged(expected),
                                    "{bytes} {}",
                                    at - element
                                );
                            }
                            *byte = right;
                        }
                    }
                    assert_eq!(state(element), State::Sound(bytes));
                }
            });
        }
    }

    #[test]
    fn a_mended_zone_is_sound() {
        with_element(40, 4096, |element| {
            // SAFETY: as above.
            unsafe {
                ((element + 40) as *mut u8).write_bytes(0, 3);
                assert_eq!(state(element), State::Damaged(Some(40)));
                mend(element);
                assert_eq!((state(element), getter(element)), (State::Sound(40), Some(0x1234)));
                *Zoned::element(element).tail() = 41;
                assert_eq!((state(element), getter(element)), (State::Damaged(None), None));
                assert_eq!(usable(element), Block::of_element(element).usable());
                mend(element);
                let State::Sound(bytes) = state(element) else { panic!("mended") };
                assert!(bytes >= 40 && getter(element).is_none());
            }
        });
    }

    #[test]
    fn a_size_that_overflows_gets_nothing() {
        let _turn = ONE_AT_A_TIME.lock();
        configure(u64::MAX, 0);
        let mut space = Space::new(&DEFAULT, core::ptr::null_mut());
        for bytes in [usize::MAX, usize::MAX - 1024, usize::MAX - 2000, isize::MAX as usize] {
            assert!(space.get_with_zone(bytes, 16, 0).is_none());
        }
        configure(0, 0);
    }
}
