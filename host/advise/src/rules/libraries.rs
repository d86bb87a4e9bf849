//! The rules for load libraries. `underbar lib survey` applies them.
//!
//! Not here: the table that joins the parts (`rules`), and the functions of the rules.

use crate::rule::{Apply, Platform, Rule};

/// The source of the rules about load libraries.
const LOAD_LIBRARIES: &str = "LongEx Mainframe Quarterly, August 2019, Load Library Performance: a module of 4 MB loaded 1,000 times took \
                      1,646,000 EXCPs and 243 s at 6,144, 504,000 and 145 s at 23,440, 426,000 and 133 s at 32,760, 100,000 and 4 s \
                      in a PDSE; a module of one block always the same";

/// In the order in which they are applied.
pub(super) const RULES: [Rule; 6] = [
    Rule {
        id: "block-size-listed",
        title: "Small blocks, seen in a list",
        source: LOAD_LIBRARIES,
        condition: "A list shows a PDS with RECFM=U and a block size of 8,192 or less.",
        formula: "Copy it at a block size of 32760; survey the library itself for the tracks and channel programs that it saves.",
        stop: "A larger block size, or a PDSE: no advice.",
        risk: "None for programs: the binder fills tracks with shorter blocks, so space does not grow.",
        platforms: &[Platform::Libraries],
        apply: Apply::Survey,
    },
    Rule {
        id: "block-size",
        title: "Block size of a PDS",
        source: LOAD_LIBRARIES,
        condition: "At 32,760 its members would take fewer tracks, or fewer channel programs to load, than now.",
        formula: "32760. SYS1.LINKLIB took 2,895 tracks at 6,144, 2,640 at 23,440 and 2,620 at 32,760.",
        stop: "Nothing is saved, as with members of one block: no advice.",
        risk: "A library must be copied (IEBCOPY COPYMOD, or the binder) for its members to have the new block size.",
        platforms: &[Platform::Libraries],
        apply: Apply::Survey,
    },
    Rule {
        id: "compress",
        title: "Gaps of a PDS",
        source: "Own: what a copy at the same block size takes less",
        condition: "A tenth or more of its tracks are gaps that deleted members left.",
        formula: "Compress it.",
        stop: "Fewer gaps: no advice.",
        risk: "No job may have the library open for output, and a compress that fails may lose members: copy it first.",
        platforms: &[Platform::Libraries],
        apply: Apply::Survey,
    },
    Rule {
        id: "many-members",
        title: "Directory of a PDS",
        source: "LongEx, as above: with 4,200 members instead of 2 loads of a small module took 9 s instead of 3, in a PDSE 2 s \
                 instead of 1",
        condition: "The directory of a PDS is larger than one track.",
        formula: "Make it a PDSE, or part it: a PDS directory is searched in sequence. LLA spares the search as well.",
        stop: "The directory fits on a track: no advice.",
        risk: "A PDSE cannot be read before its address space is up: not for what is needed at IPL.",
        platforms: &[Platform::Libraries],
        apply: Apply::Survey,
    },
    Rule {
        id: "above-4k",
        title: "Block size of a PDSE",
        source: "LongEx, as above: pages of a PDSE are 4K, whatever its block size",
        condition: "A PDSE with a block size below 4,096.",
        formula: "4096 or more; 32760 is usual. Nothing else depends on it.",
        stop: "4,096 or more: no advice.",
        risk: "None: nothing but the label changes.",
        platforms: &[Platform::Libraries],
        apply: Apply::Survey,
    },
    Rule {
        id: "free-pages",
        title: "Pages of a PDSE that hold nothing",
        source: "Own: pages that are free, of all",
        condition: "A quarter or more of its pages, and 64 or more, hold nothing.",
        formula: "Copy it to a smaller one, unless it will grow again.",
        stop: "Fewer are free: no advice.",
        risk: "A library that grows again asks for extents again.",
        platforms: &[Platform::Libraries],
        apply: Apply::Survey,
    },
];
