/* Meanings of terms, on hover and on focus: in the top layer so that no table clips them, placed inside
   the window, open while the pointer is on them; Escape closes them without moving the focus. */
const GAP_PX = 6;
const EDGE_PX = 8;
const HEADER_PX = 52;
const LINGER_MS = 150;

let closing = 0;

const termOf = (event) => event.target.closest?.(".term");
const openTips = () => document.querySelectorAll(".tip:popover-open");
const closeAll = () => openTips().forEach((tip) => tip.hidePopover());
const closeSoon = () => {
  clearTimeout(closing);
  closing = setTimeout(closeAll, LINGER_MS);
};

const place = (tip, anchor) => {
  const box = anchor.getBoundingClientRect();
  const room = document.documentElement.clientWidth - tip.offsetWidth - EDGE_PX;
  const above = box.top - tip.offsetHeight - GAP_PX;
  tip.style.left = Math.max(EDGE_PX, Math.min(box.left - EDGE_PX, room)) + "px";
  tip.style.top = (above < HEADER_PX ? box.bottom + GAP_PX : above) + "px";
};

const open = (event) => {
  const tip = termOf(event)?.querySelector(".tip[popover]");
  clearTimeout(closing);
  openTips().forEach((other) => other !== tip && other.hidePopover());
  if (!tip || tip.matches(":popover-open")) return;
  tip.showPopover();
  place(tip, tip.parentNode);
};

document.addEventListener("pointerover", (event) => termOf(event) && open(event));
document.addEventListener("pointerout", (event) => {
  if (termOf(event) && !event.relatedTarget?.closest?.(".term")) closeSoon();
});
document.addEventListener("focusin", open);
document.addEventListener("focusout", closeSoon);
/* Moving the focus may scroll the page: the tip of the focused term moves along, others close. */
document.addEventListener("scroll", () => openTips().forEach((tip) => {
  if (tip.parentNode === document.activeElement) place(tip, tip.parentNode);
  else tip.hidePopover();
}), { passive: true });
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  closeAll();
  document.querySelectorAll("details.menu[open]").forEach((menu) => {
    menu.open = false;
    menu.querySelector("summary").focus();
  });
});
