//! `cargo xtask install --prefix FOLDER`: the command with its pages, completions and files; with `--dev` the headers and libraries for
//! C and C++. The packages of [`deb`](crate::deb) have the same files.
//!
//! ```text
//! bin/underbar                        the command; all that a run needs
//! share/man/man1                      \
//! share/{bash-completion,zsh,fish}     } as the command itself writes them
//! share/underbar/{ci,fleet,schema,systemd}   share/ of this project
//! share/doc/underbar                  licences, changes
//! include, lib/libunderbar*.a         \
//! lib/pkgconfig, lib/cmake             } with --dev
//! ```
//!
//! Invariant: each file is written through [`Tree::add`], so its list is complete. `share/underbar/files` holds it, for removal.
//! Not here: the libraries themselves ([`static_library`]), the release build ([`release`]).

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::steps::{cargo, command, output, root, step, succeeds, target};
use crate::{release, static_library};

/// Where files go.
pub struct Tree {
    /// The folder that becomes the prefix.
    pub folder: PathBuf,
    /// The prefix that `underbar.pc` names.
    pub prefix: String,
    /// The folder of libraries below the prefix: `lib`, or `lib/x86_64-linux-gnu` on Debian.
    pub libraries: String,
    /// The folder of zsh's functions below the prefix.
    pub zsh: &'static str,
    /// The files so far, below the prefix.
    pub files: Vec<String>,
}

/// What `install` and `deb` are asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The command to install; None: the one of a release build, made now.
    pub command: Option<&'a str>,
    /// With the files for C and C++.
    pub dev: bool,
    /// The value of the one further flag.
    pub folder: Option<&'a str>,
}

impl<'a> Asked<'a> {
    /// Reads the flags; `flag` is the one that takes a folder. None if they are wrong.
    pub fn parse(words: &[&'a str], flag: &str) -> Option<Asked<'a>> {
        let mut asked = Asked::default();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            match word {
                "--dev" => asked.dev = true,
                "--command" => asked.command = Some(words.next()?),
                word if word == flag => asked.folder = Some(words.next()?),
                _ => return None,
            }
        }
        Some(asked)
    }

    /// The command: the one that is named, or a release build.
    pub fn command(&self) -> Result<PathBuf, String> {
        match self.command {
            Some(path) => Ok(root().join(path)),
            None if release::make() => Ok(target().join("release/underbar")),
            None => Err("the release build failed, or its command is too large".to_owned()),
        }
    }
}

/// Installs below a folder.
pub fn command_line(words: &[&str]) -> Result<bool, String> {
    const USAGE: &str = "cargo xtask install --prefix FOLDER [--dev] [--command FILE]";
    let asked = Asked::parse(words, "--prefix").ok_or(USAGE)?;
    let folder = root().join(asked.folder.ok_or(USAGE)?);
    let prefix = folder.to_str().ok_or("the prefix is no text")?.to_owned();
    let libraries = "lib".to_owned();
    let mut tree = Tree { folder, prefix, libraries, zsh: "share/zsh/site-functions", files: Vec::new() };
    let command = asked.command()?;
    step("install", || {
        tree.runtime(&command)?;
        if asked.dev { tree.development() } else { Ok(()) }
    })?;
    let mut list: String = tree.files.iter().map(|name| format!("{name}\n")).collect();
    list += "share/underbar/files\n";
    tree.add("share/underbar/files", list.as_bytes(), 0o644)?;
    println!("{} files below {}", tree.files.len(), tree.prefix);
    Ok(true)
}

impl Tree {
    /// Writes a file below the prefix, whole, with these permissions; one of that name is replaced, so that a running command keeps its own.
    pub fn add(&mut self, name: &str, content: &[u8], mode: u32) -> Result<(), String> {
        let path = self.folder.join(name);
        let part = path.with_extension("underbar-part");
        let folder = path.parent().unwrap_or(&self.folder);
        let written = fs::create_dir_all(folder)
            .and_then(|()| fs::write(&part, content))
            .and_then(|()| fs::set_permissions(&part, Permissions::from_mode(mode)))
            .and_then(|()| fs::rename(&part, &path));
        self.files.push(name.to_owned());
        written.map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Copies the files of a folder of this project whose names end so; deeper folders, too.
    fn copy(&mut self, from: &Path, to: &str, ending: &str) -> Result<(), String> {
        for entry in sorted(from)? {
            let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if entry.is_dir() {
                self.copy(&entry, &format!("{to}/{name}"), ending)?;
            } else if name.ends_with(ending) {
                self.add(&format!("{to}/{name}"), &read(&entry)?, 0o644)?;
            }
        }
        Ok(())
    }

    /// The command and all that belongs to it.
    pub fn runtime(&mut self, built: &Path) -> Result<(), String> {
        self.add("bin/underbar", &read(built)?, 0o755)?;
        let built = built.to_str().ok_or("the command's path is no text")?;
        let pages = self.folder.join("share/underbar/pages");
        let _ = fs::remove_dir_all(&pages);
        let folder = pages.to_str().ok_or("the folder's path is no text")?;
        if !succeeds(&mut command(built, &["man", "--dir", folder])) {
            return Err("no manual pages".to_owned());
        }
        for page in sorted(&pages)? {
            let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let packed = packed(&page)?;
            self.add(&format!("share/man/man1/{name}.gz"), &packed, 0o644)?;
        }
        fs::remove_dir_all(&pages).map_err(|error| format!("{}: {error}", pages.display()))?;
        let zsh = format!("{}/_underbar", self.zsh);
        for (shell, place) in [
            ("bash", "share/bash-completion/completions/underbar"),
            ("zsh", zsh.as_str()),
            ("fish", "share/fish/vendor_completions.d/underbar.fish"),
        ] {
            let script = output(&mut command(built, &["completions", shell])).ok_or("no completions")?;
            self.add(place, script.as_bytes(), 0o644)?;
        }
        self.copy(&root().join("share"), "share/underbar", "")?;
        self.copy_licences("underbar")
    }

    fn copy_licences(&mut self, package: &str) -> Result<(), String> {
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            self.add(&format!("share/doc/{package}/{name}"), &read(&root().join(name))?, 0o644)?;
        }
        Ok(())
    }

    /// Headers and libraries for C and C++, with descriptions for pkg-config and CMake.
    pub fn development(&mut self) -> Result<(), String> {
        let made = target().join("install-libraries");
        let folder = made.to_str().ok_or("the target folder's path is no text")?;
        if !static_library::make(&["--out", folder])? || !step("libunderbar_c.a", || of_c(&made)) {
            return Err("no libraries".to_owned());
        }
        self.copy(&root().join("api/capi/include"), "include", ".h")?;
        let libraries = self.libraries.clone();
        for name in ["libunderbar.a", "libunderbar-static.a", "libunderbar_c.a"] {
            self.add(&format!("{libraries}/{name}"), &read(&made.join(name))?, 0o644)?;
        }
        for (name, flags, about) in [
            (
                "underbar",
                "-Wl,-u,malloc -lunderbar",
                "heap and accounts of underbar, for programs that a loader starts",
            ),
            (
                "underbar-static",
                "-Wl,-u,malloc -lunderbar-static",
                "the heap of underbar, for programs linked with -static",
            ),
            ("underbar-c", "-lunderbar_c", "simple locks and program fetch of underbar, for any program"),
        ] {
            let text = self.for_pkg_config(name, flags, about);
            self.add(&format!("{libraries}/pkgconfig/{name}.pc"), text.as_bytes(), 0o644)?;
        }
        let [config, version] = self.for_cmake();
        self.add(&format!("{libraries}/cmake/underbar/underbarConfig.cmake"), config.as_bytes(), 0o644)?;
        self.add(
            &format!("{libraries}/cmake/underbar/underbarConfigVersion.cmake"),
            version.as_bytes(),
            0o644,
        )
    }

    /// `-u malloc`: the library is taken whatever the order of the words, and for a program that never calls the heap itself.
    fn for_pkg_config(&self, name: &str, flags: &str, about: &str) -> String {
        format!(
            "prefix={}\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/{}\n\n\
             Name: {name}\nDescription: {about}\nVersion: {}\n\
             Cflags: -I${{includedir}}\nLibs: -L${{libdir}} {flags} -pthread\n",
            self.prefix,
            self.libraries,
            version(),
        )
    }

    /// The configuration, which finds its prefix by its own place, and its version.
    fn for_cmake(&self) -> [String; 2] {
        let up = "/..".repeat(self.libraries.split('/').count() + 2);
        let config = format!(
            "# Targets: underbar::underbar; underbar::static for programs that are linked with -static; underbar::c for simple locks and fetch.\n\
             get_filename_component(_underbar_prefix \"${{CMAKE_CURRENT_LIST_DIR}}{up}\" ABSOLUTE)\n\
             find_package(Threads REQUIRED)\n\
             foreach(_underbar_pair \"underbar;libunderbar.a\" \"static;libunderbar-static.a\" \"c;libunderbar_c.a\")\n  \
               list(GET _underbar_pair 0 _underbar_name)\n  \
               list(GET _underbar_pair 1 _underbar_file)\n  \
               if(NOT TARGET underbar::${{_underbar_name}})\n    \
                 add_library(underbar::${{_underbar_name}} STATIC IMPORTED)\n    \
                 set_target_properties(underbar::${{_underbar_name}} PROPERTIES\n      \
                   IMPORTED_LOCATION \"${{_underbar_prefix}}/{}/${{_underbar_file}}\"\n      \
                   INTERFACE_INCLUDE_DIRECTORIES \"${{_underbar_prefix}}/include\"\n      \
                   INTERFACE_LINK_LIBRARIES \"-Wl,-u,malloc;Threads::Threads\")\n  \
               endif()\n\
             endforeach()\n",
            self.libraries,
        );
        let version = format!(
            "set(PACKAGE_VERSION \"{0}\")\n\
             if(PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)\n  set(PACKAGE_VERSION_COMPATIBLE FALSE)\n\
             else()\n  set(PACKAGE_VERSION_COMPATIBLE TRUE)\n  \
             if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)\n    set(PACKAGE_VERSION_EXACT TRUE)\n  endif()\n\
             endif()\n",
            version(),
        );
        [config, version]
    }
}

/// Builds the library of simple locks and fetch into the folder, without its lines of source.
fn of_c(folder: &Path) -> bool {
    let built = target().join("release/libunderbar_c.a");
    let without = ["--strip-debug", "--remove-section=.llvmbc", "--remove-section=.llvmcmd"];
    succeeds(&mut cargo(&["build", "--quiet", "--release", "--locked", "--package", "underbar-capi"]))
        && succeeds(command("objcopy", &without).arg(built).arg(folder.join("libunderbar_c.a")))
}

/// The version of the workspace, which is that of each of its packages.
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// A file's content.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// A file as gzip packs it, without name and time.
pub fn packed(path: &Path) -> Result<Vec<u8>, String> {
    let path = path.to_str().ok_or("a path is no text")?;
    let done = command("gzip", &["-9", "--no-name", "--stdout", path]).output();
    let done = done.map_err(|error| format!("gzip: {error}"))?;
    if done.status.success() { Ok(done.stdout) } else { Err(format!("gzip: {path}")) }
}

/// What is in a folder, by name.
pub fn sorted(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_and_others_refused() {
        let whole = Asked { command: Some("c"), dev: true, folder: Some("/p") };
        assert_eq!(Asked::parse(&["--dev", "--prefix", "/p", "--command", "c"], "--prefix"), Some(whole));
        assert_eq!(Asked::parse(&[], "--out"), Some(Asked::default()));
        for wrong in [&["--prefix"][..], &["--out", "/p"], &["all"], &["--command"]] {
            assert_eq!(Asked::parse(wrong, "--prefix"), None, "{wrong:?}");
        }
    }

    #[test]
    fn descriptions_name_the_folders_of_the_tree() {
        let tree = Tree {
            folder: PathBuf::new(),
            prefix: "/usr".to_owned(),
            libraries: "lib/x86_64-linux-gnu".to_owned(),
            zsh: "",
            files: Vec::new(),
        };
        let text = tree.for_pkg_config("underbar", "-Wl,-u,malloc -lunderbar", "programs");
        assert!(text.starts_with(
            "prefix=/usr\nincludedir=${prefix}/include\nlibdir=${prefix}/lib/x86_64-linux-gnu\n"
        ));
        assert!(text.ends_with("Libs: -L${libdir} -Wl,-u,malloc -lunderbar -pthread\n"), "{text}");
        // lib/x86_64-linux-gnu/cmake/underbar is four folders below the prefix.
        assert!(tree.for_cmake()[0].contains("${CMAKE_CURRENT_LIST_DIR}/../../../..\""));
    }
}
