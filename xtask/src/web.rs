//! `cargo xtask web`: the page with the advice of `underbar advise` in a browser, as one file.
//!
//! ```text
//! web/src  -- cargo, wasm32 --> underbar_web.wasm -- Base64 --\
//! web/page -- page.html, page.css, the scripts, the example ---+--> underbar-advise.html
//! ```
//!
//! Invariant: the page needs only itself. It contains no address at all, and its policy forbids every request, every
//! script but its own (by hash), forms, and frames.
//! What is absent: checks of the page; `zoo/tests/page.rs` opens it in a browser.

use crate::aside::Aside;
use crate::encode::base64;
use crate::steps::{Sum, cargo, command, on_path, output, root, succeeds, target};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

const TARGET: &str = "wasm32-unknown-unknown";

/// The scripts, each a part of one: a part comes after those that it uses.
const SCRIPTS: [&str; 5] = ["words.js", "engine.js", "picture.js", "show.js", "page.js"];

/// `cargo xtask web [--out FILE]`; true when the page was made, the error is the message for the user.
pub fn page(words: &[&str]) -> Result<bool, String> {
    let out = match words {
        [] => default_place(),
        ["--out", file] => PathBuf::from(file),
        _ => return Err("usage: cargo xtask web [--out FILE]".to_owned()),
    };
    if !has_target() {
        return Err(format!("the Rust target {TARGET} is missing: rustup target add {TARGET}"));
    }
    Ok(make(&out))
}

/// Starts to make the page for its tests, in the background: the linker takes most of that time, and one processor. If the compiler
/// has no WebAssembly, a message in capitals says so, here and in the last line, as for Miri: a project must be testable with a
/// compiler of a distribution.
pub fn start_aside(sum: &mut Sum) -> Option<Aside> {
    if !has_target() && on_path("rustup").is_some() {
        // As packages are installed; without write permission or network it fails.
        succeeds(&mut command("rustup", &["target", "add", TARGET]));
    }
    if !has_target() {
        sum.not_checked(&format!(
            "the web page; the Rust target {TARGET} is missing (rustup target add {TARGET})"
        ));
        return None;
    }
    Some(Aside::start("web page", &mut command("/proc/self/exe", &["web"])))
}

/// Waits for the page; true if there is one.
pub fn join(aside: Option<Aside>, sum: &mut Sum) -> bool {
    let Some(aside) = aside else { return false };
    let made = aside.join().0;
    sum.check("cargo xtask web", made);
    made
}

fn default_place() -> PathBuf {
    target().join("web/underbar-advise.html")
}

fn has_target() -> bool {
    let sysroot = output(&mut command("rustc", &["--print", "sysroot"])).unwrap_or_default();
    Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).join("lib").is_dir()
}

fn make(out: &Path) -> bool {
    let words = ["build", "--locked", "--package", "underbar-web", "--profile", "page", "--target", TARGET];
    let wasm = root().join(target()).join(TARGET).join("page/underbar_web.wasm");
    if !succeeds(&mut cargo(&words)) {
        return false;
    }
    let made = fs::read(&wasm).and_then(|wasm| {
        let html = assemble(&root().join("web/page"), &wasm)?;
        if let Some(folder) = out.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(out, &html)?;
        Ok((wasm.len(), html.len()))
    });
    match made {
        Ok((wasm, all)) => {
            println!("{}: {} KiB, {} KiB of it WebAssembly", out.display(), all / 1024, wasm / 1024)
        }
        Err(ref error) => println!("{}: {error}", out.display()),
    }
    made.is_ok()
}

/// The page from its parts.
fn assemble(folder: &Path, wasm: &[u8]) -> std::io::Result<String> {
    let read = |name: &str| fs::read_to_string(folder.join(name));
    let parts: String =
        SCRIPTS.iter().map(|name| read(name)).collect::<std::io::Result<Vec<_>>>()?.join("\n");
    let script = format!("(() => {{\n\"use strict\";\n{parts}}})();\n");
    let style = read("page.css")?;
    let named = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; script-src {} 'wasm-unsafe-eval'; style-src {}; base-uri 'none'; form-action 'none'",
        named(&script),
        named(&style)
    );
    let values = [
        ("{{policy}}", policy),
        ("{{style}}", style),
        ("{{script}}", script),
        ("{{example}}", format!("\n{}", read("example.txt")?)),
        ("{{wasm}}", base64(wasm)),
    ];
    // One after the other, from the start on: inserted text is not searched again.
    let mut html = String::new();
    let template = read("page.html")?;
    let mut rest = template.as_str();
    while let Some((before, after)) = rest.split_once("{{") {
        let end = after.find("}}").map_or(0, |end| end + 2);
        let name = format!("{{{{{}", &after[..end]);
        let Some((_, value)) = values.iter().find(|(known, _)| *known == name) else {
            return Err(std::io::Error::other(format!("page.html: {name} is not known")));
        };
        html += before;
        html += value;
        rest = &after[end..];
    }
    html += rest;
    Ok(html)
}

#[cfg(test)]
mod tests {
    use super::{SCRIPTS, assemble};
    use crate::steps::root;

    fn page() -> String {
        assemble(&root().join("web/page"), b"\0asm").expect("a page")
    }

    #[test]
    fn the_page_names_no_address_and_forbids_every_request() {
        let page = page();
        for address in
            ["://", "src=", "@import", "url(", "fetch(", "XMLHttpRequest", "sendBeacon", "WebSocket"]
        {
            assert!(!page.contains(address), "{address}");
        }
        // Links are within the page.
        for link in page.split("href=").skip(1) {
            assert!(link.starts_with("\"#") || link.starts_with("'#"), "{}", &link[..20]);
        }
        assert!(page.contains("content=\"default-src 'none'; script-src 'sha256-"));
        assert!(!page.contains("unsafe-inline"));
    }

    #[test]
    fn every_part_is_in_the_page_and_ends_where_it_should() {
        let page = page();
        assert!(page.contains("AGFzbQ==") && !page.contains("{{"));
        assert_eq!(page.matches("</script>").count(), 3);
        assert_eq!(page.matches("</style>").count(), 1);
        let folder = root().join("web/page");
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let name = entry.file_name().into_string().expect("a name");
            assert!(!name.ends_with(".js") || SCRIPTS.contains(&name.as_str()), "{name} is in no page");
        }
    }

    #[test]
    fn text_becomes_text_and_never_markup() {
        let page = page();
        for way in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"]
        {
            assert!(!page.contains(way), "{way}");
        }
    }
}
