//! What-if for the sizes of available lists: the present ones, and others.
//!
//! Not here: how lists serve requests (`available_lists`), the best sizes (`ztpf::avl`).

use super::super::Collected;
use super::super::available_lists::serve;
use underbar_model::Figure;

use super::super::ztpf::avl::{Choice, choose, too_coarse};
use super::super::ztpf::population::populations;
use super::Simulation;

/// The sizes that a text names: none for `AVL`, which means the advised sizes.
///
/// None if the text is about something else.
pub(super) fn sizes(text: &str) -> Option<Result<Vec<u64>, String>> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("AVL") {
        return Some(Ok(Vec::new()));
    }
    text.get(..5).filter(|start| start.eq_ignore_ascii_case("HAVSZ"))?;
    let mut all = Vec::new();
    for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
        let expect = format!("HAVSZ{}=", all.len() + 1);
        let value = word.get(..expect.len()).filter(|name| name.eq_ignore_ascii_case(&expect));
        let size = value.and_then(|_| word[expect.len()..].parse::<u64>().ok());
        match size.filter(|size| (1..=1 << 31).contains(size) && all.last().is_none_or(|last| size > last)) {
            Some(size) => all.push(size),
            None => {
                return Some(Err(format!(
                    "{word}: {expect} and a size larger than the one before is needed"
                )));
            }
        }
    }
    Some(Ok(all))
}

/// Tries the present sizes and the given ones, or the advised ones if none are given, for each population.
pub(super) fn simulate(collected: &Collected, given: &[u64]) -> Vec<Simulation> {
    let one = |population: &super::super::ztpf::population::Population<'_>| {
        let now: Vec<u64> = population.now.iter().map(|now| now.value).collect();
        let choice = if given.is_empty() { choose(population) } else { Choice::Sizes(given.to_vec()) };
        let (proposed, why_not) = match &choice {
            Choice::Sizes(sizes) => (sizes.clone(), None),
            Choice::None(why) => (Vec::new(), Some(why.clone())),
        };
        let (mut arms, classes) = (Vec::new(), population.classes());
        if !now.is_empty() {
            arms.push(serve("now", &classes, &now));
        }
        if !proposed.is_empty() {
            // Not advised: given by the user, or chosen from classes that are too coarse.
            let tried = !given.is_empty() || (now.is_empty() && too_coarse(population));
            let name = if tried { "tried" } else { "proposed" };
            arms.push(serve(name, &classes, &proposed));
        }
        let mut evidence: Vec<_> =
            population.reports.iter().map(|(file, report)| collected.line(*file, &report.title)).collect();
        evidence.truncate(8);
        evidence.extend(population.now.first().and_then(|now| now.evidence.line()).cloned());
        let mut notes = Vec::new();
        if now.is_empty() {
            notes.push("The present sizes are not known: the listing does not hold all of them.".to_owned());
        } else if population.now.iter().any(Figure::is_likely) {
            notes.push(
                "The last of the present sizes ends the longest line of its report, which may be cut."
                    .to_owned(),
            );
        }
        match (population.missing, population.requests.missing) {
            (0, Some(0)) => {}
            (least, Some(most)) if least == most => {
                notes.push(format!(
                    "{most} more requests lie in rows that are not here: they are served by neither."
                ));
            }
            (least, most) => {
                let most = most.map_or("any number".to_owned(), |most| format!("up to {most}"));
                notes.push(if least == 0 {
                    format!(
                        "Requests in rows that are not here which rounded percentages allow: {}.",
                        most.trim_start_matches("up to ")
                    )
                } else {
                    format!(
                        "Requests that may lie in rows that are not here, and so are served by none: {most}."
                    )
                });
            }
        }
        notes.extend(why_not);
        notes.push(
            "Of a request only its class is known, so that what is wasted is a span; requests that no list holds \
             get storage of their own size from the heap."
                .to_owned(),
        );
        Simulation {
            rule: super::super::ztpf::AVL_SIZE,
            subject: population.name.clone(),
            what: "sizes of the available lists",
            requests: population.all(),
            evidence,
            arms,
            notes,
        }
    };
    populations(collected).iter().map(one).collect()
}
