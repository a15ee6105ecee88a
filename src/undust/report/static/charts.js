// Charts by Vega, in the colours of the page; drawn anew when the page turns dark or light, fitted when it is resized.
"use strict";

// An element with attributes and children; texts become text nodes, so nothing in them is ever read as markup.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

const charts = (() => {
  const drawn = new Map();
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", () => drawn.forEach((chart) => chart.draw()));

  const tip = element("div", { id: "tip", role: "status", hidden: true });
  document.body.append(tip);

  function tooltip(handler, event, item, value) {
    if (value === null || value === undefined || value === "") {
      tip.hidden = true;
      return;
    }
    const { title, ...rest } = value;
    tip.replaceChildren(
      element("b", {}, String(title)),
      ...Object.entries(rest).map(([name, figure]) => element("div", {}, element("span", {}, name), String(figure))),
    );
    tip.hidden = false;
    const x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18 + tip.offsetHeight < window.innerHeight;
    tip.style.left = `${Math.max(8, x)}px`;
    tip.style.top = `${below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 10}px`;
  }

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }

  function palette() {
    return ["one", "two", "three", "four", "five", "six", "seven", "eight"].map((name) => colour(`series-${name}`));
  }

  // What belongs to all charts: fonts and the colours of text, lines and background.
  function config() {
    const ink = colour("ink-soft");
    const font = getComputedStyle(document.body).fontFamily;
    return {
      background: "transparent",
      font,
      axis: {
        labelColor: ink,
        titleColor: ink,
        labelFontSize: 12,
        titleFontSize: 12,
        titleFontWeight: 400,
        domainColor: colour("line"),
        tickColor: colour("line"),
        gridColor: colour("line"),
        labelFont: font,
        titleFont: font,
      },
      legend: { labelColor: ink, labelFontSize: 12, symbolType: "stroke", symbolStrokeWidth: 3, labelFont: font, labelLimit: 230 },
    };
  }

  // Draw a specification into an element, and keep it fitting. `spec` is called again whenever the colours change.
  function show(into, spec, ready = () => {}) {
    drawn.get(into)?.stop();
    let view = null;
    let turn = 0;
    const width = () => Math.max(into.clientWidth, 200);
    const chart = {
      async draw() {
        const mine = ++turn;
        if (!into.clientWidth) return;
        const made = await vegaEmbed(into, spec(width()), {
          mode: "vega",
          renderer: "svg",
          actions: false,
          ast: true,
          defaultStyle: false,
          tooltip,
          config: config(),
        });
        if (mine !== turn) return made.finalize();
        view?.finalize();
        view = made.view;
        ready(view);
        into.dataset.drawn = scheme.matches ? "dark" : "light";
      },
      stop() {
        turn++;
        observer.disconnect();
        view?.finalize();
        tip.hidden = true;
        drawn.delete(into);
      },
    };
    let last = 0;
    const observer = new ResizeObserver(() => {
      if (into.clientWidth && into.clientWidth !== last) {
        last = into.clientWidth;
        chart.draw();
      }
    });
    observer.observe(into);
    drawn.set(into, chart);
    return chart;
  }

  // Whole numbers to mark on an axis, about so many.
  function ticks(low, high, most) {
    const rough = Math.max(1, (high - low) / most);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
    const found = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(at);
    return found;
  }

  // Several series over the same places: numbers on a scale, or names at equal distances. `level` is a line across.
  function curves(into, { places, series, x, y, percent = false, height = 240, level = null, more = null }) {
    const named = typeof places[0] === "string";
    const points = series.flatMap(({ name, values }) =>
      values.map((value, i) => ({ at: places[i], value, name, more: more ? more[i] : {} })).filter((p) => p.value !== null),
    );
    const known = points.map((point) => point.value);
    const format = percent ? ".1%" : ",.4~f";
    const spec = (width) => ({
      width,
      height,
      padding: 4,
      autosize: { type: "fit", contains: "padding" },
      data: [{ name: "points", values: points }],
      scales: [
        named
          ? { name: "x", type: "point", domain: places, range: "width", padding: 0.3 }
          : { name: "x", type: "linear", domain: { data: "points", field: "at" }, range: "width", zero: false, nice: false },
        {
          name: "y",
          type: "linear",
          domain: [0, Math.max(...known, level ? level.value : 0, percent ? 0.01 : 0) * 1.08 || 1],
          range: "height",
        },
        { name: "colour", type: "ordinal", domain: series.map((one) => one.name), range: palette() },
      ],
      axes: [
        { scale: "y", orient: "left", grid: true, domain: false, ticks: false, tickCount: 4, title: y || undefined, format: percent ? "%" : "~g", labelPadding: 8 },
        { scale: "x", orient: "bottom", title: x, labelOverlap: true, values: named ? undefined : ticks(places[0], places.at(-1), Math.min(10, width / 50)), format: named ? undefined : ",d", labelPadding: 6 },
      ],
      legends: series.length > 1 ? [{ stroke: "colour", orient: "top", direction: "horizontal", columns: Math.max(1, Math.floor(width / 250)) }] : [],
      marks: [
        ...(level
          ? [
              {
                type: "rule",
                encode: { enter: { x: { value: 0 }, x2: { field: { group: "width" } }, y: { scale: "y", value: level.value }, stroke: { value: colour("ink-soft") }, strokeDash: { value: [5, 4] } } },
              },
              {
                type: "text",
                encode: { enter: { x: { field: { group: "width" } }, y: { scale: "y", value: level.value }, dy: { value: -6 }, align: { value: "right" }, text: { value: level.text }, fill: { value: colour("ink-soft") }, fontSize: { value: 12 } } },
              },
            ]
          : []),
        {
          type: "group",
          from: { facet: { name: "one", data: "points", groupby: "name" } },
          marks: [
            {
              type: "line",
              from: { data: "one" },
              encode: { enter: { x: { scale: "x", field: "at" }, y: { scale: "y", field: "value" }, stroke: { scale: "colour", field: "name" }, strokeWidth: { value: 2.5 }, strokeJoin: { value: "round" } } },
            },
            {
              type: "symbol",
              from: { data: "one" },
              encode: {
                enter: {
                  x: { scale: "x", field: "at" },
                  y: { scale: "y", field: "value" },
                  fill: { scale: "colour", field: "name" },
                  stroke: { value: colour("card") },
                  strokeWidth: { value: 1.5 },
                  size: { value: points.length > 120 ? 16 : 60 },
                  tooltip: { signal: `merge({title: datum.name + ': ' + format(datum.value, '${format}')}, {'${x.replaceAll("'", "")}': datum.at}, datum.more)` },
                },
              },
            },
          ],
        },
      ],
    });
    return show(into, spec);
  }

  // A tree from left to right: the height of a box is its share of its parent; a click makes a box fill the picture.
  function icicle(into, nodes, { shade, told, onfocus = () => {}, height = 460 }) {
    const below = new Array(nodes.length).fill(0);
    nodes.forEach((node) => {
      if (node.parent >= 0) below[node.parent] += node.urls;
    });
    const values = nodes.map((node, i) => ({
      id: i + 1,
      parent: node.parent >= 0 ? node.parent + 1 : null,
      own: Math.max(0, node.urls - below[i]),
      text: node.parent >= 0 ? node.text : "all URLs",
      count: node.urls.toLocaleString("en"),
      shade: shade(node) === null ? null : Math.min(1, shade(node)),
      told: told(node),
    }));
    let view = null;
    let focus = 1;
    const byId = () => new Map(view.data("nodes").map((node) => [node.id, node]));

    function look(id) {
      focus = id;
      const known = byId();
      const node = known.get(id) || known.get(1);
      view.signal("top", node.y0).signal("bottom", node.y1).signal("from", Math.max(0, node.depth - 1)).runAsync();
      const way = [];
      for (let at = node; at; at = known.get(at.parent)) way.unshift({ id: at.id, text: at.text });
      onfocus(way);
    }

    const spec = (width) => {
      const levels = width < 480 ? 3 : width < 800 ? 4 : 5;
      return {
        width,
        height,
        padding: 0,
        autosize: "none",
        signals: [
          { name: "top", value: 0 },
          { name: "bottom", value: 1000 },
          { name: "from", value: 0 },
          // The leftmost box is where one comes from: it needs less room.
          { name: "step", value: width / (levels - 0.5) },
        ],
        data: [
          {
            name: "nodes",
            values,
            transform: [
              { type: "stratify", key: "id", parentKey: "parent" },
              { type: "partition", field: "own", sort: { field: "value", order: "descending" }, size: [1000, 1000], as: ["y0", "x0", "y1", "x1", "depth", "children"] },
            ],
          },
          {
            name: "seen",
            source: "nodes",
            transform: [
              { type: "filter", expr: `datum.y1 > top && datum.y0 < bottom && datum.depth >= from && datum.depth < from + ${levels} && (datum.y1 - datum.y0) / (bottom - top) * ${height} > 0.7` },
              { type: "formula", as: "high", expr: `(min(datum.y1, bottom) - max(datum.y0, top)) / (bottom - top) * ${height}` },
              { type: "formula", as: "left", expr: "max(0, datum.depth - from - 0.5) * step" },
              { type: "formula", as: "wide", expr: "datum.depth === from ? 0.5 * step : step" },
            ],
          },
        ],
        scales: [
          { name: "y", domain: [{ signal: "top" }, { signal: "bottom" }], range: [0, height], zero: false },
          { name: "shade", type: "linear", domain: [0, 1], range: [colour("shade-none"), colour("shade-all")], interpolate: "lab" },
        ],
        marks: [
          {
            type: "group",
            clip: true,
            encode: { update: { width: { value: width }, height: { value: height } } },
            marks: [
              {
                type: "rect",
                from: { data: "seen" },
                encode: {
                  update: {
                    x: { field: "left" },
                    width: { field: "wide" },
                    y: { scale: "y", signal: "max(datum.y0, top)" },
                    y2: { scale: "y", signal: "min(datum.y1, bottom)" },
                    fill: [{ test: "datum.shade === null", value: colour("shade-unknown") }, { scale: "shade", field: "shade" }],
                    stroke: { value: colour("card") },
                    strokeWidth: { signal: "datum.high > 4 ? 1.5 : 0.5" },
                    cursor: { value: "pointer" },
                    tooltip: { signal: "merge({title: datum.text}, datum.told)" },
                  },
                },
              },
              ...[
                ["datum.text", "datum.high >= 15", "datum.high >= 32 ? -8 : 0", 13, "datum.shade > 0.55"],
                ["datum.count + ' URLs'", "datum.high >= 32", "9", 11, "datum.shade > 0.55"],
              ].map(([text, when, lower, size, strong]) => ({
                type: "text",
                from: { data: "seen" },
                interactive: false,
                encode: {
                  update: {
                    x: { signal: "datum.left + 7" },
                    y: { scale: "y", signal: "(max(datum.y0, top) + min(datum.y1, bottom)) / 2", offset: { signal: lower } },
                    text: { signal: text },
                    limit: { signal: "datum.wide - 12" },
                    opacity: { signal: `${when} ? 1 : 0` },
                    baseline: { value: "middle" },
                    fontSize: { value: size },
                    fill: { signal: `${strong} ? '${colour("shade-ink-all")}' : '${colour("shade-ink-none")}'` },
                  },
                },
              })),
            ],
          },
        ],
      };
    };
    const chart = show(into, spec, (made) => {
      view = made;
      view.addEventListener("click", (event, item) => {
        if (!item || !item.datum || !item.datum.id) return;
        const { id, parent } = item.datum;
        // The box that fills the picture leads back up.
        look(id === focus && parent ? parent : id);
        tip.hidden = true;
      });
      look(focus);
    });
    return { ...chart, look };
  }

  function clear() {
    drawn.forEach((chart) => chart.stop());
  }

  return { curves, icicle, clear };
})();
