//! Any bytes as a PDS, unchanged and with correct checksums in header and directory: no panic, no endless walk, and no
//! data are reported that the file does not hold.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_partitioned::count::Counts;
use underbar_partitioned::pds::{Header, Pds};
use underbar_partitioned::sum::sum;
use underbar_store::{pds, verify};

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let mut bytes = bytes.to_vec();
    if bytes.len() < 4096 + 57_344 {
        bytes.resize(4096 + 57_344, 0);
    }
    bytes[..8].copy_from_slice(b"UNDPDS\r\x01");
    let right = sum(0, &bytes[..4088]);
    bytes[4088..4096].copy_from_slice(&right.to_le_bytes());
    let mut page = [0; 4096];
    page.copy_from_slice(&bytes[..4096]);
    // The blocks of the directory on the first track, with their correct checksums.
    if let Ok(header) = Header::decode(&page) {
        let mut at = 4096 + 32;
        for record in 1..=45u8 {
            let block = &mut bytes[at..at + 280];
            block[..8].copy_from_slice(&[record, 8, 1, 0, 0, 1, 0, 0]);
            let mut running = underbar_partitioned::sum::Sum::new(header.identity ^ u64::from(record));
            running.add(&block[..8]);
            running.add(&block[16..]);
            let right = running.finish();
            block[8..16].copy_from_slice(&right.to_le_bytes());
            at += 280;
        }
    }
    read(&bytes);
});

fn read(bytes: &[u8]) {
    let Ok(library) = Pds::open(bytes) else { return };
    for entry in library.entries().map_while(Result::ok) {
        let _ = library.find(&entry.name, &mut Counts::default());
        if let Ok(member) = pds::bytes(&library, &entry, &mut Counts::default()) {
            assert!(member.len() as u64 == u64::from(entry.size) && member.len() <= bytes.len());
        }
    }
    let _ = verify::pds(&library, &mut |_| ());
}
