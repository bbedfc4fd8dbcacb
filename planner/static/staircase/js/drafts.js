/* Nothing typed is lost. While typing, the server keeps a draft (the element #estimate sends it). What the server did not
   take yet, because it was too soon, the session ended or the line broke, is put into this tab's own storage and comes back
   when the same person opens the same address in the same tab. Another person's is thrown away. */
const PREFIX = "staircase-form:";
const form = () => document.getElementById("scenario-form");
const key = () => PREFIX + location.pathname + location.search;
let waiting = false;
let typed = 0, sent = 0; // an answer to what was sent before the last change says nothing of that change

const texts = () => [...new FormData(form())].filter(([name, value]) => typeof value === "string" && name !== "csrfmiddlewaretoken" && name !== "draft");

const put = () => {
  try {
    sessionStorage.setItem(key(), JSON.stringify({ user: form().dataset.user, texts: texts() }));
  } catch { /* storage is full or switched off: the draft on the server is what there is */ }
};

const fill = (saved) => {
  const left = new Map();
  saved.forEach(([name, value]) => left.set(name, [...(left.get(name) ?? []), value]));
  for (const field of form().elements) {
    if (!field.name || field.type === "hidden" || field.type === "submit") continue;
    const values = left.get(field.name) ?? [];
    if (field.type === "checkbox" || field.type === "radio") field.checked = values.includes(field.value);
    else if (values.length) {
      const own = field.name === "hardware.gpus" ? values.filter((value) => !document.querySelector(`[type=checkbox][name="hardware.gpus"][value="${CSS.escape(value)}"]`)) : values;
      field.value = own[0] ?? "";
    }
  }
};

const restore = () => {
  const mine = sessionStorage.getItem(key());
  Object.keys(sessionStorage).filter((name) => name.startsWith(PREFIX)).forEach((name) => {
    if (JSON.parse(sessionStorage.getItem(name)).user !== form().dataset.user || name === key()) sessionStorage.removeItem(name);
  });
  const saved = mine && JSON.parse(mine);
  if (!saved || saved.user !== form().dataset.user) {
    htmx.trigger(document.body, "first");
    return;
  }
  fill(saved.texts);
  waiting = true;
  look();
};

const look = () => htmx.trigger(document.body, "look");
const said = (text) => { document.getElementById("draft-said").textContent = text; };

document.addEventListener("input", (event) => {
  if (!event.target.closest("#scenario-form")) return;
  waiting = true;
  typed += 1;
});
document.addEventListener("htmx:beforeSend", (event) => {
  if (event.detail.elt.id === "estimate") sent = typed;
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.elt.id === "scenario-form" && event.detail.xhr.getResponseHeader("HX-Redirect")) waiting = false;
  if (event.detail.elt.id !== "estimate") return;
  if (event.detail.successful) {
    if (sent !== typed) return;
    waiting = false;
    sessionStorage.removeItem(key());
  } else if (event.detail.xhr.status !== 401) {
    put();
    said("Not saved on the server just now. It is kept in this tab and sent with your next change.");
  }
});
/* Whatever was asked for, a 401 means that the session ended. */
document.addEventListener("htmx:responseError", (event) => {
  if (event.detail.xhr.status !== 401) return;
  put();
  const banner = document.getElementById("signed-out");
  banner.querySelector("a").search = "?next=" + encodeURIComponent(location.pathname + location.search);
  banner.hidden = false;
  banner.scrollIntoView({ block: "center" });
});
/* A suggested value was taken over, or the form came back with errors: the estimate follows. */
document.addEventListener("htmx:afterSwap", (event) => event.detail.target.id === "scenario-form" && look());
addEventListener("pagehide", () => waiting && put());
addEventListener("DOMContentLoaded", restore);
