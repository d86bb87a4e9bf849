//! Advice in words.

use std::fmt;

use crate::advice::Advice;
use crate::rule::{Area, Platform};

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.platform {
            Platform::Linux => of_accounts(self, f),
            _ => of_listing(self, f),
        }
    }
}

/// Of the accounts of a run: the option first.
fn of_accounts(advice: &Advice, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match &advice.option {
        Some(option) => write!(f, "{option}: {}", advice.kind.word())?,
        None => write!(f, "{}: {}", advice.area.map_or("", Area::word), advice.kind.word())?,
    }
    let program: String = advice.target.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    writeln!(f, ", for {program} ({})", advice.rule)?;
    writeln!(f, "  reason     {}", advice.reason)?;
    writeln!(f, "  now        {}", advice.now)?;
    let then = advice.then();
    if then != advice.now {
        writeln!(f, "  suggested  {then}")?;
    }
    let evidence: Vec<String> = advice.evidence.iter().map(ToString::to_string).collect();
    writeln!(f, "  evidence   {}", evidence.join(", "))?;
    writeln!(f, "  stop rule  {}", advice.stop)?;
    if advice.option.is_some() {
        writeln!(f, "  risk       {}", advice.risk)?;
    }
    Ok(())
}

/// Of a listing: whom it is for first.
fn of_listing(advice: &Advice, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let suggested = advice.suggested().map_or(String::new(), |suggested| format!(" -> {suggested}"));
    writeln!(f, "{}: {}: {}{suggested}   ({})", advice.target, advice.kind.word(), advice.now, advice.rule)?;
    writeln!(f, "    why        {}", advice.reason)?;
    for line in &advice.evidence {
        writeln!(f, "    evidence   {line}")?;
    }
    if advice.option.is_some() || !advice.effect.is_empty() {
        writeln!(f, "    effect     {}", advice.effect)?;
        writeln!(f, "    risk       {}", advice.risk)?;
    }
    writeln!(f, "    confidence {}", advice.certainty)
}
