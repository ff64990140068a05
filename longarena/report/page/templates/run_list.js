// Filters, sorting and pages of very many runs. Without it the newest of them are in the table.
"use strict";

{
  const { names, pages, runs, shown } = JSON.parse(document.getElementById("run-data").textContent);
  const table = document.getElementById("table-newest-runs");
  const form = document.getElementById("run-filters");
  const status = form.querySelector("[role=status]");
  const [backward, forward] = form.querySelectorAll("button[data-turn]");
  // in a run: its id, numbers of names (task, mechanism, preset, status), then the rest as shown
  const FIRST = 1;
  const ORDER = [0, 1, 2, 3, 5, 4, 6, 7, 8, 9];
  const numbers = runs.map((_, number) => number);
  let chosen = numbers;
  let first = 0;

  const isName = (at) => at >= FIRST && at < FIRST + names.length;
  const text = (run, at) => (isName(at) ? names[at - FIRST][run[at]] : String(run[at]));

  const link = (number) => {
    const code = document.createElement("code");
    code.textContent = runs[number][0];
    if (!(number in pages)) return code;
    const anchor = document.createElement("a");
    anchor.href = pages[number];
    anchor.append(code);
    return anchor;
  };

  const rowOf = (number) => {
    const row = document.createElement("tr");
    ORDER.forEach((at, place) => {
      const cell = document.createElement(place === 0 ? "th" : "td");
      cell.className = table.tHead.rows[0].cells[place].classList[0];
      cell.append(place === 0 ? link(number) : text(runs[number], at));
      row.append(cell);
    });
    return row;
  };

  const show = (start) => {
    first = Math.max(0, Math.min(start, Math.floor((chosen.length - 1) / shown) * shown));
    const part = chosen.slice(first, first + shown);
    table.tBodies[0].replaceChildren(...part.map(rowOf));
    table.closest(".box").scrollTop = 0;
    const count = (number) => number.toLocaleString("en");
    status.textContent = part.length
      ? `${count(first + 1)} to ${count(first + part.length)} of ${count(chosen.length)} runs`
      : "no run fits";
    backward.disabled = first === 0;
    forward.disabled = first + shown >= chosen.length;
  };

  // numbers stand in the texts as they are shown, with commas; what is missing comes last
  const keyOf = (run, at) => {
    if (isName(at) || at === 0) return text(run, at);
    const number = Number.parseFloat(String(run[at]).replaceAll(",", ""));
    return Number.isNaN(number) ? "" : number;
  };

  const sort = (header) => {
    const at = ORDER[header.cellIndex];
    // numbers from the top, words from A, and the other way round at a second click
    const [order, isNumber] = [header.getAttribute("aria-sort"), header.classList.contains("number")];
    const isDown = isNumber ? order !== "descending" : order === "ascending";
    for (const each of table.tHead.rows[0].cells) each.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    const keys = runs.map((run) => keyOf(run, at));
    const sign = isDown ? -1 : 1;
    numbers.sort((a, b) => {
      const [x, y] = [keys[a], keys[b]];
      if (x === "" || y === "") return (x === "") - (y === "");
      return sign * (x < y ? -1 : Number(x > y)) || a - b;
    });
    filter();
  };

  const filter = () => {
    const wanted = Array.from(form.querySelectorAll("select"), (select) => [Number(select.dataset.at), select.value])
      .filter(([, value]) => value !== "");
    const start = form.elements.run.value.trim();
    chosen = numbers.filter((number) => runs[number][0].startsWith(start)
      && wanted.every(([at, value]) => runs[number][at] === Number(value)));
    show(0);
  };

  for (const select of form.querySelectorAll("select")) {
    names[Number(select.dataset.at) - FIRST].forEach((name, number) => select.add(new Option(name, number)));
  }
  // before the listener of other tables, which sorts what is on the screen
  table.tHead.addEventListener("click", (event) => {
    const header = event.target.closest("th");
    if (!header) return;
    event.stopPropagation();
    sort(header);
  }, true);
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  backward.addEventListener("click", () => show(first - shown));
  forward.addEventListener("click", () => show(first + shown));
  form.hidden = false;
  show(0);
}
