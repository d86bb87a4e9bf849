//! Mainframe libraries in the form for a survey.
//!
//! Invariant: tracks are those of a 3390, as in every survey:
//! a library of another device, or of none, is placed on them block by block, as by a plain copy.
//! Not here: the figures (`underbar_store::survey`).

use super::items;
use crate::library::{Library, Member, Organisation};
use crate::place::{Placer, TRACK_LENGTH};
use crate::source::ReadError;
use underbar_partitioned::attribute::{Classes, FetchOptions};
use underbar_partitioned::binder::FULL_CONTROL;
use underbar_store::library::Shape;
use underbar_store::survey::Source;

/// A library of programs, in the form for a survey.
///
/// # Errors
/// If its blocks cannot be read.
pub fn source(library: &Library, name: String) -> Result<Source, ReadError> {
    let mut shapes = Vec::new();
    // Overlapping members are measured once: no directory makes more work than the library has blocks.
    let mut members: Vec<_> = library.members.iter().filter(|member| member.alias_of.is_none()).collect();
    members.sort_by_key(|member| (member.range.start, std::cmp::Reverse(member.range.end)));
    let mut measured = 0;
    for member in members {
        if member.range.start < measured {
            continue;
        }
        measured = member.range.end;
        shapes.push(match library.label.organisation {
            Organisation::Pds => module(library, member)?,
            Organisation::Pdse => object(member.bytes),
        });
    }
    let counts = library.counts();
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(Source {
        name,
        organisation: library.label.organisation.into(),
        block_size: library.label.block_size,
        tracks: Some(tracks(library)),
        compressed: (library.label.organisation == Organisation::Pds).then(|| compressed(library)),
        directory_blocks: library.directory_blocks,
        directory_allocated: library.directory_blocks,
        members: number(counts.primaries),
        aliases: number(counts.aliases),
        free_pages: None,
        shapes,
        listed: false,
    })
}

/// A load module as the binder would write it. Any other member is data: if its blocks are whole ones of the library's block
/// size, its writer filled blocks, and would do so at another size; a copy keeps other blocks.
fn module(library: &Library, member: &Member) -> Result<Shape, ReadError> {
    if !library.is_module(member) {
        let blocks = library.blocks_of(member);
        let size = library.label.block_size;
        let is_whole = size > 0
            && blocks.split_last().is_some_and(|(last, whole)| {
                last.length <= size && whole.iter().all(|block| block.length == size)
            });
        return Ok(Shape {
            fixed: if is_whole { Vec::new() } else { blocks.iter().map(|block| block.length).collect() },
            data: if is_whole { member.bytes } else { 0 },
            texts: Vec::new(),
            relocations: 0,
            control: FULL_CONTROL,
            programs: blocks.len() as u64,
        });
    }
    let outline = library.outline(member)?;
    Ok(Shape {
        fixed: outline.fixed,
        data: 0,
        programs: (outline.texts.len() as u64 + u64::from(outline.controls)).saturating_sub(1),
        texts: outline.extents,
        relocations: outline.relocations,
        control: FULL_CONTROL,
    })
}

/// A program object: a channel program for each page that LOAD reads by default.
fn object(bytes: u64) -> Shape {
    let classes = Classes::new(bytes, bytes, FetchOptions::Default);
    Shape {
        fixed: Vec::new(),
        data: 0,
        texts: vec![bytes],
        relocations: 0,
        control: FULL_CONTROL,
        programs: classes.initial.into(),
    }
}

/// Tracks of the library without gaps: the blocks with names, unchanged, one after the other.
fn compressed(library: &Library) -> u32 {
    let mut placer = begun(library);
    let mut members: Vec<_> = library.members.iter().collect();
    members.sort_by_key(|member| (member.range.start, member.range.end));
    let mut put = 0;
    for member in members {
        // Aliases share their member's blocks, and each block moves once.
        for block in library.blocks.get(member.range.start.max(put)..member.range.end).unwrap_or(&[]) {
            placer.put(0, block.length);
        }
        if member.range.end > put {
            placer.put(0, 0);
            put = member.range.end;
        }
    }
    placer.tracks()
}

/// The directory on its tracks. The place of the first member block gives its size: unused directory blocks belong to
/// it, too.
fn begun(library: &Library) -> Placer {
    let first = library.blocks.iter().map(|block| block.ttr).chain(library.ends.iter().copied()).min();
    let before = first.filter(|_| library.label.device.track_length == TRACK_LENGTH);
    before.map_or_else(|| after_directory(library), Placer::from)
}

fn after_directory(library: &Library) -> Placer {
    let mut placer = Placer::default();
    for _ in 0..library.directory_blocks {
        placer.put(8, 256);
    }
    placer.put(0, 0);
    placer
}

fn tracks(library: &Library) -> u32 {
    if library.label.organisation == Organisation::Pdse || library.label.device.track_length == TRACK_LENGTH {
        return items::tracks(library);
    }
    let mut placer = after_directory(library);
    for block in &library.blocks {
        placer.put(0, block.length);
    }
    for _ in &library.ends {
        placer.put(0, 0);
    }
    placer.tracks()
}
