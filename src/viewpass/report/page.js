"use strict";
/* The report's own script: theme, map, filter and sort. Pure functions come first, and are tested by node. */

const NEAR = 14; // pixels within which a point is meant by the pointer

/** Whether all words of a query occur in a text; both are compared in lower case. */
function matches(query, text) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const whole = text.toLowerCase();
  return words.every((word) => whole.includes(word));
}

/** A copy of rows sorted by a column; texts by the alphabet, numbers by size; equal ones keep their order. */
function sorted(rows, column, down) {
  const sign = down ? -1 : 1;
  return rows
    .map((row, place) => [row, place])
    .sort(([a, i], [b, j]) => {
      const x = a[column];
      const y = b[column];
      const order = typeof x === "string" ? x.localeCompare(y) : x - y;
      return sign * order || i - j;
    })
    .map(([row]) => row);
}

/** The view {scale, x, y} of a map after zooming by a factor about a point of the screen. */
function zoomed(view, factor, x, y) {
  const scale = Math.min(60, Math.max(0.8, view.scale * factor));
  const real = scale / view.scale;
  return { scale, x: x - (x - view.x) * real, y: y - (y - view.y) * real };
}

/** The place on the screen of a point (0 to 1) on a map of a size. */
function placed(point, view, size) {
  return [view.x + point[0] * size * view.scale, view.y + point[1] * size * view.scale];
}

/** The lowest and the highest coordinates of points; never the same. */
function extent(points) {
  const low = [0, 1].map((axis) => points.reduce((least, point) => Math.min(least, point[axis]), 1));
  const high = [0, 1].map((axis) => points.reduce((most, point) => Math.max(most, point[axis]), low[axis] + 1e-3));
  return [low, high];
}

/** The number of the point nearest to (x, y), or -1 if none is within a distance. */
function nearest(points, x, y, within) {
  let best = -1;
  let least = within * within;
  points.forEach((point, i) => {
    const apart = (point[0] - x) ** 2 + (point[1] - y) ** 2;
    if (apart <= least) {
      best = i;
      least = apart;
    }
  });
  return best;
}

/** Of boxes in order of importance, those that overlap no box chosen before. */
function without_overlap(boxes) {
  const chosen = [];
  boxes.forEach((box) => {
    const free = chosen.every((o) => box.x > o.x + o.w || o.x > box.x + box.w || box.y > o.y + o.h || o.y > box.y + box.h);
    if (free) {
      chosen.push(box);
    }
  });
  return chosen;
}

/** A number with separators. */
function grouped(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A text of at most so many characters. */
function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text;
}

if (typeof module !== "undefined") {
  module.exports = { matches, sorted, zoomed, placed, extent, nearest, without_overlap, grouped, shortened };
}

if (typeof document !== "undefined") {
  (function start() {
    const by_id = (id) => document.getElementById(id);
    const root = document.documentElement;

    function stored(theme) {
      try {
        if (theme) {
          localStorage.setItem("viewpass-theme", theme);
        }
        return localStorage.getItem("viewpass-theme");
      } catch {
        return null; // no storage in a sandbox: the theme then lasts as long as the page
      }
    }

    const listeners = [];
    function set_theme(theme) {
      root.dataset.theme = theme;
      listeners.forEach((listener) => listener());
    }
    const given = stored();
    if (given === "light" || given === "dark") {
      root.dataset.theme = given;
    }
    by_id("theme").addEventListener("click", () => {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      const theme = dark ? "light" : "dark";
      set_theme(theme);
      stored(theme);
    });

    document.querySelectorAll("table.sortable").forEach((table) => {
      table.querySelectorAll("th button").forEach((button) => {
        button.addEventListener("click", () => {
          const head = button.closest("th");
          const column = head.cellIndex;
          const down = head.getAttribute("aria-sort") !== "descending";
          const rows = [...table.tBodies[0].rows].map((row) => {
            const cell = row.cells[column];
            return [cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value), row];
          });
          table.querySelectorAll("th[aria-sort]").forEach((each) => each.setAttribute("aria-sort", "none"));
          head.setAttribute("aria-sort", down ? "descending" : "ascending");
          table.tBodies[0].append(...sorted(rows, 0, down).map(([, row]) => row));
        });
      });
    });

    const holder = by_id("data");
    if (!holder) {
      return;
    }
    const data = JSON.parse(holder.textContent);
    const map = draw_map(data);
    listeners.push(map.draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", map.draw);
    list_clusters(data, map);

    function draw_map({ points, clusters, of_rows }) {
      const canvas = by_id("canvas");
      const pen = canvas.getContext("2d");
      const tip = by_id("tip");
      const status = by_id("map-status");
      const spots = points.xy.map(([x, y]) => [x / 9999, y / 9999]);
      const of_cluster = new Map(clusters.map((cluster) => [cluster[0], cluster]));
      let view = { scale: 1, x: 0, y: 0 };
      let size = 1;
      let width = 1;
      let height = 1;
      let picked = null;
      let hovered = -1;
      let query = "";
      let found = null;

      function fit() {
        const margin = 24;
        const [low, high] = extent(spots);
        const scale = Math.min((width - 2 * margin) / (high[0] - low[0]), (height - 2 * margin) / (high[1] - low[1]));
        size = scale;
        view = { scale: 1, x: width / 2 - ((low[0] + high[0]) / 2) * scale, y: height / 2 - ((low[1] + high[1]) / 2) * scale };
      }

      function resize() {
        const box = canvas.getBoundingClientRect();
        const ratio = window.devicePixelRatio || 1;
        width = box.width;
        height = box.height;
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
        pen.setTransform(ratio, 0, 0, ratio, 0, 0);
        fit();
        draw();
      }

      function shade(sure) {
        return sure < 0 ? "#999" : `hsl(${200 + (100 - sure) * 1.6} 60% ${root_is_dark() ? 75 - sure * 0.25 : 30 + (100 - sure) * 0.3}%)`;
      }
      function root_is_dark() {
        return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      }

      function draw() {
        const style = getComputedStyle(root);
        const palette = Array.from({ length: 10 }, (_, i) => style.getPropertyValue(`--c${i}`).trim());
        const by_sure = by_id("map-colour").value === "sure";
        pen.clearRect(0, 0, width, height);
        const base = Math.max(1.8, Math.min(4.5, 2.4 * Math.sqrt(view.scale)));
        const order = spots.map((_, i) => i);
        const strong = (i) => (picked === null || points.cluster[i] === picked) && (!found || found.has(i));
        [false, true].forEach((now) => {
          order.forEach((i) => {
            if (strong(i) !== now) {
              return;
            }
            const [x, y] = placed(spots[i], view, size);
            if (x < -9 || y < -9 || x > width + 9 || y > height + 9) {
              return;
            }
            const cluster = of_cluster.get(points.cluster[i]);
            pen.globalAlpha = now ? 0.85 : 0.1;
            pen.fillStyle = by_sure ? shade(points.sure[i]) : cluster ? palette[cluster[6]] : "#888";
            pen.beginPath();
            pen.arc(x, y, base * points.size[i] * (found && now ? 1.4 : 1), 0, 7);
            pen.fill();
          });
        });
        pen.globalAlpha = 1;
        if (hovered >= 0) {
          const [x, y] = placed(spots[hovered], view, size);
          pen.strokeStyle = style.getPropertyValue("--ink");
          pen.lineWidth = 2;
          pen.beginPath();
          pen.arc(x, y, base * points.size[hovered] + 3, 0, 7);
          pen.stroke();
        }
        draw_names(style);
      }

      function draw_names(style) {
        const narrow = width < 560;
        pen.font = `600 ${narrow ? 11.5 : 13}px system-ui, sans-serif`;
        pen.textBaseline = "middle";
        const most = narrow ? 16 : 26;
        const boxes = clusters.slice(0, 400).map((cluster) => {
          const [x, y] = placed([cluster[4] / 9999, cluster[5] / 9999], view, size);
          const text = shortened(cluster[1], most);
          const w = pen.measureText(text).width;
          return { x: Math.min(Math.max(x - w / 2, 4), Math.max(width - w - 4, 4)), y: y - 9, w, h: 18, text, k: cluster[0], inside: x > 0 && y > 0 && x < width && y < height };
        });
        const wanted = boxes.filter((box) => box.inside && (picked === null || box.k === picked));
        without_overlap(wanted).forEach((box) => {
          pen.lineWidth = 4;
          pen.lineJoin = "round";
          pen.strokeStyle = style.getPropertyValue("--panel");
          pen.fillStyle = style.getPropertyValue("--ink");
          pen.strokeText(box.text, box.x, box.y + 9);
          pen.fillText(box.text, box.x, box.y + 9);
        });
      }

      function show_tip(i) {
        hovered = i;
        tip.hidden = i < 0;
        if (i >= 0) {
          const cluster = of_cluster.get(points.cluster[i]);
          const [x, y] = placed(spots[i], view, size);
          const name = document.createElement("b");
          name.dir = "auto";
          name.textContent = cluster ? cluster[1] : "no cluster";
          const text = document.createElement("span");
          text.dir = "auto";
          const sure = points.sure[i] < 0 ? "" : ` (confidence ${(points.sure[i] / 100).toFixed(2)})`;
          text.textContent = of_rows ? (points.text[i] || `row ${grouped(points.row[i])}`) + sure : cluster ? `${grouped(cluster[2])} rows` : "";
          tip.replaceChildren(name, text);
          const left = x + 14 + tip.offsetWidth > width ? x - 14 - tip.offsetWidth : x + 14;
          tip.style.left = `${Math.max(4, left)}px`;
          tip.style.top = `${Math.max(4, Math.min(y + 10, height - tip.offsetHeight - 6))}px`;
        }
        draw();
      }

      function say() {
        const cluster = picked === null ? null : of_cluster.get(picked);
        const parts = [];
        if (cluster) {
          parts.push(`${cluster[1]}: ${grouped(cluster[2])} rows`);
        }
        if (found) {
          parts.push(`${grouped(found.size)} found`);
        }
        status.textContent = parts.join(", ");
      }

      function pick(k) {
        picked = k;
        document.querySelectorAll(".card.picked").forEach((card) => card.classList.remove("picked"));
        const card = k === null ? null : by_id(`cluster-${k}`);
        if (card) {
          card.classList.add("picked");
        }
        say();
        draw();
      }

      function search(text) {
        query = text.trim();
        found = null;
        if (query) {
          found = new Set();
          points.cluster.forEach((k, i) => {
            const cluster = of_cluster.get(k);
            if (matches(query, `${cluster ? cluster[1] : ""} ${points.text[i] || ""}`)) {
              found.add(i);
            }
          });
        }
        say();
        draw();
      }

      function zoom(factor, x = width / 2, y = height / 2) {
        view = zoomed(view, factor, x, y);
        show_tip(-1);
      }

      function follow() {
        const pointers = new Map();
        let moved = 0;
        let spread = 0;
        const place = (event) => {
          const box = canvas.getBoundingClientRect();
          return [event.clientX - box.left, event.clientY - box.top];
        };
        canvas.addEventListener("pointerdown", (event) => {
          pointers.set(event.pointerId, place(event));
          moved = 0;
          if (event.pointerType !== "touch") {
            canvas.setPointerCapture(event.pointerId);
          }
        });
        canvas.addEventListener("pointermove", (event) => {
          const now = place(event);
          const before = pointers.get(event.pointerId);
          if (!before) {
            const screen = spots.map((spot) => placed(spot, view, size));
            show_tip(nearest(screen, now[0], now[1], NEAR));
            return;
          }
          pointers.set(event.pointerId, now);
          if (pointers.size === 2) {
            const [a, b] = [...pointers.values()];
            const wide = Math.hypot(a[0] - b[0], a[1] - b[1]);
            if (spread) {
              zoom(wide / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
            }
            spread = wide;
            return;
          }
          moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
          if (moved > 3) {
            view = { ...view, x: view.x + now[0] - before[0], y: view.y + now[1] - before[1] };
            show_tip(-1);
          }
        });
        const end = (event) => {
          if (pointers.delete(event.pointerId) && moved <= 3 && event.type === "pointerup") {
            const [x, y] = place(event);
            const i = nearest(spots.map((spot) => placed(spot, view, size)), x, y, NEAR);
            show_tip(i);
            pick(i < 0 || points.cluster[i] === picked ? null : points.cluster[i]);
          }
          spread = 0;
        };
        canvas.addEventListener("pointerup", end);
        canvas.addEventListener("pointercancel", end);
        canvas.addEventListener("pointerleave", () => pointers.size || show_tip(-1));
        canvas.addEventListener("wheel", (event) => {
          if (event.ctrlKey || event.metaKey || document.activeElement === canvas) {
            event.preventDefault();
            zoom(Math.exp(-event.deltaY * 0.0016), ...place(event));
          }
        }, { passive: false });
      }

      function go(step) {
        const order = clusters.map((cluster) => cluster[0]);
        const at = picked === null ? (step > 0 ? -1 : 0) : order.indexOf(picked);
        pick(order[(at + step + order.length) % order.length]);
      }

      const keys = {
        ArrowLeft: () => (view.x += 60), ArrowRight: () => (view.x -= 60), ArrowUp: () => (view.y += 60), ArrowDown: () => (view.y -= 60),
        "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: fit, n: () => go(1), p: () => go(-1), Escape: () => pick(null),
      };
      canvas.addEventListener("keydown", (event) => {
        if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
          event.preventDefault();
          keys[event.key]();
          draw();
        }
      });
      by_id("zoom-in").addEventListener("click", () => zoom(1.5));
      by_id("zoom-out").addEventListener("click", () => zoom(1 / 1.5));
      by_id("zoom-all").addEventListener("click", () => { fit(); pick(null); });
      by_id("map-search").addEventListener("input", (event) => search(event.target.value));
      by_id("map-colour").addEventListener("change", draw);
      window.addEventListener("resize", resize);
      follow();
      resize();
      return { draw, pick };
    }

    function list_clusters({ clusters, rest }, map) {
      const cards = [...by_id("cards").children];
      const holder = by_id("cards");
      const filter = by_id("filter");
      const status = by_id("filter-status");
      const table = by_id("rest");
      const names = new Map(clusters.map((cluster) => [cluster[0], cluster[1]]));
      const entries = cards.map((card) => ({
        card,
        text: `${card.dataset.cluster} ${card.textContent}`,
        rows: Number(card.dataset.rows),
        sure: Number(card.dataset.sure),
        name: names.get(Number(card.dataset.cluster)) || "",
      }));
      let order = { column: 2, down: true };

      function arrange() {
        const key = by_id("sort").value;
        const column = key.replace("-", "");
        const shown = sorted(entries, column, column === "name" ? false : !key.startsWith("-"));
        shown.forEach((entry) => {
          entry.card.hidden = !matches(filter.value, entry.text);
        });
        holder.append(...shown.map((entry) => entry.card));
        const left = shown.filter((entry) => !entry.card.hidden).length;
        status.textContent = filter.value.trim() ? `${left} of ${cards.length} shown` : "";
        list_rest();
      }

      function list_rest() {
        if (!table) {
          return;
        }
        const all = clusters.slice(rest).filter((cluster) => matches(filter.value, `${cluster[0]} ${cluster[1]}`));
        const some = sorted(all, order.column, order.down).slice(0, 200);
        table.tBodies[0].replaceChildren(...some.map((cluster) => {
          const row = document.createElement("tr");
          row.id = `cluster-${cluster[0]}`;
          const sure = cluster[3] < 0 ? "–" : cluster[3].toFixed(2);
          [cluster[0], cluster[1], grouped(cluster[2]), sure].forEach((text) => {
            const cell = document.createElement("td");
            cell.dir = "auto";
            cell.textContent = text;
            row.append(cell);
          });
          return row;
        }));
        by_id("rest-status").textContent = all.length > some.length ? `${grouped(some.length)} of ${grouped(all.length)} shown: filter to see others.` : "";
      }

      if (table) {
        table.querySelectorAll("th button").forEach((button) => {
          button.addEventListener("click", () => {
            const column = Number(button.dataset.column);
            const down = order.column === column ? !order.down : column > 1;
            order = { column, down };
            table.querySelectorAll("th").forEach((head) => head.setAttribute("aria-sort", "none"));
            button.closest("th").setAttribute("aria-sort", down ? "descending" : "ascending");
            list_rest();
          });
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
        if (card && card.hidden) {
          filter.value = "";
          arrange();
        } else if (!card) {
          filter.value = String(k);
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
  })();
}
