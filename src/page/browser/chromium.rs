//! A tab of a headless Chromium, controlled with the DevTools protocol over a pipe. Messages are JSON and end
//! with a zero byte.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Timeout for a selector to become visible.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let candidates = ["chromium", "chromium-browser", "google-chrome"];
    candidates
        .iter()
        .find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file()))
}

/// A tab and its browser process, which is stopped on drop.
pub(super) struct Tab {
    browser: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Option<String>,
    next: u64,
    events: VecDeque<Value>,
    errors: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Drop for Tab {
    fn drop(&mut self) {
        let _ = self.call_browser("Browser.close", json!({}));
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}

impl Tab {
    pub(super) fn open(program: &std::path::Path) -> Result<Self, String> {
        let profile = tempfile::tempdir().map_err(|error| error.to_string())?;
        // Chromium uses descriptors 3 and 4 for the protocol's pipes.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null";
        let mut browser = Command::new("sh")
            .args(["-c", script])
            .arg(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
            ])
            .args(["--no-first-run", "--disable-background-networking", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let (Some(input), Some(output)) = (browser.stdin.take(), browser.stdout.take()) else {
            return Err("the browser has no pipes".into());
        };
        let mut tab = Self {
            browser,
            input,
            output: BufReader::new(output),
            session: None,
            next: 0,
            events: VecDeque::new(),
            errors: Vec::new(),
            _profile: profile,
        };
        let target = tab.call_browser("Target.createTarget", json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = tab.call_browser("Target.attachToTarget", attach)?;
        tab.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "DOM"] {
            tab.call(&format!("{domain}.enable"), json!({}))?;
        }
        tab.desktop("light")?;
        Ok(tab)
    }

    /// Console errors and warnings, log errors and uncaught exceptions of the pages so far.
    pub(super) fn errors(&mut self) -> Vec<String> {
        // A round trip, so that pending messages are received first.
        let _ = self.call("Runtime.evaluate", json!({"expression": "0"}));
        self.errors.clone()
    }

    pub(super) fn call(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        let session = self.session.clone();
        self.send(method, parameters, session)
    }

    fn call_browser(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        self.send(method, parameters, None)
    }

    fn send(&mut self, method: &str, parameters: Value, session: Option<String>) -> Result<Value, String> {
        self.next += 1;
        let id = self.next;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let written =
            self.input.write_all(format!("{message}\0").as_bytes()).and_then(|()| self.input.flush());
        written.map_err(|error| format!("{method}: {error}"))?;
        loop {
            let message = self.receive()?;
            if message["id"] == id {
                return match message.get("error") {
                    Some(error) => Err(format!("{method}: {error}")),
                    None => Ok(message["result"].clone()),
                };
            }
            self.events.push_back(message);
        }
    }

    fn receive(&mut self) -> Result<Value, String> {
        let mut bytes = Vec::new();
        self.output.read_until(0, &mut bytes).map_err(|error| error.to_string())?;
        if bytes.pop() != Some(0) {
            return Err("the browser has ended".into());
        }
        let message: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.errors.push(parameters["exceptionDetails"].to_string()),
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => {
                self.errors.push(parameters["entry"].to_string());
            }
            Some("Runtime.consoleAPICalled")
                if parameters["type"] == "error" || parameters["type"] == "warning" =>
            {
                self.errors.push(parameters["args"].to_string());
            }
            _ => {}
        }
        Ok(message)
    }

    pub(super) fn go(&mut self, address: &str) -> Result<(), String> {
        // Chromium does not load an address again that differs only in its fragment.
        self.call("Page.navigate", json!({"url": "about:blank"}))?;
        self.loaded()?;
        self.call("Page.navigate", json!({"url": address}))?;
        self.loaded()
    }

    fn loaded(&mut self) -> Result<(), String> {
        loop {
            let event = match self.events.pop_front() {
                Some(event) => event,
                None => self.receive()?,
            };
            if event["method"] == "Page.loadEventFired" {
                return Ok(());
            }
        }
    }

    pub(super) fn eval(&mut self, expression: &str) -> Result<Value, String> {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", parameters)?;
        match result.get("exceptionDetails") {
            Some(details) => Err(format!("{expression}: {details}")),
            None => Ok(result["result"]["value"].clone()),
        }
    }

    /// Waits until an element that matches the selector is visible.
    pub(super) fn until(&mut self, selector: &str) -> Result<(), String> {
        let begin = Instant::now();
        while self.count_visible(selector)? == 0 {
            if begin.elapsed() > PATIENCE {
                return Err(format!("{selector} does not appear"));
            }
            self.settle()?;
        }
        Ok(())
    }

    pub(super) fn settle(&mut self) -> Result<(), String> {
        let frames =
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))";
        self.eval(frames).map(|_| ())
    }

    pub(super) fn count_visible(&mut self, selector: &str) -> Result<u64, String> {
        let selector = json!(selector);
        let all =
            format!("[...document.querySelectorAll({selector})].filter((of) => of.checkVisibility()).length");
        Ok(self.eval(&all)?.as_u64().unwrap_or(0))
    }

    /// The text of the first match, with whitespace collapsed.
    pub(super) fn text(&mut self, selector: &str) -> Result<String, String> {
        let text =
            format!("document.querySelector({})?.textContent.replace(/\\s+/g, ' ').trim()", json!(selector));
        self.eval(&text)?.as_str().map(str::to_owned).ok_or(format!("there is no {selector}"))
    }

    /// The outer HTML of the first match. This works while scripts are disabled.
    pub(super) fn text_of_node(&mut self, selector: &str) -> Result<String, String> {
        let root = self.call("DOM.getDocument", json!({}))?;
        let query = json!({"nodeId": root["root"]["nodeId"], "selector": selector});
        let found = self.call("DOM.querySelector", query)?;
        let html = self.call("DOM.getOuterHTML", json!({"nodeId": found["nodeId"]}))?;
        Ok(html["outerHTML"].as_str().unwrap_or_default().to_owned())
    }

    pub(super) fn click(&mut self, selector: &str) -> Result<(), String> {
        let selector_text = json!(selector);
        let first =
            format!("[...document.querySelectorAll({selector_text})].find((of) => of.checkVisibility())");
        let scroll = format!("{first}?.scrollIntoView({{block: 'center', inline: 'center'}})");
        // Scrolling triggers the layout of nearby sections, which can move the element.
        for _ in 0..2 {
            self.eval(&scroll)?;
            self.settle()?;
        }
        let place = format!(
            "(() => {{ const box = {first}?.getBoundingClientRect(); \
             return box ? [box.x + box.width / 2, box.y + Math.min(box.height / 2, 12)] : null; }})()"
        );
        let place = self.eval(&place)?;
        let [Some(x), Some(y)] = [0, 1].map(|of| place[of].as_f64()) else {
            return Err(format!("there is no {selector} to click"));
        };
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event)?;
        }
        self.settle()
    }

    pub(super) fn type_text(&mut self, text: &str) -> Result<(), String> {
        self.call("Input.insertText", json!({"text": text}))?;
        self.settle()
    }

    pub(super) fn key(&mut self, key: &str) -> Result<(), String> {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "code": key}))?;
        }
        self.settle()
    }

    pub(super) fn phone(&mut self) -> Result<(), String> {
        self.desktop("light")?;
        let screen = json!({"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true});
        self.call("Emulation.setDeviceMetricsOverride", screen).map(|_| ())
    }

    /// Emulates a desktop screen with a light or a dark color scheme.
    pub(super) fn desktop(&mut self, scheme: &str) -> Result<(), String> {
        let screen = json!({"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", screen)?;
        let feature = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": "", "features": feature})).map(|_| ())
    }

    /// Saves a screenshot of the viewport or the whole page to GROVE_CONFORMANCE_SCREENSHOTS, if that is set.
    pub(super) fn picture(&mut self, name: &str, whole: bool) -> Result<(), String> {
        let Some(folder) = std::env::var_os("GROVE_CONFORMANCE_SCREENSHOTS") else { return Ok(()) };
        let mut parameters = json!({"format": "png"});
        if whole {
            let size = self.call("Page.getLayoutMetrics", json!({}))?["cssContentSize"].clone();
            let height = size["height"].as_f64().unwrap_or(900.0).min(6_000.0);
            parameters["clip"] =
                json!({"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1});
            parameters["captureBeyondViewport"] = true.into();
        }
        let taken = self.call("Page.captureScreenshot", parameters)?;
        let bytes =
            STANDARD.decode(taken["data"].as_str().unwrap_or_default()).map_err(|error| error.to_string())?;
        let file = PathBuf::from(folder).join(format!("{name}.png"));
        std::fs::write(&file, bytes).map_err(|error| format!("{}: {error}", file.display()))
    }

    #[allow(clippy::print_stderr, reason = "a test's own output")]
    pub(super) fn say(&self, text: &str) {
        eprintln!("{text}");
    }
}
