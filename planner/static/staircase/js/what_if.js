/* The sliders of a report: the words beside them follow the thumb, htmx asks the server for the answer.
   A slider that is put back near its place of the report snaps to it. */
const form = document.querySelector("[data-what-if]");
const run = form.querySelector("[data-run]");
const sliders = [...form.querySelectorAll("input[type=range]")];
/* English words with the reader's marks, as the server writes them. */
const { decimal = ".", group = "," } = document.documentElement.dataset;
const near = (slider) => Math.abs(slider.value - slider.dataset.base) < slider.dataset.step / 2;

const say = (slider) => {
  const { base, step, shown, unit, digits } = slider.dataset;
  const value = near(slider) ? Number(base) : Math.round(slider.value / step) * step;
  const english = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const written = (one) => english.format(one).replace(/[.,]/g, (mark) => (mark === "." ? decimal : group));
  const text = unit === "$" ? "$" + written(value) : `${written(value * shown)} ${unit}`;
  slider.value = value;
  slider.parentElement.querySelector("output").textContent = text;
  slider.setAttribute("aria-valuetext", text);
};
const settle = () => {
  sliders.forEach(say);
  if (run) run.disabled = sliders.every(near);
};

form.addEventListener("input", settle);
form.addEventListener("reset", () => setTimeout(settle));
/* Arrow keys move by the step, also from a value between two steps. */
form.addEventListener("keydown", (event) => {
  const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
  if (!way || !sliders.includes(event.target)) return;
  event.preventDefault();
  event.target.value = Number(event.target.value) + way * event.target.dataset.step;
  event.target.dispatchEvent(new Event("input", { bubbles: true }));
});
settle();
