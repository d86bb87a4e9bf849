//! The walks of ARCHITECTURE.md: each function that a row of their tables names is in the file that it names.
//!
//! Not here: whether one calls the next; a reader of the files sees it.

use crate::steps::root;

/// File and function of each row `| `file` | `function` | ... |` below the heading of the walks.
fn rows(text: &str) -> Vec<(&str, &str)> {
    let (_, rest) = text.split_once("\n## Four walks\n").unwrap_or_default();
    let walks = rest.split("\n## ").next().unwrap_or_default();
    let named = walks.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let (file, function) = (cells.next()?, cells.next()?);
        Some((file.strip_suffix('`')?, function.strip_prefix('`')?.strip_suffix('`')?))
    });
    named.collect()
}

#[test]
fn each_function_of_a_walk_is_where_the_page_says() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page");
    let rows = rows(&page);
    assert!(rows.len() > 20, "{}", rows.len());
    for (file, function) in rows {
        let text =
            std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let is_there = text.contains(&format!("fn {function}(")) || text.contains(&format!("fn {function}<"));
        assert!(is_there, "no function {function} in {file}");
    }
}
