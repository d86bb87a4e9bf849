//! Natural and Adabas: buffer usage, profile parameters, switches, fetch clauses.
//!
//! ```text
//! line of interest -> buffers    buffer usage statistics (BUS)
//!                  -> texts      parameters, in any carrier; parameters: the table and its values
//!                  -> switches   switches per record, clauses, reports of unknown layout
//! ```
//!
//! Invariant: these readers see the same lines as those of Language Environment and take none away from them.
//! Not here: advice.

mod buffers;
mod display;
mod lines;
mod parameters;
mod shares;
mod switches;
mod texts;
mod thread;

use crate::lines::Line;
use crate::model::Item;

pub use crate::model::natural::{
    BufferRow, BufferUsage, Cache, Counted, Factor, FetchClause, Natural, Parameter, ParameterCarrier,
    ParameterText, SwitchTable, ThreadUse, Way,
};
pub(crate) use display::shown;

/// The state between lines.
#[derive(Default)]
pub(crate) struct Reader {
    buffers: buffers::Buffers,
    texts: texts::Texts,
    switches: switches::Switches,
}

impl Reader {
    pub(crate) fn is_open(&self) -> bool {
        self.buffers.is_open() || self.texts.is_open() || self.switches.is_open()
    }

    /// Reads a line.
    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) {
        let taken = self.buffers.line(line, &mut |found| out(Item::Natural(found)));
        if taken {
            return;
        }
        let mut found = Vec::new();
        let mut unread = Vec::new();
        let taken = self.switches.line(line, &mut |one| found.push(one), &mut |one| unread.push(one));
        found.into_iter().for_each(|one| out(Item::Natural(one)));
        unread.into_iter().for_each(|one| out(Item::Unread(one)));
        if !taken {
            self.texts.line(line, &mut |found| out(Item::Natural(found)));
        }
    }

    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(Item)) {
        self.buffers.finish(&mut |found| out(Item::Natural(found)));
        self.texts.finish(&mut |found| out(Item::Natural(found)));
        self.switches.finish(&mut |found| out(Item::Natural(found)));
    }
}
