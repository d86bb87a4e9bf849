//! Copies and surveys of libraries: the tracks that they occupy, counted on the tracks themselves.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use underbar_partitioned::pds::{CONTROL, Control, Kind, Pds, TRACK_HEADER};
use underbar_partitioned::track::{Device, TRACK_IMAGE};
use underbar_store::library::{Library, Organisation};
use underbar_store::make::{self, Wanted};
use underbar_store::storage::OnDisk;
use underbar_store::survey::{At, Source, Survey, measure};

use super::{Parameters, complain, say};

/// Copies a library to a PDS of a block size, and walks the copy's tracks.
pub fn copied(parameters: &Parameters) {
    let done = copy(parameters);
    done.unwrap_or_else(|error| fail(parameters.library, error.as_ref()));
}

type Done = Result<(), Box<dyn std::error::Error>>;

fn fail(what: &str, error: impl Display) -> ! {
    complain(format_args!("{what}: {error}"));
    std::process::exit(1);
}

fn copy(parameters: &Parameters) -> Done {
    let (from, to) = (Library::open(Path::new(parameters.library))?, Path::new(parameters.to));
    // An earlier round may have left its copy.
    if to.exists() {
        std::fs::remove_file(to)?;
    }
    let wanted = Wanted {
        organisation: Organisation::Pds,
        block_size: parameters.block_size,
        // As many as the original library has: they are copied, too.
        directory_blocks: from.label()?.directory_allocated,
        ..Wanted::usual(0)
    };
    make::copy(&from, to, &wanted, &|_| true, &mut |_| {})?;
    let copy = Library::open(to)?;
    let label = copy.label()?;
    let shapes = copy.shapes()?;
    let programs: u64 = shapes.iter().map(|shape| shape.programs + 1).sum();
    let bytes: u64 = shapes.iter().flat_map(|shape| &shape.texts).sum();
    let problems = copy.verify(&mut |_| {}).problems.len();
    say(format_args!(
        "block_size={} members={} bytes={bytes} tracks={} programs_by_article={programs} problems={problems}\n",
        label.block_size, label.members, label.tracks
    ));
    let walked = walk(&Pds::open(OnDisk::open(to)?)?)?;
    say(format_args!(
        "blocks={} cells={} cells_used={} fullest={} longest={} shortened={}\n",
        walked.blocks,
        u64::from(label.tracks) * u64::from(walked.device.capacity),
        walked.cells,
        walked.fullest,
        walked.longest,
        walked.shortened
    ));
    let from = measure(&Source::of(&from)?);
    if let Some(computed) = from.copied.iter().skip(1).find(|at| at.block_size == parameters.block_size) {
        say(format_args!("tracks_computed={}\n", computed.tracks));
    }
    Ok(())
}

/// The contents of the tracks of a library.
struct Walked {
    device: &'static Device,
    /// Blocks of text.
    blocks: u64,
    cells: u64,
    /// The most cells in use on a track.
    fullest: u32,
    /// Bytes of the longest block of text.
    longest: u32,
    /// Blocks of text that are shorter than the longest, though their members go on.
    shortened: u64,
}

fn walk(pds: &Pds<OnDisk>) -> Result<Walked, Box<dyn std::error::Error>> {
    let device = pds.header().device();
    let mut walked = Walked { device, blocks: 0, cells: 0, fullest: 0, longest: 0, shortened: 0 };
    let (mut lengths, mut room) = (Vec::new(), vec![0; TRACK_IMAGE]);
    let mut is_last = true;
    for track in 0..pds.header().tracks {
        let (mut at, mut used) = (TRACK_HEADER, 0);
        while let Some(record) = pds.record(track, at, &mut room)? {
            let count = record.count;
            used += device.cost(count.data, u32::from(count.key));
            match count.kind {
                Kind::Control => {
                    let control = room.first_chunk::<CONTROL>().and_then(Control::decode);
                    is_last = control.is_none_or(|control| control.is_last);
                }
                Kind::Text => lengths.push((count.data, is_last)),
                _ => {}
            }
            at = record.next;
        }
        walked.fullest = walked.fullest.max(used);
        walked.cells += u64::from(used);
    }
    walked.longest = lengths.iter().map(|(length, _)| *length).max().unwrap_or(0);
    walked.blocks = lengths.len() as u64;
    let is_short = |(length, is_last): &&(u32, bool)| *length < walked.longest && !is_last;
    walked.shortened = lengths.iter().filter(is_short).count() as u64;
    Ok(walked)
}

/// Surveys all libraries of a folder.
pub fn surveyed(parameters: &Parameters) {
    survey(parameters).unwrap_or_else(|error| fail(parameters.library, error.as_ref()));
}

fn survey(parameters: &Parameters) -> Done {
    let files: Result<Vec<PathBuf>, _> =
        std::fs::read_dir(parameters.library)?.map(|file| file.map(|file| file.path())).collect();
    let mut files = files?;
    files.sort();
    let mut libraries = Vec::with_capacity(files.len());
    for file in &files {
        libraries.push(measure(&Source::of(&Library::open(file)?)?));
    }
    let survey = Survey::of(libraries);
    say(format_args!(
        "pds={} pdse={} large_per_mille={} small_per_mille={}\n",
        survey.pds, survey.pdse, survey.large_per_mille, survey.small_per_mille
    ));
    for share in &survey.block_sizes {
        say(format_args!("libraries_{}={}\n", share.block_size, share.libraries));
    }
    if let Some(At { tracks, channel_programs, .. }) = survey.now {
        say(format_args!("tracks_now={tracks} programs_now={channel_programs}\n"));
    }
    for at in &survey.copied {
        let (size, tracks, programs) = (at.block_size, at.tracks, at.channel_programs);
        say(format_args!("tracks_{size}={tracks} programs_{size}={programs}\n"));
    }
    for rule in ["block-size", "compress", "many-members", "above-4k", "free-pages"] {
        let advised = |library: &&underbar_store::survey::Surveyed| {
            library.savings.iter().any(|saving| saving.rule == rule)
        };
        let count = survey.libraries.iter().filter(advised).count();
        say(format_args!("advice_{}={count}\n", rule.replace('-', "_")));
    }
    Ok(())
}
