"use strict";
/* What the page computes: texts, orders and places, without a document. Tested by node (tests/report). */

/** Whether all words of a query occur in a text; both are compared in lower case. */
function matches(query, text) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const whole = text.toLowerCase();
  return words.every((word) => whole.includes(word));
}

/** Whether a query asks for a cluster: a number for the cluster of this number, words for its text. */
function asks_for(query, number, text) {
  const asked = query.trim().match(/^#?(\d+)$/);
  return asked ? Number(asked[1]) === Number(number) : matches(query, text);
}

/** A copy of rows sorted by a column; texts by the alphabet, numbers by size; equal ones keep their order. */
function sorted(rows, column, down) {
  const sign = down ? -1 : 1;
  const order = (x, y) => (typeof x === "string" ? x.localeCompare(y) : x - y);
  return [...rows].sort((a, b) => sign * order(a[column], b[column]));
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
  module.exports = { matches, asks_for, sorted, zoomed, placed, extent, nearest, without_overlap, grouped, shortened };
}
