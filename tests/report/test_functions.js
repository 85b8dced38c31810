"use strict";
// Run by `node --test` (tests/report/test_script.py): what the report's script computes.
const test = require("node:test");
const assert = require("node:assert/strict");
const page = require("../../src/viewpass/report/functions.js");

test("a query matches texts that have all its words", () => {
  assert.ok(page.matches("", "anything"));
  assert.ok(page.matches("SKY sea", "sea, cloud, sky"));
  assert.ok(!page.matches("sky boat", "sea, cloud, sky"));
  assert.ok(page.matches("(.*", "a (.* b"));
});

test("a number asks for the cluster of this number alone", () => {
  assert.ok(page.asks_for("27", 27, "Italy, 1819"));
  assert.ok(page.asks_for("#27", 27, "Italy"));
  assert.ok(!page.asks_for("1819", 27, "Italy, 1819"));
  assert.ok(page.asks_for("italy", 27, "Italy, 1819"));
  assert.ok(page.asks_for("", 27, "Italy"));
});

test("sorting keeps the order of equal rows and does not change its input", () => {
  const rows = [["b", 1], ["a", 2], ["c", 1]];
  assert.deepEqual(page.sorted(rows, 1, false), [["b", 1], ["c", 1], ["a", 2]]);
  assert.deepEqual(page.sorted(rows, 1, true), [["a", 2], ["b", 1], ["c", 1]]);
  assert.deepEqual(page.sorted(rows, 0, false).map((row) => row[0]), ["a", "b", "c"]);
  assert.deepEqual(rows[0], ["b", 1]);
});

test("zooming leaves the point under the pointer where it is", () => {
  const view = { scale: 1, x: 10, y: 20 };
  const point = [0.3, 0.7];
  const [x, y] = page.placed(point, view, 500);
  const [x2, y2] = page.placed(point, page.zoomed(view, 2, x, y), 500);
  assert.ok(Math.abs(x - x2) < 1e-9 && Math.abs(y - y2) < 1e-9);
  assert.equal(page.zoomed(view, 1e9, 0, 0).scale, 60);
  assert.equal(page.zoomed(view, 1e-9, 0, 0).scale, 0.8);
});

test("the nearest point is found within a distance, and none beyond it", () => {
  const points = [[0, 0], [10, 0], [11, 0]];
  assert.equal(page.nearest(points, 9, 0, 5), 1);
  assert.equal(page.nearest(points, 100, 0, 5), -1);
  assert.equal(page.nearest([], 0, 0, 5), -1);
});

test("of overlapping boxes the first stays", () => {
  const box = (x) => ({ x, y: 0, w: 10, h: 10 });
  assert.deepEqual(page.without_overlap([box(0), box(5), box(20)]), [box(0), box(20)]);
});

test("the extent of points is never empty", () => {
  assert.deepEqual(page.extent([[0.2, 0.5], [0.4, 0.1]]), [[0.2, 0.1], [0.4, 0.5]]);
  const [low, high] = page.extent([[0.5, 0.5]]);
  assert.ok(high[0] > low[0] && high[1] > low[1]);
});

test("numbers and texts", () => {
  assert.equal(page.grouped(1234567), "1,234,567");
  assert.equal(page.grouped(12), "12");
  assert.equal(page.shortened("abcdef", 4), "abc…");
  assert.equal(page.shortened("abc", 4), "abc");
});
