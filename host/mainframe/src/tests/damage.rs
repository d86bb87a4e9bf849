//! Damage to every carrier: cut at every 512 bytes, and bits flipped anywhere.
//! Nothing panics, and every listed member can be read or has a fault.

use super::super::container;
use super::super::source::Memory;
use super::super::tree::{Item, Options};
use super::carriers;
use super::sample::texts;

/// Opens it and reads every listed member; bytes read, and whether there was a fault.
fn read(bytes: Vec<u8>) -> (u64, bool) {
    let length = bytes.len() as u64;
    let options = Options { inflated: 10_000_000, ..Options::default() };
    let item = container::examine("FILE", Memory::shared(bytes), &options);
    let mut read = 0;
    let mut failed = false;
    for (_, library) in item.libraries() {
        // The memory for a library is proportional to its carrier, inflated.
        assert!(library.blocks.len() as u64 <= length + options.inflated);
        for member in &library.members {
            for block in library.read_member(member) {
                match block {
                    Ok(bytes) => read += bytes.len() as u64,
                    Err(_) => failed = true,
                }
            }
            if library.label.programs {
                failed |= library.program(member, options.page).is_ok_and(|(_, faults)| !faults.is_empty());
            }
        }
    }
    (read, failed || !item.troubles().is_empty() || unknown(&item))
}

fn unknown(item: &Item) -> bool {
    item.libraries().is_empty()
}

#[test]
fn every_cut_at_512_bytes_is_told() {
    let sample = texts(&[("MORE", vec![0xC1; 9_000])]);
    for (carrier, bytes) in carriers::all(&sample) {
        let (whole, wrong) = read(bytes.clone());
        assert!(!wrong, "{carrier}");
        // A disk is mostly empty: its cuts would take minutes and tell nothing more.
        let step = if bytes.len() > 1_000_000 { 4_000 * 512 } else { 512 };
        for end in (0..bytes.len()).step_by(step) {
            let (found, wrong) = read(bytes[..end].to_vec());
            assert!(
                wrong || found == whole,
                "{carrier} cut at {end}: {found} of {whole} bytes, and nothing said"
            );
        }
    }
}

#[test]
fn flipped_bits_anywhere_harm_nobody() {
    let sample = texts(&[("MORE", vec![0xC1; 7_000])]);
    let mut state = 7_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 20) as usize % below
    };
    for (_, bytes) in carriers::all(&sample) {
        // Of a disk the first tracks matter; in one of four rounds several bits change.
        let most = bytes.len().min(4_000_000);
        let rounds = if bytes.len() > 1_000_000 { 12 } else { 150 };
        for round in 0..rounds {
            let mut damaged = bytes.clone();
            for _ in 0..if round % 4 == 0 { 20 } else { 1 } {
                let bit = next(most.min(if round % 3 == 0 { 2_000 } else { most }) * 8);
                damaged[bit / 8] ^= 1 << (bit % 8);
            }
            read(damaged);
        }
    }
}

#[test]
fn nothing_at_all_and_noise() {
    let mut state = 3_u64;
    for length in [0, 1, 5, 6, 7, 8, 11, 12, 79, 80, 511, 512, 5_000] {
        let mut bytes: Vec<u8> = (0..length)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as u8
            })
            .collect();
        read(bytes.clone());
        // After each of the marks that identify a format.
        for mark in [
            &b"CKD_P370"[..],
            b"CKD_C370",
            b"CKD_C064",
            &[8, 0xE0, 0xC9, 0xD5, 0xD4, 0xD9, 0xF0, 0xF1],
            &[0, 0xCA, 0x6D, 0x0F],
            &[5, 1, 0, 80, 4, 0],
            &[0xC9, 0xC5, 0xE6, 0xD7, 0xD3, 0xD4, 0xC8, 0x40],
        ] {
            let count = mark.len().min(bytes.len());
            bytes[..count].copy_from_slice(&mark[..count]);
            read(bytes.clone());
        }
    }
}
