//! The first bytes of a new ledger, as the host writes them.
//!
//! The host writes the file with ordinary writes: the option text first, the header last, so that a file with a header is whole.
//! The slots need no bytes: a file's holes read as zero, which is a free slot.

use core::mem::offset_of;

use crate::layout::{CONTROL_OFFSET, Header, Identity, MAGIC};
use crate::table::FINGERPRINT;
use crate::table::LAYOUT_VERSION;

/// The header page of a new ledger at `now_ns` of CLOCK_BOOTTIME, for option text of `options_bytes`; `keep` if it is to outlive the
/// processes that write it. `maker` has a namespace if it holds the file's lock.
#[must_use]
pub fn header_page(maker: Identity, now_ns: u64, options_bytes: usize, keep: bool) -> [u8; CONTROL_OFFSET] {
    let mut page = [0; CONTROL_OFFSET];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    put(offset_of!(Header, magic), &MAGIC.to_le_bytes());
    put(offset_of!(Header, layout_version), &LAYOUT_VERSION.to_le_bytes());
    put(offset_of!(Header, maker), &maker.number.to_le_bytes());
    put(offset_of!(Header, maker_namespace), &maker.namespace.to_le_bytes());
    put(offset_of!(Header, fingerprint), &FINGERPRINT.to_le_bytes());
    put(offset_of!(Header, made_ns), &now_ns.to_le_bytes());
    put(offset_of!(Header, options_bytes), &(options_bytes as u64).to_le_bytes());
    put(offset_of!(Header, keep), &u32::from(keep).to_le_bytes());
    page
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::layout::SLOTS_OFFSET;
    use crate::view::LedgerView;

    #[test]
    fn a_new_ledger_is_read_back() {
        let mut file = std::vec![0; SLOTS_OFFSET];
        let maker = Identity { namespace: 5, number: 7 };
        file[..CONTROL_OFFSET].copy_from_slice(&header_page(maker, 99, 3, true));
        file[crate::layout::OPTIONS_OFFSET..][..3].copy_from_slice(b"A,B");
        let view = LedgerView::new(&file).expect("a ledger");
        assert_eq!((view.maker(), view.made_ns(), view.keep(), view.unrecorded()), (7, 99, true, 0));
        assert_eq!(view.options(), (&b"A,B"[..], false));
        assert_eq!(view.slots().count(), 0);
    }
}
