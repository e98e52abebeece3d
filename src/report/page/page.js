
"use strict";
// Shows the rows of the table that are in view, sorts, filters and unfolds them. All text is set as text, never as markup.
(() => {
  const section = document.getElementById("table");
  if (!section) return;
  const data = JSON.parse(document.getElementById("rows").textContent);
  const { rows, columns, what } = data;
  const NAME = columns.findIndex((c) => c.kind === "name");
  const NOTE = columns.findIndex((c) => c.kind === "note");
  const shown = columns.map((c, i) => i).filter((i) => i !== NOTE);
  const isNumber = (i) => ["number", "bytes", "share"].includes(columns[i].kind);

  // Numbers as people read them; none breaks across lines.
  const group = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u00a0");
  const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  const bytes = (n) => {
    if (n < 1024) return n + "\u00a0B";
    let unit = -1;
    do { n /= 1024; unit++; } while (n >= 1023.95 && unit < 5);
    return n.toFixed(1) + "\u00a0" + UNITS[unit];
  };
  const number = (n) => (n < 0 ? "\u2212" : "") + group(Math.abs(Math.round(n)));
  const text = (value, kind) =>
    value === null ? ""
    : kind === "bytes" ? bytes(value)
    : kind === "share" ? (value * 100).toFixed(1).replace("-", "\u2212") + "%"
    : typeof value === "number" ? number(value)
    : value;

  const make = (name, className, content) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (content !== undefined) element.textContent = content;
    return element;
  };

  // What unfolds is parsed row by row, when it is asked for.
  let lines = null;
  const lineOf = (row) => (lines ??= document.getElementById("details").textContent.split("\n"))[row + 1];
  const hasDetail = (row) => lineOf(row) !== "";
  const unfolded = new Set();

  // Sort keys: numbers as they are, words by their rank.
  const keys = new Map();
  const keyOf = (column) => {
    if (keys.has(column)) return keys.get(column);
    const key = new Float64Array(rows.length);
    if (isNumber(column)) {
      for (let i = 0; i < rows.length; i++) key[i] = rows[i][column] ?? NaN;
    } else {
      const rank = new Map([...new Set(rows.map((r) => r[column]))].sort().map((word, n) => [word, n]));
      for (let i = 0; i < rows.length; i++) key[i] = rows[i][column] === "" ? NaN : rank.get(rows[i][column]);
    }
    keys.set(column, key);
    return key;
  };
  let sorted = Int32Array.from(rows, (_, i) => i);
  const sort = (column, direction) => {
    const key = keyOf(column);
    // What has no value comes last; equal ones stay in the report's order.
    sorted = Int32Array.from(rows, (_, i) => i).sort((a, b) => {
      const x = key[a], y = key[b];
      if (x === y) return a - b;
      if (x !== x || y !== y) return x !== x ? (y !== y ? a - b : 1) : -1;
      return (x - y) * direction;
    });
  };

  let haystack = null, figures = null;
  let words = [];
  const matches = (row) => words.every((word) => haystack[row].includes(word) || (figures && figures[row].includes(word)));
  // A figure is found as it is shown, and as digits alone.
  const figuresOf = (row) => row.map((v, i) => typeof v === "number" ? v + "\n" + text(v, columns[i].kind) : "").join("\n").toLowerCase();
  let order = sorted;
  const select = () => {
    if (words.length) {
      haystack ??= rows.map((r) => r.filter((v) => typeof v === "string").join("\n").toLowerCase());
      if (words.some((word) => /\d/.test(word))) figures ??= rows.map(figuresOf);
      order = sorted.filter(matches);
    } else {
      order = sorted;
    }
  };

  // Heights: those that were shown are known, others are taken to be usual. Sums by blocks find a place quickly.
  const BLOCK = 256;
  const heights = new Float32Array(rows.length);
  let usual = 40;
  let sums = new Float64Array(0);
  const height = (row) => heights[row] || usual;
  const measure = () => {
    sums = new Float64Array(Math.ceil(order.length / BLOCK) + 1);
    for (let i = 0; i < order.length; i++) sums[Math.floor(i / BLOCK)] += height(order[i]);
  };
  const total = () => sums.reduce((a, b) => a + b, 0);
  /** The place at a distance from the top, and the distance at which it begins. */
  const placeAt = (y) => {
    let top = 0, block = 0;
    while (block < sums.length - 1 && top + sums[block] <= y) top += sums[block++];
    let place = block * BLOCK;
    while (place < order.length && top + height(order[place]) <= y) top += height(order[place++]);
    return [place, top];
  };
  const topOf = (place) => {
    let top = 0;
    const block = Math.floor(place / BLOCK);
    for (let i = 0; i < block; i++) top += sums[i];
    for (let i = block * BLOCK; i < place; i++) top += height(order[i]);
    return top;
  };

  // The table itself.
  const table = make("table", "files");
  const cols = table.appendChild(make("colgroup"));
  const head = table.appendChild(make("thead")).appendChild(make("tr"));
  const body = table.appendChild(make("tbody"));
  table.setAttribute("role", "table");
  table.setAttribute("aria-labelledby", "table-title");
  head.setAttribute("role", "row");
  const above = make("tr", "gap"), below = make("tr", "gap");
  for (const gap of [above, below]) {
    gap.setAttribute("aria-hidden", "true");
    gap.appendChild(make("td")).colSpan = shown.length;
  }
  for (const column of shown) {
    const col = cols.appendChild(make("col"));
    const cell = head.appendChild(make("th", isNumber(column) ? "r" : ""));
    cell.scope = "col";
    cell.setAttribute("role", "columnheader");
    cell.setAttribute("aria-sort", "none");
    const button = cell.appendChild(make("button", "", columns[column].heading));
    button.type = "button";
    button.addEventListener("click", () => {
      const before = cell.getAttribute("aria-sort");
      const first = isNumber(column) ? "descending" : "ascending";
      const other = isNumber(column) ? "ascending" : "descending";
      const now = before === first ? other : first;
      for (const th of head.children) th.setAttribute("aria-sort", "none");
      cell.setAttribute("aria-sort", now);
      sort(column, now === "ascending" ? 1 : -1);
      refresh();
    });
    if (column === NAME) continue;
    let widest = columns[column].kind === "bytes" ? 10 : columns[column].kind === "share" ? 6 : 0;
    if (columns[column].kind === "number") {
      let [least, most] = [0, 0];
      for (const row of rows) [least, most] = [Math.min(least, row[column]), Math.max(most, row[column])];
      widest = Math.max(number(least).length, number(most).length);
    } else if (!widest) {
      for (const row of rows) widest = Math.max(widest, row[column].length);
    }
    // Headings are in smaller type, and have an arrow.
    const heading = 0.85 * Math.max(...columns[column].heading.split(" ").map((w) => w.length)) + 1.6;
    col.style.width = `calc(${Math.min(Math.max(widest, heading), 24)}ch + var(--pad))`;
  }

  const fill = (row) => {
    const tr = make("tr", "row");
    tr.setAttribute("role", "row");
    for (const column of shown) {
      const { kind, heading } = columns[column];
      const value = text(rows[row][column], kind);
      const cell = tr.appendChild(make("td", isNumber(column) ? "r" : kind === "name" ? "name" : ""));
      cell.setAttribute("role", "cell");
      cell.dataset.heading = heading;
      if (column !== NAME) {
        cell.textContent = value;
        continue;
      }
      if (hasDetail(row)) {
        const button = cell.appendChild(make("button", "", value));
        button.type = "button";
        button.setAttribute("aria-expanded", String(unfolded.has(row)));
        button.addEventListener("click", () => {
          unfolded.has(row) ? unfolded.delete(row) : unfolded.add(row);
          heights[row] = 0;
          draw(row);
          body.querySelector(`[data-row="${row}"] button`)?.focus({ preventScroll: true });
        });
      } else {
        cell.appendChild(make("span", "", value));
      }
      if (NOTE >= 0 && rows[row][NOTE]) cell.appendChild(make("span", "note", rows[row][NOTE]));
    }
    return tr;
  };

  // Words of usual length are not broken while another column has room.
  const isWhole = (value) => value.split(/\s+/).every((word) => word.length <= 16);
  const unfold = (row) => {
    const detail = JSON.parse(lineOf(row));
    const tr = make("tr", "detail");
    tr.setAttribute("role", "row");
    const cell = tr.appendChild(make("td"));
    cell.setAttribute("role", "cell");
    cell.colSpan = shown.length;
    if (detail.facts.length) {
      const list = cell.appendChild(make("dl"));
      for (const [name, value] of detail.facts) {
        list.appendChild(make("dt", "", name));
        list.appendChild(make("dd", "", value));
      }
    }
    for (const { title, head, rows, note } of detail.tables) {
      cell.appendChild(make("h3", "", title));
      if (rows.length) {
        const table = cell.appendChild(make("table"));
        const top = table.appendChild(make("thead")).appendChild(make("tr"));
        for (const [heading, right] of head) top.appendChild(make("th", right ? "r" : "", heading)).scope = "col";
        const body = table.appendChild(make("tbody"));
        for (const row of rows) {
          const tr = body.appendChild(make("tr"));
          row.forEach((value, n) => {
            const className = head[n][1] ? "r" : isWhole(value) ? "w" : "";
            tr.appendChild(make("td", className, value)).dataset.heading = head[n][0];
          });
        }
      }
      if (note) cell.appendChild(make("p", "", note));
    }
    return tr;
  };

  // Shows what is in view and a little around it. Rows that stay are kept, and with them the focus.
  const drawn = new Map();
  const draw = (again) => {
    const view = printing ? [0, 60000] : [-body.getBoundingClientRect().top - 500, innerHeight - body.getBoundingClientRect().top + 500];
    const [from, top] = placeAt(Math.max(0, view[0]));
    let to = from, bottom = top;
    while (to < order.length && bottom < view[1]) bottom += height(order[to++]);
    const wanted = new Set(order.subarray(from, to));
    for (const [row, parts] of drawn) {
      if (row === again || !wanted.has(row)) {
        for (const part of parts) part.remove();
        drawn.delete(row);
      }
    }
    let next = above.nextSibling;
    for (let place = from; place < to; place++) {
      const row = order[place];
      let parts = drawn.get(row);
      if (parts) {
        for (const part of parts) {
          if (part === next) next = next.nextSibling;
          else body.insertBefore(part, next);
        }
      } else {
        parts = [fill(row)];
        if (unfolded.has(row)) parts.push(unfold(row));
        parts[0].dataset.row = row;
        for (const part of parts) body.insertBefore(part, next);
        drawn.set(row, parts);
      }
      parts[0].setAttribute("aria-rowindex", place + 2);
    }
    // The heights of what is shown are known now.
    for (let place = from; place < to; place++) {
      const row = order[place];
      let tall = 0;
      for (const part of drawn.get(row)) tall += part.getBoundingClientRect().height;
      if (Math.abs(tall - height(row)) > 0.5 || !heights[row]) {
        sums[Math.floor(place / BLOCK)] += tall - height(row);
        heights[row] = tall;
      }
    }
    const before = topOf(from);
    above.firstChild.style.height = before + "px";
    below.firstChild.style.height = Math.max(0, total() - topOf(to)) + "px";
  };

  let printing = false;
  const count = make("output");
  count.setAttribute("aria-live", "polite");
  const refresh = () => {
    select();
    measure();
    for (const parts of drawn.values()) for (const part of parts) part.remove();
    drawn.clear();
    table.setAttribute("aria-rowcount", order.length + 1);
    count.textContent = order.length === rows.length
      ? `${group(rows.length)}\u00a0${what}${rows.length === 1 ? "" : "s"}`
      : `${group(order.length)} of ${group(rows.length)}\u00a0${what}s`;
    draw();
  };

  // The filter: every word must occur.
  const tools = make("div", "tools");
  const label = tools.appendChild(make("label", "", "Filter"));
  const filter = label.appendChild(make("input"));
  filter.type = "search";
  filter.autocomplete = "off";
  filter.spellcheck = false;
  filter.placeholder = "words that a row has";
  let waiting = 0;
  filter.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      refresh();
    }, 80);
  });
  tools.appendChild(count);

  // Arrows go from name to name.
  body.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.closest?.("tr.row");
    if (!step || !row) return;
    let place = order.indexOf(Number(row.dataset.row)) + step;
    while (place >= 0 && place < order.length && !hasDetail(order[place])) place += step;
    if (place < 0 || place >= order.length) return;
    event.preventDefault();
    const reach = body.getBoundingClientRect().top + topOf(place);
    if (reach < 60 || reach > innerHeight - 80) scrollBy(0, reach - innerHeight / 2);
    draw();
    body.querySelector(`[data-row="${order[place]}"] button`)?.focus({ preventScroll: true });
  });

  let asked = false;
  const later = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  };
  addEventListener("scroll", later, { passive: true });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) {
      width = innerWidth;
      heights.fill(0);
      usual = 0;
      start();
    }
    later();
  });
  addEventListener("beforeprint", () => { printing = true; draw(); });
  addEventListener("afterprint", () => { printing = false; draw(); });

  /** The usual height is that of the first row that is drawn. */
  const start = () => {
    // Where figures leave the names little room, they are set closer.
    table.classList.remove("dense");
    table.classList.toggle("dense", head.children[shown.indexOf(NAME)].getBoundingClientRect().width < 160);
    usual = usual || (innerWidth < 736 ? 110 : 40);
    refresh();
    const tall = [...drawn.keys()].map((row) => heights[row]).sort((a, b) => a - b);
    if (tall.length) usual = tall[Math.floor(tall.length / 2)];
    refresh();
  };

  body.append(above, below);
  section.append(tools, table);
  if (rows.length === 1 && hasDetail(0)) unfolded.add(0);
  start();
  performance.mark("first-row");
})();
