//! The control page: the one page of the ledger that the host writes and the runtime reads.
//!
//! ```text
//! word 0       epoch     raised after every change
//!      1       watched   1: a command looks at the processes' CPU time while they run (MT)
//!      2       buffered  buffers of files that processes have now, as their supervisor knows
//!      3       granted   buffers that they ever got, and 1; 0: there is no supervisor
//!      4..8    files     a bit for each file of those buffers, by its numbers; two files may have the same
//!      8..11   setting   kind | process, object, value
//!      11..14  setting   ...                                  the first without a kind ends the table
//! ```
//!
//! A setting names the state to be in force, not an action: a process that comes late, or reads it twice, ends in the same state.
//! It is for one process, or for all of the ledger; of one object (a lock), or of the whole process.
//!
//! Protocol: the host stores object and value, then kind and process (Release), then raises the epoch (Release). For a setting
//! that exists already it stores only the value, which is one word, then raises the epoch. The runtime loads the epoch (relaxed)
//! in slow paths. If that differs from the last one it obeyed, it loads it again (Acquire) and obeys all settings that are for it.
//! So each setting is seen whole, whatever happens meanwhile, even if the host dies.
//!
//! Invariant: a setting's kind, process and object never change once it has a kind; one host at a time writes (it locks the file);
//! programs map the page read-only.
//! Not here: mapping the page (`runtime::ledger::control`, `launch::control`), and the effect of settings.

use core::sync::atomic::{AtomicU64, Ordering};

pub use underbar_options::Disposition;

/// Words of the page.
pub const WORDS: usize = 512;
/// How many settings a page has room for.
pub const SETTINGS: usize = (WORDS - FIRST) / STRIDE;

const EPOCH: usize = 0;
/// The word that says that a command watches.
pub const WATCHED: usize = 1;
/// The word of the buffers of files that processes have.
pub const BUFFERED: usize = 2;
/// The word of the buffers of files that processes ever got.
pub const GRANTED: usize = 3;
/// The words of the files of those buffers.
pub const BUFFERED_FILES: core::ops::Range<usize> = 4..8;
const FIRST: usize = 8;
const STRIDE: usize = 3;

/// The kind of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// The disposition of the heap's empty increments, as in HEAP: the number of a [`Disposition`].
    HeapDisposition = 1,
    /// Empty increments go back to the kernel now. Done once for each new value; the value has no other meaning.
    HeapTrim = 2,
    /// How threads wait for the mutex at the address that is the object: one of [`crate::locks`]' `POLICY_*`. Obeyed at the next
    /// wait for a mutex that a thread has waited for before.
    LockPolicy = 3,
    /// Counts acquisitions of the mutex at the address that is the value; 0: of none.
    LockCounted = 4,
    /// A display of the ECB of that number, or of all that are alive ([`EVERY_ECB`]), in a file next to the ledger; 0: none. Written once
    /// for each change of the page while this is in force.
    EcbDisplay = 5,
}

/// The value of [`Kind::EcbDisplay`] for all ECBs. It is the number of none.
pub const EVERY_ECB: u64 = u64::MAX;
/// Bytes of the file of a display: a word, and the text. The word is stored last (Release): bytes of the text and one more.
pub const DISPLAY_BYTES: usize = 256 << 10;

impl Kind {
    const fn from_number(number: u32) -> Option<Kind> {
        match number {
            1 => Some(Kind::HeapDisposition),
            2 => Some(Kind::HeapTrim),
            3 => Some(Kind::LockPolicy),
            4 => Some(Kind::LockCounted),
            5 => Some(Kind::EcbDisplay),
            _ => None,
        }
    }
}

/// The target and the kind of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The kind of the setting.
    pub kind: Kind,
    /// The process, as the ledger's directory has it; 0: every process of the ledger.
    pub process: u32,
    /// The object in the process; 0 if there is only one, such as the heap.
    pub object: u64,
}

/// There is no room for another setting: all [`SETTINGS`] are in use, and none is ever taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl core::fmt::Display for Full {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the ledger's control page has no room for another setting")
    }
}

impl core::error::Error for Full {}

/// The page, as it is mapped.
#[derive(Clone, Copy)]
pub struct Control<'a>(&'a [AtomicU64; WORDS]);

impl<'a> Control<'a> {
    /// The page in these words.
    #[must_use]
    pub const fn new(words: &'a [AtomicU64; WORDS]) -> Self {
        Self(words)
    }

    /// The number of the last change. Relaxed: for slow paths, which compare it with the last one that they obeyed.
    #[must_use]
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.0[EPOCH].load(Ordering::Relaxed)
    }

    /// Whether a command watches over the processes of the ledger, so that no process needs a timer for MT. Written once, before the first
    /// process begins; relaxed.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.0[WATCHED].load(Ordering::Relaxed) != 0
    }

    /// Buffers of files that processes have now. The supervisor writes it before it answers (Release), after it has taken those away that
    /// it no longer counts; Acquire.
    #[must_use]
    #[inline]
    pub fn buffered(&self) -> u64 {
        self.0[BUFFERED].load(Ordering::Acquire)
    }

    /// Whether a process may have a buffer of that file now. Written as [`Self::buffered`] is; Acquire.
    #[must_use]
    pub fn may_be_buffered(&self, device: u64, inode: u64) -> bool {
        let (word, bit) = bit_of_file(device, inode);
        self.0[word].load(Ordering::Acquire) & bit != 0
    }

    /// Changes with each buffer of a file that a process gets; 0: there is no supervisor. It is written before the process has the buffer
    /// (Release), so a process that another one has told of its write finds it changed; Acquire.
    #[must_use]
    #[inline(always)]
    pub fn granted(&self) -> u64 {
        self.0[GRANTED].load(Ordering::Acquire)
    }

    /// Sets a value. The host only, one at a time.
    ///
    /// # Errors
    /// If there is no room for another setting.
    pub fn set(&self, target: Target, value: u64) -> Result<(), Full> {
        let word = word(target.kind, target.process);
        for [to, object, of] in self.settings() {
            match to.load(Ordering::Relaxed) {
                0 => {
                    object.store(target.object, Ordering::Relaxed);
                    of.store(value, Ordering::Relaxed);
                    to.store(word, Ordering::Release);
                }
                same if same == word && object.load(Ordering::Relaxed) == target.object => {
                    of.store(value, Ordering::Relaxed);
                }
                _ => continue,
            }
            self.0[EPOCH].fetch_add(1, Ordering::Release);
            return Ok(());
        }
        Err(Full)
    }

    /// Passes on the settings for a process: first those for all, then those for it alone, so that the latter win. Returns the
    /// epoch that is included at least; later changes may be included, too.
    pub fn obey(&self, process: u32, mut then: impl FnMut(Kind, u64, u64)) -> u64 {
        let epoch = self.0[EPOCH].load(Ordering::Acquire);
        for whose in [0, process] {
            for [to, object, of] in self.settings() {
                let word = to.load(Ordering::Acquire);
                if word == 0 {
                    break;
                }
                if word as u32 == whose
                    && let Some(kind) = Kind::from_number((word >> 32) as u32)
                {
                    then(kind, object.load(Ordering::Relaxed), of.load(Ordering::Relaxed));
                }
            }
        }
        epoch
    }

    fn settings(&self) -> impl Iterator<Item = &'a [AtomicU64; STRIDE]> + use<'a> {
        self.0[FIRST..].as_chunks::<STRIDE>().0.iter()
    }
}

/// The word and the bit of a file.
#[must_use]
pub const fn bit_of_file(device: u64, inode: u64) -> (usize, u64) {
    let hash = (inode ^ device.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    (BUFFERED_FILES.start + (hash >> 6) as usize, 1 << (hash & 63))
}

const fn word(kind: Kind, process: u32) -> u64 {
    ((kind as u64) << 32) | process as u64
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn page() -> [AtomicU64; WORDS] {
        [const { AtomicU64::new(0) }; WORDS]
    }

    fn disposition(process: u32) -> Target {
        Target { kind: Kind::HeapDisposition, process, object: 0 }
    }

    fn obeyed(control: Control<'_>, process: u32) -> Vec<(Kind, u64, u64)> {
        let mut all = vec![];
        assert_eq!(
            control.obey(process, |kind, object, value| all.push((kind, object, value))),
            control.epoch()
        );
        all
    }

    #[test]
    fn each_process_obeys_what_is_for_all_and_then_what_is_for_it() {
        let words = page();
        let control = Control::new(&words);
        assert_eq!((control.epoch(), obeyed(control, 7)), (0, vec![]));
        control.set(disposition(7), 3).expect("room");
        control.set(disposition(0), 2).expect("room");
        control.set(Target { kind: Kind::HeapTrim, process: 8, object: 5 }, 1).expect("room");
        assert_eq!(control.epoch(), 3);
        let all = (Kind::HeapDisposition, 0, 2);
        assert_eq!(obeyed(control, 7), [all, (Kind::HeapDisposition, 0, 3)]);
        assert_eq!(obeyed(control, 8), [all, (Kind::HeapTrim, 5, 1)]);
        assert_eq!(obeyed(control, 9), [all]);
        control.set(disposition(0), 1).expect("room");
        assert_eq!((control.epoch(), obeyed(control, 9)), (4, vec![(Kind::HeapDisposition, 0, 1)]));
    }

    #[test]
    fn each_lock_has_a_setting_of_its_own() {
        let words = page();
        let control = Control::new(&words);
        let of = |object| Target { kind: Kind::LockPolicy, process: 7, object };
        for (lock, policy) in [(0x1000, 1), (0x2000, 2), (0x1000, 3)] {
            control.set(of(lock), policy).expect("room");
        }
        control.set(Target { kind: Kind::LockCounted, process: 7, object: 0 }, 0x1000).expect("room");
        let all =
            [(Kind::LockPolicy, 0x1000, 3), (Kind::LockPolicy, 0x2000, 2), (Kind::LockCounted, 0, 0x1000)];
        assert_eq!(obeyed(control, 7), all);
        assert_eq!(obeyed(control, 8), []);
    }

    #[test]
    fn a_full_page_changes_what_it_has_and_refuses_the_rest() {
        let words = page();
        let control = Control::new(&words);
        for process in 1..=SETTINGS as u32 {
            control.set(disposition(process), 2).expect("room");
        }
        assert_eq!(control.set(disposition(0), 2), Err(Full));
        control.set(disposition(1), 3).expect("it is there");
        assert_eq!(obeyed(control, 1), [(Kind::HeapDisposition, 0, 3)]);
        assert_eq!(obeyed(control, SETTINGS as u32), [(Kind::HeapDisposition, 0, 2)]);
    }

    #[test]
    fn noise_is_passed_over() {
        let words = page();
        for (at, word) in words.iter().enumerate() {
            word.store((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 63, Ordering::Relaxed);
        }
        assert_eq!(obeyed(Control::new(&words), 7), []);
    }

    #[test]
    fn a_reader_sees_settings_whole_while_the_host_writes() {
        let words = page();
        let control = Control::new(&words);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                for object in 1..=SETTINGS as u64 {
                    control
                        .set(Target { kind: Kind::HeapTrim, process: 7, object }, object << 40)
                        .expect("room");
                }
            });
            let (mut seen, mut most) = (0, 0);
            while seen < SETTINGS as u64 {
                let mut count = 0;
                seen = control.obey(7, |kind, object, value| {
                    assert_eq!((kind, object << 40), (Kind::HeapTrim, value));
                    count += 1;
                });
                assert!(count >= seen && count >= most, "what was raised before is seen, and never lost");
                most = count;
            }
        });
    }
}
