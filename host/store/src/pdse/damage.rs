//! A damaged PDSE: cut, flipped, and with wrong values that have valid checksums.

use underbar_partitioned::attribute::PAGE;
use underbar_partitioned::count::Counts;
use underbar_partitioned::pdse::{Found, Member, NODE_HEADER, Pdse, Run, Runs, Superblock, Value, seal_node};
use underbar_partitioned::read::Fault;
use underbar_partitioned::sum::sum;

use super::tests::{MAKING, apply, disk_of, new_disk};
use crate::error::Error;
use crate::model::{Held, Model, add, alias, cut_anywhere, flip_bits, name};
use crate::simulated::Random;
use crate::verify;

fn small_library() -> (Vec<u8>, Model) {
    let (disk, mut model) = (new_disk(), Model::default());
    let mut edits = vec![add("A", 110_000, false), add("B", 5_000, false), alias("AA", "A")];
    edits.extend((0..70).map(|number| add(&format!("M{number}"), 4096 - number, false)));
    assert!(edits.iter().all(|edit| model.edit(edit)));
    apply(&disk, &edits).expect("room");
    (disk.bytes().expect("a library"), model)
}

/// Reads everything, as far as possible; returns the number of members whose bytes are not their own.
fn read_all(bytes: &[u8], model: &Model) -> (usize, bool) {
    let Ok(pdse) = Pdse::open(bytes) else { return (0, true) };
    let mut wrong = 0;
    for name in model.0.keys() {
        let found = pdse.find(name, &mut Counts::default());
        let Ok(Some(found)) = found else { continue };
        let got = super::bytes(&pdse, &found.member);
        wrong +=
            usize::from(got.is_ok_and(|got| model.0.get(&found.member.name) != Some(&Held::Member(got))));
    }
    let has_problems = !verify::pdse(&pdse, &mut |_| ()).problems.is_empty();
    (wrong, has_problems)
}

#[test]
fn cut_anywhere_it_gives_errors() {
    let (bytes, model) = small_library();
    cut_anywhere(&bytes, |bytes| read_all(bytes, &model));
}

#[test]
fn flipped_bits_are_found_and_never_believed() {
    let (bytes, model) = small_library();
    let unseen = flip_bits(&bytes, 600, |bytes| read_all(bytes, &model));
    // Bits of the older superblock, of free pages, of padding after a member: they are not read.
    assert!(unseen < 300, "{unseen}");
}

#[test]
fn damage_is_said_of_the_member_that_has_it() {
    let (mut bytes, _) = small_library();
    let pdse = Pdse::open(&bytes[..]).expect("a library");
    let member = |name| pdse.find(&name, &mut Counts::default()).expect("sound").expect("there").member;
    let (a, b) = (member(name("A")), member(name("B")));
    let (tenth, first) = (a.runs.page(10).expect("inside"), b.runs.page(0).expect("inside"));
    bytes[tenth as usize * PAGE + 5] ^= 1;
    bytes[first as usize * PAGE + 5] ^= 1;
    let pdse = Pdse::open(&bytes[..]).expect("a library");
    let problems = verify::pdse(&pdse, &mut |_| ()).problems;
    let said: Vec<(Option<&str>, bool)> = problems
        .iter()
        .map(|problem| (problem.member.as_deref(), problem.what.contains(&format!("page {tenth} "))))
        .collect();
    assert_eq!(said, [(Some("A"), true), (Some("B"), false)], "{problems:?}");
}

#[test]
fn trees_that_lead_in_circles_end() {
    let (bytes, _) = small_library();
    let pdse = Pdse::open(&bytes[..]).expect("a library");
    let superblock = *pdse.superblock();
    assert_eq!(superblock.levels, 2);
    // A root that is its own child, with a valid checksum: its level excludes that.
    for levels in [1, 3, 8] {
        let liar = Superblock { levels, ..superblock };
        let mut bytes = bytes.clone();
        let at = Superblock::turn(liar.generation) as usize * PAGE;
        bytes[at..at + PAGE].copy_from_slice(&liar.encode());
        let pdse = Pdse::open(&bytes[..]).expect("its sum is right");
        let found = pdse.find(&name("A"), &mut Counts::default());
        assert!(matches!(found, Err(Fault::DamagedDirectory { .. })), "{found:?}");
        assert!(pdse.entries().is_err());
    }
}

/// Gives every page that is marked as a node, and both superblocks, a valid checksum,
/// so that checksummed fields are tested, too.
fn resealed(bytes: &mut [u8]) {
    for page in bytes.chunks_exact_mut(PAGE).take(2) {
        let right = sum(0, &page[..PAGE - 8]);
        page[PAGE - 8..].copy_from_slice(&right.to_le_bytes());
    }
    let identity = MAKING.identity;
    for (number, page) in (0..).zip(bytes.chunks_exact_mut(PAGE)) {
        if page.starts_with(b"NODE") {
            let page: &mut [u8; PAGE] = page.try_into().expect("a page");
            let (level, cells) = (page[4], u16::from_le_bytes([page[6], page[7]]));
            let generation = u64::from(page[16]);
            seal_node(page, identity, number, level, cells, generation);
        }
    }
}

#[test]
fn a_name_that_leads_elsewhere_is_damage() {
    let disk = new_disk();
    apply(&disk, &[add("ABCDEFG", 100, false), alias("HIJKLMN", "ABCDEFG")]).expect("room");
    let whole = disk.bytes().expect("a library");
    for (from, to) in [("ABCDEFG", "../../A"), ("HIJKLMN", "/etc/HI"), ("ABCDEFG", "A\0CDEFG")] {
        let mut bytes = whole.clone();
        while let Some(at) = bytes.windows(7).position(|seven| seven == from.as_bytes()) {
            bytes[at..at + 7].copy_from_slice(to.as_bytes());
        }
        assert!(bytes != whole);
        resealed(&mut bytes);
        let pdse = Pdse::open(&bytes[..]).expect("its sums are right");
        let listed: Result<Vec<Value>, Fault> = pdse.entries().and_then(Iterator::collect);
        assert!(matches!(listed, Err(Fault::DamagedDirectory { .. })), "{to:?}: {listed:?}");
    }
}

/// Each of its inner nodes has but one child, a thousand times: a walk would never end in practice. Its leaf
/// is empty, so no key of a leaf is out of order.
#[test]
fn a_tree_that_leads_in_circles_ends_also_where_its_leaf_is_empty() {
    const LEVELS: u8 = 8;
    let mut bytes = new_disk().bytes().expect("a library");
    bytes.resize((2 + usize::from(LEVELS)) * PAGE, 0);
    for superblock in [0, PAGE] {
        bytes[superblock..superblock + 8].copy_from_slice(b"UNDPSE\r\x01");
        bytes[superblock + 8..superblock + 16].copy_from_slice(&MAKING.identity.to_le_bytes());
        bytes[superblock + 24..superblock + 28].copy_from_slice(&2_u32.to_le_bytes());
        bytes[superblock + 28] = LEVELS;
        bytes[superblock + 32..superblock + 36].copy_from_slice(&(2 + u32::from(LEVELS)).to_le_bytes());
        bytes[superblock + 52..superblock + 56].copy_from_slice(&32_760_u32.to_le_bytes());
    }
    for (level, number) in (0..LEVELS).rev().zip(2_u32..) {
        let page = &mut bytes[number as usize * PAGE..][..PAGE];
        page[..4].copy_from_slice(b"NODE");
        page[4] = level;
        if level > 0 {
            // A thousand slots, all for one cell: key 1, and the node below.
            page[6..8].copy_from_slice(&1_000_u16.to_le_bytes());
            for place in page[NODE_HEADER..].chunks_exact_mut(2).take(1_000) {
                place.copy_from_slice(&4_090_u16.to_le_bytes());
            }
            page[4_090] = 1;
            page[4_091..4_095].copy_from_slice(&(number + 1).to_le_bytes());
            page[4_095] = 2;
        }
    }
    resealed(&mut bytes);
    let pdse = Pdse::open(&bytes[..]).expect("its sums are right");
    let listed: Vec<_> = pdse.entries().expect("a way to the leaf").collect();
    assert!(matches!(listed[..], [Err(Fault::DamagedDirectory { .. })]), "{listed:?}");
    assert!(!verify::pdse(&pdse, &mut |_| ()).problems.is_empty());
}

/// Storage for its stated size would end the process.
#[test]
fn a_member_is_believed_no_further_than_its_file_goes() {
    let disk = new_disk();
    apply(&disk, &[add("LARGE", 9_000, false)]).expect("room");
    let mut bytes = disk.bytes().expect("a library");
    let found = Pdse::open(&bytes[..]).expect("a library").find(&name("LARGE"), &mut Counts::default());
    let Ok(Some(Found { member: right, .. })) = found else { panic!("{found:?}") };
    let all = Run { first: 2, pages: u32::MAX - 2 };
    let size = u64::from(all.pages) * PAGE as u64;
    let liar = Member { size, table: 2, runs: Runs::new(&[all]).expect("one"), ..right };
    let (cell, length) = Value::Member(right).encode();
    let (other, other_length) = Value::Member(liar).encode();
    assert_eq!(length, other_length);
    let at = bytes.windows(length).position(|window| *window == cell[..length]).expect("its cell");
    bytes[at..at + length].copy_from_slice(&other[..length]);
    for superblock in [0, PAGE] {
        bytes[superblock + 32..superblock + 36].copy_from_slice(&u32::MAX.to_le_bytes());
    }
    resealed(&mut bytes);
    let pdse = Pdse::open(&bytes[..]).expect("its sums are right");
    assert!(matches!(super::bytes(&pdse, &liar), Err(Error::Member { fault: Fault::Cut { .. }, .. })));
    let problems = verify::pdse(&pdse, &mut |_| ()).problems;
    assert!(problems.iter().any(|problem| problem.member.as_deref() == Some("LARGE")), "{problems:?}");
    assert!(apply(&disk_of(bytes), &[add("NEW", 9_000, true)]).is_err());
}

#[test]
fn lies_with_right_sums_do_no_harm() {
    let (bytes, model) = small_library();
    let pdse = Pdse::open(&bytes[..]).expect("a library");
    let mut reached = super::Reached::new(pdse.superblock().pages);
    super::nodes(&pdse, &mut reached).expect("sound");
    let nodes: Vec<usize> = (0..bytes.len() / PAGE)
        .filter(|page| {
            bytes[page * PAGE..].starts_with(b"NODE") && reached.has_any(*page as u32..*page as u32 + 1)
        })
        .collect();
    let mut random = Random(4);
    let mut refused = 0;
    for _ in 0..1500 {
        let mut bytes = bytes.clone();
        for _ in 0..1 + random.below(4) {
            let page = match random.below(8) {
                0 => random.below(2) as usize,
                _ => nodes[random.below(nodes.len() as u64) as usize],
            };
            // The front of a page, its slots and lengths, more often than the rest.
            let within = if random.below(2) == 0 { random.below(100) } else { random.below(PAGE as u64) };
            bytes[page * PAGE + within as usize] = random.next() as u8;
        }
        resealed(&mut bytes);
        let (_, has_problems) = read_all(&bytes, &model);
        refused += usize::from(has_problems);
        // A writer that does not understand all of it changes nothing.
        let disk = disk_of(bytes.clone());
        if apply(&disk, &[add("NEW", 9_000, true)]).is_err() {
            assert!(disk.bytes().expect("a file") == bytes);
        }
    }
    assert!(refused > 500, "{refused}");
}
