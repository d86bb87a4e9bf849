//! Leading digits that a page has lost lower no value: with columns removed, and with columns blank.

use super::*;
use crate::sizes::size;

/// A report with HEAP and STACK in the columns of the system, and with their numbers of segments.
fn page(sizes: [u64; 2], used: [u64; 2]) -> String {
    let segments = |at: usize| 1 + used[at].saturating_sub(sizes[at]).div_ceil(sizes[at]);
    let rows: [(&str, &[(&str, u64)]); 2] = [
        (
            "STACK",
            &[
                (INITIAL, sizes[0]),
                (INCREMENT, sizes[0]),
                (ALL, used[0]),
                (ANY, used[0]),
                (ALLOCATED, segments(0)),
                (FREED, 0),
            ],
        ),
        (
            "HEAP",
            &[
                (INITIAL, sizes[1]),
                (INCREMENT, sizes[1]),
                (USED, used[1]),
                (GETS, 6034),
                (FREES, 21),
                (ALLOCATED, segments(1)),
                (FREED, 0),
            ],
        ),
    ];
    let mut text = "Storage Report for Enclave PAY 11/20/26\nLanguage Environment V03 R01.00\n\n".to_owned();
    for (title, lines) in rows {
        text += &format!("    {title} statistics:\n");
        for (label, value) in lines {
            let label = format!("{label}:");
            text += &format!("      {label:<46}{value:>12}\n");
        }
    }
    text + "    Largest number of threads concurrently active:             1\nEnd of Storage Report\n"
}

/// The first advised size of an option.
fn advised(text: &str, option: &str) -> Option<u64> {
    let all = advise_listing(&listing(text));
    let setting = all.iter().filter_map(|advice| advice.option.as_ref()).find(|one| one.option == option)?;
    size(setting.sub_options.first()?.as_deref()?)
}

/// Lines of figures without these columns, or with blanks there.
fn damaged(text: &str, from: usize, to: usize, is_blank: bool) -> String {
    let line = |line: &str| match (line.get(..from), line.get(to..)) {
        (Some(before), Some(behind)) if line.starts_with("      ") => {
            let between = if is_blank { " ".repeat(to - from) } else { String::new() };
            format!("{before}{between}{behind}\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn lost_columns_of_a_page_lower_no_value() {
    let pages = [
        ([524_288, 524_288], [1_204_184, 1_204_184]),
        ([4_194_304, 4_194_304], [3_110_264, 3_110_264]),
        ([1_048_576, 10_485_760], [1_020_184, 10_120_184]),
        ([8_388_608, 104_857_600], [7_204_184, 99_204_184]),
        ([262_144, 16_777_216], [200_184, 36_204_184]),
        ([131_072, 262_144], [1_000_184, 200_096]),
    ];
    for (sizes, used) in pages {
        let whole = page(sizes, used);
        for (at, option) in ["STACK", "HEAP"].into_iter().enumerate() {
            let least = advised(&whole, option).unwrap_or(sizes[at]).min(sizes[at]);
            for from in 52..63 {
                for to in from + 1..64 {
                    for is_blank in [false, true] {
                        let text = damaged(&whole, from, to, is_blank);
                        let got = advised(&text, option);
                        assert!(
                            got.is_none_or(|size| size >= least),
                            "{option} {got:?}, {from}..{to}:\n{text}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_page_whose_lines_are_one_column_shorter_is_a_page() {
    let narrow: String = page([65536, 32768], [20_000, 1_187_336])
        .lines()
        .map(|line| format!("{}\n", line.replacen("   ", "  ", 2)))
        .collect();
    assert_eq!(advised(&narrow, "HEAP"), Some(1_310_720 + 65_536), "{narrow}");
}

#[test]
fn what_is_sound_goes_down_as_before() {
    assert!(
        advised(&page([4_194_304, 4_194_304], [100_184, 200_184]), "HEAP").is_some_and(|size| size < 1 << 20)
    );
    assert!(
        advised(&page([4_194_304, 4_194_304], [100_184, 200_184]), "STACK")
            .is_some_and(|size| size < 1 << 20)
    );
}
