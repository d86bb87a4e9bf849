//! Repeated LOAD and DELETE of a program of a library, in one of several ways, and the counts.
//!
//! | way | is |
//! |---|---|
//! | `plain` | our loader; neither directories (LLA) nor images (VLF) are kept |
//! | `lookaside` | our loader; directories are kept |
//! | `kept` | our loader; directories and images are kept |
//! | `direct` | only what a LOAD reads, past the page cache: no image is made |
//! | `system` | dlopen and dlclose of a file |
//!
//! Invariant: one LOAD comes before the measured ones, so that all ways start with filled caches.
//! Invariant: the counts are those of the loader and of `underbar-partitioned`; only bytes of the device come from the
//! kernel, which knows nothing else. None is computed from another.

use std::ffi::CString;
use std::fmt::Display;
use std::path::Path;
use std::time::Instant;
use underbar_shown::Shown;

use underbar_contention::threads::process_cpu;
use underbar_fetch::repeat;
use underbar_fetch::table::{self, Options};
use underbar_partitioned::attribute::PAGE;
use underbar_partitioned::count::Counts;
use underbar_partitioned::name::Name;
use underbar_partitioned::pds::Pds;
use underbar_partitioned::pdse::{Pdse, load_counts};
use underbar_partitioned::read::Fault;
use underbar_partitioned::sum::Sum;
use underbar_partitioned::track::TRACK_IMAGE;

use super::direct::Direct;
use super::{Parameters, complain, resident, say};

/// Pages of a PDSE that form one track: one request reads them together.
const PAGES_TOGETHER: u64 = 12;
/// Size of the pool in bytes: more than any program here occupies.
const POOL: u64 = 256 << 20;

/// Does the LOADs and DELETEs, and prints the counts at the end.
pub fn loads(parameters: &Parameters) {
    match parameters.way {
        "direct" => direct(parameters),
        "system" => system(parameters),
        way => own(parameters, way),
    }
}

/// The counts of the LOADs, as far as they are known.
#[derive(Default)]
struct Done {
    counts: Option<Counts>,
    /// Loaded programs by source: `hits_in_pool` from the pool of underbar's loader, `fallbacks` by the system's loader.
    hits_in_pool: u64,
    fallbacks: u64,
    /// Requests to the device, if this program makes every one itself.
    requests: Option<u64>,
}

/// Runs one LOAD, then the measured ones. `work` takes the number of LOADs and returns the counts so far.
fn measure<E: Display>(parameters: &Parameters, mut work: impl FnMut(u64) -> Result<Done, E>) {
    let mut run = |times| work(times).unwrap_or_else(|error| fail(parameters, &error));
    let times = parameters.times;
    let before = run(1);
    let (bytes, cpu, begun) = (device_bytes(), process_cpu(), Instant::now());
    let after = run(times);
    let (elapsed, cpu) = (begun.elapsed().as_nanos() as u64, process_cpu() - cpu);
    let bytes = device_bytes().zip(bytes).map(|(after, before)| after.saturating_sub(before));
    say(format_args!("loads={times} elapsed_ns={elapsed} cpu_ns={cpu} resident={}\n", resident()));
    if let Some((now, then)) = after.counts.zip(before.counts) {
        let of = |count: fn(&Counts) -> u64| count(&now) - count(&then);
        say(format_args!(
            "programs_by_article={} programs_by_fetch={} blocks={} tracks={} directory_blocks={} directory_tracks={}\n",
            of(|counts| counts.programs_by_article),
            of(|counts| counts.programs_by_fetch),
            of(|counts| counts.blocks),
            of(|counts| counts.tracks),
            of(|counts| counts.directory_blocks),
            of(|counts| counts.directory_tracks),
        ));
        say(format_args!(
            "hits_in_pool={} fallbacks={}\n",
            after.hits_in_pool - before.hits_in_pool,
            after.fallbacks - before.fallbacks
        ));
    }
    if let Some(bytes) = bytes {
        say(format_args!("device_bytes={bytes}\n"));
    }
    // Reads of the device through the page cache are not counted; but if no bytes were read, there were no reads.
    let requests = match after.requests.zip(before.requests) {
        Some((after, before)) => Some(after - before),
        None => bytes.filter(|bytes| *bytes == 0),
    };
    if let Some(requests) = requests {
        say(format_args!("device_reads={requests}\n"));
    }
}

fn fail(parameters: &Parameters, error: &dyn Display) -> ! {
    complain(format_args!("{}({}): {error}", parameters.library.shown(), parameters.member.shown()));
    std::process::exit(1);
}

fn own(parameters: &Parameters, way: &str) {
    table::set_options(Options {
        pool_bytes: if way == "kept" { POOL } else { 0 },
        keep_after: 1,
        lookaside: way != "plain",
    });
    let path = CString::new(parameters.library).unwrap_or_default();
    let library = match table::open(&path, true) {
        Ok(library) => library,
        Err(error) => fail(parameters, &error),
    };
    measure(parameters, |times| {
        repeat::load_and_delete(library, parameters.member.as_bytes(), times)
            .map_err(|error| error.to_string())?;
        let now = table::statistics();
        Ok::<Done, String>(Done {
            counts: Some(now.counts),
            hits_in_pool: now.hits_in_pool,
            fallbacks: now.fallbacks.iter().sum(),
            requests: None,
        })
    });
}

fn system(parameters: &Parameters) {
    let path = CString::new(parameters.library).unwrap_or_default();
    measure(parameters, |times| {
        repeat::open_and_close(&path, times).map(|()| Done::default()).map_err(|error| error.to_string())
    });
}

/// Reads the data of a LOAD, past the page cache.
fn direct(parameters: &Parameters) {
    let open = || Direct::open(Path::new(parameters.library));
    let Ok(file) = open() else {
        return say(format_args!("refused=1\n"));
    };
    let name = match Name::new(parameters.member.as_bytes()) {
        Ok(name) => name,
        Err(_) => fail(parameters, &"no name"),
    };
    let mut counts = Counts::default();
    let mut room = Vec::new();
    match Pds::open(file) {
        Ok(pds) => measure(parameters, |times| {
            for _ in 0..times {
                read_from_pds(&pds, &name, &mut room, &mut counts)?;
            }
            Ok::<Done, Fault>(done(counts, pds.reader()))
        }),
        Err(Fault::OtherOrganisation) => match open().map(Pdse::open) {
            Ok(Ok(pdse)) => measure(parameters, |times| {
                for _ in 0..times {
                    read_from_pdse(&pdse, &name, &mut room, &mut counts)?;
                }
                Ok::<Done, Fault>(done(counts, pdse.reader()))
            }),
            Ok(Err(fault)) => fail(parameters, &fault),
            Err(error) => fail(parameters, &error),
        },
        Err(fault) => fail(parameters, &fault),
    }
}

fn done(counts: Counts, reader: &Direct) -> Done {
    Done { counts: Some(counts), requests: Some(reader.requests()), ..Done::default() }
}

const NOT_FOUND: Fault = Fault::Contradiction("the member is not there");

/// Reads the directory by tracks, then each block.
fn read_from_pds(
    pds: &Pds<Direct>,
    name: &Name,
    room: &mut Vec<u8>,
    counts: &mut Counts,
) -> Result<(), Fault> {
    pds.reader().forget(TRACK_IMAGE);
    let entry = pds.find(name, counts)?.ok_or(NOT_FOUND)?;
    pds.reader().forget(PAGE);
    room.resize(entry.size as usize, 0);
    let mut texts = pds.texts(&entry);
    while let Some(text) = texts.next_text(counts)? {
        let from = usize::try_from(text.origin).ok().and_then(|origin| room.get_mut(origin..));
        pds.read_text(&text, from.ok_or(Fault::Contradiction("a member is longer than its entry says"))?)?;
    }
    Ok(())
}

/// Reads the index by pages, then the pages of a LOAD, as many together as a track would hold.
fn read_from_pdse(
    pdse: &Pdse<Direct>,
    name: &Name,
    room: &mut Vec<u8>,
    counts: &mut Counts,
) -> Result<(), Fault> {
    pdse.reader().forget(PAGE);
    let member = pdse.find(name, counts)?.ok_or(NOT_FOUND)?.member;
    pdse.reader().forget(PAGE);
    let initial = member.classes().initial;
    *counts += load_counts(&member, 0..initial);
    let length = (u64::from(initial) * PAGE as u64).min(member.size);
    room.resize(length as usize, 0);
    let mut sum = Sum::new(0);
    for (at, part) in room.chunks_mut(PAGES_TOGETHER as usize * PAGE).enumerate() {
        pdse.read_member(&member, at as u64 * PAGES_TOGETHER * PAGE as u64, part)?;
        sum.add(part);
    }
    if length == member.size && sum.finish() != member.sum {
        return Err(Fault::Contradiction("the member is not what was put in"));
    }
    Ok(())
}

/// Bytes that this process has read from the device so far, if the kernel reports them.
fn device_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("read_bytes:"))?.trim().parse().ok()
}
