//! Chromium without a window, driven through two pipes by its own protocol (one JSON object and a zero byte each way).
//!
//! ```text
//! test --in (fifo)--> descriptor 3, chromium, descriptor 4 --out (fifo)--> test
//! ```
//!
//! Invariant: no call waits for time: each waits for its own answer, and a page is ready at its load event.
//! Not here: the expected contents of a page (`tests/page.rs`).

use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Debian's names of the program.
const NAMES: [&str; 2] = ["chromium", "chromium-headless-shell"];

/// A browser, ended with its test.
pub struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    calls: u64,
    events: Vec<Value>,
}

/// One page of it.
pub struct Page<'b> {
    browser: &'b mut Browser,
    session: String,
}

/// The path of the program.
#[must_use]
pub fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|file| file.is_file())
}

impl Browser {
    /// Starts one; all its files go below `folder`.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(program: &Path, folder: &Path) -> Self {
        let fifo = |name: &str| {
            let path = folder.join(name);
            let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo");
            assert!(made.success(), "mkfifo {}", path.display());
            path
        };
        let (to, from) = (fifo("to"), fifo("from"));
        // The shell opens the pipes on the descriptors that the program uses. The page and the container are our own:
        // no sandbox, which
        // root may not have.
        let child = Command::new("sh")
            .args(["-c", "to=$1 from=$2; shift 2; exec \"$@\" 3<\"$to\" 4>\"$from\"", "sh"])
            .args([&to, &from])
            .arg(program)
            .args([
                "--headless",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg("about:blank")
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(folder.join("browser.log")).expect("a log"))
            .spawn()
            .expect("sh");
        // In the order in which the shell opens them: each open waits for the other side.
        let to = OpenOptions::new().write(true).open(to).expect("the pipe to the browser");
        let from = BufReader::new(File::open(from).expect("the pipe from the browser"));
        Self { child, to, from, calls: 0, events: Vec::new() }
    }

    /// Opens a page, `width` wide, dark or light, and waits until it is loaded.
    pub fn open(&mut self, address: &str, width: u32, dark: bool) -> Page<'_> {
        let target = self.call("", "Target.createTarget", &json!({"url": "about:blank"}));
        let target = target["targetId"].clone();
        let attached = self.call("", "Target.attachToTarget", &json!({"targetId": target, "flatten": true}));
        let session = attached["sessionId"].as_str().expect("a session").to_owned();
        let mut page = Page { browser: self, session };
        for domain in ["Page", "Network", "Runtime", "DOM", "Log"] {
            page.call(&format!("{domain}.enable"), &json!({}));
        }
        page.look(width, dark);
        page.browser.events.clear();
        page.call("Page.navigate", &json!({"url": address}));
        page.wait_for("Page.loadEventFired");
        page
    }

    fn call(&mut self, session: &str, method: &str, parameters: &Value) -> Value {
        self.calls += 1;
        let mut call = json!({"id": self.calls, "method": method, "params": parameters});
        if !session.is_empty() {
            call["sessionId"] = session.into();
        }
        let mut bytes = call.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let answer = self.next();
            if answer["id"] == self.calls {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn next(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("the browser answers");
        assert_eq!(bytes.pop(), Some(0), "the browser ended");
        serde_json::from_slice(&bytes).expect("JSON")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may be gone already; then there is nothing to end.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let mut rest = Vec::new();
        while self.from.read_until(0, &mut rest).is_ok_and(|length| length > 0) {
            rest.clear();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Page<'_> {
    /// Calls a method of the protocol for this page.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.browser.call(&self.session, method, parameters)
    }

    /// Sets width and colours.
    pub fn look(&mut self, width: u32, dark: bool) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let colours = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": colours}, {"name": "prefers-reduced-motion", "value": "reduce"}]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// The value of a JavaScript expression, as JSON; a promise is awaited.
    ///
    /// # Panics
    /// If it throws.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true});
        let answer = self.call("Runtime.evaluate", &parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Chooses files in the input element of this id, as a user would.
    pub fn choose(&mut self, id: &str, files: &[PathBuf]) {
        let element =
            self.call("Runtime.evaluate", &json!({"expression": format!("document.getElementById('{id}')")}));
        let parameters = json!({"files": files, "objectId": element["result"]["objectId"]});
        self.call("DOM.setFileInputFiles", &parameters);
    }

    /// Addresses of all requests since the page was opened.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let ours = self.browser.events.iter().filter(|event| event["sessionId"] == self.session.as_str());
        ours.filter(|event| event["method"] == "Network.requestWillBeSent")
            .map(|event| event["params"]["request"]["url"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// What the page and the browser complained of since it was opened: exceptions, errors on the console, refusals of its policy.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let ours = self.browser.events.iter().filter(|event| event["sessionId"] == self.session.as_str());
        let is_complaint = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => {
                matches!(event["params"]["type"].as_str(), Some("error" | "warning" | "assert"))
            }
            Some("Log.entryAdded") => {
                matches!(event["params"]["entry"]["level"].as_str(), Some("error" | "warning"))
            }
            _ => false,
        };
        ours.filter(is_complaint).map(|event| event["params"].to_string()).collect()
    }

    /// Presses a key, such as `Tab`, `Enter` or `ArrowDown`, with its code on Windows; `text` is what it types.
    pub fn press(&mut self, key: &str, code: u32, text: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let parameters =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
            self.call("Input.dispatchKeyEvent", &parameters);
        }
    }

    /// A picture of the whole page, as a PNG file.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn picture(&mut self, file: &Path) {
        let parameters = json!({"format": "png", "captureBeyondViewport": true});
        let answer = self.call("Page.captureScreenshot", &parameters);
        std::fs::write(file, decoded(answer["data"].as_str().unwrap_or_default())).expect("a picture");
    }

    fn wait_for(&mut self, method: &str) {
        let is_it = |event: &Value, session: &str| event["method"] == method && event["sessionId"] == session;
        if self.browser.events.iter().any(|event| is_it(event, &self.session)) {
            return;
        }
        loop {
            let event = self.browser.next();
            let done = is_it(&event, &self.session);
            self.browser.events.push(event);
            if done {
                return;
            }
        }
    }
}

/// Base64.
fn decoded(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters: Vec<u8> = text.bytes().filter(|letter| *letter != b'=').map(value).collect();
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4);
    for four in letters.chunks(4) {
        let word = four.iter().fold(0_u32, |sum, six| sum << 6 | u32::from(*six)) << (6 * (4 - four.len()));
        bytes.extend_from_slice(&word.to_be_bytes()[1..four.len()]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn base64_is_read_back() {
        for (text, expect) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(decoded(text), expect.as_bytes());
        }
    }
}
