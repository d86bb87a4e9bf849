//! SPACK: each code after the first adds a pair to the table: the texts of the last two codes.
//!
//! ```text
//! codes:  H, G  ──>  node { left H, right G }      nodes without a user wait in a ring, the oldest goes first
//! ```
//!
//! Invariant: the ring and the free nodes change exactly as in the packer, or the codes mean something else; so nothing is
//! cleaned up here that the packer leaves. In a damaged file a node may be its own part: the walk over a node counts
//! its steps.
//! Not here: codes and records (the parent).

use super::{CODES, Codes, Fault, Output, RECORD_END};

/// The empty node: head of the ring.
const HEAD: usize = 0;
/// Marks a node without parts, and the end of the free ones.
const NONE: i32 = -1;

struct Table {
    left: [i32; CODES],
    right: [i32; CODES],
    /// For a waiting or free node the next one; for a node in use minus the number of its users.
    next: [i32; CODES],
    back: [usize; CODES],
    free: i32,
}

/// A node number from the table itself is below 4,096 unless the file is damaged.
fn index(node: i32) -> Option<usize> {
    usize::try_from(node).ok().filter(|node| *node < CODES)
}

impl Table {
    fn new() -> Box<Table> {
        let first = usize::from(RECORD_END) + 1;
        let mut table = Box::new(Table {
            left: [NONE; CODES],
            right: [NONE; CODES],
            next: [NONE; CODES],
            back: [HEAD; CODES],
            free: first as i32,
        });
        for node in first..CODES - 1 {
            table.next[node] = node as i32 + 1;
        }
        table.next[HEAD] = HEAD as i32;
        table
    }

    /// Another user: a node that waited waits no longer.
    fn use_it(&mut self, node: usize) -> Option<()> {
        if self.next[node] < 0 {
            self.next[node] = self.next[node].checked_sub(1)?;
        } else {
            let (next, back) = (index(self.next[node])?, self.back[node]);
            self.next[back] = next as i32;
            self.back[next] = back;
            self.next[node] = -1;
        }
        Some(())
    }

    /// Removes a user: a node without users waits.
    fn let_go(&mut self, node: i32) -> Option<()> {
        let node = index(node)?;
        if self.next[node] == -1 {
            self.wait(node);
        } else {
            self.next[node] = self.next[node].checked_add(1)?;
        }
        Some(())
    }

    fn wait(&mut self, node: usize) {
        let last = self.back[HEAD];
        self.next[node] = HEAD as i32;
        self.back[HEAD] = node;
        self.back[node] = last;
        self.next[last] = node as i32;
    }

    /// Frees the node that has waited longest.
    fn give_away(&mut self) -> Option<()> {
        let node = index(self.next[HEAD]).filter(|node| *node != HEAD)?;
        let (next, back) = (index(self.next[node])?, self.back[node]);
        self.back[next] = back;
        self.next[back] = next as i32;
        self.let_go(self.left[node])?;
        self.let_go(self.right[node])?;
        self.next[node] = self.free;
        self.free = node as i32;
        Some(())
    }

    fn pair(&mut self, left: usize, right: usize) -> Option<()> {
        let node = index(self.free)?;
        self.free = self.next[node];
        self.left[node] = left as i32;
        self.right[node] = right as i32;
        self.use_it(left)?;
        self.use_it(right)?;
        self.wait(node);
        Some(())
    }

    /// Writes the text of a code.
    fn write(
        &self,
        code: u16,
        later: &mut Vec<usize>,
        codes: &Codes<'_>,
        output: &mut Output,
    ) -> Result<(), Fault> {
        later.clear();
        let mut node = usize::from(code);
        loop {
            while node > usize::from(RECORD_END) {
                let (Some(left), Some(right)) = (index(self.left[node]), index(self.right[node])) else {
                    return Err(codes.fault(code));
                };
                later.push(right);
                // A walk deeper than the number of nodes is in a circle.
                if later.len() > CODES {
                    return Err(codes.fault(code));
                }
                node = left;
            }
            if node == HEAD {
                return Err(codes.fault(code));
            }
            output.put(node as u16, codes)?;
            match later.pop() {
                Some(next) => node = next,
                None => return Ok(()),
            }
        }
    }
}

pub(super) fn unpack(codes: &mut Codes<'_>, output: &mut Output) -> Result<(), Fault> {
    let (mut table, mut later) = (Table::new(), Vec::new());
    let Some(mut before) = codes.next()? else { return Ok(()) };
    table.write(before, &mut later, codes, output)?;
    while let Some(code) = codes.next()? {
        if table.free == NONE {
            table.give_away().ok_or_else(|| codes.fault(code))?;
        }
        table.write(code, &mut later, codes, output)?;
        table.pair(before.into(), code.into()).ok_or_else(|| codes.fault(code))?;
        before = code;
    }
    Ok(())
}
