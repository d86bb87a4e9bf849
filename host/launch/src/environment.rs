//! The environment of the program: the caller's, byte for byte and in its order, with the library or
//! without anything of Underbar.

use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use underbar_ledger::samples;
use underbar_preloadable::{LEDGER, NO_FOLLOW, PRELOAD, deny, entries, is_our_library};
use underbar_sys::inherited;

/// The caller's environment, as the kernel passed it: the standard library leaves out strings without `=`.
pub(crate) fn own() -> Vec<Vec<u8>> {
    let given: Vec<Vec<u8>> = inherited::environment().map(|string| string.to_bytes().to_vec()).collect();
    if !given.is_empty() {
        return given;
    }
    // Room for most environments at once; otherwise they would be read in pieces that begin at 32 bytes.
    let mut bytes = Vec::with_capacity(16 * 1024);
    match File::open("/proc/self/environ").and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) if bytes.last() == Some(&0) => bytes
            .get(..bytes.len() - 1)
            .unwrap_or_default()
            .split(|&byte| byte == 0)
            .map(<[u8]>::to_vec)
            .collect(),
        _ => env::vars_os()
            .map(|(name, value)| [name.into_vec(), value.into_vec()].join(b"=".as_slice()))
            .collect(),
    }
}

/// `given` without the variables of an outer `underbar`, and with `library` and `variables`.
///
/// UNDERBAR_OPTS is kept if it is not among the variables: it is the user's.
pub(crate) fn of_program(
    given: Vec<Vec<u8>>,
    library: Option<&[u8]>,
    variables: &[(OsString, OsString)],
) -> Vec<CString> {
    let variables: Vec<(Vec<u8>, Vec<u8>)> =
        variables.iter().map(|(name, value)| (name.clone().into_vec(), value.clone().into_vec())).collect();
    let is_replaced = |name: &[u8]| {
        [LEDGER, NO_FOLLOW, samples::VARIABLE.as_bytes()].contains(&name)
            || variables.iter().any(|(variable, _)| variable == name)
    };
    let mut result = Vec::with_capacity(given.len() + variables.len() + 1);
    let mut library_is_in = false;
    for string in given {
        let (name, value) = match string.iter().position(|&byte| byte == b'=') {
            Some(at) => (string.get(..at).unwrap_or_default(), string.get(at + 1..).unwrap_or_default()),
            None => (string.as_slice(), b"".as_slice()),
        };
        if is_replaced(name) {
            continue;
        }
        if name != PRELOAD || string.len() == name.len() {
            result.push(string);
        } else if let Some(value) = preload(library, value) {
            library_is_in |= library.is_some();
            result.push([PRELOAD, b"=", &value].concat());
        }
    }
    if let (Some(library), false) = (library, library_is_in) {
        result.push([PRELOAD, b"=", library].concat());
    }
    for (name, value) in variables {
        result.push([name, value].join(b"=".as_slice()));
    }
    // There is no zero byte: the strings were C strings, or come from arguments.
    result.into_iter().filter_map(|string| CString::new(string).ok()).collect()
}

/// Programs that stay plain for all users: the file of their names, and what is in it; None if there is none.
#[must_use]
pub fn denied_for_all() -> Option<(&'static str, Vec<u8>)> {
    const FILE: &str = "/etc/underbar.deny";
    fs::read(FILE).ok().map(|list| (FILE, list))
}

/// The variable by which the library learns of programs that stay plain, from the user's own list and that for all users. None: the user's
/// own is enough.
pub(crate) fn denied(own: Option<OsString>, for_all: &[u8]) -> Option<(OsString, OsString)> {
    let for_all: Vec<&[u8]> = deny::entries(for_all).collect();
    if for_all.is_empty() {
        return None;
    }
    let own = own.unwrap_or_default();
    let all: Vec<&[u8]> = deny::entries(own.as_bytes()).chain(for_all).collect();
    Some((OsString::from_vec(deny::VARIABLE.to_vec()), OsString::from_vec(all.join(b",".as_slice()))))
}

/// The loader's variable with another library before those of the caller's environment, and without ours: a variable for
/// [`Launch::variables`](crate::Launch::variables) of a plain run.
#[must_use]
pub fn preloading(library: &OsStr) -> (OsString, OsString) {
    let name = OsString::from_vec(PRELOAD.to_vec());
    let own = env::var_os(&name).unwrap_or_default();
    let others = entries(own.as_bytes()).filter(|entry| !is_our_library(entry));
    let all: Vec<&[u8]> = [library.as_bytes()].into_iter().chain(others).collect();
    (name, OsString::from_vec(all.join(b":".as_slice())))
}

/// LD_PRELOAD with `library` before the others; None if nothing is left in it.
fn preload(library: Option<&[u8]>, value: &[u8]) -> Option<Vec<u8>> {
    let had_ours = entries(value).any(is_our_library);
    match library {
        // Kept unchanged, since it is not Underbar's.
        None if !had_ours => Some(value.to_vec()),
        _ => {
            let others = entries(value).filter(|entry| !is_our_library(entry));
            let all: Vec<&[u8]> = library.into_iter().chain(others).collect();
            (!all.is_empty()).then(|| all.join(b":".as_slice()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_for_all_users_join_those_of_the_user() {
        let list = |own: Option<&str>, for_all: &[u8]| {
            denied(own.map(OsString::from), for_all).map(|(name, list)| {
                assert_eq!(name, "UNDERBAR_DENY");
                list.into_string().expect("text")
            })
        };
        assert_eq!(
            list(Some("java"), b"# all\nnginx # crashes\n\nchrome*"),
            Some("java,nginx,chrome*".to_owned())
        );
        assert_eq!(list(None, b"nginx"), Some("nginx".to_owned()));
        assert_eq!(list(Some("java"), b"# nobody\n"), None);
    }

    fn check(given: &[&str], library: Option<&str>, variables: &[(&str, &str)], expect: &[&str]) {
        let given = given.iter().map(|text| text.as_bytes().to_vec()).collect();
        let variables: Vec<(OsString, OsString)> =
            variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let result = of_program(given, library.map(str::as_bytes), &variables);
        let result: Vec<&str> = result.iter().map(|string| string.to_str().expect("text")).collect();
        assert_eq!(result, expect);
    }

    const OURS: &str = "/c/libunderbar.so";

    #[test]
    fn plain_is_byte_for_byte() {
        let odd = ["B=2", "no equals sign", "=x", "", "B=3", "LD_PRELOAD= /a.so", "LD_PRELOAD"];
        check(&odd, None, &[], &odd);
    }

    #[test]
    fn the_library_comes_first_and_others_stay() {
        check(
            &["A=1"],
            Some(OURS),
            &[("UNDERBAR_LEDGER", "/l")],
            &["A=1", "LD_PRELOAD=/c/libunderbar.so", "UNDERBAR_LEDGER=/l"],
        );
        check(
            &["LD_PRELOAD=/a.so /b.so", "A=1"],
            Some(OURS),
            &[],
            &["LD_PRELOAD=/c/libunderbar.so:/a.so:/b.so", "A=1"],
        );
    }

    #[test]
    fn what_an_outer_underbar_set_is_taken_out() {
        let outer = [
            "LD_PRELOAD=/old/libunderbar.so",
            "UNDERBAR_LEDGER=/o",
            "UNDERBAR_NO_FOLLOW=7",
            "UNDERBAR_SAMPLES=1000000",
            "UNDERBAR_OPTS=X",
        ];
        check(&outer, None, &[], &["UNDERBAR_OPTS=X"]);
        check(
            &outer,
            Some(OURS),
            &[("UNDERBAR_OPTS", "Y")],
            &["LD_PRELOAD=/c/libunderbar.so", "UNDERBAR_OPTS=Y"],
        );
    }

    #[test]
    fn our_own_environment_is_that_of_the_standard_library() {
        let own = own();
        for (name, value) in env::vars_os() {
            let string = [name.into_vec(), value.into_vec()].join(b"=".as_slice());
            assert!(own.contains(&string));
        }
    }
}
