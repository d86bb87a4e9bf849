//! Any bytes as a file: no panic, whatever its format seems to be. Listed data sets can be read or say why not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_mainframe::container::examine;
use underbar_mainframe::source::Memory;
use underbar_mainframe::tree::Options;

fuzz_target!(|bytes: &[u8]| {
    let options = Options { inflated: 10_000_000, items: 1_000, ..Options::default() };
    let item = examine("FILE", Memory::shared(bytes.to_vec()), &options);
    for (_, library) in item.libraries() {
        for member in library.members.iter().take(1_000) {
            assert_eq!(library.blocks_of(member).len(), member.blocks);
            let _ = library.program(member, options.page);
        }
    }
});
