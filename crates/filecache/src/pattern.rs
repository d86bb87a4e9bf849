//! Which files an option names: patterns as in a shell.
//!
//! Invariant: the time is at most the product of both lengths.
//! Not here: where a path comes from.

/// Whether a pattern names the file of a path. A pattern without `/` is compared with the last part of the path, a pattern that begins
/// with `/` with all of it, any other with the path from the working directory, if the file is below it.
pub fn names(pattern: impl Iterator<Item = u8> + Clone, path: &[u8], directory: &[u8]) -> bool {
    let is_whole = pattern.clone().next() == Some(b'/');
    let against = if is_whole {
        path
    } else if pattern.clone().any(|byte| byte == b'/') {
        let below = path.strip_prefix(directory).and_then(|rest| match directory {
            b"/" => Some(rest),
            _ => rest.strip_prefix(b"/"),
        });
        match below {
            Some(below) => below,
            None => return false,
        }
    } else {
        path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
    };
    let pattern = {
        let mut skipped = pattern;
        // ./out is out.
        while skipped.clone().take(2).eq(*b"./") {
            skipped.nth(1);
        }
        skipped
    };
    matches(pattern, against)
}

/// Whether all of the text fits the pattern: `*` is any bytes but `/`, `?` one, `[a-z]` one of these and `[!a-z]` another one.
fn matches(pattern: impl Iterator<Item = u8> + Clone, text: &[u8]) -> bool {
    let mut rest = pattern;
    let mut at = 0;
    // Where to go on if what follows the last star does not fit: one byte more for the star.
    let mut star = None;
    loop {
        let mut next = rest.clone();
        let fits = match next.next() {
            None if at == text.len() => return true,
            None => false,
            Some(b'*') => {
                star = Some((next.clone(), at));
                rest = next;
                continue;
            }
            Some(byte) => text.get(at).is_some_and(|&is| match byte {
                b'?' => is != b'/',
                b'[' => one_of(&mut next, is),
                b'\\' => next.next().unwrap_or(b'\\') == is,
                byte => byte == is,
            }),
        };
        if fits {
            (rest, at) = (next, at + 1);
            continue;
        }
        match &mut star {
            Some((after, from)) if text.get(*from).is_some_and(|byte| *byte != b'/') => {
                *from += 1;
                (rest, at) = (after.clone(), *from);
            }
            _ => return false,
        }
    }
}

/// Whether a byte is in the set whose `[` was just read; reads on behind its end. A set without end is a `[`.
fn one_of<I: Iterator<Item = u8> + Clone>(pattern: &mut I, is: u8) -> bool {
    let mut set = pattern.clone();
    let mut next = set.next();
    let is_negative = matches!(next, Some(b'!' | b'^'));
    if is_negative {
        next = set.next();
    }
    let (mut found, mut is_first) = (false, true);
    while let Some(low) = next {
        if low == b']' && !is_first {
            *pattern = set;
            return found != is_negative && is != b'/';
        }
        is_first = false;
        let mut ahead = set.clone();
        let range = (ahead.next() == Some(b'-')).then(|| ahead.next()).flatten().filter(|high| *high != b']');
        let high = match range {
            Some(high) => {
                set = ahead;
                high
            }
            None => low,
        };
        found |= (low..=high).contains(&is);
        next = set.next();
    }
    is == b'['
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::string::String;

    fn named(pattern: &str, path: &str) -> bool {
        names(pattern.bytes(), path.as_bytes(), b"/home/me")
    }

    #[test]
    fn patterns_are_those_of_a_shell() {
        for (pattern, path, is) in [
            ("out", "/tmp/out", true),
            ("out", "/tmp/out2", false),
            ("*.log", "/var/a.log", true),
            ("*.log", "/var/log", false),
            ("*", "/var/log", true),
            ("a*b*c", "/x/aXbXbc", true),
            ("a*b*c", "/x/aXbXbd", false),
            ("/tmp/*", "/tmp/out", true),
            ("/tmp/*", "/tmp/a/out", false),
            ("/tmp/*/out", "/tmp/a/out", true),
            ("data/*", "/home/me/data/x", true),
            ("data/*", "/home/you/data/x", false),
            ("data/*", "/home/merry/data/x", false),
            ("./out", "/home/me/out", true),
            ("./out", "/home/you/out", false),
            ("o?t", "/out", true),
            ("o[a-u]t", "/out", true),
            ("o[!a-t]t", "/out", true),
            ("o[]u]t", "/out", true),
            ("o[v-z]t", "/out", false),
            ("o[ut", "/o[ut", true),
            ("o\\*t", "/o*t", true),
            ("o\\*t", "/out", false),
            ("", "/out", false),
        ] {
            assert_eq!(named(pattern, path), is, "{pattern} {path}");
        }
        assert!(names("tmp/x".bytes(), b"/tmp/x", b"/"));
    }

    proptest! {
        #[test]
        fn any_pattern_ends(pattern in "[a*?\\[\\]!/\\\\-]{0,24}", path in "/[a/\\[]{0,24}") {
            let _: bool = named(&pattern, &path);
            let quoted: String = path.chars().flat_map(|letter| ['\\', letter]).collect();
            prop_assert!(matches(quoted.bytes(), path.as_bytes()));
        }
    }
}
