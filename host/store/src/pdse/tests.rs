//! A PDSE against a model, ended at every write, with readers of old generations. Damaged bytes: `damage`.

use std::collections::BTreeMap;

use underbar_partitioned::attribute::PAGE;
use underbar_partitioned::count::Counts;
use underbar_partitioned::name::Name;
use underbar_partitioned::pdse::{Kept, Pdse, Superblock, Value};
use underbar_partitioned::read::ReadAt;
use underbar_partitioned::symbol::Symbol;

use super::{Making, create};
use crate::change::{Edit, apply_to_pdse};
use crate::error::Error;
use crate::model::{Held, Model, add, alias, any_edit, name};
use crate::simulated::{Disk, Random};
use crate::verify;

pub(super) const MAKING: Making = Making { identity: 0x1234_5678_9ABC, block_size: 32_760, space: 0, now: 7 };

impl Model {
    /// Whether a library holds this, and is sound.
    pub fn check<R: ReadAt>(&self, read: R) {
        let pdse = Pdse::open(read).expect("a library");
        let verdict = verify::pdse(&pdse, &mut |_| ());
        assert_eq!(verdict.problems, []);
        let listed: Vec<Value> = pdse.entries().expect("sound").map(|entry| entry.expect("sound")).collect();
        let found: BTreeMap<Name, Held> = listed
            .iter()
            .map(|value| match value {
                Value::Member(member) => {
                    (member.name, Held::Member(super::bytes(&pdse, member).expect("sound")))
                }
                Value::Alias(alias) => (alias.name, Held::Alias(alias.of)),
            })
            .collect();
        assert!(found == self.0, "{:?} instead of {:?}", found.keys(), self.0.keys());
        for name in self.0.keys() {
            assert!(pdse.find(name, &mut Counts::default()).expect("sound").is_some(), "{name}");
        }
    }
}

pub(super) fn apply(disk: &Disk, edits: &[Edit]) -> Result<(), Error> {
    apply_to_pdse(disk.open().expect("a library"), edits.iter().cloned().map(Ok), 9).map(|_| ())
}

pub(super) fn new_disk() -> Disk {
    let mut disk = Disk::default();
    create(&mut disk, &MAKING).expect("no end");
    disk.settle();
    disk
}

pub(super) fn disk_of(bytes: Vec<u8>) -> Disk {
    let disk = Disk::default();
    disk.0.borrow_mut().put_file(bytes);
    disk
}

#[test]
fn any_order_of_edits_does_as_the_model() {
    for seed in 0..12 {
        let mut random = Random(seed);
        let (disk, mut model) = (new_disk(), Model::default());
        for _ in 0..40 {
            let edits: Vec<Edit> =
                (0..1 + random.below(6)).map(|_| any_edit(&mut random, 60, 140_000)).collect();
            let mut next = model.clone();
            // A failing one undoes those before it.
            if edits.iter().all(|edit| next.edit(edit)) {
                apply(&disk, &edits).expect("the model did it");
                model = next;
            } else {
                assert!(apply(&disk, &edits).is_err());
            }
        }
        model.check(disk.open().expect("a library"));
    }
}

#[test]
fn thousands_of_members_come_and_go() {
    let (disk, mut model) = (new_disk(), Model::default());
    let mut step = |edits: Vec<Edit>| {
        assert!(edits.iter().all(|edit| model.edit(edit)));
        apply(&disk, &edits).expect("room");
        model.check(disk.open().expect("a library"));
        let bytes = disk.bytes().expect("a library");
        *Pdse::open(&bytes[..]).expect("a library").superblock()
    };
    let full = step((0..3000).map(|number| add(&format!("MEMBER{number}"), number % 9, false)).collect());
    assert!((full.levels, full.members) == (2, 3000), "{full:?}");
    step(
        (0..3000).step_by(3).map(|number| alias(&format!("A{number}"), &format!("MEMBER{number}"))).collect(),
    );
    let few = step((0..2990).map(|number| Edit::Delete(name(&format!("MEMBER{number}")))).collect());
    assert!((few.levels, few.members, few.aliases, few.directory_pages) == (1, 10, 3, 1), "{few:?}");
    let none = step((2990..3000).map(|number| Edit::Delete(name(&format!("MEMBER{number}")))).collect());
    assert!((none.levels, none.root, none.directory_pages) == (0, 0, 0), "{none:?}");
}

#[test]
fn kept_nodes_change_no_search() {
    let disk = new_disk();
    let mut kept = [const { Kept::EMPTY }; 3];
    for generation in 0..4 {
        let edits: Vec<Edit> =
            (0..9_000).map(|number| add(&format!("G{generation}N{number}"), 0, false)).collect();
        apply(&disk, &edits).expect("room");
        let bytes = disk.bytes().expect("a library");
        let pdse = Pdse::open(&bytes[..]).expect("a library");
        assert!(pdse.superblock().levels >= 2);
        for number in (0..10_000).step_by(7) {
            let name = name(&format!("G{generation}N{number}"));
            let (mut with, mut without) = (Counts::default(), Counts::default());
            let found = pdse.find_keeping(&name, &mut with, &mut kept);
            assert_eq!(found, pdse.find(&name, &mut without));
            assert_eq!((with, found.expect("sound").is_some()), (without, number < 9_000));
        }
    }
}

#[test]
fn with_kept_nodes_a_search_reads_one_page_however_many_members_there_are() {
    struct Counting<'a>(&'a [u8], std::cell::Cell<usize>);
    impl ReadAt for Counting<'_> {
        fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), underbar_partitioned::read::Unread> {
            self.1.set(self.1.get() + 1);
            self.0.read_at(offset, into)
        }
    }
    let disk = new_disk();
    for (members, levels) in [(2, 1), (4_200, 2), (30_000, 3)] {
        let edits: Vec<Edit> = (0..members).map(|number| add(&format!("M{number:06}"), 0, true)).collect();
        apply(&disk, &edits).expect("room");
        let bytes = disk.bytes().expect("a library");
        let pdse = Pdse::open(Counting(&bytes, std::cell::Cell::new(0))).expect("a library");
        assert_eq!(pdse.superblock().levels, levels);
        let mut kept = vec![Kept::EMPTY; pdse.superblock().pages as usize];
        let mut search = |number: usize| {
            let before = pdse.reader().1.get();
            let name = name(&format!("M{number:06}"));
            assert!(pdse.find_keeping(&name, &mut Counts::default(), &mut kept).expect("sound").is_some());
            pdse.reader().1.get() - before
        };
        (0..members).step_by(11).for_each(|number| assert!(search(number) <= usize::from(levels)));
        assert!((0..members).step_by(7).all(|number| search(number) == 1), "{members}");
    }
}

#[test]
fn space_of_deleted_members_is_used_again() {
    let disk = new_disk();
    let pages = |disk: &Disk| disk.bytes().expect("a library").len() / PAGE;
    let round = |disk: &Disk| {
        apply(disk, &[add("A", 300_000, true), add("B", 10_000, true)]).expect("room");
        apply(disk, &[Edit::Delete(name("A"))]).expect("it is there");
    };
    (0..3).for_each(|_| round(&disk));
    let early = pages(&disk);
    (0..100).for_each(|_| round(&disk));
    assert_eq!(pages(&disk), early, "no reader is there, so it does not grow");
}

#[test]
fn what_a_reader_uses_is_not_used_again() {
    let disk = new_disk();
    let bytes_of = |edit: &Edit| match edit {
        Edit::Add(addition) => addition.bytes.clone(),
        _ => unreachable!("an addition"),
    };
    let first = add("A", 300_000, true);
    apply(&disk, std::slice::from_ref(&first)).expect("room");
    let old = Superblock::newest(&disk.open().expect("a library")).expect("sound");
    disk.0.borrow_mut().lowest_reader = Some(old.generation);
    let read_old = |disk: &Disk| {
        let pdse = Pdse::at(disk.open().expect("a library"), old);
        let found = pdse.find(&name("A"), &mut Counts::default()).expect("sound").expect("there");
        super::bytes(&pdse, &found.member).expect("as it was")
    };
    for round in 0..30 {
        apply(&disk, &[add("A", 300_000 + round, true), add("B", round, true)]).expect("room");
        assert_eq!(read_old(&disk), bytes_of(&first), "{round}");
    }
    let grown = disk.bytes().expect("a library").len();
    disk.0.borrow_mut().lowest_reader = None;
    for round in 0..30 {
        apply(&disk, &[add("A", 300_000 + round, true)]).expect("room");
    }
    assert_eq!(disk.bytes().expect("a library").len(), grown, "the reader has gone");
    assert_ne!(
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read_old(&disk))).ok(),
        Some(bytes_of(&first)),
        "this test can fail: who does not hold its generation loses it"
    );
}

/// Changes of every kind, each small enough to be ended at every write.
fn changes() -> Vec<Vec<Edit>> {
    vec![
        vec![add("NEW", 120_000, false)],
        vec![add("A", 9_000, true)],
        vec![Edit::Delete(name("A"))],
        vec![Edit::Rename { from: name("A"), to: name("Z") }],
        vec![alias("ALSO", "B")],
        (0..150).map(|number| add(&format!("MANY{number}"), number, false)).collect(),
        (0..90).map(|number| Edit::Delete(name(&format!("M{number}")))).collect(),
    ]
}

#[test]
fn ended_at_every_write_it_is_the_old_or_the_new_library() {
    let disk = new_disk();
    let mut before = Model::default();
    let mut start = vec![add("A", 110_000, false), add("B", 5_000, false), alias("AA", "A")];
    start.extend((0..100).map(|number| add(&format!("M{number}"), number, false)));
    assert!(start.iter().all(|edit| before.edit(edit)));
    apply(&disk, &start).expect("room");
    // A second change, so that the free pages are those of the one before.
    apply(&disk, &[add("B", 5_000, true)]).expect("room");
    disk.settle();
    let mut random = Random(5);
    let mut outcomes = [0, 0];
    for edits in changes() {
        let mut after = before.clone();
        assert!(edits.iter().all(|edit| after.edit(edit)));
        let whole = disk.copy();
        apply(&whole, &edits).expect("no end");
        let operations = whole.0.borrow().done;
        assert!(operations > 4, "{operations}");
        for end in 0..=operations {
            let ended = disk.copy();
            ended.0.borrow_mut().left = Some(end);
            apply(&ended, &edits).expect_err("it was ended");
            // Killed there: written data is there. Then the power goes, and a random part of it is kept.
            for cut in 0..6 {
                let seen = ended.copy();
                if cut > 0 {
                    seen.power_cut(&mut random);
                }
                let bytes = seen.bytes().expect("a library");
                outcomes[usize::from(check_either(&bytes, &before, &after))] += 1;
                // And it can be changed again, to the end, and ended again without loss of durable data.
                if cut == 0 {
                    seen.0.borrow_mut().left = None;
                    let next = seen.copy();
                    apply(&next, &[add("NEXT", 60_000, true)]).expect("it goes on");
                    let mut model = if is_new(&bytes, &after) { after.clone() } else { before.clone() };
                    assert!(model.edit(&add("NEXT", 60_000, true)));
                    model.check(next.open().expect("a library"));
                }
            }
        }
    }
    assert!(outcomes[0] > 100 && outcomes[1] > 10, "both outcomes come about: {outcomes:?}");
}

/// Whether it is the new one. It must be one of the two.
fn check_either(bytes: &[u8], before: &Model, after: &Model) -> bool {
    let is_new = is_new(bytes, after);
    if is_new {
        after.check(bytes)
    } else {
        before.check(bytes)
    }
    is_new
}

fn is_new(bytes: &[u8], after: &Model) -> bool {
    let pdse = Pdse::open(bytes).expect("a library");
    let names: Vec<Name> = pdse.entries().expect("sound").map(|entry| entry.expect("sound").name()).collect();
    let size_of_a =
        pdse.find(&name("A"), &mut Counts::default()).expect("sound").map(|found| found.member.size);
    let size_after = after.0.get(&name("A")).map(|held| match held {
        Held::Member(bytes) => bytes.len() as u64,
        Held::Alias(_) => 0,
    });
    names.iter().eq(after.0.keys()) && size_of_a == size_after
}

#[test]
fn a_killed_writers_superblock_is_made_durable_before_its_pages_are_used_again() {
    let disk = new_disk();
    apply(&disk, &[add("A", 50_000, false)]).expect("room");
    disk.settle();
    // Killed between the write of the superblock and its sync: the last operation fails.
    let edits = [add("A", 60_000, true)];
    let whole = disk.copy();
    apply(&whole, &edits).expect("no end");
    let operations = whole.0.borrow().done;
    disk.0.borrow_mut().left = Some(operations);
    apply(&disk, &edits).expect_err("ended before the last sync");
    disk.0.borrow_mut().left = None;
    let mut random = Random(3);
    for end in 0..12 {
        // The next writer, ended by a power cut.
        let next = disk.copy();
        next.0.borrow_mut().left = Some(end);
        next.0.borrow_mut().done = 0;
        let _ = apply(&next, &[add("B", 50_000, false), Edit::Delete(name("A"))]);
        for _ in 0..20 {
            let seen = next.copy();
            seen.power_cut(&mut random);
            let bytes = seen.bytes().expect("a library");
            let pdse = Pdse::open(&bytes[..]).expect("a library");
            assert_eq!(verify::pdse(&pdse, &mut |_| ()).problems, [], "ended at {end}");
        }
    }
}

#[test]
fn a_full_disk_leaves_the_library_as_it_was() {
    let disk = new_disk();
    let mut model = Model::default();
    let start = [add("A", 100_000, false), add("B", 50_000, false)];
    assert!(start.iter().all(|edit| model.edit(edit)));
    apply(&disk, &start).expect("room");
    let length = disk.bytes().expect("a library").len();
    for more in (0..200_000).step_by(9_000) {
        let full = disk.copy();
        full.0.borrow_mut().room = Some(length + more);
        let many: Vec<Edit> = (0..40).map(|number| add(&format!("C{number}"), 5_000, false)).collect();
        assert!(matches!(apply(&full, &many), Err(Error::DeviceFull)), "{more}");
        model.check(full.open().expect("a library"));
        assert_eq!(full.bytes().expect("a library").len(), length, "what it had grown by is given back");
    }
}

#[test]
fn a_library_that_may_not_grow_takes_pieces_and_then_is_full() {
    let mut disk = Disk::default();
    create(&mut disk, &Making { space: 100, ..MAKING }).expect("no end");
    let mut model = Model::default();
    let mut made = 0;
    for number in 0..15 {
        made += usize::from(
            apply(&disk, &[add(&format!("M{number}"), 9 * 4096, false)])
                .is_ok_and(|()| model.edit(&add(&format!("M{number}"), 9 * 4096, false))),
        );
    }
    assert!((7..12).contains(&made), "{made}");
    for number in [1, 3, 5] {
        let edit = Edit::Delete(name(&format!("M{number}")));
        assert!(model.edit(&edit));
        apply(&disk, &[edit]).expect("it is there");
    }
    // Longer than any single gap.
    let edit = add("PIECES", 20 * 4096, false);
    assert!(model.edit(&edit));
    apply(&disk, &[edit]).expect("three gaps together");
    model.check(disk.open().expect("a library"));
    assert!(matches!(apply(&disk, &[add("MORE", 50 * 4096, false)]), Err(Error::Full(_))));
    model.check(disk.open().expect("a library"));
}

/// Right after it was made, for example by a compress, a library has no freed pages.
#[test]
fn members_can_be_deleted_on_a_full_disk() {
    for members in [1, 2, 90, 700] {
        for is_limited in [false, true] {
            let (mut disk, mut model) = (Disk::default(), Model::default());
            create(&mut disk, &MAKING).expect("no end");
            let mut edits: Vec<Edit> =
                (0..members).map(|number| add(&format!("M{number}"), number % 3, false)).collect();
            edits.extend(
                (0..members).step_by(7).map(|number| alias(&format!("A{number}"), &format!("M{number}"))),
            );
            assert!(edits.iter().all(|edit| model.edit(edit)));
            apply(&disk, &edits).expect("room");
            let mut bytes = disk.bytes().expect("a library");
            if is_limited {
                let newest = Superblock::newest(&bytes[..]).expect("a library");
                let limited = Superblock { space: newest.pages, ..newest };
                let at = Superblock::turn(newest.generation) as usize * PAGE;
                bytes[at..at + PAGE].copy_from_slice(&limited.encode());
                disk.0.borrow_mut().put_file(bytes);
            } else {
                disk.0.borrow_mut().room = Some(bytes.len());
            }
            let more = apply(&disk, &[add("MORE", 90_000, false)]);
            assert!(matches!(more, Err(Error::DeviceFull | Error::Full(_))), "{more:?}");
            for number in 0..members {
                let edit = Edit::Delete(name(&format!("M{number}")));
                assert!(model.edit(&edit));
                let deleted = apply(&disk, &[edit]);
                assert!(deleted.is_ok(), "{number} of {members}: {deleted:?}");
                if number % 50 == 0 || number + 1 == members {
                    model.check(disk.open().expect("a library"));
                }
            }
        }
    }
}

#[test]
fn an_alias_keeps_its_function_or_goes() {
    let disk = new_disk();
    let edits = [add("P", 100, false), alias("SAME", "P")];
    apply(&disk, &edits).expect("room");
    let symbol = Symbol::new(b"gone").expect("short");
    let mut change = super::Change::begin(disk.open().expect("a library")).expect("sound");
    change.alias(&name("GONE"), &name("P"), Some(4), symbol).expect("free");
    change.commit().expect("room");
    apply(&disk, &[add("P", 200, true)]).expect("room");
    let bytes = disk.bytes().expect("a library");
    let pdse = Pdse::open(&bytes[..]).expect("a library");
    let aliases: Vec<String> = pdse
        .aliases(&name("P"))
        .expect("sound")
        .map(|alias| alias.expect("sound").name.to_string())
        .collect();
    assert_eq!(aliases, ["SAME"], "data exports no function");
}
