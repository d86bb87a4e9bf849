//! Why the runtime ended a process: an invalid free, or the stack overflow of which it died.
//!
//! Invariant: the kind is stored last, with Release, so a reader that sees it sees the rest.
//! Not here: how faults are found (the runtime), and the slot that holds one (`layout`).

use core::sync::atomic::{AtomicU64, Ordering};

use crate::text::Text;

/// The kind of a fault: an invalid free, or a stack overflow. The numbers are those in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum FaultKind {
    /// Given back twice, or after realloc moved it.
    DoubleFree = 1,
    /// The address was one inside a block.
    InsideBlock = 2,
    /// No block begins at the address.
    NoBlock = 3,
    /// The program wrote past the end of the block.
    Overflow = 4,
    /// A thread used its stack up.
    StackOverflow = 5,
    /// Storage of an ECB that has ended.
    Ended = 6,
}

impl FaultKind {
    /// The kind with that number; 0 and noise read as None.
    #[must_use]
    pub const fn from_number(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::DoubleFree),
            2 => Some(Self::InsideBlock),
            3 => Some(Self::NoBlock),
            4 => Some(Self::Overflow),
            5 => Some(Self::StackOverflow),
            6 => Some(Self::Ended),
            _ => None,
        }
    }
}

/// Why the runtime ended a process: an invalid free. Or a stack overflow, of which the process died.
#[repr(C)]
pub struct Fault {
    /// [`FaultKind`]; 0: none. Stored last, with Release.
    pub kind: AtomicU64,
    /// C name of the function that was called; of a stack, the name of its thread.
    pub function: Text<2>,
    /// The address that the program gave, or that it could not access.
    pub address: AtomicU64,
    /// The beginning of the block; of a stack, the kernel's number of its thread, 0 for the first one.
    pub block: AtomicU64,
    /// Usable bytes of the block; 0: not known. Of a stack, its size.
    pub bytes: AtomicU64,
    /// File name of the module that called, or in which the fault was; empty: not known.
    pub module: Text<4>,
    /// Address of the caller in that module, as its symbols count.
    pub offset: AtomicU64,
    /// The same of who freed a block that is freed again, or got one with another fault.
    pub origin_module: Text<4>,
    /// Its address in that module. Of a stack of no program, whose `origin_module` is empty: 1 if the program asked for its size.
    pub origin_offset: AtomicU64,
    /// The number of the ECB of the block; 0: not known, or of none.
    pub ecb: AtomicU64,
    /// Its class; empty: not known.
    pub class: Text<4>,
    /// The buffer's name; empty: it had none.
    pub tag: Text<5>,
}

/// The ECB of the block of a fault: it has ended if that is [`FaultKind::Ended`].
#[derive(Clone, Copy, Default)]
pub struct OfEcb<'a> {
    /// Its number; 0: not known.
    pub ecb: u64,
    /// Its class; empty: not known.
    pub class: &'a [u8],
    /// The buffer's name; empty: it had none.
    pub tag: &'a [u8],
}

impl Fault {
    /// Records the fault: address, block and bytes, the caller, and who freed or got the block before. Only the slot's owner writes.
    pub fn store(
        &self,
        kind: FaultKind,
        function: &str,
        words: [u64; 3],
        [caller, origin]: [Option<(&[u8], u64)>; 2],
        of_ecb: OfEcb<'_>,
    ) {
        let relaxed = Ordering::Relaxed;
        self.function.store(function.as_bytes());
        for (to, word) in [&self.address, &self.block, &self.bytes].into_iter().zip(words) {
            to.store(word, relaxed);
        }
        let (module, offset) = caller.unwrap_or((b"", 0));
        self.module.store(module);
        self.offset.store(offset, relaxed);
        let (module, offset) = origin.unwrap_or((b"", 0));
        self.origin_module.store(module);
        self.origin_offset.store(offset, relaxed);
        self.ecb.store(of_ecb.ecb, relaxed);
        self.class.store(of_ecb.class);
        self.tag.store(of_ecb.tag);
        self.kind.store(kind as u64, Ordering::Release);
    }

    /// Copies the other fault, if there is none here yet.
    pub(crate) fn fold(&self, other: &Self) {
        let relaxed = Ordering::Relaxed;
        if self.kind.load(relaxed) != 0 {
            return;
        }
        self.function.copy(&other.function);
        self.module.copy(&other.module);
        self.origin_module.copy(&other.origin_module);
        self.class.copy(&other.class);
        self.tag.copy(&other.tag);
        for (to, from) in self.words().into_iter().zip(other.words()) {
            to.store(from.load(relaxed), relaxed);
        }
    }

    fn words(&self) -> [&AtomicU64; 7] {
        [&self.address, &self.block, &self.bytes, &self.offset, &self.origin_offset, &self.ecb, &self.kind]
    }

    pub(crate) fn wipe(&self) {
        self.words().into_iter().for_each(|word| word.store(0, Ordering::Relaxed));
        self.function.store(b"");
        self.module.store(b"");
        self.origin_module.store(b"");
        self.class.store(b"");
        self.tag.store(b"");
    }
}
