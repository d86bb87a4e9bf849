//! One library in everything that can carry it, each as the bytes of a file.

use super::super::inflate::Method;
use super::super::{spanned, tape, terse};
use super::disks;
use super::sample::{PAGE, Sample, texts};

/// A label of 80 characters.
fn label(text: &str) -> Vec<u8> {
    PAGE.filled(text, 80).unwrap()
}

/// A tape with a labelled file of these blocks.
pub fn labelled_tape(blocks: &[Vec<u8>], format: &str, method: Method, chunk: usize) -> Vec<u8> {
    let first = [
        label("VOL1TESTED"),
        label("HDR1MY.LIBRARY        TESTED00010001       26170000000"),
        label(&format!("HDR2{format}")),
    ];
    let last = label(&format!("EOF1MY.LIBRARY        TESTED00010001       26170000000{:06}", blocks.len()));
    let mut tape: Vec<Option<&[u8]>> = first.iter().map(|label| Some(label.as_slice())).collect();
    tape.push(None);
    tape.extend(blocks.iter().map(|block| Some(block.as_slice())));
    tape.extend([None, Some(last.as_slice()), None, None]);
    tape::write(&tape, method, chunk)
}

/// Every carrier, with a name for messages.
pub fn all(sample: &Sample) -> Vec<(String, Vec<u8>)> {
    let records = sample.unload();
    let xmit = sample.xmit("MY.LIBRARY");
    let spanned = spanned::write(records.iter().map(Vec::as_slice), 3_120).unwrap();
    let mut found = vec![
        ("transmission".to_owned(), xmit.clone()),
        ("spanned unload".to_owned(), spanned.concat()),
        ("glued unload".to_owned(), records.concat()),
        ("packed".to_owned(), terse::tests::file(2, 1, 3_116, &terse::tests::literal(&records, true))),
        ("spacked".to_owned(), terse::tests::file(5, 1, 3_116, &terse::tests::literal(&records, true))),
        ("transmission in a transmission".to_owned(), texts(&[("INNER", xmit.clone())]).xmit("OUTER.TEXT")),
    ];
    let twice =
        texts(&[("DEEPER", texts(&[("INNER", xmit.clone())]).xmit("OUTER.TEXT"))]).xmit("OUTMOST.TEXT");
    found.push(("transmission twice in a transmission".to_owned(), twice));
    let cards: Vec<Vec<u8>> = xmit.chunks(3_200).map(<[u8]>::to_vec).collect();
    for (method, text) in [(Method::Plain, "plain"), (Method::Zlib, "zlib"), (Method::Bzip2, "bzip2")] {
        for chunk in [1_000, 65_535] {
            let tape = labelled_tape(&spanned, "V0312003116                       S", method, chunk);
            found.push((format!("unload on a tape, {text}, chunks of {chunk}"), tape));
            let tape = labelled_tape(&cards, "F0320000080                       B", method, chunk);
            found.push((format!("transmission on a tape, {text}, chunks of {chunk}"), tape));
        }
    }
    let volume = disks::volume(sample);
    found.push(("disk".to_owned(), disks::plain(&volume)));
    for (method, text) in [(0, "as it is"), (1, "zlib"), (2, "bzip2")] {
        for wide in [false, true] {
            let form = if wide { "CCKD64" } else { "CCKD" };
            found.push((format!("{form} disk, {text}"), disks::compressed(&volume, method, wide)));
        }
    }
    found
}
