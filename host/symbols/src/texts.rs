//! A table of texts that end with a zero byte, as ELF files have them for names.

/// The text that begins here; None if it is longer than `longest`. Long texts may overlap in the file, so only that many bytes are read.
pub(crate) fn at(texts: &[u8], place: u64, longest: usize) -> Option<&[u8]> {
    let rest = texts.get(usize::try_from(place).ok()?..)?;
    let rest = &rest[..rest.len().min(longest + 1)];
    Some(&rest[..rest.iter().position(|&byte| byte == 0)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_longer_than_ours() {
        const LONGEST: usize = 184;
        let names = [&[b'a'; LONGEST + 5][..], b"\0b\0\0open"].concat();
        let length = |place: usize| at(&names, place as u64, LONGEST).map(<[u8]>::len);
        assert_eq!([length(0), length(4), length(5)], [None, None, Some(LONGEST)]);
        let second = LONGEST + 6;
        assert_eq!([length(second), length(second + 2), length(second + 3)], [Some(1), Some(0), None]);
        assert_eq!([length(names.len()), length(names.len() + 1)], [None, None]);
    }
}
