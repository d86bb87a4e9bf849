//! Programs with flipped bits, and truncated ones: a named error, or a program, never a crash.

mod common;

use common::reading::read;
use common::{alone, folder, member, member_as};
use underbar_fetch::content::MemoryContent;
use underbar_fetch::image::{self, Image, Surroundings};
use underbar_fetch::{Error, Failure, replaced};

/// A generator of numbers, equal in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }
}

/// Loads and gives back, without running any of its code. Returns whether it is a program.
fn load(bytes: &[u8]) -> bool {
    let around = Surroundings { replaced: &replaced::table(), threads_ended: |_| {} };
    match image::load(&MemoryContent(bytes), c"damaged", b".", &around) {
        Ok(image) => {
            // SAFETY: loaded, never begun, not in use.
            unsafe {
                let _ = image.as_ref().symbol(b"tiny", None);
                let _ = image.as_ref().exports(|_, _| ());
                Image::unload(image, None);
            }
            true
        }
        Err(Failure::Error(Error::Damaged(_) | Error::Unreadable(_) | Error::NoStorage(_))) => false,
        Err(_) => false,
    }
}

fn members() -> Vec<Vec<u8>> {
    let place = folder("damage");
    std::fs::write(place.join("versions"), "VERSION_2 { tiny; }; VERSION_3 { next; };").expect("written");
    let script = format!("-Wl,--version-script={}", place.join("versions").display());
    let paths = [
        member(&place, "tiny.c", &["-s"]),
        member_as(&place, "tiny.c", "versions", &["-s", &script]),
        member_as(&place, "threads.c", "threads", &["-s", "-Wl,-z,pack-relative-relocs"]),
        member_as(&place, "tiny.c", "old", &["-s", "-Wl,--hash-style=sysv"]),
    ];
    paths.iter().map(|path| std::fs::read(path).expect("a member")).collect()
}

#[test]
fn turned_bits_are_errors_with_names() {
    let _alone = alone();
    let mut random = Random(20_190_821);
    for member in members() {
        assert!(read(&member).is_some() && load(&member), "as it was made");
        let (mut refused, mut loaded) = (0, 0);
        // Headers and tables come first: half of the bits are flipped there.
        for turn in 0..1500 {
            let mut bytes = member.clone();
            for _ in 0..1 + random.below(3) {
                let reach = if turn % 2 == 0 { 1024.min(bytes.len()) } else { bytes.len() };
                let at = random.below(reach);
                bytes[at] ^= 1 << random.below(8);
            }
            read(&bytes);
            if load(&bytes) { loaded += 1 } else { refused += 1 }
        }
        assert!(refused > 100 && loaded > 100, "{refused} refused, {loaded} loaded");
    }
}

#[test]
fn what_is_cut_is_refused() {
    let _alone = alone();
    for member in members() {
        let mut whole = 0;
        for end in (0..member.len()).step_by(64) {
            read(&member[..end]);
            whole += usize::from(load(&member[..end]));
        }
        // Loading does not use the section headers at the end, but everything else.
        assert!(whole * 64 <= 64 * 40, "{whole} of {} cuts", member.len() / 64);
        assert!(!load(&member[..member.len() / 2]));
    }
}

#[test]
fn numbers_of_all_sizes_in_all_headers() {
    let _alone = alone();
    let member = members().remove(0);
    for at in (0..0x300).step_by(4) {
        for value in [0_u32, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
            let mut bytes = member.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            read(&bytes);
            load(&bytes);
            bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
            load(&bytes);
        }
    }
}
