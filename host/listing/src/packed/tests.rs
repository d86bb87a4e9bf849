//! Packed listings, in pieces of every size, damaged, cut, and larger than the limit.

use super::*;

const TEXT: &str =
    "Storage Report for Enclave PAY 11/20/26\n\n    HEAP statistics:\n      Initial size:        32768\n";

fn raw(text: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec(text, 6)
}

fn gzip(text: &[u8], name: bool) -> Vec<u8> {
    let flags = if name { 8 } else { 0 };
    let head =
        [&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3][..], if name { b"job.txt\0" } else { b"" }].concat();
    let length = u32::try_from(text.len()).expect("short");
    [head, raw(text), (!crc32(u32::MAX, text)).to_le_bytes().to_vec(), length.to_le_bytes().to_vec()].concat()
}

/// An entry; `late`: its sizes follow it.
fn entry(name: &str, text: &[u8], stored: bool, late: bool) -> Vec<u8> {
    let body = if stored { text.to_vec() } else { raw(text) };
    let sizes = [body.len(), text.len()].map(|size| u32::try_from(size).expect("short").to_le_bytes());
    let mut bytes = b"PK\x03\x04\x14\0".to_vec();
    bytes.extend([if late { 8 } else { 0 }, 0, if stored { 0 } else { 8 }, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(if late { [0; 8] } else { [sizes[0], sizes[1]].concat().try_into().expect("eight") });
    bytes.extend([u8::try_from(name.len()).expect("short"), 0, 0, 0]);
    bytes.extend(name.as_bytes());
    bytes.extend(body);
    if late {
        bytes.extend([&b"PK\x07\x08\0\0\0\0"[..], &sizes[0], &sizes[1]].concat());
    }
    bytes
}

fn zip(entries: &[Vec<u8>]) -> Vec<u8> {
    [entries.concat(), b"PK\x01\x02 the directory".to_vec()].concat()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let four = |three: &[u8]| {
        let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte))
            << (8 * (3 - three.len()));
        let letter =
            |at: usize| if at > three.len() { '=' } else { char::from(LETTERS[bits >> (18 - 6 * at) & 63]) };
        [letter(0), letter(1), letter(2), letter(3)]
    };
    let letters: Vec<char> = bytes.chunks(3).flat_map(four).collect();
    letters.chunks(76).map(|line| line.iter().collect::<String>() + "\n").collect()
}

/// The unpacked lines, and the doubts about them.
fn unpacked(bytes: &[u8], piece: usize) -> (Vec<u8>, Vec<&'static str>) {
    let (mut packed, mut all, mut said) = (Packed::default(), Vec::new(), Vec::new());
    let mut take = |part: Out<'_>| match part {
        Out::Bytes(some) => all.extend_from_slice(some),
        Out::Why(why) => said.push(why),
    };
    bytes.chunks(piece).for_each(|some| packed.feed(some, &mut take));
    packed.finish(&mut take);
    (all, said)
}

fn check(bytes: &[u8], expect: &str) {
    for piece in [1, 7, 512, usize::MAX] {
        let (all, said) = unpacked(bytes, piece);
        assert_eq!((String::from_utf8_lossy(&all).as_ref(), &said[..]), (expect, &[][..]), "{piece}");
    }
}

#[test]
fn what_is_packed_is_unpacked() {
    let long = TEXT.repeat(3000);
    check(TEXT.as_bytes(), TEXT);
    check(&gzip(TEXT.as_bytes(), false), TEXT);
    check(&gzip(long.as_bytes(), true), &long);
    check(&[gzip(TEXT.as_bytes(), true), gzip(TEXT.as_bytes(), false)].concat(), &TEXT.repeat(2));
    for (stored, late) in [(false, false), (true, false), (false, true)] {
        let two = zip(&[
            entry("a/", b"", true, false),
            entry("a/job", TEXT.as_bytes(), stored, late),
            entry("b", b"x", true, false),
        ]);
        check(&two, &format!("\n{TEXT}\nx\n"));
    }
    check(base64(long.as_bytes()).as_bytes(), &long);
    // As a mail carries an attachment.
    check(base64(&gzip(long.as_bytes(), true)).as_bytes(), &long);
    let archive = zip(&[entry("a/job", long.as_bytes(), false, true)]);
    check(base64(&archive).as_bytes(), &format!("{long}\n"));
    // Only once: what is base64 inside is no listing.
    let once = base64(long.as_bytes());
    check(base64(once.as_bytes()).as_bytes(), &once);
}

#[test]
fn the_reader_finds_what_is_packed() {
    let plain = crate::read(TEXT.as_bytes());
    assert!(!plain.is_empty());
    for bytes in [gzip(TEXT.as_bytes(), true), base64(TEXT.as_bytes()).into_bytes()] {
        assert_eq!(crate::read(&bytes), plain);
    }
}

#[test]
fn what_is_damaged_or_cut_is_said_wherever_that_is() {
    let text = TEXT.repeat(20);
    for whole in [gzip(text.as_bytes(), true), zip(&[entry("a", text.as_bytes(), false, true)])] {
        for end in 4..whole.len() - 16 {
            let (all, said) = unpacked(&whole[..end], 64);
            assert!(text.as_bytes().starts_with(&all) || all.ends_with(b"\n"), "up to {end}");
            assert_eq!(said, [DAMAGED], "up to {end}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            // It ends, whatever the result.
            unpacked(&damaged, 64);
        }
    }
    let mut wrong = gzip(text.as_bytes(), false);
    let at = wrong.len() - 8;
    wrong[at] ^= 1;
    assert!(unpacked(&wrong, 64).1[0].contains("checksum"));
}

#[test]
fn no_more_comes_of_it_than_is_taken() {
    let bomb = gzip(&vec![b' '; 16 << 20], false);
    let (mut packed, mut length, mut said) = (Packed::default(), 0_u64, Vec::new());
    for _ in 0..17 {
        packed.feed(&bomb, &mut |part| match part {
            Out::Bytes(some) => length += some.len() as u64,
            Out::Why(why) => said.push(why),
        });
    }
    assert!(length <= MOST && length > MOST - (1 << 20), "{length}");
    assert_eq!(said, [TOO_MUCH]);
}

#[test]
fn other_formats_are_named_once() {
    let named = |bytes: &[u8], words: &str| {
        let (all, said) = unpacked(&[bytes, &[b'x'; 2000]].concat(), 100);
        assert!(all.is_empty() && said.len() == 1 && said[0].contains(words), "{words}: {said:?}");
    };
    named(b"BZh91AY", "bunzip2");
    named(b"%PDF-1.7\n", "pdftotext");
    named(b"\xfd7zXZ\0", "unxz");
    let coded = base64(&[&b"%PDF-1.7\n"[..], &[0x9d; 2000]].concat());
    let (all, said) = unpacked(coded.as_bytes(), 100);
    assert!(all.is_empty() && said.len() == 1 && said[0].contains("pdftotext"), "{said:?}");
    let tar = [&[b'a'; 257][..], b"ustar"].concat();
    named(&tar, "tar -xf");
    named(&entry("[Content_Types].xml", b"x", false, false), "office");
    let mut locked = entry("a", b"x", false, false);
    locked[6] = 1;
    named(&locked, "password");
    // A listing that begins with one long word is a listing.
    let word = "A".repeat(600);
    assert_eq!(unpacked(word.as_bytes(), 50).0, word.as_bytes());
}
