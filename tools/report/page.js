/* page.js — draws the page of tune report from the JSON in it. Text from the database is only ever set as text. */
'use strict';
(function () {
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const MOST_ROWS = 300; /* of the table, until more are asked for */
const state = Object.assign({filter: '', gpu: '', type: '', used: '', sort: 'ratio', down: true, chosen: '', axis: 'trials', scroll: 0,
  rows: MOST_ROWS},
  recall());
const charts = {};
const MOST_BARS = 80; /* of the chart of ratios */
const MOST_POINTS = 2000; /* of the roofline */
const MOST_VALUES = 44; /* rows of the chart of parameters */

function recall() {
  try { return JSON.parse(sessionStorage.getItem('gemmtune') || '{}'); } catch (e) { return {}; }
}
function remember() {
  try { sessionStorage.setItem('gemmtune', JSON.stringify(state)); } catch (e) { /* a page without storage forgets */ }
}

/* ---- small things ---- */

function element(name, text, cls) {
  const e = document.createElement(name);
  if (text !== undefined && text !== null) e.textContent = text;
  if (cls) e.className = cls;
  if (cls === 'long') e.title = text || ''; /* cut where there is no room */
  return e;
}
const known = x => x !== null && x !== undefined;
function number(x, digits) { return known(x) ? x.toFixed(digits) : ''; }
function time(us) {
  if (!known(us)) return '';
  return us < 1000 ? us.toFixed(2) + ' \u00b5s' : us < 1e6 ? (us / 1000).toFixed(3) + ' ms' : (us / 1e6).toFixed(3) + ' s';
}
function median(list) {
  const s = list.slice().sort((a, b) => a - b), n = s.length;
  return n ? (n % 2 ? s[(n - 1) / 2] : (s[n / 2 - 1] + s[n / 2]) / 2) : NaN;
}
const leastOf = list => list.reduce((a, b) => Math.min(a, b), Infinity), mostOf = list => list.reduce((a, b) => Math.max(a, b), -Infinity);
const geometricMean = list => Math.exp(list.reduce((s, x) => s + Math.log(x), 0) / list.length);
function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim(); }

/* ---- the rows, unpacked (report_columns.c packs them) ---- */

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/* The value of each row. */
function unpackColumn(c, count) {
  if (Array.isArray(c)) return c;
  if ('same' in c) return new Array(count).fill(c.same);
  if (c.words) {
    const words = c.words.map(w => unpackColumn(w, count));
    return Array.from({length: count}, (x, i) => words.length ? words.map(w => w[i]).filter(known).join(' ') || null : null);
  }
  const width = c.at.length / count;
  return Array.from({length: count}, (x, i) => {
    let at = 0;
    for (let d = 0; d < width; d++) at = 64 * at + DIGITS.indexOf(c.at[i * width + d]);
    return c.of[at];
  });
}

const usual = new Map(Object.keys(data.usual).map(family => [family, new Set(data.usual[family])]));
/* The configuration without what people are spared. */
function brief(row) {
  if (!known(row.configuration) || row.state === 'unusable') return row.configuration;
  const words = row.configuration.split(' '), spared = usual.get(words[0]);
  return spared ? words.filter(w => !spared.has(w)).join(' ') : row.configuration;
}

/* What few rows are asked for. */
const lazily = {
  get winner() { return brief(this); },
  get text() { /* that the filter looks at */
    const text = [this.problem, this.gpu, this.winner, this.used, this.rival, this.state, this.due, this.why, this.change].filter(known).join(' ').toLowerCase();
    Object.defineProperty(this, 'text', {value: text});
    return text;
  }
};

function unpackRows() {
  const rows = Array.from({length: data.count}, (x, i) => Object.assign(Object.create(lazily), data.details[i]));
  Object.keys(data.columns).forEach(key => {
    const column = unpackColumn(data.columns[key], data.count);
    rows.forEach((r, i) => { r[key] = column[i]; });
  });
  rows.forEach(r => {
    r.id = r.problem + ' | ' + r.gpu + ' | ' + r.cache;
    r.share = known(r.roofline_us) && known(r.used_us) ? 100 * r.roofline_us / r.used_us : null; /* of what the roofline allows */
    r.bound = known(r.roofline_us) && known(r.rival_us) ? r.rival_us / r.roofline_us : null;
  });
  return rows;
}
data.rows = unpackRows();

/* ---- the trials of a row, unpacked (report_trials.c packs them) ---- */

function unpack(row) {
  const t = row.trials;
  if (!t) return [];
  if (t.list) return t.list;
  const times = t.times_us.split(' ').map(Number), seconds = t.seconds.split(' ').map(Number);
  let at = 0;
  t.list = times.map((us, i) => {
    const f = t.family[i] === '-' ? null : t.families[t.family.charCodeAt(i) - 65];
    const values = f ? f.values.map(v => v[t.letters.charCodeAt(at++) - 65]) : [];
    return {us: us, s: seconds[i], family: f ? f.name : null, values: values, verdict: data.verdicts[t.verdict.charCodeAt(i) - 65]};
  });
  return t.list;
}

/* ---- which rows, in which order ---- */

const columns = [
  {key: 'problem', title: 'problem'}, {key: 'ratio', title: '\u00d7 cuBLAS', digits: 3}, {key: 'gpu', title: 'GPU'},
  {key: 'cache', title: 'cache'}, {key: 'used', title: 'used'},
  {key: 'used_us', title: 'time (\u00b5s)', digits: 2}, {key: 'tflops', title: 'TFLOPS', digits: 2},
  {key: 'share', title: '% of roofline', digits: 1},
  {key: 'ratio_low', title: 'low', digits: 3}, {key: 'ratio_high', title: 'high', digits: 3},
  {key: 'error', title: 'error / FP32', digits: 2},
  {key: 'change', title: 'change'}, {key: 'change_percent', title: 'time since (%)', digits: 1},
  {key: 'rival', title: 'raced against'}, {key: 'state', title: 'state'}, {key: 'due', title: 'due'},
  {key: 'trials_made', title: 'trials', digits: 0}, {key: 'when', title: 'when'}, {key: 'winner', title: 'winner', long: true}
];
/* A column in which all rows have the same, or nothing, says so once, in the provenance. */
const shownColumns = columns.filter(c => c.key === 'problem' ||
  (c.key === 'gpu' || c.key === 'cache' || c.key === 'rival' || c.key === 'state' || c.key === 'used'
    ? new Set(data.rows.map(r => r[c.key])).size > 1 : data.rows.some(r => known(r[c.key]))));

const collator = new Intl.Collator('en', {numeric: true});

function visible() {
  const words = state.filter.toLowerCase().split(/\s+/).filter(w => w);
  const rows = data.rows.filter(r => (!state.gpu || r.gpu === state.gpu) && (!state.type || r.type === state.type) &&
    (!state.used || r.used === state.used) && words.every(w => r.text.includes(w)));
  const key = state.sort, sign = state.down ? -1 : 1;
  return rows.sort((a, b) => {
    const x = a[key], y = b[key];
    if (!known(x) || !known(y)) return (known(y) ? 1 : 0) - (known(x) ? 1 : 0);
    return sign * (typeof x === 'string' ? collator.compare(x, y) : x - y);
  });
}

/* ---- head, cards, table ---- */

function addFact(list, name, value) {
  if (!known(value) || value === '') return;
  list.append(element('dt', name), element('dd', value));
}
const values = new Map();
/* The values of a column, each once. */
function all(key) {
  if (!values.has(key)) values.set(key, Array.from(new Set(data.rows.map(r => r[key]).filter(known))));
  return values.get(key);
}

function drawHead() {
  $('made').textContent = data.rows.length + ' problem' + (data.rows.length === 1 ? '' : 's') + ' on ' +
    (all('gpu').join(', ') || 'no GPU yet') + '; written ' + data.made;
  $('live').hidden = !data.live;
  $('no-charts').hidden = !!window.Chart;
  const p = $('provenance');
  addFact(p, 'page', data.command);
  addFact(p, 'program', data.program);
  addFact(p, 'database', data.database);
  addFact(p, 'compared with', data.before);
  [['GPU', 'gpu'], ['driver', 'driver'], ['cuBLAS', 'cublas'], ['NVRTC', 'nvrtc'], ['raced against', 'rival'], ['cache', 'cache'],
    ['state', 'state']].forEach(x => addFact(p, x[0], all(x[1]).join(', ')));
  const when = all('when').sort();
  addFact(p, 'commands', all('command').slice(0, 20).join('; '));
  if (when.length) addFact(p, 'decided', when[0] + ' to ' + when[when.length - 1]);
  addFact(p, 'ratio', 'median over the rounds of a race of cuBLAS\u2019s time over the kernel\u2019s in the same round, with its 95 % interval (of fewer than 6 rounds their range)');
}

function drawCards(rows) {
  const box = $('cards'), ratios = rows.filter(r => known(r.ratio)).map(r => r.ratio);
  const card = (value, what) => { const c = element('div', null, 'card'); c.append(element('b', value), element('span', what)); box.append(c); };
  box.textContent = '';
  card(rows.length, 'problems shown');
  if (ratios.length) {
    card(geometricMean(ratios).toFixed(3), '\u00d7 cuBLAS, geometric mean');
    card(leastOf(ratios).toFixed(3), '\u00d7 cuBLAS, least');
    card(mostOf(ratios).toFixed(3), '\u00d7 cuBLAS, most');
    const both = rows.filter(r => known(r.ratio) && known(r.used_us) && known(r.rival_us)), sum = key => both.reduce((s, r) => s + r[key], 0);
    const saved = sum('rival_us') - sum('used_us');
    if (both.length) card(time(saved) + ' (' + (100 * saved / sum('rival_us')).toFixed(1) + ' %)', 'saved of cuBLAS\u2019s ' + time(sum('rival_us')) + ': one call of each');
    card(rows.filter(r => r.used === 'kernel').length + ' / ' + rows.length, 'answered by a kernel');
  }
  const changes = {faster: 'faster than before', slower: 'slower than before', noise: 'changed within the noise', drift: 'drifted with cuBLAS', new: 'new'};
  Object.keys(data.before ? changes : {}).forEach(c => {
    const n = rows.filter(r => r.change === c).length;
    if (n || c === 'faster' || c === 'slower') card(n, changes[c]);
  });
  const due = rows.filter(r => known(r.due)).length;
  if (due) card(due, 'due for another race');
  $('due-hint').hidden = !due;
}

function cell(r, c) {
  if (known(c.digits)) return element('td', number(r[c.key], c.digits), 'number');
  if (c.key !== 'problem') return element('td', r[c.key], c.long ? 'long' : '');
  const td = element('td');
  r.problem.split(':').forEach((part, i) => { if (i) td.append(':', element('wbr')); td.append(part); }); /* may be broken there */
  return td;
}

function drawTable(rows) {
  const head = $('winners').tHead, body = $('winners').tBodies[0];
  head.textContent = '';
  body.textContent = '';
  const line = element('tr');
  shownColumns.forEach(c => {
    const th = element('th', null, known(c.digits) ? 'number' : ''), b = element('button', c.title);
    if (state.sort === c.key) th.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
    b.addEventListener('click', () => {
      state.down = state.sort === c.key ? !state.down : known(c.digits);
      state.sort = c.key;
      drawFirst();
    });
    th.append(b);
    line.append(th);
  });
  head.append(line);
  const shown = rows.slice(0, state.rows), left = rows.length - shown.length;
  shown.forEach(r => {
    const tr = element('tr');
    tr.dataset.id = r.id;
    if (r.id === state.chosen) tr.className = 'chosen';
    shownColumns.forEach(c => tr.append(cell(r, c)));
    tr.addEventListener('click', () => choose(r, true));
    body.append(tr);
  });
  $('shown').textContent = rows.length + ' of ' + data.rows.length;
  $('more').hidden = left === 0;
  $('more').textContent = 'Show ' + Math.min(left, MOST_ROWS) + ' more of the other ' + left;
  listProblems(shown);
}

/* Of one problem: those of the table, and the one that is shown. */
function listProblems(shown) {
  const own = data.rows.find(r => r.id === state.chosen), list = own && !shown.includes(own) ? [own].concat(shown) : shown;
  fill($('problem'), list.map(r => [r.id, r.problem + (all('gpu').length > 1 ? ' on ' + r.gpu : '') + (all('cache').length > 1 ? ', ' + r.cache : '')]), state.chosen);
}

/* ---- charts ---- */

function chart(name, config) {
  if (!window.Chart) return;
  if (charts[name]) charts[name].destroy();
  charts[name] = new Chart($(name), config);
}

function axis(title, extra) {
  return Object.assign({title: {display: true, text: title, color: colour('faint')}, ticks: {color: colour('faint'), includeBounds: false},
    grid: {color: colour('line'), borderColor: colour('line')}}, extra || {});
}
function options(x, y, extra) {
  return Object.assign({animation: false, responsive: true, maintainAspectRatio: false, scales: {x: x, y: y},
    plugins: {legend: {labels: {color: colour('ink'), boxWidth: 14}}}}, extra || {});
}

/* Roughly so many characters fit beside bars. */
function clip(text, box) {
  const most = Math.max(14, Math.floor(box.clientWidth / 24));
  return text.length > most ? text.slice(0, most - 1) + '\u2026' : text;
}

/* What tells a GPU from the others: after the words that all names begin with, as few as do. */
function briefGpu(name) {
  const names = all('gpu').map(n => n.split(' ')), least = Math.min(...names.map(n => n.length)), own = name.split(' ');
  let from = 0;
  while (from + 1 < least && names.every(n => n[from] === own[from])) from++;
  const alike = to => names.filter(n => n.slice(from, to).join(' ') === own.slice(from, to).join(' ')).length;
  let to = from + 1;
  while (to < own.length && alike(to) > 1) to++;
  return own.slice(from, to).join(' ');
}

function barOf(r) {
  const parts = r.problem.split(':'), shape = parts.findIndex(p => /^\d+x\d+x\d+$/.test(p));
  const labels = [r.problem.replace(/^sgemm:nn:/, '')].concat(parts.slice(1, shape + 1).map((p, i) => '\u2026' + parts.slice(i + 1).join(':')), parts[shape] || []);
  return {labels: labels, end: all('gpu').length > 1 ? ' ' + briefGpu(r.gpu) : '', ratio: r.ratio,
    low: known(r.ratio_low) ? r.ratio_low : r.ratio, high: known(r.ratio_high) ? r.ratio_high : r.ratio, bound: r.bound,
    tip: r.problem + '\n' + r.ratio.toFixed(3) + ' (' + number(r.ratio_low, 3) + '..' + number(r.ratio_high, 3) + ') \u00d7 ' + (r.rival || 'cuBLAS') +
      (known(r.used) ? '\n' + r.used + ': ' + time(r.used_us) : '') + (known(r.bound) ? '\nroofline: ' + r.bound.toFixed(2) : '')};
}

function drawBars(list, width, titles) {
  const colours = {};
  ['ink', 'faint', 'ground', 'line', 'blue', 'orange'].forEach(c => { colours[c] = colour(c); });
  return Bars.draw(list.map(barOf), {width: width, titles: titles, colours: colours});
}

function drawRatios(rows) {
  const raced = rows.filter(r => known(r.ratio)), list = raced.slice(0, MOST_BARS), left = raced.length - list.length, box = $('ratio-box');
  $('ratio-section').hidden = list.length === 0;
  $('ratio-left-out').textContent = left > 0 ? 'The first ' + MOST_BARS + ' of the table below; filter or sort it for the other ' + left + '.' : '';
  box.textContent = '';
  if (!list.length) return;
  const svg = drawBars(list, Math.max(280, box.clientWidth), []);
  svg.setAttribute('aria-label', 'Ratio of each winner to cuBLAS');
  svg.querySelectorAll('.row').forEach((g, i) => g.addEventListener('click', () => choose(list[i], true)));
  box.append(svg);
}

/* The bars of all problems as the text of an SVG file, which README shows. */
function picture(width, title) {
  const raced = data.rows.filter(r => known(r.ratio)).sort((a, b) => b.ratio - a.ratio), ratios = raced.map(r => r.ratio);
  const facts = raced.length + ' problems on ' + all('gpu').join(', ') + ' against ' + all('rival').join(', ') + ': ' +
    geometricMean(ratios).toFixed(3) + ' times as fast (geometric mean), at least ' + leastOf(ratios).toFixed(3);
  return new XMLSerializer().serializeToString(drawBars(raced, width, [title, facts, 'Interval: 95 %, or the range of fewer than 6 rounds'])) + '\n';
}

const shapes = ['circle', 'triangle', 'rect', 'rectRot', 'star', 'crossRot'];
const hues = ['blue', 'orange', 'green', 'purple', 'sky', 'yellow'];

function drawRoofline(rows) {
  const timed = rows.filter(r => known(r.tflops)), step = Math.ceil(timed.length / MOST_POINTS), list = timed.filter((r, i) => i % step === 0);
  $('roofline-section').hidden = list.length === 0;
  $('roofline-left-out').textContent = step > 1 ? 'An even choice of ' + list.length + ' points of ' + timed.length + '; filter for the others.' : '';
  if (!list.length) return;
  const types = Array.from(new Set(list.map(r => r.type)));
  const at = r => r.intensity;
  const intensity = list.map(at), least = Math.min(10, leastOf(intensity)) / 1.5, most = Math.max(100, mostOf(intensity)) * 1.5;
  const datasets = types.map((t, i) => ({label: t, data: list.filter(r => r.type === t).map(r => ({x: at(r), y: r.tflops, row: r})),
    parsing: false, normalized: true, pointStyle: shapes[i % 6], backgroundColor: colour(hues[i % 6]), borderColor: colour(hues[i % 6]), radius: list.length > 500 ? 3 : 5, hoverRadius: 7}));
  const roofs = new Map();
  list.forEach(r => { if (known(r.peak_tflops) && known(r.memory_gb_per_s)) roofs.set(r.gpu + ' ' + r.type, r); });
  roofs.forEach((r, name) => {
    const ridge = 1000 * r.peak_tflops / r.memory_gb_per_s;
    const points = [least, ridge, most].filter(x => x >= least && x <= most).sort((a, b) => a - b)
      .map(x => ({x: x, y: Math.min(r.peak_tflops, x * r.memory_gb_per_s / 1000)}));
    datasets.push({type: 'line', label: 'limit: ' + name.replace(/^NVIDIA /, ''), data: points, borderColor: colour(hues[types.indexOf(r.type) % 6]),
      borderWidth: 1.5, borderDash: [5, 4], pointRadius: 0, fill: false});
  });
  chart('roofline', {type: 'scatter', data: {datasets: datasets},
    options: options(axis('arithmetic intensity (FLOP / byte, log)', {type: 'logarithmic', min: least, max: most, ticks: {color: colour('faint'), maxTicksLimit: 9, maxRotation: 0, includeBounds: false, callback: v => Number(v.toPrecision(3)).toString()}}),
      axis('TFLOPS (log, up is better)', {type: 'logarithmic', ticks: {color: colour('faint'), maxTicksLimit: 9, callback: v => Number(v.toPrecision(3)).toString()}}), {
        onClick: (e, found) => { const p = found.length && datasets[found[0].datasetIndex].data[found[0].index]; if (p && p.row) choose(p.row, true); },
        plugins: {legend: {labels: {color: colour('ink'), usePointStyle: true}},
          tooltip: {callbacks: {label: x => {
            const r = x.raw.row;
            return r ? r.problem + ': ' + r.tflops.toFixed(2) + ' TFLOPS' + (known(r.share) ? ', ' + r.share.toFixed(0) + ' % of the roofline' : '') : x.dataset.label;
          }}}}
      })});
}

/* ---- one problem ---- */

function drawProgress(row) {
  const trials = unpack(row), points = [], tries = [];
  let best = Infinity;
  trials.forEach((t, i) => {
    const x = state.axis === 'seconds' ? t.s : (i + 1) * (row.trials.total / trials.length);
    if (t.us > 0) tries.push({x: x, y: t.us});
    if (t.us > 0 && t.us < best) { best = t.us; points.push({x: x, y: best}); }
  });
  $('progress-figure').hidden = points.length === 0;
  if (!points.length) return;
  const last = trials.length - 1, end = state.axis === 'seconds' ? trials[last].s : row.trials.total;
  points.push({x: end, y: best});
  const roof = 3 * best;
  const datasets = [
    {type: 'line', label: 'best so far', data: points, stepped: 'before', borderColor: colour('blue'), backgroundColor: colour('blue'), pointRadius: 2, borderWidth: 2},
    {label: 'trials', data: tries.filter(p => p.y <= roof), backgroundColor: colour('faint'), radius: 1.5, pointStyle: 'circle'}];
  if (known(row.rival_us)) datasets.push({type: 'line', label: row.rival || 'cuBLAS', data: [{x: 0, y: row.rival_us}, {x: end, y: row.rival_us}], borderColor: colour('orange'), borderDash: [6, 4], pointRadius: 0, borderWidth: 1.5});
  chart('progress', {type: 'scatter', data: {datasets: datasets},
    options: options(axis(state.axis === 'seconds' ? 'time of the search (s)' : 'trials', {min: 0}),
      axis('time of a call (\u00b5s, down is better)', {max: Math.min(roof, Math.max(...tries.map(p => p.y)) * 1.02)}))});
}

function shortConfig(text, own, box) {
  /* What differs from the winner's configuration. */
  if (!own || text === own) return text === own ? 'the winner' : text;
  const there = new Set(own.split(' ')), words = text.split(' ');
  const rest = words.filter(w => !there.has(w));
  return clip(rest.length ? rest.join(' ') : text, box);
}

function drawRace(row) {
  const race = (row.race || []).filter(r => known(r.behind) && !r.failed);
  $('race-figure').hidden = race.length < 2;
  if (race.length < 2) return;
  const own = row.configuration, box = $('race').parentNode;
  box.style.height = Math.max(160, 80 + 22 * race.length) + 'px';
  chart('race', {type: 'bar', data: {
    labels: race.map(r => r.configuration === 'cublas' ? (row.rival || 'cuBLAS') : shortConfig(r.configuration, own, box)),
    datasets: [
      {label: 'interval', data: race.map(r => [100 * r.low, 100 * r.high]), backgroundColor: colour('ink'), borderColor: colour('ink'), borderWidth: {left: 1, right: 1}, borderSkipped: false, barThickness: 12, grouped: false},
      {label: 'behind the winner', data: race.map(r => [0, 100 * r.behind]), backgroundColor: race.map(r => r.configuration === 'cublas' ? colour('orange') : colour('blue')), barThickness: 10, grouped: false}]},
  options: options(axis('behind the winner (%, left is better)'), axis('', {title: {display: false}, grid: {display: false}, ticks: {color: colour('ink'), autoSkip: false}}),
    {indexAxis: 'y', interaction: {mode: 'y', intersect: false}, plugins: {legend: {labels: {color: colour('ink'), boxWidth: 14}},
      tooltip: {callbacks: {title: x => race[x[0].dataIndex].configuration, label: x => {
        const r = race[x.dataIndex];
        return x.datasetIndex ? time(r.median_us) + ', ' + r.blocks + ' blocks' : (100 * r.behind).toFixed(2) + ' % (' + (100 * r.low).toFixed(2) + '..' + (100 * r.high).toFixed(2) + ')';
      }}}}})});
}

/* Loss of the best and of the median trial with each value of each parameter, those that matter most first. */
function effects(trials, family) {
  const own = trials.filter(t => t.family === family.name && t.us > 0), best = Math.min(...own.map(t => t.us));
  const list = [];
  family.parameters.forEach((name, p) => {
    const by = new Map();
    own.forEach(t => { const v = t.values[p]; if (!by.has(v)) by.set(v, []); by.get(v).push(t.us); });
    if (by.size < 2) return;
    const values = Array.from(by.keys()).sort((a, b) => a - b).map(v => ({value: v, count: by.get(v).length,
      best: 100 * (Math.min(...by.get(v)) / best - 1), median: 100 * (median(by.get(v)) / best - 1)}));
    list.push({name: name, index: p, values: values, weight: Math.max(...values.map(v => v.best))});
  });
  return {list: list.sort((a, b) => b.weight - a.weight), own: own, best: best};
}

function fill(select, values, chosen) {
  select.textContent = '';
  values.forEach(v => { const o = element('option', v[1]); o.value = v[0]; select.append(o); });
  select.value = values.some(v => v[0] === chosen) ? chosen : values.length ? values[0][0] : '';
}

function chosenValues(row) {
  const values = {};
  (row.configuration || '').split(' ').slice(1).forEach(w => { const x = w.split('='); values[x[0]] = Number(x[1]); });
  return values;
}

function drawEffects(row) {
  const trials = unpack(row), families = row.trials ? row.trials.families : [];
  const usable = families.filter(f => trials.some(t => t.family === f.name && t.us > 0));
  $('effect-figure').hidden = $('pair-figure').hidden = usable.length === 0;
  if (!usable.length) return;
  const won = (row.configuration || '').split(' ')[0];
  const wanted = usable.some(f => f.name === state.family) && state.familyOf === row.id ? state.family : won;
  fill($('family'), usable.map(f => [f.name, f.name]), wanted);
  const family = usable.find(f => f.name === $('family').value), e = effects(trials, family), own = chosenValues(row);
  $('effect-figure').hidden = e.list.length === 0;
  const bars = [];
  let room = MOST_VALUES;
  e.list.filter(p => (room -= p.values.length) >= 0 || room + p.values.length === MOST_VALUES).forEach(p => p.values.forEach(v => bars.push({label: p.name + ' = ' + v.value + (family.name === won && own[p.name] === v.value ? ' *' : ''), v: v})));
  $('effect-box').style.height = 80 + 17 * bars.length + 'px';
  const most = Math.min(150, Math.max(5, ...bars.map(b => b.v.best)) * 1.3);
  chart('effect', {type: 'bar', data: {labels: bars.map(b => b.label), datasets: [
    {label: 'best trial', data: bars.map(b => b.v.best), backgroundColor: colour('blue'), barThickness: 10, minBarLength: 2, grouped: false},
    {label: 'median trial', data: bars.map(b => b.v.median), backgroundColor: colour('line'), barThickness: 10, grouped: false}]},
  options: options(axis('loss against the best of ' + family.name + ' (%, left is better)', {min: 0, max: most}),
    axis('', {title: {display: false}, grid: {display: false}, ticks: {color: colour('ink'), autoSkip: false}}),
    {indexAxis: 'y', interaction: {mode: 'y', intersect: false}, plugins: {legend: {labels: {color: colour('ink'), boxWidth: 14}},
      tooltip: {callbacks: {label: x => (x.datasetIndex ? 'median ' : 'best ') + x.raw.toFixed(1) + ' % of ' + bars[x.dataIndex].v.count + ' trials'}}}})});
  drawPair(e);
}

function drawPair(e) {
  $('pair-figure').hidden = e.list.length < 2;
  if (e.list.length < 2) return;
  const names = e.list.map(p => [p.name, p.name]);
  fill($('pair-a'), names, state.pairA || names[0][0]);
  fill($('pair-b'), names, state.pairB || names[1][0]);
  if ($('pair-a').value === $('pair-b').value) $('pair-b').value = names.find(n => n[0] !== $('pair-a').value)[0];
  const a = e.list.find(p => p.name === $('pair-a').value), b = e.list.find(p => p.name === $('pair-b').value), best = new Map();
  e.own.forEach(t => { const k = t.values[a.index] + ' ' + t.values[b.index], x = best.get(k); if (x === undefined || t.us < x) best.set(k, t.us); });
  const table = $('pair'), head = element('tr');
  table.textContent = '';
  head.append(element('th', a.name + ' \\ ' + b.name));
  b.values.forEach(v => head.append(element('th', v.value, 'number')));
  table.append(head);
  a.values.forEach(u => {
    const tr = element('tr');
    tr.append(element('th', u.value));
    b.values.forEach(v => {
      const us = best.get(u.value + ' ' + v.value), loss = us === undefined ? null : 100 * (us / e.best - 1);
      const td = element('td', loss === null ? '' : loss.toFixed(1), loss !== null && loss < 1e-9 ? 'best' : '');
      if (loss !== null) td.style.background = 'rgba(' + colour('shade') + ',' + Math.min(0.55, loss / 100).toFixed(3) + ')';
      tr.append(td);
    });
    table.append(tr);
  });
}

function drawClocks(row) {
  const list = row.trials ? row.trials.clocks : [];
  $('clock-figure').hidden = list.length < 2;
  if (list.length < 2) return;
  chart('clock', {type: 'line', data: {datasets: [
    {label: 'SM clock (MHz)', data: list.map(c => ({x: c[0] + 1, y: c[1]})), borderColor: colour('blue'), backgroundColor: colour('blue'), pointRadius: 0, borderWidth: 1.5},
    {label: 'power (W)', data: list.map(c => ({x: c[0] + 1, y: c[2]})), borderColor: colour('orange'), backgroundColor: colour('orange'), borderDash: [5, 3], pointRadius: 0, borderWidth: 1.5, yAxisID: 'y2'}]},
  options: {animation: false, responsive: true, maintainAspectRatio: false, plugins: {legend: {labels: {color: colour('ink'), boxWidth: 14}}},
    scales: {x: axis('trials', {type: 'linear'}), y: axis('SM clock (MHz)', {beginAtZero: true}), y2: axis('power (W)', {position: 'right', beginAtZero: true, grid: {display: false}})}}});
}

function drawFailures(row) {
  const list = row.failures || [], table = $('failures'), head = element('tr');
  $('failure-figure').hidden = list.length === 0;
  table.textContent = '';
  ['outcome', 'how many', 'why', 'for example'].forEach(t => head.append(element('th', t)));
  table.append(head);
  list.forEach(f => {
    const tr = element('tr');
    tr.append(element('td', f.verdict), element('td', f.count, 'number'), element('td', f.reason, 'long'), element('td', f.example, 'long'));
    table.append(tr);
  });
}

function drawDetail() {
  const row = data.rows.find(r => r.id === state.chosen);
  $('detail').hidden = !row;
  if (!row) return;
  if (!Array.from($('problem').options).some(o => o.value === row.id)) listProblems(visible().slice(0, state.rows));
  $('problem').value = row.id;
  const facts = $('facts'), verdicts = Object.keys(row.verdicts || {}).map(v => row.verdicts[v] + ' ' + v).join(', ');
  facts.textContent = '';
  addFact(facts, 'configuration', row.configuration);
  addFact(facts, 'used', known(row.used) ? row.used + ', ' + time(row.used_us) + (known(row.tflops) ? ', ' + row.tflops.toFixed(2) + ' TFLOPS' : '') +
    (known(row.share) ? ', ' + row.share.toFixed(1) + ' % of the roofline' : '') : null);
  addFact(facts, '\u00d7 cuBLAS', known(row.ratio) ? row.ratio.toFixed(4) + ' (' + number(row.ratio_low, 4) + '..' + number(row.ratio_high, 4) + ') against ' + time(row.rival_us) + ' of ' + row.rival : null);
  addFact(facts, 'error', known(row.error) ? row.error.toFixed(2) + ' of ' + row.rival + '\u2019s (root mean square, uniform data)' + (known(row.checked) ? '; ' + row.checked : '') : row.checked);
  addFact(facts, 'before', known(row.before_us) && known(row.change_percent) ? time(row.before_us) + ', ' + row.before_made + (known(row.before_driver) ? ', driver ' + row.before_driver : '') + ': now ' +
    (row.change_percent > 0 ? '+' : '') + row.change_percent.toFixed(1) + ' % (' + row.change_low.toFixed(1) + '..' + row.change_high.toFixed(1) + '), ' + row.change +
    (row.other_winner ? '; it was ' + row.before_winner : '; the same winner') : null);
  addFact(facts, 'state', row.state + (row.tied ? ', a tie' : '') + (row.pinned ? ', pinned' : '') + (known(row.why) ? ': ' + row.why.replace(/^imported: /, '') : '') + (known(row.due) ? '; due: ' + row.due : ''));
  addFact(facts, 'search', row.trials_made ? row.trials_made + ' of ' + row.legal + ' legal configurations; stored: ' + (verdicts || 'nothing') : null);
  addFact(facts, 'made', [row.when, row.gpu, known(row.driver) ? 'driver ' + row.driver : null, known(row.cublas) ? 'cuBLAS ' + row.cublas : null,
    known(row.nvrtc) ? 'NVRTC ' + row.nvrtc : null, 'operands ' + row.cache].filter(known).join(', '));
  addFact(facts, 'command', row.command);
  addFact(facts, 'kernel', row.registers ? row.registers + ' registers, ' + row.smem_bytes + ' bytes of shared memory' : null);
  if (!row.trials && !(row.race || []).length) addFact(facts, 'trials', 'none are stored: the winner was imported, or its trials are elsewhere');
  drawProgress(row);
  drawRace(row);
  drawEffects(row);
  drawClocks(row);
  drawFailures(row);
}

function choose(row, scroll) {
  state.chosen = row.id;
  document.querySelectorAll('#winners tbody tr').forEach(tr => { tr.className = tr.dataset.id === state.chosen ? 'chosen' : ''; });
  drawDetail();
  remember();
  if (scroll) $('detail').scrollIntoView({behavior: 'smooth'});
}

/* ---- the whole ---- */

function draw() {
  const rows = visible();
  drawCards(rows);
  drawTable(rows);
  drawRatios(rows);
  drawRoofline(rows);
  remember();
}
function drawFirst() { state.rows = MOST_ROWS; draw(); } /* another order or choice */
function drawAll() { draw(); drawDetail(); }

function start() {
  const any = [['', 'all']];
  drawHead();
  [['gpu', 'gpu'], ['type', 'type'], ['used', 'used']].forEach(x => {
    fill($(x[0]), any.concat(all(x[1]).sort().map(v => [v, v])), state[x[0]]);
    state[x[0]] = $(x[0]).value;
    $(x[0]).parentNode.hidden = all(x[1]).length < 2;
    $(x[0]).addEventListener('change', e => { state[x[0]] = e.target.value; drawFirst(); });
  });
  if (!data.rows.some(r => r.id === state.chosen)) state.chosen = (data.rows.find(r => r.trials) || data.rows[0] || {id: ''}).id;
  $('filter').value = state.filter;
  $('filter').addEventListener('input', e => { state.filter = e.target.value; drawFirst(); });
  $('more').addEventListener('click', () => { state.rows += MOST_ROWS; draw(); });
  $('problem').addEventListener('change', e => choose(data.rows.find(r => r.id === e.target.value), false));
  $('progress-axis').value = state.axis;
  $('progress-axis').addEventListener('change', e => { state.axis = e.target.value; drawDetail(); remember(); });
  $('family').addEventListener('change', e => { state.family = e.target.value; state.familyOf = state.chosen; state.pairA = state.pairB = ''; drawDetail(); });
  ['pair-a', 'pair-b'].forEach((name, i) => $(name).addEventListener('change', e => { state[i ? 'pairB' : 'pairA'] = e.target.value; drawDetail(); }));
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', drawAll);
  window.addEventListener('beforeprint', () => { document.documentElement.dataset.print = ''; drawAll(); });
  window.addEventListener('afterprint', () => { delete document.documentElement.dataset.print; drawAll(); });
  let width = window.innerWidth;
  window.addEventListener('resize', () => { if (width !== window.innerWidth) drawRatios(visible()); width = window.innerWidth; });
  window.gemmtune = {rows: data.rows, picture: picture};
  drawAll();
  if (!data.live) return;
  window.scrollTo(0, state.scroll);
  setTimeout(() => { state.scroll = window.scrollY; remember(); location.reload(); }, 5000);
}
start();
})();
