//! Reads of a PDSE, with and without a change in progress.
//!
//! Invariant: nothing is changed here.
//! Not here: the form of the tree (`tree`, `underbar_partitioned::pdse`).

use underbar_partitioned::attribute::PAGE;
use underbar_partitioned::name::Name;
use underbar_partitioned::pdse::{Alias, Key, Member, PageSums, Pdse, Superblock, Value};
use underbar_partitioned::read::{Fault, ReadAt};
use underbar_partitioned::sum::sum;

use super::{Change, Reached, Tree};
use crate::error::{Error, Result};
use crate::storage::Storage;

impl<S: Storage> Change<S> {
    /// The entry of a name, with the change so far.
    ///
    /// # Errors
    /// A tree that is damaged there.
    pub fn value(&mut self, name: &Name) -> Result<Option<Value>> {
        let cell = self.tree.get(&self.storage, &self.old, Key::of_name(name).as_bytes())?;
        match cell.map(|cell| Value::decode(name, &cell)) {
            None => Ok(None),
            Some(Some(value)) => Ok(Some(value)),
            Some(None) => Err(Error::Library(Fault::Contradiction("a cell of the tree holds no member"))),
        }
    }

    /// A member of this name.
    ///
    /// # Errors
    /// There is none, or it is an alias.
    pub fn member(&mut self, name: &Name) -> Result<Member> {
        match self.value(name)? {
            Some(Value::Member(member)) => Ok(member),
            Some(Value::Alias(alias)) => Err(Error::IsAlias(name.to_string(), alias.of.to_string())),
            None => Err(Error::no_member(name)),
        }
    }

    /// The bytes of a member, with the change so far.
    ///
    /// # Errors
    /// The system's.
    pub fn bytes(&self, member: &Member) -> Result<Vec<u8>> {
        // The file has grown after the superblock was read: pages up to its end may be read.
        let superblock = Superblock { pages: self.space.end(), ..self.old };
        Ok(read(&Pdse::at(&self.storage, superblock), member)?)
    }

    /// The aliases of a member, with the change so far.
    ///
    /// # Errors
    /// A tree that is damaged there.
    pub fn aliases_of(&mut self, member: &Name) -> Result<Vec<Alias>> {
        let prefix = Key::of_alias(member, None);
        let names = self.tree.names_behind(&self.storage, &self.old, prefix.as_bytes())?;
        let mut aliases = Vec::new();
        for name in names {
            if let Some(Value::Alias(alias)) = self.value(&name)? {
                aliases.push(alias);
            }
        }
        Ok(aliases)
    }
}

/// Walks the tree, marks every page in it, and returns the number of its nodes.
///
/// # Errors
/// A tree that is damaged anywhere; two uses of one page.
pub fn nodes<R: ReadAt>(pdse: &Pdse<R>, reached: &mut Reached) -> Result<u64> {
    Ok(Tree::walk(pdse, reached)?.nodes())
}

/// The bytes of a member; their checksum is checked.
///
/// # Errors
/// A damaged member.
pub fn bytes<R: ReadAt>(pdse: &Pdse<R>, member: &Member) -> Result<Vec<u8>> {
    let wrong = |fault| Error::member(member.name, fault);
    let bytes = read(pdse, member).map_err(wrong)?;
    if sum(0, &bytes) == member.sum {
        return Ok(bytes);
    }
    // Finds the damaged page, if each page has a checksum.
    let mut sums = PageSums::default();
    for (number, page) in (0..).zip(bytes.chunks(PAGE)) {
        let mut whole = [0; PAGE];
        whole[..page.len()].copy_from_slice(page);
        sums.check(pdse, member, number, &whole).map_err(wrong)?;
    }
    Err(Error::MemberSum(member.name.to_string()))
}

/// A wrong size is not trusted beyond the file's pages.
fn read<R: ReadAt>(pdse: &Pdse<R>, member: &Member) -> std::result::Result<Vec<u8>, Fault> {
    const FIRST_PIECE: u64 = 1 << 20;
    let mut bytes = Vec::new();
    loop {
        let at = bytes.len();
        let piece = (member.size - at as u64).min(FIRST_PIECE.max(at as u64));
        if piece == 0 {
            return Ok(bytes);
        }
        bytes.resize(at + piece as usize, 0);
        pdse.read_member(member, at as u64, &mut bytes[at..])?;
    }
}
