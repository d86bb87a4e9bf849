//! Bad input and faults: each is an error that names file, record and offset, and leaves no part of an output under its name.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use common::{Folder, sort_bytes};
use underbar_records::{Error, Format, Input, Output, Plan, To, sort, statement};

fn plan(format: Format, text: &str) -> Plan {
    Plan::new(format, statement::read(text, format).expect("statements"))
}

#[test]
fn bad_records_are_named_by_file_record_and_offset() {
    let fixed = Format::Fixed(10);
    let variable = Format::Variable(20);
    let packed = b"aaaaaaa\x12\x34\x5cbbbbbbb\x12\x34\x55ccccccc\x12\x34\x5c";
    for (format, text, bytes, expect) in [
        (
            fixed,
            "SORT FIELDS=(1,4,CH,A)",
            &b"0123456789012345678"[..],
            "0, record 2 at byte 10: the file ends after 9 of the 10 bytes of a record; the form is F(10)",
        ),
        (
            variable,
            "SORT FIELDS=(5,4,CH,A)",
            b"\0\x08\0\0aaaa\0\x15\0\0bbbbbbbbbbbbbbbbb",
            "0, record 2 at byte 8: it has 21 bytes or more, and at most 20 are allowed; the form is V(20)",
        ),
        (
            variable,
            "SORT FIELDS=(5,4,CH,A)",
            b"\0\x08\0\0aaaa\0\x07\0\0bbb",
            "0, record 2 at byte 12: it has 3 bytes, but the CH field at byte 1 needs 4",
        ),
        (
            fixed,
            "SORT FIELDS=(8,3,PD,A)",
            packed,
            "0, record 2 at byte 10: byte 3 of the PD field at byte 8 is X'55', not valid PD",
        ),
        (
            fixed,
            "SORT FIELDS=(1,1,CH,A)\nINCLUDE COND=(8,3,PD,GT,0)",
            packed,
            "0, record 2 at byte 10: byte 3 of the PD field at byte 8 is X'55', not valid PD",
        ),
        (
            fixed,
            "SORT FIELDS=(1,1,CH,A)\nSUM FIELDS=(8,3,PD)",
            packed,
            "0, record 2 at byte 10: byte 3 of the PD field at byte 8 is X'55', not valid PD",
        ),
        (
            fixed,
            "MERGE FIELDS=(8,3,PD,A)",
            packed,
            "0, record 2 at byte 10: byte 3 of the PD field at byte 8 is X'55', not valid PD",
        ),
        (
            fixed,
            "OPTION COPY,STOPAFT=9\nOMIT COND=(8,3,PD,GT,0)",
            packed,
            "0, record 2 at byte 10: byte 3 of the PD field at byte 8 is X'55', not valid PD",
        ),
    ] {
        let error = sort_bytes(&[bytes], &plan(format, text)).expect_err(text);
        assert_eq!(error, expect, "{text}");
    }
    // Records that end before a field does are allowed on request, and in lines.
    let short = "SORT FIELDS=(5,4,CH,A)\nOPTION VLSHRT";
    let sorted = sort_bytes(&[b"\0\x08\0\0aaaa\0\x07\0\0Zbb"], &plan(variable, short)).expect("allowed").0;
    assert_eq!(sorted, b"\0\x07\0\0Zbb\0\x08\0\0aaaa");
}

#[test]
fn a_bad_record_far_behind_is_named_whichever_thread_meets_it() {
    let mut bytes: Vec<u8> =
        (0..200_000_u32).flat_map(|number| format!("{:09}C", number % 7).into_bytes()).collect();
    bytes[1_543_210 + 3] = 0xff;
    let mut plan = plan(Format::Fixed(10), "SORT FIELDS=(1,9,ZD,A)");
    for (memory, threads) in [(1 << 20, 2), (64 << 20, 3), (8 << 20, 1)] {
        (plan.memory, plan.threads) = (memory, threads);
        let error = sort_bytes(&[b"000000001C", &bytes], &plan).expect_err("no digit");
        let place = "1, record 154322 at byte 1543210: byte 4 of the ZD field at byte 1 is X'FF'";
        assert!(error.starts_with(place), "{error}");
    }
}

/// A sort into a file, as the command does it.
fn sort_file(folder: &Folder, input: &str, output: &str, plan: &Plan, replace: bool) -> Result<(), Error> {
    let [input, output] = [input, output].map(|name| folder.path().join(name));
    let mut file = Output::create(&output, std::slice::from_ref(&input), replace)?;
    let to = To { name: "out", bytes: &mut file };
    sort(vec![Input::open(&input)?], plan, to, &mut |_| ())?;
    file.finish()
}

fn names(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(folder.path()).expect("a folder").flatten();
    let mut names: Vec<String> = names.map(|of| of.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn an_output_that_fails_leaves_what_was_there() {
    let folder = Folder::new("whole");
    folder.file("in", b"b\na\n");
    folder.file("bad", b"ab\nXYZ\n");
    folder.file("out", "old");
    let lines = plan(Format::Lines, "SORT FIELDS=(1,1,CH,A)");
    let numbers = plan(Format::Lines, "SORT FIELDS=(1,2,ZD,A)");
    assert!(matches!(sort_file(&folder, "in", "out", &lines, false), Err(Error::Exists { .. })));
    assert!(matches!(sort_file(&folder, "bad", "out", &numbers, true), Err(Error::Field { .. })));
    assert!(matches!(sort_file(&folder, "bad", "new", &numbers, true), Err(Error::Field { .. })));
    assert_eq!(fs::read(folder.path().join("out")).expect("read"), b"old");
    assert!(matches!(sort_file(&folder, "in", "in", &lines, false), Err(Error::Exists { .. })));
    assert_eq!(fs::read(folder.path().join("in")).expect("read"), b"b\na\n");
    // On request an input is replaced, once all of it was read.
    sort_file(&folder, "in", "in", &lines, true).expect("sorted");
    assert_eq!(fs::read(folder.path().join("in")).expect("read"), b"a\nb\n");
    assert_eq!(names(&folder), ["bad", "in", "out"]);
}

#[test]
fn a_copy_onto_itself_reads_the_old_file_to_its_end() {
    let folder = Folder::new("itself");
    let lines: String = (0..400_000).map(|number| format!("{number}\n")).collect();
    folder.file("in", &lines);
    let mut copy = plan(Format::Lines, "OPTION COPY");
    copy.memory = 1 << 20;
    sort_file(&folder, "in", "in", &copy, true).expect("copied");
    assert!(fs::read(folder.path().join("in")).expect("read") == lines.as_bytes());
}

/// This test program again, with only the test of this name, as the child of a shell that limits the size of files to so many KiB.
fn limited(test: &str, kib: u32, folder: &Folder) -> String {
    let own = std::env::current_exe().expect("this program");
    let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" --exact {test} --nocapture");
    let done =
        Command::new("bash").args(["-c", &script]).arg(own).env("RECORDS_LIMITED", folder.path()).output();
    let done = done.expect("bash runs");
    let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    text.lines()
        .find_map(|line| line.split_once("error: "))
        .map_or(text.clone(), |(_, error)| error.to_owned())
}

/// The rest of a test of [`limited`], in the child: sorts, and prints the error.
fn sort_limited(memory: usize) {
    let Some(folder) = std::env::var_os("RECORDS_LIMITED") else { return };
    let folder = std::path::PathBuf::from(folder);
    let mut plan = plan(Format::Lines, "SORT FIELDS=(1,9,CH,A)");
    (plan.memory, plan.work) = (memory, folder.join("work"));
    let run = || {
        let mut output = Output::create(&folder.join("out"), &[], false)?;
        let to = To { name: "out", bytes: &mut output };
        sort(vec![Input::open(&folder.join("in"))?], &plan, to, &mut |_| ())?;
        output.finish()
    };
    match run() {
        Ok(()) => println!("error: none"),
        Err(error) => println!("error: {error}"),
    }
}

fn prepare(name: &str) -> Folder {
    let folder = Folder::new(name);
    fs::create_dir(folder.path().join("work")).expect("made");
    let lines: String = (0..400_000).rev().map(|number| format!("{number:09}\n")).collect();
    folder.file("in", lines);
    folder
}

#[test]
fn a_full_work_folder_is_named() {
    if std::env::var_os("RECORDS_LIMITED").is_some() {
        return sort_limited(1 << 20);
    }
    let folder = prepare("full-work");
    let error = limited("a_full_work_folder_is_named", 1_024, &folder);
    let place = format!("work file in {}, after ", folder.path().join("work").display());
    assert!(error.starts_with(&place) && error.contains("File too large"), "{error}");
    // What it had before, not what it would have had.
    let bytes: u64 =
        error[place.len()..].split(' ').next().and_then(|text| text.parse().ok()).expect("bytes");
    assert!(bytes <= 1 << 20, "{error}");
    assert_eq!(names(&folder), ["in", "work"]);
    assert_eq!(fs::read_dir(folder.path().join("work")).expect("there").count(), 0);
}

#[test]
fn a_full_disk_at_the_output_is_named() {
    if std::env::var_os("RECORDS_LIMITED").is_some() {
        return sort_limited(64 << 20);
    }
    let folder = prepare("full-output");
    let error = limited("a_full_disk_at_the_output_is_named", 1_024, &folder);
    assert!(error.starts_with("out, after ") && error.contains("File too large"), "{error}");
    assert_eq!(names(&folder), ["in", "work"]);
    // With room for it there is no error.
    assert_eq!(limited("a_full_disk_at_the_output_is_named", 8_192, &folder), "none");
    assert_eq!(names(&folder), ["in", "out", "work"]);
}

#[test]
fn a_device_without_room_is_named() {
    let mut output = Output::create("/dev/full".as_ref(), &[], false).expect("a device");
    let input = Input { name: "in".into(), bytes: Box::new(&b"b\na\n"[..]) };
    let to = To { name: "/dev/full", bytes: &mut output };
    let error = sort(vec![input], &plan(Format::Lines, "SORT FIELDS=(1,1,CH,A)"), to, &mut |_| ());
    let error = error.expect_err("no room").to_string();
    assert!(error.starts_with("/dev/full, after 2 records: No space left"), "{error}");
}

#[test]
fn an_untrusted_work_folder_is_refused_when_it_is_needed() {
    let folder = Folder::new("untrusted");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("ours");
    let bytes: Vec<u8> = (0..400_000_u32).flat_map(|number| format!("{number:09}\n").into_bytes()).collect();
    let mut plan = plan(Format::Lines, "SORT FIELDS=(1,9,CH,D)");
    (plan.work, plan.memory) = (folder.path().to_owned(), 64 << 20);
    assert!(sort_bytes(&[&bytes], &plan).is_ok(), "memory is enough");
    plan.memory = 1 << 20;
    let error = sort_bytes(&[&bytes], &plan).expect_err("not trusted");
    assert!(error.starts_with("work folder ") && error.ends_with("can be changed by other users"), "{error}");
}

#[test]
fn missing_files_and_folders_are_named() {
    let error = Input::open("/nowhere/in".as_ref()).map(|_| ()).expect_err("missing").to_string();
    assert!(error.starts_with("/nowhere/in: No such file"), "{error}");
    let error =
        Output::create("/nowhere/out".as_ref(), &[], false).map(|_| ()).expect_err("missing").to_string();
    assert!(error.starts_with("/nowhere/out") && error.contains("No such file"), "{error}");
    let input = Input::open("/".as_ref()).expect("a folder can be opened");
    let mut sorted = Vec::new();
    let to = To { name: "sorted", bytes: &mut sorted };
    let error =
        sort(vec![input], &plan(Format::Lines, "OPTION COPY"), to, &mut |_| ()).expect_err("a folder");
    assert!(error.to_string().starts_with("/: Is a directory"), "{error}");
}
