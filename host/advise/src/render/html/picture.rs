//! The picture of sizes: for each area the present, used and suggested size, on one scale of powers of two.
//!
//! ```text
//!            4K        64K        1M         16M
//! HEAP       o----------|----------<>               o now   | used at most   <> suggested
//! ```
//!
//! Invariant: the figures are next to the marks, so that the reader need not estimate them.

use std::fmt::Write as _;

use super::escaped;
use crate::listing::Area;
use crate::sizes::written;

/// Positions in the picture: those of the scale, and those of the rows.
const LEFT: f64 = 190.0;
const RIGHT: f64 = 640.0;
const FIGURES: f64 = 660.0;
const WIDTH: u32 = 960;
const TOP: u32 = 30;
const ROW: u32 = 30;

/// The picture with its key; nothing if there are no areas.
pub(super) fn of(areas: &[Area]) -> String {
    if areas.is_empty() {
        return String::new();
    }
    let sizes = || areas.iter().flat_map(|area| [Some(area.now), Some(area.used), area.suggested]).flatten();
    let power = |bytes: u64| f64::from(bytes.max(1).ilog2()) + fraction(bytes.max(1));
    let least = (sizes().filter(|size| *size > 0).map(power).fold(f64::MAX, f64::min) / 2.0).floor() * 2.0;
    let most = ((sizes().map(power).fold(0.0, f64::max) / 2.0).ceil() * 2.0).max(least + 4.0);
    let place =
        |bytes: u64| LEFT + (RIGHT - LEFT) * ((power(bytes) - least) / (most - least)).clamp(0.0, 1.0);
    let height = TOP + ROW * areas.len() as u32 + 6;
    let mut text = format!(
        "<h3>Sizes</h3>\n<div class=\"wide\">\n<svg class=\"sizes\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"Sizes: set now, used at most, suggested\">\n"
    );
    // Each line is four, sixteen or more times the one before, so that there are at most nine lines.
    let step = (((most - least) / 8.0 / 2.0).ceil() * 2.0).max(2.0);
    let mut tick = least;
    while tick <= most {
        let x = LEFT + (RIGHT - LEFT) * (tick - least) / (most - least);
        // Powers are whole and below 64.
        let bytes = 1_u64 << (tick as u32).min(63);
        let _ = writeln!(
            text,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{height}\"/><text class=\"tick\" x=\"{x:.1}\" \
             y=\"18\" text-anchor=\"middle\">{}</text>",
            written(bytes)
        );
        tick += step;
    }
    for (area, row) in areas.iter().zip(0_u32..) {
        let y = TOP + ROW * row + ROW / 2;
        draw(&mut text, area, y, &place);
    }
    text.push_str("</svg>\n</div>\n");
    text.push_str(&key());
    text
}

/// The fraction of a size's logarithm to the base of 2, to ten binary places: finer than a pixel. Each squaring gives the
/// next place. It does not use `log2`, the only reason for which the command would load `libm.so` at each start.
fn fraction(bytes: u64) -> f64 {
    let mut above = bytes as f64 / 2_f64.powi(bytes.ilog2() as i32);
    (1..=10).fold(0.0, |sum, place| {
        above *= above;
        if above < 2.0 {
            return sum;
        }
        above /= 2.0;
        sum + 2_f64.powi(-place)
    })
}

fn draw(text: &mut String, area: &Area, y: u32, place: &dyn Fn(u64) -> f64) {
    let all: Vec<f64> = [Some(area.now), Some(area.used), area.suggested]
        .into_iter()
        .flatten()
        .filter(|size| *size > 0)
        .map(place)
        .collect();
    let from = all.iter().copied().fold(f64::MAX, f64::min);
    let to = all.iter().copied().fold(0.0, f64::max);
    let _ = write!(
        text,
        "<g><text x=\"0\" y=\"{}\">{}</text><line class=\"span\" x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y}\" y2=\"{y}\"/>",
        y + 4,
        escaped(&area.name)
    );
    if area.now > 0 {
        let _ = write!(text, "<circle class=\"now\" cx=\"{:.1}\" cy=\"{y}\" r=\"5\"/>", place(area.now));
    }
    let used = place(area.used);
    let _ = write!(
        text,
        "<line class=\"used\" x1=\"{used:.1}\" x2=\"{used:.1}\" y1=\"{}\" y2=\"{}\"/>",
        y - 9,
        y + 9
    );
    if let Some(suggested) = area.suggested {
        let _ = write!(text, "<path class=\"new\" d=\"M{:.1} {}l6 7 -6 7 -6-7Z\"/>", place(suggested), y - 7);
    }
    let then = area.suggested.map_or("stays".to_owned(), |size| format!("{} suggested", short(size)));
    let _ = writeln!(
        text,
        "<text class=\"figures\" x=\"{FIGURES}\" y=\"{}\">{} now, {} used, {then}</text></g>",
        y + 4,
        short(area.now),
        short(area.used)
    );
}

/// A size with three digits at most and its unit.
fn short(bytes: u64) -> String {
    for (unit, name) in [(1_u64 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")] {
        if bytes >= unit {
            let tenths = u128::from(bytes) * 10 / u128::from(unit);
            let is_whole = bytes.is_multiple_of(unit) || tenths >= 1000;
            return if is_whole {
                format!("{}{name}", bytes / unit)
            } else {
                format!("{}.{}{name}", tenths / 10, tenths % 10)
            };
        }
    }
    bytes.to_string()
}

fn key() -> String {
    let sign = |mark: &str, words: &str| {
        format!("<span><svg viewBox=\"0 0 20 20\" aria-hidden=\"true\">{mark}</svg>{words}</span>")
    };
    format!(
        "<p class=\"key\">{}{}{}</p>\n",
        sign("<circle class=\"now\" cx=\"10\" cy=\"10\" r=\"5\"/>", "set now"),
        sign("<line class=\"used\" x1=\"10\" x2=\"10\" y1=\"1\" y2=\"19\"/>", "used at most"),
        sign("<path class=\"new\" d=\"M10 3l6 7 -6 7 -6-7Z\"/>", "suggested")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(now: u64, used: u64, suggested: Option<u64>) -> Area {
        Area { name: "HEAP".into(), now, used, suggested }
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, words) in [
            (0, "0"),
            (1023, "1023"),
            (1024, "1K"),
            (65_490, "63.9K"),
            (100 << 20, "100M"),
            (819_229_056, "781M"),
        ] {
            assert_eq!(short(bytes), words);
        }
    }

    #[test]
    fn fractions_are_those_of_the_logarithm() {
        for bytes in [1, 2, 3, 5, 1000, 1023, 1024, 65_490, (1 << 40) - 1, u64::MAX / 3] {
            let exact = (bytes as f64).log2().fract();
            assert!((0.0..=1.0 / 1024.0).contains(&(exact - fraction(bytes))), "{bytes}");
        }
    }

    #[test]
    fn every_mark_stands_on_the_scale() {
        assert_eq!(of(&[]), "");
        for areas in [
            vec![area(32 << 10, 819_229_056, Some(100 << 20)), area(4096, 1, None)],
            vec![area(0, 1, Some(1))],
            vec![area(1 << 62, u64::MAX, None)],
        ] {
            let text = of(&areas);
            for at in ["cx=\"", "x1=\"", "x2=\""] {
                for part in text.split(at).skip(1) {
                    let x: f64 = part.split('"').next().and_then(|x| x.parse().ok()).expect("a number");
                    assert!((0.0..=RIGHT).contains(&x), "{x}\n{text}");
                }
            }
            assert!(text.matches("class=\"tick\"").count() <= 10, "{text}");
        }
    }
}
