//! The values of HEAP, STORAGE, HEAPCHK, HEAPZONES and HUGEPAGES.
//!
//! Not here: HEAPPOOLS (`pools`), and the heap that obeys them (`underbar-runtime`).

use crate::search::slot_named;
use crate::settings::Settings;
use crate::value::{FILL_CLEAR, Value};
use crate::where_set::WhereSet;

/// A size, or AUTO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// underbar decides.
    Auto,
    /// This many bytes, a multiple of 8.
    Bytes(u64),
}

impl Size {
    /// How many bytes; None where underbar decides.
    #[must_use]
    pub const fn bytes(self) -> Option<u64> {
        match self {
            Size::Auto => None,
            Size::Bytes(bytes) => Some(bytes),
        }
    }
}

/// What becomes of an emptied increment. The numbers are those of the ledger's control page, where 0 means never set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Disposition {
    /// Kept while the heap is busy, given back when it has been idle for a while.
    Auto = 1,
    /// Kept for later use.
    Keep = 2,
    /// Given back to the kernel at once.
    Free = 3,
}

impl Disposition {
    /// The disposition with that number; noise reads as None.
    #[must_use]
    pub const fn from_number(number: u64) -> Option<Disposition> {
        match number {
            1 => Some(Disposition::Auto),
            2 => Some(Disposition::Keep),
            3 => Some(Disposition::Free),
            _ => None,
        }
    }
}

/// Which segments of the heap ask for transparent huge pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HugePages {
    /// None.
    Off,
    /// All that are large enough.
    On,
    /// Those of a program that touches all it gets, where a trial shows them cheap.
    Auto,
}

/// The values of HEAP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heap {
    /// Bytes of the first segment; 0: it is taken on first use, sized by the increment.
    pub init: Size,
    /// The minimum size of each further segment in bytes.
    pub increment: Size,
    /// The treatment of an emptied increment.
    pub disposition: Disposition,
}

/// The values of HEAP for storage below the line, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapBelow {
    /// The first segment; 0: as large as a further one.
    pub init: u64,
    /// The minimum size of each further segment.
    pub increment: u64,
}

/// The values of THREADHEAP, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadHeap {
    /// The first segment.
    pub init: u64,
    /// The minimum size of each further segment.
    pub increment: u64,
    /// Whether an emptied increment goes back to the kernel.
    pub frees: bool,
}

/// The values of STORAGE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Storage {
    /// The fill of new elements.
    pub getheap: Option<u8>,
    /// The fill of freed elements.
    pub freeheap: Option<u8>,
    /// The fill of stack frames.
    pub dsa: Dsa,
    /// Bytes that are kept for when the kernel refuses storage; 0: none.
    pub reserve: u64,
}

/// The third value of STORAGE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dsa {
    /// No fill.
    None,
    /// The unused stack is cleared once, before main.
    Clear,
    /// Stack frames are filled with this byte.
    Byte(u8),
}

/// The values of HEAPCHK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapCheck {
    /// Whether the other sub-options apply.
    pub on: bool,
    /// Requests between two walks over the whole heap; 0: no walks.
    pub frequency: u64,
    /// Requests before the first walk.
    pub delay: u64,
    /// Callers that a message names, beyond the first.
    pub call_depth: u64,
    /// Requests in the trace table; 0: there is none.
    pub entries: u64,
}

/// The values of HEAPZONES.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapZones {
    /// Bytes of the zone behind each element; 0: there are none.
    pub bytes: u64,
    /// What happens when a zone is found damaged.
    pub reaction: Reaction,
    /// The same for storage below 2 GiB.
    pub bytes_below: u64,
    /// The same for storage below 2 GiB.
    pub reaction_below: Reaction,
}

/// The reaction to a damaged zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Reaction {
    /// A message, and the end of the program.
    Abend = 0,
    /// It is counted.
    Quiet = 1,
    /// A message.
    Message = 2,
    /// A message with the callers.
    Trace = 3,
}

impl Settings {
    /// HEAP.
    pub fn heap(&self) -> Heap {
        const INIT: usize = slot_named("HEAP", "init");
        const INCREMENT: usize = slot_named("HEAP", "incr");
        const DISPOSITION: usize = slot_named("HEAP", "KEEP|FREE|AUTO");
        Heap {
            init: self.size(INIT),
            increment: self.size(INCREMENT),
            disposition: self.disposition(DISPOSITION),
        }
    }

    /// ANYHEAP: the first segment, and the smallest further one.
    pub fn any_heap(&self) -> [Size; 2] {
        const INIT: usize = slot_named("ANYHEAP", "init");
        const INCREMENT: usize = slot_named("ANYHEAP", "incr");
        [INIT, INCREMENT].map(|slot| self.size(slot))
    }

    /// HEAP, for storage below the line.
    pub fn heap_below(&self) -> HeapBelow {
        const INIT: usize = slot_named("HEAP", "init24");
        const INCREMENT: usize = slot_named("HEAP", "incr24");
        let bytes = |slot| self.size(slot).bytes().unwrap_or(0);
        HeapBelow { init: bytes(INIT), increment: bytes(INCREMENT) }
    }

    /// STORAGE.
    pub fn storage(&self) -> Storage {
        const GETHEAP: usize = slot_named("STORAGE", "getheap");
        const FREEHEAP: usize = slot_named("STORAGE", "freeheap");
        const DSA: usize = slot_named("STORAGE", "dsa");
        const RESERVE: usize = slot_named("STORAGE", "reserve");
        let byte = |slot: usize| match self.at(slot) {
            Value::Byte(byte) => Some(byte),
            _ => None,
        };
        Storage {
            getheap: byte(GETHEAP),
            freeheap: byte(FREEHEAP),
            dsa: match self.at(DSA) {
                Value::Byte(byte) => Dsa::Byte(byte),
                FILL_CLEAR => Dsa::Clear,
                _ => Dsa::None,
            },
            reserve: self.size(RESERVE).bytes().unwrap_or(0),
        }
    }

    /// HEAPCHK.
    pub fn heap_check(&self) -> HeapCheck {
        const ON: usize = slot_named("HEAPCHK", "OFF|ON");
        const FREQUENCY: usize = slot_named("HEAPCHK", "frequency");
        const DELAY: usize = slot_named("HEAPCHK", "delay");
        const DEPTH: usize = slot_named("HEAPCHK", "call depth");
        const ENTRIES: usize = slot_named("HEAPCHK", "entries");
        HeapCheck {
            on: self.is_on(ON),
            frequency: self.number(FREQUENCY),
            delay: self.number(DELAY),
            call_depth: self.number(DEPTH),
            entries: self.number(ENTRIES),
        }
    }

    /// HEAPZONES.
    pub fn heap_zones(&self) -> HeapZones {
        const BYTES: usize = slot_named("HEAPZONES", "size64");
        // The last of two sub-options with this name.
        const REACTION: usize = BYTES + 1;
        const BYTES_BELOW: usize = slot_named("HEAPZONES", "size31");
        let reaction = |slot: usize| match self.at(slot) {
            Value::Word(1) => Some(Reaction::Quiet),
            Value::Word(2) => Some(Reaction::Message),
            Value::Word(3) => Some(Reaction::Trace),
            Value::Word(_) => Some(Reaction::Abend),
            _ => None,
        };
        let above = (self.size(BYTES).bytes().unwrap_or(0), reaction(REACTION).unwrap_or(Reaction::Abend));
        HeapZones {
            bytes: above.0,
            reaction: above.1,
            bytes_below: self.size(BYTES_BELOW).bytes().unwrap_or(above.0),
            reaction_below: reaction(BYTES_BELOW + 1).unwrap_or(above.1),
        }
    }

    /// HUGEPAGES: which segments ask for transparent huge pages.
    pub fn huge_pages(&self) -> HugePages {
        const WHICH: usize = slot_named("HUGEPAGES", "OFF|ON|AUTO");
        match self.at(WHICH) {
            Value::Word(1) => HugePages::On,
            Value::Word(2) => HugePages::Auto,
            _ => HugePages::Off,
        }
    }

    /// THREADHEAP; None if no text gives it a size. The defaults of Language Environment do not count: there they apply to PL/I
    /// tasks alone.
    pub fn thread_heap(&self) -> Option<ThreadHeap> {
        const INIT: usize = slot_named("THREADHEAP", "init");
        const INCREMENT: usize = slot_named("THREADHEAP", "incr");
        const DISPOSITION: usize = slot_named("THREADHEAP", "KEEP|FREE");
        const LEAST: u64 = 4096;
        let given = |slot: usize| {
            self.size(slot) != Size::Auto && self.where_slot_set(slot) > WhereSet::LanguageEnvironmentDefault
        };
        if !given(INIT) && !given(INCREMENT) {
            return None;
        }
        let of = |slot, other| self.size(slot).bytes().or(self.size(other).bytes()).unwrap_or(0).max(LEAST);
        Some(ThreadHeap {
            init: of(INIT, INCREMENT),
            increment: of(INCREMENT, INIT),
            frees: self.disposition(DISPOSITION) == Disposition::Free,
        })
    }

    pub(crate) fn size(&self, slot: usize) -> Size {
        match self.at(slot) {
            Value::Bytes(bytes) => Size::Bytes(bytes),
            _ => Size::Auto,
        }
    }

    pub(crate) fn disposition(&self, slot: usize) -> Disposition {
        match self.at(slot) {
            Value::Word(0) => Disposition::Keep,
            Value::Word(1) => Disposition::Free,
            _ => Disposition::Auto,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Base;

    #[test]
    fn defaults_of_both_bases() {
        let settings = Settings::default();
        let auto = Heap { init: Size::Auto, increment: Size::Auto, disposition: Disposition::Auto };
        assert_eq!(settings.heap(), auto);
        assert_eq!(settings.storage(), Storage { getheap: None, freeheap: None, dsa: Dsa::None, reserve: 0 });
        assert_eq!(settings.huge_pages(), HugePages::Auto);
        let size = Size::Bytes(32768);
        let ibm = Heap { init: size, increment: size, disposition: Disposition::Keep };
        assert_eq!(Settings::new(Base::LanguageEnvironment).heap(), ibm);
    }

    #[test]
    fn threads_have_heaps_where_a_text_says_so() {
        let of = |base, text: &str| {
            let mut settings = Settings::new(base);
            let whose = crate::ProgramName::default();
            settings.apply(text.as_bytes(), &whose, WhereSet::CommandLine, &mut |_| ());
            settings.thread_heap()
        };
        let some = |init, increment, frees| Some(ThreadHeap { init, increment, frees });
        for (text, is) in [
            ("", None),
            ("THREADHEAP(,,,FREE)", None),
            ("THREADHEAP(64K)", some(65_536, 65_536, false)),
            ("THREADHEAP(8,8K,,FREE)", some(4_096, 8_192, true)),
            ("THREADHEAP(64K),THREADHEAP(AUTO)", None),
        ] {
            assert_eq!(of(Base::Underbar, text), is, "{text}");
        }
        assert_eq!(of(Base::LanguageEnvironment, ""), None, "for PL/I tasks only");
        assert_eq!(of(Base::LanguageEnvironment, "THREADHEAP(,8K)"), some(4_096, 8_192, false));
    }

    #[test]
    fn checks_are_those_of_64_bit_storage_and_zones_of_both() {
        let of = |text: &str| {
            let mut settings = Settings::default();
            let whose = crate::ProgramName::default();
            settings.apply(text.as_bytes(), &whose, WhereSet::CommandLine, &mut |_| ());
            (settings.heap_check(), settings.heap_zones())
        };
        let off = HeapCheck { on: false, frequency: 0, delay: 0, call_depth: 0, entries: 1024 };
        let zones = |bytes, reaction, bytes_below, reaction_below| HeapZones {
            bytes,
            reaction,
            bytes_below,
            reaction_below,
        };
        let none = zones(0, Reaction::Abend, 0, Reaction::Abend);
        assert_eq!(of(""), (off, none));
        assert_eq!(of("HEAPCHK(ON)"), (HeapCheck { on: true, ..off }, none));
        let all = HeapCheck { on: true, frequency: 100, delay: 7, call_depth: 4, entries: 10 };
        assert_eq!(of("HEAPCHK(ON,100,7,4,,10)"), (all, none));
        let (trace, message, quiet) = (Reaction::Trace, Reaction::Message, Reaction::Quiet);
        assert_eq!(of("HEAPZONES(16,MSG)"), (off, zones(0, Reaction::Abend, 16, message)));
        assert_eq!(of("HEAPZONES(8,,13,TRACE)"), (off, zones(16, trace, 8, trace)));
        assert_eq!(of("HEAPZONES(,,8,MSG)").1, zones(8, message, 8, message));
        assert_eq!(of("HEAPZONES(0,ABEND,8,QUIET)").1, zones(8, quiet, 0, Reaction::Abend));
        let of_ibm = Settings::new(Base::LanguageEnvironment);
        assert_eq!(of_ibm.heap_check(), HeapCheck { frequency: 1, ..off });
    }
}
