// The page of `undust bench papers --html`: text as it was printed, figures as charts.
"use strict";

const parts = JSON.parse(document.getElementById("contents").textContent);
const page = document.getElementById("page");
page.replaceChildren(
  element("header", { class: "top" }, element("h1", {}, "The papers' tables and figures, and ours")),
  element("main", {}, ...parts.map((part) => (part.text === undefined ? figure(part) : element("pre", {}, part.text)))),
);

function figure(part) {
  const drawing = element("div", { class: "chart" });
  charts.curves(drawing, {
    places: part.places,
    series: part.series,
    x: part.axis,
    y: "",
    height: 280,
  });
  return element("figure", {}, element("figcaption", {}, part.title), drawing);
}
