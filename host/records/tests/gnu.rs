//! Keys of lines against GNU `sort`: the same bytes.

mod common;

use std::process::Command;

use common::{Folder, Random, sort_bytes};
use underbar_records::statement::Statements;
use underbar_records::{Format, Plan, line_keys};

#[test]
fn keys_of_lines_are_those_of_gnu_sort() {
    if !Command::new("sort").arg("--version").output().is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: sort is not installed");
        return;
    }
    let folder = Folder::new("gnu");
    let mut random = Random(0x6e75);
    // Few letters, so that keys are equal, blanks, bytes above 127, and lines shorter than keys. No NUL: that one is a pad here.
    let letters = b"  ab\tz\x80\xff";
    let mut text = Vec::new();
    for _ in 0..20_000 {
        let length = random.below(30);
        text.extend((0..length).map(|_| letters[random.below(letters.len() as u64) as usize]));
        text.push(b'\n');
    }
    let path = folder.file("in", &text);
    for keys in [
        &["1"][..],
        &["1r"],
        &["1.1,1.10"],
        &["1.3,1.4r"],
        &["1.5"],
        &["1.2,1.2", "1.8"],
        &["1.8r", "1.1,1.1"],
        &["1,1.20r", "1.25,1.30"],
    ] {
        let mut gnu = Command::new("sort");
        gnu.arg("-s").arg(&path).env("LC_ALL", "C").args(keys.iter().flat_map(|key| ["-k", key]));
        let expect = gnu.output().expect("sort runs").stdout;
        let order = keys.iter().map(|key| line_keys::read(key).expect(key)).collect();
        let mut plan = Plan::new(Format::Lines, Statements::of(order, Format::Lines));
        plan.memory = 1 << 20;
        let sorted = sort_bytes(&[&text], &plan).expect("sorted").0;
        assert!(sorted == expect, "{keys:?}");
    }
}
