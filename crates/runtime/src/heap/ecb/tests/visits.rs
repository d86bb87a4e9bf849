//! Visits of threads: enter and leave, one inside the other, several threads at once, refusals.

use std::sync::Barrier;
use std::thread;

use super::*;
use crate::heap::random::Random;

#[test]
fn a_thread_that_returns_finds_what_was_freed() {
    let _turn = turn();
    let ecb = create(b"SIZES").expect("memory");
    enter(ecb).expect("alive");
    // Of available lists, and of others.
    let sizes = [32, 60, 200, 500, 700, 1_000, 3_000, 20_000];
    let all: Vec<_> = sizes.iter().map(|&size| [filled(size, 1), filled(size, 2), filled(size, 3)]).collect();
    for three in &all {
        give(three[0]);
        give(three[1]);
    }
    leave().expect("inside");
    enter(ecb).expect("alive");
    for (three, &size) in all.iter().zip(&sizes) {
        assert_eq!([get(size), get(size)], [three[1], three[0]], "{size}");
        let next = filled(size, 4);
        assert!(!three.contains(&next) && holds(three[2], size, 3), "{size}");
    }
    end(ecb).expect("the thread leaves first");
}

#[test]
fn an_ecb_that_is_entered_again_and_again_does_not_grow() {
    let _turn = turn();
    let ecb = create(b"VISITS").expect("memory");
    // More sizes than a control block has room to keep lists for.
    let sizes = [32, 64, 128, 256, 512, 600, 700, 800, 900, 1_000];
    let mut places = std::collections::BTreeSet::new();
    for _ in 0..1_000 {
        enter(ecb).expect("alive");
        let all: Vec<_> = sizes.iter().map(|&size| filled(size, 1)).collect();
        places.extend(all.iter().map(|buffer| buffer.addr()));
        all.into_iter().for_each(give);
        leave().expect("inside");
    }
    assert!(places.len() <= 2 * sizes.len(), "{} places", places.len());
    end(ecb).expect("nobody is inside");
}

#[test]
fn ecbs_are_entered_one_inside_the_other() {
    let _turn = turn();
    let (outer, inner) = (create(b"SIZES").expect("memory"), create(b"INNER").expect("memory"));
    enter(outer).expect("alive");
    let first = get(50);
    enter(inner).expect("alive");
    let second = get(50);
    step_outside();
    step_outside();
    let third = get(50);
    assert_eq!(current(), 0);
    step_inside();
    assert_eq!(ecb_of(get(50)), 0);
    step_inside();
    enter(outer).expect("alive");
    let fourth = get(50);
    let of = [first, second, third, fourth].map(ecb_of);
    assert_eq!(of, [outer, inner, 0, outer]);
    // Each buffer goes back to its own ECB, wherever the thread is.
    for buffer in [first, second, third, fourth] {
        give(buffer);
    }
    leave().expect("inside");
    assert_eq!(ecb_of(get(50)), inner);
    leave().expect("inside");
    assert_eq!(ecb_of(get(50)), outer);
    leave().expect("inside");
    assert_eq!(leave(), Err(Refused::Outside));
    step_inside();
    end(inner).expect("nobody is inside");
    end(outer).expect("nobody is inside");
}

#[test]
fn what_is_wrong_is_refused_and_changes_nothing() {
    let _turn = turn();
    let ecb = create(b"SIZES").expect("memory");
    for number in [0, 1, ecb + 1, ecb + (1 << 32), u64::MAX, ecb & 0xffff_ffff] {
        assert_eq!(
            (enter(number), end(number)),
            (Err(Refused::Unknown), Err(Refused::Unknown)),
            "{number:x}"
        );
    }
    let (inside, done) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            enter(ecb).expect("alive");
            let buffer = filled(40, 9);
            inside.wait();
            done.wait();
            assert!(holds(buffer, 40, 9));
            leave().expect("inside");
        });
        inside.wait();
        assert_eq!(end(ecb), Err(Refused::Inside(1)));
        enter(ecb).expect("alive");
        assert_eq!(end(ecb), Err(Refused::Inside(1)), "this thread does not count");
        assert_eq!(current(), ecb, "it is still inside");
        leave().expect("inside");
        done.wait();
        other.join().expect("no panic");
    });
    end(ecb).expect("nobody is inside");
    assert_eq!(end(ecb), Err(Refused::Unknown), "twice");
    assert_eq!(enter(ecb), Err(Refused::Unknown));
    let next = create(b"SIZES").expect("memory");
    assert_ne!(next, ecb, "the block has another ECB");
    assert_eq!(end(ecb), Err(Refused::Unknown));
    end(next).expect("nobody is inside");
}

#[test]
fn a_thread_that_ends_leaves_its_ecbs() {
    let _turn = turn();
    let (one, two) = (create(b"SIZES").expect("memory"), create(b"SIZES").expect("memory"));
    let buffer = thread::spawn(move || {
        enter(one).expect("alive");
        enter(two).expect("alive");
        filled(64, 3).addr()
    });
    let buffer = buffer.join().expect("no panic") as *mut u8;
    assert!(holds(buffer, 64, 3), "the ECB goes on");
    end(one).expect("nobody is inside");
    end(two).expect("nobody is inside");
}

/// Threads in one ECB and outside pass buffers on, and each frees what others got.
#[test]
fn threads_share_an_ecb_and_no_buffer_is_anybody_else_s() {
    const THREADS: usize = 4;
    const STEPS: usize = if cfg!(miri) { 200 } else { 20_000 };
    let _turn = turn();
    for round in 0..3 {
        let ecb = create(b"SIZES").expect("memory");
        let places: Vec<std::sync::Mutex<Option<(usize, usize, u8)>>> =
            (0..64).map(|_| std::sync::Mutex::new(None)).collect();
        thread::scope(|scope| {
            let places = &places;
            let run = |number| {
                scope.spawn(move || {
                    let mut random = Random(round * 100 + number as u64);
                    let mut is_inside = false;
                    for step in 0..STEPS {
                        // The last thread is outside most of the time, and only frees there.
                        if random.below(200) == 0 || step == 0 {
                            if is_inside {
                                leave().expect("inside");
                            }
                            is_inside = number + 1 < THREADS || random.below(3) == 0;
                            if is_inside {
                                enter(ecb).expect("alive");
                            }
                        }
                        let new = is_inside.then(|| {
                            let size = match random.below(100) {
                                0 => random.below(300_000),
                                1..=9 => random.below(5_000),
                                _ => random.below(200),
                            };
                            let with = random.below(255) as u8;
                            (filled(size, with).addr(), size, with)
                        });
                        let place = &places[random.below(places.len())];
                        let old = core::mem::replace(&mut *place.lock().expect("no panic"), new);
                        if let Some((buffer, size, with)) = old {
                            assert!(holds(buffer as *mut u8, size, with), "{size} bytes");
                            give(buffer as *mut u8);
                        }
                    }
                    if is_inside {
                        leave().expect("inside");
                    }
                })
            };
            let threads = std::array::from_fn::<_, THREADS, _>(run);
            // The end of the scope does not wait for destructors, which settle figures.
            threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        });
        for place in places {
            if let Some((buffer, size, with)) = place.into_inner().expect("no panic") {
                assert!(holds(buffer as *mut u8, size, with), "{size} bytes");
            }
        }
        end(ecb).expect("nobody is inside");
    }
}
