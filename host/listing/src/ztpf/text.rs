//! Words that print or text recognition has broken: compared without blanks, with a letter or two too many, too few or
//! wrong.
//!
//! Invariant: digits of a label are never guessed: they must all be there, and no others.

/// The most bytes of a line that are read.
const MOST: usize = 240;

/// The text in capitals, without blanks.
pub(crate) fn squeezed(text: &[u8]) -> Vec<u8> {
    let solid = |byte: &&u8| !byte.is_ascii_whitespace() && **byte != 0;
    text.iter().take(MOST).filter(solid).map(u8::to_ascii_uppercase).collect()
}

/// The position of a label in squeezed text: its start and its end, with at most `wrong` letters wrong.
pub(crate) fn stands(text: &[u8], label: &[u8], wrong: usize) -> Option<(usize, usize)> {
    if let Some(at) = text.windows(label.len()).position(|there| there == label) {
        return Some((at, at + label.len()));
    }
    // Sellers' table: for each end in the text, the fewest wrong letters and the start of that match.
    let mut column: Vec<(usize, usize)> = (0..=label.len()).map(|amiss| (amiss, 0)).collect();
    let mut best: Option<(usize, usize, usize)> = None;
    for (at, byte) in text.iter().enumerate() {
        let mut diagonal = column[0];
        column[0] = (0, at + 1);
        for (row, letter) in label.iter().enumerate() {
            let same = (diagonal.0 + usize::from(letter != byte), diagonal.1);
            let extra = (column[row + 1].0 + 1, column[row + 1].1);
            let lacking = (column[row].0 + 1, column[row].1);
            diagonal = column[row + 1];
            column[row + 1] = same.min(extra).min(lacking);
        }
        let (amiss, start) = column[label.len()];
        if amiss <= wrong && best.is_none_or(|(least, _, _)| amiss < least) {
            best = Some((amiss, start, at + 1));
        }
    }
    let (_, start, end) = best?;
    let digits = |part: &[u8]| part.iter().copied().filter(u8::is_ascii_digit).collect::<Vec<u8>>();
    let wanted = digits(label);
    (wanted.is_empty() || digits(&text[start..end]) == wanted).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_labels_are_found_and_others_are_not() {
        let check = |text: &str, label: &str, found: bool| {
            let label = squeezed(label.as_bytes());
            assert_eq!(stands(&squeezed(text.as_bytes()), &label, 2).is_some(), found, "{text}");
        };
        check("1tpf ecb heap request size report", "TPF ECB HEAP REQUEST SIZE REPORT", true);
        check("TPF ECB HEAP REQ\tQUEST SIZE R\tEPORT\t", "TPF ECB HEAP REQUEST SIZE REPORT", true);
        check("TPF ECB HEAP REQUEST S1ZE REPORT", "TPF ECB HEAP REQUEST SIZE REPORT", true);
        check("ECB HEAP REQUEST SIZE REPORT", "TPF ECB HEAP REQUEST SIZE REPORT", false);
        check("TPF 64-BIT VIRTUAL ECB HEAP", "TPF 31-BIT VIRTUAL ECB HEAP", false);
        check("TPF 31-BIT VIRTUAL ECB HEAP", "TPF 31-BIT VIRTUAL ECB HEAP", true);
        check("", "TPF", false);
    }

    #[test]
    fn places_are_those_of_the_label() {
        let text = squeezed(b"x CURRENT BUFFER SIZES IN BYTES: AVL1");
        assert_eq!(stands(&text, b"BUFFERSIZESINBYTES:", 1), Some((8, 27)));
        assert_eq!(stands(&squeezed(b"a BUFER SIZES IN BYTES: b"), b"BUFFERSIZESINBYTES:", 1), Some((1, 19)));
    }
}
