//! Lists of programs that stay plain, by the names of their files.
//!
//! ```text
//! UNDERBAR_DENY=java,chrome*      names between commas or in lines; a star at the end stands for any rest; # begins a comment
//! ```
//!
//! Not here: which lists there are. The command reads the variable and a file, the library the variable.

/// The variable with a list.
pub const VARIABLE: &[u8] = b"UNDERBAR_DENY";

/// The entry of a list that is for a program with this path or name.
#[must_use]
pub fn entry_for<'a>(list: &'a [u8], program: &[u8]) -> Option<&'a [u8]> {
    let name = program.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    entries(list).find(|entry| match entry.strip_suffix(b"*") {
        Some(begin) => name.starts_with(begin),
        None => *entry == name,
    })
}

/// The entries of a list, without comments.
pub fn entries(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = list.split(|&byte| byte == b'\n');
    let lines = lines.map(|line| line.split(|&byte| byte == b'#').next().unwrap_or_default());
    let entries = lines.flat_map(|line| line.split(|&byte| byte == b','));
    entries.map(<[u8]>::trim_ascii).filter(|entry| !entry.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_programs() {
        let list = b"# since Monday\njava, chrome*\n\n  nginx  # crashes\n";
        for (name, entry) in [
            ("java", Some("java")),
            ("/opt/jdk/bin/java", Some("java")),
            ("chrome", Some("chrome*")),
            ("chrome-sandbox", Some("chrome*")),
            ("./nginx", Some("nginx")),
            ("java/", None),
            ("javac", None),
            ("", None),
            ("since", None),
        ] {
            assert_eq!(entry_for(list, name.as_bytes()), entry.map(str::as_bytes), "{name}");
        }
        assert_eq!(
            (entry_for(b"*", b"any"), entry_for(b"", b"any"), entry_for(b",", b"")),
            (Some(&b"*"[..]), None, None)
        );
    }
}
