//! Any bytes, names and lengths: no panic, and a decoded value is one that could have been encoded.

use proptest::prelude::*;
use underbar_partitioned::binder::Fill;
use underbar_partitioned::count::Counts;
use underbar_partitioned::name::Name;
use underbar_partitioned::pds::{Control, Header, Identification, Pds, put_record};
use underbar_partitioned::pdse::{Key, Pdse, Superblock, Value};
use underbar_partitioned::sum::{Sum, sum};
use underbar_partitioned::track::DEVICES;

proptest! {
    #[test]
    fn any_bytes_are_no_library_or_one_that_can_be_walked(mut bytes in prop::collection::vec(any::<u8>(), 0..20_000), kind in 0..3u8) {
        if kind > 0 && bytes.len() >= 8 {
            bytes[..8].copy_from_slice(if kind == 1 { b"UNDPDS\r\x01" } else { b"UNDPSE\r\x01" });
        }
        let name = Name::new(b"A").expect("a name");
        if let Ok(pds) = Pds::open(&bytes[..]) {
            let _ = pds.find(&name, &mut Counts::default());
            prop_assert!(pds.entries().count() <= bytes.len());
        }
        if let Ok(pdse) = Pdse::open(&bytes[..]) {
            let _ = pdse.find(&name, &mut Counts::default());
        }
    }

    #[test]
    fn any_cell_is_a_value_or_none(name in "[A-Z]{1,8}", cell in prop::collection::vec(any::<u8>(), 0..400), kind in 0..4u8) {
        let mut cell = cell;
        if let Some(first) = cell.first_mut() {
            *first = kind;
        }
        let name = Name::new(name.as_bytes()).expect("a name");
        if let Some(value) = Value::decode(&name, &cell) {
            // Fields that nothing reads may differ; the decoded value is the same again.
            let (again, length) = value.encode();
            prop_assert_eq!(Value::decode(&name, &again[..length]), Some(value));
        }
        let _ = Key::decode(&cell);
    }

    #[test]
    fn any_record_is_one_or_none(record in prop::collection::vec(any::<u8>(), 0..300), page in prop::collection::vec(any::<u8>(), 4096)) {
        if let Some(identification) = Identification::decode(&record) {
            let (again, length) = identification.encode();
            prop_assert_eq!(Identification::decode(&again[..length]), Some(identification));
        }
        let page: [u8; 4096] = page.try_into().expect("its length");
        prop_assert!(Header::decode(&page).is_err() && Superblock::decode(&page).is_err());
        let mut control = [0; 40];
        control.copy_from_slice(&page[..40]);
        let _ = Control::decode(&control);
    }

    #[test]
    fn names_have_their_order_and_nothing_that_leads_elsewhere(one in "\\PC{0,70}", other in "[!-~]{1,8}") {
        for text in [&one, &other] {
            if let Ok(name) = Name::new(text.as_bytes()) {
                prop_assert_eq!(name.as_str(), text.as_str());
                prop_assert!(!text.contains('/') && text != "." && text != ".." && !text.is_empty() && text.is_ascii());
            }
        }
        if let (Ok(one), Ok(other)) = (Name::new(one.as_bytes()), Name::new(other.as_bytes())) {
            prop_assert_eq!(one.cmp(&other), one.as_bytes().cmp(other.as_bytes()));
            prop_assert_eq!(Key::of_name(&one).as_bytes().cmp(Key::of_name(&other).as_bytes()), one.cmp(&other));
            if let (Some(left), Some(right)) = (one.padded(), other.padded()) {
                prop_assert_eq!(left.cmp(&right), one.cmp(&other));
            }
        }
    }

    #[test]
    fn the_largest_that_fits_fits_and_one_more_does_not(used in 0..60_000u32, key in prop::sample::select(vec![0u32, 8, 44])) {
        for device in &DEVICES {
            match device.largest(used, key) {
                Some(largest) => {
                    prop_assert!(device.fits(used, largest, key));
                    prop_assert!(largest == device.largest_block || !device.fits(used, largest + 1, key));
                }
                None => prop_assert!(!device.fits(used, 0, key)),
            }
        }
    }

    #[test]
    fn any_records_fill_tracks_in_order(lengths in prop::collection::vec(0..40_000u32, 1..60), block_size in any::<u32>()) {
        let mut fill = Fill::new(&DEVICES[0], block_size);
        let mut before = None;
        for length in lengths {
            let text = fill.next_text(u64::from(length));
            prop_assert!(text <= length && (text > 0 || length == 0));
            let place = fill.put(text, 0);
            prop_assert!(Some(place) > before && fill.used() <= DEVICES[0].capacity);
            before = Some(place);
        }
        prop_assert!(fill.tracks() >= 1 && (256..=32_760).contains(&fill.block_size()));
    }

    #[test]
    fn sums_do_not_depend_on_pieces(bytes in prop::collection::vec(any::<u8>(), 0..500), cuts in prop::collection::vec(0..500usize, 0..6), seed in any::<u64>()) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let (mut running, mut from) = (Sum::new(seed), 0);
        for cut in cuts.into_iter().chain([bytes.len()]) {
            running.add(&bytes[from..cut]);
            from = cut;
        }
        prop_assert_eq!(running.finish(), sum(seed, &bytes));
    }

    #[test]
    fn a_record_is_put_whole_or_not_at_all(at in 0..3_000usize, data in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let mut image = vec![0x55; 3_000];
        let place = underbar_partitioned::binder::Place { track: 1, record: 1 };
        let kind = underbar_partitioned::pds::Kind::Text;
        match put_record(&mut image, at, 9, place, kind, &[], &data) {
            None => prop_assert!(image.iter().all(|byte| *byte == 0x55)),
            Some(next) => prop_assert!(image[next] == 0xFF && image[at + 16..at + 16 + data.len()] == data[..]),
        }
    }
}
