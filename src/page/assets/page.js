"use strict";
// The script of the page: views by URL fragment, the filter and the timelines. The data of a timeline comes
// from the crate conformance-page (timeline/) and is unpacked when its case is opened. Text of the report is
// never inserted as HTML.
(() => {
  const $ = (query, root = document) => root.querySelector(query);
  const $$ = (query, root = document) => [...root.querySelectorAll(query)];
  const root = document.documentElement;
  root.classList.add("js");

  /** Creates an element with attributes and children. `on…` attributes are listeners. */
  function el(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === undefined || value === null || value === false) continue;
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (key === "class") element.className = value;
      else element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== undefined && child !== null));
    return element;
  }

  // Views: the report, one clause, one case.

  const caseView = $("#case");
  const title = document.title;
  let open = null;

  function route() {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* Keep the raw fragment. */ }
    const target = id ? document.getElementById(id) : null;
    const clause = target?.matches("article.clause") ? target : null;
    const row = target?.matches("tr[data-sheet]") ? target : null;
    root.dataset.view = clause ? "clause" : row ? "case" : "report";
    caseView.hidden = !row;
    for (const article of $$("article.clause.open")) article.classList.remove("open");
    if (clause) clause.classList.add("open");
    document.title = clause || row ? `${id.replace(/^case:/, "")} · ${title}` : title;
    for (const link of $$("nav a")) {
      if (link.hash === location.hash) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    if (row) return openCase(row);
    open = null;
    if (clause) { scrollTo(0, 0); focusOn($("h2", clause)); }
    else if (target) { target.scrollIntoView(); focusOn($("h1, h2", target)); }
  }

  function focusOn(heading) {
    heading?.focus({ preventScroll: true });
  }

  addEventListener("hashchange", route);
  for (const tbody of $$("table.matrix tbody, table.cases tbody")) {
    tbody.addEventListener("click", (event) => {
      if (event.target.closest("a") || getSelection().toString()) return;
      const link = $("th a", event.target.closest("tr"));
      if (link) location.hash = link.hash;
    });
  }

  // The filter of findings, clauses and cases.

  const filter = $("#filter");
  let rows = null;
  const filtered = () => $$("[data-row]").map((row) => ({
    row,
    text: row.textContent.toLowerCase(),
    tiers: (row.dataset.tiers ?? "").split(" "),
    levels: (row.dataset.levels ?? "").split(" "),
    cells: row.dataset.verdict ? null : $$("td[data-p]", row),
  }));

  function applyFilter() {
    rows ??= filtered();
    const data = new FormData(filter);
    const words = data.get("text").toLowerCase().split(/\s+/).filter(Boolean);
    const [tier, level, target] = ["tier", "level", "target"].map((name) => data.get(name));
    const verdicts = data.getAll("verdict");
    const isOfTarget = (element) => !target || element.dataset.p === target;
    for (const cell of $$("table.matrix [data-p]")) cell.hidden = !isOfTarget(cell);
    const counts = {};
    for (const { row, text, tiers, levels, cells } of rows) {
      const found = cells
        ? cells.filter((cell) => cell.dataset.verdict && isOfTarget(cell)).map((cell) => cell.dataset.verdict)
        : isOfTarget(row) ? [row.dataset.verdict] : [];
      const shown = found.length > 0
        && words.every((word) => text.includes(word))
        && (!tier || tiers.includes(tier))
        && (!level || levels.includes(level))
        && (!verdicts.length || found.some((verdict) => verdicts.includes(verdict)));
      row.hidden = !shown;
      const section = row.closest("section").id;
      counts[section] ??= [0, 0];
      counts[section][0] += shown;
      counts[section][1] += 1;
    }
    for (const [section, [shown]] of Object.entries(counts)) $(`#${section} .none`).hidden = shown > 0;
    for (const group of $$("table.matrix tr.group")) {
      group.hidden = $$("[data-row]", group.parentElement).every((row) => row.hidden);
    }
    const of = (section, name) => counts[section] ? `${counts[section][0]} of ${counts[section][1]} ${name}` : "";
    filter.elements.shown.value = [of("matrix", "clauses"), of("cases", "cases")].filter(Boolean).join(", ");
  }

  filter.hidden = false;
  filter.addEventListener("input", applyFilter);
  filter.addEventListener("submit", (event) => event.preventDefault());
  filter.addEventListener("reset", () => setTimeout(applyFilter));

  // Cases.

  async function unpack(text) {
    if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot decompress it (no DecompressionStream)");
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  }

  async function openCase(row) {
    open = row;
    scrollTo(0, 0);
    caseView.replaceChildren(el("p", { class: "muted" }, "Reading the history…"));
    try {
      const sheet = await unpack($(`#sheet-${row.dataset.sheet}`).textContent);
      if (open !== row) return;
      caseView.replaceChildren(...casePage(sheet));
      focusOn($("h2", caseView));
    } catch (error) {
      if (open === row) caseView.replaceChildren(el("p", { class: "note" }, `The case cannot be shown: ${error.message}.`));
    }
  }

  /** Turns names between backticks, as in the contract, into code. */
  const prose = (text) => text.split("`").map((part, place) => place % 2 ? el("code", {}, part) : part);
  const seconds = (value) => value === undefined ? "none" : `${value.toFixed(1)} s`;
  const badge = (of) => el("b", { class: `v v-${of.verdict}` }, of.word);

  function casePage(sheet) {
    const facts = [
      ["took", seconds(sheet.seconds)],
      sheet.overhead !== undefined && ["of that overhead", seconds(sheet.overhead)],
      sheet.negative !== undefined && ["proof that nothing happens", seconds(sheet.negative)],
      sheet.attempts > 1 && ["attempts", String(sheet.attempts)],
    ].filter(Boolean);
    const timeline = sheet.timeline && sheet.timeline.events.length ? new Timeline(sheet.timeline) : null;
    const missing = sheet.missing ?? "the history is empty";
    return [
      el("p", { class: "back" }, el("a", { href: "#cases" }, "← all cases")),
      el("h2", { tabindex: "-1" }, sheet.case, " ", badge(sheet), " ", el("small", {}, sheet.target)),
      el("p", { class: "promise" }, sheet.title),
      ...sheet.reasons.map((reason) => el("p", { class: "reason" }, reason)),
      el("dl", { class: "figures" }, ...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
      sheet.violations.length ? violations(sheet.violations, timeline) : null,
      el("ul", { class: "judgements" }, ...sheet.judgements.map((of) => el("li", {},
        el("a", { href: `#${of.clause}` }, of.clause), " ", badge(of), " ", el("span", {}, ...prose(of.text))))),
      sheet.reproduce && el("p", { class: "command" }, el("span", {}, "reproduce"), " ", el("code", {}, sheet.reproduce)),
      timeline ? timeline.element : el("p", { class: "note" }, `There is no timeline: ${missing}.`),
    ].filter(Boolean);
  }

  function violations(list, timeline) {
    const observation = ({ text, event }) => el("li", {}, event === undefined || !timeline
      ? text
      : el("button", { type: "button", class: "plain", onclick: () => timeline.select(event, true) }, text));
    return el("ul", { class: "violations" }, ...list.map((found) => el("li", {},
      el("p", {}, el("a", { href: `#${found.clause}` }, found.clause), " ", found.message, " ", el("code", { class: "code" }, found.code)),
      el("ol", { class: "proof" }, ...found.proof.map(observation)))));
  }

  // The timeline of a case.

  const SECTIONS = {
    driver: "What the case did", sets: "PodCliqueSets", gangs: "PodGangs", resources: "Gang resources", pods: "Pods",
    canaries: "Canaries", others: "Other objects", cluster: "Cluster",
  };
  const CLOSED = ["others", "cluster"];
  const PHASES = {
    exists: "exists", gated: "gated", pending: "released, not bound", initialized: "initialized", bound: "bound, scheduled",
    ready: "ready, running", ended: "ended", deleting: "being deleted",
  };
  const short = (kind) => kind.split(".")[0];
  const moment = (ms) => `${(ms / 1000).toFixed(3)} s`;

  class Timeline {
    constructor(data) {
      this.data = data;
      this.zoom = 1;
      this.selected = null;
      // Link each event to the previous and the next version of the same object.
      const last = new Map();
      data.events.forEach((event, index) => {
        if (!event.edit || event.sort === "event") return;
        event.before = last.get(event.lane);
        if (event.before !== undefined) data.events[event.before].after = index;
        last.set(event.lane, index);
      });
      this.element = this.build();
    }

    build() {
      const { data } = this;
      this.marks = data.events.map((event, index) => this.mark(event, index));
      const used = [...new Set(data.lanes.flatMap((lane) => lane.stretches.map((of) => of.phase)))];
      const lit = data.events.filter((event) => event.proves).length;
      this.grid = el("div", { class: "lanes", tabindex: "0", role: "group",
        "aria-label": `Timeline: ${data.lanes.length} lanes, ${data.events.length} events over ${moment(data.length)}. Arrow keys go from event to event; the list below has the same events.` });
      this.grid.addEventListener("keydown", (event) => this.key(event));
      this.detail = el("div", { class: "detail", "aria-live": "polite" });
      this.list = this.buildList();
      const zoom = (factor) => () => this.zoomTo(factor ? this.zoom * factor : 1);
      const button = (label, text, act) => el("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
      const sections = Object.keys(SECTIONS).filter((section) => data.lanes.some((lane) => lane.section === section));
      // Sections with proofs are shown at first.
      const proven = new Set(data.events.filter((event) => event.proves).map((event) => data.lanes[event.lane].section));
      this.shown = new Set(sections.filter((section) => !CLOSED.includes(section) || proven.has(section)));
      this.toggles = new Map(sections.map((section) => [section, el("input", { type: "checkbox",
        checked: this.shown.has(section), onchange: (event) => {
          if (event.target.checked) this.shown.add(section); else this.shown.delete(section);
          this.drawLanes();
        } })]));
      const toggle = (section) => el("label", { class: "chip" }, this.toggles.get(section), SECTIONS[section]);
      const legend = el("ul", { class: "legend" },
        ...Object.keys(PHASES).filter((phase) => used.includes(phase)).map((phase) =>
          el("li", {}, el("i", { class: `p-${phase}` }), PHASES[phase])),
        lit ? el("li", {}, el("i", { class: "mark lit s-changed" }), `proof (${lit})`) : null);
      const element = el("div", { class: "timeline" },
        el("h3", {}, "Timeline ", el("small", {}, `from ${data.begin}, ${moment(data.length)}`)),
        el("div", { class: "tools" }, el("fieldset", {}, el("legend", {}, "Lanes"), ...sections.map(toggle)),
          el("span", { class: "zoom" }, button("Zoom out", "−", zoom(0.5)), button("Zoom in", "+", zoom(2)), button("Fit", "fit", zoom(0)))),
        this.grid, legend,
        el("div", { class: "below" }, this.list, this.detail));
      this.drawLanes();
      new ResizeObserver(() => { this.fit(); this.highlight(); this.center(); }).observe(this.grid);
      const first = [(event) => event.proves, (event) => this.shown.has(data.lanes[event.lane].section), () => true]
        .map((is) => data.events.findIndex(is)).find((place) => place >= 0);
      this.select(first, false);
      return element;
    }

    place(ms) {
      return `${(100 * ms) / Math.max(1, this.data.length)}%`;
    }

    mark(event, index) {
      const mark = el("span", { class: `mark s-${event.sort}${event.proves ? " lit" : ""}`, title: `${moment(event.at)}: ${event.what}` });
      mark.style.left = this.place(event.at);
      mark.addEventListener("click", () => this.select(index, false));
      return mark;
    }

    drawLanes() {
      const { data } = this;
      const children = [];
      let section = null;
      let gang = null;
      this.axis = el("div", { class: "axis", "aria-hidden": "true" });
      children.push(el("div", { class: "corner" }), this.axis);
      const lanes = data.lanes.map((lane, index) => ({ lane, index })).filter(({ lane }) => this.shown.has(lane.section));
      for (const { lane, index } of lanes) {
        if (lane.section !== section || (lane.gang ?? null) !== gang) {
          const name = lane.gang ? `Pods of ${lane.gang}` : SECTIONS[lane.section];
          children.push(el("div", { class: "head" }, name), el("div", { class: "head-track" }));
          section = lane.section;
          gang = lane.gang ?? null;
        }
        const track = el("div", { class: "track", "data-lane": index });
        for (const { from, to, phase } of lane.stretches) {
          const stretch = el("span", { class: `stretch p-${phase}`, title: `${PHASES[phase]}, ${moment(from)} to ${moment(to)}` });
          stretch.style.left = this.place(from);
          stretch.style.width = this.place(to - from);
          track.append(stretch);
        }
        const lit = data.events.some((event) => event.lane === index && event.proves);
        const label = lane.section === "driver" ? "marks" : lane.name;
        const kind = lane.section === "driver" || ["pods", "sets", "gangs"].includes(lane.section) ? null : el("small", {}, short(lane.kind));
        children.push(el("div", { class: `name${lit ? " lit" : ""}`, title: `${lane.kind} ${lane.name}` }, kind, el("span", {}, label)), track);
      }
      const tracks = new Map(children.filter((child) => child.dataset.lane).map((child) => [Number(child.dataset.lane), child]));
      data.events.forEach((event, index) => tracks.get(event.lane)?.append(this.marks[index]));
      // The driver's marks cross all lanes, because checks ask what happened before and after a mark.
      const rulers = el("div", { class: "rulers", "aria-hidden": "true" });
      for (const event of data.events.filter((event) => event.sort === "mark" || event.sort === "gap")) {
        const ruler = el("i", { class: `at-${event.sort}` });
        ruler.style.left = this.place(event.at);
        rulers.append(ruler);
      }
      this.cursor = el("i", { class: "cursor" });
      rulers.append(this.cursor);
      children.forEach((child, place) => { child.style.gridArea = `${Math.floor(place / 2) + 1} / ${(place % 2) + 1}`; });
      rulers.style.gridArea = `2 / 2 / ${children.length / 2 + 1} / 3`;
      this.grid.replaceChildren(...children, rulers);
      this.fit();
      this.highlight();
    }

    /** Sets the width of the tracks and draws the marks of the axis. */
    fit() {
      const names = $(".corner", this.grid)?.offsetWidth ?? 0;
      const width = Math.max(120, this.grid.clientWidth - names) * this.zoom;
      this.grid.style.setProperty("--track", this.zoom === 1 ? "0px" : `${width}px`);
      const whole = Math.max(1, this.data.length) / 1000;
      const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600];
      const step = steps.find((step) => (width * step) / whole >= 64) ?? 1800;
      const digits = Math.max(0, Math.ceil(-Math.log10(step)));
      const ticks = [];
      for (let tick = 0; tick * step <= whole; tick += 1) {
        const label = el("span", {}, `${(tick * step).toFixed(digits)} s`);
        label.style.left = this.place(tick * step * 1000);
        ticks.push(label);
      }
      this.axis?.replaceChildren(...ticks);
    }

    zoomTo(zoom) {
      this.zoom = Math.min(256, Math.max(1, zoom));
      this.fit();
      if (this.zoom > 1) this.center();
    }

    center() {
      const mark = this.marks[this.selected];
      if (!mark?.isConnected) return;
      const names = $(".corner", this.grid).offsetWidth;
      this.grid.scrollLeft = mark.offsetLeft - (this.grid.clientWidth - names) / 2;
      const track = mark.parentElement;
      const top = track.offsetTop - this.grid.scrollTop;
      if (top < 30 || top > this.grid.clientHeight - 30) this.grid.scrollTop = track.offsetTop - this.grid.clientHeight / 2;
    }

    buildList() {
      const { data } = this;
      this.rows = data.events.map((event, index) => {
        const lane = data.lanes[event.lane];
        const row = el("li", { id: `event-${index}`, role: "option", class: event.proves ? "lit" : "", "aria-selected": "false" },
          el("time", {}, moment(event.at)),
          el("span", { class: "who" }, el("i", { class: `mark s-${event.sort}`, "aria-hidden": "true" }),
            lane.section === "driver" ? "driver" : `${short(lane.kind)} ${lane.name}`),
          el("span", { class: "what" }, event.proves ? el("b", { class: "v v-fail" }, `proof of ${event.proves.join(", ")}`) : null,
            event.proves ? " " : null, event.what));
        row.addEventListener("click", () => this.select(index, false));
        return row;
      });
      this.box = el("ol", { class: "events", role: "listbox", tabindex: "0", "aria-label": "Events in order" }, ...this.rows);
      this.box.addEventListener("keydown", (event) => this.key(event));
      const search = el("input", { type: "search", placeholder: "Search events", "aria-label": "Search events", oninput: (event) => {
        const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
        for (const row of this.rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      } });
      return el("div", { class: "list" }, el("div", { class: "tools" }, el("h4", {}, "Events"), search), this.box);
    }

    /** Moves the selection along the list, or with Shift along the lane of the selected event. */
    key(event) {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
      if (event.key === "+" || event.key === "-") return this.zoomTo(this.zoom * (event.key === "+" ? 2 : 0.5));
      if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const within = event.shiftKey ? this.data.events[this.selected].lane : null;
      const listed = this.data.events.map((_, index) => index)
        .filter((index) => !this.rows[index].hidden && (within === null || this.data.events[index].lane === within));
      const now = listed.indexOf(this.selected);
      const next = listed[Math.min(listed.length - 1, Math.max(0, now + step))];
      if (next !== undefined) this.select(next, false);
    }

    select(index, scroll) {
      this.selected = index;
      const section = this.data.lanes[this.data.events[index].lane].section;
      if (!this.shown.has(section)) {
        this.shown.add(section);
        this.toggles.get(section).checked = true;
        this.drawLanes();
      }
      this.highlight();
      this.detail.replaceChildren(...this.describe(index));
      if (scroll) this.grid.scrollIntoView({ block: "nearest" });
      this.center();
    }

    highlight() {
      if (this.selected === null) return;
      for (const mark of $$(".mark.now", this.grid)) mark.classList.remove("now");
      this.marks[this.selected].classList.add("now");
      if (this.cursor) this.cursor.style.left = this.place(this.data.events[this.selected].at);
      for (const row of $$("[aria-selected=true]", this.box)) row.setAttribute("aria-selected", "false");
      const row = this.rows[this.selected];
      row.setAttribute("aria-selected", "true");
      this.box.setAttribute("aria-activedescendant", row.id);
      const top = row.offsetTop;
      if (top < this.box.scrollTop) this.box.scrollTop = top;
      else if (top + row.offsetHeight > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + row.offsetHeight - this.box.clientHeight;
    }

    /** Rebuilds the object at an event from all edits, which start at the first object of the kind. */
    object(index) {
      const edits = [];
      for (let at = index; at !== undefined; at = this.data.events[at].before ?? this.data.events[at].like) edits.push(this.data.events[at].edit);
      let object = null;
      for (const edit of edits.reverse()) {
        for (const path of edit.unset ?? []) delete path.slice(0, -1).reduce((of, key) => of[key], object)[path.at(-1)];
        for (const [path, value] of edit.set ?? []) {
          const copy = structuredClone(value);
          if (path.length === 0) object = copy;
          else path.slice(0, -1).reduce((of, key) => (of[key] ??= {}), object)[path.at(-1)] = copy;
        }
      }
      return object;
    }

    describe(index) {
      const event = this.data.events[index];
      const lane = this.data.lanes[event.lane];
      const facts = [`at ${moment(event.at)}`, event.revision && `resourceVersion ${event.revision}`, event.by && `by ${event.by}`].filter(Boolean);
      const heading = [
        el("h4", {}, lane.section === "driver" ? "driver" : `${lane.kind} ${lane.name}`),
        el("p", {}, event.proves ? el("b", { class: "v v-fail" }, `proof of ${event.proves.join(", ")}`) : null, event.proves ? " " : null, event.what),
        el("p", { class: "muted" }, facts.join(", ")),
      ];
      if (event.sort === "event") return [...heading, code(yaml(this.object(index)).map((text) => [" ", text]))];
      if (!event.edit) return event.detail ? [...heading, code(yaml(event.detail).map((text) => [" ", text]))] : heading;
      const go = (to, text) => el("button", { type: "button", disabled: to === undefined, onclick: () => this.select(to, false) }, text);
      const now = yaml(this.object(index));
      const before = event.before === undefined ? null : yaml(this.object(event.before));
      const changes = before ? difference(before, now) : now.map((text) => [" ", text]);
      const body = el("div", {});
      const show = (whole) => body.replaceChildren(code(whole || !before ? changes : near(changes)));
      const all = el("input", { type: "checkbox", onchange: (of) => show(of.target.checked) });
      show(false);
      return [...heading, el("div", { class: "tools" }, go(event.before, "← version before"), go(event.after, "version after →"),
        before ? el("label", { class: "chip" }, all, "whole object") : null), body];
    }
  }

  /** A value as lines of YAML, for display only. */
  function yaml(value, indent = "") {
    const scalar = (of) => {
      if (typeof of !== "string") return JSON.stringify(of);
      return /^[\w./][\w./:@ -]*$/.test(of) && !/^(true|false|null|yes|no|on|off|~|[\d.+-].*)$|: |:$| $/i.test(of) ? of : JSON.stringify(of);
    };
    const isEmpty = (of) => typeof of !== "object" || of === null || Object.keys(of).length === 0;
    if (isEmpty(value)) return [indent + scalar(value)];
    if (Array.isArray(value)) {
      return value.flatMap((item) => {
        const lines = yaml(item, `${indent}  `);
        return [`${indent}- ${lines[0].slice(indent.length + 2)}`, ...lines.slice(1)];
      });
    }
    const key = (of) => /^[\w./-]+$/.test(of) ? of : JSON.stringify(of);
    return Object.entries(value).flatMap(([name, item]) => isEmpty(item)
      ? [`${indent}${key(name)}: ${scalar(item)}`]
      : [`${indent}${key(name)}:`, ...yaml(item, Array.isArray(item) ? indent : `${indent}  `)]);
  }

  /** Marks lines as kept (" "), removed ("-") or added ("+"), by their longest common subsequence. */
  function difference(before, after) {
    let head = 0;
    while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
    let tail = 0;
    while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
    const [old, now] = [before.slice(head, before.length - tail), after.slice(head, after.length - tail)];
    const length = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
    for (let i = old.length - 1; i >= 0; i -= 1) {
      for (let j = now.length - 1; j >= 0; j -= 1) {
        length[i][j] = old[i] === now[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
      }
    }
    const lines = before.slice(0, head).map((text) => [" ", text]);
    let [i, j] = [0, 0];
    while (i < old.length || j < now.length) {
      if (i < old.length && j < now.length && old[i] === now[j]) { lines.push([" ", old[i]]); i += 1; j += 1; }
      else if (j === now.length || (i < old.length && length[i + 1][j] >= length[i][j + 1])) { lines.push(["-", old[i]]); i += 1; }
      else { lines.push(["+", now[j]]); j += 1; }
    }
    return lines.concat(after.slice(after.length - tail).map((text) => [" ", text]));
  }

  /** Reduces a difference to the changed lines, three lines of context and the parent keys. */
  function near(lines) {
    const kept = new Set();
    lines.forEach(([sign], index) => {
      if (sign === " ") return;
      for (let other = index - 3; other <= index + 3; other += 1) kept.add(other);
      let depth = lines[index][1].search(/\S/);
      for (let above = index - 1; above >= 0 && depth > 0; above -= 1) {
        const own = lines[above][1].search(/\S/);
        if (own < depth && lines[above][0] === " ") { kept.add(above); depth = own; }
      }
    });
    const shown = [];
    lines.forEach((line, index) => {
      if (kept.has(index)) shown.push(line);
      else if (shown.at(-1)?.[0] !== "…") shown.push(["…", "⋯"]);
    });
    return shown;
  }

  function code(lines) {
    const names = { "+": "ins", "-": "del", "…": "i" };
    return el("pre", { class: "object", tabindex: "0" }, ...lines.map(([sign, text]) =>
      el(names[sign] ?? "span", {}, `${sign === "…" ? " " : sign} ${text}\n`)));
  }

  // Readers of the printed page cannot open details.
  addEventListener("beforeprint", () => $$("details").forEach((details) => { details.open = true; }));
  route();
})();
