//! The source package of the installed C library, from the mirrors of this machine's apt.
//!
//! apt gets its own lists and folders below `target/`, so that nothing of the machine's is changed; its `deb` lines are
//! read as `deb-src`. A fetched package is not fetched again.
//!
//! Invariant: the source is of exactly the installed version. A folder without its mark is half unpacked and made again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::steps::{command, output, succeeds};

/// The folder of the unpacked source, which is fetched if it is missing.
pub fn provide(folder: &Path) -> Result<PathBuf, String> {
    let asked =
        output(&mut command("dpkg-query", &["-W", "-f", "${source:Package} ${source:Version}", "libc6"]));
    let asked = asked.ok_or("dpkg-query does not know libc6: this needs Debian or a relative")?;
    let (package, version) = asked.trim().split_once(' ').ok_or("libc6 has no source package")?;
    let (source, mark) = (folder.join(version), folder.join(format!("{version}.unpacked")));
    println!("{package} {version}");
    if mark.exists() {
        return Ok(source);
    }
    fetch(folder, &format!("{package}={version}"))?;
    let _ = fs::remove_dir_all(&source);
    let file = format!("{package}_{}.dsc", without_epoch(version));
    let unpack = ["--no-check", "-x", &file, version];
    let unpacked = succeeds(command("dpkg-source", &unpack).current_dir(folder));
    if !unpacked {
        return Err("dpkg-source did not unpack it (apt-get install dpkg-dev)".to_owned());
    }
    fs::write(&mark, "").map_err(|error| format!("{}: {error}", mark.display()))?;
    Ok(source)
}

/// File names have no epoch.
fn without_epoch(version: &str) -> &str {
    version.split_once(':').map_or(version, |(_, rest)| rest)
}

fn fetch(folder: &Path, what: &str) -> Result<(), String> {
    let apt = folder.join("apt");
    for place in ["lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(apt.join(place)).map_err(|error| format!("{}: {error}", apt.display()))?;
    }
    let mut parts = vec![PathBuf::from("/etc/apt/sources.list")];
    parts.extend(
        fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten().map(|entry| entry.path()),
    );
    let (mut lines, mut stanzas) = (String::new(), String::new());
    for part in parts {
        let text = fs::read_to_string(&part).unwrap_or_default();
        match part.extension().and_then(|ending| ending.to_str()) {
            Some("list") => lines += &source_lines(&text),
            Some("sources") => stanzas += &source_stanzas(&text),
            _ => {}
        }
    }
    let places = apt.join("parts");
    let write = |name: &str, text: &str| {
        fs::create_dir_all(&places)
            .and_then(|()| fs::write(places.join(name), text))
            .map_err(|error| format!("{}: {error}", places.display()))
    };
    write("ours.list", &lines)?;
    write("ours.sources", &stanzas)?;
    let settings = [
        format!("Dir::State::lists={}", apt.join("lists").display()),
        format!("Dir::Cache={}", apt.join("cache").display()),
        "Dir::Etc::sourcelist=-".to_owned(),
        format!("Dir::Etc::sourceparts={}", places.display()),
        // Its own user cannot write into a folder below another user's.
        "APT::Sandbox::User=root".to_owned(),
    ];
    let apt_get = |words: &[&str]| {
        let mut call = command("apt-get", words);
        for setting in &settings {
            call.arg("-o").arg(setting);
        }
        succeeds(call.current_dir(folder))
    };
    // One of several mirrors may not answer; the next call then reports missing packages.
    apt_get(&["update"]);
    if apt_get(&["source", "--download-only", what]) {
        Ok(())
    } else {
        Err(format!("apt-get source {what} failed"))
    }
}

/// The lines of a `.list` file for binary packages, as lines for sources.
fn source_lines(text: &str) -> String {
    let binary = text.lines().filter_map(|line| line.trim().strip_prefix("deb "));
    binary.map(|rest| format!("deb-src {rest}\n")).collect()
}

/// A `.sources` file whose every stanza names sources.
fn source_stanzas(text: &str) -> String {
    let types = |line: &str| line.to_ascii_lowercase().starts_with("types:");
    let lines = text.lines().map(|line| if types(line) { "Types: deb-src" } else { line });
    lines.map(|line| format!("{line}\n")).chain(["\n".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::{source_lines, source_stanzas, without_epoch};

    #[test]
    fn sources_of_binaries_become_sources_of_sources() {
        let text = "# a comment\ndeb [arch=amd64] http://a b main\ndeb-src http://a b main\n";
        assert_eq!(source_lines(text), "deb-src [arch=amd64] http://a b main\n");
        let text = "Types: deb\nURIs: http://a\n\nTypes: deb deb-src\nURIs: http://b";
        let expected = "Types: deb-src\nURIs: http://a\n\nTypes: deb-src\nURIs: http://b\n\n";
        assert_eq!(source_stanzas(text), expected);
    }

    #[test]
    fn files_have_no_epoch() {
        assert_eq!((without_epoch("1:2.3-4"), without_epoch("2.3-4")), ("2.3-4", "2.3-4"));
    }
}
