//! Which function of a stack is the site: the one that a person would look at.
//!
//! ```text
//! innermost first   malloc, operator new, __rust_alloc, underbar itself      cut off
//!                   std::vector<...>::push_back at /usr/include/c++/...      has a line, but not of the user's own code
//!                   parse_record at src/reader.c:212                         the site
//! ```
//!
//! The rule: the innermost function that has a line in the user's own code; if none has, the innermost function with a name in the user's
//! own program or library; else the innermost place there (they are stripped); else the innermost function with a name, those of the C
//! library last; else the innermost place. `main` and what starts it are below every stack: without lines they count as nobody's, since a
//! program that is little but its libraries (ruby, R, convert) would have no other site. A place in a stripped library comes before them
//! (gs).
//!
//! Functions that only hand a request on (`xmalloc`) are passed over, if there is anything else; the site's row names the one that it calls.
//!
//! The user's own code is that of the programs that were run, and of libraries outside the system's folders ([`SYSTEM`]), except for lines
//! in sources of compilers and packages ([`SOURCES`]). Functions of Python count as lines, also without a number.
//!
//! Invariant: it depends on the stack alone, so equal stacks have equal sites.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::name_words::place;
use crate::names::{CPYTHON, Function, Location};
use crate::wrappers::{Wrappers, frames};

/// Folders whose programs and libraries are the system's, unless they are the program that is run.
pub const SYSTEM: [&str; 5] = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "[vdso]"];

/// Parts of the names of sources that come with compilers and packages.
pub const SOURCES: [&str; 9] = [
    "/rustc/",
    "/rust/deps/",
    "/rustlib/",
    "/.cargo/registry/",
    "/.cargo/git/",
    "/usr/include/",
    "/include/c++/",
    "/usr/lib/",
    "/usr/src/",
];

/// How the names of functions of CPython begin that hand out storage, for objects of all types.
const OF_PYTHON: [&str; 11] = [
    "PyMem_",
    "_PyMem_",
    "PyObject_Malloc",
    "PyObject_Calloc",
    "PyObject_Realloc",
    "_PyObject_Malloc",
    "_PyObject_Calloc",
    "_PyObject_Realloc",
    "pymalloc_",
    "new_arena",
    "arena_map_",
];

/// Parts of the names of modules that belong to Python: under functions of Python they are not the user's own code.
const PYTHON: [&str; 3] = ["/libpython", "/lib-dynload/", "/site-packages/"];

/// How the names of the files begin that are the C library, its loader, and the library of C++.
const OF_C: [&str; 4] = ["libc.so", "libc-", "ld-linux", "libstdc++.so"];

/// How the names of the functions begin that call `main`.
pub const STARTS: &str = "__libc_start_";

/// Functions that hand out storage, whichever library they are in, as people write them, without their arguments.
const ALLOCATORS: [&str; 22] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "__libc_malloc",
    "__libc_calloc",
    "__libc_realloc",
    "operator new",
    "operator new[]",
    "__rust_alloc",
    "__rust_alloc_zeroed",
    "__rust_realloc",
    "__rdl_alloc",
    "__rdl_alloc_zeroed",
    "__rdl_realloc",
    "__rustc::__rust_alloc",
    "__rustc::__rust_realloc",
];

/// The site of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// The function, its file and its line, as far as they are known.
    pub function: Function,
    /// The program file that has it.
    pub module: String,
    /// Its address there; only if nothing else names it.
    pub address: Option<u64>,
    /// Why there is no more.
    pub note: Option<Cow<'static, str>>,
}

/// How many of the innermost locations belong to underbar or to functions that hand out storage.
#[must_use]
pub fn cut(locations: &[&Location]) -> usize {
    let is_inside = |location: &&&Location| {
        location.module.contains("libunderbar") || location.functions.last().is_some_and(is_allocator)
    };
    let inside = locations.iter().take_while(is_inside).count();
    // A stack of nothing else shows its outermost one.
    inside.min(locations.len().saturating_sub(1))
}

fn is_allocator(function: &Function) -> bool {
    let Some(name) = &function.function else { return false };
    let bare = name.split('(').next().unwrap_or_default();
    ALLOCATORS.contains(&bare) || OF_PYTHON.iter().any(|begin| bare.starts_with(begin))
}

/// The site of a stack whose innermost locations are cut, and the wrapper of malloc that it calls. None if there is no location.
#[must_use]
pub fn site<'a>(
    locations: &'a [&'a Location],
    programs: &HashSet<PathBuf>,
    wrappers: &Wrappers,
) -> Option<(Site, Option<String>)> {
    // Under functions of Python, their interpreter and its modules are not the user's own code.
    let interpreter = locations.iter().find(|location| location.note.as_deref() == Some(CPYTHON));
    let has_python = locations.iter().any(|location| location.is_python());
    let is_of_python = |module: &str| {
        has_python
            && (interpreter.is_some_and(|interpreter| interpreter.module == module)
                || PYTHON.iter().any(|part| module.contains(part)))
    };
    let own = |location: &Location| !is_of_python(&location.module) && is_own(&location.module, programs);
    let has_line = |(location, function): &(&Location, &Function)| {
        let has_own_line = function.line.is_some()
            && own(location)
            && function.file.as_deref().is_some_and(|file| !SOURCES.iter().any(|part| file.contains(part)));
        location.is_python() || has_own_line
    };
    let above = above_main(locations);
    let is_own_place = |location: &&&Location| {
        own(location) && location.functions.is_empty() && !wrappers.has(location, None)
    };
    let own_place = above.iter().find(is_own_place);
    let main_place = locations.iter().find(is_own_place);
    let is_library_place = |location: &&&Location| {
        location.functions.is_empty() && is_no_part_of_c(location) && !wrappers.has(location, None)
    };
    let library_place = above.iter().find(is_library_place);
    let choose = |passes_over: bool| {
        let functions = |of: &'a [&'a Location]| {
            frames(of).filter_map(|(location, function)| Some((location, function?)))
        };
        let named = |of| functions(of).filter(|(_, function)| function.function.is_some());
        // Last of all, since it is a search in a table.
        let passes = |(location, function): &(&Location, &Function)| {
            !passes_over || !wrappers.has(location, Some(function))
        };
        let is_own_name = |(location, _): &(&Location, &Function)| {
            own(location) && location.note.as_deref() != Some(CPYTHON)
        };
        let is_other = |(location, _): &(&Location, &Function)| is_no_part_of_c(location);
        let other = || {
            named(above)
                .find(|each| is_other(each) && passes(each))
                .or_else(|| named(locations).find(|each| is_main(each.0) && passes(each)))
                .or_else(|| named(above).find(passes))
                .or_else(|| named(locations).find(|each| main_place.is_none() && passes(each)))
        };
        functions(locations)
            .find(|each| has_line(each) && passes(each))
            .or_else(|| named(above).find(|each| is_own_name(each) && passes(each)))
            .or_else(|| if own_place.is_none() { other() } else { None })
    };
    // A stack that was cut may have no other name than its wrapper's. Then the place that calls it says more.
    let is_wrapper = |location: &&Location| {
        location.functions.first().is_some_and(|function| wrappers.has(location, Some(function)))
    };
    let caller_place = || {
        let wrapper = above.iter().rposition(is_wrapper)?;
        above.get(wrapper + 1).filter(|location| location.functions.is_empty())
    };
    let named = choose(true);
    let caller_place = if named.is_none() { caller_place() } else { None };
    let has_place = main_place.or(caller_place).is_some();
    let chosen = named.or_else(|| if has_place { None } else { choose(false) });
    let found = match chosen {
        Some((location, function)) => {
            let site = Site {
                function: function.clone(),
                module: location.module.clone(),
                address: None,
                note: location.note.clone(),
            };
            (site, called_wrapper(locations, location, Some(function), wrappers))
        }
        None => {
            let first =
                own_place.or(caller_place).or(library_place).or(main_place).or_else(|| locations.first())?;
            let site = Site {
                function: Function::default(),
                module: first.module.clone(),
                address: Some(first.address),
                note: first.note.clone(),
            };
            (site, called_wrapper(locations, first, None, wrappers))
        }
    };
    Some(found)
}

/// The wrapper of malloc that a site calls; functions without names may be between the two.
fn called_wrapper(
    locations: &[&Location],
    site: &Location,
    function: Option<&Function>,
    wrappers: &Wrappers,
) -> Option<String> {
    let is_site = |(location, of): &(&Location, Option<&Function>)| {
        std::ptr::eq(*location, site)
            && of.is_none_or(|of| function.is_some_and(|function| std::ptr::eq(of, function)))
    };
    let inner = frames(locations).take_while(|frame| !is_site(frame));
    // A place without a name between the two may be a part of either.
    let (location, function) =
        inner.filter(|(location, function)| function.is_some() || wrappers.has(location, None)).last()?;
    if !wrappers.has(location, function) {
        return None;
    }
    function.map_or_else(|| Some(place(location)), |function| function.function.clone())
}

/// Whether a location is in no library of C or C++.
fn is_no_part_of_c(location: &Location) -> bool {
    let file = location.module.rsplit('/').next().unwrap_or_default();
    !OF_C.iter().any(|begin| file.starts_with(begin))
}

/// The locations above `main`; all, if it is not among them.
fn above_main<'a>(locations: &'a [&'a Location]) -> &'a [&'a Location] {
    let starts = |location: &&Location| {
        let names = location.functions.iter().filter_map(|function| function.function.as_deref());
        names.into_iter().any(|name| name.starts_with(STARTS))
    };
    match locations.iter().position(starts) {
        Some(start) => &locations[..start.saturating_sub(1)],
        None => {
            let main = locations.iter().position(|location| is_main(location));
            &locations[..main.unwrap_or(locations.len())]
        }
    }
}

/// Whether a location is in `main`, and in nothing that was inlined there.
fn is_main(location: &Location) -> bool {
    matches!(&location.functions[..], [Function { function: Some(name), .. }] if name == "main")
}

fn is_own(module: &str, programs: &HashSet<PathBuf>) -> bool {
    // Code made at run time, or by nobody.
    if module.is_empty() {
        return false;
    }
    programs.contains(Path::new(module)) || !SYSTEM.iter().any(|folder| module.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(module: &str, functions: &[(&str, &str, u64)]) -> Location {
        let function = |(name, file, line): &(&str, &str, u64)| Function {
            function: Some((*name).to_owned()).filter(|name| !name.is_empty()),
            file: Some((*file).to_owned()).filter(|file| !file.is_empty()),
            line: Some(*line).filter(|line| *line > 0),
        };
        Location {
            module: module.to_owned(),
            address: 0x1234,
            note: functions.is_empty().then_some("stripped".into()),
            functions: functions.iter().map(function).collect(),
        }
    }

    fn chosen(locations: &[Location]) -> (usize, String) {
        let all: Vec<&Location> = locations.iter().collect();
        let cut = cut(&all);
        let programs = HashSet::from([PathBuf::from("/usr/lib/postgresql/postgres")]);
        let (site, by) = site(&all[cut..], &programs, &Wrappers::default()).expect("a site");
        let name = site.function.function.unwrap_or_else(|| format!("{:x?}", site.address));
        (cut, by.map_or(name.clone(), |by| format!("{name}, by {by}")))
    }

    #[test]
    fn the_innermost_line_of_the_user_s_own_code_counts() {
        let malloc = location("/memfd:libunderbar.so", &[("malloc", "", 0)]);
        let new = location("/usr/lib/libstdc++.so.6", &[("operator new(unsigned long)", "", 0)]);
        let vector = location(
            "/opt/app",
            &[("std::vector<int>::grow", "/usr/include/c++/12/vector", 9), ("load", "a.cc", 7)],
        );
        let main = location("/opt/app", &[("main", "a.cc", 20)]);
        let own = [malloc.clone(), new, vector, main.clone()];
        assert_eq!(chosen(&own), (2, "load".to_owned()));
        let table = "/rust/deps/hashbrown-0.16.1/src/raw/mod.rs";
        let map = location("/opt/app", &[("do_alloc", table, 9), ("index", "hm.rs", 2)]);
        assert_eq!(chosen(&[malloc.clone(), map]), (1, "index".to_owned()));
        // Without lines: the user's own program before the system's libraries.
        let strdup = location("/lib/libc.so.6", &[("strdup", "", 0)]);
        let bare = location("/opt/app", &[("copy", "", 0)]);
        assert_eq!(chosen(&[malloc.clone(), strdup.clone(), bare.clone()]), (1, "copy".to_owned()));
        assert_eq!(chosen(&[malloc.clone(), strdup.clone(), bare, main]), (1, "main".to_owned()));
        let stripped = location("/opt/app", &[]);
        assert_eq!(chosen(&[strdup.clone(), stripped.clone()]), (0, "Some(1234)".to_owned()));
        assert_eq!(chosen(&[strdup]), (0, "strdup".to_owned()));
        assert_eq!(chosen(&[stripped]), (0, "Some(1234)".to_owned()));
        // The program that is run is the user's, wherever it is; a stack of nothing but malloc shows it.
        let system = location("/usr/lib/postgresql/postgres", &[("palloc", "mcxt.c", 3)]);
        assert_eq!(chosen(&[malloc.clone(), system]), (1, "palloc".to_owned()));
        assert_eq!(chosen(&[malloc]), (0, "malloc".to_owned()));
    }

    #[test]
    fn a_program_that_is_little_but_its_libraries_has_sites_in_them() {
        // Ruby of Debian: the program has no more than `main`, without a name, and `_start`.
        let malloc = location("/memfd:libunderbar.so", &[("malloc", "", 0)]);
        let strdup = location("/usr/lib/libc.so.6", &[("strdup", "", 0)]);
        let hash = location("/usr/lib/libruby.so", &[("rb_hash_aset", "", 0)]);
        let main = location("/usr/bin/ruby", &[]);
        let call = location("/usr/lib/libc.so.6", &[("__libc_start_call_main", "start.h", 58)]);
        let start = location("/usr/bin/ruby", &[("_start", "", 0)]);
        let below = [main, call.clone(), start.clone()];
        let of = |above: &[&Location]| {
            let all: Vec<Location> = above.iter().copied().chain(&below).cloned().collect();
            chosen(&all).1
        };
        assert_eq!(of(&[&malloc, &strdup, &hash]), "rb_hash_aset");
        assert_eq!(of(&[&malloc, &strdup]), "strdup");
        assert_eq!(of(&[&malloc]), "Some(1234)");
        // gs of Debian: its library has no names either.
        let stripped = Location { address: 0x5678, ..location("/usr/lib/libgs.so.10", &[]) };
        assert_eq!(of(&[&malloc, &stripped]), "Some(5678)");
        // Another function of the program is the site, with a name or without.
        let command = location("/usr/bin/ruby", &[("run_command", "", 0)]);
        assert_eq!(of(&[&malloc, &hash, &command]), "run_command");
        assert_eq!(of(&[&malloc, &hash, &location("/usr/bin/ruby", &[])]), "Some(1234)");
        // A `main` that requests by itself or by the C library is a site.
        let main = location("/opt/app", &[("main", "", 0)]);
        let own = [malloc, strdup, main, call, start];
        assert_eq!(chosen(&own), (1, "main".to_owned()));
    }

    #[test]
    fn functions_of_python_come_before_those_of_its_interpreter() {
        let mut loop_of = location("/usr/bin/python3", &[("_PyEval_EvalFrameDefault", "", 0)]);
        loop_of.note = Some(CPYTHON.into());
        let python = location("", &[("load", "/srv/job.py", 0)]);
        let arena = location("/usr/bin/python3", &[("new_arena", "obmalloc.c", 9)]);
        let list = location("/usr/bin/python3", &[("list_resize", "listobject.c", 82)]);
        let own = [arena, list.clone(), loop_of.clone(), python];
        assert_eq!(chosen(&own), (1, "load".to_owned()));
        assert_eq!(chosen(&own[..3]), (1, "list_resize".to_owned()));
        assert_eq!(chosen(&[loop_of]), (0, "_PyEval_EvalFrameDefault".to_owned()));
        assert_eq!(site(&[], &HashSet::new(), &Wrappers::default()), None);
    }

    #[test]
    fn a_wrapper_of_malloc_is_named_behind_the_function_that_calls_it() {
        let of_app = |name: &str, line| location("/opt/app", &[(name, "a.c", line)]);
        let (inner, outer) = (of_app("xmalloc", 5), of_app("xcalloc", 9));
        let (load, main) = (of_app("load", 20), of_app("main", 30));
        assert_eq!(chosen(&[inner.clone(), load.clone(), main.clone()]).1, "load, by xmalloc");
        assert_eq!(chosen(&[inner.clone(), outer, load.clone(), main.clone()]).1, "load, by xcalloc");
        // Between two functions of the program.
        let strdup = location("/usr/lib/libc.so.6", &[("strdup", "", 0)]);
        let copy = of_app("xstrdup", 7);
        assert_eq!(chosen(&[strdup, copy.clone(), load.clone(), main.clone()]).1, "load, by xstrdup");
        // One of a library that a function of the library calls is not the program's.
        let of_glib = |name: &str| location("/usr/lib/libglib-2.0.so.0", &[(name, "", 0)]);
        let (g_malloc, table) = (of_glib("g_malloc"), of_glib("g_hash_table_insert"));
        assert_eq!(chosen(&[g_malloc.clone(), table.clone(), load.clone()]).1, "load");
        assert_eq!(chosen(&[g_malloc.clone(), table]).1, "g_hash_table_insert, by g_malloc");
        assert_eq!(chosen(&[g_malloc.clone(), load]).1, "load, by g_malloc");
        // `main`, a place without a name, and nothing else at all.
        assert_eq!(chosen(&[inner.clone(), location("/opt/app", &[("main", "", 0)])]).1, "main, by xmalloc");
        assert_eq!(chosen(&[inner.clone(), location("/opt/app", &[])]).1, "Some(1234), by xmalloc");
        assert_eq!(chosen(&[g_malloc]).1, "g_malloc");
        // The flag.
        let all = [&inner, &main];
        let (plain, by) = site(&all, &HashSet::new(), &Wrappers::off()).expect("a site");
        assert_eq!((plain.function.function.as_deref(), by), (Some("xmalloc"), None));
    }

    #[test]
    fn in_a_stack_that_was_cut_the_place_that_calls_a_wrapper_is_the_site() {
        let library = "/usr/lib/libsqlite3.so.0";
        let nameless = |address| Location { address, ..location(library, &[]) };
        let wrapper = location(library, &[("sqlite3Malloc", "", 0)]);
        let stack = [nameless(0xa), wrapper.clone(), nameless(0xb), nameless(0xc)];
        assert_eq!(chosen(&stack).1, "Some(b), by sqlite3Malloc");
        assert_eq!(chosen(&stack[..2]).1, "sqlite3Malloc", "nothing else is known");
    }

    #[test]
    fn a_place_that_only_hands_on_is_named_behind_its_caller() {
        let place = |address| Location { address, ..location("/opt/app", &[]) };
        let stacks: Vec<Vec<Location>> =
            (1..=4).map(|caller| vec![place(0x10), place(caller * 0x100)]).collect();
        let stacks: Vec<Vec<&Location>> = stacks.iter().map(|stack| stack.iter().collect()).collect();
        let sampled: Vec<crate::wrappers::Sampled<'_>> = stacks
            .iter()
            .zip(1..)
            .map(|(locations, at)| crate::wrappers::Sampled { locations, samples: 10, bytes: 1000 * at })
            .collect();
        let wrappers = Wrappers::of(&sampled);
        for (stack, caller) in stacks.iter().zip(1..) {
            let (site, by) = site(stack, &HashSet::new(), &wrappers).expect("a site");
            assert_eq!((site.address, by.as_deref()), (Some(caller * 0x100), Some("app+0x10")));
        }
    }
}
