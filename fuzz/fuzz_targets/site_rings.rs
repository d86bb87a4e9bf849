//! Any bytes as a site area: no panic, a second look finds nothing again, and what was read becomes a report that is read back.
#![no_main]

use std::fs::OpenOptions;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::time::SystemTime;

use libfuzzer_sys::fuzz_target;
use underbar_ledger::sites::{
    AREA_BYTES, Header, MAGIC, MOST_WORDS, RING_OFFSET, RING_WORDS, TEXT_OFFSET, TEXT_ROOM, VERSION, mark,
};
use underbar_sites::Event;
use underbar_sites::flame::{Which, flame, folded};
use underbar_sites::record::Recorder;
use underbar_sites::report::{Facts, Report, report};
use underbar_sites::ring::Ring;
use underbar_sites::text::{Page, render};
use underbar_sites::{maps, pprof};

/// No process has it.
const PROCESS: u32 = u32::MAX - 1;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("underbar-fuzz-sites-{}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    let put = |at: usize, bytes: &[u8]| file.write_all_at(bytes, at as u64).unwrap();
    file.set_len(AREA_BYTES as u64).unwrap();
    // The header is that of an area but for its counts, and the ring has records with marks, of which some are wrong.
    put(TEXT_OFFSET, &bytes[..bytes.len().min(TEXT_ROOM)]);
    put(offset_of!(Header, text_bytes), &(bytes.len() as u32).to_le_bytes());
    put(offset_of!(Header, version), &VERSION.to_le_bytes());
    put(offset_of!(Header, process), &PROCESS.to_le_bytes());
    put(offset_of!(Header, magic), &MAGIC.to_le_bytes());
    let mut ring: Vec<u64> = Vec::new();
    let mut rest = bytes;
    while let [kind, words, more @ ..] = rest
        && ring.len() < RING_WORDS - MOST_WORDS
    {
        let words = usize::from(*words);
        let (contents, behind) = more.split_at(more.len().min(words * 8));
        let is_done = kind & 0x10 == 0;
        let place = ring.len() as u64 + u64::from(kind & 0x80 != 0);
        ring.push(mark(place, u64::from(kind % 8), words + 1, is_done));
        let word = |at: usize| {
            let mut word = [0; 8];
            word.iter_mut().zip(contents.iter().skip(at * 8)).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(word)
        };
        ring.extend((0..words).map(word));
        rest = behind;
    }
    let words: Vec<u8> = ring.iter().flat_map(|word| word.to_le_bytes()).collect();
    put(RING_OFFSET, &words);
    // The head may be beyond the ring.
    let head = ring.len() as u64 + bytes.first().map_or(0, |first| u64::from(first % 3) << 60);
    put(offset_of!(Header, head), &head.to_le_bytes());
    let mean = bytes.last_chunk().copied().unwrap_or([0; 8]);
    put(offset_of!(Header, mean), &mean);

    let mut ring = Ring::open(&path).unwrap();
    let mut recorder = Recorder::new(Vec::new(), SystemTime::now());
    // The files that they name would be opened.
    let _ = maps::parse(ring.mappings().as_bytes());
    let mut samples = 0;
    for is_over in [false, true] {
        ring.read(is_over, &mut |event| {
            samples += u64::from(matches!(event, Event::Got(_)));
            recorder.take(PROCESS, event);
        });
    }
    ring.read(true, &mut |event| assert!(matches!(event, Event::Lost { .. })));
    recorder.ended(PROCESS, ring.mean());
    let report = report(recorder, Facts::default());
    assert_eq!(report.samples, samples);
    let again = Report::from_value(&report.to_value()).unwrap();
    assert_eq!(again.to_value(), report.to_value());
    let _ = (render(&report, Page::default(), 10), pprof::render(&report));
    for which in [Which::MostInUse, Which::Requested, Which::AtEnd] {
        let _ = (flame(&report, which), folded(&report, which));
    }
    std::fs::remove_file(&path).unwrap();
});
