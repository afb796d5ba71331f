// SPDX-License-Identifier: Apache-2.0
// Replaces <main> by a new version of the same page every two seconds. Focus, open details and the
// scroll position remain. It pauses while the page is hidden, or while text is selected.
"use strict";
(() => {
  const EVERY = 2000, LONGEST = 10000;
  const away = document.getElementById("away");
  const filter = document.getElementById("filter");
  let timer = 0, busy = false, again = false;

  const main = () => document.getElementById("main");

  // Identifies an element in the next version: by its id, or its place among equal links.
  const mark = (element) => {
    if (!element || !main().contains(element)) return null;
    if (element.id) return { id: element.id };
    const href = element.getAttribute("href");
    if (!href) return null;
    const same = [...main().querySelectorAll("a")].filter((a) => a.getAttribute("href") === href);
    return { href, at: same.indexOf(element) };
  };
  const find = (place) => {
    if (!place) return null;
    if (place.id) return document.getElementById(place.id);
    const same = [...main().querySelectorAll("a")]
      .filter((a) => a.getAttribute("href") === place.href);
    return same[place.at] || same[0] || null;
  };

  const isSelecting = () => {
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && main().contains(selection.anchorNode);
  };

  const replace = (text) => {
    const next = new DOMParser().parseFromString(text, "text/html");
    const body = next.getElementById("main");
    if (!body) throw new Error("not a page");
    const focused = mark(document.activeElement);
    const open = [...main().querySelectorAll("details[open]")].map((d) => d.id);
    const across = [...main().querySelectorAll(".scroll")].map((s) => s.scrollLeft);
    for (const image of body.querySelectorAll("img")) { // a picture that stays is not loaded again
      const same = [...main().querySelectorAll("img")]
        .find((i) => i.getAttribute("src") === image.getAttribute("src"));
      if (same) image.replaceWith(same);
    }
    document.title = next.title;
    main().replaceWith(document.adoptNode(body));
    for (const id of open) {
      const details = document.getElementById(id);
      if (details) details.open = true;
    }
    main().querySelectorAll(".scroll").forEach((s, i) => { s.scrollLeft = across[i] || 0; });
    const element = find(focused);
    if (element) element.focus({ preventScroll: true });
  };

  const refresh = async () => {
    clearTimeout(timer);
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href, {
        cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(LONGEST),
      });
      const text = await answer.text();
      if (!isSelecting()) replace(text);
      away.hidden = true;
    } catch (error) {
      away.hidden = false;
    }
    busy = false;
    if (again) { again = false; refresh(); } else plan();
  };

  const plan = () => {
    clearTimeout(timer);
    if (!document.hidden && main().hasAttribute("data-refresh")) timer = setTimeout(refresh, EVERY);
  };

  document.addEventListener("visibilitychange", () => { if (document.hidden) plan(); else refresh(); });

  if (filter) {
    const field = document.getElementById("q");
    let typed = 0;
    filter.hidden = false;
    field.addEventListener("input", () => {
      clearTimeout(typed);
      typed = setTimeout(() => {
        const url = new URL(location.href);
        if (field.value) url.searchParams.set("q", field.value); else url.searchParams.delete("q");
        history.replaceState(null, "", url);
        refresh();
      }, 200);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && document.activeElement !== field) {
        event.preventDefault();
        field.focus();
      }
    });
  }
  plan();
})();
