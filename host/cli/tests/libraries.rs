//! `lib`: libraries made, filled, listed, changed, verified and surveyed through the command.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use common::{Folder, bad, good, run, said};

/// A library with some members of data: NAME and length.
fn library(folder: &Folder, name: &str, flags: &[&str], members: &[(&str, usize)]) -> String {
    let path = folder.name(name);
    good(&[&["lib", "create", &path], flags].concat());
    for (member, length) in members {
        let file = folder.file(&format!("{member}.data"), vec![letter(*length); *length]);
        good(&["lib", "add", "--name", member, &path, &file]);
    }
    path
}

fn letter(length: usize) -> u8 {
    b'a' + (length % 26) as u8
}

/// Damages members of these lengths, each in the middle of 1,000 of its bytes. The byte before the first of them may be the same
/// letter, once in 256 libraries, and is not the member's.
fn damage(library: &str, lengths: &[usize]) {
    let mut bytes = std::fs::read(library).expect("there");
    for length in lengths {
        let text = [letter(*length); 1000];
        let at = bytes.windows(text.len()).position(|window| window == text).expect("its bytes");
        bytes[at + text.len() / 2] ^= 1;
    }
    std::fs::write(library, &bytes).expect("written");
}

const BOTH: [&[&str]; 2] = [&["--organisation", "pdse"], &["--organisation", "pds", "--block-size", "6144"]];

#[test]
fn a_life_of_a_library() {
    for flags in BOTH {
        let folder = Folder::new(&format!("life-{}", flags[1]));
        let path = library(&folder, "lib", flags, &[("B", 100_000), ("A", 10)]);
        assert_eq!(good(&["lib", "ls", &path]), "A\nB\n");
        assert_eq!(
            good(&["lib", "alias", &path, "B", "ALSO"]),
            format!("{path}: added 1; it has 2 members and 1 alias\n")
        );
        let listed = good(&["lib", "ls", "--json", &path]);
        let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
        let b = &listed["members"].as_array().expect("a list")[2];
        assert_eq!((&b["name"], &b["aliases"]), (&"B".into(), &serde_json::json!(["ALSO"])));
        assert_eq!((b.get("blocks"), b.get("tracks")), (None, None), "not asked for, so not told");
        good(&["lib", "rename", &path, "B", "C"]);
        let list = good(&["lib", "ls", "-l", &path]);
        let lines: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            (lines[1][0], lines[1][1], lines[2][0], lines[2][1]),
            ("A", "10", "ALSO", "100000"),
            "{list}"
        );
        assert!(lines[2].contains(&"C") && lines[3].contains(&"ALSO"), "{list}");
        assert!(
            good(&["lib", "verify", &path]).ends_with("2 members, 1 alias, 100010 bytes read, all sound\n")
        );
        let out = folder.name("out");
        good(&["lib", "extract", "--to", &out, "--suffix", ".x", &path, "C", "ALSO"]);
        let expected = folder.read("B.data");
        assert!(folder.read("out/C.x") == expected && folder.read("out/ALSO.x") == expected);
        let (code, output, error) = run(&["lib", "extract", "--to", &out, "--suffix", ".x", &path, "C"]);
        assert_eq!((code, output), (2, format!("{path}: 0 files, 0 bytes\n")));
        let left = "C.x exists already and was left alone; use --force to replace it\n";
        assert_eq!(error, format!("underbar: error: {out}/{left}"));
        good(&["lib", "extract", "--force", "--to", &out, "--suffix", ".x", &path, "C"]);
        good(&["lib", "delete", &path, "C"]);
        assert_eq!(good(&["lib", "ls", &path]), "A\n");
        good(&["lib", "compress", &path]);
        assert!(good(&["lib", "verify", &path]).ends_with("1 member, 0 aliases, 10 bytes read, all sound\n"));
        assert!(good(&["lib", "info", &path]).contains("  members          1, aliases 0\n"));
        assert!(good(&["lib", "info", &path, "A"]).starts_with("A\n  size             10 bytes"));
    }
}

#[test]
fn copies_between_organisations_and_block_sizes_hold_the_same() {
    let folder = Folder::new("copies");
    let path = library(&folder, "a.pdse", &[], &[("ONE", 200_000), ("TWO", 0), ("THREE", 7_777)]);
    good(&["lib", "alias", &path, "ONE", "UNO"]);
    let mut from = path.clone();
    let ways: [(&str, &[&str]); 4] = [
        ("b.pds", &["--organisation", "pds", "--block-size", "6144"]),
        ("c.pds", &["--block-size", "32760"]),
        ("d.pdse", &["--organisation", "pdse"]),
        ("e.pds", &["--organisation", "pds", "--directory", "3", "--block-size", "256"]),
    ];
    for (name, flags) in ways {
        let to = folder.name(name);
        good(&[&["lib", "copy", &from, &to], flags].concat());
        let out = folder.name(&format!("out-{name}"));
        good(&["lib", "extract", "--to", &out, &to, "ONE", "TWO", "THREE", "UNO"]);
        for (member, file) in [("ONE", "ONE"), ("TWO", "TWO"), ("THREE", "THREE"), ("UNO", "ONE")] {
            let got = folder.read(&format!("out-{name}/{member}"));
            assert!(got == folder.read(&format!("{file}.data")), "{name} {member}");
        }
        assert!(good(&["lib", "verify", &to]).contains("all sound"));
        from = to;
    }
    let part = folder.name("part.pdse");
    good(&["lib", "copy", "--select", "ONE", "--organisation", "pdse", &path, &part]);
    assert_eq!(good(&["lib", "ls", &part]), "ONE\nUNO\n");
    assert!(bad(2, &["lib", "copy", &path, &part]).contains("there is a member ONE already"));
    assert_eq!(good(&["lib", "ls", &part]), "ONE\nUNO\n", "nothing came in");
    good(&["lib", "copy", "--replace", &path, &part]);
    assert_eq!(good(&["lib", "ls", &part]), "ONE\nTHREE\nTWO\nUNO\n");
}

#[test]
fn programs_come_in_with_their_functions() {
    let folder = Folder::new("programs");
    let source = folder.file(
        "p.c",
        "int first(int x){return x+1;}\nint second(void){return 2;}\nint main(void){return 0;}\n",
    );
    let object = folder.name("libp.so");
    match std::process::Command::new("cc").args(["-shared", "-fPIC", "-o", &object, &source]).output() {
        Ok(output) if output.status.success() => {}
        _ => {
            eprintln!("skipped: cc");
            return;
        }
    }
    for flags in BOTH {
        let path = library(&folder, flags[1], flags, &[]);
        good(&[
            "lib",
            "add",
            "--entry",
            "first",
            "--alias",
            "OTHER=second",
            "--alias",
            "ALSO",
            &path,
            &object,
        ]);
        let list = good(&["lib", "ls", "--json", "-l", &path]);
        let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
        let member = |name: &str| {
            let members = list["members"].as_array().expect("a list");
            members.iter().find(|member| member["name"] == name).expect(name).clone()
        };
        assert_eq!(member("libp")["function"], "first");
        assert_eq!(
            member("libp")["attributes"].as_array().map(|list| list.contains(&"MAIN".into())),
            Some(true)
        );
        assert_ne!(member("OTHER")["entry_point"], member("libp")["entry_point"]);
        assert_eq!(member("ALSO")["entry_point"], member("libp")["entry_point"]);
        assert_eq!(member("libp")["aliases"], serde_json::json!(["ALSO", "OTHER"]));
        let error = bad(2, &["lib", "alias", &path, "libp", "X=nothing"]);
        assert_eq!(error, format!("underbar: error: {path}: libp exports no function nothing\n"));
    }
}

#[test]
fn programs_that_exec_cannot_run_are_refused() {
    let folder = Folder::new("refused");
    let source = folder.file("p.c", "int main(void){return 7;}\n");
    let made = |tool: &str, words: &[&str]| {
        std::process::Command::new(tool).args(words).output().is_ok_and(|output| output.status.success())
    };
    let names = ["p.so", "pie", "fixed", "static", "object.o", "debug"].map(|name| folder.name(name));
    let [shared, pie, fixed, alone, object, debug] = names.each_ref().map(String::as_str);
    if !(made("cc", &["-shared", "-fPIC", "-g", "-o", shared, &source])
        && made("cc", &["-fPIE", "-pie", "-o", pie, &source])
        && made("cc", &["-no-pie", "-o", fixed, &source])
        && made("cc", &["-static-pie", "-fPIE", "-o", alone, &source])
        && made("cc", &["-c", "-o", object, &source])
        && made("objcopy", &["--only-keep-debug", shared, debug]))
    {
        eprintln!("skipped: cc, objcopy");
        return;
    }
    for flags in BOTH {
        let path = library(&folder, flags[1], flags, &[]);
        for (file, says) in [
            (
                pie,
                "an executable, which LOAD and exec cannot run: compile it with -fPIC and link it with -shared",
            ),
            (
                fixed,
                "an executable, which LOAD and exec cannot run: compile it with -fPIC and link it with -shared",
            ),
            (
                alone,
                "an executable, which LOAD and exec cannot run: compile it with -fPIC and link it with -shared",
            ),
            (object, "an object file that was not linked: link it with -shared"),
            (debug, "the program"),
        ] {
            let error = bad(2, &["lib", "add", &path, shared, file]);
            assert!(error.contains(file) && error.contains(says), "{error}");
        }
        assert_eq!(good(&["lib", "ls", &path]), "", "nothing came in");
        good(&["lib", "add", &path, shared]);
        let (code, _, error) = run(&["exec", &format!("{path}(p)")]);
        assert_eq!((code, error.as_str()), (7, ""), "what comes in runs");
    }
}

#[test]
fn a_folder_comes_in_whole_or_not_at_all() {
    let folder = Folder::new("whole");
    std::fs::create_dir(folder.path().join("in")).expect("a folder");
    folder.file("in/a.so", "data a");
    folder.file("in/b.so.1", "data b");
    folder.file("in/c.txt", "no shared object");
    let path = library(&folder, "lib", &[], &[]);
    let from = folder.name("in");
    assert_eq!(
        good(&["lib", "add", &path, &from]),
        format!("{path}: added 2; it has 2 members and 0 aliases\n")
    );
    folder.file("in/0.so", "comes first");
    folder.file("in/broken.so", "\x7fELF is not all that it takes");
    let error = bad(2, &["lib", "add", "--replace", &path, &from]);
    assert!(error.contains("broken.so: not a 64-bit program"), "{error}");
    assert_eq!(good(&["lib", "ls", &path]), "a\nb\n");
}

#[test]
fn what_is_no_plain_file_is_named_and_not_waited_for() {
    let folder = Folder::new("plain");
    let path = library(&folder, "lib", &[], &[("A", 1)]);
    let (pipe, place) = (folder.name("pipe"), folder.path().to_str().expect("text").to_owned());
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("it runs");
    assert!(made.success());
    // With a limit, so that the test ends even if the command does not.
    let limited = |arguments: &[&str]| {
        let mut command = std::process::Command::new("timeout");
        command.arg("60").arg(env!("CARGO_BIN_EXE_underbar")).arg("lib").args(arguments);
        said(&command.output().expect("it runs"))
    };
    for what in [pipe.as_str(), "/dev/zero", &place] {
        for arguments in [
            &["ls", what][..],
            &["info", what],
            &["verify", what],
            &["add", what, &path],
            &["delete", what, "A"],
            &["import", what, &path],
            &["export", "-o", "/nowhere/x", what],
            &["copy", what, &path],
        ] {
            let (code, _, error) = limited(arguments);
            let said = format!("underbar: error: {what}: is not a plain file\n");
            assert_eq!((code, error), (2, said), "{arguments:?}");
        }
    }
    for what in [pipe.as_str(), "/dev/zero"] {
        let (code, _, error) = limited(&["add", "--name", "B", &path, what]);
        assert_eq!((code, error.contains("is not a plain file")), (2, true), "{error}");
        assert_eq!(limited(&["survey", what]).2, format!("underbar: warning: {what}: is not a plain file\n"));
    }
    std::fs::create_dir(folder.path().join("empty")).expect("a folder");
    assert!(bad(2, &["lib", "add", &path, &folder.name("empty")]).contains("no shared object"));

    // Data from an open pipe is accepted.
    let data = folder.file("data", "through a pipe");
    let command =
        format!("cat {data} | {} lib add --name PIPED {path} /dev/stdin", env!("CARGO_BIN_EXE_underbar"));
    let added = std::process::Command::new("sh").args(["-c", &command]).output().expect("it runs");
    assert_eq!(said(&added).0, 0, "{added:?}");
    good(&["lib", "extract", "--to", &folder.name("out"), &path, "PIPED"]);
    assert_eq!(folder.read("out/PIPED"), "through a pipe");
}

#[test]
fn wrong_use_names_who_is_at_fault() {
    let folder = Folder::new("wrong");
    let path = library(&folder, "lib", &[], &[("A", 1)]);
    let file = folder.file("file", "x");
    let other = library(&folder, "other", &[], &[]);
    let tracks = library(&folder, "tracks", &["--organisation", "pds"], &[("AB", 1)]);
    for (arguments, says) in [
        (&["create", &path][..], format!("error: {path} is there already\n").as_str()),
        (&["create", "--organisation", "pds", "--space", "50", "x"], "--space is only for a PDSE"),
        (&["create", "--organisation", "pdse", "--directory", "5", "x"], "--directory is only for a PDS"),
        (
            &["copy", "--directory", "5", &path, "x"],
            "x: --directory is only for a PDS, and this is to be a PDSE",
        ),
        (
            &["copy", "--block-size", "6144", &path, &other],
            "other: it exists already, and --block-size is only for a new",
        ),
        (&["copy", "--organisation", "pds", &path, &other], "--organisation is only for a new library"),
        (&["copy", "--directory", "5", &path, &other], "--directory is only for a new library"),
        (&["copy", &file, "x"], format!("error: {file}: ").as_str()),
        (&["copy", "--select", "B", &path, "x"], format!("error: {path}: there is no member B").as_str()),
        (&["compress", "--directory", "5", &path], "--directory is only for a PDS, and this is a PDSE"),
        (&["ls", &file], "this is no program library"),
        (&["ls", "/nowhere/lib"], "No such file"),
        (&["delete", &path, "B"], "there is no member B"),
        (&["rename", &path, "A", "A"], "there is a member A already"),
        (&["alias", &path, "A", "A"], "there is a member A already"),
        (
            &["add", "--name", "A", &path, &file],
            "there is a member A already; add and copy replace members with --replace",
        ),
        (&["add", "--name", "B", &path, &file, &file], "--name and --alias are for one file"),
        (&["extract", "--suffix", "/x", &path], "/x"),
        (&["info", &path, "B"], "there is no member B\n"),
        (&["info", &path, "a"], "there is no member a; there is A\n"),
        (&["rename", &path, "a", "C"], "there is no member a; there is A\n"),
        (&["delete", &path, "a"], "there is no member a; there is A\n"),
        (&["alias", &path, "a", "C"], "there is no member a; there is A\n"),
        (&["copy", "--select", "a", &path, "x"], "there is no member a; there is A\n"),
        (&["extract", &path, "a"], "there is no member a; there is A\n"),
        (&["delete", &tracks, "ab"], "there is no member ab; there is AB\n"),
        (&["rename", &tracks, "ab", "C"], "there is no member ab; there is AB\n"),
    ] {
        let error = bad(2, &[&["lib"], arguments].concat());
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
    for arguments in [
        &["create", "--block-size", "255", "x"][..],
        &["create", "--block-size", "32761", "x"],
        &["add", "--fetchopt", "PACK,NOPRIME", &path, &file],
        &["add", "--name", "../up", &path, &file],
        &["delete", &path, ".."],
        &["ls"],
        &["nonsense"],
        &[],
    ] {
        let (code, output, _) = run(&[&["lib"], arguments].concat());
        assert_eq!((code, output.as_str()), (2, ""), "{arguments:?}");
    }
    assert_eq!(good(&["lib", "ls", &path]), "A\n");
}

#[test]
fn damage_is_exit_status_1_and_named() {
    let folder = Folder::new("damage");
    let path = library(&folder, "lib", &[], &[("A", 50_000), ("B", 20)]);
    damage(&path, &[50_000]);
    let (code, output, error) = run(&["lib", "verify", &path]);
    assert_eq!((code, error.as_str()), (1, ""));
    assert!(output.contains("member A: ") && output.ends_with("1 problem\n"), "{output}");
    let (code, _, error) = run(&["lib", "extract", "--to", &folder.name("out"), &path]);
    assert!(code == 2 && error.contains("member A"), "{error}");
}

#[test]
fn extract_goes_on_behind_a_damaged_member_and_names_it() {
    for flags in BOTH {
        let folder = Folder::new("extract-damage");
        let lengths = [("A", 50_000), ("B", 20), ("C", 60_001), ("D", 30)];
        let path = library(&folder, "lib", flags, &lengths);
        damage(&path, &[50_000, 60_001]);
        let out = folder.name("out");
        let (code, output, error) = run(&["lib", "extract", "--json", "--to", &out, &path]);
        assert_eq!(code, 2, "{error}");
        assert!(
            error.contains("member A is damaged: ") && error.contains("member C is damaged: "),
            "{error}"
        );
        let json: serde_json::Value = serde_json::from_str(&output).expect("JSON");
        let names = |list: &str, key: &str| -> Vec<String> {
            let list = json[list].as_array().expect("a list").iter();
            list.map(|one| if key.is_empty() { one } else { &one[key] })
                .map(|name| name.as_str().expect("a text").rsplit('/').next().unwrap_or_default().to_owned())
                .collect()
        };
        assert_eq!(names("damaged", "name"), ["A", "C"]);
        assert_eq!(names("files", ""), ["B", "D"], "and no part of what is damaged");
        assert_eq!(std::fs::read_dir(&out).expect("a folder").count(), 2);
        assert!(folder.read("out/D") == folder.read("D.data"));
        let (code, _, error) = run(&["lib", "extract", "--to", &out, &path, "A"]);
        assert!(code == 2 && error.contains("member A is damaged"), "{error}");
    }
}

#[test]
fn extract_goes_on_behind_a_file_that_is_there_and_names_it() {
    let folder = Folder::new("there");
    let path = library(&folder, "lib", &[], &[("A", 10), ("B", 20), ("C", 30), ("D", 40)]);
    let out = folder.name("out");
    std::fs::create_dir_all(folder.path().join("out/C")).expect("a folder of a member's name");
    folder.file("out/A", "mine");
    for force in [&[][..], &["--force"]] {
        let (code, output, error) =
            run(&[&["lib", "extract", "--json", "--to", &out, &path], force].concat());
        assert_eq!(code, 2);
        let json: serde_json::Value = serde_json::from_str(&output).expect("JSON");
        let left = json["left"].as_array().expect("a list");
        let lines: Vec<String> = error.lines().map(str::to_owned).collect();
        let named: Vec<String> =
            left.iter().map(|one| format!("underbar: error: {}", one.as_str().expect("text"))).collect();
        assert_eq!(lines, named);
        assert_eq!(json["untried"], 0);
        if force.is_empty() {
            assert!(named.len() == 2 && named[0].contains("out/A exists already"), "{named:?}");
            assert_eq!((folder.read("out/A").as_str(), folder.read("out/D").len()), ("mine", 40));
            assert_eq!(json["bytes"], 60);
        } else {
            assert!(named.len() == 1 && named[0].contains("out/C: "), "{named:?}");
            assert_eq!(folder.read("out/A"), folder.read("A.data"));
        }
    }
    let names = std::fs::read_dir(&out).expect("a folder").count();
    assert_eq!(names, 4, "and nothing that was begun");
}

#[test]
fn a_library_is_never_replaced_by_what_is_read_of_it() {
    let folder = Folder::new("own");
    let path = library(&folder, "A", &[], &[("A", 10), ("B", 20)]);
    let before = std::fs::read(&path).expect("there");
    let link = folder.name("link");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    let hard = folder.name("hard");
    std::fs::hard_link(&path, &hard).expect("a link");
    for (from, to) in [(&path, &path), (&link, &path), (&link, &link), (&path, &hard)] {
        let error = bad(2, &["lib", "export", "--force", "-o", to, from]);
        assert!(error.contains("this is the library itself"), "{error}");
    }
    let place = folder.path().to_str().expect("text");
    let (code, output, error) = run(&["lib", "extract", "--force", "--to", place, &path]);
    assert_eq!((code, output), (2, format!("{path}: 1 file, 20 bytes\n")));
    assert!(error.contains("/A: this is the library itself, and was left alone\n"), "{error}");
    assert!(std::fs::read(&path).expect("there") == before && folder.read("B").len() == 20);
    // A link to the library is replaced, and not its target.
    good(&["lib", "export", "--force", "-o", &link, &path]);
    assert!(std::fs::read(&path).expect("there") == before);
    let error = bad(2, &["lib", "export", "-o", &link, &path]);
    assert!(
        error.ends_with("link exists already and was left alone; use --force to replace it\n"),
        "{error}"
    );
}

#[test]
fn who_is_killed_while_writing_leaves_no_torn_file() {
    let folder = Folder::new("torn");
    let path = library(&folder, "lib", &[], &[("A", 10), ("BIG", 90_000)]);
    let (out, sent) = (folder.name("out"), folder.name("sent.xmi"));
    folder.file("sent.xmi", "the one before");
    for arguments in [&["extract", "--to", &out, &path][..], &["export", "--force", "-o", &sent, &path]] {
        // The kernel kills a process that writes a file beyond this limit, of at most 16 KiB.
        let killed = std::process::Command::new("sh")
            .args([
                "-c",
                "ulimit -c 0; ulimit -f 16; exec \"$@\"",
                "sh",
                env!("CARGO_BIN_EXE_underbar"),
                "lib",
            ])
            .args(arguments)
            .output()
            .expect("it runs");
        assert!(!killed.status.success(), "{killed:?}");
    }
    assert!(folder.path().join("out/A").exists() && !folder.path().join("out/BIG").exists());
    assert_eq!(folder.read("sent.xmi"), "the one before");
    // The next try removes the unfinished files.
    std::fs::remove_file(folder.path().join("out/A")).expect("removed");
    good(&["lib", "extract", "--to", &out, &path]);
    good(&["lib", "export", "--force", "-o", &sent, &path]);
    assert_eq!(good(&["lib", "ls", &sent]), "A\nBIG\n");
    let begun = |place: &std::path::Path| {
        let entries = std::fs::read_dir(place).expect("a folder").flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".new")).count()
    };
    assert_eq!((begun(folder.path()), begun(&folder.path().join("out"))), (0, 0));
}

#[test]
fn a_survey_says_what_would_be_better() {
    let folder = Folder::new("survey");
    let many: Vec<(String, usize)> =
        (0..8).map(|number| (format!("M{number}"), 90_000 + number * 5_003)).collect();
    let many: Vec<(&str, usize)> = many.iter().map(|(name, length)| (name.as_str(), *length)).collect();
    library(&folder, "small.pds", &["--organisation", "pds", "--block-size", "6144"], &many);
    library(&folder, "large.pds", &["--organisation", "pds"], &many);
    library(&folder, "a.pdse", &[], &many);
    std::fs::write(
        folder.path().join("cut.pds"),
        &std::fs::read(folder.name("small.pds")).expect("there")[..9000],
    )
    .expect("written");
    let place = folder.name("");
    let (code, text, error) = run(&["lib", "survey", &place]);
    assert_eq!(code, 2, "something could not be read");
    let small = folder.name("small.pds");
    let twice = good(&["lib", "survey", &small, &small, &folder.name("./small.pds")]);
    assert!(twice.starts_with("1 library: "), "{twice}");
    assert!(error.contains("the library is cut"), "{error}");
    assert!(text.starts_with("3 libraries: 2 PDS, 1 PDSE\n"), "{text}");
    assert!(
        text.contains(
            "50.0 % of the PDS libraries have a block size of 32,000 or more, 50.0 % have 8K or less"
        )
    );
    assert!(text.contains("small.pds: copy it at a block size of 32760"), "{text}");
    let (_, json, _) = run(&["lib", "survey", "--json", &place]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let library = |name: &str| {
        let libraries = json["libraries"].as_array().expect("a list");
        libraries
            .iter()
            .find(|one| one["name"].as_str().is_some_and(|path| path.ends_with(name)))
            .expect(name)
            .clone()
    };
    let (small, large) = (library("small.pds"), library("large.pds"));
    assert_eq!(small["copied"][5], large["copied"][5], "a copy at 32,760 is the same, whatever was copied");
    assert_eq!(large["now"]["tracks"], large["copied"][0]["tracks"], "computed as it lies");
    assert_eq!(large["advice"], serde_json::json!([]));
    assert_eq!(json["unreadable"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_label_that_is_not_whole_is_named_and_nothing_is_lost_for_good() {
    let folder = Folder::new("label");
    // Created: generations 0 and 1; A makes 2, in page 0, B makes 3, in page 1.
    let path = library(&folder, "a.pdse", &[], &[("A", 10), ("B", 20)]);
    let sound = std::fs::read(&path).expect("read");
    let with = |at: usize, bytes: &[u8]| {
        let mut damaged = sound.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        std::fs::write(&path, &damaged).expect("written");
        damaged
    };
    let verify = || {
        let (code, output, _) = run(&["lib", "verify", &path]);
        assert_eq!(code, 1, "{output}");
        output
    };

    // One bit of the newest label: B seems gone; a change would make it so.
    let damaged = with(4096 + 40, &[sound[4096 + 40] ^ 1]);
    assert!(verify().contains("its label in page 1 is damaged, and may be the newest"));
    for flags in [&["ls"][..], &["ls", "--json"], &["info"], &["info", "--json"]] {
        let (code, _, error) = run(&[&["lib"], flags, &[&path]].concat());
        assert!(code == 0 && error.contains("label in page 1 is damaged"), "{error}");
    }
    let (code, _, error) = run(&["exec", &format!("{path}(B)")]);
    assert!(code == 127 && error.contains("label in page 1 is damaged"), "{error}");
    assert!(error.contains("no program B"), "{error}");
    let (_, _, error) = run(&["exec", &format!("{path}(a)")]);
    assert!(error.contains("no program a in the libraries; there is A\n"), "{error}");
    for flags in [&["ls"][..], &["info"], &["extract", "--to", &folder.name("json")]] {
        let (_, output, _) = run(&[&["lib"], flags, &["--json", &path]].concat());
        let json: serde_json::Value = serde_json::from_str(&output).expect("JSON");
        assert!(json["faults"][0].as_str().is_some_and(|text| text.contains("page 1 is damaged")), "{json}");
    }
    let out = folder.name("out");
    assert!(run(&["lib", "extract", "--to", &out, &path]).2.contains("label in page 1 is damaged"));
    let (code, output, error) = run(&["lib", "survey", &path]);
    assert!(code == 0 && output.starts_with("1 library"), "{output}");
    assert!(error.contains(&format!("{path}: its label in page 1 is damaged")), "{error}");
    let json: serde_json::Value =
        serde_json::from_str(&run(&["lib", "survey", "--json", &path]).1).expect("JSON");
    assert_eq!(json["doubtful"][0]["library"], path);
    assert!(json["doubtful"][0]["why"].as_str().is_some_and(|why| why.contains("page 1")), "{json}");
    assert!(bad(2, &["lib", "delete", &path, "A"]).contains("nothing is changed"));
    assert!(bad(2, &["lib", "compress", &path]).contains("nothing is changed"));
    assert!(std::fs::read(&path).expect("read") == damaged);
    let copy = folder.name("copy.pdse");
    assert!(run(&["lib", "copy", &path, &copy]).2.contains("label in page 1"));
    assert_eq!(good(&["lib", "ls", &copy]), "A\n");

    // The older label: nothing is lost, and the next change makes it whole.
    with(40, &[sound[40] ^ 1]);
    assert!(verify().contains("its label in page 0 is damaged; it was the older one"));
    let (code, _, error) = run(&["lib", "rename", &path, "B", "C"]);
    assert!(code == 0 && error.contains("page 0"), "{error}");
    assert_eq!(good(&["lib", "ls", &path]), "A\nC\n");
    assert!(good(&["lib", "verify", &path]).contains("all sound"));

    // The newest label after a power cut: its figures without its sum.
    with(8184, &[1; 8]);
    assert!(verify().contains("its label in page 1 is cut short"));
    let (code, _, error) = run(&["lib", "rename", &path, "A", "D"]);
    assert!(code == 0 && error.contains("generation 2"), "{error}");
    assert_eq!(good(&["lib", "ls", &path]), "D\n");
    assert!(good(&["lib", "verify", &path]).contains("all sound"));
}
