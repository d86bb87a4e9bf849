//! Any bytes as rules of callers, and as a program file with them: no panic, no endless walk, and the same answer twice.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_symbols::Image;
use underbar_symbols::call_frames::{COUNT, CallFrames, RIP, RSP, Registers};

/// Where the sections are said to be.
const AT: u64 = 0x1000;

fuzz_target!(|bytes: &[u8]| {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    for frames in [
        CallFrames::new(Some((AT, bytes.to_vec())), None),
        CallFrames::new(None, Some((AT, bytes.to_vec()))),
        CallFrames::new(Some((AT, first.to_vec())), Some((AT + 0x10_0000, second.to_vec()))),
    ] {
        walk(&frames, bytes);
    }
    let Some(image) = Image::from_bytes(bytes.to_vec()) else { return };
    walk(image.call_frames(), bytes);
    let addresses = [0, 0x1000, 0x1010, 0x1139, 0x40_1000, bytes.len() as u64, u64::MAX];
    let frames = image.frames(&addresses);
    assert_eq!(frames.len(), addresses.len());
    assert_eq!(image.frames(&addresses), frames);
});

/// From a few addresses as far as the rules lead, with the bytes as the stack.
fn walk(frames: &CallFrames, stack: &[u8]) {
    let word = |at: u64| {
        let at = usize::try_from(at.checked_sub(0x7000)?).ok()?;
        stack.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)
    };
    for begin in [0, AT, AT + 1, AT + 0x10, AT + 0x100, 0x1139, u64::MAX] {
        let mut registers: Registers = [Some(0x7010); COUNT];
        registers[RIP] = Some(begin);
        for _ in 0..64 {
            let Some(address) = registers[RIP] else { break };
            let caller = frames.caller(address, &registers, &word);
            assert_eq!(frames.caller(address, &registers, &word), caller);
            match caller {
                Ok(caller) => registers = caller.registers,
                Err(_) => break,
            }
            assert!(registers[RSP].is_some());
        }
    }
}
