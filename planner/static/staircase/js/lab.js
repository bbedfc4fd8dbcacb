/* The lab. The server runs every example; here its steps are played, and a changed value asks the server again.
   Without this the form is sent as it is. The address always holds the state. */
const form = document.getElementById("lab");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const STEP_MS = 600;
const LONGEST_PLAY_MS = 20000;
const timers = new Map();

const state = () => {
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "" || name === "x_changed") fields.set(name, value);
  return fields;
};
const remember = () => history.replaceState(null, "", `?${state()}${location.hash}`);

/* A clock and the pictures under it. */
const partOf = (element) => element.closest("[data-clock]");
const rangeOf = (part) => part.querySelector("[data-clock-bar] input");
const dataOf = (part) => JSON.parse(document.getElementById(rangeOf(part).name + "-data").textContent);
const known = new WeakMap();
const data = (part) => {
  const range = rangeOf(part);
  if (!known.has(range)) known.set(range, dataOf(part));
  return known.get(range);
};
/* English words with the reader's marks, as the server writes them. */
const { decimal = ".", group = "," } = document.documentElement.dataset;
const english = new Intl.NumberFormat("en");
const number = { format: (value) => english.format(value).replace(/[.,]/g, (mark) => (mark === "." ? decimal : group)) };

const drawPicture = (picture, said, step) => {
  const words = picture.querySelector("[data-said]");
  if (words && said) words.textContent = said.map(({ label, values }) => `${number.format(values[step])} ${label}`).join(", ");
  const drawing = picture.querySelector("svg[data-step]");
  if (!drawing) return;
  const x = Number(drawing.dataset.left) + step * Number(drawing.dataset.step);
  drawing.querySelector(".later").setAttribute("x", x);
  const now = drawing.querySelector(".now");
  now.setAttribute("x1", x);
  now.setAttribute("x2", x);
};

const SHADES = 4;
const drawPool = (part, frame) => {
  const size = Number(part.dataset.blockTokens);
  const rows = [...part.querySelectorAll("[data-tables] tbody tr")];
  const held = new Map();
  frame.forEach(([tokens, blocks, word], sequence) => {
    const put = (name, text) => { rows[sequence].querySelector(`[data-cell=${name}]`).textContent = text; };
    blocks.forEach((block, place) => held.set(block, [sequence, Math.min(Math.max(tokens - place * size, 0), size)]));
    put("state", word);
    put("tokens", tokens);
    put("blocks", blocks.join(" "));
    put("unused", blocks.length * size - tokens);
  });
  part.querySelectorAll("[data-block]").forEach((group, block) => {
    const [box, waste] = group.querySelectorAll("rect");
    const label = group.querySelector("text");
    const [sequence, filled] = held.get(block) ?? [-1, size];
    const kind = sequence < 0 ? "free" : `r${sequence % SHADES}`;
    const unused = ((size - filled) / size) * box.width.baseVal.value;
    box.setAttribute("class", kind);
    const crowded = unused > box.width.baseVal.value / 2;
    const [from, wide] = crowded ? [box.width.baseVal.value - unused, unused] : [0, box.width.baseVal.value - unused];
    label.setAttribute("class", `on-${crowded ? "waste" : kind}`);
    label.setAttribute("x", box.x.baseVal.value + from + wide / 2);
    label.textContent = sequence < 0 ? "" : rows[sequence].querySelector("th").textContent;
    waste.setAttribute("x", Number(waste.dataset.right) - unused);
    waste.setAttribute("width", unused.toFixed(1));
  });
};

const show = (part) => {
  const range = rangeOf(part);
  const { said, frames } = data(part);
  const step = Number(range.value);
  part.querySelector("[data-out]").textContent = `${number.format(step)} of ${number.format(range.max)}`;
  part.querySelectorAll("[data-picture]").forEach((picture) => drawPicture(picture, said[picture.dataset.picture], step));
  if (frames) drawPool(part, frames[step]);
};
const moveTo = (part, step) => {
  rangeOf(part).value = step;
  show(part);
};

const pressed = (part, playing) => {
  const button = part.querySelector("[data-act=play]");
  button.setAttribute("aria-pressed", playing);
  button.querySelector("[data-word]").textContent = playing ? "Pause" : "Play";
};
const stop = (part) => {
  clearInterval(timers.get(part));
  timers.delete(part);
  pressed(part, false);
  remember();
};
/* Someone who wants no motion sees the clock jump in tenths of the run. */
const play = (part) => {
  const range = rangeOf(part);
  const last = Number(range.max);
  if (Number(range.value) >= last) moveTo(part, 0);
  const every = Math.max(STEP_MS / 12, Math.min(STEP_MS, LONGEST_PLAY_MS / last));
  const stride = still.matches ? Math.max(1, Math.ceil(last / 10)) : Math.max(1, Math.round((last * every) / LONGEST_PLAY_MS));
  pressed(part, true);
  timers.set(part, setInterval(() => {
    moveTo(part, Number(range.value) + stride);
    if (Number(range.value) >= last || !part.isConnected) stop(part);
  }, still.matches ? STEP_MS * 2 : every));
};

form.addEventListener("click", (event) => {
  const act = event.target.closest("[data-act]")?.dataset.act;
  if (!act) return;
  const part = partOf(event.target);
  const range = rangeOf(part);
  if (act === "play" && !timers.has(part)) return play(part);
  if (timers.has(part)) stop(part);
  if (act === "reset") moveTo(part, 0);
  if (act === "back") moveTo(part, Number(range.value) - 1);
  if (act === "step") moveTo(part, Number(range.value) + 1);
  remember();
});
form.addEventListener("input", (event) => {
  const part = partOf(event.target);
  if (part && event.target === rangeOf(part)) {
    if (timers.has(part)) stop(part);
    show(part);
  }
  const unit = event.target.dataset.unit;
  if (unit !== undefined) event.target.parentElement.querySelector("output").textContent = `${number.format(event.target.value)} ${unit}`;
});

/* A changed value: its section is asked for again. A guess is of the values it was made for, so it is forgotten. */
const ask = async (section, { forget = () => false, extra = {} } = {}) => {
  const fields = state();
  [...fields.keys()].filter(forget).forEach((name) => fields.delete(name));
  Object.entries(extra).forEach(([name, value]) => fields.set(name, value));
  if (timers.has(section)) stop(section);
  const address = `${form.getAttribute("action")}?${fields}`;
  await window.htmx.ajax("GET", address, { target: section, swap: "outerHTML", select: `#${section.id}` });
  history.replaceState(null, "", `?${fields}${location.hash}`);
};
const sectionOf = (element) => element.closest("[data-section]");

form.addEventListener("change", (event) => {
  if (event.target.closest("[data-clock-bar]")) return remember();
  if (!event.target.closest("[data-fields]")) return undefined;
  const letter = event.target.name.slice(0, 2);
  return ask(sectionOf(event.target), { forget: (name) => name === letter + "guess" || name === letter + "step" });
});
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.submitter?.closest("[data-ask]") ?? document.activeElement.closest("[data-question]")?.querySelector("[data-ask]");
  if (!button) return;
  const { id } = sectionOf(button);
  await ask(sectionOf(button), { extra: button.name ? { [button.name]: button.value } : {} });
  document.querySelector(`#${id} [data-answer]`)?.focus();
});

const link = form.querySelector("[data-link]");
link.hidden = false;
link.addEventListener("click", async () => {
  remember();
  const said = link.querySelector("[data-said]");
  try {
    await navigator.clipboard.writeText(location.href);
    said.textContent = "Link copied";
  } catch {
    said.textContent = "The address above is the link";
  }
});
