//! Libraries to carry around: one of programs, with aliases and several blocks a member, and one of text.

use super::super::directory::Name;
use super::super::ebcdic::CodePage;
use super::super::library::RecordFormat;
use super::super::source::Records;
use super::super::unload_write::{self, Member, Outgoing, Title};
use super::super::xmit::{self, Envelope};
use super::super::{module, source};

pub const PAGE: CodePage = CodePage::US;

/// A library to write, with the bytes of its members' blocks.
#[derive(Clone)]
pub struct Sample {
    pub outgoing: Outgoing,
    pub data: Vec<Vec<Vec<u8>>>,
}

pub fn name(text: &str) -> Name {
    Name::from_text(text, PAGE).unwrap()
}

fn title(text: &str, user_data: Vec<u8>, ttrs: u8) -> Title {
    Title { name: name(text), user_data, ttrs }
}

/// User data of a load module whose first text block is the member's `text`th; of an alias with the member's name.
fn program(alias_of: Option<&str>) -> Vec<u8> {
    let mut data =
        vec![0xAA, 0xAA, 0xAA, 0, 0, 0, 0, 0, 0xC3, 0xE2, 0, 0x01, 0x20, 0, 4, 0, 0, 8, 0x88, 0x12, 0];
    if let Some(member) = alias_of {
        data.extend([0, 0, 8]);
        data.extend(name(member).0);
    }
    data.extend([1, 1]);
    data.resize(data.len().next_multiple_of(2), 0);
    data
}

/// A load module with this many bytes of text, in blocks of at most 6,144.
pub fn module_blocks(text: usize) -> Vec<Vec<u8>> {
    let mut blocks = module::tests::blocks();
    // The header blocks stay; the two text blocks are replaced by as many as the text needs.
    blocks.truncate(5);
    let mut at = 0;
    while at < text {
        let length = (text - at).min(6_144);
        let last = at + length == text;
        let mut control = vec![if last { 0x0D } else { 1 }, 0, 0, 0, 0, 4, 0, 0, 6];
        control.extend(&(at as u32).to_be_bytes()[1..]);
        control.extend([0x40, 0]);
        control.extend((length as u16).to_be_bytes());
        control.extend([0, 1]);
        control.extend((length as u16).to_be_bytes());
        blocks.push(control);
        blocks.push((at..at + length).map(|index| (index * 7 + index / 251) as u8).collect());
        at += length;
    }
    blocks
}

/// Twelve programs with two aliases; names with national characters; one over several tracks.
pub fn programs() -> Sample {
    let (mut members, mut data) = (Vec::new(), Vec::new());
    for (index, text) in
        ["#NUMBER", "$DOLLAR", "@AT", "ALPHA", "BETA", "GAMMA", "H1", "H2", "H3", "H4", "H5", "ZZZZZZZZ"]
            .into_iter()
            .enumerate()
    {
        let blocks = module_blocks([4, 300, 70_000, 6_144, 6_145][index % 5] + index);
        let aliases = match text {
            "ALPHA" => {
                vec![title("ALPHA1", program(Some("ALPHA")), 1), title("AA", program(Some("ALPHA")), 1)]
            }
            _ => Vec::new(),
        };
        members.push(Member {
            title: title(text, program(None), 1),
            aliases,
            blocks: blocks.iter().map(|block| block.len() as u32).collect(),
            text: Some(6),
            ..Member::default()
        });
        data.push(blocks);
    }
    let outgoing =
        Outgoing { record_format: RecordFormat(0xC0), record_length: 0, block_size: 6_144, members };
    Sample { outgoing, data }
}

/// ISPF statistics.
pub fn statistics() -> Vec<u8> {
    let mut data = vec![1, 4, 0, 0x17, 0x01, 0x21, 0x06, 0x8F, 0x01, 0x21, 0x06, 0x9F, 0x12, 0x11];
    data.extend([0, 3, 0, 3, 0, 0]);
    data.extend(PAGE.filled("HERC01", 10).unwrap());
    data
}

/// A text library of 80-byte records: an empty member, one with statistics, and these bytes as further members.
pub fn texts(more: &[(&str, Vec<u8>)]) -> Sample {
    let line = |text: &str| PAGE.filled(text, 80).unwrap();
    let text: Vec<u8> = ["FIRST LINE", "SECOND $#@", "THIRD"].iter().flat_map(|text| line(text)).collect();
    let mut members = vec![("EMPTY", Vec::new(), Vec::new()), ("TEXT", statistics(), text)];
    members.extend(more.iter().map(|(name, bytes)| (*name, Vec::new(), bytes.clone())));
    let (mut outgoing, mut data) = (Vec::new(), Vec::new());
    for (text, user_data, bytes) in members {
        let blocks: Vec<Vec<u8>> = bytes.chunks(3_200).map(<[u8]>::to_vec).collect();
        outgoing.push(Member {
            title: title(text, user_data, 0),
            blocks: blocks.iter().map(|block| block.len() as u32).collect(),
            ..Member::default()
        });
        data.push(blocks);
    }
    let outgoing = Outgoing {
        record_format: RecordFormat(0x90),
        record_length: 80,
        block_size: 3_200,
        members: outgoing,
    };
    Sample { outgoing, data }
}

pub fn envelope(data_set: &str) -> Envelope {
    Envelope {
        from: ("ORIGNODE".to_owned(), "SENDER".to_owned()),
        to: ("DESTNODE".to_owned(), "GETTER".to_owned()),
        time: "20260619081326".to_owned(),
        data_set: data_set.to_owned(),
        page: PAGE,
    }
}

impl Sample {
    /// As a transmission.
    pub fn xmit(&self, data_set: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read = |member: usize, block: usize| Ok(self.data[member][block].clone());
        xmit::write(&mut bytes, &envelope(data_set), &self.outgoing, read).unwrap();
        bytes
    }

    /// As logical records of an unload.
    pub fn unload(&self) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        let read = |member: usize, block: usize| Ok(self.data[member][block].clone());
        unload_write::write(
            &self.outgoing,
            |name| name.text(PAGE),
            read,
            |record| {
                records.push(record.to_vec());
                Ok(())
            },
        )
        .unwrap();
        records
    }
}

/// Records in memory, as a reader gets them.
pub fn records(records: &[Vec<u8>]) -> Records {
    let mut at = 0;
    let stretches = records
        .iter()
        .map(|record| {
            let stretch = source::Stretch { at, length: record.len() as u32 };
            at += record.len() as u64;
            stretch
        })
        .collect();
    Records { source: source::Memory::shared(records.concat()), stretches: Vec::into(stretches) }
}
