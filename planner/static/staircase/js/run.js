/* A run under way: what changed is said once, the title tells it to other tabs, and when it is done the page goes to the
   report if someone is looking at it. */
const said = document.getElementById("run-said");
const lost = document.getElementById("run-lost");
const END = document.title.slice(document.title.lastIndexOf(" \u00b7 "));

const tell = (text) => {
  lost.querySelector("div").textContent = text;
  lost.hidden = !text;
};

document.addEventListener("htmx:afterSettle", () => {
  const run = document.getElementById("run");
  tell("");
  document.title = run.dataset.title + END;
  if (said.textContent !== run.dataset.said) said.textContent = run.dataset.said;
  if (run.dataset.report && !document.hidden) location.assign(run.dataset.report);
});
/* The part is asked for again by itself; only its silence has to be explained. */
document.addEventListener("htmx:sendError", () => tell("No connection to the server. The run goes on without this page."));
document.addEventListener("htmx:responseError", (event) => {
  tell(event.detail.xhr.status === 401
    ? "You were signed out. The run goes on; sign in to see it."
    : "The server does not answer as it should. The run is asked for again.");
});
