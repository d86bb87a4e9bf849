//! Waits for locks, arranged by the program.

use super::*;

fn waits(how: &str, arguments: &[&str]) -> Account {
    let program = text(&compiled("figures/waits", "figures-waits", &["-pthread"])).to_owned();
    let account = account(&format!("LOCK({how})"), &[&[program.as_str()], arguments].concat());
    assert_eq!(code(account.left.status), 0, "{arguments:?}: {:?}", account.left);
    account
}

pub(super) fn waits_for_locks_are_those_that_the_program_arranges() {
    for how in ["COUNT", "SIMPLE"] {
        let account = waits(how, &["asleep", "40", "7"]);
        exact(&account, Key::LockContended, 40);
        exact(&account, Key::LockLocks, 7);
        exact(&account, Key::LockUnrecorded, 0);
        exact(&account, Key::LockParked, if how == "SIMPLE" { 40 } else { 0 });
        exact(&account, Key::LockSpun, 0);
        between(&account, Key::LockWait, account.said("least")..=account.said("most"));
        between(&account, Key::LockWaitMax, account.said("longest-least")..=account.said("longest-most"));
        between(&account, Key::LockSpin, 0..=if how == "SIMPLE" { account.said("most") } else { 0 });
    }
    let account = waits("OFF", &["asleep", "40", "7"]);
    for key in [Key::LockContended, Key::LockLocks, Key::LockParked] {
        exact(&account, key, 0);
    }
}

pub(super) fn waits_without_sleep_are_those_in_which_a_thread_stayed_on() {
    let account = waits("SIMPLE", &["briefly", "20000"]);
    let (contended, spun) = (account.get(Key::LockContended), account.get(Key::LockSpun));
    // A thread that is woken before it sleeps looks to the program like one that spun; one that sleeps twice, like two.
    let (slept, parked) = (account.said("slept"), account.get(Key::LockParked));
    assert!(
        (contended.saturating_sub(parked)..=contended.saturating_sub(slept)).contains(&spun),
        "{contended} waits, {spun} without sleep, {slept} seen asleep, {parked} sleeps"
    );
    between(&account, Key::LockSpin, 0..=account.said("most"));
}

pub(super) fn more_locks_than_there_are_records_are_counted() {
    let account = waits("COUNT", &["asleep", "400", "400"]);
    exact(&account, Key::LockContended, 400);
    let locks = account.get(Key::LockLocks);
    assert!((200..=256).contains(&locks), "{locks}");
    exact(&account, Key::LockUnrecorded, 400 - locks);
}

pub(super) fn kinds_of_mutex_left_to_the_c_library_are_counted() {
    for how in ["COUNT", "SIMPLE"] {
        exact(&waits(how, &["kinds"]), Key::LockPassedThrough, 6);
        exact(&waits(how, &["kinds", "1"]), Key::LockPassedThrough, 6);
    }
    exact(&waits("OFF", &["kinds"]), Key::LockPassedThrough, 0);
    exact(&waits("COUNT", &["asleep", "1", "1"]), Key::LockPassedThrough, 0);
}
