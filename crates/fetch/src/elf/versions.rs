//! Versions of symbols: the version that a reference wants, and that of a definition.
//!
//! ```text
//! versym[number] ──> index ──> verneed: name of the wanted version      (undefined symbols)
//!                         └──> verdef:  name of the own version         (defined ones)
//! ```
//!
//! Invariant: links lead forward only, so every walk ends.
//! Not here: the choice of a definition by its version (`symbols`).

use super::{Damage, Symbol, Table, Tables};

/// The version that a reference wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Any version.
    Any,
    /// The version whose name is at this offset of the table of names.
    Named(u32),
}

impl Tables<'_> {
    /// The version that a reference to the symbol wants: for an undefined symbol that of another program's definition, otherwise
    /// its own.
    ///
    /// # Errors
    /// The tables refer outside themselves, or do not contain the version.
    pub fn wanted(&self, number: u32, symbol: &Symbol) -> Result<Wanted, Damage> {
        let Some(index) = self.version_index(number).map(|index| index & 0x7fff) else {
            return Ok(Wanted::Any);
        };
        if index < 2 {
            return Ok(Wanted::Any);
        }
        let found = match symbol.is_defined() {
            true => self.defined_version(index)?.map(|at| at as u32),
            false => self.needed_version(index)?,
        };
        match found {
            Some(name) if self.names().text_length(name as usize).is_some() => Ok(Wanted::Named(name)),
            _ => Err(Damage::Versions),
        }
    }

    /// The version index of a symbol, with the bit of hidden ones; none without versions.
    pub(super) fn version_index(&self, number: u32) -> Option<u16> {
        self.versym.read((number as usize).checked_mul(2)?)
    }

    /// The offset of the name of an own version.
    pub(super) fn defined_version(&self, index: u16) -> Result<Option<usize>, Damage> {
        let (table, count) = self.verdef;
        walk(&table, count, 16, |at| {
            let [_, _, its, names] = table.read::<[u16; 4]>(at)?;
            let entry = at.checked_add(table.read::<u32>(at + 12)? as usize)?;
            if its != index || names == 0 {
                return Some(None);
            }
            Some(Some(table.read::<u32>(entry)? as usize))
        })
    }

    /// The offset of the name of a version of another program.
    fn needed_version(&self, index: u16) -> Result<Option<u32>, Damage> {
        let (table, count) = self.verneed;
        walk(&table, count, 12, |at| {
            let names = table.read::<u16>(at + 2)?;
            let first = at.checked_add(table.read::<u32>(at + 8)? as usize)?;
            let inner = table.after(first)?;
            let found = walk(&inner, u64::from(names), 12, |at| {
                let is_it = inner.read::<u16>(at + 6)? & 0x7fff == index;
                let name = inner.read::<u32>(at + 8)?;
                Some(is_it.then_some(name))
            });
            found.ok()
        })
    }
}

/// Examines up to `count` entries; each contains at `next_at` the distance to the next one. The closure returns none if it is
/// sent outside, else whether this is the entry.
fn walk<T>(
    table: &Table<'_>,
    count: u64,
    next_at: usize,
    look: impl Fn(usize) -> Option<Option<T>>,
) -> Result<Option<T>, Damage> {
    let mut at = 0_usize;
    for _ in 0..count {
        if let Some(found) = look(at).ok_or(Damage::Versions)? {
            return Ok(Some(found));
        }
        // Forward by at least one byte each time, within a table of finite length.
        match table.read::<u32>(at + next_at).ok_or(Damage::Versions)? {
            0 => return Ok(None),
            step => at = at.checked_add(step as usize).ok_or(Damage::Versions)?,
        }
    }
    Ok(None)
}
