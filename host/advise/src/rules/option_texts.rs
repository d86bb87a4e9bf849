//! The checks of option texts of Language Environment. They set nothing.
//!
//! Not here: the table that joins the parts (`rules`), and the functions of the rules.

use crate::listing::option_checks;
use crate::rule::{Apply, Platform, Rule};

/// When a check of option texts finds nothing, and what it costs.
const RIGHT: &str = "The text is right: no finding.";
const SETS_NOTHING: &str = "None: nothing is set.";

/// In the order in which they are applied.
pub(super) const RULES: [Rule; 9] = [
    Rule {
        id: "le-opt-text",
        title: "Option texts that cannot be read as written",
        source: "CEE3611I, CEE3614I; a letter O typed for 0 and a missing sub-option fell back without a word \
                 (zowe/community#1852)",
        condition: "A name that is no option, a letter among digits (in options reports, too), a sub-option at another's \
                    place, a parenthesis that is not closed, or a misspelt _CEE_RUNOPTS.",
        formula: "Write it as the message says; until then the value of the level below is in force.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::text),
    },
    Rule {
        id: "le-opt-values",
        title: "Values that an option cannot have",
        source: "Language Environment: sizes are n, nK or nM; cells of heap pools are multiples of 8; 2G below the bar, 16M \
                 below the line",
        condition: "A size as large as all of its area, one in G or AUTO, a cell of HEAPPOOLS that is no multiple of \
                    8, or one that is not larger than the one before it.",
        formula: "Write a size that can be had, in K or M; write cells in growing order.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::values),
    },
    Rule {
        id: "le-opt-cics",
        title: "Sizes that CICS does not grant",
        source: "Language Environment, ANYHEAP under CICS: 1 GB at most, as for HEAP and STACK",
        condition: "An initial size or increment of HEAP, ANYHEAP or STACK beyond 1024M in CEECOPT, or in a file that has the \
                    step of CICS in it.",
        formula: "Lower the size to 1024M or less; each task takes it.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::under_cics),
    },
    Rule {
        id: "le-opt-together",
        title: "Values that cannot hold together",
        source: "Language Environment, ALL31 and THREADSTACK",
        condition: "ALL31(OFF) without STACK BELOW, STACK BELOW with ALL31(ON), sizes after THREADSTACK(OFF), or more than \
                    8M of initial sizes below the 16M line.",
        formula: "Change one of them: ALL31(OFF) needs STACK(,,BELOW); ALL31(ON) needs no storage below the line.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::together),
    },
    Rule {
        id: "le-opt-mode",
        title: "Options of the other addressing mode",
        source: "CEE3611I; 31-bit programs reject HEAP64 (zowe/zss#685)",
        condition: "HEAP64 and related options with reports of 31-bit programs only, or HEAP and related options with reports of 64-bit \
                    programs only.",
        formula: "Write HEAP for HEAP64, or the other way round.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::mode),
    },
    Rule {
        id: "le-opt-fill",
        title: "STORAGE that fills every stack frame",
        source: "Storage tuning talk: 0.56 s of CPU under NONE, 2.15 s under 00, 0.57 s under CLEAR",
        condition: "The third value of STORAGE is neither NONE nor CLEAR, and there is no storage report for \
                    le-storage-fill.",
        formula: "STORAGE(,,NONE), or CLEAR for programs that use variables before they set them.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::fill),
    },
    Rule {
        id: "le-opt-nonovr",
        title: "Options that cannot be overridden",
        source: "Language Environment: NONOVR at a lower level beats everything above it",
        condition: "An option has NONOVR in one place and other values in another.",
        formula: "Change it where it has NONOVR, or have OVR put there.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::nonovr),
    },
    Rule {
        id: "le-opt-where",
        title: "Texts that are not in force",
        source: "Language Environment, options report: LAST WHERE SET",
        condition: "The options report shows other values than a text in the same listing sets.",
        formula: "Look at where the report says it was set: exits, then PARM and _CEE_RUNOPTS, then CEEOPTS, then CEEUOPT, \
                  then region and system members.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::elsewhere),
    },
    Rule {
        id: "le-opt-region",
        title: "Initial sizes that the region cannot hold",
        source: "An initial heap of 256M where about 125M was free ended in abend 0C4 (zowe/zowe-common-c#505)",
        condition: "An initial size of HEAP or ANYHEAP, or the 31-bit one of HEAP64, LIBHEAP64 or IOHEAP64, in a text or an options report, is as large as the region or larger; where there \
                    are several regions, as the largest.",
        formula: "Lower the size or raise REGION.",
        stop: RIGHT,
        risk: SETS_NOTHING,
        platforms: &[Platform::LanguageEnvironment],
        apply: Apply::Texts(option_checks::beyond),
    },
];
