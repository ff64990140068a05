// Sorting and filtering of tables, drawing of charts. Without it every number is still on the page.
"use strict";

const valueOf = (row, index) => {
  const cell = row.cells[index];
  const text = cell.dataset.sort ?? cell.textContent.trim();
  const number = Number(text);
  return text === "" || Number.isNaN(number) ? text : number;
};

// what is missing comes last in either direction
const compare = (a, b, sign) => {
  if (a === "" || b === "") return (a === "") - (b === "");
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b));
};

const sortBy = (header) => {
  const table = header.closest("table");
  const index = header.cellIndex;
  // the best is wanted first: numbers from the top unless less is better, words from A
  const first = header.dataset.first ?? (header.classList.contains("number") ? "descending" : "ascending");
  const other = first === "ascending" ? "descending" : "ascending";
  const order = header.getAttribute("aria-sort") === first ? other : first;
  for (const each of table.tHead.rows[0].cells) each.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", order);

  const body = table.tBodies[0];
  const sign = order === "ascending" ? 1 : -1;
  const rows = Array.from(body.rows, (row) => [valueOf(row, index), row]);
  rows.sort((a, b) => compare(a[0], b[0], sign));
  body.append(...rows.map(([, row]) => row));
};

for (const button of document.querySelectorAll("th > button")) {
  button.addEventListener("click", () => sortBy(button.parentElement));
}

// a column of a board is a task: hide the others with all their cells
const chooseTask = (table, task) => {
  for (const header of table.querySelectorAll("thead th[data-task]")) {
    const isHidden = Boolean(task) && header.dataset.task !== task;
    for (const row of table.rows) row.cells[header.cellIndex].hidden = isHidden;
  }
  for (const average of table.querySelectorAll("thead .average")) {
    for (const row of table.rows) row.cells[average.cellIndex].hidden = Boolean(task);
  }
  return !task || table.querySelector(`thead th[data-task="${CSS.escape(task)}"]`) !== null;
};

const fits = (element, choice) =>
  Object.entries(choice).every(([name, value]) => !value || (element.dataset[name] ?? value) === value);

// a line that has nothing under the chosen task says nothing
const isBlank = (row) => !Array.from(row.cells).some((cell) => !cell.hidden && cell.dataset.sort !== "" && cell.tagName === "TD");

// a page that loads itself again, as under `report --watch`, keeps what was chosen
const KEPT = `filters of ${location.pathname}`;

const recall = (form) => {
  const choice = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
  for (const select of form.querySelectorAll("select")) {
    const value = choice[select.dataset.filter];
    if (Array.from(select.options, (option) => option.value).includes(value)) select.value = value;
  }
};

// where nothing is left of the suite that is open, another one may have what was chosen
const showSomething = () => {
  const left = [...document.querySelectorAll(".board:not([hidden])")];
  if (left.length && !left.some((board) => !board.closest("[hidden]"))) openSuiteOf(left[0]);
};

const filter = (form) => {
  const choice = {};
  for (const select of form.querySelectorAll("select")) choice[select.dataset.filter] = select.value;
  sessionStorage.setItem(KEPT, JSON.stringify(choice));
  for (const row of document.querySelectorAll("#table-runs tbody tr, #table-failures tbody tr")) row.hidden = !fits(row, choice);
  for (const board of document.querySelectorAll(".board, .race")) {
    let num = 0;
    for (const table of board.querySelectorAll("table")) {
      const has = chooseTask(table, choice.task);
      for (const row of table.tBodies[0].rows) {
        row.hidden = !has || !fits(row, choice) || (Boolean(choice.task) && isBlank(row));
        num += !row.hidden;
      }
    }
    board.hidden = num === 0 || !fits(board, { preset: choice.preset });
  }
  showSomething();
  const rows = [...document.querySelectorAll("#table-runs tbody tr")];
  const shown = rows.filter((row) => !row.hidden).length;
  form.querySelector("[role=status]").textContent =
    shown === rows.length ? "" : `${shown} of ${rows.length} runs`;
};

const form = document.querySelector("form.filters");
if (form) {
  form.hidden = false;
  form.addEventListener("change", () => filter(form));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => filter(form)));
  recall(form);
  filter(form);
}

const drawCharts = async () => {
  const specifications = JSON.parse(document.getElementById("specifications").textContent);
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const options = { renderer: "svg", actions: false };
    await vegaEmbed(figure.querySelector(".plot"), specifications[figure.dataset.chart], options);
  }
};

// the tables are there first; a reader need not wait for the charts
if (document.getElementById("specifications")) addEventListener("load", () => setTimeout(drawCharts));
