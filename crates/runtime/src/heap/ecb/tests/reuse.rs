//! Blocks of ended ECBs: what the next ECB of a class gets, and what addresses of an ended one tell.

use underbar_ledger::FaultKind;

use super::*;

#[test]
fn the_next_ecb_of_a_thread_gets_the_same_storage() {
    let _turn = turn();
    let mut places = Vec::new();
    for _ in 0..100 {
        let ecb = create(b"SIZES").expect("memory");
        enter(ecb).expect("alive");
        places.push(get(64));
        end(ecb).expect("the thread leaves first");
    }
    assert!(places.windows(2).all(|two| two[0] == two[1]), "{places:?}");
}

#[test]
fn a_frame_waits_for_the_next_ecb_without_its_buffers() {
    let _turn = turn();
    // The area has 64 buffers of this size; the frame has the others.
    let run = |count: usize| {
        let ecb = create(b"FRAMES").expect("memory");
        enter(ecb).expect("alive");
        let buffers: Vec<_> = (0..count).map(|_| filled(1_000, 1)).collect();
        (ecb, buffers)
    };
    let (first, many) = run(500);
    end(first).expect("the thread leaves first");
    let stale = many[450];
    let refused = || {
        let descriptor = lookup(stale.addr());
        // SAFETY: an area's descriptor, which stays readable; what is refused is not freed.
        unsafe {
            (!crate::heap::ecb::free(stale, descriptor)).then(|| fault_of(stale.addr(), descriptor).kind)
        }
    };
    assert_eq!(ecb_of(stale), 0);
    assert_eq!(refused(), Some(FaultKind::Ended));
    let (second, few) = run(100);
    assert_eq!(few, many[..100], "the same storage");
    assert_eq!(ecb_of(stale), second, "it is in the frame of this ECB");
    assert_eq!(refused(), Some(FaultKind::NoBlock), "and none of its buffers");
    end(second).expect("the thread leaves first");
}

#[test]
fn an_ended_ecb_that_is_kept_is_known_by_its_addresses() {
    let _turn = turn();
    given::set_check(1 << 20);
    let ended = |fill: usize| {
        let ecb = create(b"SIZES").expect("memory");
        enter(ecb).expect("alive");
        let (small, large) = (filled(100, 1), filled(400_000, 2));
        // SAFETY: the buffer is in use.
        unsafe { tag(small, b"SESSION") }.expect("a name");
        let frame: Vec<_> = (0..fill).map(|_| filled(1_000, 3)).collect();
        end(ecb).expect("the thread leaves first");
        (ecb, small, large, frame.last().copied())
    };
    let (ecb, small, large, frame) = ended(100);
    for (buffer, inside, bytes, name) in [
        (small, 20, 128, &b"SESSION"[..]),
        (large, 399_999, 400_000, b""),
        (frame.expect("some"), 0, 1_024, b""),
    ] {
        let stale = stale_at(buffer.addr() + inside).expect("it is kept");
        assert_eq!((stale.ecb, stale.class.name()), (ecb, &b"SIZES"[..]));
        assert_eq!((stale.buffer, stale.bytes, &stale.name[..stale.length]), (buffer.addr(), bytes, name));
        let descriptor = lookup(buffer.addr());
        // SAFETY: an area's descriptor, which stays readable; what is refused is not freed.
        assert!(unsafe { !crate::heap::ecb::free(buffer, descriptor) }, "its ECB has ended");
    }
    assert!(stale_at(0x1000).is_none() && stale_at(usize::MAX).is_none());
    // More than the bound: the oldest serves again, and its storage is whole.
    for _ in 0..20 {
        ended(10);
    }
    assert!(stale_at(small.addr()).is_none_or(|stale| stale.ecb != ecb));
    given::set_check(0);
    assert!(stale_at(small.addr()).is_none());
}

#[test]
fn many_ecbs_live_at_once_in_little_more_than_their_requests() {
    const ECBS: usize = if cfg!(miri) { 20 } else { 2_000 };
    let _turn = turn();
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").expect("a file");
        text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number") * 4096
    };
    let mut all = Vec::with_capacity(ECBS);
    let before = resident();
    for number in 0..ECBS {
        let ecb = create(b"MANY").expect("memory");
        enter(ecb).expect("alive");
        let first = filled(64, number as u8);
        for _ in 1..64 {
            filled(64, number as u8);
        }
        leave().expect("inside");
        all.push((ecb, first));
    }
    let grown = resident() - before;
    // Beside its requests each has 2 KiB of underbar's own, unless earlier tests have left that behind.
    assert!(grown < ECBS * 4096 * 8 / 5, "{grown} bytes for {} of requests", ECBS * 4096);
    for (number, (ecb, first)) in all.into_iter().enumerate() {
        assert!(holds(first, 64, number as u8));
        end(ecb).expect("nobody is inside");
    }
}
