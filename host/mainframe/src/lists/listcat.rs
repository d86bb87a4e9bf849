//! Text of LISTCAT, and of TSO's LISTDS, which has the record format and block size that a catalog lacks.
//!
//! ```text
//! NONVSAM ------- SYS1.LINKLIB                 SYS1.LINKLIB
//!      VOLUMES                                 --RECFM-LRECL-BLKSIZE-DSORG
//!        VOLSER------------MVSRES              U     0     6144    PO
//!                                              --VOLUMES--
//!                                                MVSRES
//! ```
//!
//! Invariant: LISTCAT gives only names and volumes.

use super::{Listed, is_data_set_name, organisation};

/// The data sets of a list; None if it has none of their labels.
#[must_use]
pub fn read(text: &str) -> Option<Vec<Listed>> {
    let mut found: Vec<Listed> = Vec::new();
    let (mut labels, mut volumes, mut last, mut is_list) = (Vec::new(), false, "", false);
    for line in text.lines().map(|line| without_control(line).trim()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["NONVSAM", dashes, name] = *words
            && dashes.bytes().all(|one| one == b'-')
        {
            is_list = true;
            found.extend(is_data_set_name(name).then(|| Listed { name: name.into(), ..Listed::default() }));
        } else if let Some(heading) = line.strip_prefix("--").filter(|heading| heading.contains("BLKSIZE")) {
            is_list = true;
            labels = heading.split('-').filter(|label| !label.is_empty()).collect();
            found.extend(is_data_set_name(last).then(|| Listed { name: last.into(), ..Listed::default() }));
        } else if line == "--VOLUMES--" {
            volumes = true;
        } else if let Some(entry) = found.last_mut() {
            if labels.len() == words.len() {
                labels.drain(..).zip(&words).for_each(|(label, word)| take(entry, label, word));
            } else if volumes {
                entry.volume = words.first().map(|word| (*word).to_owned());
                volumes = false;
            } else if let Some(volume) = words.iter().find_map(|word| word.strip_prefix("VOLSER-")) {
                let volume = volume.trim_start_matches('-');
                entry.volume.get_or_insert_with(|| volume.to_owned());
            }
        }
        if !line.is_empty() {
            last = line;
        }
    }
    is_list.then_some(found)
}

/// Without the ASA character of carriage control that a print data set keeps in its first column, if an entry begins there.
fn without_control(line: &str) -> &str {
    let rest = line.strip_prefix(['0', '1', '-', '+']).filter(|rest| rest.starts_with("NONVSAM "));
    rest.unwrap_or(line)
}

fn take(entry: &mut Listed, label: &str, word: &str) {
    match label {
        "RECFM" => entry.record_format = Some(word.to_owned()),
        "BLKSIZE" => entry.block_size = word.parse().ok(),
        "DSORG" => entry.organisation = organisation(word),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_store::library::Organisation;

    #[test]
    fn listcat_gives_names_and_volumes() {
        let text = "\
1IDCAMS  SYSTEM SERVICES
 LISTCAT LEVEL(SYS1) ALL
0NONVSAM -- no entry
 NONVSAM ------- SYS1.LINKLIB
      IN-CAT --- CATALOG.MASTER
      HISTORY
        DATASET-OWNER-----(NULL)     CREATION--------2005.100
      VOLUMES
        VOLSER------------MVSRES     DEVTYPE------X'3010200F'     FSEQN------------------0
      ASSOCIATIONS--------(NULL)
 NONVSAM ------- SYS1.LPALIB
";
        let found = read(text).expect("a list");
        assert_eq!(
            found.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["SYS1.LINKLIB", "SYS1.LPALIB"]
        );
        assert_eq!(found[0].volume.as_deref(), Some("MVSRES"));
        assert!(found.iter().all(Listed::is_name_only));
    }

    #[test]
    fn characters_of_carriage_control_are_passed() {
        for control in ["", " ", "0", "1", "-", "+"] {
            let text = format!(
                "1IDCAMS  SYSTEM SERVICES\n{control}NONVSAM ------- A.LOAD\n      VOLUMES\n        VOLSER------------VOL001     DEVTYPE------X'3010200F'\n"
            );
            let found = read(&text).expect(control);
            assert_eq!((found[0].name.as_str(), found[0].volume.as_deref()), ("A.LOAD", Some("VOL001")));
        }
    }

    #[test]
    fn listds_gives_the_label_in_the_order_of_its_heading() {
        for (heading, values) in [
            ("--RECFM-LRECL-BLKSIZE-DSORG", "U     **    6144    PO"),
            ("--DSORG-BLKSIZE-RECFM", "PO 6144 U"),
        ] {
            let text = format!("A.LOAD\n{heading}\n  {values}\n--VOLUMES--\n  VOL001\nB.TEXT\n{heading}\n");
            let found = read(&text).expect("a list");
            assert_eq!(
                found[0],
                Listed {
                    name: "A.LOAD".into(),
                    organisation: Some(Organisation::Pds),
                    record_format: Some("U".into()),
                    block_size: Some(6_144),
                    tracks: None,
                    volume: Some("VOL001".into()),
                }
            );
            assert_eq!(found[1], Listed { name: "B.TEXT".into(), ..Listed::default() });
        }
        assert_eq!(read("no list\n"), None);
    }
}
