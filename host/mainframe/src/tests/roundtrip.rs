//! A library is the same through every carrier: names, attributes, blocks.

use super::super::container;
use super::super::entry::Details;
use super::super::library::Library;
use super::super::module;
use super::super::program::Program;
use super::super::source::Memory;
use super::super::tree::{Item, Options, What};
use super::super::unload_write::Outgoing;
use super::carriers;
use super::sample::{PAGE, Sample, envelope, programs, texts};

fn open(bytes: Vec<u8>) -> Item {
    container::examine("FILE", Memory::shared(bytes), &Options::default())
}

/// The library called MY.LIBRARY, or the only one.
fn library(item: &Item) -> &Library {
    let all = item.libraries();
    all.iter().find(|(_, library)| library.label.name.as_deref() == Some("MY.LIBRARY")).unwrap_or(&all[0]).1
}

/// A listing without places, which differ between carriers, and all data.
pub fn listing(library: &Library) -> Vec<String> {
    let line = |member: &super::super::library::Member| {
        let blocks: Vec<Vec<u8>> = library.read_member(member).map(Result::unwrap).collect();
        let sizes: Vec<usize> = blocks.iter().map(Vec::len).collect();
        let program = match &member.details {
            Details::Program(program) => {
                format!("{:?} {:?} {}", program.attributes, program.alias, program.storage)
            }
            other => format!("{other:?}"),
        };
        format!(
            "{} {} {:?} {program} {sizes:?} {:?}",
            member.name,
            member.alias,
            member.alias_of,
            blocks.concat()
        )
    };
    library.members.iter().map(line).collect()
}

fn expected(sample: &Sample) -> Vec<(String, Vec<Vec<u8>>)> {
    let mut found: Vec<(String, Vec<Vec<u8>>)> = Vec::new();
    for (member, data) in sample.outgoing.members.iter().zip(&sample.data) {
        found.push((member.title.name.text(PAGE), data.clone()));
        found.extend(member.aliases.iter().map(|alias| (alias.name.text(PAGE), data.clone())));
    }
    // By the bytes of the names, as a directory is.
    found.sort_by_key(|(name, _)| PAGE.filled(name, 8));
    found
}

#[test]
fn a_library_is_the_same_through_every_carrier() {
    for sample in [programs(), texts(&[("MORE", vec![0xC1; 8_000])])] {
        let mut first: Option<Vec<String>> = None;
        for (carrier, bytes) in carriers::all(&sample) {
            let item = open(bytes);
            assert!(item.troubles().is_empty(), "{carrier}: {:?}", item.troubles());
            let library = library(&item);
            let found = listing(library);
            match &first {
                None => {
                    for (member, (name, blocks)) in library.members.iter().zip(expected(&sample)) {
                        assert_eq!(member.name, name);
                        let read: Vec<Vec<u8>> = library.read_member(member).map(Result::unwrap).collect();
                        assert_eq!(read, blocks, "{name}");
                    }
                    assert_eq!(library.members.len(), expected(&sample).len());
                    first = Some(found);
                }
                Some(first) => assert!(first == &found, "{carrier}: {found:#?}"),
            }
        }
    }
}

#[test]
fn aliases_attributes_and_programs() {
    let item = open(programs().xmit("MY.LIBRARY"));
    let library = library(&item);
    assert_eq!(library.counts().aliases, 2);
    let alias = library.member("ALPHA1").unwrap();
    assert_eq!(alias.alias_of.as_deref(), Some("ALPHA"));
    assert_eq!(library.blocks_of(alias), library.blocks_of(library.member("ALPHA").unwrap()));
    for member in &library.members {
        let Details::Program(entry) = &member.details else { panic!("{:?}", member.details) };
        let text = &library.blocks_of(member)[6];
        assert_eq!(entry.text, text.ttr, "TTRT of {} was made anew", member.name);
        assert!(entry.is("RENT") && entry.authorisation == Some(1));
        let (program, faults) = library.program(member, PAGE).unwrap();
        assert_eq!(faults, []);
        let Program::Module(summary) = program else { panic!("{program:?}") };
        let bytes: u32 = summary.text.iter().map(|text| text.length).sum();
        let blocks = library.blocks_of(member);
        let data: u32 = blocks[6..].iter().step_by(2).map(|block| block.length).sum();
        assert_eq!(bytes, data);
        // Glued and taken apart again, the member has the same blocks.
        let glued: Vec<u8> = library.read_member(member).flat_map(Result::unwrap).collect();
        let sizes: Vec<u32> = module::borders(&glued).0.iter().map(|range| range.len() as u32).collect();
        assert_eq!(sizes, blocks.iter().map(|block| block.length).collect::<Vec<_>>());
    }
}

#[test]
fn a_library_that_was_read_is_written_again_the_same() {
    for sample in [programs(), texts(&[])] {
        let first = sample.xmit("MY.LIBRARY");
        let item = open(first.clone());
        let read = library(&item);
        let (outgoing, ranges) = Outgoing::of(read).unwrap();
        let mut again = Vec::new();
        let block = |member: usize, block: usize| read.read(&read.blocks[ranges[member].start + block]);
        super::super::xmit::write(&mut again, &envelope("MY.LIBRARY"), &outgoing, block).unwrap();
        assert_eq!(first.len(), again.len());
        assert!(first == again);
    }
}

#[test]
fn what_is_around_a_library_is_told() {
    let item = open(texts(&[("INNER", programs().xmit("MY.LIBRARY"))]).xmit("OUTER.TEXT"));
    let What::Transmission { header } = &item.what else { panic!("{:?}", item.what) };
    assert_eq!((header.from_user.as_deref(), header.to_node.as_deref()), (Some("SENDER"), Some("DESTNODE")));
    let ways: Vec<String> = item.libraries().into_iter().map(|(way, _)| way).collect();
    assert_eq!(ways, ["FILE > OUTER.TEXT", "FILE > OUTER.TEXT > INNER > MY.LIBRARY"]);
    let json = serde_json::to_value(&item).unwrap();
    // A duplicate key would be lost on the way through the value.
    assert_eq!(serde_json::to_string(&item).unwrap().len(), json.to_string().len());
    assert_eq!(json["what"]["is"], "transmission");
    assert_eq!(json["inner"][0]["what"]["is"], "library");
    assert_eq!(json["inner"][0]["what"]["record_format"], "FB");
    let text = &json["inner"][0]["what"]["members"].as_array().unwrap()[2];
    assert_eq!(text["name"], "TEXT");
    assert_eq!(text["details"]["version"], "01.04");
}

#[test]
fn depth_and_number_are_bounded() {
    let mut bytes = texts(&[]).xmit("CORE.TEXT");
    for _ in 0..12 {
        bytes = texts(&[("INNER", bytes)]).xmit("OUTER.TEXT");
    }
    let troubles: Vec<String> =
        open(bytes.clone()).troubles().iter().map(|trouble| trouble.to_string()).collect();
    assert_eq!(troubles.len(), 1);
    assert!(troubles[0].ends_with("is nested deeper than 8 containers, and is not opened"), "{troubles:?}");
    let few = Options { items: 3, ..Options::default() };
    let item = container::examine("FILE", Memory::shared(bytes), &few);
    assert!(item.troubles()[0].to_string().ends_with("more than 3 items; the rest is not opened"));
}
