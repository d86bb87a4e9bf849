//! The content of `deny.toml`: the allowed licences and the refused crates.
//!
//! The file is cargo-deny's, which reads it when it is installed. This reader understands as much of TOML as the
//! file uses: tables, and arrays of strings or of inline tables with a `crate`.

use crate::steps::root;

/// The two lists.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// SPDX names of allowed licences.
    pub allow: Vec<String>,
    /// Names of refused crates.
    pub deny: Vec<String>,
}

impl Policy {
    /// Reads the workspace's file.
    pub fn read() -> Option<Self> {
        std::fs::read_to_string(root().join("deny.toml")).ok().map(|text| Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        Self {
            allow: strings(&array(text, "[licenses]", "allow")),
            deny: strings(&array(text, "[bans]", "deny"))
                .into_iter()
                .filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)))
                .collect(),
        }
    }
}

/// The text between the brackets of an array, without comments.
fn array(text: &str, table: &str, key: &str) -> String {
    let mut found = String::new();
    let (mut in_table, mut in_array) = (false, false);
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        if line.starts_with('[') && !in_array {
            in_table = line == table;
        } else if in_table && !in_array {
            let Some((name, rest)) = line.split_once('=') else { continue };
            if name.trim() == key {
                in_array = true;
                found.push_str(rest.trim().trim_start_matches('['));
            }
        } else if in_array {
            found.push_str(line);
        }
        if in_array && line.ends_with(']') {
            return found;
        }
        found.push(' ');
    }
    found
}

/// Every first quoted string of each element: names come first, reasons after them.
fn strings(array: &str) -> Vec<String> {
    let mut rest = array;
    let mut found = Vec::new();
    while let Some((_, after)) = rest.split_once('"') {
        let Some((word, next)) = after.split_once('"') else { break };
        found.push(word.to_owned());
        // An inline table has more strings; they belong to the same element.
        rest = match (next.find('}'), next.find('{'), next.find(',')) {
            (Some(end), open, Some(comma)) if comma < end && open.is_none_or(|open| end < open) => {
                &next[end..]
            }
            _ => next,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Policy;

    #[test]
    fn both_lists_are_read_and_reasons_are_not_names() {
        let text = r#"
            [graph]
            allow = ["not this"]
            [licenses]
            allow = [
                # a comment, "with quotes"
                "MIT", "Apache-2.0",
                "Unicode-3.0",
            ]
            [bans]
            multiple-versions = "warn"
            deny = [
                { crate = "inferno", reason = "CDDL" },
                { crate = "miette", reason = "fifty crates, last release in 2025" },
                "openssl-sys",
            ]
        "#;
        let policy = Policy::parse(text);
        assert_eq!(policy.allow, ["MIT", "Apache-2.0", "Unicode-3.0"]);
        assert_eq!(policy.deny, ["inferno", "miette", "openssl-sys"]);
    }

    #[test]
    fn the_file_of_the_workspace_can_be_read() {
        let policy = Policy::read().expect("deny.toml is there");
        assert!(policy.allow.contains(&"MIT".to_owned()) && !policy.deny.is_empty());
    }
}
