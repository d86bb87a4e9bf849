//! Programs that are not followed, and the reasons: made so that the loader, the kernel or the user keeps the preload out.

use super::*;

/// The first bytes of a program of this class and for this processor.
fn first_bytes(class: u8, machine: u8) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
    (bytes[16], bytes[18]) = (2, machine);
    bytes
}

fn in_folder(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    executable::write(&path, bytes);
    path
}

/// The exit status of `starts` if the kernel refuses the filter.
const NO_FILTERS: i32 = 7;

/// Starts a program a few times, in this way; only this counter may have counted them.
fn not_followed(flags: &[&str], how: &str, path: &Path, key: Key) {
    let starts = program("starts");
    for count in [1, 5] {
        let number = count.to_string();
        let line = [&starts, number.as_str(), how, text(path)];
        let account = account_of(flags, &line, &starts);
        assert_eq!((code(account.left.status), account.left.error.as_str()), (0, ""), "{path:?}");
        exact(&account, key, count);
        let others =
            KEYS.into_iter().filter(|other| other.entry().key.starts_with("follow.") && *other != key);
        for other in others {
            assert_eq!(
                figure(&account.report["tree"], other),
                0,
                "{path:?} counted as {}",
                other.entry().key
            );
        }
    }
}

pub(super) fn programs_not_followed_are_counted() {
    let folder = scratch("not-followed");
    let check = |path: &Path, key| not_followed(&[], "plain", path, key);
    check(&compiled("loaded", "loaded-static", &["-static"]), Key::NotFollowedStatic);
    check(&in_folder(&folder, "bits32", &first_bytes(1, 3)), Key::NotFollowedBits32);
    check(&in_folder(&folder, "machine", &first_bytes(2, 183)), Key::NotFollowedOtherMachine);
    check(&in_folder(&folder, "malformed", b"\x7fELF\x02\x01"), Key::NotFollowedMalformed);
    let musl = compiled("loaded", "loaded-lost", &["-Wl,--dynamic-linker=/nowhere/ld-musl-x86_64.so.1"]);
    check(&musl, Key::NotFollowedOtherLibc);
    check(&compiled("loaded", "loaded-asan", &["-fsanitize=address"]), Key::NotFollowedSanitizer);
    let loaded = underbar_zoo::program("loaded");
    not_followed(&[], "empty", &loaded, Key::NotFollowedEnvironment);
    not_followed(&["--no-follow"], "plain", &loaded, Key::NotFollowedByRequest);
    for limit in ["data", "space"] {
        not_followed(&[], limit, &loaded, Key::NotFollowedLittleMemory);
    }
    if code(left(Command::new(program("starts")).args(["1", "filter", text(&loaded)])).status) == NO_FILTERS {
        return skipped("programs behind a filter: seccomp is not allowed here");
    }
    for how in ["filter", "quiet"] {
        not_followed(&[], how, &loaded, Key::NotFollowedFiltered);
    }
}

/// A child that frees its parent's blocks, and a parent that becomes the same program again.
pub(super) fn what_a_child_has_from_its_parent_is_told() {
    let inherits = program("inherits");
    let mut account = account("", &[&inherits, "5000"]);
    let child = account.said("child");
    let sections: Vec<Value> = account.report["processes"].as_array().expect("processes").clone();
    assert_eq!(sections.len(), 3, "{}", account.report);
    // Two processes, of one program: starting itself by /proc/self/exe gives it no other name.
    assert_eq!(
        (&account.report["tree"]["processes"], &account.report["tree"]["programs"]),
        (&2.into(), &1.into())
    );
    for section in sections {
        let is_child = section["process"] == child;
        let is_second = section["arguments"][1] == "0";
        assert!(section["started_as"].is_null(), "{section}");
        account.section = section;
        // With its table of the blocks, and the C library's requests.
        between(&account, Key::HeapInherited, if is_child { 5000..=5064 } else { 0..=0 });
        exact(&account, Key::ProcessContinued, u64::from(is_second));
    }
}

/// Started by another underbar, by its name, in a child and in its place.
pub(super) fn programs_of_another_underbar_are_counted() {
    let folder = scratch("another");
    let own = folder.join("own.ledger");
    for way in [&["-q"][..], &["-q", "--exec"], &["--exec", "-o", text(&own)]] {
        let line = [&[text(underbar()), "run"][..], way, &["--", "true"]].concat();
        let mut account = account_of(&[], &line, text(underbar()));
        assert_eq!((code(account.left.status), account.left.error.as_str()), (0, ""), "{way:?}");
        let mut sections = account.report["processes"].as_array().expect("processes").iter();
        assert!(sections.all(|section| section["state"] == "ended"), "{way:?}: {}", account.report);
        // Its child has the library, or it itself.
        account.section = account.report["tree"].clone();
        exact(&account, Key::NotFollowedOtherRun, 1);
    }
    fs::remove_dir_all(folder).expect("removed");
}

pub(super) fn programs_with_other_rights_or_another_root_are_counted() {
    if !is_superuser() {
        return skipped("programs with other rights: needs the superuser");
    }
    const NOBODY: u32 = 65534;
    // In /tmp, since the path to the target folder may be closed to others.
    let folder = PathBuf::from(format!("/tmp/underbar-figures-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let bytes = fs::read(underbar_zoo::program("loaded")).expect("a program");
    let setuid = in_folder(&folder, "setuid", &bytes);
    chown(&setuid, Some(NOBODY), None).expect("another owner");
    fs::set_permissions(&setuid, fs::Permissions::from_mode(0o4755)).expect("setuid");
    not_followed(&[], "plain", &setuid, Key::NotFollowedSetUid);
    let hidden = in_folder(&folder, "hidden", &bytes);
    not_followed(&[], "root", &hidden, Key::NotFollowedPreloadHidden);
    let closed = in_folder(&folder, "closed", &bytes);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o111)).expect("closed");
    not_followed(&[], "nobody", &closed, Key::NotFollowedUnreadable);
    let open = in_folder(&folder, "open", &bytes);
    not_followed(&[], "nobody", &open, Key::NotFollowedLedger);
    let capable = in_folder(&folder, "capable", &bytes);
    let set = Command::new("setcap").arg("cap_net_bind_service=ep").arg(&capable).status();
    if set.is_ok_and(|status| status.success()) {
        not_followed(&[], "nobody", &capable, Key::NotFollowedCapabilities);
    } else {
        skipped("file capabilities: setcap does not work here");
    }
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn what_a_program_not_followed_replaced_has_ended_and_what_it_could_not_replace_goes_on() {
    let folder = scratch("replaced");
    let malformed = in_folder(&folder, "malformed", b"\x7fELF\x02\x01");
    let fixed = compiled("loaded", "loaded-static", &["-static"]);
    let starts = program("starts");
    for (next, key, state, end) in [
        (&fixed, Key::NotFollowedStatic, "ended", 0),
        (&malformed, Key::NotFollowedMalformed, "killed", KILLED),
    ] {
        let account = account_of(&[], &[&starts, "becomes", "plain", text(next)], &starts);
        assert_eq!(code(account.left.status), end, "{next:?}: {}", account.left.error);
        exact(&account, key, 1);
        assert_eq!(account.section["state"], state, "{next:?}");
        assert_eq!(account.section["ended_ns"].is_null(), state == "killed", "{next:?}");
    }
    // With a filter even asking for the time may be forbidden.
    let account =
        account_of(&[], &[&starts, "becomes", "filter", text(&underbar_zoo::program("loaded"))], &starts);
    if code(account.left.status) != NO_FILTERS {
        assert_eq!((code(account.left.status), account.left.output.as_str()), (0, "plain\n"));
        exact(&account, Key::NotFollowedFiltered, 1);
        assert_eq!(
            (&account.section["state"], &account.section["ended_ns"]),
            (&"ended".into(), &Value::Null)
        );
    }
    // The shell forks for each part of a pipeline, and the child becomes the program.
    let shell = fs::canonicalize("/bin/sh").expect("a shell");
    let pipeline = format!("{} | {}; :", fixed.display(), fixed.display());
    let account = account_of(&[], &["/bin/sh", "-c", &pipeline], text(&shell));
    let states = account.report["processes"].as_array().expect("processes");
    let states: Vec<_> = states.iter().map(|process| process["state"].as_str()).collect();
    assert_eq!(states, [Some("ended"); 3], "{}", account.report);
}
