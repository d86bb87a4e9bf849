//! The kind of a member of a library of programs: a load module or a program object, read from its blocks.
//!
//! Invariant: blocks are read one by one; of a program object only the page with its header is.
//! Not here: the formats (`module`, `object`).

use super::ebcdic::CodePage;
use super::fault::Fault;
use super::library::{Library, Member};
use super::source::{ReadError, take};
use super::{module, object};
use serde::Serialize;

/// The summary of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum Program {
    /// A load module.
    Module(Box<module::Summary>),
    /// A program object.
    Object(object::Object),
}

impl Library {
    /// Reads a member as a program, and its faults.
    ///
    /// # Errors
    /// If its blocks cannot be read.
    pub fn program(&self, member: &Member, page: CodePage) -> Result<(Program, Vec<Fault>), ReadError> {
        let records = self.records(member);
        let source = records.joined();
        if object::begins(&take(&*source, 0, source.length().min(8))?) {
            match object::read(&*source, page) {
                Ok((found, faults)) => {
                    return Ok((Program::Object(found), faults.into_iter().map(Fault::from).collect()));
                }
                Err(object::Fault::Read(error)) => return Err(error),
                Err(fault) => return Ok((Program::Object(object::Object::default()), vec![fault.into()])),
            }
        }
        let mut reader = module::Reader::new(page);
        for block in self.read_member(member) {
            reader.block(&block?);
        }
        let (summary, faults) = reader.finish();
        Ok((Program::Module(Box::new(summary)), faults.into_iter().map(Fault::from).collect()))
    }
}
