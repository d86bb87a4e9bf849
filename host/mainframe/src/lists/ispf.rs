//! Lists of ISPF 3.4, printed, saved or copied from the screen.
//!
//! ```text
//! Command - Enter "/" to select action                  Message           Volume
//!                 Tracks %Used   XT  Device   Dsorg  Recfm  Lrecl  Blksz
//! -------------------------------------------------------------------------------
//!          SYS1.LINKLIB                                                   MVSRES
//!                    450    99    1  3390     PO     U          0   6144
//! ```
//!
//! A line that begins with a data set's name begins an entry; its values are on this line or on the lines after it. The
//! nearest label in the heading gives the meaning of a value; if a line has as many values as labels, they are paired in order, so
//! that columns without space between them are read, too.
//!
//! Invariant: a value that contradicts its label is left out.

use super::{Listed, is_data_set_name, organisation};

/// The meaning of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Tracks,
    Used,
    Organisation,
    Format,
    BlockSize,
    Volume,
    /// Known, so that its values are not taken for others'.
    Other,
}

/// The most labels of a heading.
const MOST_LABELS: usize = 64;
/// Labels of all views, in lower case.
const LABELS: [(&str, Field); 22] = [
    ("tracks", Field::Tracks),
    ("trks", Field::Tracks),
    ("%used", Field::Used),
    ("%use", Field::Used),
    ("used", Field::Used),
    ("dsorg", Field::Organisation),
    ("org", Field::Organisation),
    ("recfm", Field::Format),
    ("blksz", Field::BlockSize),
    ("blksize", Field::BlockSize),
    ("volume", Field::Volume),
    ("volser", Field::Volume),
    ("vol", Field::Volume),
    ("lrecl", Field::Other),
    ("xt", Field::Other),
    ("device", Field::Other),
    ("dev", Field::Other),
    ("created", Field::Other),
    ("expired", Field::Other),
    ("expires", Field::Other),
    ("referred", Field::Other),
    ("catalog", Field::Other),
];

/// Lines of a heading.
const LINES_MOST: usize = 8;

/// A label, and its place on its line.
type Label = (Field, usize, usize);

/// The data sets of a list; None if no heading has their labels, or no data set follows it.
#[must_use]
pub fn read(text: &str) -> Option<Vec<Listed>> {
    let mut headings: Vec<Vec<Label>> = Vec::new();
    let mut found: Vec<Listed> = Vec::new();
    let mut is_list = false;
    // Whether values still belong to the last entry: a screen's title ends it.
    let mut is_open = false;
    for line in text.lines() {
        let labels = labels(line);
        if !labels.is_empty() {
            // A heading has a few lines; more than that is the heading of another page.
            if headings.len() >= LINES_MOST {
                headings.clear();
            }
            // The first view has names and volumes only.
            let is_first_view = line.contains("Message") && line.trim_end().ends_with("Volume");
            is_list |= is_first_view || labels.iter().any(|label| label.0 == Field::BlockSize);
            if !headings.contains(&labels) {
                headings.push(labels);
            }
            continue;
        }
        if !is_list {
            continue;
        }
        if is_title(line) {
            is_open = false;
            continue;
        }
        let mut words = words(line);
        if words.first().is_some_and(|(word, ..)| word.contains('.') && is_data_set_name(word)) {
            found.push(Listed { name: words.remove(0).0.to_owned(), ..Listed::default() });
            is_open = true;
        }
        let Some(entry) = found.last_mut().filter(|_| is_open) else { continue };
        let heading = heading(&headings, &words);
        for (field, word) in assigned(heading, &words) {
            take(entry, field, word);
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The text of a screen above its heading and after its list.
fn is_title(line: &str) -> bool {
    let line = line.trim_start();
    ["DSLIST", "Menu ", "***"].iter().any(|begin| line.starts_with(begin)) || line.contains("===>")
}

/// The words of a line, with the columns at which they begin and end.
fn words(line: &str) -> Vec<(&str, usize, usize)> {
    let start = |word: &str| word.as_ptr() as usize - line.as_ptr() as usize;
    line.split_whitespace().map(|word| (word, start(word), start(word) + word.len())).collect()
}

/// The labels of a heading; none if the line has numbers, as the lines under it do.
fn labels(line: &str) -> Vec<Label> {
    if words(line).iter().any(|(word, ..)| word.bytes().all(|one| one.is_ascii_digit())) {
        return Vec::new();
    }
    let found: Vec<Label> = words(line)
        .iter()
        .filter_map(|(word, from, to)| {
            let field = LABELS.iter().find(|(label, _)| word.eq_ignore_ascii_case(label))?.1;
            Some((field, *from, *to))
        })
        .collect();
    let is_title = line.contains("Message") || line.contains("Command");
    if found.len() >= 2 || found.len() == 1 && is_title { found } else { Vec::new() }
}

/// The line of the heading that has labels for these words: as many, or else the one with most labels.
fn heading<'a>(headings: &'a [Vec<Label>], words: &[(&str, usize, usize)]) -> &'a [Label] {
    let same = headings.iter().find(|labels| labels.len() == words.len() && fits(labels, words));
    let nearest =
        || headings.iter().filter(|labels| labels.len() > words.len()).max_by_key(|labels| labels.len());
    same.or_else(nearest).map_or(&[], Vec::as_slice)
}

/// Whether each word fits the label in the same place.
fn fits(labels: &[Label], words: &[(&str, usize, usize)]) -> bool {
    labels.iter().zip(words).all(|(label, word)| can_be(label.0, word.0))
}

fn can_be(field: Field, word: &str) -> bool {
    let is_number = !word.is_empty() && word.bytes().all(|one| one.is_ascii_digit());
    match field {
        Field::Tracks | Field::Used | Field::BlockSize => {
            is_number || word.starts_with('?') || word.starts_with('*')
        }
        Field::Organisation => word.bytes().all(|one| one.is_ascii_uppercase() || one == b'-' || one == b'?'),
        Field::Format => matches!(word.bytes().next(), Some(b'U' | b'F' | b'V' | b'?' | b'*')),
        Field::Volume => word.len() <= 7 && !word.contains('.'),
        Field::Other => true,
    }
}

/// Each word with its field: in order if there are as many words as labels, otherwise by the nearest label.
fn assigned<'a>(labels: &[Label], words: &[(&'a str, usize, usize)]) -> Vec<(Field, &'a str)> {
    if labels.len() == words.len() {
        return labels.iter().zip(words).map(|(label, word)| (label.0, word.0)).collect();
    }
    // No screen and no page is wider.
    if labels.len() > MOST_LABELS {
        return Vec::new();
    }
    let nearest = |from: usize, to: usize| {
        // Nothing between them where they overlap.
        let apart = |label: &&Label| from.saturating_sub(label.2).max(label.1.saturating_sub(to));
        let middles = |label: &&Label| (label.1 + label.2).abs_diff(from + to);
        labels.iter().min_by_key(|label| (apart(label), middles(label)))
    };
    let field = |(word, from, to): &(&'a str, usize, usize)| Some((nearest(*from, *to)?.0, *word));
    words.iter().filter_map(field).collect()
}

fn take(entry: &mut Listed, field: Field, word: &str) {
    if !can_be(field, word) {
        return;
    }
    match field {
        Field::Tracks => entry.tracks = word.parse().ok(),
        Field::Organisation => entry.organisation = organisation(word),
        Field::Format => entry.record_format = Some(word.to_owned()),
        Field::BlockSize => entry.block_size = word.parse().ok(),
        Field::Volume => entry.volume = Some(word.trim_end_matches('+').to_owned()),
        Field::Used | Field::Other => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_store::library::Organisation;

    fn entry(
        name: &str,
        organisation: Option<Organisation>,
        format: &str,
        size: u32,
        tracks: Option<u32>,
    ) -> Listed {
        let (record_format, block_size) = (Some(format.to_owned()), Some(size));
        Listed {
            name: name.into(),
            organisation,
            record_format,
            block_size,
            tracks,
            volume: Some("MVSRES".into()),
        }
    }

    #[test]
    fn two_lines_for_each() {
        let text = "\
DSLIST - Data Sets Matching SYS1                                  Row 1 of 3
Command - Enter \"/\" to select action                  Message           Volume
                 Tracks %Used   XT  Device   Dsorg  Recfm  Lrecl  Blksz
-------------------------------------------------------------------------------
         SYS1.LINKLIB                                                   MVSRES
                    450    90    1  3390     PO     U          0   6144
-------------------------------------------------------------------------------
         SYS1.PDSE                                                      MVSRES
                     30     ?    1  3390     PO-E   U          0  32760
         SYS1.PARMLIB                                                   MVSRES
                     15          1  3390     PO     FB        80  27920
";
        assert_eq!(
            read(text).expect("a list"),
            [
                entry("SYS1.LINKLIB", Some(Organisation::Pds), "U", 6_144, Some(450)),
                entry("SYS1.PDSE", Some(Organisation::Pdse), "U", 32_760, Some(30)),
                entry("SYS1.PARMLIB", Some(Organisation::Pds), "FB", 27_920, Some(15)),
            ]
        );
    }

    #[test]
    fn a_heading_wider_than_any_screen_assigns_nothing() {
        let labels = |count| (0..count).map(|at| (Field::Tracks, at * 4, at * 4 + 2)).collect::<Vec<_>>();
        let words = [("7", 0, 1)];
        assert_eq!(assigned(&labels(MOST_LABELS), &words).len(), 1);
        assert_eq!(assigned(&labels(MOST_LABELS + 1), &words).len(), 0);
    }

    #[test]
    fn the_first_view_has_names_and_volumes() {
        let heading = "Command - Enter \"/\" to select action                  Message           Volume";
        let text = format!(
            "{heading}\n{}\n    SYS1.LINKLIB                        MVSRES\n    A.LOAD      VOL001\n",
            "-".repeat(79)
        );
        let found = read(&text).expect("a list");
        let told: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.volume.as_deref())).collect();
        assert_eq!(told, [("SYS1.LINKLIB", Some("MVSRES")), ("A.LOAD", Some("VOL001"))]);
        assert!(found.iter().all(Listed::is_name_only));
    }

    #[test]
    fn one_line_for_each_in_any_order_of_columns() {
        for text in [
            "Data Set Name        Volume Tracks %Used XT Device Dsorg Recfm Lrecl Blksz\n\
             SYS1.LINKLIB         MVSRES    450    90  1   3390    PO     U     0  6144\n",
            "Name Blksz Recfm Dsorg Volume Tracks %Used\nSYS1.LINKLIB 6144 U PO MVSRES 450 90\n",
        ] {
            assert_eq!(
                read(text).expect("a list"),
                [entry("SYS1.LINKLIB", Some(Organisation::Pds), "U", 6_144, Some(450))]
            );
        }
    }

    #[test]
    fn screens_one_after_the_other_keep_their_last_entries() {
        let screen = |who: &str, end: &str| {
            format!(
                "DSLIST - Data Sets Matching {who}                       Row 1 of 2\n\
                 Command - Enter \"/\" to select action      Dsorg  Recfm  Lrecl  Blksz\n\
                 ---------------------------------------------------------------------\n\
                 \x20        {who}.A                         PO     U          0   6144\n\
                 \x20        {who}.B                         PO     U          0  32760\n{end}"
            )
        };
        for end in [
            "",
            "***************************** End of Data Set list ****************************\n",
            "   Menu  Options  View  Utilities  Compilers  Help\n Command ===>          Scroll ===> PAGE\n",
        ] {
            let text = screen("PROD", end) + &screen("TEST", end);
            let found = read(&text).expect("a list");
            let kept: Vec<_> =
                found.iter().filter(|one| one.source().is_some()).map(|one| one.name.as_str()).collect();
            assert_eq!(kept, ["PROD.A", "PROD.B", "TEST.A", "TEST.B"], "{end}");
        }
    }

    #[test]
    fn what_is_no_list_is_none() {
        assert_eq!(read(""), None);
        assert_eq!(read("a text about volume and tracks\nof disks\n"), None);
        assert_eq!(read("Recfm Blksz\n"), None);
        assert_eq!(
            read("recfm c0 blksize 6144 lrecl 256\nA.B 1 2\n"),
            None,
            "figures in a line are no heading"
        );
        let odd = read("Dsorg Recfm Lrecl Blksz\nA.B\n   garbage ??? 12 99999999999999\n").expect("a list");
        assert_eq!((odd[0].organisation, odd[0].block_size), (None, None));
    }
}
