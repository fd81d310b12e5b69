//! Tests of the page in a real browser: opened from a file, used with mouse and keyboard, without console
//! errors.
//!
//! The tests are ignored if no Chromium is in PATH, and their names then give the reason. Two environment
//! variables serve manual checks. GROVE_CONFORMANCE_REPORT is the folder of a real report to open as well.
//! GROVE_CONFORMANCE_SCREENSHOTS is a folder for screenshots.

#![allow(clippy::unwrap_used, reason = "a test")]

mod chromium;
mod sample;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::json;

use chromium::Tab;

fn main() -> std::process::ExitCode {
    let browser = chromium::installed();
    let why = match &browser {
        Some(_) => "",
        None => " (not run: there is no chromium in PATH; Debian's package is `chromium`)",
    };
    let ignored = browser.is_none();
    let mut trials: Vec<Trial> = Vec::new();
    let mut add = |name: &str, test: fn(&mut Tab, &Path) -> Result<(), String>, folder: Option<PathBuf>| {
        let (browser, folder) = (browser.clone(), folder);
        let trial = Trial::test(format!("{name}{why}"), move || {
            let program = browser.ok_or("no browser")?;
            let (_kept, folder) = match folder {
                Some(folder) => (None, folder),
                None => {
                    let kept = sample::folder();
                    let path = kept.path().to_owned();
                    (Some(kept), path)
                }
            };
            let mut tab = Tab::open(&program)?;
            test(&mut tab, &folder)?;
            match tab.errors().as_slice() {
                [] => Ok(()),
                errors => Err(Failed::from(format!("errors on the console: {errors:#?}"))),
            }
        });
        trials.push(trial.with_ignored_flag(ignored));
    };
    add("report and views", report_and_views, None);
    add("filter", filter, None);
    add("timeline by mouse and keyboard", timeline, None);
    add("without scripts", without_scripts, None);
    add("phone, dark, print", faces, None);
    if let Some(folder) = std::env::var_os("GROVE_CONFORMANCE_REPORT") {
        add("a real report", real, Some(PathBuf::from(folder)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what}: {found:?} instead of {wanted:?}")) }
}

fn open(tab: &mut Tab, folder: &Path, fragment: &str) -> Result<(), String> {
    tab.go(&format!("file://{}/report.html{fragment}", folder.display()))
}

fn report_and_views(tab: &mut Tab, folder: &Path) -> Result<(), String> {
    open(tab, folder, "")?;
    same("the headline", tab.text("h1")?.as_str(), "Not conformant exit code 1")?;
    same(
        "the policy lets nothing load",
        tab.eval("performance.getEntriesByType('resource').length")?,
        json!(0),
    )?;
    tab.click("#matrix a[href='#AON-02']")?;
    same("the view", tab.eval("document.documentElement.dataset.view")?, json!("clause"))?;
    same("one clause is shown", tab.count_visible("article.clause")?, 1)?;
    same("the rest is not", tab.count_visible("[data-view=report]")?, 0)?;
    if !tab.text("article.clause.open")?.contains("2 of 3 pods are bound") {
        return Err("the clause does not show its violation".into());
    }
    tab.click("article.clause.open .violations a")?;
    tab.until("#case .timeline")?;
    same("the case", tab.text("#case h2")?.as_str(), "aon/one-pod-short FAIL volcano")?;
    same("focus goes to the heading", tab.eval("document.activeElement.tagName")?, json!("H2"))?;
    tab.eval("history.back()")?;
    tab.until("article.clause.open")?;
    tab.eval("history.back()")?;
    tab.until("#matrix")?;
    same("back in the report", tab.eval("document.documentElement.dataset.view")?, json!("report"))?;
    // A case without a readable history shows the reason.
    open(tab, folder, "#case:volcano/aon/fits")?;
    tab.until("#case .note")?;
    let said = tab.text("#case .note")?;
    if !said.contains("There is no timeline: artifacts/fits/history.jsonl: No such file") {
        return Err(format!("a missing history is not named: {said}"));
    }
    open(tab, folder, "#case:volcano/aon/cut")?;
    tab.until("#case .note")?;
    let said = tab.text("#case .note")?;
    if !said.contains("history, line 2") {
        return Err(format!("a broken history is not named: {said}"));
    }
    Ok(())
}

fn filter(tab: &mut Tab, folder: &Path) -> Result<(), String> {
    open(tab, folder, "")?;
    let clauses = "#matrix tr[data-row]";
    let all = tab.count_visible(clauses)?;
    same("what is filtered", tab.text("#filter output")?.as_str(), "")?;
    tab.click("#filter input[value=fail]")?;
    same("clauses that fail", tab.count_visible(clauses)?, 1)?;
    same("cases that fail", tab.count_visible("#cases tr[data-row]")?, 1)?;
    tab.click("#filter button[type=reset]")?;
    tab.settle()?;
    same("after the reset", tab.count_visible(clauses)?, all)?;
    tab.click("#filter input[name=text]")?;
    tab.type_text("one-pod-short")?;
    same("cases by a word", tab.count_visible("#cases tr[data-row]")?, 1)?;
    same("nothing is said to match", tab.count_visible("#matrix .none")?, 1)?;
    tab.click("#filter button[type=reset]")?;
    tab.settle()?;
    let choose = |name: &str, value: &str| {
        format!(
            "{{ const of = document.querySelector('#filter [name={name}]'); of.value = '{value}'; of.dispatchEvent(new Event('input', {{bubbles: true}})); 0 }}"
        )
    };
    tab.eval(&choose("tier", "agnostic"))?;
    let agnostic = tab.count_visible(clauses)?;
    tab.eval(&choose("level", "TopologyRequired"))?;
    same("no clause is agnostic and of a feature", tab.count_visible(clauses)?, 0)?;
    tab.eval(&choose("tier", ""))?;
    let topology = tab.count_visible(clauses)?;
    if agnostic == 0 || topology == 0 || agnostic + topology >= all {
        return Err(format!("{agnostic} agnostic clauses and {topology} of TopologyRequired, of {all}"));
    }
    Ok(())
}

fn timeline(tab: &mut Tab, folder: &Path) -> Result<(), String> {
    open(tab, folder, "#case:volcano/aon/one-pod-short")?;
    tab.until("#case .timeline")?;
    let selected = "#case .events [aria-selected=true]";
    let first = tab.text(selected)?;
    if !first.contains("proof of AON-02") || !first.contains("bound to n0") {
        return Err(format!("the proof is not selected first: {first}"));
    }
    same("lit marks", tab.count_visible("#case .lanes .mark.lit")?, 2)?;
    if !tab.text("#case .detail .object")?.contains("nodeName: n0") {
        return Err("the object does not show the binding".into());
    }
    let part = tab.count_visible("#case .object > *")?;
    tab.click("#case .detail .chip input")?;
    if tab.count_visible("#case .object > *")? <= part {
        return Err("the whole object is no more than its change".into());
    }
    // Use the keyboard to select the first, the next and the last event.
    tab.click("#case .events")?;
    tab.key("Home")?;
    let first = tab.text(selected)?;
    tab.key("ArrowDown")?;
    if tab.text(selected)? == first {
        return Err("an arrow key selects nothing else".into());
    }
    tab.key("End")?;
    let last = tab.text(selected)?;
    tab.key("ArrowDown")?;
    same("behind the last there is none", tab.text(selected)?, last)?;
    // Select the event of an observation in the proof, then the version before it.
    tab.click("#case .proof li:nth-child(2) button")?;
    if !tab.text(selected)?.contains("bound to n1") {
        return Err(format!("the proof leads to {}", tab.text(selected)?));
    }
    tab.click("#case .detail .tools button")?;
    if !tab.text("#case .detail")?.contains("gate grove.io/podgang-pending-creation removed") {
        return Err(format!("the version before is {}", tab.text("#case .detail")?));
    }
    tab.click("#case .lanes .mark.s-mark")?;
    if !tab.text(selected)?.contains("submitted") {
        return Err(format!("a click on a mark selects {}", tab.text(selected)?));
    }
    let width = |tab: &mut Tab| {
        tab.eval("document.querySelector('#case .lanes').scrollWidth").map(|of| of.as_u64().unwrap_or(0))
    };
    let before = width(tab)?;
    tab.click("#case .zoom button:nth-child(2)")?;
    if width(tab)? < before * 3 / 2 {
        return Err("zooming does not widen the tracks".into());
    }
    tab.click("#case .zoom button:nth-child(3)")?;
    same("fit", width(tab)?, before)?;
    let lanes = tab.count_visible("#case .lanes .name")?;
    tab.click("#case .tools fieldset .chip input")?;
    same("without the driver's lane", tab.count_visible("#case .lanes .name")?, lanes - 1)?;
    tab.click("#case .list input[type=search]")?;
    tab.type_text("canary bound")?;
    same("events found", tab.count_visible("#case .events li")?, 1)?;
    Ok(())
}

fn without_scripts(tab: &mut Tab, folder: &Path) -> Result<(), String> {
    tab.call("Emulation.setScriptExecutionDisabled", json!({"value": true}))?;
    open(tab, folder, "")?;
    same("the headline", tab.text_of_node("h1")?.contains("Not conformant"), true)?;
    for wanted in ["2 of 3 pods are bound", "bound to n0", "VOL-01", "aon/one-pod-short", "Without scripts"] {
        same(wanted, tab.text_of_node("body")?.contains(wanted), true)?;
    }
    Ok(())
}

/// Renders the page for a phone, in dark mode and in print. Nothing may scroll sideways on the phone.
fn faces(tab: &mut Tab, folder: &Path) -> Result<(), String> {
    for fragment in ["", "#AON-02", "#case:volcano/aon/one-pod-short"] {
        tab.phone()?;
        open(tab, folder, fragment)?;
        tab.settle()?;
        let wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        same(&format!("{fragment} scrolls sideways on a phone by"), tab.eval(wide)?, json!(0))?;
        let name = fragment.trim_start_matches('#').replace([':', '/'], "-");
        tab.picture(&format!("sample-phone-{name}"), true)?;
        tab.desktop("dark")?;
        tab.settle()?;
        tab.picture(&format!("sample-dark-{name}"), true)?;
        let background = tab.eval("getComputedStyle(document.body).backgroundColor")?;
        if background == json!("rgb(252, 252, 253)") {
            return Err("dark mode is not dark".into());
        }
        let printed = tab.call("Page.printToPDF", json!({"printBackground": true}))?;
        same("print", printed["data"].as_str().is_some_and(|data| data.len() > 10_000), true)?;
        tab.desktop("light")?;
        tab.call("Emulation.setEmulatedMedia", json!({"media": "print"}))?;
        same(
            &format!("{fragment}, what scripts need is not printed"),
            tab.count_visible("nav, #filter, .tools")?,
            0,
        )?;
        tab.picture(&format!("sample-print-{name}"), true)?;
    }
    Ok(())
}

/// Checks a real report: below 5 MB, loaded within 1 s, every case opens.
fn real(tab: &mut Tab, folder: &Path) -> Result<(), String> {
    let report = conformance_report::read(&folder.join("report.yaml")).map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let page = conformance_page::page(&report, folder).map_err(|error| error.to_string())?;
    let (made, size) = (begin.elapsed(), page.len());
    let kept = tempfile::tempdir().map_err(|error| error.to_string())?;
    let folder = kept.path();
    std::fs::write(folder.join("report.html"), page).map_err(|error| error.to_string())?;
    if size > 5_000_000 {
        return Err(format!("the page is {size} bytes"));
    }
    open(tab, folder, "")?;
    let loaded =
        tab.eval("performance.getEntriesByType('navigation')[0].loadEventEnd")?.as_f64().unwrap_or(f64::MAX);
    if loaded > 1_000.0 {
        return Err(format!("it took {loaded:.0} ms to load"));
    }
    tab.picture("real-report", false)?;
    for section in ["matrix", "cases", "time"] {
        tab.eval(&format!("location.hash = '{section}'"))?;
        tab.settle()?;
        tab.picture(&format!("real-{section}"), false)?;
    }
    let cases = tab.eval("[...document.querySelectorAll('tr[data-sheet]')].map((row) => row.id)")?;
    let cases = cases.as_array().cloned().unwrap_or_default();
    let (mut slowest, mut without) = (Duration::ZERO, 0);
    for case in &cases {
        let begin = Instant::now();
        tab.eval(&format!("location.hash = {}", json!(format!("#{}", case.as_str().unwrap_or_default()))))?;
        tab.until("#case h2")?;
        let shown = tab.eval(&format!("document.querySelector('#case h2').textContent.startsWith({}) && !!document.querySelector('#case .timeline')",
            json!(case.as_str().and_then(|id| id.split_once('/')).map(|(_, id)| id))))?;
        without += usize::from(shown != json!(true));
        // Take screenshots of failing cases and of aon/one-pod-short.
        let is_red = tab.eval("!!document.querySelector('#case h2 .v-fail')")? == json!(true);
        if let Some(id) = case.as_str().filter(|id| is_red || id.ends_with("aon/one-pod-short")) {
            tab.settle()?;
            tab.picture(&format!("real-{}", id.replace([':', '/'], "-")), true)?;
        }
        slowest = slowest.max(begin.elapsed());
    }
    tab.say(&format!(
        "made in {} ms, {size} bytes, loaded in {loaded:.0} ms; {} cases opened, {without} of them without a timeline, the slowest in {} ms",
        made.as_millis(),
        cases.len(),
        slowest.as_millis()
    ));
    Ok(())
}
