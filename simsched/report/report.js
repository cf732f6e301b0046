"use strict";
// Tables of a report sort by the column whose head is pressed and show the rows with all the words.
// Without scripts they are as they were written.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], rows = [...body.rows];
  if (rows.length < 2) continue;

  const filter = document.createElement("input"), count = document.createElement("output");
  filter.type = "search";
  filter.placeholder = "Filter rows";
  filter.setAttribute("aria-label", "Filter rows: all words have to be in a row");
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = shown < rows.length ? `${shown} of ${rows.length} rows` : "";
  });
  const line = document.createElement("p");
  line.className = "filter";
  line.append(filter, " ", count);
  table.parentElement.before(line);

  // A number begins the text of its cell; an interval and its unit may follow.
  const number = (text) => (/^-?inf/.test(text) ? Number(text.replace("inf", "Infinity"))
    : parseFloat(text.replaceAll(",", "")));
  const compare = (first, second) => {
    const [a, b] = [number(first), number(second)];
    if (!Number.isNaN(a) && !Number.isNaN(b)) return a < b ? -1 : Number(a > b);
    return first.localeCompare(second, undefined, { numeric: true });
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const order = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order > 0 ? "ascending" : "descending");
      const texts = new Map(rows.map((row) => [row, row.cells[column].textContent.trim()]));
      const missing = (row) => Number(["", "-"].includes(texts.get(row)));
      body.append(...[...rows].sort((a, b) =>
        missing(a) - missing(b) || order * compare(texts.get(a), texts.get(b))));
    });
  });
}
