//! The contents of a mainframe's program, for `lib info`: sections, entry points, binder and translators, lengths of blocks.
//!
//! Not here: reading it (`underbar_mainframe`).

use std::fmt::Write as _;

use serde::Serialize;
use underbar_mainframe::ebcdic::CodePage;
use underbar_mainframe::library::{Library, Member, Organisation};
use underbar_mainframe::module::{Maker, Summary};
use underbar_mainframe::object::Object;
use underbar_mainframe::program::Program;
use underbar_mainframe::view::items::{self, Blocks};
use underbar_store::library::Item;

use super::text::Columns;

/// Lengths of blocks that are shown.
const SIZES_SHOWN: usize = 12;

/// A member in detail.
#[derive(Serialize)]
pub struct Close {
    #[serde(flatten)]
    pub item: Item,
    /// Its contents, if it is a mainframe's program.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<Program>,
    /// Lengths of its blocks of text, most frequent first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    block_sizes: Vec<Blocks>,
    /// Its faults.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    program_faults: Vec<String>,
}

impl From<Item> for Close {
    fn from(item: Item) -> Close {
        Close { item, program: None, block_sizes: Vec::new(), program_faults: Vec::new() }
    }
}

impl Close {
    /// Reads a member of a mainframe's library.
    pub fn read(item: Item, library: &Library, member: &Member, page: CodePage) -> Result<Close, String> {
        let text = |error| format!("member {}: {error}", member.name);
        let block_sizes = items::block_sizes(library, [member]).map_err(text)?;
        let mut close = Close { block_sizes, ..Close::from(item) };
        let is_program = library.label.organisation == Organisation::Pdse || library.is_module(member);
        if library.label.programs && is_program && member.blocks > 0 {
            let (program, faults) = library.program(member, page).map_err(text)?;
            close.program = Some(program);
            close.program_faults = faults.iter().map(ToString::to_string).collect();
        }
        Ok(close)
    }

    /// The lines that a member of underbar's library does not have.
    pub fn text(&self, text: &mut String) {
        if let Some(mainframe) = &self.item.mainframe {
            // Writing to a string cannot fail.
            if let (Some(amode), Some(rmode)) = (mainframe.amode, mainframe.rmode) {
                let code = mainframe.authorisation.map(|code| format!(", AC {code}")).unwrap_or_default();
                let ssi = mainframe.ssi.as_ref().map(|ssi| format!(", SSI {ssi}")).unwrap_or_default();
                let _ = writeln!(text, "  modes            AMODE {amode}, RMODE {rmode}{code}{ssi}");
            }
            if let Some(of) = &mainframe.statistics {
                let _ = writeln!(
                    text,
                    "  statistics       {}, created {}, changed {} by {}, {} lines, {} at first, {} changed",
                    of.version, of.created, of.changed, of.user, of.lines, of.first_lines, of.changed_lines
                );
            }
        }
        match &self.program {
            Some(Program::Module(module)) => module_text(text, module),
            Some(Program::Object(object)) => object_text(text, object),
            None => {}
        }
        block_sizes_text(text, &self.block_sizes);
        for fault in &self.program_faults {
            let _ = writeln!(text, "  wrong            {fault}");
        }
    }
}

/// Lengths of blocks, most frequent first.
pub fn block_sizes_text(text: &mut String, sizes: &[Blocks]) {
    if sizes.is_empty() {
        return;
    }
    let shown = sizes.iter().take(SIZES_SHOWN).map(|one| format!("{} x {}", one.blocks, one.length));
    let mut shown: Vec<String> = shown.collect();
    if sizes.len() > SIZES_SHOWN {
        let rest: u64 = sizes.iter().skip(SIZES_SHOWN).map(|one| one.blocks).sum();
        shown.push(format!("{rest} of other lengths"));
    }
    let _ = writeln!(text, "  block lengths    {}", shown.join(", "));
}

fn maker(maker: &Maker) -> String {
    let mut text = format!("{} {}", maker.program, maker.version);
    for part in [&maker.day, &maker.time].into_iter().flatten() {
        let _ = write!(text, " {part}");
    }
    text
}

fn module_text(text: &mut String, module: &Summary) {
    let [sym, cesd, idr, scatter, control, blocks] = module.records;
    let _ = writeln!(
        text,
        "  records          {sym} SYM, {cesd} CESD, {idr} IDR, {scatter} scatter, {control} control, {blocks} text"
    );
    if module.relocations.items > 0 {
        let of = &module.relocations;
        let _ = writeln!(
            text,
            "  relocations      {}: {} A, {} V, {} others, {} unresolved",
            of.items, of.a, of.v, of.pseudo, of.unresolved
        );
    }
    if let Some(binder) = &module.binder {
        let _ = writeln!(text, "  bound by         {}", maker(binder));
    }
    for translator in &module.translators {
        let _ = writeln!(text, "  translated by    {}", maker(translator));
    }
    for (what, entries) in [("patched", &module.patches), ("user data", &module.user_data)] {
        for (day, entry) in entries {
            let _ = writeln!(text, "  {what:<16} {day} {entry}");
        }
    }
    if module.symbols.is_empty() {
        return;
    }
    let mut columns =
        Columns::new(&[("  SYMBOL", false), ("TYPE", false), ("ADDRESS", true), ("LENGTH", true)]);
    for symbol in &module.symbols {
        let length = if symbol.is_section() { format!("{:X}", symbol.length) } else { String::new() };
        columns.row(vec![
            format!("  {}", symbol.name),
            symbol.kind.to_owned(),
            format!("{:06X}", symbol.address),
            length,
        ]);
    }
    text.push_str(&columns.text());
}

fn object_text(text: &mut String, object: &Object) {
    let name = object.name.as_deref().unwrap_or("");
    let _ = writeln!(
        text,
        "  program object   {name} version {}, {} bytes, of which {} are loaded",
        object.version, object.total, object.loadable
    );
    let mut columns =
        Columns::new(&[("  SECTION", true), ("WHAT", false), ("OFFSET", true), ("LENGTH", true)]);
    for section in &object.sections {
        columns.row(vec![
            section.id.to_string(),
            section.what.to_owned(),
            format!("{:X}", section.offset),
            format!("{:X}", section.length),
        ]);
    }
    text.push_str(&columns.text());
}
