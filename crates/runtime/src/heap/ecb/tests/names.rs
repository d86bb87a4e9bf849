//! Names of buffers.

use super::*;
use crate::heap::realloc;

#[test]
fn buffers_are_found_by_their_names() {
    let _turn = turn();
    let ecb = create(b"SIZES").expect("memory");
    // SAFETY: buffers in use of this ECB, or none.
    unsafe {
        let outside = get(10);
        assert_eq!(
            (tag(outside, b"X"), locate(b"X", null_mut())),
            (Err(Refused::Outside), Err(Refused::Outside))
        );
        enter(ecb).expect("alive");
        assert_eq!(tag(outside, b"X"), Err(Refused::Unknown), "not of this ECB");
        let buffer = get(10);
        assert_eq!(tag(buffer.add(16), b"X"), Err(Refused::Unknown), "not where a buffer begins");
        for (name, refused) in
            [(&[][..], Refused::Name), (&[b'N'; 4_096], Refused::LongName), (&[b'N'; 41], Refused::LongName)]
        {
            assert_eq!((tag(buffer, name), locate(name, null_mut())), (Err(refused), Err(refused)));
        }
        let all: Vec<_> = (0..1_000_u32)
            .map(|number| {
                let buffer = get(if number % 100 == 0 { 400_000 } else { 24 });
                tag(buffer, &number.to_be_bytes()).expect("memory");
                buffer
            })
            .collect();
        for (number, &buffer) in (0_u32..).zip(&all) {
            assert_eq!(locate(&number.to_be_bytes(), null_mut()), Ok(buffer), "{number}");
        }
        assert_eq!(locate(&1_000_u32.to_be_bytes(), null_mut()), Ok(null_mut()));
        // The names of a freed buffer go with it; those of a moved one move.
        give(all[5]);
        let moved = realloc(all[6], 5_000);
        assert_ne!(moved, all[6]);
        assert_eq!(locate(&5_u32.to_be_bytes(), null_mut()), Ok(null_mut()));
        assert_eq!(locate(&6_u32.to_be_bytes(), null_mut()), Ok(moved));
        assert_eq!((untag(moved), untag(moved)), (Ok(true), Ok(false)));
        assert_eq!(locate(&6_u32.to_be_bytes(), null_mut()), Ok(null_mut()));
        give(all[100]);
        assert_eq!(locate(&100_u32.to_be_bytes(), null_mut()), Ok(null_mut()), "a large one");
        // Two buffers of one name, and two names of one buffer.
        tag(all[7], b"SAME").expect("memory");
        tag(all[8], b"SAME").expect("memory");
        assert_eq!(locate(b"SAME", null_mut()), Ok(all[8]));
        assert_eq!(locate(b"SAME", all[8]), Ok(all[7]));
        assert_eq!(locate(b"SAME", all[7]), Ok(null_mut()));
        assert_eq!(locate(&8_u32.to_be_bytes(), null_mut()), Ok(all[8]));
        leave().expect("inside");
        end(ecb).expect("nobody is inside");
        give(outside);
    }
    let ecb = create(b"SIZES").expect("memory");
    enter(ecb).expect("alive");
    assert_eq!(locate(b"SAME", null_mut()), Ok(null_mut()), "names end with their ECB");
    end(ecb).expect("the thread leaves first");
}
