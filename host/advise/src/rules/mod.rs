//! The one table of rules. `explain`, the manual and the tests walk it.
//!
//! ```text
//! accounts               Linux                  accounts of a run        each program of the report
//! language_environment   Language Environment   storage reports          each program of the listings
//! natural                Natural                buffers, parameters      each session
//! libraries              Libraries              load libraries           applied by `underbar lib survey`
//! ztpf                   z/TPF                  request sizes, profiles  everything read
//! option_texts           Language Environment   option texts             checks, which set nothing
//! ```
//!
//! Invariant: ids are unique, whatever the platform. Rules of one platform are applied in the order of this table.
//! To add a rule, add a row to its part: its id, its words, the platforms it serves, its function, and tests that it fires, that it says
//! "no change", and that it lowers a setting if it can.
//! Not here: how rules are applied (`accounts`, `listing`).

mod accounts;
mod language_environment;
mod libraries;
mod natural;
mod option_texts;
mod ztpf;

use crate::rule::{Platform, Rule};

/// The parts of the table, in its order.
const PARTS: [&[Rule]; 6] = [
    &accounts::RULES,
    &language_environment::RULES,
    &natural::RULES,
    &libraries::RULES,
    &ztpf::RULES,
    &option_texts::RULES,
];

/// All rules.
pub static RULES: [Rule; number()] = joined();

const fn number() -> usize {
    let (mut number, mut part) = (0, 0);
    while part < PARTS.len() {
        number += PARTS[part].len();
        part += 1;
    }
    number
}

/// The parts one after the other. The compiler joins them, and rejects rows too few or too many.
const fn joined() -> [Rule; number()] {
    let mut all = [accounts::RULES[0]; number()];
    let (mut at, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut row = 0;
        while row < PARTS[part].len() {
            all[at] = PARTS[part][row];
            at += 1;
            row += 1;
        }
        part += 1;
    }
    assert!(at == all.len());
    all
}

/// The rule with this name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// The rules that serve a platform, in the order in which they are applied, without checks of option texts.
pub fn of(platform: Platform) -> impl Iterator<Item = &'static Rule> + Clone {
    RULES.iter().filter(move |rule| rule.platforms.contains(&platform) && !rule.is_check())
}

/// The checks of option texts, in the order in which they are applied.
pub fn checks() -> impl Iterator<Item = &'static Rule> + Clone {
    RULES.iter().filter(|rule| rule.is_check())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Apply;
    use crate::sizes::WELL_USED;

    #[test]
    fn rules_have_unique_ids_and_full_words() {
        for (at, rule) in RULES.iter().enumerate() {
            assert!(RULES[..at].iter().all(|other| other.id != rule.id), "{}", rule.id);
            for words in [rule.condition, rule.formula, rule.stop, rule.risk] {
                assert!(words.ends_with('.') && words.len() > 10, "{}: {words}", rule.id);
            }
        }
    }

    #[test]
    fn every_rule_serves_a_platform_that_can_apply_it() {
        for rule in &RULES {
            assert!(!rule.platforms.is_empty(), "{}", rule.id);
            for platform in rule.platforms {
                let can = match rule.apply {
                    Apply::Accounts { .. } => *platform == Platform::Linux,
                    Apply::Program(_) => {
                        matches!(platform, Platform::LanguageEnvironment | Platform::Natural)
                    }
                    Apply::Supply(_) | Apply::Ecbs(..) => {
                        matches!(platform, Platform::Linux | Platform::Ztpf)
                    }
                    Apply::Switching(..) => matches!(platform, Platform::Linux | Platform::Natural),
                    Apply::Listings(_) => *platform == Platform::Ztpf,
                    Apply::Texts(_) => *platform == Platform::LanguageEnvironment,
                    Apply::Survey => *platform == Platform::Libraries,
                };
                assert!(can, "{} {platform:?}", rule.id);
            }
        }
        assert!(Platform::ALL.iter().all(|platform| of(*platform).next().is_some()));
    }

    #[test]
    fn the_words_name_the_share_that_counts_as_well_used() {
        let with_share = RULES.iter().filter(|rule| rule.condition.contains("less than 62 %"));
        let ids: Vec<&str> = with_share.map(|rule| rule.id).collect();
        assert_eq!(
            ids,
            ["heap-size", "stack", "le-heap-size", "le-stack", "natural-cache-size", "natural-thread-size"]
        );
        assert_eq!(WELL_USED, 62);
    }
}
