/* Draws the charts of a page. Their options come from the server as JSON and hold no colour and no function:
     "@accent"     a custom property, read again when the theme changes
     "@fmt.usd0"   a formatter of FORMATS
   Both are resolved from fixed lists of names, so text that people typed stays text. */
const { echarts } = window;
const root = document.documentElement;
/* English words with the reader's marks, as the server writes them. */
const { decimal = ".", group = "," } = root.dataset;
const written = (options) => {
  const english = new Intl.NumberFormat("en", options);
  return { format: (value) => english.format(value).replace(/[.,]/g, (mark) => (mark === "." ? decimal : group)) };
};
const decimals = (digits) => written({ minimumFractionDigits: digits, maximumFractionDigits: digits });
const [N0, N1, N2] = [0, 1, 2].map(decimals);
const FEW = written({ maximumFractionDigits: 1 });
const TICK = written({ maximumFractionDigits: 6 });
const PLACE = written({ maximumSignificantDigits: 4 });

const minus = (text) => text.replace("-", "\u2212");
const last = (value) => (Array.isArray(value) ? value[value.length - 1] : value);
const money = (value, format) => (value == null ? "\u2013" : minus((value < 0 ? "-$" : "$") + format.format(Math.abs(value))));
const thousands = (value) => {
  const [size, letter] = [[1e6, "M"], [1e3, "k"]].find(([limit]) => Math.abs(value) >= limit) ?? [1, ""];
  return money(value / size, FEW) + letter;
};
const signed = (text, value) => (value > 0 ? "+" + text : text);
const plain = (format, unit) => (value) => (last(value) == null ? "\u2013" : minus(format.format(last(value))) + unit);

/* Where the pointer stands on an axis: a number, or the name of a category. */
const place = ({ value }) => (typeof value === "number" ? plain(PLACE, "")(value) : value);

const FORMATS = {
  usd0: (value) => money(last(value), N0),
  usd2: (value) => money(last(value), N2),
  usdk: (value) => (value === 0 ? "$0" : thousands(value)),
  dusd0: (value) => signed(money(last(value), N0), last(value)),
  dusdk: (value) => (value === 0 ? "0" : signed(thousands(value), value)),
  ms0: plain(N0, " ms"),
  ms1: plain(N1, " ms"),
  rps: plain(N2, " req/s"),
  gib: plain(N2, " GiB"),
  day: (value) => String(value).split(" ")[0],
};
const ROLE = /^@(ink|ink-2|ink-3|accent|warn|bg|bg-raised|line-strong|font-ui|c-[a-z0-9-]+)$/;

/* A real element settles light-dark() too. */
const probe = document.createElement("i");
probe.hidden = true;
document.body.append(probe);
const token = (name) => {
  if (name === "font-ui") return getComputedStyle(document.documentElement).getPropertyValue("--font-ui").trim();
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
};

const resolve = (value) => {
  if (Array.isArray(value)) return value.map(resolve);
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, resolve(part)]));
  if (typeof value !== "string") return value;
  if (value.startsWith("@fmt.") && Object.hasOwn(FORMATS, value.slice(5))) return FORMATS[value.slice(5)];
  return ROLE.test(value) ? token(value.slice(1)) : value;
};

const theme = () => {
  const axis = {
    axisLine: { lineStyle: { color: token("c-axis") } },
    axisTick: { lineStyle: { color: token("c-axis") }, length: 4 },
    axisLabel: { color: token("ink-2"), fontSize: 12, hideOverlap: true },
    nameTextStyle: { color: token("ink-3"), fontSize: 12 },
    splitLine: { lineStyle: { color: token("c-grid") } },
  };
  return {
    color: ["c-self", "c-api", "c-self-2", "c-api-2", "c-self-3", "warn"].map(token),
    textStyle: { fontFamily: token("font-ui"), color: token("ink-2") },
    categoryAxis: { ...axis, splitLine: { show: false } },
    valueAxis: {
      ...axis, axisLine: { show: false }, axisTick: { show: false },
      axisLabel: { ...axis.axisLabel, formatter: plain(TICK, "") },
    },
    tooltip: {
      backgroundColor: token("bg-raised"), borderColor: token("line-strong"), borderWidth: 1, padding: [6, 10],
      textStyle: { color: token("ink"), fontSize: 12 }, transitionDuration: 0,
      axisPointer: { lineStyle: { color: token("c-axis") }, shadowStyle: { color: token("c-grid"), opacity: 0.5 }, label: { formatter: place } },
      extraCssText: "border-radius:3px;box-shadow:none;font-variant-numeric:tabular-nums",
    },
  };
};

const still = matchMedia("(prefers-reduced-motion: reduce)");
const live = new Map();

const optionOf = (box) => {
  const option = resolve(JSON.parse(document.getElementById(box.dataset.option).textContent));
  return still.matches || "paper" in root.dataset ? { ...option, animation: false } : option;
};
/* On a phone, labels beside the plot would leave no room for it: the keys above name the lines. */
const NARROW_PX = 480;
const narrow = (box, option) => {
  if (box.clientWidth >= NARROW_PX) return option;
  if (option.series.some((series) => series.endLabel)) {
    option.series.forEach((series) => delete series.endLabel);
    option.grid.right = 16;
  }
  return option;
};
const draw = (box) => {
  live.get(box)?.dispose();
  live.delete(box);
  if (!box.checkVisibility()) return;  // in a folded section: drawn when it opens
  const chart = echarts.init(box, theme(), { renderer: "svg" });
  chart.setOption(narrow(box, optionOf(box)));
  live.set(box, chart);
};
const boxes = [...document.querySelectorAll("[data-option]")];
const drawAll = () => boxes.forEach(draw);

const save = (address, name) => {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
};
const saveSvg = (box) => {
  const drawing = new Blob([live.get(box).renderToSVGString()], { type: "image/svg+xml" });
  const address = URL.createObjectURL(drawing);
  save(address, box.dataset.name + ".svg");
  setTimeout(() => URL.revokeObjectURL(address), 1000);
};
const savePng = (box) => {
  const canvas = document.createElement("div");
  const copy = echarts.init(canvas, theme(), { renderer: "canvas", devicePixelRatio: 2, width: box.clientWidth, height: box.clientHeight });
  copy.setOption({ ...optionOf(box), animation: false });
  save(copy.getDataURL({ type: "png", pixelRatio: 2, backgroundColor: token("bg") }), box.dataset.name + ".png");
  copy.dispose();
};
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-export]");
  const box = button?.closest("figure").querySelector("[data-option]");
  if (!box || !live.has(box)) return;
  if (button.dataset.export === "svg") saveSvg(box);
  else savePng(box);
});

await document.fonts.ready;
drawAll();
const fit = (box) => (live.has(box) ? live.get(box).resize() : draw(box));
const sizes = new ResizeObserver((entries) => entries.forEach((entry) => fit(entry.target)));
boxes.forEach((box) => sizes.observe(box));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
document.addEventListener("themechange", drawAll);
/* Paper is light and narrower than the window: charts are drawn for it at once, before the browser lays it out. */
addEventListener("beforeprint", () => {
  root.dataset.paper = "";
  drawAll();
  live.forEach((chart) => chart.getZr().flush());
});
addEventListener("afterprint", () => {
  delete root.dataset.paper;
  drawAll();
});
root.dataset.charts = "drawn";
