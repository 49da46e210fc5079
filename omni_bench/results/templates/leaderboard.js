"use strict";
const filters = [...document.querySelectorAll("[data-filter]")];
const fits = (element) => filters.every((filter) => {
  const name = filter.dataset.filter, wanted = filter.value;
  const has = element.dataset[name];
  if (has === undefined) return true;
  if (name === "model") return has.toLowerCase().includes(wanted.trim().toLowerCase());
  return has === wanted;
});
const cellFits = (row) => filters.every((filter) => {
  const name = filter.dataset.filter, wanted = filter.value;
  if (name === "ranked") return (row.dataset.status === "apart") === (wanted === "no");
  if (name === "model") return row.dataset.model.toLowerCase().includes(wanted.trim().toLowerCase());
  if (name === "protocol") return row.dataset.protocol === wanted;
  const untrained = name === "adaptation" && ["from_scratch", "classical"].includes(row.dataset.adaptation);
  return wanted === "all" || row.dataset[name] === wanted || untrained;
});
function show(table, test, word) {
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    row.hidden = !test(row);
    shown += !row.hidden;
  }
  document.querySelector(`[data-count="${table.id}"]`).textContent = `${shown} ${word}`;
  return shown;
}
function filterAll() {
  const shown = show(document.getElementById("ranks"), fits, "models");
  document.querySelector('[data-empty="ranks"]').hidden = shown > 0;
  show(document.getElementById("cells"), cellFits, "results (a value under the pointer names its metric, a mark its reason)");
  for (const section of document.querySelectorAll("section[data-protocol]")) section.hidden = !fits(section);
}
function sortBy(table, key, direction) {
  const body = table.tBodies[0];
  const value = (row) => row.querySelector(`[data-key="${key}"]`).dataset.value;
  const rows = [...body.rows].map((row) => [value(row), row]);
  const numeric = rows.every(([text]) => text === "nan" || (text !== "" && Number.isFinite(Number(text))));
  const order = (a, b) => numeric ? Number(a) - Number(b) : a.localeCompare(b, "en");
  rows.sort(([a], [b]) => (a === "nan") - (b === "nan") || (a === "nan" ? 0 : direction * order(a, b)));
  body.append(...rows.map(([, row]) => row));
}
for (const table of document.querySelectorAll("table.sortable")) {
  for (const button of table.tHead.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of table.tHead.querySelectorAll("th")) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      sortBy(table, button.dataset.key, direction);
    });
  }
}
for (const filter of filters) filter.addEventListener("input", filterAll);
const only = document.getElementById("filter-ranked");
if (!document.querySelector('#ranks [data-ranked="yes"]')) only.value = "no";
const candidates = `#ranks [data-ranked="${only.value}"]`;
const first = document.querySelector(`${candidates}[data-protocol="cross_subject"]`) ?? document.querySelector(candidates);
if (first) {
  document.getElementById("filter-protocol").value = first.dataset.protocol;
  document.getElementById("filter-adaptation").value = first.dataset.adaptation;
}
if (document.querySelector('#filter-family option[value="all"]')) document.getElementById("filter-family").value = "all";
document.querySelector("form.filters").addEventListener("submit", (event) => event.preventDefault());
filterAll();
