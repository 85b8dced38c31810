/* The map: rows (or centres) on a canvas, with names, hover, search and zoom; by pointer and by keys. */

const NEAR = 14; // pixels within which a point is meant by the pointer
const MARGIN = 24; // pixels around the points
const LOWEST = 260; // pixels

/** Draws the map and follows what is done to it; gives what others call. */
function draw_map({ points, clusters, of_rows }) {
  const canvas = by_id("canvas");
  const pen = canvas.getContext("2d");
  const tip = by_id("tip");
  const status = by_id("map-status");
  const spots = points.xy.map(([x, y]) => [x / 9999, y / 9999]);
  const [low, high] = extent(spots);
  const of_cluster = new Map(clusters.map((cluster) => [cluster[0], cluster]));
  const name_of = (k) => (of_cluster.has(k) ? of_cluster.get(k)[1] : "no cluster");
  let view = { scale: 1, x: 0, y: 0 };
  let size = 1;
  let width = 1;
  let height = 1;
  let picked = null;
  let hovered = -1;
  let found = null;

  function fit() {
    size = Math.min((width - 2 * MARGIN) / (high[0] - low[0]), (height - 2 * MARGIN) / (high[1] - low[1]));
    view = { scale: 1, x: (width - (low[0] + high[0]) * size) / 2, y: (height - (low[1] + high[1]) * size) / 2 };
  }

  function resize() {
    const ratio = window.devicePixelRatio || 1;
    width = canvas.clientWidth;
    const needed = (width - 2 * MARGIN) * (high[1] - low[1]) / (high[0] - low[0]) + 2 * MARGIN;
    canvas.style.maxHeight = `${Math.max(LOWEST, Math.round(needed))}px`; // no room is left empty on a narrow screen
    height = canvas.clientHeight;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    fit();
    draw();
  }

  function shade(sure) {
    const light = is_dark() ? 75 - sure * 0.25 : 30 + (100 - sure) * 0.3;
    return sure < 0 ? "#999" : `hsl(${200 + (100 - sure) * 1.6} 60% ${light}%)`;
  }

  function draw() {
    const style = getComputedStyle(document.documentElement);
    const palette = Array.from({ length: 10 }, (_, i) => style.getPropertyValue(`--c${i}`).trim());
    const by_sure = by_id("map-colour").value === "sure";
    pen.clearRect(0, 0, width, height);
    const base = Math.max(1.8, Math.min(4.5, 2.4 * Math.sqrt(view.scale)));
    const strong = (i) => (picked === null || points.cluster[i] === picked) && (!found || found.has(i));
    [false, true].forEach((now) => {
      spots.forEach((spot, i) => {
        const [x, y] = placed(spot, view, size);
        if (strong(i) !== now || x < -9 || y < -9 || x > width + 9 || y > height + 9) {
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
      name.textContent = name_of(points.cluster[i]);
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
    card?.classList.add("picked");
    say();
    draw();
  }

  function search(text) {
    const fits = (i) => matches(text, `${name_of(points.cluster[i])} ${points.text[i] || ""}`);
    found = text.trim() ? new Set([...spots.keys()].filter(fits)) : null;
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
    const point_at = ([x, y]) => nearest(spots.map((spot) => placed(spot, view, size)), x, y, NEAR);
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
        show_tip(point_at(now));
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
        const i = point_at(place(event));
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
