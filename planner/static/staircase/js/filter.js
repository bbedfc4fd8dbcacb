/* Filters the rows of the list by the words typed. */
const tools = document.querySelector("[data-filter]");
const input = tools.querySelector("input[type=search]");
const list = tools.closest(".sec");
const said = tools.querySelector("[role=status]");
const before = said.textContent;
const rows = [...list.querySelectorAll(".tbl tbody tr")].map((row) => [row, row.textContent.toLowerCase()]);

input.addEventListener("input", () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  list.toggleAttribute("data-searching", words.length > 0);
  let shown = 0;
  rows.forEach(([row, text]) => {
    row.hidden = !words.every((word) => text.includes(word));
    shown += row.hidden ? 0 : 1;
  });
  said.textContent = words.length ? `${shown} of ${rows.length} rows here` : before;
});
