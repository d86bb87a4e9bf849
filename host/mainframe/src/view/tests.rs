//! Mainframe libraries in the form of Underbar's own, through every carrier; none of the files is a real one.

use super::choose::{Carrier, Unclear};
use super::extract::{Refused, members};
use super::{export, import, items, survey};
use crate::container::examine;
use crate::directory::Ttr;
use crate::library::Library;
use crate::source::Memory;
use crate::tests::carriers;
use crate::tests::sample::{PAGE, envelope, module_blocks, name, programs, texts};
use crate::tree::Options;
use crate::{unload_write, xmit};
use std::collections::HashSet;
use underbar_store::library as store;
use underbar_store::survey::measure;

fn carrier(name: &str, bytes: Vec<u8>) -> Carrier {
    Carrier::of(examine(name, Memory::shared(bytes), &Options::default()), PAGE)
}

fn only(carrier: &Carrier) -> &Library {
    &carrier.choose(Some("MY.LIBRARY")).or_else(|_| carrier.choose(None)).expect("one library").library
}

#[test]
fn every_carrier_shows_the_same_members_blocks_and_shapes() {
    let sample = programs();
    let expected = carrier("x", sample.xmit("MY.LIBRARY"));
    let expected = only(&expected);
    let (items, source) = (items::list(expected), survey::source(expected, "L".into()).expect("readable"));
    let sizes = items::block_sizes(expected, &expected.members).expect("readable");
    assert_eq!((items.len(), source.shapes.len(), source.aliases), (14, 12, 2));
    assert!(sizes[0].length == 6_144 && sizes[0].blocks > 10, "{sizes:?}");
    // A disk decides on the places of members on its own.
    let without_places = |items: &[store::Item]| -> Vec<store::Item> {
        items.iter().map(|item| store::Item { ttr: String::new(), tracks: None, ..item.clone() }).collect()
    };
    // Every form once: the tests of the readers cover the packing.
    let forms = [
        "transmission",
        "spanned unload",
        "packed",
        "transmission in a transmission",
        "disk",
        "CCKD disk, zlib",
    ];
    let tape = "transmission on a tape, zlib, chunks of 65535";
    let all = carriers::all(&sample).into_iter();
    for (how, bytes) in all.filter(|(how, _)| forms.contains(&how.as_str()) || how == tape) {
        let carrier = carrier("file", bytes);
        let library = only(&carrier);
        assert_eq!(without_places(&items::list(library)), without_places(&items), "{how}");
        let found = survey::source(library, "L".into()).expect("readable");
        let mut shapes = found.shapes.clone();
        shapes.sort_by_key(|shape| format!("{shape:?}"));
        let mut wanted = source.shapes.clone();
        wanted.sort_by_key(|shape| format!("{shape:?}"));
        assert_eq!(shapes, wanted, "{how}");
        assert_eq!(measure(&found).copied.last(), measure(&source).copied.last(), "{how}");
        let label = items::label(library, 1);
        assert_eq!(
            (label.members, label.aliases, label.block_size, &*label.record_format),
            (12, 2, 6_144, "U")
        );
    }
}

#[test]
fn gaps_are_what_a_copy_block_by_block_closes() {
    let mut sample = programs();
    for (number, (member, data)) in sample.outgoing.members.iter_mut().zip(&mut sample.data).enumerate() {
        *data = module_blocks(40_000 * (1 + number % 3));
        member.blocks = data.iter().map(|block| block.len() as u32).collect();
    }
    let carrier = carrier("x", sample.xmit("MY.LIBRARY"));
    let mut library = only(&carrier).clone();
    // Its blocks have at most 6,144 bytes: a copy of larger blocks takes fewer tracks, though every track is full.
    library.label.block_size = 32_760;
    let rules = |library: &Library| -> Vec<&str> {
        let source = survey::source(library, "L".into()).expect("readable");
        measure(&source).savings.iter().map(|saving| saving.rule).collect()
    };
    let whole = survey::source(&library, "L".into()).expect("readable");
    assert!(measure(&whole).copied[0].tracks < whole.tracks.expect("known"), "{whole:?}");
    assert_eq!(whole.compressed, whole.tracks);
    assert_eq!(rules(&library), ["block-size"]);
    // The long members go, and the members after them stay in place.
    library.members.retain(|member| member.bytes < 100_000);
    let left = survey::source(&library, "L".into()).expect("readable");
    assert!(left.compressed < left.tracks && left.tracks == whole.tracks, "{left:?}");
    assert_eq!(rules(&library), ["block-size", "compress"]);
}

#[test]
fn items_say_what_the_directory_says() {
    let carrier = carrier("x", programs().xmit("MY.LIBRARY"));
    let items = items::list(only(&carrier));
    let item = |name: &str| items.iter().find(|item| item.name == name).expect(name);
    assert_eq!(item("ALPHA").aliases, ["AA", "ALPHA1"]);
    assert_eq!((item("AA").alias_of.as_deref(), item("AA").size), (Some("ALPHA"), item("ALPHA").size));
    let mainframe = item("ALPHA").mainframe.as_ref().expect("a mainframe's");
    assert_eq!((mainframe.amode, mainframe.authorisation), (Some("31"), Some(1)));
    assert!(item("ALPHA").attributes.contains(&"RENT") && item("ALPHA").storage == 0x120);
    let text = self::carrier("x", texts(&[]).xmit("MY.TEXT"));
    let items = items::list(only(&text));
    let statistics = items[1].mainframe.as_ref().and_then(|one| one.statistics.clone()).expect("ISPF's");
    assert_eq!((&*statistics.version, statistics.lines, &*statistics.user), ("01.04", 3, "HERC01"));
}

#[test]
fn one_of_several_libraries_is_chosen_by_name_path_or_number() {
    let inner = programs().xmit("IN.NER");
    let both = carrier("file", texts(&[("INNER", inner.clone()), ("SECOND", inner)]).xmit("OUT.ER"));
    assert_eq!(both.libraries.len(), 3);
    assert!(matches!(both.choose(None), Err(Unclear::Several { number: 3, .. })));
    assert!(matches!(both.choose(Some("in.ner")), Err(Unclear::Ambiguous { .. })));
    assert!(matches!(both.choose(Some("4")), Err(Unclear::Unknown { .. })));
    assert!(matches!(both.choose(Some("0")), Err(Unclear::Unknown { .. })));
    for (wanted, number) in [("out.er", 1), ("1", 1), ("2", 2), ("SECOND/IN.NER", 3), ("INNER > IN.NER", 2)] {
        let path = &both.choose(Some(wanted)).expect(wanted).path;
        assert_eq!(*path, both.libraries[number - 1].path, "{wanted}");
    }
    assert_eq!(both.holds.iter().filter_map(|thing| thing.library).collect::<Vec<_>>(), [1, 2, 3]);
    let none = carrier("file", b"nothing".to_vec());
    assert!(matches!(none.choose(None), Err(Unclear::None { .. })));
}

#[test]
fn a_module_alone_is_a_library_of_one() {
    let blocks = module_blocks(10_000);
    let carrier = carrier("PROGRAM.bin", blocks.concat());
    let held = carrier.choose(None).expect("one");
    let library = &held.library;
    assert!(held.alone && library.members[0].name == "PROGRAM" && library.label.block_size == 0);
    let read: Vec<Vec<u8>> =
        library.read_member(&library.members[0]).collect::<Result<_, _>>().expect("readable");
    assert_eq!(read, blocks);
    let sizes = items::block_sizes(library, &library.members).expect("readable");
    assert_eq!(
        sizes.iter().map(|one| (one.length, one.blocks)).collect::<Vec<_>>(),
        [(6_144, 1), (3_856, 1)]
    );
}

#[test]
fn aliases_without_a_member_are_taken_for_it() {
    /// Marks the directory's entry of this name as an alias; the name occurs this often before it, in data of aliases.
    fn is_alias(unload: &mut [u8], text: &str, before: usize) {
        let raw = name(text).0;
        let mut found = unload.windows(8).enumerate().filter(|(_, eight)| *eight == raw);
        let at = found.nth(before).expect("in the directory").0;
        unload[at + 11] |= 0x80;
    }
    let mut unload = texts(&[("MORE", vec![0xC1; 8_000])]).unload().concat();
    is_alias(&mut unload, "TEXT", 0);
    let text_library = carrier("x", unload);
    let mut unload = programs().unload().concat();
    is_alias(&mut unload, "ALPHA", 1);
    let program_library = carrier("x", unload);
    for (carrier, first, others, count) in
        [(&text_library, "TEXT", &[][..], 3), (&program_library, "AA", &["ALPHA", "ALPHA1"], 12)]
    {
        let library = only(carrier);
        let listed = items::list(library);
        let alias_of =
            |name: &str| listed.iter().find(|item| item.name == name).expect("listed").alias_of.clone();
        assert_eq!(alias_of(first), None);
        assert!(others.iter().all(|other| alias_of(other).as_deref() == Some(first)), "{listed:?}");
        let taken = members(library, &[]).expect("good names");
        let found = taken.iter().find(|member| member.name == first).expect("taken");
        assert!(found.bytes > 0 && taken.len() == count);
        let (counts, label) = (library.counts(), items::label(library, 0));
        assert_eq!((counts.primaries, counts.aliases), (count, others.len()));
        assert_eq!((label.members as usize, label.aliases as usize), (count, others.len()));
        let shapes = survey::source(library, "L".into()).expect("readable").shapes;
        assert!(shapes.iter().map(|shape| shape.programs).sum::<u64>() > 0 && shapes.len() >= count - 1);
        let said =
            library.faults.iter().filter(|fault| fault.to_string().ends_with(&format!("member {first}")));
        assert_eq!(said.count(), 1 + others.len(), "{:?}", library.faults);
    }
}

#[test]
fn every_view_agrees_on_what_is_an_alias() {
    // An alias, of a name that comes twice, and a second name for the place of GAMMA that is marked as a member.
    let carrier = carrier("x", programs().xmit("MY.LIBRARY"));
    let mut library = only(&carrier).clone();
    let at = |name: &str| library.members.iter().position(|member| member.name == name).expect("there");
    let (beta, gamma, first, second) = (at("BETA"), at("GAMMA"), at("AA"), at("ALPHA1"));
    let (range, blocks, bytes) =
        (library.members[gamma].range.clone(), library.members[gamma].blocks, library.members[gamma].bytes);
    let member = &mut library.members[beta];
    (member.range, member.blocks, member.bytes) = (range, blocks, bytes);
    library.members[second].name = library.members[first].name.clone();

    let listed = items::list(&library);
    let aliases = listed.iter().filter(|item| item.alias_of.is_some()).count();
    let expected = (listed.len() - aliases, aliases);
    let (counts, label) = (library.counts(), items::label(&library, 0));
    let surveyed = measure(&survey::source(&library, "L".into()).expect("readable"));
    let taken = members(&library, &[]).expect("no more than there is");
    assert_eq!((expected, taken.len()), ((12, 2), 12));
    assert_eq!((counts.primaries, counts.aliases), expected);
    assert_eq!((label.members as usize, label.aliases as usize), expected);
    assert_eq!(listed.iter().map(|item| item.aliases.len()).sum::<usize>(), expected.1);
    let known = |number: Option<u32>| number.expect("not of a list") as usize;
    assert_eq!((known(surveyed.members), known(surveyed.aliases)), expected);
}

#[test]
fn names_of_any_kind_are_taken_and_members_within_members_are_refused() {
    for bad in ["A/B", "..", "."] {
        let mut sample = texts(&[]);
        sample.outgoing.members[0].title.name = name(bad);
        let carrier = carrier("x", sample.xmit("MY.TEXT"));
        let library = only(&carrier);
        assert_eq!(members(library, &[]).map(|found| found.len()), Ok(2));
        assert_eq!(members(library, &[bad.into()]).map(|found| found.len()), Ok(1));
        let refused = |name: &str| members(library, &[name.into()]).err().map(|refused| refused.to_string());
        assert_eq!(refused("NO").as_deref(), Some("there is no member NO"));
        let other = library.members[1].name.to_ascii_lowercase();
        let expected = format!("there is no member {other}; there is {}", library.members[1].name);
        assert_eq!(refused(&other), Some(expected));
    }
    let carrier = carrier("x", programs().xmit("MY.LIBRARY"));
    let mut library = only(&carrier).clone();
    let whole = library.blocks.len();
    let bytes = library.counts().live_bytes;
    for member in &mut library.members {
        (member.range, member.blocks, member.bytes) = (0..whole, whole, bytes);
    }
    assert!(matches!(members(&library, &[]), Err(Refused::Overlap { .. })));
    let source = survey::source(&library, "L".into()).expect("readable");
    assert_eq!(source.shapes.len(), 1, "members within each other are measured once");
    let sizes = items::block_sizes(&library, &library.members).expect("readable");
    assert!(sizes.iter().map(|one| one.blocks).sum::<u64>() <= whole as u64, "{sizes:?}");
    let refused = export::theirs(&mut Vec::new(), &envelope("MY.LIBRARY"), &library);
    assert!(matches!(
        refused,
        Err(export::Fault::Transmission(xmit::Fault::Unload(unload_write::Fault::Overlap { .. })))
    ));
}

#[test]
fn tracks_of_members_within_each_other_are_counted_once() {
    let carrier = carrier("x", programs().xmit("MY.LIBRARY"));
    let mut library = only(&carrier).clone();
    let whole = library.blocks.len();
    // On every third track, and back again: a carrier need not keep the order of tracks.
    for (number, block) in (0..).zip(&mut library.blocks) {
        block.ttr = Ttr::at(number % 3 + number / 6, 1);
    }
    for (number, member) in library.members.iter_mut().enumerate() {
        member.range = if number < 8 { number..whole / 2 } else { whole / 2 + number..whole };
        member.blocks = member.range.len();
    }
    library.members[3].range = 4..4;
    for (item, member) in items::list(&library).iter().zip(&library.members) {
        let blocks = library.blocks_of(member).iter();
        let tracks: HashSet<u32> = blocks.map(|block| block.ttr.track()).collect();
        assert_eq!(item.tracks, Some(tracks.len() as u64), "{}", member.name);
    }
}

#[test]
fn aliases_are_those_of_one_member() {
    let carrier = carrier("x", programs().xmit("MY.LIBRARY"));
    let mut library = only(&carrier).clone();
    // All names are one name, and half of them are aliases of it: each list of them would be as long as the directory.
    for (number, member) in library.members.iter_mut().enumerate() {
        member.name = "SAME".to_owned();
        (member.alias, member.alias_of) = (number % 2 == 1, (number % 2 == 1).then(|| "SAME".to_owned()));
    }
    let aliases: Vec<usize> = items::list(&library).iter().map(|item| item.aliases.len()).collect();
    assert_eq!((aliases[0], aliases[1..].iter().sum::<usize>()), (library.members.len() / 2, 0));
}

#[test]
fn what_is_imported_has_its_bytes_and_aliases_and_comes_back_out() {
    let sample = programs();
    let carrier = carrier("x", sample.xmit("MY.LIBRARY"));
    let library = only(&carrier);
    let additions = import::additions(library, &[], true, 7).expect("names are good");
    let additions: Vec<_> = additions.collect::<Result<_, _>>().expect("readable");
    assert_eq!(additions.len(), 12);
    for (member, blocks) in sample.outgoing.members.iter().zip(&sample.data) {
        let title = member.title.name.text(PAGE);
        let addition = additions.iter().find(|one| one.name.as_str() == title).expect("there");
        assert!(addition.bytes == blocks.concat() && addition.replace, "{title}");
        assert_eq!(addition.aliases.len(), member.aliases.len(), "{title}");
    }
    let mut again = Vec::new();
    export::theirs(&mut again, &envelope("MY.LIBRARY"), library).expect("sent");
    assert_eq!(items::list(only(&self::carrier("x", again))), items::list(library));
}
