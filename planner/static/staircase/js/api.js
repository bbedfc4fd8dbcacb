/* Swagger UI over our own OpenAPI document, in the page's theme; nothing is fetched from anywhere else. */
const root = document.documentElement;
const place = document.getElementById("api-operations");
const system = matchMedia("(prefers-color-scheme: dark)");

const follow = () => {
  const theme = root.dataset.theme ?? (system.matches ? "dark" : "light");
  root.classList.toggle("dark-mode", theme === "dark");
};

follow();
system.addEventListener("change", follow);
document.addEventListener("themechange", follow);

/* Where an error's type points; Swagger UI would take the address for one of its own. */
const pointed = /^#[a-z-]+$/.test(location.hash) && document.querySelector(`.api-errors ${location.hash}`);

const target = document.createElement("div");
place.append(target);
window.SwaggerUIBundle({
  url: place.dataset.document,
  domNode: target,
  presets: [window.SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: !pointed,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  tagsSorter: "alpha",
  validatorUrl: null,
  onComplete: () => {
    place.querySelector("[data-loading]")?.remove();
    root.dataset.api = "drawn";
  },
});

/* The page has its own main landmark; Swagger UI adds another one when it draws. */
const tidy = () => target.querySelector("main")?.setAttribute("role", "group");
new MutationObserver(tidy).observe(target, { childList: true, subtree: true });

/* An error's address stays where it points while the operations above it are drawn, until someone moves. */
if (pointed) {
  const keep = new ResizeObserver(() => pointed.scrollIntoView());
  keep.observe(place);
  for (const move of ["wheel", "pointerdown", "keydown", "touchstart"]) {
    addEventListener(move, () => keep.disconnect(), { once: true, passive: true });
  }
}
