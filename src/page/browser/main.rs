//! Tests of the page in a headless Chromium. Each check of `checks.js` uses a copy of the page, and
//! `--dump-dom` prints the result. Without a Chromium in PATH the tests are ignored, and their names give the
//! reason. GROVE_CONFORMANCE_REPORT may name the folder of a real report, which is then opened as well.

#![allow(clippy::unwrap_used, reason = "a test")]

mod sample;

use std::path::Path;
use std::process::{Command, ExitCode};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libtest_mimic::{Arguments, Failed, Trial};
use sha2::{Digest, Sha256};

const CHECKS: &str = include_str!("checks.js");
const PHONE_IN_THE_DARK: &[&str] = &["--window-size=390,844", "--blink-settings=preferredColorScheme=0"];

fn main() -> ExitCode {
    let programs = ["chromium", "chromium-browser", "google-chrome"];
    let browser = programs.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    let why = match browser {
        Some(_) => "",
        None => " (not run: there is no chromium in PATH; Debian's package is `chromium`)",
    };
    let trial = |name: &str, test: fn(&str) -> Result<(), Failed>| {
        let run = move || test(browser.unwrap_or_default());
        Trial::test(format!("{name}{why}"), run).with_ignored_flag(browser.is_none())
    };
    let mut trials = vec![
        trial("report and views", |browser| check(browser, "views", &[], &sample::page())),
        trial("filter", |browser| check(browser, "filter", &[], &sample::page())),
        trial("timeline by mouse and keyboard", |browser| check(browser, "timeline", &[], &sample::page())),
        trial("phone, dark, print", |browser| check(browser, "faces", PHONE_IN_THE_DARK, &sample::page())),
        trial("a PDF", printed),
        Trial::test("without scripts", without_scripts),
    ];
    if std::env::var_os("GROVE_CONFORMANCE_REPORT").is_some() {
        trials.push(trial("a real report", real));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Opens a copy of the page that runs a check. The page's policy allows this one script in addition.
fn check(browser: &str, name: &str, options: &[&str], page: &str) -> Result<(), Failed> {
    let script = format!("const CHECK = {name:?};\n{CHECKS}");
    let policy = format!("script-src 'sha256-{}' ", STANDARD.encode(Sha256::digest(&script)));
    let page = page.replacen("script-src ", &policy, 1);
    let page = page.replacen("</head>", &format!("<script>{script}</script></head>"), 1);
    let folder = tempfile::tempdir()?;
    let dom =
        chromium(browser, &[options, &["--timeout=300000", "--dump-dom"]].concat(), &page, folder.path())?;
    let (_, body) = dom.split_once("<body>").unwrap_or(("", dom.as_str()));
    if body.trim_end() == "passed</body></html>" { Ok(()) } else { Err(body.into()) }
}

fn chromium(browser: &str, options: &[&str], page: &str, folder: &Path) -> Result<String, Failed> {
    let file = folder.join("report.html");
    std::fs::write(&file, page)?;
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .args(options)
        .arg(format!("file://{}", file.display()))
        .output()?;
    Ok(String::from_utf8(output.stdout)?)
}

fn printed(browser: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("report.pdf");
    let option = format!("--print-to-pdf={}", file.display());
    chromium(browser, &[option.as_str()], &sample::page(), folder.path())?;
    let bytes = std::fs::metadata(&file)?.len();
    if bytes > 10_000 { Ok(()) } else { Err(format!("the PDF has {bytes} bytes").into()) }
}

fn without_scripts() -> Result<(), Failed> {
    let page = sample::page();
    let wanted = ["Not conformant", "2 of 3 pods are bound", "bound to n0", "VOL-01", "aon/one-pod-short"];
    match wanted.into_iter().chain(["Without scripts"]).find(|text| !page.contains(text)) {
        Some(text) => Err(format!("{text:?} is missing").into()),
        None => Ok(()),
    }
}

fn real(browser: &str) -> Result<(), Failed> {
    let folder = std::env::var_os("GROVE_CONFORMANCE_REPORT").unwrap_or_default();
    let folder = Path::new(&folder);
    let page = conformance_page::page(&conformance_report::read(&folder.join("report.yaml"))?, folder)?;
    if page.len() > 5_000_000 {
        return Err(format!("the page has {} bytes", page.len()).into());
    }
    check(browser, "real", &[], &page)
}
