/* The scenario form. It works without this; with it, errors take the focus and a link to a field opens its fold. */
const attend = () => document.querySelector("[data-focus]")?.focus();

const reveal = (target) => {
  for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
};

document.addEventListener("click", (event) => {
  const link = event.target.closest(".summary-errors a, [data-field]");
  const field = link && document.getElementById(link.hash.slice(1));
  if (!field) return;
  event.preventDefault();
  reveal(field);
  field.scrollIntoView({ block: "center" });
  field.focus({ preventScroll: true });
});

/* After the server has looked at the form, its answer replaces it. */
document.addEventListener("htmx:afterSettle", attend);
attend();
