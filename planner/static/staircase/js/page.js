/* Small things of a long page: the section in view, folded sections, copying a command, printing with every table open. */
const links = [...document.querySelectorAll(".toc a")];
const centre = (link) => {
  const toc = link.closest(".toc");
  toc.scrollLeft = link.offsetLeft - toc.offsetLeft - (toc.clientWidth - link.offsetWidth) / 2;
};
if (links.length) {
  const observer = new IntersectionObserver((entries) => {
    const seen = entries.find((entry) => entry.isIntersecting);
    if (!seen) return;
    links.forEach((link) => {
      if (link.hash !== "#" + seen.target.id) return link.removeAttribute("aria-current");
      link.setAttribute("aria-current", "true");
      centre(link);
    });
  }, { rootMargin: "-15% 0px -75% 0px" });
  links.forEach((link) => {
    const section = document.getElementById(link.hash.slice(1));
    if (section) observer.observe(section);
  });
}

/* On a phone the parts that only some need are folded to their finding; whoever goes to one finds it open. */
const folds = [...document.querySelectorAll("details[data-fold]")];
const phone = matchMedia("(max-width: 40rem)");
const fold = () => folds.forEach((part) => { part.open = !phone.matches; });
const reveal = (hash) => {
  const target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
  const part = target && (target.querySelector(":scope > details[data-fold]") ?? target.closest("details[data-fold]"));
  if (!part || part.open) return;
  part.open = true;
  target.scrollIntoView();
};
if (folds.length) {
  if (phone.matches) fold();
  phone.addEventListener("change", fold);
  reveal(location.hash);
  addEventListener("hashchange", () => reveal(location.hash));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link) reveal(link.hash);
  });
}

const SAID_MS = 2000;
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const said = button.querySelector("[data-said]");
  const before = said.textContent;
  try {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    said.textContent = "Copied";
  } catch {
    said.textContent = "Select the text to copy it";
  }
  setTimeout(() => { said.textContent = before; }, SAID_MS);
});

document.querySelectorAll("[data-print]").forEach((button) => button.addEventListener("click", () => print()));
addEventListener("beforeprint", () => document.querySelectorAll("main details").forEach((part) => {
  part.dataset.was = part.open ? "open" : "";
  part.open = true;
}));
addEventListener("afterprint", () => document.querySelectorAll("main details").forEach((part) => {
  part.open = part.dataset.was === "open";
}));

/* What floats or scrolls sideways can be reached with the keyboard only where it does scroll. */
const reach = () => document.querySelectorAll(".scroll").forEach((box) => {
  if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
});
reach();
addEventListener("resize", reach);
document.addEventListener("toggle", reach, true);
