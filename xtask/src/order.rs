//! The order of the workspace: each crate uses only those named above it in Cargo.toml, as ARCHITECTURE.md says.

use crate::steps::{Sum, root};
use serde_json::Value;
use std::collections::BTreeMap;

/// Checks what `cargo metadata` says of the workspace.
pub fn check(metadata: &Value, sum: &mut Sum) {
    let text = std::fs::read_to_string(root().join("Cargo.toml")).unwrap_or_default();
    let wrong = out_of_order(&members(&text), &uses(metadata));
    for (user, used) in &wrong {
        println!("{user} uses {used}, which Cargo.toml names below it");
    }
    sum.check("order of the workspace", wrong.is_empty());
}

/// The folders of `members = [ ... ]`, in their order.
pub fn members(text: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with("members")).take_while(|line| *line != "]");
    lines.filter_map(|line| Some(line.trim().strip_prefix('"')?.split_once('"')?.0.to_owned())).collect()
}

/// The folders that each folder uses, except for tests.
fn uses(metadata: &Value) -> Vec<(String, String)> {
    let packages: Vec<&Value> = metadata["packages"].as_array().into_iter().flatten().collect();
    let place = |package: &Value| -> Option<String> {
        let path = package["manifest_path"].as_str()?.strip_suffix("/Cargo.toml")?;
        Some(path.strip_prefix(root().to_str()?)?.trim_start_matches('/').to_owned())
    };
    let places: BTreeMap<&str, String> =
        packages.iter().filter_map(|package| Some((package["name"].as_str()?, place(package)?))).collect();
    let mut uses = Vec::new();
    for package in &packages {
        let Some(user) = place(package) else { continue };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            if let (true, Some(used)) =
                (dependency["kind"].is_null(), dependency["name"].as_str().and_then(|name| places.get(name)))
            {
                uses.push((user.clone(), used.clone()));
            }
        }
    }
    uses
}

fn out_of_order(members: &[String], uses: &[(String, String)]) -> Vec<(String, String)> {
    let at = |folder: &str| members.iter().position(|member| member == folder);
    let is_wrong = |(user, used): &&(String, String)| {
        at(user).is_some_and(|user| at(used).is_none_or(|used| used > user))
    };
    uses.iter().filter(is_wrong).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_uses_what_stands_below_is_named() {
        let members = members(
            "[workspace]\nmembers = [\n    # first\n    \"a\", # one\n    \"b/c\",\n]\nother = \"x\"\n",
        );
        assert_eq!(members, ["a", "b/c"]);
        let pair = |user: &str, used: &str| (user.to_owned(), used.to_owned());
        assert_eq!(out_of_order(&members, &[pair("b/c", "a"), pair("a", "b/c")]), [pair("a", "b/c")]);
    }

    #[test]
    fn each_crate_uses_those_above_it() {
        let metadata = crate::steps::metadata().expect("metadata");
        let text = std::fs::read_to_string(root().join("Cargo.toml")).expect("the workspace");
        let (members, uses) = (members(&text), uses(&metadata));
        assert!(members.len() > 20 && uses.len() > 40, "{} {}", members.len(), uses.len());
        assert_eq!(out_of_order(&members, &uses), []);
    }
}
