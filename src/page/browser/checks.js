// Drives the page like a user, and replaces its text by "passed" or by what failed. CHECK is the name of a check.
const failures = [];
const fail = (text) => failures.push(text);
for (const name of ["error", "unhandledrejection"]) addEventListener(name, (event) => fail(event.message ?? event.reason));
addEventListener("securitypolicyviolation", (event) => fail(`the policy blocks ${event.blockedURI}`));
console.error = console.warn = (...words) => fail(words.join(" "));

const page = document.documentElement;
const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const all = (query) => [...document.querySelectorAll(query)].filter((of) => of.checkVisibility());
const count = (query) => all(query).length;
const text = (query) => document.querySelector(query)?.textContent.replace(/\s+/g, " ").trim() ?? "";
const same = (what, found, wanted) => found === wanted || fail(`${what}: ${found} instead of ${wanted}`);
const has = (what, found, wanted) => found.includes(wanted) || fail(`${what}: "${found}" lacks "${wanted}"`);
const is = (what, holds) => holds || fail(what);

async function until(query) {
  for (let waits = 0; !count(query) && waits < 500; waits += 1) await frame();
  if (!count(query)) throw new Error(`${query} does not appear`);
}
async function go(fragment, query) { location.hash = fragment; await frame(); await until(query); }
async function back(query) { history.back(); await frame(); await until(query); }
/** Clicks the element that a mouse would hit. Scrolls twice, because scrolling lays out nearby sections, which can move it. */
async function click(query) {
  const [found] = all(query);
  for (let times = 0; times < 2; times += 1) { found.scrollIntoView({ block: "center", inline: "center" }); await frame(); }
  const { x, y, width, height } = found.getBoundingClientRect();
  const hit = document.elementFromPoint(x + width / 2, y + Math.min(height / 2, 12));
  is(`${query} is covered by ${hit?.outerHTML.slice(0, 80)}`, found.contains(hit));
  (hit ?? found).click();
  await frame();
}
async function set(query, value) {
  const found = document.querySelector(query);
  found.value = value;
  found.dispatchEvent(new Event("input", { bubbles: true }));
  await frame();
}
const key = (key) => document.querySelector("#case .events").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));

const CLAUSES = "#matrix tr[data-row]", CASES = "#cases tr[data-row]", SHORT = "#case:volcano/aon/one-pod-short";
const CHECKS = {
  async views() {
    same("the headline", text("h1"), "Not conformant exit code 1");
    same("resources loaded", performance.getEntriesByType("resource").length, 0);
    await click("#matrix a[href='#AON-02']");
    same("the view", page.dataset.view, "clause");
    same("clauses shown", count("article.clause"), 1);
    same("parts of the report shown", count("[data-view=report]"), 0);
    has("the clause", text("article.clause.open"), "2 of 3 pods are bound");
    await click("article.clause.open .violations a");
    await until("#case .timeline");
    same("the case", text("#case h2"), "aon/one-pod-short FAIL volcano");
    same("the focus", document.activeElement.tagName, "H2");
    await back("article.clause.open");
    await back("#matrix");
    same("the view after going back", page.dataset.view, "report");
    await go("#case:volcano/aon/fits", "#case .note");
    has("a missing history", text("#case .note"), "There is no timeline: artifacts/fits/history.jsonl: No such file");
    await go("#case:volcano/aon/cut", "#case .note");
    has("a broken history", text("#case .note"), "history, line 2");
  },
  async filter() {
    const total = count(CLAUSES);
    same("the filter's output at first", text("#filter output"), "");
    await click("#filter input[value=fail]");
    same("clauses that fail", count(CLAUSES), 1);
    same("cases that fail", count(CASES), 1);
    await click("#filter button[type=reset]");
    same("clauses after the reset", count(CLAUSES), total);
    await set("#filter [name=text]", "one-pod-short");
    same("cases by a word", count(CASES), 1);
    same("notes that no clause matches", count("#matrix .none"), 1);
    await click("#filter button[type=reset]");
    await set("#filter [name=tier]", "agnostic");
    const agnostic = count(CLAUSES);
    await set("#filter [name=level]", "TopologyRequired");
    same("clauses that are agnostic and of a feature", count(CLAUSES), 0);
    await set("#filter [name=tier]", "");
    const topology = count(CLAUSES);
    is(`${agnostic} agnostic, ${topology} of ${total}`, agnostic && topology && agnostic + topology < total);
  },
  async timeline() {
    await go(SHORT, "#case .timeline");
    const selected = () => text("#case .events [aria-selected=true]");
    const wide = () => document.querySelector("#case .lanes").scrollWidth;
    has("the first selection", selected(), "proof of AON-02");
    has("the first selection", selected(), "bound to n0");
    same("lit marks", count("#case .lanes .mark.lit"), 2);
    has("the object", text("#case .detail .object"), "nodeName: n0");
    const part = count("#case .object > *");
    await click("#case .detail .chip input");
    is("the whole object is no more than its change", count("#case .object > *") > part);
    key("Home");
    const first = selected();
    key("ArrowDown");
    is("an arrow key selects nothing else", selected() !== first);
    key("End");
    const last = selected();
    key("ArrowDown");
    same("the event after the last", selected(), last);
    await click("#case .proof li:nth-child(2) button");
    has("the event of the second proof", selected(), "bound to n1");
    await click("#case .detail .tools button");
    has("the version before", text("#case .detail"), "gate grove.io/podgang-pending-creation removed");
    await click("#case .lanes .mark.s-mark");
    has("the event of a mark", selected(), "submitted");
    const before = wide();
    await click("#case .zoom button:nth-child(2)");
    is("zooming does not widen the tracks", wide() >= before * 1.5);
    await click("#case .zoom button:nth-child(3)");
    same("the width after fit", wide(), before);
    const lanes = count("#case .lanes .name");
    await click("#case .tools fieldset .chip input");
    same("lanes without the driver's", count("#case .lanes .name"), lanes - 1);
    await set("#case .list input[type=search]", "canary bound");
    same("events found", count("#case .events li"), 1);
  },
  async faces() {
    is("dark mode is not dark", getComputedStyle(document.body).backgroundColor !== "rgb(252, 252, 253)");
    // Zoom, because a headless window cannot be as narrow as a phone.
    page.style.zoom = innerWidth / 390;
    const views = [["", "#matrix"], ["#AON-02", "article.clause"], [SHORT, "#case .timeline"]];
    for (const [fragment, query] of views) {
      await go(fragment, query);
      same(`${fragment} scrolls sideways on a phone by`, page.scrollWidth - page.clientWidth, 0);
    }
    for (const { media } of document.styleSheets[0].cssRules) if (media?.mediaText === "print") media.mediaText = "all";
    for (const [fragment, query] of views) {
      await go(fragment, query);
      same(`${fragment}, what scripts need and is printed`, count("nav, #filter, .tools"), 0);
    }
  },
  async real() {
    const { domContentLoadedEventStart: loaded } = performance.getEntriesByType("navigation")[0];
    is(`it took ${loaded} ms to load`, loaded < 1000);
    for (const { id } of document.querySelectorAll("tr[data-sheet]")) {
      await go(`#${id}`, "#case h2");
      has("the case", id, text("#case h2").split(" ")[0]);
    }
  },
};

// Chromium prints the page as soon as it has loaded. This frame delays that until the check has ended.
const pending = document.createElement("iframe");
page.append(pending);
pending.contentDocument.open();
addEventListener("DOMContentLoaded", () => CHECKS[CHECK]().catch((error) => fail(error.message)).then(() => {
  document.body.textContent = failures.join("\n") || "passed";
  pending.contentDocument.close();
}));
