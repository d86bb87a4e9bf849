//! A PDS against the same model as a PDSE, its tracks against the computed ones, and damaged bytes.

use std::collections::BTreeMap;

use underbar_partitioned::binder::{Module, copy};
use underbar_partitioned::count::Counts;
use underbar_partitioned::name::Name;
use underbar_partitioned::pds::{CONTROL, Entry, HEADER, Header, Pds, TRACK_HEADER};
use underbar_partitioned::read::{Fault, ReadAt};
use underbar_partitioned::sum::Sum;
use underbar_partitioned::track::D3390;

use super::{Make, Making, directory_blocks_for};
use crate::change::{Addition, Edit, apply_to_pds, lay_anew};
use crate::error::Error;
use crate::model::{Held, Model, add, alias, any_edit, cut_anywhere, flip_bits, name};
use crate::simulated::{Disk, Random};
use crate::storage::Place;
use crate::verify;

fn making(block_size: u32, directory_blocks: u32) -> Making {
    Making { identity: 0x77_1234, block_size, directory_blocks, generation: 1, now: 7 }
}

fn new_disk(making: &Making) -> Disk {
    let mut disk = Disk::default();
    let file = disk.temporary().expect("no end");
    let (_, file) = Make::new(file, making).and_then(Make::finish).expect("no end");
    disk.install(file, false).expect("no end");
    disk.settle();
    disk
}

fn apply(disk: &Disk, edits: &[Edit]) -> Result<(), Error> {
    let (old, mut place) = (disk.open().expect("a library"), disk.clone());
    apply_to_pds(&old, &mut place, edits.iter().cloned().map(Ok), edits.len(), 9).map(|_| ())
}

fn entries<R: ReadAt>(pds: &Pds<R>) -> Vec<Entry> {
    pds.entries().map(|entry| entry.expect("sound")).collect()
}

fn check<R: ReadAt>(model: &Model, read: R) {
    let pds = Pds::open(read).expect("a library");
    assert_eq!(verify::pds(&pds, &mut |_| ()).problems, []);
    let held = |entry: &Entry| match entry.alias {
        Some(alias) => Held::Alias(alias.of),
        None => Held::Member(super::bytes(&pds, entry, &mut Counts::default()).expect("sound")),
    };
    let found: BTreeMap<Name, Held> = entries(&pds).iter().map(|entry| (entry.name, held(entry))).collect();
    assert!(found == model.0, "{:?} instead of {:?}", found.keys(), model.0.keys());
    for name in model.0.keys() {
        assert!(pds.find(name, &mut Counts::default()).expect("sound").is_some(), "{name}");
    }
    assert_eq!(pds.find(&name("NOTTHERE"), &mut Counts::default()), Ok(None));
}

#[test]
fn any_order_of_edits_does_as_the_model() {
    for (seed, block_size) in [(1, 32_760), (2, 6_144), (3, 256), (4, 19_069), (5, 800)] {
        let mut random = Random(seed);
        let (disk, mut model) = (new_disk(&making(block_size, 1)), Model::default());
        for _ in 0..25 {
            let edits: Vec<Edit> =
                (0..1 + random.below(6)).map(|_| any_edit(&mut random, 60, 80_000)).collect();
            let mut next = model.clone();
            if edits.iter().all(|edit| next.edit(edit)) {
                apply(&disk, &edits).expect("the model did it");
                model = next;
            } else {
                assert!(apply(&disk, &edits).is_err());
            }
            check(&model, disk.open().expect("a library"));
        }
    }
}

#[test]
fn tracks_are_those_that_were_computed() {
    let sizes: Vec<u64> = (0..60u64).map(|number| number * number * 311 % 150_000).collect();
    for block_size in [256, 1_024, 6_144, 18_452, 23_440, 27_998, 32_760] {
        let disk = new_disk(&making(block_size, 20));
        let names = sizes.iter().enumerate().map(|(number, size)| (format!("M{number:02}"), *size));
        let edits: Vec<Edit> = names.map(|(name, size)| add(&name, size as usize, false)).collect();
        apply(&disk, &edits).expect("room");
        let pds = Pds::open(disk.open().expect("a library")).expect("a library");
        let texts: Vec<[u64; 1]> = sizes.iter().map(|size| [*size]).collect();
        let modules = texts.iter().map(|texts| Module {
            data: 0,
            fixed: &[56],
            texts: if texts[0] == 0 { &[] } else { texts },
            relocations: 0,
            control: CONTROL as u32,
        });
        let computed = copy(&D3390, block_size, 20, modules);
        assert_eq!(pds.header().tracks, computed.tracks, "{block_size}");
        let mut counts = Counts::default();
        for entry in entries(&pds) {
            super::bytes(&pds, &entry, &mut counts).expect("sound");
        }
        assert_eq!(counts.programs_by_article, computed.programs, "{block_size}");
        assert_eq!(counts.programs_by_fetch, sizes.iter().filter(|size| **size > 0).count() as u64);
    }
}

#[test]
fn a_load_costs_what_the_article_counted() {
    // 4,200 members of one block: 600 blocks of directory on 14 tracks, and two channel programs all the same.
    let disk = new_disk(&making(32_760, 620));
    let edits: Vec<Edit> = (0..4_200).map(|number| add(&format!("M{number:04}"), 8, false)).collect();
    apply(&disk, &edits).expect("room");
    let pds = Pds::open(disk.open().expect("a library")).expect("a library");
    assert_eq!(pds.header().directory_used, 601, "the closing entry has a block of its own");
    let mut counts = Counts::default();
    let last = pds.find(&name("M4199"), &mut counts).expect("sound").expect("there");
    assert_eq!((counts.directory_blocks, counts.directory_tracks), (600, 14));
    super::bytes(&pds, &last, &mut counts).expect("sound");
    assert_eq!((counts.programs_by_article, counts.blocks, counts.tracks), (2, 1, 1));
    let mut counts = Counts::default();
    pds.find(&name("M0000"), &mut counts).expect("sound").expect("there");
    assert_eq!((counts.directory_blocks, counts.directory_tracks, counts.programs_by_article), (1, 1, 1));
}

#[test]
fn gaps_stay_until_it_is_laid_anew() {
    let disk = new_disk(&making(6_144, 5));
    apply(&disk, &[add("A", 200_000, false), add("B", 200_000, false), alias("BB", "B")]).expect("room");
    let header = |disk: &Disk| *Pds::open(disk.open().expect("a library")).expect("a library").header();
    let full = header(&disk);
    apply(&disk, &[Edit::Delete(name("A")), add("C", 100, false)]).expect("room");
    let gas = header(&disk);
    assert!(gas.tracks >= full.tracks && gas.generation == full.generation + 1 && gas.members == 2);
    let old = Pds::open(disk.open().expect("a library")).expect("a library");
    let mut place = disk.clone();
    let making = making(32_760, 3);
    let (small, file) =
        lay_anew(place.temporary().expect("no end"), &old, &making).and_then(Make::finish).expect("sound");
    place.install(file, true).expect("no end");
    assert!(small.tracks * 3 / 2 < gas.tracks && small.directory_blocks == 3, "{small:?} {gas:?}");
    let mut model = Model::default();
    assert!(
        [add("B", 200_000, false), alias("BB", "B"), add("C", 100, false)]
            .iter()
            .all(|edit| model.edit(edit))
    );
    check(&model, disk.open().expect("a library"));
}

#[test]
fn a_short_directory_is_full_or_is_made_longer() {
    let disk = new_disk(&making(6_144, 1));
    let edits: Vec<Edit> = (0..30).map(|number| add(&format!("M{number}"), 50, false)).collect();
    let (old, mut place) = (disk.open().expect("a library"), disk.clone());
    let all = edits.iter().cloned().map(Ok);
    assert!(matches!(apply_to_pds(&old, &mut place, all, 0, 9), Err(Error::Full(_))), "nobody said how many");
    apply(&disk, &edits).expect("it is laid anew");
    assert_eq!(
        Pds::open(disk.open().expect("a library")).expect("a library").header().directory_blocks,
        directory_blocks_for(30)
    );
    let long = Addition::new(name("NINECHARS"), vec![], None, 0).expect("data");
    assert!(matches!(apply(&disk, &[Edit::Add(Box::new(long))]), Err(Error::Name { .. })));
}

#[test]
fn ended_at_every_write_it_is_the_old_or_the_new_library() {
    let disk = new_disk(&making(6_144, 4));
    let mut before = Model::default();
    let start = [add("A", 110_000, false), add("B", 5_000, false), alias("AA", "A")];
    assert!(start.iter().all(|edit| before.edit(edit)));
    apply(&disk, &start).expect("room");
    disk.settle();
    let header = *Pds::open(disk.open().expect("a library")).expect("a library").header();
    let old = (header.identity, header.generation);
    let mut random = Random(5);
    let mut outcomes = [0, 0];
    for edits in [
        vec![add("NEW", 120_000, false), alias("ALSO", "NEW")],
        vec![add("A", 9_000, true)],
        vec![Edit::Delete(name("A"))],
        vec![Edit::Rename { from: name("A"), to: name("Z") }],
        (0..40).map(|number| add(&format!("M{number}"), 60, false)).collect(),
    ] {
        let mut after = before.clone();
        assert!(edits.iter().all(|edit| after.edit(edit)));
        let whole = disk.copy();
        apply(&whole, &edits).expect("no end");
        let operations = whole.0.borrow().done;
        for end in 0..=operations {
            let ended = disk.copy();
            ended.0.borrow_mut().left = Some(end);
            apply(&ended, &edits).expect_err("it was ended");
            for cut in 0..4 {
                let seen = ended.copy();
                if cut > 0 {
                    seen.power_cut(&mut random);
                }
                let pds = Pds::open(seen.open().expect("a library")).expect("a library");
                // Made anew it is another library, with its own generations.
                let is_new = (pds.header().identity, pds.header().generation) != old;
                check(if is_new { &after } else { &before }, seen.open().expect("a library"));
                outcomes[usize::from(is_new)] += 1;
            }
        }
    }
    assert!(outcomes[0] > 20 && outcomes[1] > 5, "{outcomes:?}");
}

fn small_library() -> (Vec<u8>, Model) {
    let (disk, mut model) = (new_disk(&making(6_144, 4)), Model::default());
    let edits = [add("A", 110_000, false), add("B", 5_000, false), alias("AA", "A"), add("C", 0, false)];
    assert!(edits.iter().all(|edit| model.edit(edit)));
    apply(&disk, &edits).expect("room");
    (disk.bytes().expect("a library"), model)
}

fn read_all(bytes: &[u8], model: &Model) -> (usize, bool) {
    let Ok(pds) = Pds::open(bytes) else { return (0, true) };
    let mut wrong = 0;
    for name in model.0.keys() {
        let Ok(Some(entry)) = pds.find(name, &mut Counts::default()) else { continue };
        let got = super::bytes(&pds, &entry, &mut Counts::default());
        wrong += usize::from(got.is_ok_and(|got| model.0.get(&entry.member()) != Some(&Held::Member(got))));
    }
    (wrong, !verify::pds(&pds, &mut |_| ()).problems.is_empty())
}

#[test]
fn cut_anywhere_it_gives_errors() {
    let (bytes, model) = small_library();
    cut_anywhere(&bytes, |bytes| read_all(bytes, &model));
}

#[test]
fn flipped_bits_are_found_and_never_believed() {
    let (bytes, model) = small_library();
    let unseen = flip_bits(&bytes, 500, |bytes| read_all(bytes, &model));
    // A track's image is longer than a track of small blocks: the rest is not read.
    assert!(unseen < 250, "{unseen}");
}

#[test]
fn damage_is_said_of_the_member_that_has_it() {
    let (mut bytes, _) = small_library();
    let pds = Pds::open(&bytes[..]).expect("a library");
    let entry = pds.find(&name("B"), &mut Counts::default()).expect("sound").expect("there");
    let text = pds.texts(&entry).next_text(&mut Counts::default()).expect("sound").expect("a block");
    bytes[text.offset as usize + 9] ^= 4;
    let pds = Pds::open(&bytes[..]).expect("a library");
    let problems = verify::pds(&pds, &mut |_| ()).problems;
    let place = format!("record {} on track {}", text.place.record, text.place.track);
    assert!(problems[0].member.as_deref() == Some("B") && problems[0].what.contains(&place), "{problems:?}");
    assert!(
        problems.iter().all(|problem| problem.member.is_none() || problem.member.as_deref() == Some("B"))
    );
}

#[test]
fn a_name_that_leads_elsewhere_is_damage() {
    let disk = new_disk(&making(6_144, 1));
    apply(&disk, &[add("ABCDEFG", 100, false)]).expect("room");
    let whole = disk.bytes().expect("a library");
    let identity = Pds::open(&whole[..]).expect("a library").header().identity;
    for to in [b"../../A", b"/etc/AB"] {
        let mut bytes = whole.clone();
        // The first block of the directory: count, sum, key, data.
        let block = &mut bytes[HEADER + TRACK_HEADER..][..16 + 8 + 256];
        let at = block.windows(7).position(|seven| seven == b"ABCDEFG").expect("the first entry");
        block[at..at + 7].copy_from_slice(to);
        let mut right = Sum::new(identity ^ 1);
        right.add(&block[..8]);
        right.add(&block[16..]);
        block[8..16].copy_from_slice(&right.finish().to_le_bytes());
        let pds = Pds::open(&bytes[..]).expect("a library");
        let listed: Result<Vec<Entry>, Fault> = pds.entries().collect();
        assert!(matches!(listed, Err(Fault::DamagedDirectory { .. })), "{listed:?}");
    }
}

#[test]
fn places_beyond_the_end_and_liars_are_refused() {
    let (bytes, _) = small_library();
    let pds = Pds::open(&bytes[..]).expect("a library");
    let entry = pds.find(&name("A"), &mut Counts::default()).expect("sound").expect("there");
    let read = |entry: Entry| super::bytes(&pds, &entry, &mut Counts::default()).map(|bytes| bytes.len());
    assert!(read(entry).is_ok());
    let mut far = entry;
    far.text.track = 60_000;
    for liar in [
        far,
        Entry { text_at: 57_336, ..entry },
        Entry { text_at: 0, ..entry },
        Entry { text_at: entry.text_at + 8, ..entry },
        Entry { text_length: entry.text_length - 1, ..entry },
        Entry { size: entry.size - 1, ..entry },
        Entry { size: entry.size + 1, ..entry },
        Entry { size: u32::MAX, ..entry },
        Entry { name: name("B"), ..entry },
    ] {
        assert!(matches!(read(liar), Err(Error::Member { .. })), "{liar:?}");
    }
    let far = Header { tracks: 60_000, ..*pds.header() };
    let mut longer = bytes.clone();
    longer[..4096].copy_from_slice(&far.encode());
    let pds = Pds::open(&longer[..]).expect("its sum is right");
    let liar = Entry { text: underbar_partitioned::binder::Place { track: 50_000, record: 1 }, ..entry };
    let error = pds.texts(&liar).next_text(&mut Counts::default());
    assert!(matches!(error, Err(Fault::Cut { .. })), "{error:?}");
}
