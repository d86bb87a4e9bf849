//! `lib` on files of mainframes: made by export, and read back by every command.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a test is no door to anybody's terminal"
)]

mod common;

use common::{Folder, bad, good, run};

/// A library of underbar with these members of data (NAME and length), exported as a transmission; returns the paths of both.
fn sent(folder: &Folder, name: &str, data_set: &str, members: &[(&str, usize)]) -> (String, String) {
    let (ours, file) = (folder.name(&format!("{name}.pds")), folder.name(&format!("{name}.xmi")));
    good(&["lib", "create", "--organisation", "pds", "--block-size", "6144", &ours]);
    for (member, length) in members {
        let bytes: Vec<u8> = (0..*length).map(|at| b'a' + (at * 7 % 26) as u8).collect();
        let data = folder.file(&format!("{member}.data"), bytes);
        good(&["lib", "add", "--name", member, &ours, &data]);
    }
    good(&["lib", "export", "-o", &file, "--name", data_set, &ours]);
    (ours, file)
}

fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&good(arguments)).expect("JSON")
}

#[test]
fn a_library_that_was_sent_is_read_as_it_was() {
    let folder = Folder::new("sent");
    let (ours, file) = sent(&folder, "a", "MY.LOAD", &[("BIG", 20_000), ("SMALL", 100)]);
    good(&["lib", "alias", &ours, "BIG", "ALSO"]);
    assert!(bad(2, &["lib", "export", "-o", &file, &ours]).contains("exists already"));
    // `-` is standard output elsewhere; no file of that name is made.
    assert!(bad(2, &["lib", "export", "-o", "-", &ours]).contains("a transmission must go to a file"));
    assert!(!std::path::Path::new("-").exists());
    good(&["lib", "export", "--force", "-o", &file, "--name", "MY.LOAD", &ours]);
    assert_eq!(good(&["lib", "ls", &file]), "ALSO\nBIG\nSMALL\n");
    let list = good(&["lib", "ls", "-l", &file]);
    let lines: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((lines[0][3], lines[2][0], lines[2][1]), ("ALIAS-OF", "BIG", "20000"), "{list}");
    let said = json(&["lib", "ls", "--json", "-l", &file]);
    assert_eq!(said["label"]["name"], "MY.LOAD");
    assert_eq!(said["label"]["block_size"], 6_144);
    assert_eq!(said["members"][1]["blocks"], 4);
    assert_eq!(said["faults"], serde_json::json!([]));
    let info = good(&["lib", "info", &file]);
    assert!(info.contains("MY.LOAD: PDS, RECFM=U, block size 6144\n"), "{info}");
    assert!(info.contains("  block lengths    3 x 6144, "), "{info}");
    assert!(good(&["lib", "info", &file, "BIG"]).contains("  size             20000 bytes\n"));
    assert_eq!(
        json(&["lib", "info", "--json", &file, "BIG"])["members"][0]["block_sizes"][0]["length"],
        6_144
    );
    assert!(bad(2, &["lib", "info", &file, "NONE"]).contains("there is no member NONE\n"));
    for command in [&["info"][..], &["extract", "--to", &folder.name("none")]] {
        let error = bad(2, &[&["lib"], command, &[&file, "big"]].concat());
        assert!(error.contains("there is no member big; there is BIG\n"), "{error}");
    }

    let out = folder.name("out");
    good(&["lib", "extract", "--to", &out, &file]);
    assert!(folder.read("out/BIG") == folder.read("BIG.data") && folder.read("out/SMALL").len() == 100);
    let (code, _, error) = run(&["lib", "extract", "--to", &out, &file, "BIG"]);
    assert!(code == 2 && error.contains("BIG exists already"), "{error}");
    good(&["lib", "extract", "--to", &out, &file, "ALSO"]);
    assert_eq!(folder.read("out/ALSO"), folder.read("BIG.data"));
    assert!(
        good(&["lib", "extract", "--blocks", "--to", &out, &file, "BIG"]).contains("4 files, 20000 bytes")
    );
    assert_eq!(folder.read("out/BIG.00001").len(), 6_144);

    let mine = folder.name("mine.pdse");
    good(&["lib", "create", &mine]);
    assert_eq!(
        good(&["lib", "import", &file, &mine]),
        format!("{mine}: imported 2; it has 2 members and 1 alias\n")
    );
    assert!(bad(2, &["lib", "import", &file, &mine, "BIG"]).contains("there is a member BIG already"));
    good(&["lib", "import", "--replace", &file, &mine, "BIG"]);
    assert_eq!(good(&["lib", "ls", &mine]), "ALSO\nBIG\nSMALL\n");
    good(&["lib", "extract", "--to", &folder.name("again"), &mine]);
    assert_eq!(folder.read("again/BIG"), folder.read("BIG.data"));
    assert!(
        bad(2, &["lib", "import", &mine, &ours]).contains("this is a library of underbar; use `lib copy`")
    );

    let again = folder.name("again.xmi");
    good(&["lib", "export", "-o", &again, &file]);
    assert_eq!(good(&["lib", "ls", "-l", &again]), good(&["lib", "ls", "-l", &file]));
}

#[test]
fn one_of_several_libraries_is_named() {
    let folder = Folder::new("several");
    let (_, inner) = sent(&folder, "in", "IN.LOAD", &[("A", 5_000)]);
    let outer = folder.name("outer.pds");
    good(&["lib", "create", "--organisation", "pds", &outer]);
    // The members of a library of programs are not searched: the outer one is a tape.
    let bytes = std::fs::read(&inner).expect("there");
    let mut tape = Vec::new();
    for _ in 0..2 {
        let mut before = 0u16;
        for block in bytes.chunks(3_200) {
            let length = block.len() as u16;
            tape.extend([length.to_le_bytes(), before.to_le_bytes(), 0xA0u16.to_le_bytes()].concat());
            tape.extend(block);
            before = length;
        }
        tape.extend([[0, 0], before.to_le_bytes(), 0x40u16.to_le_bytes()].concat());
    }
    tape.extend([[0, 0], [0, 0], 0x40u16.to_le_bytes()].concat());
    let tape = folder.file("two.aws", tape);
    let error = bad(2, &["lib", "ls", &tape]);
    assert!(error.contains("it holds 2 libraries: choose one by --dsn"), "{error}");
    assert!(bad(2, &["lib", "ls", "--dsn", "IN.LOAD", &tape]).contains("several"));
    assert!(bad(2, &["lib", "ls", "--dsn", "NO.LOAD", &tape]).contains("it holds no library NO.LOAD"));
    assert_eq!(good(&["lib", "ls", "--dsn", "2", &tape]), "A\n");
    let info = good(&["lib", "info", &tape]);
    assert!(info.contains("2. IN.LOAD: a PDS, RECFM=U, block size 6144, 1 member, 0 aliases\n"), "{info}");
    assert_eq!(json(&["lib", "info", "--json", &tape])["holds"].as_array().map(Vec::len), Some(5));
    assert!(good(&["lib", "info", "--dsn", "1", &tape]).contains("IN.LOAD: PDS, RECFM=U"));
    let (_, json, _) = run(&["lib", "survey", "--json", &tape]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["libraries"].as_array().map(Vec::len), Some(2));
}

#[test]
fn members_without_data_of_a_program_are_not_taken_for_load_modules() {
    let folder = Folder::new("no-modules");
    let (ours, file) = (folder.name("a.pds"), folder.name("a.xmi"));
    good(&["lib", "create", "--organisation", "pds", &ours]);
    // Blocks that begin like control records of text do, and ask for another block.
    let bytes: Vec<u8> = [1u8, 0, 0, 0, 0, 0, 0, 8, 6, 0, 0, 0, 0, 0, 0x7F, 0xF8].repeat(12_000);
    let data = folder.file("data", &bytes);
    for member in ["A", "B", "C"] {
        good(&["lib", "add", "--name", member, &ours, &data]);
    }
    good(&["lib", "export", "-o", &file, &ours]);
    let info = good(&["lib", "info", &file, "A"]);
    assert!(!info.contains("CESD") && !info.contains("wrong"), "{info}");
    assert!(info.contains("  block lengths    5 x 32760, 1 x 28200\n"), "{info}");
    let survey = json(&["lib", "survey", "--json", &file]);
    let survey = &survey["libraries"][0];
    assert_eq!(survey["advice"], serde_json::json!([]), "nothing was ever deleted from it");
    let tracks: Vec<u64> =
        survey["copied"].as_array().expect("a list").iter().filter_map(|at| at["tracks"].as_u64()).collect();
    assert_eq!(Some(tracks[0]), survey["now"]["tracks"].as_u64(), "as it lies");
    // Its own size, then 6,144, 18,452, 23,440, 27,998, 32,760: a track has 8, 3, 2, 2 and 1 whole blocks.
    assert_eq!(tracks, [18, 12, 12, 12, 11, 18]);
}

#[test]
fn an_alias_alone_comes_in_as_a_member_and_that_is_said() {
    let folder = Folder::new("alias-alone");
    let (ours, file) = sent(&folder, "a", "MY.LOAD", &[("BIG", 20_000), ("SMALL", 100)]);
    good(&["lib", "alias", &ours, "BIG", "ALSO"]);
    good(&["lib", "export", "--force", "-o", &file, &ours]);
    let mine = folder.name("mine.pdse");
    good(&["lib", "create", &mine]);
    let (code, _, error) = run(&["lib", "import", &file, &mine, "ALSO"]);
    let said = "ALSO is an alias of BIG, which was not named: it becomes a member, with the data of BIG";
    assert!(code == 0 && error.contains(said), "{error}");
    assert_eq!(json(&["lib", "ls", "--json", &mine])["members"][0]["alias_of"], serde_json::Value::Null);
    good(&["lib", "extract", "--to", &folder.name("out"), &mine]);
    assert!(folder.read("out/ALSO") == folder.read("BIG.data"));
    // Both: a member and its alias.
    let both = folder.name("both.pdse");
    good(&["lib", "create", &both]);
    let (code, output, error) = run(&["lib", "import", &file, &both, "ALSO", "BIG"]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(output.contains("imported 1; it has 1 member and 1 alias"), "{output}");
}

#[test]
fn export_names_the_file_that_it_cannot_write() {
    let folder = Folder::new("unwritten");
    let (ours, _) = sent(&folder, "a", "MY.LOAD", &[("A", 100)]);
    let to = folder.name("nowhere/x.xmi");
    let error = bad(2, &["lib", "export", "-o", &to, &ours]);
    assert!(error.contains(&format!("error: {to}: No such file")), "{error}");
    let error = bad(2, &["lib", "export", "-o", &folder.name(""), "--force", &ours]);
    assert!(!error.contains(&ours), "{error}");
}

#[test]
fn names_that_no_mainframe_has_are_refused_and_leave_no_file() {
    let folder = Folder::new("refused");
    let ours = folder.name("a.pdse");
    let (file, data) = (folder.name("a.xmi"), folder.file("data", "x"));
    good(&["lib", "create", &ours]);
    good(&["lib", "add", "--name", "much_too_long", &ours, &data]);
    let error = bad(2, &["lib", "export", "-o", &file, &ours]);
    assert!(error.contains("much_too_long cannot be a member's name on a mainframe"), "{error}");
    assert!(!std::path::Path::new(&file).exists());
    good(&["lib", "rename", &ours, "much_too_long", "GOOD"]);
    assert!(
        bad(2, &["lib", "export", "-o", &file, "--name", "toolongqualifier", &ours]).contains("qualifiers")
    );
    let (code, ..) = run(&["lib", "ls", "--codepage", "12345", &ours]);
    assert_eq!(code, 2);
}

#[test]
fn a_cut_carrier_is_told_and_what_is_there_is_listed() {
    let folder = Folder::new("cut-carrier");
    let (_, file) = sent(&folder, "a", "MY.LOAD", &[("A", 30_000), ("B", 30_000)]);
    let bytes = std::fs::read(&file).expect("there");
    let cut = folder.file("cut.xmi", &bytes[..bytes.len() / 2]);
    let (code, output, error) = run(&["lib", "ls", &cut]);
    assert_eq!((code, output.as_str()), (0, "A\nB\n"));
    assert!(error.contains("warning: "), "{error}");
}

#[test]
fn a_survey_takes_carriers_and_lists() {
    let folder = Folder::new("survey-carriers");
    let members: Vec<(String, usize)> = (0..8).map(|one| (format!("M{one}"), 90_000 + one * 5_003)).collect();
    let members: Vec<(&str, usize)> = members.iter().map(|(name, length)| (name.as_str(), *length)).collect();
    let (ours, file) = sent(&folder, "a", "MY.LOAD", &members);
    let listds = folder.file(
        "list.txt",
        "A.LOAD\n--RECFM-LRECL-BLKSIZE-DSORG\n  U     0     6144    PO\n--VOLUMES--\n  V1\n\
         A.TEXT\n--RECFM-LRECL-BLKSIZE-DSORG\n  FB    80    27920   PO\n--VOLUMES--\n  V1\n",
    );
    let json = json(&["lib", "survey", "--json", &ours, &file, &listds]);
    assert_eq!((json["pds"].as_u64(), json["block_sizes"][0]["libraries"].as_u64()), (Some(3), Some(3)));
    assert_eq!(json["lists"][0]["program_libraries"], 1);
    assert_eq!(json["lists"][0]["data_sets"], 2);
    let listed = json["libraries"].as_array().expect("a list").iter().find(|one| one["name"] == "A.LOAD");
    let listed = listed.expect("listed");
    assert_eq!((&listed["listed"], &listed["copied"]), (&true.into(), &serde_json::json!([])));
    assert_eq!(listed["advice"][0]["rule"], "block-size-listed");
    assert!(json["now"]["tracks"].as_u64() > Some(0), "of the two whose members are known: {json}");
    let text = good(&["lib", "survey", &folder.name("")]);
    assert!(text.contains("list.txt: a list of LISTCAT, 2 data sets, libraries of programs: 1"), "{text}");
    assert!(text.contains("\n1 of the PDS libraries are known from lists only"), "{text}");
    assert!(bad_survey(&folder).contains("is no list of libraries"));
}

/// The message about a named file of no known kind.
fn bad_survey(folder: &Folder) -> String {
    let file = folder.file("nothing", "at all");
    let (code, _, error) = run(&["lib", "survey", &file]);
    assert_eq!(code, 2);
    error
}

#[test]
fn what_is_cut_is_taken_not_at_all_and_named() {
    let folder = Folder::new("cut");
    let sent = common::transmission(folder.path());
    let whole = std::fs::read(&sent).expect("read");
    // In the midst of B: A is sound.
    let cut = folder.file("cut.xmi", &whole[..40_000]);
    let mine = folder.name("mine.pdse");
    good(&["lib", "create", &mine]);
    let (code, _, error) = run(&["lib", "import", &cut, &mine]);
    assert!(
        code == 2 && error.contains("member B is damaged") && error.contains("member C is damaged"),
        "{error}"
    );
    let (code, output, _) = run(&["lib", "import", "--json", &cut, &mine]);
    assert!(code == 2 && output.contains("\"damaged\"") && output.contains("\"faults\""), "{output}");
    assert_eq!(good(&["lib", "ls", &mine]), "", "none came in");
    assert_eq!(run(&["lib", "import", &cut, &mine, "A"]).0, 0, "A is sound");

    let out = folder.name("out");
    let (code, output, error) = run(&["lib", "extract", "--json", "--to", &out, &cut]);
    assert!(code == 2 && error.contains("member B is damaged"), "{error}");
    assert!(output.contains("\"damaged\"") && output.contains("\"faults\""), "{output}");
    let files: Vec<_> =
        std::fs::read_dir(&out).expect("a folder").map(|file| file.expect("file").file_name()).collect();
    assert_eq!(files, ["A"]);
    assert!(folder.read("out/A") == folder.read("A.sent"));

    let there = folder.file("there.xmi", "as it was");
    let (code, _, error) = run(&["lib", "export", "--force", "-o", &there, &cut]);
    assert!(code == 2 && error.contains("member C is damaged"), "{error}");
    assert_eq!(folder.read("there.xmi"), "as it was");

    assert!(
        bad(2, &["lib", "verify", &sent])
            .contains("this is a mainframe's library, and verify is for underbar's")
    );
    let missing = folder.name("missing");
    for command in ["ls", "info", "verify", "extract"] {
        let error = bad(2, &["lib", command, &missing]);
        assert_eq!(error.matches(&missing).count(), 1, "{error}");
    }
}

#[test]
fn a_survey_of_lists_counts_once_and_leaves_blank_what_is_not_told() {
    let folder = Folder::new("survey-lists");
    let heading = "DSLIST - Data Sets Matching A\nCommand - Enter \"/\" to select action      Dsorg  Recfm  Lrecl  Blksz\n";
    let line = |name: &str, size: u32| format!("         {name:<33}PO     U          0  {size}\n");
    let one = format!("{heading}{}{}{}", line("A.ONE", 6_144), line("A.TWO", 32_760), line("A.BAD", 99_999));
    let two = format!("{heading}{}{}", line("A.ONE", 6_144), line("A.TWO", 6_144));
    let (one, two) = (folder.file("one.txt", one), folder.file("two.txt", two));
    let (code, output, error) = run(&["lib", "survey", &one, &two]);
    assert_eq!(code, 0, "{error}");
    assert!(output.starts_with("2 libraries: 2 PDS, 0 PDSE"), "{output}");
    assert!(error.contains("A.BAD: no data set has a block size of 99999"), "{error}");
    assert!(error.contains("A.TWO: block size 32760 and 6144; the first counts"), "{error}");
    let row: Vec<&str> =
        output.lines().find(|line| line.starts_with("A.ONE")).expect("a row").split_whitespace().collect();
    assert_eq!(row, ["A.ONE", "PDS", "6144"], "members, directory and tracks are blank");
    assert!(!output.contains("ALL PDS") && !output.lines().any(|line| line.starts_with("now ")), "{output}");
    assert!(output.contains("\n2 of the PDS libraries are known from lists only"), "{output}");
    let json: serde_json::Value =
        serde_json::from_str(&run(&["lib", "survey", "--json", &one, &two]).1).expect("JSON");
    let first = &json["libraries"][0];
    assert!(first["members"].is_null() && first["now"]["tracks"].is_null(), "{first}");
    assert_eq!(json["contradictions"].as_array().map(Vec::len), Some(1));
    assert!(json["now"].is_null() && json["copied"] == serde_json::json!([]), "{json}");
}
