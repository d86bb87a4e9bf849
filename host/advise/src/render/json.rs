//! Advice as JSON: one form for the accounts of a run, one for listings.

use serde::{Serialize, Serializer};

use crate::advice::{Advice, Evidence, Kind, Setting, Value};
use crate::rule::{Area, Platform};

/// Of the accounts of a run.
#[derive(Serialize)]
struct OfAccounts<'a> {
    rule: &'static str,
    program: &'a str,
    area: &'static str,
    kind: Kind,
    option: &'a Option<Setting>,
    now: &'a str,
    suggested: String,
    evidence: &'a [Evidence],
    reason: &'a str,
    stop: &'static str,
    risk: &'a str,
    risky: bool,
    acts: bool,
}

/// Of a listing.
#[derive(Serialize)]
struct OfListing<'a> {
    rule: &'static str,
    program: &'a str,
    kind: Kind,
    now: &'a str,
    option: &'a Option<Setting>,
    #[serde(skip_serializing_if = "<[Value]>::is_empty")]
    values: &'a [Value],
    evidence: &'a [Evidence],
    reason: &'a str,
    effect: &'a str,
    risk: &'a str,
    confidence: &'a str,
}

impl Serialize for Advice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Advice { rule, kind, option, now, evidence, reason, risk, .. } = self;
        let (rule, kind, program) = (*rule, *kind, self.target.as_str());
        match self.platform {
            Platform::Linux => {
                let (area, suggested) = (self.area.map_or("", Area::word), self.then());
                let (stop, risky, acts) = (self.stop, self.risky, self.acts);
                let form = OfAccounts {
                    rule,
                    program,
                    area,
                    kind,
                    option,
                    now,
                    suggested,
                    evidence,
                    reason,
                    stop,
                    risk,
                    risky,
                    acts,
                };
                form.serialize(serializer)
            }
            _ => {
                let (values, effect, confidence) = (&self.values[..], &self.effect[..], &self.certainty[..]);
                let form = OfListing {
                    rule,
                    program,
                    kind,
                    now,
                    option,
                    values,
                    evidence,
                    reason,
                    effect,
                    risk,
                    confidence,
                };
                form.serialize(serializer)
            }
        }
    }
}
