//! Licences of all dependencies of the workspace, compared with the list in `deny.toml`.
//!
//! Invariant: a crate without a licence expression, or with one that cannot be read, is refused.

use crate::policy::Policy;
use serde_json::Value;

/// Checks every third-party package; prints the refused ones.
pub fn check(metadata: &Value, policy: &Policy) -> bool {
    let mut held = true;
    let mut seen = 0;
    for package in packages(metadata) {
        let name = package["name"].as_str().unwrap_or("?");
        let expression = package["license"].as_str().unwrap_or("");
        seen += 1;
        if !allowed(expression, &policy.allow) {
            println!("{name}: licence {expression:?} is not among those that deny.toml allows");
            held = false;
        }
    }
    println!("{seen} packages, licences among {}", policy.allow.join(", "));
    held && seen > 0
}

/// Checks that no refused crate is there; prints any.
pub fn refused(metadata: &Value, policy: &Policy) -> bool {
    let mut held = true;
    for package in packages(metadata) {
        let name = package["name"].as_str().unwrap_or("?");
        if policy.deny.iter().any(|refused| refused == name) {
            println!("{name} is refused by deny.toml; the reason stands there");
            held = false;
        }
    }
    held
}

/// The packages of the resolved tree, our own included: they must have a licence too.
fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    let used: Vec<&str> = metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|node| node["id"].as_str())
        .collect();
    let all = metadata["packages"].as_array().into_iter().flatten();
    all.filter(move |package| package["id"].as_str().is_some_and(|id| used.contains(&id)))
}

/// Whether an SPDX expression can be met with allowed licences: `OR` chooses, `AND` needs both, `/` is an old `OR`.
fn allowed(expression: &str, allow: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let met = either(&mut rest, allow);
    met == Some(true) && rest.is_empty()
}

/// `a OR b OR c`; None if the expression cannot be read.
fn either(words: &mut &[&str], allow: &[String]) -> Option<bool> {
    let mut met = both(words, allow)?;
    while words.first() == Some(&"OR") {
        *words = &words[1..];
        // Not short-circuited: the words of the other side must be read too.
        met |= both(words, allow)?;
    }
    Some(met)
}

/// `a AND b AND c`.
fn both(words: &mut &[&str], allow: &[String]) -> Option<bool> {
    let mut met = one(words, allow)?;
    while words.first() == Some(&"AND") {
        *words = &words[1..];
        met &= one(words, allow)?;
    }
    Some(met)
}

/// A name, a name `WITH` an exception, or an expression in brackets.
fn one(words: &mut &[&str], allow: &[String]) -> Option<bool> {
    let (first, rest) = words.split_first()?;
    *words = rest;
    if *first == "(" {
        let met = either(words, allow)?;
        let (close, rest) = words.split_first()?;
        *words = rest;
        return (*close == ")").then_some(met);
    }
    if matches!(*first, ")" | "OR" | "AND" | "WITH") {
        return None;
    }
    let mut name = (*first).to_owned();
    if let ["WITH", exception, rest @ ..] = *words {
        name = format!("{name} WITH {exception}");
        *words = rest;
    }
    Some(allow.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::allowed;

    #[test]
    fn expressions_are_met_or_not() {
        let allow = ["MIT", "Apache-2.0", "Unicode-3.0"].map(str::to_owned);
        for met in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "MIT AND (Apache-2.0)",
        ] {
            assert!(allowed(met, &allow), "{met}");
        }
        for refused in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0) AND CDDL-1.0",
            "Apache-2.0 WITH LLVM-exception",
            "(MIT",
            "MIT Apache-2.0",
            "MIT OR",
        ] {
            assert!(!allowed(refused, &allow), "{refused}");
        }
    }
}
