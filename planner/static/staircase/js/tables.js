/* Sortable tables: a button in the header sorts its column; rows without a value stay last. */
const MINUS = "\u2212";
const { decimal = ".", group = "," } = document.documentElement.dataset;  // the marks of the page's reader

const read = (text) => text.replaceAll(group, "").replace(decimal, ".").replace(MINUS, "-").replace(/^[^0-9-]+/, "");

const valueOf = (cell) => {
  if (!cell || cell.colSpan > 1) return null;  // a reason in place of figures
  const text = cell.dataset.v ?? cell.textContent.trim();
  if (text === "" || text.startsWith("\u2013")) return null;
  if (!cell.classList.contains("n")) return text;
  const number = Number.parseFloat(cell.dataset.v ?? read(text));
  return Number.isFinite(number) ? number : null;
};

const compare = (left, right, up) => {
  if (left === null || right === null) return (left === null) - (right === null);
  const order = typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right));
  return up ? order : -order;
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("th .sort");
  if (!button) return;
  const head = button.closest("th");
  const table = head.closest("table");
  const column = [...head.parentNode.children].indexOf(head);
  const up = head.getAttribute("aria-sort") !== "ascending";
  table.querySelectorAll("th[aria-sort]").forEach((other) => other.setAttribute("aria-sort", "none"));
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  [...table.tBodies].forEach((body) => {
    const groups = [...body.querySelectorAll("tr.group")];
    const rows = [...body.querySelectorAll("tr:not(.group)")];
    rows.sort((a, b) => compare(valueOf(a.children[column]), valueOf(b.children[column]), up));
    body.append(...groups, ...rows);
  });
});
