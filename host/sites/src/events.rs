//! What the sampler of a process recorded: sampled requests, frees of them, and lost samples.
//!
//! Invariant: plain values, in the order in which the host read them; nothing in them is trusted.
//! Not here: how they come out of shared memory, and what their addresses mean.

/// What the sampler of one process recorded, in the order in which the host read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request was sampled.
    Got(Sample),
    /// The storage of a sampled request was freed; address 0: the process ended.
    Freed {
        /// The address that the request got.
        address: u64,
        /// Nanoseconds of CLOCK_MONOTONIC.
        time: u64,
        /// The most bytes in use at one time until then, by the heap's own count.
        most: u64,
    },
    /// Samples for which there was no room.
    Lost {
        /// Their number.
        samples: u64,
    },
}

/// A sampled request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The thread's number.
    pub thread: u32,
    /// Nanoseconds of CLOCK_MONOTONIC.
    pub time: u64,
    /// The address that the request got.
    pub address: u64,
    /// Bytes requested.
    pub size: u64,
    /// The mean distance of samples in bytes that was in force.
    pub mean: u64,
    /// Bytes in use then, this request included, by the heap's own count; without those that a child has from its parent.
    pub in_use: u64,
    /// The most bytes in use at one time until then, this request included.
    pub most: u64,
    /// The callers.
    pub stack: Stack,
}

/// The callers of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stack {
    /// Followed in the process, by frame pointers.
    Frames {
        /// Return addresses, innermost (the caller of malloc) first.
        addresses: Vec<u64>,
        /// Whether the walk ended at the thread's first frame.
        whole: bool,
    },
    /// To be unwound here.
    Raw {
        /// The registers at the call.
        registers: Registers,
        /// The stack from rsp upwards.
        stack: Vec<u8>,
    },
}

/// The registers of the caller of malloc: `rip` is an address within it; the callee-saved ones are as the caller had them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say all.
pub struct Registers {
    pub rip: u64,
    pub rsp: u64,
    pub rbp: u64,
    pub rbx: u64,
    pub r12: u64,
    pub r13: u64,
    pub r14: u64,
    pub r15: u64,
}
