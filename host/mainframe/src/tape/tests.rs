//! Tape images that the tests write, whole, cut and damaged.

use super::super::source::{Memory, take};
use super::*;

const PLENTY: u64 = 1 << 30;

fn sample(length: usize) -> Vec<u8> {
    (0..length).map(|index| ((index * index) >> 3) as u8).collect()
}

fn blocks_of(tape: &Tape) -> Vec<Vec<Vec<u8>>> {
    let read = |file: &Records| (0..file.count()).map(|index| file.read(index).unwrap()).collect();
    tape.files.iter().map(read).collect()
}

#[test]
fn blocks_come_back_from_every_kind_of_chunk() {
    let (one, two, three) = (sample(80), sample(32_760), sample(1));
    let written = [Some(one.as_slice()), None, Some(&two), Some(&three), None, None, Some(&one)];
    for method in [Method::Plain, Method::Zlib, Method::Bzip2] {
        for chunk in [7, 4096, 65_535] {
            let image = write(&written, method, chunk);
            let tape = read(&Memory::shared(image), PLENTY).unwrap();
            assert_eq!(tape.faults, [], "{method:?} {chunk}");
            assert!(tape.ended, "what follows two marks is not read");
            assert_eq!(blocks_of(&tape), [vec![one.clone()], vec![two.clone(), three.clone()]]);
            assert_eq!(tape.packed, method != Method::Plain);
            let joined = tape.files[1].joined();
            assert_eq!(take(&*joined, 32_758, 3).unwrap(), [two[32_758], two[32_759], three[0]]);
        }
    }
}

#[test]
fn zlib_is_told_by_either_flag_and_never_by_both() {
    let one = sample(900);
    let image = write(&[Some(&one), None, None], Method::Zlib, 100);
    let mut other = image.clone();
    let mut at = 0;
    while at < other.len() {
        if other[at + 4] & MARK == 0 {
            (other[at + 4], other[at + 5]) = (other[at + 4] & !1, 0x80);
        }
        at += 6 + usize::from(other[at]);
    }
    let tape = read(&Memory::shared(other.clone()), PLENTY).unwrap();
    assert_eq!((blocks_of(&tape), tape.faults), (vec![vec![one]], vec![]));
    other[4] |= 1;
    let tape = read(&Memory::shared(other), PLENTY).unwrap();
    assert_eq!(tape.faults[0], Fault::Sequence { at: 0, what: "two kinds of compression" });
    let mut mixed = image;
    mixed[106 + 4] = mixed[106 + 4] & !1 | 2;
    let tape = read(&Memory::shared(mixed), PLENTY).unwrap();
    let what = "another compression than at the start of its block";
    assert_eq!(tape.faults[0], Fault::Sequence { at: 106, what });
}

#[test]
fn a_cut_is_reported_and_what_came_before_stays() {
    let (one, two) = (sample(80), sample(5_000));
    let image = write(&[Some(&one), None, Some(&two), None, None], Method::Zlib, 300);
    let whole = blocks_of(&read(&Memory::shared(image.clone()), PLENTY).unwrap());
    for end in 1..image.len() {
        match read(&Memory::shared(image[..end].to_vec()), PLENTY) {
            Err(fault) => assert!(fault == Fault::NotTape && end < 200, "{end}"),
            Ok(tape) => {
                for (found, expected) in blocks_of(&tape).iter().zip(&whole) {
                    assert!(expected.starts_with(found), "{end}");
                }
                assert!(!tape.ended);
            }
        }
    }
}

#[test]
fn flipped_bits_harm_nobody() {
    let one = sample(300);
    let image = write(&[Some(&one), None, Some(&one), Some(&one), None, None], Method::Zlib, 100);
    for bit in 0..image.len() * 8 {
        let mut image = image.clone();
        image[bit / 8] ^= 1 << (bit % 8);
        if let Ok(tape) = read(&Memory::shared(image), PLENTY) {
            let _ = blocks_of(&tape);
        }
    }
}

#[test]
fn inflation_is_bounded_by_block_and_in_all() {
    let zeros = vec![0; 1_000_000];
    let image = write(&[Some(&zeros), Some(&zeros), Some(&zeros), None], Method::Zlib, 4096);
    let tape = read(&Memory::shared(image), 2_500_000).unwrap();
    assert!(matches!(tape.faults[..], [Fault::TooMuch { most: 2_500_000, .. }]));
    assert_eq!(tape.files[0].count(), 2);
    let zeros = vec![0; BLOCK_MOST + 1];
    let image = write(&[Some(&zeros), None], Method::Bzip2, 4096);
    let tape = read(&Memory::shared(image), PLENTY).unwrap();
    let expected = inflate::Fault::TooLong { most: BLOCK_MOST };
    assert!(matches!(&tape.faults[..], [Fault::Inflate { fault, .. }] if *fault == expected));
}

#[test]
fn an_empty_file_with_labels_does_not_end_the_tape() {
    let label = |start: &[u8], blank: u8| {
        let mut label = start.to_vec();
        label.resize(80, blank);
        label
    };
    let trailers = [
        label(&[0xC5, 0xD6, 0xC6, 0xF1], 0x40),
        label(&[0xC5, 0xD6, 0xE5, 0xF1], 0x40),
        label(b"EOF1", 0x20),
    ];
    for trailer in &trailers {
        let (one, last) = (sample(80), sample(500));
        let written = [Some(&one[..]), None, None, Some(trailer), None, Some(&last), None, None, Some(&one)];
        for method in [Method::Plain, Method::Zlib, Method::Bzip2] {
            for chunk in [7, 4096] {
                let tape = read(&Memory::shared(write(&written, method, chunk)), PLENTY).unwrap();
                let counts: Vec<_> = tape.files.iter().map(Records::count).collect();
                assert_eq!(counts, [1, 0, 1, 1], "{method:?} {chunk}");
                assert!(tape.ended && tape.faults.is_empty(), "{method:?} {chunk}");
            }
        }
    }
}

#[test]
fn anything_else_behind_two_marks_is_not_read() {
    let header: Vec<u8> = [0xC8, 0xC4, 0xD9, 0xF1].into_iter().chain([0x40; 76]).collect();
    let long: Vec<u8> = [0xC5, 0xD6, 0xC6, 0xF1].into_iter().chain([0x40; 96]).collect();
    for behind in [&sample(80), &header, &long] {
        for method in [Method::Plain, Method::Zlib] {
            let image = write(&[Some(&sample(80)), None, None, Some(behind), None], method, 30);
            let tape = read(&Memory::shared(image), PLENTY).unwrap();
            assert_eq!(blocks_of(&tape), [vec![sample(80)]], "{method:?}");
            assert!(tape.ended && tape.faults.is_empty());
        }
    }
}

#[test]
fn headers_that_disagree_are_named() {
    let one = sample(80);
    let mut image = write(&[Some(&one), Some(&one), Some(&one)], Method::Plain, 4096);
    image[86 * 2 + 2] = 7;
    let tape = read(&Memory::shared(image), PLENTY).unwrap();
    assert_eq!(tape.faults, [Fault::Before { at: 172, says: 7, had: 80 }]);
    assert_eq!(tape.files[0].count(), 3);
}
