//! Any bytes as a PDSE, unchanged and with correct checksums in superblocks and nodes: no panic, no endless walk, and no
//! data are reported that the file does not hold.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_partitioned::count::Counts;
use underbar_partitioned::pdse::{Pdse, Value, seal_node};
use underbar_partitioned::sum::sum;
use underbar_store::{pdse, verify};

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().max(4 * 4096).next_multiple_of(4096), 0);
    let identity = u64::from_le_bytes([
        bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15],
    ]);
    for page in bytes.chunks_exact_mut(4096).take(2) {
        page[..8].copy_from_slice(b"UNDPSE\r\x01");
        page[8..16].copy_from_slice(&identity.to_le_bytes());
        let right = sum(0, &page[..4088]);
        page[4088..].copy_from_slice(&right.to_le_bytes());
    }
    for (number, page) in (0..).zip(bytes.chunks_exact_mut(4096)).skip(2) {
        // Every second page becomes a node, whatever its contents.
        if number % 2 == 0 {
            let Ok(page) = <&mut [u8; 4096]>::try_from(page) else { continue };
            let (level, cells) = (page[4] % 3, u16::from_le_bytes([page[6], page[7]]) % 600);
            seal_node(page, identity, number, level, cells, u64::from(page[16]));
        }
    }
    read(&bytes);
});

fn read(bytes: &[u8]) {
    let Ok(library) = Pdse::open(bytes) else { return };
    if let Ok(entries) = library.entries() {
        for value in entries.map_while(Result::ok) {
            let _ = library.find(&value.name(), &mut Counts::default());
            if let Value::Member(member) = value {
                assert!(member.size <= bytes.len() as u64 * 8, "pages lie inside the file, if not once each");
                let _ = pdse::bytes(&library, &member);
            }
        }
    }
    let _ = verify::pdse(&library, &mut |_| ());
}
