// Suites as tabs: links to the suites become tabs of which one is shown. Without it, and on paper,
// all suites stand one below the other. A link to anything inside a suite opens it.
"use strict";

const tabs = Array.from(document.querySelectorAll(".tabs a"));
const panelOf = (tab) => document.getElementById(tab.hash.slice(1));

const openTab = (chosen) => {
  for (const tab of tabs) {
    const isChosen = tab === chosen;
    tab.setAttribute("aria-selected", isChosen);
    tab.tabIndex = isChosen ? 0 : -1;
    // what is hidden so is still found by the browser's search, which opens it
    if (isChosen) panelOf(tab).removeAttribute("hidden");
    else panelOf(tab).setAttribute("hidden", "until-found");
  }
};

const openSuiteOf = (element) => {
  const panel = element?.closest(".suite");
  const tab = tabs.find((each) => panelOf(each) === panel);
  if (tab) openTab(tab);
  return Boolean(tab);
};

// browsers that know `until-found` open the suite of a link by themselves, others do not
const openTarget = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (openSuiteOf(target)) target.scrollIntoView();
};

// the place of the next tab for a key; nothing for other keys
const nextTab = (key, at) => {
  const last = tabs.length - 1;
  const places = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last };
  return tabs[places[key]];
};

if (tabs.length) {
  const list = document.querySelector(".tabs");
  list.setAttribute("role", "tablist");
  list.closest("section").classList.add("tabbed");
  tabs.forEach((tab, at) => {
    tab.parentElement.setAttribute("role", "presentation");
    tab.setAttribute("role", "tab");
    tab.id = `tab-${panelOf(tab).id}`;
    tab.setAttribute("aria-controls", panelOf(tab).id);
    panelOf(tab).setAttribute("role", "tabpanel");
    panelOf(tab).setAttribute("aria-labelledby", tab.id);
    panelOf(tab).addEventListener("beforematch", () => openTab(tab));
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      openTab(tab);
    });
    tab.addEventListener("keydown", (event) => {
      const next = event.key === " " ? tab : nextTab(event.key, at);
      if (!next) return;
      event.preventDefault();
      openTab(next);
      next.focus();
    });
  });
  openTab(tabs[0]);
  addEventListener("hashchange", openTarget);
  openTarget();
}
