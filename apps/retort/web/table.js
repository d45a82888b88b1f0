// Tables of all pages: columns without any text are left out, and a table that is wider than its place becomes cards.

/** Sorts the rows by the value of a column; again: the other way. */
function sortBy(table, column) {
  const heads = table.tHead.rows[0].cells,
    falling = heads[column].getAttribute("aria-sort") === "ascending";
  for (const cell of heads) cell.removeAttribute("aria-sort");
  heads[column].setAttribute("aria-sort", falling ? "descending" : "ascending");
  const value = (row) => row.cells[column].dataset.value;
  const compare = (a, b) =>
    isNaN(value(a)) || isNaN(value(b)) ? value(a).localeCompare(value(b)) : value(a) - value(b);
  const rows = [...table.tBodies[0].rows];
  table.tBodies[0].append(...rows.sort((a, b) => (falling ? compare(b, a) : compare(a, b))));
}

/** A long name that may break after the marks in it, as a path does. */
function breakable(text) {
  const parts = text.length > 24 ? text.split(/(?<=[/_.+-])/) : [text];
  return parts.flatMap((part, i) => (i ? [html("wbr"), part] : [part]));
}

/** A cell: its text, and an element instead where the column makes one. */
function cellOf(column, row, text) {
  const sort = column.value ? column.value(row) : text,
    look = column.look ? column.look(row) : "";
  return html(
    "td",
    {
      "data-title": column.title,
      "data-value": sort === undefined || sort === null ? "-1" : `${sort}`,
      class: [column.words ? "words" : "", look].join(" ").trim(),
    },
    ...(column.show ? [column.show(row)] : column.words ? breakable(text) : [text]),
  );
}

const LONG = 16; // titles with more letters take a line of their own in a card
const CARDS = 12; // of more, the rest is shown on request

/** The wide form where it fits. In cards, each row is a box with the columns' titles beside its figures. */
function fit(place) {
  const table = place.firstChild;
  table.classList.remove("cards");
  table.classList.toggle("cards", table.offsetWidth > place.clientWidth);
}

/**
 * columns: {title, text(row)}, and optionally value(row) to sort by, look(row): a class, show(row): an element instead
 * of the text, words: whether it is text that may wrap, better: what is better in that column ("lower"), says: the
 * meaning of the title.
 */
function tableOf(columns, rows) {
  const texts = columns.map((column) => rows.map((row) => `${column.text(row) ?? ""}`));
  const shown = columns
    .map((column, i) => ({column, texts: texts[i]}))
    .filter((c) => c.texts.some((text) => text !== ""));
  const heads = shown.map(({column}, i) => {
    const button = html(
      "button",
      {type: "button", title: [column.says, column.better && `${column.better} is better`].filter(Boolean).join("; ")},
      column.title,
      ...(column.better ? [html("small", {}, `${column.better} is better`)] : []),
    );
    button.addEventListener("click", () => sortBy(button.closest("table"), i));
    return html("th", {scope: "col", class: column.words ? "words" : ""}, button);
  });
  const body = rows.map((row, r) => html("tr", {}, ...shown.map(({column, texts: t}) => cellOf(column, row, t[r]))));
  const long = shown.some(({column}) => column.title.length > LONG);
  const kinds = {folded: rows.length > CARDS, single: rows.length === 1, long};
  const kind = Object.keys(kinds).filter((name) => kinds[name]);
  const all = html("button", {type: "button", class: "all"}, `all ${rows.length} rows`),
    table = html("table", {class: kind.join(" ")});
  table.append(html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...body));
  all.addEventListener("click", () => table.classList.remove("folded"));
  const place = html("div", {class: "table"}, table, ...(rows.length > CARDS ? [all] : []));
  drawToWidth(place, () => fit(place));
  return place;
}
