//! Many libraries at once: block sizes and organisations, tracks now and at other block sizes, the cost of loads, savings.
//!
//! ```text
//! any library ──> Source ──> measured: tracks and channel programs at each block size ──> Survey: shares, sums, savings
//! ```
//!
//! A [`Source`] has all data that a survey needs; so the same figures apply to real mainframe files.
//! Tracks at another block size are computed by the binder's rule, not observed.
//!
//! Invariant: figures are counts; none is converted to time. Channel programs are those of one load of each member, by
//! the article's count, with one search of the directory each.
//! Not here: finding libraries in a file system, and the words of the rules (`underbar-advise`).

use std::collections::BTreeMap;

use serde::Serialize;
use underbar_partitioned::binder::copy;
use underbar_partitioned::track::D3390;

use crate::error::Result;
use crate::library::{Library, Organisation, Shape};

/// The block sizes of a survey.
pub const BLOCK_SIZES: [u32; 5] = [6_144, 18_452, 23_440, 27_998, 32_760];

/// A library in the form for a survey.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path or data set name.
    pub name: String,
    /// Its organisation.
    pub organisation: Organisation,
    /// That of its label.
    pub block_size: u32,
    /// Its tracks now; None if a list does not show them.
    pub tracks: Option<u32>,
    /// Its tracks without gaps, with each block as long as it is: the result of a compression. None if the
    /// blocks are those of a copy at the same block size.
    pub compressed: Option<u32>,
    /// Directory blocks in use.
    pub directory_blocks: u32,
    /// Directory blocks in all: a copy has as many.
    pub directory_allocated: u32,
    /// Members, without aliases. Members with the same blocks have one shape.
    pub members: u32,
    /// Aliases.
    pub aliases: u32,
    /// Free pages, and all pages (PDSE).
    pub free_pages: Option<(u32, u32)>,
    /// The shapes of its members.
    pub shapes: Vec<Shape>,
    /// Whether it is known from a list only: with its label, without its members.
    pub listed: bool,
}

impl Source {
    /// From one of Underbar's libraries.
    ///
    /// # Errors
    /// A damaged library.
    pub fn of(library: &Library) -> Result<Source> {
        let label = library.label()?;
        Ok(Source {
            name: library.path().to_string_lossy().into_owned(),
            organisation: label.organisation,
            block_size: label.block_size,
            tracks: Some(label.tracks),
            compressed: None,
            directory_blocks: label.directory_blocks,
            directory_allocated: label.directory_allocated.unwrap_or(label.directory_blocks),
            members: label.members,
            aliases: label.aliases,
            free_pages: label.free_pages.zip(label.pages),
            shapes: library.shapes()?,
            listed: false,
        })
    }
}

/// Figures at one block size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct At {
    /// The block size.
    pub block_size: u32,
    /// Tracks, with the directory.
    pub tracks: u32,
    /// Channel programs of one load of each member, by the article's count, a search each.
    pub channel_programs: u64,
}

/// Figures of a library now. None if a list does not show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Now {
    /// The block size.
    pub block_size: u32,
    /// Tracks, with the directory.
    pub tracks: Option<u32>,
    /// Channel programs of one load of each member.
    pub channel_programs: Option<u64>,
}

impl Now {
    /// For calculations: an unknown value saves nothing.
    fn at(&self) -> At {
        At {
            block_size: self.block_size,
            tracks: self.tracks.unwrap_or(0),
            channel_programs: self.channel_programs.unwrap_or(0),
        }
    }
}

/// A library with its figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Surveyed {
    /// Its path or data set name.
    pub name: String,
    /// Its organisation.
    pub organisation: Organisation,
    /// Members, without aliases; None, as for the next figures, if only a list is known.
    pub members: Option<u32>,
    /// Aliases.
    pub aliases: Option<u32>,
    /// Bytes of its members' text, and of data.
    pub bytes: Option<u64>,
    /// Its figures now.
    pub now: Now,
    /// Directory blocks in use, or pages of the index.
    pub directory_blocks: Option<u32>,
    /// The figures of a copy: a PDS at its own block size first, then at others. A PDSE is the same at any.
    pub copied: Vec<At>,
    /// What can be saved.
    #[serde(rename = "advice")]
    pub savings: Vec<Saving>,
    /// Whether it is known from a list only: then nothing was computed, and it is in no sum of tracks.
    pub listed: bool,
}

/// A saving in one library, in figures. Its rule has its words in the table of rules of `underbar-advise`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Saving {
    /// Its rule.
    pub rule: &'static str,
    /// The action and its reason.
    pub text: String,
    /// Saved tracks.
    pub tracks_saved: u32,
    /// Saved channel programs for one load of each member.
    pub channel_programs_saved: u64,
}

/// The number of libraries with a block size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The block size.
    pub block_size: u32,
    /// PDS libraries with it.
    pub libraries: u32,
    /// Its share of all PDS libraries, in tenths of a percent.
    pub per_mille: u32,
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Survey {
    /// Each, in the given order.
    pub libraries: Vec<Surveyed>,
    /// PDS libraries.
    pub pds: u32,
    /// PDSE libraries.
    pub pdse: u32,
    /// PDS libraries by block size, largest first.
    pub block_sizes: Vec<Share>,
    /// PDS libraries of 32,000 or more, in tenths of a percent: nearly 800 at the article's site.
    pub large_per_mille: u32,
    /// PDS libraries of 8K or less, in tenths of a percent: 70 at the article's site.
    pub small_per_mille: u32,
    /// PDS libraries known from lists only: they are in no sum of tracks.
    pub pds_listed: u32,
    /// All other PDS libraries together, now; None if there are none.
    pub now: Option<At>,
    /// The same as copies at each block size; empty if there are none.
    pub copied: Vec<At>,
}

/// How a rule finds a saving: the rule's name, and the action with the figures after it, if there is one.
struct Finder {
    id: &'static str,
    find: fn(&Surveyed, &Source) -> Option<(String, At)>,
}

/// The conclusions of the article's figures, and savings of space.
const FINDERS: [Finder; 6] = [
    Finder { id: "block-size-listed", find: small_in_a_list },
    Finder { id: "block-size", find: larger_blocks },
    Finder { id: "compress", find: compress },
    Finder { id: "many-members", find: many_members },
    Finder { id: "above-4k", find: above_4k },
    Finder { id: "free-pages", find: free_pages },
];

/// The rules that a survey applies, by their names.
pub fn rules() -> impl Iterator<Item = &'static str> {
    FINDERS.iter().map(|finder| finder.id)
}

/// Measures one library.
#[must_use]
pub fn measure(source: &Source) -> Surveyed {
    let searches = source.shapes.len() as u64;
    let at = |block_size| {
        let copied =
            copy(&D3390, block_size, source.directory_allocated, source.shapes.iter().map(Shape::module));
        At { block_size, tracks: copied.tracks, channel_programs: copied.programs + searches }
    };
    let copied = match source.organisation {
        Organisation::Pds if !source.listed => {
            std::iter::once(source.block_size).chain(BLOCK_SIZES).map(at).collect()
        }
        _ => Vec::new(),
    };
    let programs: u64 = source.shapes.iter().map(|shape| shape.programs).sum();
    let is_known = !source.listed;
    let mut surveyed = Surveyed {
        name: source.name.clone(),
        organisation: source.organisation,
        members: is_known.then_some(source.members),
        aliases: is_known.then_some(source.aliases),
        bytes: is_known
            .then(|| source.shapes.iter().map(|shape| shape.data + shape.texts.iter().sum::<u64>()).sum()),
        now: Now {
            block_size: source.block_size,
            tracks: source.tracks,
            channel_programs: is_known.then_some(programs + searches),
        },
        directory_blocks: is_known.then_some(source.directory_blocks),
        copied,
        savings: Vec::new(),
        listed: source.listed,
    };
    for rule in &FINDERS {
        if let Some((text, then)) = (rule.find)(&surveyed, source) {
            let now = surveyed.now.at();
            // Space that compressing frees counts for that saving, and not again for a larger block size.
            let now = match (rule.id, compress(&surveyed, source)) {
                ("block-size", Some((_, compressed))) => At { tracks: compressed.tracks, ..now },
                _ => now,
            };
            surveyed.savings.push(Saving {
                rule: rule.id,
                text,
                tracks_saved: now.tracks.saturating_sub(then.tracks),
                channel_programs_saved: now.channel_programs.saturating_sub(then.channel_programs),
            });
        }
    }
    surveyed
}

fn largest(surveyed: &Surveyed) -> Option<At> {
    surveyed.copied.iter().max_by_key(|at| at.block_size).copied()
}

fn small_in_a_list(surveyed: &Surveyed, source: &Source) -> Option<(String, At)> {
    let small = source.listed && source.organisation == Organisation::Pds && surveyed.now.block_size <= 8_192;
    small.then(|| {
        let text = "copy it at a block size of 32760; survey the library itself to see how many tracks and channel programs \
                    that saves"
            .to_owned();
        (text, surveyed.now.at())
    })
}

fn larger_blocks(surveyed: &Surveyed, source: &Source) -> Option<(String, At)> {
    let largest = largest(surveyed)?;
    let same = surveyed.copied.first()?;
    // A library with blocks shorter than its block size gains from a copy at that size.
    let same = &At { tracks: source.compressed.unwrap_or(same.tracks), ..*same };
    // No short block fills the track after a block of data.
    if largest.tracks > same.tracks && source.shapes.iter().any(|shape| shape.data > 0) {
        return None;
    }
    if surveyed.now.block_size > largest.block_size
        || (largest.tracks >= same.tracks && largest.channel_programs >= same.channel_programs)
    {
        return None;
    }
    let now = surveyed.now.at();
    // Only improvements are advised.
    let mut better = Vec::new();
    if largest.tracks < now.tracks {
        better.push(format!("{} tracks instead of {}", largest.tracks, now.tracks));
    }
    if largest.channel_programs < now.channel_programs {
        let (then, now) = (largest.channel_programs, now.channel_programs);
        better.push(format!("{then} channel programs to load each member once instead of {now}"));
    }
    if better.is_empty() {
        return None;
    }
    Some((format!("copy it at a block size of {}: {}", largest.block_size, better.join(", and ")), largest))
}

fn compress(surveyed: &Surveyed, source: &Source) -> Option<(String, At)> {
    let same = surveyed.copied.first()?;
    let tracks = surveyed.now.tracks?;
    let left = source.compressed.unwrap_or(same.tracks);
    let gaps = tracks.saturating_sub(left);
    if gaps == 0 || u64::from(gaps) * 10 < u64::from(tracks) {
        return None;
    }
    let text = format!("compress it: {gaps} of its {tracks} tracks are gaps of deleted members");
    Some((text, At { tracks: left, ..surveyed.now.at() }))
}

fn many_members(surveyed: &Surveyed, source: &Source) -> Option<(String, At)> {
    let on_a_track = D3390.blocks_per_track(256, 8);
    if source.organisation != Organisation::Pds || source.directory_blocks <= on_a_track {
        return None;
    }
    let text = format!(
        "make it a PDSE, or split it: a search reads up to {} directory blocks on {} tracks in sequence, at one channel program",
        source.directory_blocks,
        source.directory_blocks.div_ceil(on_a_track)
    );
    Some((text, surveyed.now.at()))
}

fn above_4k(surveyed: &Surveyed, _: &Source) -> Option<(String, At)> {
    if surveyed.organisation == Organisation::Pdse && surveyed.now.block_size < 4096 {
        let text =
            "give it a block size of 4,096 or more: its pages are not smaller, only the size in its label is"
                .to_owned();
        return Some((text, surveyed.now.at()));
    }
    None
}

fn free_pages(surveyed: &Surveyed, source: &Source) -> Option<(String, At)> {
    let (free, all) = source.free_pages?;
    if u64::from(free) * 4 < u64::from(all) || free < 64 {
        return None;
    }
    let then = At { tracks: (all - free).div_ceil(12), ..surveyed.now.at() };
    let text = format!("compress it, unless it will grow again: {free} of its {all} pages are free");
    Some((text, then))
}

impl Survey {
    /// The survey of measured libraries.
    #[must_use]
    pub fn of(libraries: Vec<Surveyed>) -> Survey {
        let pds: Vec<&Surveyed> =
            libraries.iter().filter(|library| library.organisation == Organisation::Pds).collect();
        let mut sizes = BTreeMap::new();
        for library in &pds {
            *sizes.entry(library.now.block_size).or_insert(0u32) += 1;
        }
        let per_mille = |libraries: u32| match pds.len() as u32 {
            0 => 0,
            all => (libraries * 1000 + all / 2) / all,
        };
        let with = |wanted: fn(u32) -> bool| {
            per_mille(sizes.iter().filter(|(size, _)| wanted(**size)).map(|(_, libraries)| libraries).sum())
        };
        let measured: Vec<&Surveyed> = pds.iter().filter(|library| !library.listed).copied().collect();
        let sum = |block_size, each: &dyn Fn(&Surveyed) -> Option<At>| {
            measured.iter().filter_map(|library| each(library)).fold(
                At { block_size, tracks: 0, channel_programs: 0 },
                |sum, at| At {
                    block_size,
                    tracks: sum.tracks.saturating_add(at.tracks),
                    channel_programs: sum.channel_programs + at.channel_programs,
                },
            )
        };
        let copied = |&size: &u32| {
            // The first of a library's is its own size.
            sum(size, &|library| library.copied.iter().skip(1).find(|at| at.block_size == size).copied())
        };
        // An empty sum is not a figure.
        let is_known = !measured.is_empty();
        Survey {
            pds: pds.len() as u32,
            pdse: (libraries.len() - pds.len()) as u32,
            block_sizes: sizes
                .iter()
                .rev()
                .map(|(&block_size, &libraries)| Share {
                    block_size,
                    libraries,
                    per_mille: per_mille(libraries),
                })
                .collect(),
            large_per_mille: with(|size| size >= 32_000),
            small_per_mille: with(|size| size <= 8_192),
            pds_listed: (pds.len() - measured.len()) as u32,
            now: is_known.then(|| sum(0, &|library| Some(library.now.at()))),
            copied: if is_known { BLOCK_SIZES.iter().map(copied).collect() } else { Vec::new() },
            libraries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(block_size: u32, members: u64) -> Source {
        let shape = |size| Shape {
            fixed: vec![56],
            data: 0,
            texts: vec![size],
            relocations: 0,
            control: 40,
            programs: 0,
        };
        let mut source = Source {
            name: format!("L{block_size}"),
            organisation: Organisation::Pds,
            block_size,
            tracks: Some(0),
            compressed: None,
            directory_blocks: (members / 7) as u32 + 1,
            directory_allocated: (members / 7) as u32 + 1,
            members: members as u32,
            aliases: 0,
            free_pages: None,
            shapes: (0..members).map(|member| shape(member * 3_001 % 200_000 + 8)).collect(),
            listed: false,
        };
        let same = measure(&source).copied[0];
        source.tracks = Some(same.tracks);
        let last = source.shapes.len() as u64;
        source.shapes[0].programs = same.channel_programs - last;
        source
    }

    fn rules(source: &Source) -> Vec<&'static str> {
        measure(source).savings.iter().map(|saving| saving.rule).collect()
    }

    #[test]
    fn advice_is_given_where_it_helps_and_not_elsewhere() {
        assert_eq!(rules(&source(32_760, 100)), [""; 0]);
        assert_eq!(rules(&source(6_144, 100)), ["block-size"]);
        assert_eq!(rules(&source(32_760, 600)), ["many-members"]);
        let small = source(6_144, 1);
        assert_eq!(rules(&small), [""; 0], "one block is one block, whatever its size");
        let mut gaps = source(32_760, 100);
        gaps.tracks = gaps.tracks.map(|tracks| tracks * 10 / 9 + 1);
        assert_eq!(rules(&gaps), ["compress"]);
        let pages = |block_size, free| Source {
            organisation: Organisation::Pdse,
            free_pages: Some((free, 400)),
            ..source(block_size, 10)
        };
        assert_eq!(rules(&pages(32_760, 99)), [""; 0]);
        assert_eq!(rules(&pages(4_095, 100)), ["above-4k", "free-pages"]);
    }

    #[test]
    fn data_that_would_take_more_tracks_is_left_as_it_is() {
        let mut data = source(6_144, 40);
        for shape in &mut data.shapes {
            let programs = shape.texts.iter().sum::<u64>().div_ceil(6_144);
            *shape = Shape {
                fixed: Vec::new(),
                data: shape.texts.iter().sum(),
                texts: Vec::new(),
                programs,
                ..*shape
            };
        }
        data.tracks = Some(measure(&data).copied[0].tracks);
        let surveyed = measure(&data);
        assert_eq!(surveyed.now.channel_programs, Some(surveyed.copied[0].channel_programs));
        let largest = largest(&surveyed).expect("computed");
        assert!(largest.channel_programs < surveyed.copied[0].channel_programs, "and yet");
        assert!(largest.tracks > surveyed.copied[0].tracks);
        assert_eq!(surveyed.savings, []);
    }

    #[test]
    fn what_is_saved_is_what_the_figures_say() {
        let surveyed = measure(&source(6_144, 100));
        let saving = &surveyed.savings[0];
        let now = surveyed.now.at();
        let largest = largest(&surveyed).expect("computed");
        assert_eq!(largest.block_size, 32_760);
        assert_eq!(saving.tracks_saved, now.tracks - largest.tracks);
        assert_eq!(saving.channel_programs_saved, now.channel_programs - largest.channel_programs);
        assert!(saving.tracks_saved > 0 && saving.channel_programs_saved > 0);
    }

    #[test]
    fn a_track_is_saved_once_and_what_does_not_change_is_not_said() {
        let mut gaps = source(6_144, 100);
        gaps.tracks = gaps.tracks.map(|tracks| tracks * 2);
        let surveyed = measure(&gaps);
        let saved: u32 = surveyed.savings.iter().map(|saving| saving.tracks_saved).sum();
        let largest = largest(&surveyed).expect("computed");
        assert_eq!(surveyed.savings.len(), 2, "{:?}", surveyed.savings);
        assert_eq!(saved, surveyed.now.at().tracks - largest.tracks);

        let mut one = source(6_144, 1);
        one.shapes[0].texts = vec![20_000];
        one.tracks = Some(measure(&one).copied[0].tracks);
        one.shapes[0].programs = measure(&one).copied[0].channel_programs - 1;
        let surveyed = measure(&one);
        let same = surveyed.copied.iter().all(|at| Some(at.tracks) == surveyed.now.tracks);
        assert!(!same || surveyed.savings.iter().all(|saving| !saving.text.contains("tracks instead")));
    }

    #[test]
    fn shares_are_of_all_pds_libraries() {
        let mut libraries: Vec<Surveyed> =
            [32_760, 32_760, 32_000, 6_144, 8_192, 23_440, 32_760, 32_760, 32_760, 32_760]
                .map(|size| measure(&source(size, 3)))
                .to_vec();
        libraries.push(Surveyed { organisation: Organisation::Pdse, ..libraries[0].clone() });
        let survey = Survey::of(libraries);
        assert_eq!((survey.pds, survey.pdse), (10, 1));
        assert_eq!((survey.large_per_mille, survey.small_per_mille), (700, 200));
        assert_eq!(survey.block_sizes[0], Share { block_size: 32_760, libraries: 6, per_mille: 600 });
        assert!(survey.copied.windows(2).all(|pair| pair[0].block_size < pair[1].block_size));
        assert_eq!(Survey::of(Vec::new()).large_per_mille, 0);
    }
}
