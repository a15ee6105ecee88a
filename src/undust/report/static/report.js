// The report: what the rules save and risk, each rule, each site. All that comes from data is put in as text.
"use strict";

const told = JSON.parse(document.getElementById("contents").textContent);
const several = told.sites.length + told.left_out > 1;
const many = new Intl.NumberFormat("en-US");
const STEP = 50;
const STATUS = {
  validated: "tried by fetching pages, and held",
  probable: "judged on the content of pages that were seen",
  likely: "found in URLs and sizes alone: to be validated before use",
  disabled: "switched off",
};

const IN_FORCE = { validated: ["validated"], probable: ["validated", "probable"], likely: ["validated", "probable", "likely"] };

function count(n) {
  return many.format(n);
}

function counted(n, one, more = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : more}`;
}

function percent(share, digits = 1) {
  return `${(100 * share).toFixed(digits)} %`;
}

function range([low, high]) {
  const [a, b] = [(100 * low).toFixed(1), (100 * high).toFixed(1)];
  return a === b ? `${a} %` : `${a} to ${b} %`;
}

function times(n) {
  return n ? count(n) : "–";
}

// What is looked at: a site by its number among the details, or null for all of them.
const state = { site: several ? null : 0, text: "", status: "", wrong: false, sort: "merges", down: true, shown: STEP, open: new Set() };

const page = document.getElementById("page");

function site() {
  return state.site === null ? null : told.details[state.site];
}

function section(id, title, about, ...children) {
  return element(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, title),
    about && element("p", { class: "about" }, about),
    ...children,
  );
}

function table(head, rows, attributes = {}) {
  return element(
    "div",
    { class: "scroll" },
    element(
      "table",
      attributes,
      element("thead", {}, element("tr", {}, ...head.map((cell) => element("th", { scope: "col" }, cell)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell, i) => element("td", { class: i ? "figure" : "" }, cell))))),
    ),
  );
}

// A URL to look at. Only what is plainly an address of the web, whole and unchanged, becomes a link.
function address(url, ...marked) {
  const inside = marked.length ? marked : [url];
  const plain = /^https?:\/\/[\x21-\x7e]+$/.test(url) && !url.includes("\\");
  return plain
    ? element("a", { class: "url", href: url, target: "_blank", rel: "noopener noreferrer" }, ...inside)
    : element("span", { class: "url" }, ...inside);
}

// The parts of two URLs that differ, found by their longest common subsequence of tokens.
function differences(before, after) {
  const cut = (url) => url.match(/[A-Za-z0-9]+|[^A-Za-z0-9]/g) || [];
  const a = cut(before);
  const b = cut(after);
  if (a.length * b.length > 250000) return [[before], [after]];
  const best = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
    }
  }
  const sides = [[], []];
  const put = (side, text, changed) => {
    const last = sides[side].at(-1);
    if (last && last.changed === changed) last.text += text;
    else sides[side].push({ text, changed });
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      put(0, a[i++], false);
      put(1, b[j++], false);
    } else if (j >= b.length || (i < a.length && best[i + 1][j] >= best[i][j + 1])) put(0, a[i++], true);
    else put(1, b[j++], true);
  }
  return sides.map((parts, side) => parts.map(({ text, changed }) => (changed ? element(side ? "ins" : "del", {}, text) : text)));
}

// ---------------------------------------------------------------- first screen

// What speaks against the rules: merges that look wrong, and how many would even if no rule was.
function against(view) {
  const m = view.hard;
  const lost = m.lost - m.lost_near;
  const merges = m.urls - m.keys;
  let chance = (view.noise || 0) * merges;
  let explained = chance > 0 && m.wrong_merges <= chance + 2 * Math.sqrt(chance);
  if (view === told.all && several) {
    // Of all sites it is so only if it is so of each.
    const each = told.details.map(against);
    chance = each.reduce((sum, one) => sum + one.chance, 0);
    explained = told.sites.every((s) => s.detail !== null) && !told.left_out && each.every((one) => one.explained || !one.wrong);
  }
  return { wrong: m.wrong_merges, near: m.near_merges, lost, merges, chance, explained };
}

function headline(view) {
  const m = view.hard;
  const rules = counted(view.in_force, "rule");
  if (!view.in_force) {
    const waiting = Object.values(view.statuses).reduce((a, b) => a + b, 0);
    return waiting
      ? `No rule is in force at level ${told.level}; ${counted(waiting, "rule")} ${waiting === 1 ? "waits" : "wait"} to be validated.`
      : "There is no rule for these pages.";
  }
  if (!m.urls) {
    const log = (several && view.log) || told.log;
    return `${rules} would turn ${count(log.seen)} URLs into ${count(log.forms)}. What these pages show is not known.`;
  }
  const doubt = against(view);
  const saved = `With ${rules} a crawl fetches ${counted(m.keys, "page")} instead of ${count(m.urls)}`;
  if (!doubt.lost && !doubt.wrong) return `${saved} and loses none of ${counted(m.contents, "distinct content")}${m.lost_near ? ", near-duplicates apart" : ""}.`;
  if (doubt.explained) return `${saved}; what speaks against them is no more than chance.`;
  if (!doubt.lost) return `${saved} and loses none of ${counted(m.contents, "distinct content")}, but ${counted(doubt.wrong, "merge")} ${doubt.wrong === 1 ? "looks" : "look"} wrong.`;
  return `${saved}, and may lose ${count(doubt.lost)} of ${counted(m.contents, "distinct content")}.`;
}

function tile(name, figure, text, kind = "") {
  return element("div", { class: `tile ${kind}` }, element("h3", {}, name), element("div", { class: "big" }, figure), element("p", {}, text));
}

function verdict(view) {
  const { wrong, near, lost, merges, chance, explained } = against(view);
  const told = [`of ${counted(merges, "merge")}`];
  if (near) told.push(`${count(near)} more are of near-duplicates`);
  if (wrong || lost) told.push(`${counted(lost, "content")} would be lost`);
  const by = chance && wrong ? ` About ${count(Math.round(chance))} would look wrong by chance.` : "";
  const kind = wrong ? (explained ? "fair" : "bad") : "good";
  return [wrong ? count(wrong) : "none", `${told.join("; ")}.${by}`, kind];
}

function statuses(view) {
  const known = Object.entries(view.statuses).map(([name, n]) => `${count(n)} ${name}`);
  if (view.rejected) known.push(`${count(view.rejected)} rejected`);
  return known.join(", ") || "none";
}

function tiles(view) {
  const m = view.hard;
  const rules = tile("Rules in force", count(view.in_force), `${statuses(view)}. Level: ${told.level}.`);
  if (!m.urls) {
    const log = (several && view.log) || told.log;
    const compared = log.sized > 0;
    if (!view.in_force) return [rules];
    return [
      tile("Fewer URLs", percent(log.seen ? 1 - log.forms / log.seen : 0), `${count(log.forms)} instead of ${count(log.seen)}: savings only as far as the rules are right.`),
      tile("Sizes that agree", compared ? percent(log.same / log.sized) : "unknown", compared ? `of ${count(log.sized)} merged URLs. Sizes are weak evidence: validate by fetching (undust validate).` : "No content was seen: validate these rules by fetching (undust validate).", "fair"),
      rules,
    ];
  }
  const [figure, text, kind] = verdict(view);
  return [
    tile("Pages saved", percent(m.reduction), `${count(m.urls - m.keys)} of ${count(m.urls)} URLs. On other pages of this kind expect ${range(view.expected)} (95 % interval).`, "main"),
    tile("Merges that look wrong", figure, text, kind),
    tile("Share of the possible", percent(m.reached), `Duplicates are ${percent(m.ceiling)} of the URLs: perfect rules would save no more. ${count(Math.max(0, m.keys - m.labels))} are left.`),
    rules,
  ];
}

function bar(view) {
  const m = view.hard;
  if (!m.urls) return null;
  const parts = [
    ["contents", "kept", m.labels, "one URL for each content"],
    ["left", "duplicates left", m.keys - m.labels, "URLs that show what another one shows, and stay"],
    ["merged", "merged, same content", m.true_merges, "URLs that need not be fetched"],
    ["near", "merged, nearly the same", m.near_merges, "their texts are alike to 80 % or more"],
    ["wrong", "merged, looks different", m.wrong_merges, "look at these first"],
  ].filter((part) => part[2] > 0);
  return element(
    "div",
    { class: "whole" },
    element("div", { class: "bar", role: "img", "aria-label": parts.map((p) => `${p[1]}: ${count(p[2])}`).join(", ") }, ...parts.map(([kind, , n]) => element("i", { class: kind, style: `flex-grow:${n}` }))),
    element("ul", { class: "key" }, ...parts.map(([kind, name, n, text]) => element("li", { title: text }, element("i", { class: kind }), `${name} `, element("b", {}, count(n))))),
  );
}

function cautions(view) {
  const said = [];
  const notes = view.notes || {};
  if (notes.failed) said.push(["bad", `This site could not be learned: ${notes.failed}`]);
  if (notes.advice && view.rules.length) said.push(["fair", notes.advice]);
  if (told.skipped) said.push(["fair", `${counted(told.skipped, "guarded rule")} ${told.skipped === 1 ? "was" : "were"} not used: such rules ask the list of all URLs, and none was given (--list).`]);
  if (view.hard.urls) {
    const apart = [];
    const soft = view.all.urls - view.hard.urls;
    if (soft) apart.push(`${counted(soft, "soft page")} (errors, logins, empty results) set apart`);
    if (view.unknown) apart.push(`${count(view.unknown)} live URLs of unknown content left out`);
    const judged = told.truth ? "What they show was given (--truth)." : `What they show is known by ${evidence(view)}.`;
    said.push(["", `Measured on ${count(view.hard.urls)} URLs${apart.length ? `; ${apart.join(", ")}` : ""}. ${judged} ${told.own ? "The rules were learned from these very pages: expect a little less elsewhere." : "If the rules were learned from these very pages, expect a little less elsewhere."}`]);
  }
  if (against(view).chance && against(view).wrong) said.push(["", `Chance: ${view.noise ? percent(view.noise) : "some"} of the merges that are beyond doubt here (session and tracking parameters) look wrong too, as the pages change by themselves or their evidence is thin.`]);
  if (notes.learned_from) said.push(["", `The rules were sought in a sample of ${count(notes.learned_from)} pages and confirmed on all.`]);
  if (view.tail && view.hard.urls !== view.tail.urls) said.push(["", `Of the third of the URLs with the least traffic the rules save ${percent(view.tail.reduction)}.`]);
  if (view.macro) said.push(["", `The mean over the sites is ${percent(view.macro.reduction)}, of ${percent(view.macro.ceiling)} possible.`]);
  return element("ul", { class: "cautions" }, ...said.map(([kind, text]) => element("li", { class: kind }, text)));
}

const KNOWN_BY = { url: "the URL alone", size: "size", digest: "digest", sketch: "likeness of text", label: "redirects, canonical links and given labels", fetched: "fetching" };

function evidence(view) {
  const levels = Object.entries(view.evidence).filter(([, n]) => n);
  levels.sort((a, b) => b[1] - a[1]);
  return levels.map(([name, n]) => `${KNOWN_BY[name] || name} (${count(n)})`).join(", ") || "nothing";
}

function hero(view) {
  return element(
    "section",
    { id: "saves", class: "hero" },
    element("p", { class: "place" }, state.site === null ? `All ${count(told.sites.length + told.left_out)} sites` : [view.name, view.hosts.length > 1 && element("span", {}, ` and ${view.hosts.filter((h) => h !== view.name).join(", ")}`)]),
    element("h1", {}, headline(view)),
    element("div", { class: "tiles" }, ...tiles(view)),
    bar(view),
    cautions(view),
  );
}

// ---------------------------------------------------------------- sites

const sites = { sort: "urls", down: true, text: "", shown: STEP };

function overview() {
  const body = element("tbody");
  const more = element("p", { class: "more" });
  const columns = [
    ["name", "Site", (s) => s.name],
    ["urls", "URLs", (s) => s.hard.urls || s.pages],
    ["reduction", "Saved", (s) => s.hard.reduction],
    ["ceiling", "Possible", (s) => s.hard.ceiling],
    ["wrong", "Look wrong", (s) => s.hard.wrong_merges],
    ["lost", "Lost", (s) => s.hard.lost - s.hard.lost_near],
    ["rules", "Rules", (s) => s.in_force],
  ];
  const head = element("tr");
  const find = element("input", { type: "search", placeholder: "Find a site", "aria-label": "Find a site", value: sites.text, oninput: () => { sites.text = find.value; sites.shown = STEP; fill(); } });

  function fill() {
    const [, , by] = columns.find(([name]) => name === sites.sort);
    const rows = told.sites.map((s, i) => [s, i]).filter(([s]) => s.name.toLowerCase().includes(sites.text.toLowerCase()));
    rows.sort(([a], [b]) => compare(by(a), by(b)) * (sites.down ? -1 : 1));
    head.replaceChildren(
      ...columns.map(([name, title]) => sortable(name, title, sites, () => fill())),
    );
    body.replaceChildren(
      ...rows.slice(0, sites.shown).map(([s]) => {
        const name = s.detail === null ? s.name : element("button", { class: "link", onclick: () => choose(s.detail) }, s.name);
        const known = s.hard.urls > 0;
        return element(
          "tr",
          {},
          element("td", { class: "name" }, name),
          element("td", { class: "figure" }, count(s.hard.urls || s.pages)),
          element("td", { class: "figure" }, known ? [percent(s.hard.reduction), gauge(s.hard.reduction, s.hard.ceiling)] : "unknown"),
          element("td", { class: "figure" }, known ? percent(s.hard.ceiling) : ""),
          element("td", { class: `figure ${s.hard.wrong_merges ? "bad" : ""}` }, times(s.hard.wrong_merges)),
          element("td", { class: "figure" }, times(s.hard.lost - s.hard.lost_near)),
          element("td", { class: "figure" }, times(s.in_force)),
        );
      }),
    );
    const hidden = rows.length - sites.shown;
    more.replaceChildren(hidden > 0 ? element("button", { onclick: () => { sites.shown += 4 * STEP; fill(); } }, `Show more of the ${count(hidden)} other sites`) : "");
  }
  fill();
  const short = told.sites.filter((s) => s.detail === null).length + told.left_out;
  return section(
    "sites",
    "Sites",
    "Choose a site to see its rules, its pattern tree and what is left of it.",
    element("div", { class: "filters" }, find),
    element("div", { class: "scroll" }, element("table", { class: "sites" }, element("thead", {}, head), body)),
    more,
    short > 0 && element("p", { class: "about" }, `Of ${counted(short, "smaller site")} there are no details here, or the file would be too large; report on fewer pages to see them.`),
  );
}

function gauge(part, whole) {
  return element("span", { class: "gauge", "aria-hidden": "true" }, element("i", { class: "possible", style: `width:${100 * whole}%` }), element("i", { style: `width:${100 * part}%` }));
}

function compare(a, b) {
  return typeof a === "string" ? a.localeCompare(b) : a - b;
}

// Columns of words are sorted from A to Z first, figures from the largest on.
const WORDS = new Set(["name", "text", "site", "status"]);

function sortable(name, title, order, then) {
  const mine = order.sort === name;
  const turn = () => {
    order.down = mine ? !order.down : !WORDS.has(name);
    order.sort = name;
    then();
  };
  return element(
    "th",
    { scope: "col", "aria-sort": mine ? (order.down ? "descending" : "ascending") : "none" },
    element("button", { class: "sort", "data-sort": name, onclick: turn }, title, element("span", { "aria-hidden": "true" }, mine ? (order.down ? "▾" : "▴") : "")),
  );
}

// ---------------------------------------------------------------- rules

const COLUMNS = [
  ["text", "Rule", (r) => r.text],
  ["status", "Status", (r) => r.status],
  ["merges", "Saves", saves],
  ["wrong", "Look wrong", (r) => (r.measured ? r.measured.wrong + r.measured.near / 1000 : -1)],
  ["lost", "Lost", (r) => (r.measured ? r.measured.lost - r.measured.lost_near : -1)],
  ["precision", "Right at least", (r) => r.evidence.precision_low ?? -1],
];

// What a rule saves; where that could not be measured, what it was said to when it was learned.
function saves(rule) {
  return rule.measured ? rule.measured.merges : (rule.evidence.pairs ?? rule.evidence.support ?? 0) - (rule.evidence.false ?? 0);
}

function every() {
  return told.details.flatMap((d, at) => (state.site === null || state.site === at ? d.rules.map((rule) => ({ ...rule, site: d.name, at })) : []));
}

function rulesSection(view) {
  const all = every();
  const columns = state.site === null ? [...COLUMNS, ["site", "Site", (r) => r.site]] : COLUMNS;
  if (!columns.some(([name]) => name === state.sort)) state.sort = "merges";
  const found = element("span", { class: "count", "aria-live": "polite" });
  const head = element("tr");
  const grid = element("table", { class: state.site === null ? "rules all" : "rules" }, element("thead", {}, head));
  const more = element("p", { class: "more" });
  const text = element("input", { type: "search", id: "rule-text", placeholder: "Find in rules and URLs", "aria-label": "Find in rules and URLs", value: state.text, oninput: () => { state.text = text.value; state.shown = STEP; fill(); } });
  const present = [...new Set(all.map((r) => r.status))].sort();
  const status = element("select", { id: "rule-status", "aria-label": "Status", onchange: () => { state.status = status.value; fill(); } }, element("option", { value: "" }, "Any status"), ...present.map((s) => element("option", { value: s, selected: s === state.status }, s)));
  const order = element("select", { id: "rule-sort", class: "narrow", "aria-label": "Sort by", onchange: () => { [state.sort, state.down] = [order.value, !WORDS.has(order.value)]; fill(); } }, ...columns.map(([name, title]) => element("option", { value: name, selected: name === state.sort }, `Sort by: ${title.toLowerCase()}`)));
  const wrong = element("input", { type: "checkbox", id: "rule-wrong", checked: state.wrong, onchange: () => { state.wrong = wrong.checked; fill(); } });
  const where = several && element("select", { id: "rule-site", "aria-label": "Site", onchange: () => choose(where.value === "" ? null : Number(where.value), "rules") }, ...places());

  function fill() {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = all.filter((rule) => {
      if (state.status && rule.status !== state.status) return false;
      if (state.wrong && !(rule.measured && rule.measured.wrong + rule.measured.near)) return false;
      const where = [rule.text, rule.id, rule.site, rule.source.join(" "), ...rule.examples.flatMap((e) => e.slice(0, 2))].join("\n").toLowerCase();
      return words.every((word) => where.includes(word));
    });
    const [, , by] = columns.find(([name]) => name === state.sort);
    kept.sort((a, b) => compare(by(a), by(b)) * (state.down ? -1 : 1) || (a.id < b.id ? -1 : 1));
    found.textContent = kept.length === all.length ? counted(all.length, "rule") : `${count(kept.length)} of ${counted(all.length, "rule")}`;
    head.replaceChildren(...columns.map(([name, title]) => sortable(name, title, state, fill)));
    order.value = state.sort;
    grid.replaceChildren(grid.tHead, ...kept.slice(0, state.shown).map((rule) => ruleBody(rule, columns.length)));
    const hidden = kept.length - state.shown;
    more.replaceChildren(hidden > 0 ? element("button", { onclick: () => { state.shown += 4 * STEP; fill(); } }, `Show more of the ${count(hidden)} other rules`) : "");
  }

  if (!all.length) return section("rules", "Rules", "No rule was found, or none is written down for these pages.");
  fill();
  const left = state.site === null ? told.details.reduce((n, d) => n + d.more_rules, 0) : view.more_rules;
  return section(
    "rules",
    "Rules",
    `What each rule would save by itself${all.some((r) => !r.measured && saves(r) > 0) ? " (in brackets: as it was learned)" : ""}, and what speaks against it. ${all.some((r) => r.measured && !r.measured.merges && r.measured.fired) ? "One that saves nothing by itself may go on where another one has been. " : ""}Open one to see its URLs.`,
    element("div", { class: "filters" }, text, where, status, order, element("label", {}, wrong, " only doubtful"), found),
    grid,
    more,
    left > 0 && element("p", { class: "about" }, `${counted(left, "more rule")} that merge less did not fit into this file; they are in the rule book.`),
  );
}

function ruleBody(rule, width) {
  const key = `${rule.at} ${rule.id}`;
  const m = rule.measured;
  const body = element("tbody", { "data-rule": rule.id });
  const toggle = () => {
    if (!state.open.delete(key)) state.open.add(key);
    draw();
  };
  function draw() {
    const open = state.open.has(key);
    const cell = (label, kind, ...children) => element("td", { class: kind, "data-label": label }, ...children);
    body.className = open ? "open" : "";
    body.replaceChildren(
      element(
        "tr",
        { onclick: (event) => { if (!event.target.closest("a, button, input")) toggle(); } },
        element("th", { scope: "row" }, element("button", { class: "rule", "aria-expanded": String(open), onclick: toggle }, rule.text)),
        cell("", "", element("span", { class: `status ${rule.status}`, title: STATUS[rule.status] }, rule.status)),
        cell("saves", "figure", m ? count(m.merges) : saves(rule) > 0 ? element("small", { title: "when it was learned" }, `(${count(saves(rule))})`) : "–"),
        cell("look wrong", `figure ${m && m.wrong ? "bad" : ""}`, m ? [m.wrong ? count(m.wrong) : m.near ? "" : "–", m.near ? element("small", {}, ` ${count(m.near)} near`) : ""] : "–"),
        cell("lost", "figure", m ? times(m.lost - m.lost_near) : "–"),
        cell("right at least", "figure", rule.evidence.precision_low === undefined ? "–" : percent(rule.evidence.precision_low)),
        state.site === null && cell("", "name", rule.site),
      ),
      open ? element("tr", { class: "detail" }, element("td", { colspan: width }, detail(rule))) : "",
    );
  }
  draw();
  return body;
}

const SEEN = { same: "same content", other: "another content", "": "not both seen" };

function pair([before, after, seen]) {
  const [a, b] = differences(before, after);
  return element("div", { class: "pair" }, element("div", {}, address(before, ...a)), element("div", { class: "after" }, address(after, ...b), " ", seen === undefined ? null : element("span", { class: `seen ${seen}` }, SEEN[seen])));
}

function sentence(rule) {
  const e = rule.evidence;
  const said = [];
  if (e.support !== undefined) said.push(`changes ${counted(e.support, "URL")}`);
  if (e.pairs !== undefined) said.push(`${counted(e.pairs, "merge")} known by ${KNOWN_BY[e.level] || e.level}`);
  else said.push(`evidence: ${KNOWN_BY[e.level] || e.level}`);
  if (e.false) said.push(`${count(e.false)} false`);
  if (e.near) said.push(`${count(e.near)} of near-duplicates`);
  if (e.lost) said.push(`${counted(e.lost, "content")} lost`);
  if (e.precision_low !== undefined) said.push(`right in ${percent(e.precision_low)} of the cases or more (95 % bound)`);
  if (e.fetched) said.push(`${counted(e.fetched, "page")} fetched to test it`);
  if (rule.source.length) said.push(`found by ${rule.source.join(", ")}`);
  return said.join("; ");
}

function detail(rule) {
  const m = rule.measured;
  const astray = rule.astray || [];
  return element(
    "div",
    { class: "inside" },
    element("h4", {}, "Before and after"),
    rule.examples.length ? rule.examples.map(pair) : element("p", {}, "None of the URLs that were read is changed by it."),
    astray.length > 0 && [
      element("h4", {}, `Merges to look at (${astray.length < m.wrong + m.near ? `${astray.length} of ` : ""}${count(m.wrong + m.near)})`),
      element("p", {}, "Open both pages of a pair: if they show different things, the rule is wrong there."),
      ...astray.map(([url, kept, canonical, near]) => {
        const [a, b] = differences(url, kept);
        return element("div", { class: near ? "pair astray nearly" : "pair astray" }, element("div", {}, address(url, ...a), " ", element("span", { class: `seen ${near ? "near" : "other"}` }, near ? "nearly the same" : "looks different")), element("div", {}, address(kept, ...b)), canonical !== kept && canonical !== url && element("div", { class: "becomes" }, "both become ", element("span", { class: "url" }, canonical)));
      }),
    ],
    element("h4", {}, "Evidence"),
    element("p", {}, element("b", {}, "When it was learned: "), `${sentence(rule)}.`),
    m
      ? element("p", {}, element("b", {}, "On these pages: "), `applies to ${counted(m.covers, "URL")}; of those it leads ${count(m.true)} to a URL that shows the same and ${count(m.false)} to one that shows something else; with the other rules at work it changes ${counted(m.fired, "URL")}.`)
      : element("p", {}, element("b", {}, "On these pages: "), rule.status === "disabled" ? "it is switched off." : IN_FORCE[told.level].includes(rule.status) ? "not measured, as it is not known what they show." : `not measured, as it is not in force at level ${told.level}.`),
    rule.guarded && element("p", {}, element("b", {}, "Guarded: "), "it asks the list of all URLs, so it is followed only where one is given (--list)."),
    element("p", { class: "id" }, "Rule ", element("code", {}, rule.id), '. To switch it off write "status": "disabled" there in the rule book.'),
  );
}

// ---------------------------------------------------------------- charts

function chartsSection(view) {
  const drawings = [];
  if (view.curve && view.curve.length > 1) {
    const chart = element("div", { class: "chart", "data-chart": "curve" });
    drawings.push(element("figure", {}, element("figcaption", {}, element("b", {}, "Saved by the number of rules"), element("span", {}, "The rules that save most come first. Where the curve is flat, fewer rules would do.")), chart));
    later(() =>
      charts.curves(chart, {
        places: view.curve.map((p) => p.rules),
        series: [{ name: "saved", values: view.curve.map((p) => p.reduction) }],
        x: "rules",
        y: "saved",
        percent: true,
        level: { value: view.hard.ceiling, text: `possible: ${percent(view.hard.ceiling)}` },
        more: view.curve.map((p) => ({ "contents lost": p.lost, "merges that look wrong": p.wrong })),
      }),
    );
  }
  if (view.precision && view.precision.length > 1) {
    const chart = element("div", { class: "chart", "data-chart": "precision" });
    drawings.push(element("figure", {}, element("figcaption", {}, element("b", {}, "Precision at k"), element("span", {}, "Of the first k rules by the support they were learned with, the share that holds on these pages: validated, or at most 5 % of the merges look wrong.")), chart));
    later(() =>
      charts.curves(chart, {
        places: view.precision.map((_, i) => i + 1),
        series: [{ name: "precision", values: view.precision }],
        x: "rules (k)",
        y: "holds",
        percent: true,
      }),
    );
  }
  return drawings.length ? section("curves", "How many rules are enough", null, element("div", { class: "two" }, ...drawings)) : null;
}

function treeSection(view) {
  if (!view.tree || view.tree.length < 2) return null;
  const chart = element("div", { class: "chart tree", "data-chart": "tree" });
  const way = element("nav", { class: "way", "aria-label": "Where in the tree" });
  const modes = {
    before: ["in the crawl", (n) => (n.known ? 1 - n.contents / n.known : null)],
    after: ["left by the rules", (n) => (n.known ? Math.max(0, 1 - n.contents / n.forms) : null)],
  };
  // Thin boxes are often all or nothing: the scale is that of those that can be seen.
  const shares = view.tree.filter((n) => n.urls >= view.tree[0].urls / 100).map((n) => modes.before[1](n) ?? 0);
  const most = Math.max(0.1, Math.ceil(10 * Math.max(...shares)) / 10);
  let mode = "before";
  let drawn = null;
  const draw = () => {
    drawn = charts.icicle(chart, view.tree, {
      shade: (n) => (n.known ? modes[mode][1](n) / most : null),
      told: (n) => ({
        URLs: count(n.urls),
        "distinct contents": n.known ? `${count(n.contents)}${n.known < n.urls ? ` of ${count(n.known)} known` : ""}` : "unknown",
        duplicates: n.known ? percent(1 - n.contents / n.known) : "unknown",
        "left by the rules": n.known ? percent(Math.max(0, 1 - n.contents / n.forms)) : "unknown",
      }),
      onfocus: (steps) => way.replaceChildren(...steps.map((step, i) => element("button", { class: "link", "aria-current": i === steps.length - 1 ? "true" : null, onclick: () => drawn.look(step.id) }, i ? step.text : "all URLs"))),
    });
  };
  const buttons = Object.entries(modes).map(([name, [text]]) =>
    element("button", { "data-mode": name, "aria-pressed": String(name === mode), onclick: (event) => {
      mode = name;
      buttons.forEach((b) => b.setAttribute("aria-pressed", String(b === event.currentTarget)));
      draw();
    } }, text),
  );
  later(draw);
  return section(
    "tree",
    "Pattern tree",
    "How the URLs of this site are built, from left to right; a box is as high as it has URLs. Click a box to look closer, the leftmost one to go back.",
    view.tree[0].known > 0 && element("div", { class: "filters" }, element("span", {}, "Duplicates"), element("div", { class: "switch" }, ...buttons), element("span", { class: "scale" }, "none", element("i"), most < 1 ? `${Math.round(100 * most)} % or more` : "all")),
    way,
    chart,
  );
}

// ---------------------------------------------------------------- what is left

function groupList(groups, what) {
  return element(
    "ul",
    { class: "groups" },
    ...groups.map((group) =>
      element("li", {}, element("div", { class: "head" }, element("b", {}, count(group.urls)), ` ${what(group)}`, group.paths && group.paths.length ? [" ", ...group.paths.map((path) => element("code", {}, path))] : null), ...group.examples.map((url) => element("div", {}, address(url)))),
    ),
  );
}

function leftSection(view) {
  const left = view.left || [];
  const soft = view.soft_pages || [];
  const parts = [];
  if (left.length) {
    parts.push(
      section("left", "What stays unexplained", view.hard.urls ? "Duplicates that no rule explains, the largest kinds of URLs first, each with URLs of one content." : "As far as sizes tell: URLs of equal size that no rule explains, the largest kinds first.", groupList(left, (g) => (g.urls === 1 ? "duplicate at" : "duplicates at"))),
    );
  }
  if (soft.length) {
    parts.push(
      section("soft", "Soft pages", "One small page under many unrelated addresses: an error, a login form, an empty result. They teach no rule, and the figures above leave them out.", groupList(soft, (g) => (g.urls === 1 ? "URL shows one such page" : "URLs show one such page"))),
    );
  }
  return parts;
}

function rejectedSection(view) {
  const all = told.details.flatMap((d, at) => (state.site === null || state.site === at ? d.rejected_rules.map((rule) => ({ ...rule, site: d.name })) : []));
  if (!all.length) return null;
  const left = state.site === null ? told.details.reduce((n, d) => n + d.more_rejected, 0) : view.more_rejected;
  const list = element("ul", { class: "rejected" });
  const more = element("p", { class: "more" });
  let shown = 20;
  const fill = () => {
    list.replaceChildren(
      ...all.slice(0, shown).map((rule) =>
        element("li", {}, element("div", { class: "text" }, rule.text, state.site === null && element("small", {}, ` ${rule.site}`)), element("div", { class: "why" }, rule.why || "no reason is written down"), rule.examples.map(pair)),
      ),
    );
    more.replaceChildren(all.length > shown ? element("button", { onclick: () => { shown += 200; fill(); } }, `Show more of the ${count(all.length - shown)} others`) : "");
  };
  fill();
  return section("rejected", "Rejected rules", "Plausible, but refuted: what the learner or validation turned down, and why.", list, more, left > 0 && element("p", { class: "about" }, `${counted(left, "more rule")} did not fit into this file.`));
}

// ---------------------------------------------------------------- all figures

const FIGURES = [
  ["URLs whose content is known", "urls", count],
  ["distinct contents", "contents", count],
  ["canonical URLs", "keys", count],
  ["saved (reduction)", "reduction", percent],
  ["possible (ceiling)", "ceiling", percent],
  ["share of the possible that is reached", "reached", percent],
  ["coverage of duplicates", "coverage", percent],
  ["dup-reduction rate", "dup_reduction", percent],
  ["false-positive rate of pairs", "fpr", (x) => x.toFixed(5)],
  ["collision precision", "collision_precision", (x) => x.toFixed(5)],
  ["true merges", "true_merges", count],
  ["wrong merges", "wrong_merges", count],
  ["merges of near-duplicates", "near_merges", count],
  ["lost contents", "lost", count],
  ["lost, but a near-duplicate is kept", "lost_near", count],
  ["changed URLs", "changed", count],
];

function figuresSection(view) {
  const parts = [["soft pages apart", view.hard], ["all", view.all], ["least traffic", view.tail]].filter(([, m]) => m);
  const read = told.read;
  const steps = Object.entries(told.steps);
  const statuses = read.statuses.map(([status, n]) => [status ? `HTTP ${status}` : "status unknown", count(n)]);
  const facts = [
    ["pages (distinct URLs)", count(read.pages)],
    ["hosts", count(read.hosts)],
    ["lines or records", count(read.lines)],
    ["could not be read", times(read.bad)],
    ["say nothing about a page", times(read.skipped)],
    ["format", Object.entries(read.formats).map(([name, n]) => (n > 1 ? `${name} (${n} files)` : name)).join(", ") || "–"],
    ["read from", [...read.inputs, read.more_inputs ? `and ${count(read.more_inputs)} more` : ""].filter(Boolean).join(", ") || "memory"],
    ...(read.dates.length ? [["fetched", read.dates[0] === read.dates[1] ? read.dates[0] : `${read.dates[0]} to ${read.dates[1]}`]] : []),
    ...statuses,
  ];
  const known = [
    ["live pages", count(view.alive)],
    ["of unknown content", times(view.unknown)],
    ["soft", times(view.soft)],
    ...Object.entries(view.evidence).filter(([, n]) => n).map(([name, n]) => [`known by ${KNOWN_BY[name] || name}`, count(n)]),
  ];
  return section(
    "figures",
    "What was read, and all figures",
    null,
    element("div", { class: "two" }, element("div", {}, element("h3", {}, "Input"), table(["", ""], facts, { class: "facts" })), element("div", {}, element("h3", {}, state.site === null ? "Evidence" : "Evidence on this site"), table(["", ""], known, { class: "facts" }))),
    read.first_bad.length > 0 && [element("h3", {}, "The first lines that could not be read"), element("ul", { class: "lines" }, ...read.first_bad.map((line) => element("li", {}, line)))],
    read.notes.length > 0 && element("ul", { class: "lines" }, ...read.notes.map((line) => element("li", {}, line))),
    state.site === (several ? null : 0) && steps.length > 1 && [element("h3", {}, "What saves it"), table(["each on top of the one before", "saved", "look wrong", "lost"], steps.map(([name, m]) => [name, percent(m.reduction), times(m.wrong_merges), times(m.lost - m.lost_near)]), { class: "measures" })],
    view.hard.urls > 0 && [element("h3", {}, "Measures"), table(["", ...parts.map(([name]) => name)], FIGURES.map(([title, name, format]) => [title, ...parts.map(([, m]) => format(m[name]))]), { class: "measures" })],
  );
}

// ---------------------------------------------------------------- the page

let waiting = [];

// Charts are drawn when their place is in the page.
function later(draw) {
  waiting.push(draw);
}

function places() {
  return [
    element("option", { value: "", selected: state.site === null }, "All sites"),
    ...told.details.map((d, at) => element("option", { value: String(at), selected: state.site === at }, d.name)),
  ];
}

function choose(at, then = null) {
  state.site = at;
  state.shown = STEP;
  state.status = "";
  render();
  const target = then && document.getElementById(then);
  if (target) target.scrollIntoView();
  else window.scrollTo(0, 0);
}

function render() {
  charts.clear();
  waiting = [];
  const view = site() || told.all;
  const parts = [
    hero(view),
    state.site === null && several ? overview() : null,
    rulesSection(view),
    chartsSection(view),
    treeSection(view),
    ...leftSection(view),
    rejectedSection(view),
    figuresSection(view),
  ].filter(Boolean);
  const names = { saves: "Summary", curves: "How many", left: "Unexplained", figures: "Figures", tree: "Tree" };
  const links = parts.map((part) => element("a", { href: `#${part.id}` }, names[part.id] || part.querySelector("h2").textContent));
  const chooser = several && element("select", { id: "site", "aria-label": "Site", onchange: () => choose(chooser.value === "" ? null : Number(chooser.value)) }, ...places());
  page.replaceChildren(
    element("header", { class: "top" }, element("span", { class: "brand" }, "undust report"), chooser, element("nav", { "aria-label": "Parts of the report" }, ...links)),
    element("main", {}, ...parts),
    element("footer", {}, `undust ${told.version}. This file holds all it shows and asks nothing of the network; only links to pages leave it. Charts by Vega.`),
  );
  waiting.forEach((draw) => draw());
}

render();
