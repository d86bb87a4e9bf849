//! `cargo xtask try-listings DIR`: every file of a folder as a listing, and the findings.
//!
//! With `--advice` also the advice, as `underbar advise` would give it for that file alone. Real listings are other people's:
//! they are kept outside of the project.
//!
//! Invariant: each file has a line, even without findings; an unreadable file is a failure.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use underbar_advise::listing::{Collected, settings};
use underbar_advise::render::{Form, text, values};
use underbar_advise::{advise_listing, check_texts};
use underbar_listing::{Reader, shown};

/// Reads a folder and all below it; true when every file could be read.
pub fn command(words: &[&str]) -> Result<bool, String> {
    let usage = || "cargo xtask try-listings DIR [--advice]".to_owned();
    let (mut advice, mut folder) = (false, None);
    for word in words {
        match *word {
            "--advice" => advice = true,
            path if folder.is_none() && !path.starts_with('-') => folder = Some(PathBuf::from(path)),
            _ => return Err(usage()),
        }
    }
    let folder = folder.ok_or_else(usage)?;
    let mut paths = Vec::new();
    files(&folder, &mut paths).map_err(|error| format!("{}: {error}", folder.display()))?;
    paths.sort();
    let (mut understood, mut failed) = (0, 0);
    for path in &paths {
        let mut collected = Collected::default();
        println!("== {}", path.display());
        match read(path, &mut collected) {
            Err(error) => {
                failed += 1;
                println!("fault: {error}");
            }
            Ok(()) if collected.items == 0 => println!("nothing was found"),
            Ok(()) => {
                understood += 1;
                if advice {
                    advise(&collected);
                }
            }
        }
    }
    println!("{} files; in {understood} something was found, {failed} could not be read", paths.len());
    Ok(failed == 0)
}

fn files(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path, collected: &mut Collected) -> io::Result<()> {
    let (mut file, mut piece) = (File::open(path)?, vec![0; 256 << 10]);
    collected.file(&path.file_name().unwrap_or_default().to_string_lossy());
    let mut reader = Reader::new();
    let mut take = |item| {
        print!("{}", shown(&item));
        collected.take(item);
    };
    loop {
        match file.read(&mut piece)? {
            0 => break,
            length => reader.feed(&piece[..length], &mut take),
        }
    }
    let lines = reader.finish(&mut take);
    println!("{lines} lines");
    Ok(())
}

fn advise(collected: &Collected) {
    let all = advise_listing(collected);
    all.iter().for_each(|advice| print!("{advice}"));
    print!("{}", values::text(&all).unwrap_or_default());
    check_texts(collected).iter().for_each(|found| print!("{}", text::check(found)));
    for program in &collected.programs {
        if let Some(text) = Form::Ceeopts.text(&settings(&all, &program.name)) {
            print!("for {}: {text}", program.name);
        }
    }
}
