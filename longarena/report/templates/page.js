// Sorting of tables and drawing of charts. Without it every number is still on the page.
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
  // numbers are first wanted from the top, words from A
  const first = header.classList.contains("number") ? "descending" : "ascending";
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

const drawCharts = async () => {
  const specifications = JSON.parse(document.getElementById("specifications").textContent);
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const options = { renderer: "svg", actions: false };
    await vegaEmbed(figure.querySelector(".plot"), specifications[figure.dataset.chart], options);
  }
};

if (document.getElementById("specifications")) drawCharts();
