/* The colour theme: system, light or dark. Kept in a cookie, so that the server can set it on <html>
   before the first paint. Charts redraw on "themechange". */
const ORDER = ["system", "light", "dark"];
const YEAR_S = 31536000;
const root = document.documentElement;
const button = document.querySelector("[data-theme-toggle]");

const current = () => root.dataset.theme ?? "system";

const label = () => {
  button.setAttribute("aria-label", "Colour theme: " + current());
  button.title = "Colour theme: " + current();
};

const choose = (theme) => {
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `theme=${theme}; Path=/; Max-Age=${YEAR_S}; SameSite=Lax${secure}`;
  label();
  document.dispatchEvent(new Event("themechange"));
};

if (button) {
  label();
  button.hidden = false;
  button.addEventListener("click", () => choose(ORDER[(ORDER.indexOf(current()) + 1) % ORDER.length]));
}
