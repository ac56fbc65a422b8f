/* bars.js — ratios with their intervals and the roofline as bars of SVG: the chart of the page, and a picture by itself. It knows
 * the bars and how they look, neither the page nor its data.
 */
'use strict';
const Bars = (function () {
const ROW = 16, BAR = 9, TEXT = 12, LINE = 20, VALUE = 46, GAP = 8; /* px */
const LETTER = 7.7; /* px, of a digit in TEXT in a wide font; not measured, so that the picture is the same everywhere */

function node(name, attributes, text) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  Object.keys(attributes).forEach(k => e.setAttribute(k, typeof attributes[k] === 'number' ? String(Number(attributes[k].toFixed(2))) : attributes[k]));
  if (text !== undefined) e.textContent = text;
  return e;
}

/* Marks of the axis: 1, 2 or 5 times a power of ten apart. */
function ticks(least, most, room) {
  const rough = (most - least) / Math.max(2, room), power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = power * [1, 2, 5, 10].find(s => s * power >= rough), list = [];
  for (let i = Math.ceil(least / step); i * step <= most; i++) list.push(i * step);
  return {list: list, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9))};
}

/* The first of the labels, longest first, that fits before the end; else the last, cut. */
function fitting(bar, most) {
  const room = most - bar.end.length, last = bar.labels[bar.labels.length - 1];
  return (bar.labels.find(l => l.length <= room) || last.slice(0, Math.max(1, room - 1)) + '\u2026') + bar.end;
}

/* An SVG element, one g of class "row" for each of bars.
 *
 * bars  [{labels, end, tip, ratio, low, high, bound}]; labels: the same in ever shorter form, and what always follows it;
 *       bound: the ratio of the roofline, or null
 * look  {width (px), titles: [lines above], colours: {ink, faint, ground, line, blue, orange}}
 */
function draw(bars, look) {
  const c = look.colours, width = look.width, letters = Math.min(44, Math.floor(0.42 * width / LETTER)), labels = bars.map(b => fitting(b, letters));
  const left = 2 * GAP + LETTER * Math.max(4, ...labels.map(l => l.length)), right = width - VALUE;
  const fastest = Math.max(1.1, ...bars.map(b => b.high)), least = Math.min(1, ...bars.map(b => b.low)) - 0.02;
  const most = 1.03 * Math.min(1.5 * fastest, Math.max(fastest, ...bars.map(b => b.bound || 0)));
  const x = ratio => left + (right - left) * (Math.min(ratio, most) - least) / (most - least);
  const svg = node('svg', {xmlns: 'http://www.w3.org/2000/svg', width: width, role: 'img', 'font-family': 'system-ui, sans-serif', 'font-size': TEXT});
  const put = (parent, name, attributes, text) => parent.append(node(name, attributes, text));
  const span = (parent, from, to, top, height, fill) => put(parent, 'rect', {x: x(from), y: top, width: Math.max(1, x(to) - x(from)), height: height, fill: fill});
  const ground = node('rect', {width: width, fill: c.ground});
  let top = 4;
  svg.append(ground);
  look.titles.forEach((line, i) => {
    put(svg, 'text', {x: GAP, y: top + 14, fill: i ? c.faint : c.ink, 'font-size': i ? TEXT : 15, 'font-weight': i ? 400 : 600}, line);
    top += LINE;
  });

  /* The legend, above: what occurs. */
  const legend = [['interval', c.ink, true], ['faster than cuBLAS', c.blue, bars.some(b => b.ratio >= 1)],
    ['slower: cuBLAS is used', c.orange, bars.some(b => b.ratio < 1)], ['up to the roofline', c.line, bars.some(b => b.bound > b.ratio)]];
  let at = GAP;
  legend.filter(e => e[2]).forEach(e => {
    const room = 18 + LETTER * e[0].length;
    if (at > GAP && at + room > width) { at = GAP; top += LINE; }
    put(svg, 'rect', {x: at, y: top + 4, width: 12, height: BAR, fill: e[1]});
    put(svg, 'text', {x: at + 17, y: top + 13, fill: c.ink}, e[0]);
    at += room + 2 * GAP;
  });
  top += LINE + 4;

  const bottom = top + ROW * bars.length, marks = ticks(least, most, (right - left) / 60);
  marks.list.forEach(v => {
    put(svg, 'path', {d: 'M' + x(v).toFixed(1) + ' ' + top + 'V' + bottom, stroke: c.line, 'stroke-width': 0.5});
    put(svg, 'text', {x: x(v), y: bottom + 14, fill: c.faint, 'text-anchor': 'middle'}, v.toFixed(marks.digits));
  });
  bars.forEach((b, i) => {
    const g = node('g', {class: 'row'}), y = top + ROW * i, bar = y + (ROW - BAR) / 2, fast = b.ratio >= 1;
    put(g, 'title', {}, b.tip);
    put(g, 'rect', {y: y, width: width, height: ROW, fill: c.ground, 'fill-opacity': 0}); /* the whole row takes clicks */
    put(g, 'text', {x: left - GAP, y: y + 12, fill: c.ink, 'text-anchor': 'end'}, labels[i]);
    if (b.bound > Math.max(1, b.ratio)) span(g, Math.max(1, b.ratio), b.bound, bar, BAR, c.line);
    span(g, fast ? 1 : b.ratio, fast ? b.ratio : 1, bar, BAR, fast ? c.blue : c.orange);
    span(g, b.low, b.high, y + ROW / 2 - 1, 2, c.ink);
    [b.low, b.high].forEach(end => put(g, 'path', {d: 'M' + x(end).toFixed(1) + ' ' + (bar - 1) + 'v' + (BAR + 2), stroke: c.ink}));
    put(g, 'text', {x: right + 4, y: y + 12, fill: c.ink}, b.ratio.toFixed(3));
    svg.append(g);
  });
  put(svg, 'path', {d: 'M' + x(1).toFixed(1) + ' ' + top + 'V' + bottom, stroke: c.ink}); /* equally fast */
  put(svg, 'text', {x: (left + right) / 2, y: bottom + 32, fill: c.faint, 'text-anchor': 'middle'},
    width < 600 ? '\u00d7 cuBLAS (right is better)' : 'time of cuBLAS / time of the winner (right is better)');

  const height = bottom + 40;
  ground.setAttribute('height', height);
  svg.setAttribute('height', height);
  svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
  return svg;
}

return {draw: draw};
})();
