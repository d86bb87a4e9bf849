//! Selects the programs to which a section of an option text applies.
//!
//! `[*]` applies to all programs, `[cc1plus]` to those of that name, `[build-id:4f0c...]` to those whose build-id begins with
//! these digits. A program that was started by a link has two names: that of its file and that of the link. Options before
//! the first section apply to all programs.

/// The minimum number of hexadecimal digits of a build-id in a section.
const LEAST_DIGITS: usize = 8;

/// The properties by which sections select a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProgramName<'a> {
    /// The last part of its path, such as `cc1plus`; empty if unknown.
    pub name: &'a [u8],
    /// The last part of the path by which it was started, if a link has another name; else empty.
    pub started_as: &'a [u8],
    /// The bytes of its build-id note; empty if it has none.
    pub build_id: &'a [u8],
}

/// The result for the words between the brackets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Section {
    Matches,
    IsForOthers,
    /// Empty, or an invalid build-id.
    IsForNobody,
}

impl ProgramName<'_> {
    pub(crate) fn section(&self, words: &[u8]) -> Section {
        const PREFIX: &[u8] = b"build-id:";
        let matches = match words.get(..PREFIX.len()) {
            Some(start) if start.eq_ignore_ascii_case(PREFIX) => {
                let digits = &words[PREFIX.len()..];
                if digits.len() < LEAST_DIGITS || !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Section::IsForNobody;
                }
                self.has_build_id(digits)
            }
            _ if words.is_empty() => return Section::IsForNobody,
            // An unknown name is empty and never matches: the words are not empty.
            _ => words == b"*" || words == self.name || words == self.started_as,
        };
        if matches { Section::Matches } else { Section::IsForOthers }
    }

    fn has_build_id(&self, digits: &[u8]) -> bool {
        let own = self.build_id.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let given = digits.iter().map(|&digit| char::from(digit).to_digit(16));
        digits.len() <= 2 * self.build_id.len() && given.zip(own).all(|(a, b)| a == Some(u32::from(b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_name_programs() {
        let program =
            ProgramName { name: b"cc1plus", started_as: b"c++", build_id: &[0x4f, 0x0c, 0xd1, 0x22, 0x90] };
        let check = |words: &str, expect| assert_eq!(program.section(words.as_bytes()), expect, "{words}");
        check("*", Section::Matches);
        check("cc1plus", Section::Matches);
        check("c++", Section::Matches);
        check("CC1PLUS", Section::IsForOthers);
        check("cc1", Section::IsForOthers);
        check("build-id:4f0cd12290", Section::Matches);
        check("Build-Id:4F0CD122", Section::Matches);
        check("build-id:4f0cd123", Section::IsForOthers);
        check("build-id:4f0cd1229000", Section::IsForOthers);
        check("build-id:4f0c", Section::IsForNobody);
        check("build-id:4f0cd12x", Section::IsForNobody);
        check("", Section::IsForNobody);
        assert_eq!(ProgramName::default().section(b"*"), Section::Matches);
        assert_eq!(ProgramName::default().section(b"x"), Section::IsForOthers);
    }
}
