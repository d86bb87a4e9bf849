//! The fault for which underbar ended a program: a wrong free, or a damaged block. Or the stack overflow of which it died.
//!
//! Invariant: the words are those that were on standard error when the program ended.
//! Not here: how a fault is found (inside the process), and the line of the summary.

use serde::{Deserialize, Serialize};

/// Storage that a program freed wrongly: underbar ended it with SIGABRT, as plain malloc does. Or a stack overflow, of which it died.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// C name of the function that was called; of a stack, the name of its thread.
    pub function: String,
    /// The address that the program gave, or that it could not access.
    pub address: u64,
    /// The beginning of the block in question; of a stack, the kernel's number of its thread, 0 for the first one.
    pub block: u64,
    /// Usable bytes of the block; null if not known. Of a stack, its size.
    pub block_bytes: Option<u64>,
    /// The program asked for the size of its thread's stack.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub size_is_asked: bool,
    /// The caller: file name of the module and place in it; null if not known.
    pub caller: Option<Caller>,
    /// The code that freed a block that was freed again, or got a block with another fault; null if not known. HEAPCHK(ON) and
    /// HEAPZONES know it. Of a stack: the LINKed program that ran on it, as a module without a place.
    #[serde(default)]
    pub origin: Option<Caller>,
    /// The ECB of the block: one that has ended, if ECB(CHECK) kept its storage, or one that is alive. Null if not known, or if the block
    /// is of no ECB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecb: Option<OfEcb>,
}

/// The ECB of a block, which had ended if the fault is one of storage of an ended ECB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfEcb {
    /// Its number, by which the program named it.
    pub number: u64,
    /// Its class.
    pub class: String,
    /// The name of the buffer; null if it had none.
    pub tag: Option<String>,
}

/// The calling code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// File name of the module.
    pub module: String,
    /// Place in it, in the addresses of its symbol table.
    pub offset: u64,
}

/// The kinds of wrong frees, and the stack overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Freed twice, or freed after realloc moved it.
    DoubleFree,
    /// The address was inside a block.
    InsideBlock,
    /// No block begins at the address.
    NoBlock,
    /// The program wrote past the end of the block.
    Overflow,
    /// A thread used its stack up.
    StackOverflow,
    /// Storage of an ECB that has ended.
    Ended,
}

impl Fault {
    /// The fault in words, as on standard error when the program ended.
    #[must_use]
    pub fn words(&self) -> String {
        let (what, places) = self.parts();
        what + &places
    }

    /// What happened, and the code that did it: empty, or text that begins with a comma.
    pub(crate) fn parts(&self) -> (String, String) {
        let Self { address, block, .. } = self;
        if self.kind == FaultKind::StackOverflow {
            return (self.overflow(), String::new());
        }
        let bytes = self.block_bytes.map_or(String::new(), |bytes| format!(" ({bytes} bytes)"));
        let what = match self.kind {
            FaultKind::DoubleFree => format!("double free of {address:#x}{bytes}{}", self.inside()),
            FaultKind::InsideBlock => {
                let inside = address.saturating_sub(*block);
                format!("invalid pointer {address:#x}, {inside} bytes into the block at {block:#x}{bytes}")
            }
            FaultKind::NoBlock => format!("invalid pointer {address:#x}: no block begins there"),
            FaultKind::Overflow => {
                format!("overflow: the block at {block:#x}{bytes} was written past its end{}", self.inside())
            }
            FaultKind::StackOverflow => String::new(),
            FaultKind::Ended if self.is_access() => format!("{address:#x}{}", self.ended()),
            FaultKind::Ended => format!("invalid pointer {address:#x}{}", self.ended()),
        };
        let place = |how: &str, at: &Option<Caller>| {
            at.as_ref().map_or(String::new(), |at| format!(", {how} {}+{:#x}", at.module, at.offset))
        };
        let origin = if self.kind == FaultKind::DoubleFree { "freed by" } else { "got by" };
        let (by, of) = if self.is_access() { ("in", " to ") } else { ("called by", "(): ") };
        let (origin, caller) = (place(origin, &self.origin), place(by, &self.caller));
        (format!("{}{of}{what}", self.function), origin + &caller)
    }

    /// Whether it was found at an access, not by a function of the heap: underbar did not end the program.
    pub(crate) fn is_access(&self) -> bool {
        self.kind == FaultKind::Ended && self.function.ends_with(" access")
    }

    /// In which ECB the block is, and its name.
    fn inside(&self) -> String {
        let Some(ecb) = &self.ecb else { return String::new() };
        let named = ecb.tag.as_ref().map_or(String::new(), |tag| format!(", named {}", shown(tag)));
        format!(", in ECB {} of class {}{named}", ecb.number, shown(&ecb.class))
    }

    /// Which ECB has ended, and the buffer.
    fn ended(&self) -> String {
        let Some(ecb) = &self.ecb else { return ": its ECB has ended".to_owned() };
        let buffer = match (self.block_bytes, self.address.saturating_sub(self.block)) {
            (None, _) => String::new(),
            (Some(bytes), 0) => format!(", a buffer of {bytes} bytes"),
            (Some(bytes), inside) => format!(", {inside} bytes into a buffer of {bytes} bytes"),
        };
        let named = ecb.tag.as_ref().map_or(String::new(), |tag| format!(" named {}", shown(tag)));
        format!(": its ECB {} of class {} has ended{buffer}{named}", ecb.number, shown(&ecb.class))
    }

    /// A stack overflow in words: the thread or the LINKed program, the size of its stack, how to raise it, the place. The last is cut first.
    fn overflow(&self) -> String {
        let limit = self.block_bytes.unwrap_or(0);
        let twice = limit.next_multiple_of(4096).saturating_mul(2);
        let (who, remedy) = match (self.block, &self.origin) {
            (_, Some(program)) => (
                format!("{} (LINKed)", program.module),
                format!("; try STACK({})", crate::units::size(twice)),
            ),
            (0, None) => ("the first thread".to_owned(), format!("; try ulimit -s {}", twice >> 10)),
            (thread, None) => (
                format!("thread {thread} ({})", self.function),
                if self.size_is_asked {
                    "; the program sets its size".to_owned()
                } else {
                    format!("; try THREADSTACK(ON,{})", crate::units::size(twice))
                },
            ),
        };
        let place = self.caller.as_ref();
        let place = place.map_or(String::new(), |at| format!("; in {}+{:#x}", at.module, at.offset));
        format!("{who} overflowed its {} stack{remedy}{place}", crate::units::bytes(limit))
    }
}

/// A program's name, as standard error has it.
fn shown(name: &str) -> String {
    let is_shown = |c: char| c.is_ascii_graphic() || c == ' ';
    name.chars().map(|c| if is_shown(c) { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_overflow_names_the_thread_or_the_linked_program() {
        let mut fault = Fault {
            kind: FaultKind::StackOverflow,
            function: "diver".to_owned(),
            address: 0x7000,
            block: 0,
            block_bytes: Some(8 << 20),
            size_is_asked: false,
            caller: None,
            origin: None,
            ecb: None,
        };
        assert_eq!(fault.words(), "the first thread overflowed its 8 MiB stack; try ulimit -s 16384");
        fault.block = 77;
        assert_eq!(fault.words(), "thread 77 (diver) overflowed its 8 MiB stack; try THREADSTACK(ON,16M)");
        fault.size_is_asked = true;
        let asks = "thread 77 (diver) overflowed its 8 MiB stack; the program sets its size";
        assert_eq!(fault.words(), asks);
        fault.origin = Some(Caller { module: "job".to_owned(), offset: 0 });
        assert_eq!(fault.words(), "job (LINKed) overflowed its 8 MiB stack; try STACK(16M)");
    }

    #[test]
    fn storage_of_an_ended_ecb_is_named_with_all_that_is_known() {
        let ecb =
            OfEcb { number: 4_294_967_299, class: "GONE".to_owned(), tag: Some("SESSION\n".to_owned()) };
        let caller = Caller { module: "server".to_owned(), offset: 0x12a4 };
        let fault = Fault {
            kind: FaultKind::Ended,
            function: "read access".to_owned(),
            address: 0x1010,
            block: 0x1000,
            block_bytes: Some(128),
            size_is_asked: false,
            caller: Some(caller),
            origin: None,
            ecb: Some(ecb),
        };
        let ended = ": its ECB 4294967299 of class GONE has ended";
        let named = ", 16 bytes into a buffer of 128 bytes named SESSION?";
        assert_eq!(fault.words(), format!("read access to 0x1010{ended}{named}, in server+0x12a4"));
        let freed = Fault { function: "free".to_owned(), block: 0x1010, ..fault.clone() };
        let named = ", a buffer of 128 bytes named SESSION?";
        assert_eq!(
            freed.words(),
            format!("free(): invalid pointer 0x1010{ended}{named}, called by server+0x12a4")
        );
        let unknown = Fault { ecb: None, caller: None, ..freed };
        assert_eq!(unknown.words(), "free(): invalid pointer 0x1010: its ECB has ended");
        assert!(fault.is_access() && !unknown.is_access());
    }
}
