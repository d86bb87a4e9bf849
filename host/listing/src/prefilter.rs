//! The prefilter: most lines of a job log have no word of these readers.
//!
//! ```text
//! every four bytes -> table of 8,192 flags -> (one in many) the words themselves
//! ```
//!
//! Invariant: [`STARTS`] has every word that opens something, and no line with one of them is skipped.
//! Cost: about half a nanosecond for each byte. To add a word, add it to the table.

/// Words that may open something, in small letters, each of four bytes or more. A word that ends in a parenthesis
/// covers every word with the same beginning and a parenthesis: `heap(` covers `HEAPPOOLS(`.
const STARTS: &[&[u8]] = &[
    // Reports and their sections.
    b"storage report for enclave",
    b"options report for enclave",
    b"end of storage report",
    b"statistics",
    b"heappools summary",
    b"last where set",
    // Options.
    b"all3(",
    b"anyh(",
    b"belo(",
    b"heap(",
    b"iohe(",
    b"libh(",
    b"libs(",
    b"rpto(",
    b"rpts(",
    b"stac(",
    b"stor(",
    b"thre(",
    b"parmlib(",
    b"ovr ",
    b"nonovr ",
    // Their carriers.
    b"ceexopt",
    b"ceedopt",
    b"ceecopt",
    b"ceeropt",
    b"celqdopt",
    b"celqropt",
    b"_cee_runopt",
    b"ceeopts",
    b"runopts",
    b"plixopt",
    // Jobs.
    b"stepname",
    b"region=",
    b"region.",
    b"regionx",
    b"memlimit=",
    b"memlimit.",
    b"pgm=",
    b"exec ",
    b"parm=",
    b"parm.",
    b"allowed private",
    b"ief032i",
    b"ief033i",
    b"ief374i",
    b"smf30",
    b"dfhsi1",
    // z/TPF.
    b"tpf ",
    b"tpf\t",
    b"class upper",
    b"class\tupper",
    b"ssu ",
    b"ssu\t",
    b"collection_id",
    b"integer_metrics",
    b"peh=",
    b"havl",
    b"havsz",
    b"decb0",
    b"stat0126",
    b"mown0",
    b"ecbm0",
    b"ctka0",
    b"zmown",
    b"zecbm",
    b"ztrap ",
    // Natural and Adabas.
    b"natural bus utility",
    b"buffer usage statistics",
    b"ziip=",
    b"thsize=",
    b"ovsize=",
    b"wpsize=",
    b"sort=",
    b"mainpr=",
    b"mt=0",
    b"mt=1",
    b"mt=2",
    b"mt=3",
    b"mt=4",
    b"mt=5",
    b"mt=6",
    b"mt=7",
    b"mt=8",
    b"mt=9",
    b"mfset=",
    b"mfmr=",
    b"mfbs=",
    b"adarun ",
    b"fbl=",
    b"rbl=",
    b"ntprm ",
    b"ntziip ",
    b"ntsort ",
    b"ntsys ",
    b"cmprmin",
    b"madio=",
    b"maxcl=",
    b"fnat=",
    b"fuser=",
    b"fdic=",
    b"fsec=",
    b"etid=",
    b"intens=",
    b"datsize=",
    b"esize=",
    b"multi-fetch",
    b"records read",
    b"lines written",
    b"number of switches",
    b"number of tcb",
    b"dzstat",
    b"adabas ziip",
    b"without ",
    b"using external",
    b"component switch",
    b"ziip processing",
    b"roll server ziip",
    b"ziip-related",
    b"enclave ziip",
    // Formats that are named with advice.
    b"speicherbericht",
    b"anfangsgr",
    b"laufzeitoptionen",
    b"content-transfer-encoding",
    // Lists of data sets.
    b"recfm",
    b"nonvsam",
    b"blocksize",
];

/// Letters in small, blanks as they are.
const FOLD: u32 = 0x2020_2020;

const fn hash(four: u32) -> usize {
    ((four | FOLD).wrapping_mul(0x9e37_79b1) >> 19) as usize
}

/// The first four bytes of each word.
const FOURS: [u32; STARTS.len()] = {
    let mut fours = [0; STARTS.len()];
    let mut at = 0;
    while at < STARTS.len() {
        let start = STARTS[at];
        fours[at] = u32::from_le_bytes([start[0], start[1], start[2], start[3]]) | FOLD;
        at += 1;
    }
    fours
};

const TABLE: [bool; 8192] = {
    let mut table = [false; 8192];
    let mut at = 0;
    while at < FOURS.len() {
        table[hash(FOURS[at])] = true;
        at += 1;
    }
    table
};

/// Whether a line may open something.
pub(crate) fn is_of_interest(text: &[u8]) -> bool {
    first(text).is_some()
}

/// The start of the first word that may open something. The text begins a line, and may hold many lines.
pub(crate) fn first(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    // Eight places at a time, with one branch.
    while let Some(block) = text[at..].first_chunk::<11>() {
        let mut any = false;
        for start in 0..8 {
            let four = [block[start], block[start + 1], block[start + 2], block[start + 3]];
            any |= TABLE[hash(u32::from_le_bytes(four))];
        }
        if any && let Some(found) = (at..at + 8).find(|at| begins(text, *at)) {
            return Some(found);
        }
        at += 8;
    }
    (at..text.len()).find(|at| begins(text, *at))
}

/// Whether one of the words begins here.
fn begins(text: &[u8], at: usize) -> bool {
    // A control character may precede a word: a digit does not hide the word after it.
    let hidden = at > 0 && (text[at - 1].is_ascii_alphabetic() || text[at - 1] == b'_');
    if hidden {
        return false;
    }
    let text = &text[at..];
    let Some(four) = text.first_chunk::<4>() else { return false };
    let four = u32::from_le_bytes(*four) | FOLD;
    TABLE[hash(four)]
        && FOURS.iter().zip(STARTS).any(|(first, start)| *first == four && has_start(text, start))
}

fn has_start(text: &[u8], start: &[u8]) -> bool {
    let is_same = |with: &[u8]| text.get(..with.len()).is_some_and(|text| text.eq_ignore_ascii_case(with));
    match start.strip_suffix(b"(") {
        Some(word) => {
            let end = text.iter().take(64).position(|byte| !byte.is_ascii_alphanumeric());
            is_same(word) && end.is_some_and(|end| text[end] == b'(')
        }
        None => is_same(start),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_wherever_they_stand() {
        for word in STARTS {
            let word = String::from_utf8_lossy(word).to_uppercase();
            for indent in 0..20 {
                let text = format!("{}{word}", " ".repeat(indent));
                assert_eq!(first(text.as_bytes()), Some(indent), "{text}");
                let text = format!("{}1{} more words behind it", "x ".repeat(indent), word.to_lowercase());
                assert_eq!(first(text.as_bytes()), Some(2 * indent + 1), "{text}");
            }
        }
        assert_eq!(first(b"HEAPPOOLS(ON)"), Some(0));
    }

    #[test]
    fn most_words_open_nothing() {
        for text in [
            "",
            "PAY",
            "STEP WAS EXECUTED",
            "STATEMENT OF ACCOUNT",
            "the HEAP of it",
            "xHEAP(1M)",
            "a restatistics",
            "FOO(HEAP",
        ] {
            assert!(!is_of_interest(text.as_bytes()), "{text}");
        }
    }
}
