//! The characters of pictures: blocks where the terminal has them, else ASCII.

/// A set of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// Eight heights, from low to high.
    heights: [char; 8],
    /// A full piece of a bar.
    pub full: char,
    /// What is left out at the end of a text.
    pub more: char,
    /// Behind the heading by which rows are sorted, downwards and upwards.
    pub sorted: [char; 2],
    /// Before the chosen row.
    pub chosen: char,
    /// A horizontal line.
    pub rule: char,
    /// May other characters than ASCII be shown?
    pub is_unicode: bool,
}

/// Blocks.
pub const BLOCKS: Glyphs = Glyphs {
    heights: ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
    full: '█',
    more: '…',
    sorted: ['▼', '▲'],
    chosen: '▌',
    rule: '─',
    is_unicode: true,
};

/// ASCII.
pub const ASCII: Glyphs = Glyphs {
    heights: ['_', '.', ':', '-', '=', '+', '*', '#'],
    full: '#',
    more: '~',
    sorted: ['v', '^'],
    chosen: '>',
    rule: '-',
    is_unicode: false,
};

impl Glyphs {
    /// The last `width` figures as a row of heights, the newest at the right; the highest one has the full height. Blanks where there is
    /// no figure yet.
    #[must_use]
    pub fn trend(&self, figures: &[u64], width: usize) -> String {
        let shown = &figures[figures.len().saturating_sub(width)..];
        let most = shown.iter().copied().max().unwrap_or(0);
        let height = |figure: u64| match most {
            0 => self.heights[0],
            most => {
                let step = u128::from(figure) * 7 / u128::from(most);
                self.heights[usize::try_from(step).unwrap_or(7).min(7)]
            }
        };
        let blanks = std::iter::repeat_n(' ', width - shown.len());
        blanks.chain(shown.iter().map(|&figure| height(figure))).collect()
    }

    /// A bar for a part of a whole, at most `width` characters; what is there at all has one.
    #[must_use]
    pub fn bar(&self, part: u64, whole: u64, width: usize) -> String {
        if part == 0 || whole == 0 {
            return String::new();
        }
        let length = u128::from(part.min(whole)) * width as u128 / u128::from(whole);
        std::iter::repeat_n(self.full, usize::try_from(length).unwrap_or(width).clamp(1, width.max(1)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_ends_with_the_newest_figure_and_its_highest_is_full() {
        assert_eq!(ASCII.trend(&[9, 0, 7, 14, 3], 4), "_-#.");
        assert_eq!(BLOCKS.trend(&[1], 3), "  █");
        assert_eq!(ASCII.trend(&[0, 0], 2), "__");
        assert_eq!(ASCII.trend(&[u64::MAX, 1], 2), "#_");
        assert_eq!(ASCII.trend(&[], 0), "");
    }

    #[test]
    fn a_bar_is_never_longer_than_its_room() {
        assert_eq!([ASCII.bar(1, 2, 10), ASCII.bar(0, 2, 10), ASCII.bar(1, 1_000, 10)], ["#####", "", "#"]);
        assert_eq!(ASCII.bar(9, 2, 3), "###");
    }
}
