//! Values of a memory configuration, as `NAME=value`.
//!
//! Not here: the sizes of a set of lists (`population`), whose reports show them, too.

use underbar_listing::model::ztpf::Found;
use underbar_model::Figure;

use super::super::Collected;

/// A value, if it is certain and all places agree.
pub(crate) fn value(collected: &Collected, name: &str) -> Option<Figure> {
    let mut all = collected.ztpf.iter().flat_map(|(file, found)| {
        let values = if let Found::Values(found) = found { &found.values[..] } else { &[] };
        values.iter().filter(|(known, _)| known == name).map(|(_, figure)| (*file, figure))
    });
    let (file, first) = all.next()?;
    let is_same = all.all(|(_, figure)| figure.value == first.value);
    let figure = || Figure::line(collected.line(file, &first.evidence), first.value, false);
    (is_same && !first.likely).then(figure)
}
