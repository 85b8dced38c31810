/* The page: theme, tables that sort, and the cards, which filter and sort. functions.js and map.js come before. */

const DARK = "(prefers-color-scheme: dark)";
const THEME = "viewpass-theme";
const MOST_ROWS = 200; // of the table of further clusters

function by_id(id) {
  return document.getElementById(id);
}

function is_dark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia(DARK).matches;
}

/** Follows the theme's button; `changed` is called when it is another. */
function follow_theme(changed) {
  const storage = (use) => {
    try {
      return use(localStorage);
    } catch {
      return null; // no storage in a sandbox: the theme then lasts as long as the page
    }
  };
  const given = storage((kept) => kept.getItem(THEME));
  if (given === "light" || given === "dark") {
    document.documentElement.dataset.theme = given;
  }
  by_id("theme").addEventListener("click", () => {
    const theme = is_dark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    changed();
    storage((kept) => kept.setItem(THEME, theme));
  });
  matchMedia(DARK).addEventListener("change", () => changed());
}

/** Lets the heads of a table sort it: `sort` is given the head's place and whether the largest come first. */
function follow_heads(table, sort) {
  table.querySelectorAll("th button").forEach((button) => {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const now = head.getAttribute("aria-sort");
      const down = now === "none" ? button.dataset.order !== "up" : now === "ascending";
      table.querySelectorAll("th[aria-sort]").forEach((each) => each.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(head.cellIndex, down);
    });
  });
}

function sort_table(table, column, down) {
  const rows = [...table.tBodies[0].rows].map((row) => {
    const { dataset, textContent } = row.cells[column];
    return [dataset.value === undefined ? textContent.trim() : Number(dataset.value), row];
  });
  table.tBodies[0].append(...sorted(rows, 0, down).map(([, row]) => row));
}

function table_row(id, texts) {
  const row = document.createElement("tr");
  row.id = id;
  texts.forEach((text) => {
    const cell = row.insertCell();
    cell.dir = "auto";
    cell.textContent = text;
  });
  return row;
}

/** The cards and the table of further clusters: filter, order, and links between them and the map. */
function list_clusters({ clusters, rest }, map) {
  const holder = by_id("cards");
  const filter = by_id("filter");
  const table = by_id("rest");
  const names = new Map(clusters.map((cluster) => [cluster[0], cluster[1]]));
  const entries = [...holder.children].map((card) => ({
    card,
    number: Number(card.dataset.cluster),
    text: card.textContent,
    rows: Number(card.dataset.rows),
    sure: Number(card.dataset.sure),
    name: names.get(Number(card.dataset.cluster)) || "",
  }));
  let order = [2, true];

  function arrange() {
    const key = by_id("sort").value;
    const column = key.replace("-", "");
    const shown = sorted(entries, column, !["name", "number"].includes(column) && !key.startsWith("-"));
    shown.forEach((entry) => {
      entry.card.hidden = !asks_for(filter.value, entry.number, entry.text);
    });
    holder.append(...shown.map((entry) => entry.card));
    const left = shown.filter((entry) => !entry.card.hidden).length;
    by_id("filter-status").textContent = filter.value.trim() ? `${left} of ${entries.length} shown` : "";
    if (table) {
      list_rest();
    }
  }

  function list_rest() {
    const all = clusters.slice(rest).filter((cluster) => asks_for(filter.value, cluster[0], cluster[1]));
    const some = sorted(all, ...order).slice(0, MOST_ROWS);
    table.tBodies[0].replaceChildren(...some.map(([k, name, rows, sure]) =>
      table_row(`cluster-${k}`, [k, name, grouped(rows), sure < 0 ? "–" : sure.toFixed(2)])));
    const few = `${grouped(some.length)} of ${grouped(all.length)} shown: filter to see others.`;
    by_id("rest-status").textContent = all.length > some.length ? few : "";
  }

  if (table) {
    follow_heads(table, (...chosen) => {
      order = chosen;
      list_rest();
    });
  }
  filter.addEventListener("input", arrange);
  by_id("sort").addEventListener("change", arrange);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-go]");
    if (!link) {
      return;
    }
    const k = Number(link.dataset.go);
    const card = by_id(`cluster-${k}`);
    if (!card || card.hidden) {
      filter.value = card ? "" : String(k);
      arrange();
    }
    map.pick(k);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      filter.focus();
    }
  });
  arrange();
}

document.querySelectorAll("table.sortable").forEach((table) => {
  follow_heads(table, (column, down) => sort_table(table, column, down));
});
const drawn = by_id("data"); // absent on the page of two runs
let map = null;
follow_theme(() => map?.draw());
if (drawn) {
  const data = JSON.parse(drawn.textContent);
  map = draw_map(data);
  list_clusters(data, map);
}
