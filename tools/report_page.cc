#include "tools/report_page.h"

namespace berth::tool {
namespace {

constexpr const char* kHead = R"page(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Memory plan</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --ink: #1b2430; --soft: #5d6b7c; --line: #d5dce4; --paper: #ffffff; --lane: #f4f6f9;
  --mark: #c2410c; --input: #0e7490; --output: #15803d; --state: #7e22ce; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf1; --soft: #93a1b3; --line: #324050; --paper: #10161d;
  --lane: #18212b; --mark: #fb923c; --input: #22d3ee; --output: #4ade80; --state: #c084fc; } }
body { margin: 0; padding: 24px 28px 60px; background: var(--paper); color: var(--ink);
  font: 14px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 20px; margin: 0 0 2px; } h2 { font-size: 16px; margin: 28px 0 8px; }
.soft { color: var(--soft); } .number { font-variant-numeric: tabular-nums; }
.files { display: grid; grid-template-columns: repeat(auto-fit, minmax(520px, 1fr)); gap: 28px; }
.arena { margin: 10px 0 26px; } .arena header { display: flex; flex-wrap: wrap; gap: 4px 18px; align-items: baseline; }
.arena header b { font-size: 15px; } .good { color: var(--output); } .open { color: var(--mark); }
svg { width: 100%; display: block; background: var(--lane); border: 1px solid var(--line); border-radius: 6px;
  margin: 6px 0; }
rect.value { stroke: var(--paper); stroke-width: .6; vector-effect: non-scaling-stroke; cursor: default; }
rect.value.dim { opacity: .18; } rect.value.lit { stroke: var(--ink); stroke-width: 1.8; }
.axis { fill: var(--soft); font-size: 11px; } .label { fill: #10161d; font-size: 10px; pointer-events: none; } .grid { stroke: var(--line); stroke-width: 1; }
.peak { stroke: var(--mark); stroke-width: 1.4; stroke-dasharray: 4 3; }
.load { fill: none; stroke: var(--soft); stroke-width: 1.2; }
table { border-collapse: collapse; margin: 4px 0 0; } td, th { text-align: left; padding: 2px 14px 2px 0; }
th { font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; white-space: nowrap; }
details summary { cursor: pointer; color: var(--soft); }
#tip { position: fixed; pointer-events: none; background: var(--ink); color: var(--paper); border-radius: 6px;
  padding: 7px 10px; font-size: 12.5px; max-width: 460px; opacity: 0; transition: opacity .08s; z-index: 9; }
#tip b { font-size: 13px; } .key { display: flex; gap: 16px; margin: 8px 0 0; flex-wrap: wrap; }
.key i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 5px; vertical-align: -1px; }
</style></head><body>
<h1>Memory plan</h1><div class="soft" id="lead"></div>
<div class="key"><span><i style="background:var(--input)"></i>input</span><span><i style="background:var(--output)"></i>output</span>
<span><i style="background:var(--state)"></i>state</span><span><i style="background:hsl(212 45% 60%)"></i>value, one colour for each node</span>
<span><i style="background:repeating-linear-gradient(45deg,#888 0 2px,transparent 2px 5px)"></i>view, or in place of another</span></div>
<div id="compare"></div><div class="files" id="files"></div><div id="tip"></div>
<script type="application/json" id="data">)page";

constexpr const char* kTail = R"page(</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 1000, LANE = 300, LEFT = 74, BOTTOM = 22;

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; ++i; }
  return (i === 0 ? n : n.toFixed(2)) + " " + units[i];
}
function make(tag, parent, attributes, text) {
  const node = document.createElement(tag);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}
function draw(tag, parent, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.appendChild(node);
  return node;
}
function hue(text) {
  let h = 17;
  for (let i = 0; i < text.length; ++i) h = (h * 31 + text.charCodeAt(i)) >>> 0;
  return h % 360;
}
function colour(value) {
  if (value.role !== "value") return "var(--" + value.role + ")";
  return "hsl(" + hue(value.node || value.name) + " 45% 60%)";
}
// All values that share bytes with one by views and in-place steps.
function chain(arena, value) {
  const near = new Map();
  const join = (a, b) => { if (!near.has(a)) near.set(a, []); near.get(a).push(b); };
  for (const v of arena.values) if (v.base >= 0) { join(v.index, v.base); join(v.base, v.index); }
  const seen = new Set([value.index]), waiting = [value.index];
  while (waiting.length) for (const other of near.get(waiting.pop()) || []) if (!seen.has(other)) { seen.add(other); waiting.push(other); }
  return seen;
}
const tip = document.getElementById("tip");
function show(event, arena, value, steps) {
  tip.textContent = "";
  make("b", tip, {}, value.name);
  const line = text => make("div", tip, {}, text);
  line(value.type + ", " + bytes(value.bytes) + " at " + value.offset.toLocaleString("en"));
  if (value.node) line("computed by " + value.node);
  line("live from step " + value.first + " (" + steps[value.first] + ") to " + value.last + " (" + steps[value.last] + ")");
  if (value.relation) line(value.relation);
  tip.style.opacity = 1;
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 12) + "px";
  tip.style.top = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 12) + "px";
}
function load(arena, count) {
  const at = new Array(count).fill(0);
  for (let step = 0; step < count; ++step) {
    let end = 0;
    for (const v of arena.sorted) {
      if (v.first > step || v.last < step) continue;
      at[step] += Math.max(0, v.offset + v.bytes - Math.max(end, v.offset));
      end = Math.max(end, v.offset + v.bytes);
    }
  }
  return at;
}
function lane(parent, method, arena, scale) {
  const steps = method.steps, count = steps.length;
  const svg = draw("svg", parent, { viewBox: "0 0 " + WIDTH + " " + (LANE + BOTTOM), role: "img" });
  const defs = draw("defs", svg, {});
  const hatch = draw("pattern", defs, { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  draw("line", hatch, { x1: 0, y1: 0, x2: 0, y2: 6, stroke: "rgba(0,0,0,.35)", "stroke-width": 2 });
  const x = step => LEFT + step * (WIDTH - LEFT - 6) / count;
  const y = byte => LANE - byte * (LANE - 14) / Math.max(1, scale);
  for (let i = 0; i <= 4; ++i) {
    const b = scale * i / 4;
    draw("line", svg, { x1: LEFT, x2: WIDTH - 6, y1: y(b), y2: y(b), class: "grid" });
    draw("text", svg, { x: LEFT - 6, y: y(b) + 4, class: "axis", "text-anchor": "end" }, bytes(Math.round(b)));
  }
  const every = Math.max(1, Math.ceil(count / 12));
  for (let step = 0; step < count; step += every) {
    draw("text", svg, { x: x(step + .5), y: LANE + 15, class: "axis", "text-anchor": x(step + .5) > WIDTH - 24 ? "end" : "middle" }, step);
  }
  const shapes = new Map(), labels = [];
  for (const value of arena.values) {
    const box = { x: x(value.first), y: y(value.offset + value.bytes), width: Math.max(1, x(value.last + 1) - x(value.first)),
      height: Math.max(.7, y(value.offset) - y(value.offset + value.bytes)) };
    const shape = draw("rect", svg, { ...box, class: "value", fill: colour(value), rx: 1.5 });
    shapes.set(value.index, [shape]);
    if (value.base >= 0) shapes.get(value.index).push(draw("rect", svg, { ...box, fill: "url(#hatch)", "pointer-events": "none" }));
    if (value.role === "value" && box.height > 13 && box.width > 8 + 6 * value.name.length) {
      labels.push([{ x: box.x + 4, y: box.y + box.height / 2 + 3.5, class: "label" }, value.name]);
    }
    shape.addEventListener("mousemove", event => show(event, arena, value, steps));
    shape.addEventListener("mouseenter", () => {
      const family = chain(arena, value);
      for (const [index, list] of shapes) list[0].classList.toggle("dim", !family.has(index));
      for (const index of family) if (shapes.has(index)) shapes.get(index)[0].classList.add("lit");
    });
    shape.addEventListener("mouseleave", () => {
      tip.style.opacity = 0;
      for (const list of shapes.values()) list[0].classList.remove("dim", "lit");
    });
  }
  for (const [place, name] of labels) draw("text", svg, place, name);
  if (count * arena.values.length < 4e7) {
    const points = load(arena, count).map((b, step) => x(step) + "," + y(b) + " " + x(step + 1) + "," + y(b)).join(" ");
    draw("polyline", svg, { points, class: "load" });
  }
  draw("line", svg, { x1: x(arena.peak_step + .5), x2: x(arena.peak_step + .5), y1: 4, y2: LANE, class: "peak" });
}
function peak(parent, method, arena) {
  const alive = arena.values.filter(v => v.first <= arena.peak_step && v.last >= arena.peak_step);
  alive.sort((a, b) => b.bytes - a.bytes || a.offset - b.offset);
  const box = make("details", parent, { open: "" });
  make("summary", box, {}, "At the peak, step " + arena.peak_step + " (" + method.steps[arena.peak_step] + "): " +
    bytes(arena.peak_bytes) + " in " + alive.length + " values");
  const table = make("table", box, {});
  const head = make("tr", table, {});
  for (const name of ["value", "type", "node", "bytes", "from", "to", ""]) make("th", head, { class: /bytes|from|to/.test(name) ? "number" : "" }, name);
  for (const v of alive.slice(0, 24)) {
    const row = make("tr", table, {});
    for (const text of [v.name, v.type, v.node || v.role]) make("td", row, {}, text);
    for (const number of [bytes(v.bytes), v.first, v.last]) make("td", row, { class: "number" }, number);
    make("td", row, { class: "soft" }, v.relation);
  }
  if (alive.length > 24) make("div", box, { class: "soft" }, "and " + (alive.length - 24) + " smaller ones");
}
function over(got, bound) {
  const percent = 100 * (got / Math.max(1, bound) - 1);
  return percent < .1 ? bytes(got - bound) : percent.toFixed(1) + " %";
}
function draw_arena(parent, method, arena, scale) {
  arena.sorted = [...arena.values].sort((a, b) => a.offset - b.offset);
  const box = make("div", parent, { class: "arena" });
  const head = make("header", box, {});
  make("b", head, {}, "arena " + arena.id + " on " + arena.device + ": " + bytes(arena.bytes));
  const bound = arena.lower_bound === null ? "" : "lower bound " + bytes(arena.lower_bound);
  if (bound) make("span", head, { class: "soft" }, bound);
  if (arena.proven) make("span", head, { class: "good" }, "optimal, proven");
  else if (bound && arena.bytes > arena.lower_bound)
    make("span", head, { class: "open" }, over(arena.bytes, arena.lower_bound) + " over the bound");
  const related = arena.values.filter(v => v.base >= 0).length;
  make("span", head, { class: "soft" }, arena.values.length + " values, " + related + " of them views or in place");
  if (arena.values.length === 0) return;
  lane(box, method, arena, scale);
  peak(box, method, arena);
}
function arenas() {
  const found = new Map();
  data.files.forEach((file, f) => file.methods.forEach(method => method.arenas.forEach(arena => {
    const key = method.name + ", arena " + arena.id + " on " + arena.device;
    if (!found.has(key)) found.set(key, []);
    found.get(key)[f] = arena.bytes;
  })));
  return found;
}
function compare() {
  if (data.files.length < 2) return;
  const parent = document.getElementById("compare");
  make("h2", parent, {}, "Both");
  const table = make("table", parent, {});
  const head = make("tr", table, {});
  for (const name of ["arena", data.files[0].path, data.files[1].path, "second : first"]) make("th", head, { class: name === "arena" ? "" : "number" }, name);
  for (const [key, sizes] of arenas()) {
    const row = make("tr", table, {});
    make("td", row, {}, key);
    for (const f of [0, 1]) make("td", row, { class: "number" }, sizes[f] === undefined ? "none" : bytes(sizes[f]));
    make("td", row, { class: "number" }, sizes[0] && sizes[1] !== undefined ? (sizes[1] / sizes[0]).toFixed(3) : "");
  }
}
document.getElementById("lead").textContent = data.files.map(f => f.path + ", " + bytes(f.bytes)).join(" and ") +
  ". Time runs to the right, one step for each instruction; memory upward. The line is live memory.";
compare();
const scales = new Map();
for (const file of data.files) for (const method of file.methods) for (const arena of method.arenas) {
  const key = method.name + "/" + arena.id;
  scales.set(key, Math.max(scales.get(key) || 0, arena.bytes));
}
for (const file of data.files) {
  const column = make("section", document.getElementById("files"), {});
  for (const method of file.methods) {
    make("h2", column, {}, (data.files.length > 1 ? file.path + ": " : "") + "method " + method.name + ", " + (method.steps.length - 2) + " instructions");
    for (const arena of method.arenas) draw_arena(column, method, arena, scales.get(method.name + "/" + arena.id));
  }
}
</script></body></html>
)page";

}  // namespace

std::string report_page(const Json& data) {
  std::string page = kHead;
  // A name from a model may hold anything; nothing of it may end the script element.
  for (const char c : data.text()) {
    if (c == '<') {
      page += "\\u003c";
    } else {
      page += c;
    }
  }
  return page + kTail;
}

}  // namespace berth::tool
