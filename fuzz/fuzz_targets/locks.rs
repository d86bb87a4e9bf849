//! Any bytes as a lock area: no panic, and a result that is read can be shown, compared, saved and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_ledger::locks::{MAGIC, VERSION};
use underbar_report::lock::{Area, sample};

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    // Random bytes almost never begin with an area's header.
    let mut whole = MAGIC.to_le_bytes().to_vec();
    whole.extend(VERSION.to_le_bytes());
    whole.extend(bytes);
    check(&whole);
});

fn check(bytes: &[u8]) {
    if let Ok(area) = Area::read(bytes) {
        sample::everything(&area);
    }
}
