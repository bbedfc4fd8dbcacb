/* Filters the rows of every table on the page by the words typed. */
const tools = document.querySelector("[data-filter]");
const input = tools.querySelector("input");
const said = tools.querySelector("[role=status]");
const rows = [...document.querySelectorAll("main .tbl tbody tr")].map((row) => [row, row.textContent.toLowerCase()]);

input.addEventListener("input", () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  rows.forEach(([row, text]) => {
    row.hidden = !words.every((word) => text.includes(word));
    shown += row.hidden ? 0 : 1;
  });
  said.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
});
