//! The name of a file, out of its path.

/// The last part of a path.
#[must_use]
pub fn file_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.is_empty() { path } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_last_part() {
        assert_eq!(["/usr/bin/cc", "cc", "/", "a/"].map(file_name), ["cc", "cc", "/", "a/"]);
    }
}
