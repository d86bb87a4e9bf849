//! From a sample's stack to the code of its callers.
//!
//! ```text
//! Frames  addresses, followed in the process ─────────────────────────┐
//! Raw     registers, piece of stack ── rules of callers, frame by frame ┴─> code, innermost first, and how the walk ended
//! ```
//!
//! An address behind a call is looked up one byte before: the call may be the last instruction of its function.
//!
//! Code that was made at run time has no rules. If its process names it ([`Made`]), two forms are known: CPython's trampolines, which
//! have one word above their return address, and others, which keep a frame pointer; what they give must be code, else the walk ends.
//!
//! Invariant: nothing is guessed: a walk that cannot go on ends with its reason. Stack pointers rise from frame to frame, so a walk ends;
//! at most [`MOST_FRAMES`] frames.
//! Not here: names ([`crate::names`]).

use underbar_ledger::site_rules::Rule;
use underbar_symbols::call_frames::{COUNT, NoCaller, RBP, RIP, RSP, Registers as Values};

use crate::events::{Registers, Stack};
use crate::files::{FileId, Files};
use crate::space::Space;

/// More frames than are followed.
pub const MOST_FRAMES: usize = 512;

/// A place in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// In a file, at one of the file's own addresses.
    File(FileId, u64),
    /// In code that was made at run time, or is unknown: the process, and its address there.
    Process(u32, u64),
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// At the first function of the thread.
    Whole,
    /// The copied piece of stack was too short.
    Cut,
    /// In code without rules: made at run time, or by hand.
    NoRules,
    /// The frame pointers do not reach the first function.
    FramePointers,
    /// The rules or the stack are wrong.
    Wrong,
    /// After [`MOST_FRAMES`] frames.
    Deep,
    /// Before it began: the mappings of the process are not known, since it had ended.
    Unmapped,
}

impl End {
    /// All of them.
    pub const ALL: [End; 7] =
        [End::Whole, End::Cut, End::NoRules, End::FramePointers, End::Wrong, End::Deep, End::Unmapped];

    /// The key in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            End::Whole => "whole",
            End::Cut => "cut",
            End::NoRules => "no_rules",
            End::FramePointers => "frame_pointers",
            End::Wrong => "wrong",
            End::Deep => "deep",
            End::Unmapped => "unmapped",
        }
    }

    /// In words, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            End::Whole => "up to the thread's first function",
            End::Cut => "deeper than the copied piece of stack",
            End::NoRules => "in code without unwind tables",
            End::FramePointers => "frame pointers do not reach the first function",
            End::Wrong => "wrong unwind tables or a damaged stack",
            End::Deep => "more than 512 callers",
            End::Unmapped => "its process ended before its mappings could be read",
        }
    }
}

/// A walk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Walk {
    /// The code of the callers, innermost first.
    pub places: Vec<Place>,
    /// How it ended.
    pub end: End,
}

/// Code that was made at run time, by the names that its process gave.
pub trait Made {
    /// The kind of code at an address; None if it has no name.
    fn kind(&self, process: u32, address: u64) -> Option<Kind>;
}

/// A kind of code that was made at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A trampoline of CPython, one for each function.
    Python,
    /// Of another compiler.
    Other,
}

/// A process whose samples are walked.
pub struct Walker<'a> {
    /// The program files.
    pub files: &'a Files,
    /// Its mappings.
    pub space: &'a Space,
    /// Its number.
    pub process: u32,
    /// Names of code made at run time.
    pub made: &'a dyn Made,
}

impl Walker<'_> {
    /// The callers of a sample that was taken at this time.
    #[must_use]
    pub fn walk(&self, time: u64, stack: &Stack) -> Walk {
        self.walk_learning(time, stack, &mut |_, _| ())
    }

    /// The same. `learn` gets the rule of each return address by which the walk went on, so that the process can follow such callers
    /// itself.
    #[must_use]
    pub fn walk_learning(&self, time: u64, stack: &Stack, learn: &mut dyn FnMut(u64, Rule)) -> Walk {
        match stack {
            Stack::Frames { addresses, whole } => {
                let places = addresses.iter().take(MOST_FRAMES);
                let places = places.map(|address| self.place(time, address.wrapping_sub(1))).collect();
                let is_deep = addresses.len() > MOST_FRAMES;
                let end = match whole {
                    _ if is_deep => End::Deep,
                    true => End::Whole,
                    false => End::FramePointers,
                };
                Walk { places, end }
            }
            Stack::Raw { registers, stack } => self.unwind(time, registers, stack, learn),
        }
    }

    /// The file, and the address in it, of an address of the process.
    fn place(&self, time: u64, address: u64) -> Place {
        let found = self.space.find(time, address).and_then(|code| {
            let file = code.file?;
            let offset = code.offset.checked_add(address - code.range.start)?;
            let program = self.files.get(file)?;
            // Without tables: its offset names the place as well.
            let own = match program.image() {
                Some(image) => image.address(offset)?,
                None => offset,
            };
            Some(Place::File(file, own))
        });
        found.unwrap_or(Place::Process(self.process, address))
    }

    /// Whether there is code: mapped, or named by its process; code made at run time may be gone at the next look.
    fn is_code(&self, time: u64, address: u64) -> bool {
        self.space.find(time, address).is_some() || self.made.kind(self.process, address).is_some()
    }

    fn unwind(
        &self,
        time: u64,
        registers: &Registers,
        stack: &[u8],
        learn: &mut dyn FnMut(u64, Rule),
    ) -> Walk {
        let bottom = registers.rsp;
        let word = |address: u64| -> Option<u64> {
            let at = usize::try_from(address.checked_sub(bottom)?).ok()?;
            stack.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
        };
        let mut values: Values = [None; COUNT];
        let Registers { rip, rsp, rbp, rbx, r12, r13, r14, r15 } = *registers;
        for (number, value) in
            [(RIP, rip), (RSP, rsp), (RBP, rbp), (3, rbx), (12, r12), (13, r13), (14, r14), (15, r15)]
        {
            values[number] = Some(value);
        }
        let mut places = Vec::new();
        let mut is_behind_call = true;
        let end = loop {
            let Some(rip) = values[RIP] else { break End::Wrong };
            if places.len() == MOST_FRAMES {
                break End::Deep;
            }
            let address = if is_behind_call { rip.wrapping_sub(1) } else { rip };
            let place = self.place(time, address);
            // A return address that is no code is no caller.
            if matches!(place, Place::Process(..)) && !self.is_code(time, address) {
                break End::Wrong;
            }
            places.push(place);
            if is_behind_call && let Some(rule) = self.rule(place) {
                learn(rip, rule);
            }
            let before = values[RSP];
            match self.caller(time, place, &values, &word) {
                Ok((next, is_interrupted)) => {
                    values = next;
                    is_behind_call = !is_interrupted;
                }
                Err(end) => break end,
            }
            // A signal handler may run on a stack of its own, which this piece of stack does not show.
            if values[RSP] <= before {
                break End::Wrong;
            }
        };
        Walk { places, end }
    }

    /// The rule of a place behind a call, if it is in a file and simple.
    fn rule(&self, place: Place) -> Option<Rule> {
        let Place::File(file, address) = place else { return None };
        let step = self.files.get(file)?.image()?.call_frames().step(address)?;
        Rule::new(step.is_first, step.is_from_rbp, step.frame, step.saved_rbp)
    }

    fn caller(
        &self,
        time: u64,
        place: Place,
        values: &Values,
        word: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<(Values, bool), End> {
        match place {
            Place::File(file, address) => {
                let image = self.files.get(file).and_then(|program| program.image()).ok_or(End::NoRules)?;
                let mut values = *values;
                // Expressions in tables of linkers ask for the file's own address.
                values[RIP] = Some(address);
                let caller =
                    image.call_frames().caller(address, &values, word).map_err(|reason| match reason {
                        NoCaller::First => End::Whole,
                        NoCaller::NoRules => End::NoRules,
                        NoCaller::NotInStack => End::Cut,
                        NoCaller::Unreadable => End::Wrong,
                    })?;
                Ok((caller.registers, caller.is_interrupted))
            }
            Place::Process(process, address) => {
                let kind = self.made.kind(process, address).ok_or(End::NoRules)?;
                let mut next = *values;
                match kind {
                    Kind::Python => {
                        let rsp = values[RSP].ok_or(End::Wrong)?;
                        // The word is the frame pointer of the caller, in versions whose trampolines keep one.
                        if values[RBP] == Some(rsp) {
                            next[RBP] = Some(word(rsp).ok_or(End::Cut)?);
                        }
                        next[RIP] = Some(word(rsp.wrapping_add(8)).ok_or(End::Cut)?);
                        next[RSP] = Some(rsp.wrapping_add(16));
                    }
                    Kind::Other => {
                        let rbp = values[RBP].ok_or(End::NoRules)?;
                        let rsp = values[RSP].ok_or(End::Wrong)?;
                        if rbp < rsp || !rbp.is_multiple_of(8) {
                            return Err(End::NoRules);
                        }
                        next[RBP] = Some(word(rbp).ok_or(End::Cut)?);
                        next[RIP] = Some(word(rbp.wrapping_add(8)).ok_or(End::Cut)?);
                        next[RSP] = Some(rbp.wrapping_add(16));
                    }
                }
                let back = next[RIP].unwrap_or(0).wrapping_sub(1);
                if self.is_code(time, back) { Ok((next, false)) } else { Err(End::NoRules) }
            }
        }
    }
}
