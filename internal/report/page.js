// Draws the charts and tables of a report. The numbers are all there: nothing is
// computed here but sums of the heat map's counts.
(async () => {
'use strict';
const $ = id => document.getElementById(id);
const root = document.documentElement;
const head = JSON.parse($('head').textContent);
const specs = JSON.parse($('specs').textContent);

// make builds an element; text is text, never markup.
function make(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props || {})) k in e ? e[k] = v : e.setAttribute(k, v);
  e.append(...children);
  return e;
}

async function unpack() {
  const raw = Uint8Array.from(atob($('packed').textContent), c => c.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}
const data = await unpack();

// ---- numbers as people read them

const digits = (v, n) => String(+v.toPrecision(n));
function unit(ns, n) {
  if (ns >= 1e9) return digits(ns / 1e9, n) + ' s';
  if (ns >= 1e6) return digits(ns / 1e6, n) + ' ms';
  if (ns >= 1e3) return digits(ns / 1e3, n) + ' µs';
  return digits(ns, n) + ' ns';
}
// latency writes ns; below 0 it is at least that much, null is none.
const latency = ns => ns === null || ns === undefined ? '–' : ns < 0 ? '≥ ' + unit(-ns, 4) : unit(ns, 4);
const grouped = new Intl.NumberFormat('en', {maximumFractionDigits: 2});
const count = n => grouped.format(n < 10 ? n : Math.round(n));
const two = n => String(n).padStart(2, '0');
function elapsed(ms) {
  const a = Math.abs(ms), s = Math.floor(a / 1000), rest = Math.round(a - s * 1000);
  return (ms < 0 ? '−' : '') + (s >= 3600 ? Math.floor(s / 3600) + ':' + two(Math.floor(s / 60) % 60) : Math.floor(s / 60)) + ':' + two(s % 60) +
    (rest ? '.' + String(rest).padStart(3, '0') : '');
}
const clock = ms => new Date(head.start + ms).toISOString().replace('T', ' ').replace('.000Z', 'Z').replace('Z', ' UTC');
function length(ms) {
  if (ms < 1000) return digits(ms, 4) + ' ms';
  if (ms < 60000) return digits(ms / 1000, 5) + ' s';
  return ms % 3600000 === 0 ? ms / 3600000 + ' h' : ms % 60000 === 0 ? ms / 60000 + ' min' : digits(ms / 1000, 8) + ' s';
}
const from = k => head.first + k * head.column;
const to = k => Math.min(from(k + 1), Math.max(head.end, from(k) + head.interval));
const span = k => elapsed(from(k)) + ' to ' + elapsed(to(k));
const columnAt = ms => Math.min(head.columns - 1, Math.max(0, Math.floor((ms - head.first) / head.column)));

// ---- what is shown

const dimensions = ['host', 'job', 'log', 'direction'];
const all = {host: '', job: '', log: '', direction: 'all'};
const key = d => JSON.stringify(dimensions.map(n => d[n] || all[n]));
const scopeAt = new Map(head.scopes.map((d, i) => [key(d), i]));
const values = Object.fromEntries(dimensions.map(n => [n, [...new Set(head.scopes.map(d => d[n] || all[n]))].filter(v => v !== all[n])]));
const plural = {host: 'hosts', job: 'jobs', log: 'logs', direction: 'directions'};
const most = 8; // lines that can be told apart

const state = {...all, compare: '', percentile: String(Math.max(0, head.percentiles.indexOf('99'))), hidden: new Set(['max', 'mean', 'min']), theme: 'system'};
const views = {};
let zoom = null, cursor = null, spectrumCursor = null, lines = [], spectra = [];

const named = head.percentiles.map((p, i) => ({name: 'p' + p, of: s => s.p[i], ci: s => s.ci && s.ci[i], total: s => s.total[i]}));
const n = named.length;
const measures = [...named,
  {name: 'max', of: s => s.max, total: s => s.total[n + 1]},
  {name: 'mean', of: s => s.mean, total: s => s.total[n + 2]},
  {name: 'min', of: s => s.min, total: s => s.total[n]}];

const chosen = () => scopeAt.get(key(state));
const scopeName = d => dimensions.filter(x => (d[x] || all[x]) !== all[x]).map(x => d[x]).join(' · ') || 'all I/Os';

// others are the scopes that differ from what is chosen in one dimension.
function others(dim) {
  return values[dim].map(v => ({...state, [dim]: v})).filter(d => scopeAt.has(key(d))).map(d => ({name: d[dim], scope: scopeAt.get(key(d))}));
}

// keyed is what a line is called in a chart: names from outside must not be keys of objects.
const keyed = (name, i) => ({name, key: 'line ' + i});

// series are the lines over time: measures of one scope, or one measure of several.
function series() {
  const scope = chosen();
  if (!state.compare) {
    return measures.map((m, i) => ({name: m.name, key: m.name, scope, measure: m, look: i, hidden: state.hidden.has(m.name)}));
  }
  const m = measures[+state.percentile];
  return others(state.compare)
    .sort((a, b) => Math.abs(m.total(data.scopes[b.scope])) - Math.abs(m.total(data.scopes[a.scope])))
    .slice(0, most)
    .map((o, i) => ({...keyed(o.name, i), scope: o.scope, measure: m, look: i, hidden: state.hidden.has(o.name)}));
}

// points are a series as steps: (t, v) holds from t on; null ends a stretch.
function points(key, at, n, ci, limit = null) {
  const out = [];
  for (let k = 0; k < head.columns; k++) {
    if (!n[k]) continue;
    const v = Math.max(1, Math.abs(at[k]));
    const p = {p: key, t: from(k), v, lower: null, upper: null, limit, k};
    if (ci && ci.lower[k] >= 0 && ci.upper[k] >= 0) [p.lower, p.upper] = [Math.max(1, ci.lower[k]), Math.max(1, ci.upper[k])];
    out.push(p);
    if (k + 1 === head.columns || !n[k + 1]) out.push({...p, t: to(k), k: null}, {p: key, t: to(k), v: null, lower: null, upper: null, limit: null, k: null});
  }
  return out;
}

function ticks(lo, hi) {
  const out = [], decades = Math.log10(hi / lo), steps = decades <= 1.2 ? [1, 2, 3, 4, 5, 6, 8] : decades <= 3.2 ? [1, 2, 5] : [1];
  for (let d = Math.floor(Math.log10(lo)); d <= Math.log10(hi); d++) for (const m of steps) {
    const v = m * 10 ** d;
    if (v >= lo * 0.999 && v <= hi * 1.001) out.push(v);
  }
  if (out.length > 2) return out;
  const rough = (hi - lo) / 5, unit = 10 ** Math.floor(Math.log10(rough)), step = unit * [1, 2, 5, 10].find(m => m * unit >= rough);
  return Array.from({length: Math.floor(hi / step) - Math.ceil(lo / step) + 1}, (_, i) => (Math.ceil(lo / step) + i) * step);
}

function timeTicks([a, b], width) {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 15000, 30000, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5, 864e5, 1728e5, 6048e5];
  const step = steps.find(s => (b - a) / s <= Math.max(2, width / 95)) || steps.at(-1);
  const out = [];
  for (let t = Math.ceil(a / step) * step; t <= b; t += step) out.push(t);
  return out;
}

// around is a domain for a log axis with some air.
function around(lo, hi) {
  if (!(lo <= hi)) return [1e3, 1e6];
  const air = Math.max(Math.pow(hi / lo, 0.04), 1.08);
  return [lo / air, hi * air];
}

// ---- charts

const css = name => getComputedStyle(root).getPropertyValue(name).trim();
const palette = () => Array.from({length: most}, (_, i) => css('--s' + i));
// Dashes tell lines apart where colors cannot, but not in a line that goes up and down
// at every pixel.
const dashes = head.columns > 150 ? Array.from({length: 8}, () => [1, 0]) : [[1, 0], [7, 3], [2, 2], [1, 0], [7, 3], [2, 2], [1, 0], [7, 3]];

function config() {
  const font = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  const ink = css('--ink'), quiet = css('--quiet'), line = css('--line');
  return {
    background: null, font, aria: false, view: {stroke: null},
    axis: {labelColor: quiet, titleColor: quiet, gridColor: css('--grid'), domainColor: line, tickColor: line, labelFontSize: 12, labelFont: font},
    line: {interpolate: 'step-after'}, area: {interpolate: 'step-after'}, rule: {color: ink}, text: {color: ink, fontSize: 12, font},
  };
}

const overTime = () => {
  const inside = 'x() >= 0 && x() <= width && y() >= -20 && y() <= height + 30';
  return [
    {name: 'domain', value: [head.first, to(head.columns - 1)]},
    {name: 'drag', value: null, on: [
      {events: 'mousedown', update: inside + ' ? [x(), x()] : null'},
      {events: '[mousedown, window:mouseup] > window:mousemove!', update: 'drag ? [drag[0], clamp(x(), 0, width)] : null'},
    ]},
    {name: 'zoom', value: zoom, on: [{events: 'dblclick', update: 'null'}]},
    {name: 'shown', update: 'zoom || domain'},
    {name: 'timeTicks', value: []},
    {name: 'at', value: null, on: [
      {events: 'mousemove', update: inside + " ? +invert('x', x()) : null"}, {events: 'mouseout', update: 'null'}]},
  ];
};
const overPercentiles = () => [
  {name: 'at', value: null, on: [
    {events: 'mousemove', update: "x() >= 0 && x() <= width ? +invert('x', x()) : null"}, {events: 'mouseout', update: 'null'}]},
];

// steer makes a compiled chart follow the page: its domains, looks and cursor are
// signals, and dragging chooses a time. What it draws stays as the spec has it.
function steer(vg, chart) {
  const scale = name => vg.scales.find(s => s.name === name);
  const time = chart !== 'spectrum';
  vg.autosize = {type: 'fit', contains: 'padding'};
  vg.padding = 3;
  vg.signals = [...(vg.signals || []), ...(time ? overTime() : overPercentiles()),
    {name: 'ink', value: css('--ink')}, {name: 'paper', value: css('--paper')}, {name: 'extent', value: [1, 10]}, {name: 'extentTicks', value: []},
    {name: 'names', value: []}, {name: 'colors', value: []}, {name: 'dashed', value: []}];
  vg.data.push({name: 'pointed'});
  scale('x').domain = {signal: time ? 'shown' : 'extentX'};
  if (!time) vg.signals.push({name: 'extentX', value: [1, 10]});
  scale('y').domain = {signal: 'extent'};
  delete scale('y').nice;
  if (chart === 'heat') {
    scale('color').domain = {signal: 'heat'};
    scale('color').range = {signal: 'colors'};
    scale('color').interpolate = 'lab';
    const cells = vg.marks.find(m => m.type === 'rect').encode.update;
    cells.x2.offset = cells.y.offset = 0.7; // no seams between cells
    vg.signals.push({name: 'heat', value: [0, 1]}, {name: 'cursorY', value: null, on: [
      {events: 'mousemove', update: "y() >= 0 && y() <= height ? invert('y', y()) : null"}, {events: 'mouseout', update: 'null'}]});
    delete vg.legends;
  } else {
    Object.assign(scale('color'), {domain: {signal: 'names'}, range: {signal: 'colors'}});
    vg.scales = vg.scales.filter(s => s.name !== 'strokeDash');
    vg.scales.push({name: 'strokeDash', type: 'ordinal', domain: {signal: 'names'}, range: {signal: 'dashed'}});
    delete vg.legends;
  }
  for (const a of vg.axes) {
    if (a.scale === 'x' && time) Object.assign(a, {values: {signal: 'timeTicks'}, title: null, labelFlush: true, labelBound: true});
    if (a.scale === 'y') Object.assign(a, {minExtent: 54, maxExtent: 54, title: null});
    if (a.scale === 'y' && chart !== 'rate' && a.values) a.values = {signal: 'extentTicks'};
    if (a.scale === 'y' && chart !== 'rate' && a.grid) a.values = {signal: 'extentTicks'};
    if (a.scale === 'x' && time && a.grid) a.values = {signal: 'timeTicks'};
  }
  // The page has its own way to say what a mark is, for eyes and for ears.
  for (const d of vg.data) if (d.transform) d.transform = d.transform.filter(t => t.type !== 'formula' || !['latency', 'time', 'confidence', 'within'].includes(t.as));
  vg.marks = vg.marks.filter(m => m.type !== 'symbol');
  (function strip(marks) {
    for (const m of marks) {
      const u = m.encode && m.encode.update;
      if (u) { delete u.description; delete u.tooltip; }
      if (m.type === 'line' && !u.strokeDash) u.strokeDash = {scale: 'strokeDash', field: 'p'};
      delete m.sort; // a stretch ends where the next may begin: rows come in order
      m.clip = m.type !== 'group';
      m.interactive = m.aria = false;
      if (m.marks) strip(m.marks);
    }
  })(vg.marks);
  vg.marks.push({type: 'rule', name: 'cursorRule', aria: false, clip: true, interactive: false, encode: {update: {
    x: {scale: 'x', signal: 'at || 0'}, y: {value: 0}, y2: {signal: 'height'}, stroke: {signal: 'ink'}, opacity: {signal: 'at === null ? 0 : 0.45'}}}});
  if (chart !== 'heat') vg.marks.push({type: 'symbol', name: 'dots', aria: false, clip: true, interactive: false, from: {data: 'pointed'}, encode: {update: {
    x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'v'}, size: {value: 44}, fill: {scale: 'color', field: 'p'},
    stroke: {signal: 'paper'}, strokeWidth: {value: 1.5}}}});
  if (time) vg.marks.push({type: 'rect', name: 'dragged', aria: false, clip: true, interactive: false, encode: {update: {
    x: {signal: 'drag ? min(drag[0], drag[1]) : 0'}, x2: {signal: 'drag ? max(drag[0], drag[1]) : 0'},
    y: {value: 0}, y2: {signal: 'height'}, fill: {signal: 'ink'}, opacity: {value: 0.12}}}});
  return vg;
}

const heights = {percentiles: 330, rate: 100, heat: 300, spectrum: 330};

function draw(chart) {
  const el = $(chart);
  if (views[chart]) views[chart].finalize();
  const vg = steer(vegaLite.compile({...specs[chart], height: heights[chart]}, {config: config(), logger: quietly}).spec, chart);
  const view = new vega.View(vega.parse(vg, null, {ast: true}), {
    expr: vega.expressionInterpreter, renderer: chart === 'heat' ? 'canvas' : 'svg', container: el, hover: false, tooltip: () => {}, logLevel: vega.Warn,
  });
  view.width(el.clientWidth);
  views[chart] = view;
  if (chart === 'spectrum') {
    view.addSignalListener('at', (_, x) => setSpectrumCursor(x === null ? null : nearest(x)));
    return view;
  }
  view.addSignalListener('at', (_, t) => setCursor(t === null ? null : columnAt(t)));
  view.addSignalListener('zoom', (_, z) => setZoom(z));
  return view;
}
// Vega-Lite warns of domains that steer replaces.
const quietly = {level() { return this; }, warn() { return this; }, info() { return this; }, debug() { return this; }, error: (...a) => { console.error(...a); return quietly; }};

// A drag ends wherever the button is let go.
addEventListener('mouseup', () => {
  for (const view of Object.values(views)) {
    let drag = null;
    try { drag = view.signal('drag'); } catch { continue; } // the spectrum has none
    if (!drag) continue;
    view.signal('drag', null);
    const x = view.scale('x'), [a, b] = [...drag].sort((p, q) => p - q);
    if (b - a > 4) setZoom([x.invert(a), x.invert(b)]);
    view.runAsync();
  }
});

const shown = () => zoom || [head.first, to(head.columns - 1)];

function setZoom(z) {
  if (z) {
    const full = [head.first, to(head.columns - 1)], least = Math.min(2 * head.column, full[1] - full[0]);
    let [a, b] = z;
    if (b - a < least) { const m = (a + b) / 2; [a, b] = [m - least / 2, m + least / 2]; }
    if (a < full[0]) [a, b] = [full[0], Math.min(full[1], b + full[0] - a)];
    if (b > full[1]) [a, b] = [Math.max(full[0], a + full[1] - b), full[1]];
    z = a <= full[0] && b >= full[1] ? null : [a, b];
  }
  if (String(z) === String(zoom)) return;
  zoom = z;
  for (const c of ['percentiles', 'rate', 'heat']) {
    views[c].signal('zoom', zoom).signal('timeTicks', timeTicks(shown(), views[c].width())).runAsync();
  }
  covers();
  remember();
}

// ---- filling

function fill() {
  const scope = chosen();
  $('trouble').hidden = scope !== undefined;
  if (scope === undefined) {
    $('trouble').textContent = 'There is no I/O of ' + scopeName(state) + '.';
  }
  lines = scope === undefined ? [] : series();
  const visible = lines.filter(l => !l.hidden), colors = palette();
  const looks = (view, of) => view.signal('names', of.map(l => l.key)).signal('colors', of.map(l => colors[l.look % most])).signal('dashed', of.map(l => dashes[l.look % most]));

  const rows = visible.flatMap(l => points(l.key, l.measure.of(data.scopes[l.scope]), data.scopes[l.scope].n, state.compare ? null : l.measure.ci && l.measure.ci(data.scopes[l.scope]), slaLimit(l)));
  const seen = [...rows.flatMap(r => r.v === null ? [] : [r.v, r.lower, r.upper, r.limit].filter(v => v !== null))];
  const extent = around(seen.reduce((a, b) => Math.min(a, b), Infinity), seen.reduce((a, b) => Math.max(a, b), 0));
  looks(views.percentiles.data('points', rows), visible).signal('extent', extent).signal('extentTicks', ticks(...extent));

  const rated = state.compare ? visible : lines.length ? [{key: 'rate', scope, look: 0}] : [];
  const rates = rated.flatMap(l => points(l.key, data.scopes[l.scope].rate, data.scopes[l.scope].n));
  looks(views.rate.data('points', rates), rated).signal('extent', [0, 1.05 * rates.reduce((a, r) => Math.max(a, r.v || 0), 1)]);

  fillHeat(scope);

  spectra = [];
  if (scope !== undefined) {
    const of = state.compare ? others(state.compare) : [{name: scopeName(state), scope}];
    if (!state.compare && state.direction === all.direction && values.direction.length > 1) of.push(...others('direction'));
    spectra = (state.compare ? lines : of).slice(0, most).map((o, i) => ({...keyed(o.name, i), scope: o.scope, look: i}));
  }
  const curves = spectra.flatMap(l => curve(data.scopes[l.scope]).map(c => ({p: l.key, x: c.x, v: Math.max(1, Math.abs(c.v))})));
  const high = curves.reduce((a, c) => Math.max(a, c.v), 0), low = curves.reduce((a, c) => Math.min(a, c.v), Infinity), reach = around(low, high);
  looks(views.spectrum.data('points', curves), spectra).signal('extent', reach).signal('extentTicks', ticks(...reach))
    .signal('extentX', [1, curves.reduce((a, c) => Math.max(a, c.x), 10)]);

  for (const c of ['percentiles', 'rate', 'heat']) views[c].signal('timeTicks', timeTicks(shown(), views[c].width()));
  $('percentile').max = scope === undefined ? 0 : data.scopes[scope].curve.length - 1;
  legend();
  cards();
  describe();
  covers();
  setCursor(cursor, true);
  setSpectrumCursor(spectrumCursor, true);
  for (const d of document.querySelectorAll('details[data-table]')) table(d);
  return Promise.all(Object.values(views).map(v => v.runAsync()));
}

// slaLimit is the limit in ns of the SLA rule on a line, or null.
function slaLimit(line) {
  const direction = head.scopes[line.scope].direction;
  const limits = (head.sla || []).filter(s => s.direction === direction && s.measure === line.measure.name).map(s => s.limit);
  return limits.length ? Math.min(...limits) : null;
}

// curve is a spectrum: x is 1/(1-p).
const curve = s => s.curve.map((v, i) => i === s.curve.length - 1 ? {p: 100, x: Math.max(1, s.totalN[0]), v} : {p: head.ladder[i], x: 100 / (100 - head.ladder[i]), v});

// heatOf adds up the heat maps of the leaves of a scope: rows by column.
function heatOf(scope) {
  const d = head.scopes[scope], rows = new Map();
  head.leaves.forEach((l, i) => {
    if (!dimensions.every(x => (d[x] || all[x]) === all[x] || d[x] === l[x])) return;
    data.leaves[i].rows && data.leaves[i].rows.forEach((counts, r) => {
      r += data.leaves[i].from;
      if (!counts.length) return;
      if (!rows.has(r)) rows.set(r, new Float64Array(head.columns));
      const sum = rows.get(r);
      for (let k = 0; k < counts.length; k++) sum[k] += counts[k];
    });
  });
  return rows;
}

let heat = new Map();
function fillHeat(scope) {
  heat = scope === undefined ? new Map() : heatOf(scope);
  const cells = [];
  let max = 1, lo = Infinity, hi = 0;
  for (const [r, counts] of heat) {
    const bottom = Math.max(head.edges[r], head.edges[r + 1] / 2), top = head.edges[r + 1];
    [lo, hi] = [Math.min(lo, bottom), Math.max(hi, top)];
    counts.forEach((n, k) => {
      if (!n) return;
      max = Math.max(max, n);
      cells.push({t: from(k), t2: to(k), lo: bottom, hi: top, n, k, r});
    });
  }
  const extent = lo < hi ? [lo, hi] : [1e3, 1e6];
  $('ramp-most').textContent = count(max);
  views.heat.data('cells', cells).signal('extent', extent).signal('extentTicks', ticks(...extent)).signal('heat', [0, max]).signal('colors', css('--ramp').split(/,\s*/));
}

function swatch(look) {
  const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg'), l = document.createElementNS(ns, 'line');
  for (const [k, v] of Object.entries({width: 26, height: 10, 'aria-hidden': 'true'})) svg.setAttribute(k, v);
  for (const [k, v] of Object.entries({x1: 0, x2: 26, y1: 5, y2: 5, stroke: palette()[look % most], 'stroke-width': 3, 'stroke-dasharray': dashes[look % most][1] ? dashes[look % most].join(' ') : 'none'})) l.setAttribute(k, v);
  svg.append(l);
  return svg;
}

function legend() {
  const box = $('legend'), focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.series : undefined;
  box.replaceChildren(box.firstElementChild, ...lines.map(l => {
    const input = make('input', {type: 'checkbox', checked: !l.hidden});
    input.dataset.series = l.name;
    input.onchange = () => { input.checked ? state.hidden.delete(l.name) : state.hidden.add(l.name); fill(); remember(); };
    return make('label', null, input, swatch(l.look), make('span', {textContent: l.name}), make('output', {className: 'value'}));
  }));
  if (focused !== undefined) [...box.querySelectorAll('input')].find(i => i.dataset.series === focused)?.focus();
  $('legend-spectrum').replaceChildren(...spectra.map(l => make('li', null, swatch(l.look), make('span', {textContent: l.name}), make('output', {className: 'value'}))));
}

function cards() {
  const scope = chosen(), s = data.scopes[scope];
  const card = (name, value) => make('div', null, make('dt', {textContent: name}), make('dd', {textContent: value}));
  $('cards').replaceChildren(...(s ? [card('I/Os', count(s.totalN[0])), card('I/Os / s', count(s.totalRate[0])), card('mean', latency(s.total[n + 2])),
    ...named.map(m => card(m.name, latency(m.total(s)))), card('max', latency(s.total[n + 1]))] : []));
}

function describe() {
  const s = data.scopes[chosen()];
  if (!s) return;
  const what = state.compare ? measures[+state.percentile].name + ' of ' + lines.map(l => l.name).join(', ') : named.map(m => m.name).join(', ');
  $('d-percentiles').textContent = `${what} of ${scopeName(state)} from ${elapsed(head.first)} to ${elapsed(head.end)}. Whole run: ` +
    named.map(m => m.name + ' ' + latency(m.total(s))).join(', ') + '. Use the slider below for single points, or the table.';
  $('d-heat').textContent = `I/Os of ${scopeName(state)} by time and latency; darker or brighter is more. The table has the counts.`;
}

function covers() {
  const shownColumns = Math.round((shown()[1] - shown()[0]) / head.column);
  let text = `${scopeName(state)[0].toUpperCase() + scopeName(state).slice(1)}. Each point covers ${length(head.column)}`;
  text += head.quanta > 1 ? `: the histograms of ${head.quanta} quanta of ${length(head.interval)} are added up, and the percentiles taken from the sum.` : ': one quantum.';
  text += ' Where nothing completed there is no line.';
  if (!state.compare) text += ' Bands are 95 % confidence limits.';
  if (state.compare && values[state.compare].length > most) text += ` Of ${values[state.compare].length} ${plural[state.compare]} the ${most} with the highest ${measures[+state.percentile].name} are shown.`;
  const rules = (head.sla || []).filter(p => lines.some(l => slaLimit(l) === p.limit)).map(p => p.text);
  if (rules.length) text += ` SLA rules, drawn as lines of long dashes: ${rules.join('; ')}.`;
  if (zoom) text += ` Shown: ${elapsed(Math.round(zoom[0]))} to ${elapsed(Math.round(zoom[1]))}, ${shownColumns} points.`;
  $('covers').textContent = text;
}

// ---- pointing

function setCursor(k, force) {
  if (k === cursor && !force) return;
  cursor = k;
  const t = k === null ? null : (from(k) + to(k)) / 2;
  for (const c of ['percentiles', 'rate', 'heat']) {
    const dots = k === null || c === 'heat' ? [] : lines.filter(l => !l.hidden && data.scopes[l.scope].n[k])
      .map(l => ({p: l.key, x: t, v: Math.max(1, Math.abs(l.measure.of(data.scopes[l.scope])[k]))}));
    if (c === 'rate') views[c].data('pointed', []); else views[c].data('pointed', dots);
    views[c].signal('at', t).runAsync();
  }
  const s = data.scopes[chosen()];
  const labels = [...$('legend').querySelectorAll('label')];
  lines.forEach((l, i) => {
    const of = data.scopes[l.scope];
    labels[i].querySelector('output').textContent = k === null ? latency(l.measure.total(of)) : of.n[k] ? latency(l.measure.of(of)[k]) : 'no I/O';
  });
  let text = 'The whole run';
  if (k !== null && s) {
    text = span(k) + (head.start === null ? '' : ' (' + clock(from(k)) + ')') + ': ' +
      (s.n[k] ? `${count(s.n[k])} I/Os, ${count(s.rate[k])} per second, ` : 'no I/O, ') + `${s.logs[k]} of ${head.logs} logs` + (head.quanta > 1 ? ' at least' : '');
  }
  $('at-time').textContent = text;
  const slider = $('time');
  if (k !== null) slider.value = k;
  slider.setAttribute('aria-valuetext', text + ', ' + lines.filter(l => !l.hidden).map(l => l.name + ' ' + labels[lines.indexOf(l)].querySelector('output').textContent).join(', '));
  heatText();
}

function heatText() {
  if (cursor === null) { $('at-heat').textContent = 'Point at a cell to see its count.'; return; }
  const y = views.heat.signal('cursorY');
  let text = span(cursor) + ': ';
  const rows = [...heat].filter(([, counts]) => counts[cursor]);
  const at = y === null ? undefined : head.edges.findIndex((e, r) => r + 1 < head.edges.length && e <= y && y < head.edges[r + 1]);
  if (at !== undefined && at >= 0) {
    text += `${latency(head.edges[at])} to ${latency(head.edges[at + 1])}: ${count(heat.has(at) ? heat.get(at)[cursor] : 0)} I/Os`;
  } else if (rows.length) {
    const [r, counts] = rows.reduce((a, b) => b[1][cursor] > a[1][cursor] ? b : a);
    text += `most I/Os, ${count(counts[cursor])}, at ${latency(head.edges[r])} to ${latency(head.edges[r + 1])}`;
  } else {
    text += 'no I/O';
  }
  $('at-heat').textContent = text;
}

function nearest(x) {
  const s = data.scopes[chosen()];
  if (!s) return null;
  const c = curve(s);
  return c.reduce((best, p, i) => Math.abs(Math.log(p.x / x)) < Math.abs(Math.log(c[best].x / x)) ? i : best, 0);
}

const percent = p => String(+p.toPrecision(12)) + ' %';
function setSpectrumCursor(i, force) {
  if (i === spectrumCursor && !force) return;
  const s = data.scopes[chosen()], c = s ? curve(s) : [];
  if (i !== null && i >= c.length) i = null;
  spectrumCursor = i;
  const at = i === null ? null : c[i];
  const outputs = [...$('legend-spectrum').querySelectorAll('output')], dots = [];
  spectra.forEach((l, j) => {
    let v = null;
    if (at) {
      const own = curve(data.scopes[l.scope]), found = at.p === 100 ? own.at(-1) : own.find(o => o.p === at.p);
      v = found ? found.v : null;
      if (found) dots.push({p: l.key, x: found.x, v: Math.max(1, Math.abs(found.v))});
    }
    outputs[j].textContent = at ? latency(v) : '';
  });
  const text = at ? percent(at.p) + ' of the I/Os took no longer than' : 'Point at the chart, or use the slider, to see the latency at a percentile.';
  $('at-spectrum').textContent = text;
  const slider = $('percentile');
  if (i !== null) slider.value = i;
  slider.setAttribute('aria-valuetext', text + ' ' + spectra.map((l, j) => outputs[j].textContent + ' ' + l.name).join(', '));
  views.spectrum.data('pointed', dots).signal('at', at ? at.x : null).runAsync();
}

// ---- tables, made when they are opened

function table(details) {
  details.querySelector('.scroll')?.remove();
  if (!details.open || chosen() === undefined) return;
  const s = data.scopes[chosen()];
  const cell = (value, text) => make('td', null, value === null ? '–' : make('data', {value: String(Math.abs(value)), textContent: text}));
  const th = (text, scope) => make('th', {scope, textContent: text});
  let top = [], rows = [];
  if (details.dataset.table === 'percentiles') {
    top = ['from', 'to', 'I/Os', 'I/Os per second', 'logs', ...lines.map(l => l.name)];
    for (let k = 0; k < head.columns; k++) {
      rows.push([th(elapsed(from(k)), 'row'), make('td', {textContent: elapsed(to(k))}), cell(s.n[k], count(s.n[k])), cell(s.rate[k], count(s.rate[k])), cell(s.logs[k], String(s.logs[k])),
        ...lines.map(l => { const of = data.scopes[l.scope], v = of.n[k] ? l.measure.of(of)[k] : null; return cell(v, latency(v)); })]);
    }
  } else if (details.dataset.table === 'heat') {
    const found = [...heat.keys()].sort((a, b) => a - b);
    top = ['from', ...found.map(r => latency(head.edges[r]) + ' to ' + latency(head.edges[r + 1]))];
    for (let k = 0; k < head.columns; k++) rows.push([th(elapsed(from(k)), 'row'), ...found.map(r => { const v = heat.get(r)[k]; return cell(v, count(v)); })]);
  } else {
    top = ['percentile', ...spectra.map(l => l.name)];
    const curves = spectra.map(l => curve(data.scopes[l.scope]));
    curve(s).forEach((c, i, whole) => rows.push([th(percent(c.p), 'row'), ...curves.map(own => {
      const found = i === whole.length - 1 ? own.at(-1) : own.find(o => o.p === c.p);
      return cell(found ? found.v : null, latency(found ? found.v : null));
    })]));
  }
  const name = details.querySelector('summary').textContent;
  details.append(make('div', {className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': name},
    make('table', null, make('thead', null, make('tr', null, ...top.map(t => th(t, 'col')))), make('tbody', null, ...rows.map(r => make('tr', null, ...r))))));
}

// sortable lets the table of the whole run be sorted by each of its columns.
function sortable(t) {
  const body = t.tBodies[0];
  [...t.tHead.rows[0].cells].forEach((th, i) => {
    const button = make('button', {type: 'button', textContent: th.textContent});
    button.onclick = () => {
      const down = th.getAttribute('aria-sort') !== 'descending';
      for (const other of t.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const value = r => { const d = r.cells[i].querySelector('data'); return d ? +d.value : r.cells[i].textContent; };
      body.append(...[...body.rows].sort((a, b) => { const [x, y] = [value(a), value(b)]; return (x < y ? 1 : x > y ? -1 : 0) * (down ? 1 : -1); }));
    };
    th.replaceChildren(button);
  });
}

// ---- controls

function controls() {
  const form = $('controls');
  for (const dim of dimensions) {
    if (values[dim].length < 2) continue; // no choice
    form[dim].append(make('option', {value: all[dim], textContent: 'all'}), ...values[dim].map(v => make('option', {value: v, textContent: v})));
    $('c-' + dim).hidden = false;
    form.compare.append(make('option', {value: dim, textContent: plural[dim]}));
  }
  if (form.compare.length) {
    form.compare.prepend(make('option', {value: '', textContent: '–'}));
    $('c-compare').hidden = false;
  }
  form.percentile.append(...measures.map((m, i) => make('option', {value: String(i), textContent: m.name})));
  form.onsubmit = e => e.preventDefault();
  form.onchange = e => { state[e.target.name] = e.target.value; if (e.target.name === 'compare' && state.compare) state[state.compare] = all[state.compare]; sync(); fill(); remember(); };
  for (const b of form.querySelectorAll('[data-zoom]')) b.onclick = () => {
    const [a, b2] = shown(), w = b2 - a, m = cursor === null ? (a + b2) / 2 : (from(cursor) + to(cursor)) / 2;
    setZoom({in: [m - w / 4, m + w / 4], out: [m - w, m + w], left: [a - w / 2, b2 - w / 2], right: [a + w / 2, b2 + w / 2], all: null}[b.dataset.zoom]);
  };
  $('time').max = head.columns - 1;
  $('time').oninput = e => setCursor(+e.target.value);
  $('percentile').oninput = e => setSpectrumCursor(+e.target.value);
  for (const d of document.querySelectorAll('details[data-table]')) d.ontoggle = () => table(d);
}

function sync() {
  const form = $('controls');
  for (const name of [...dimensions, 'compare', 'percentile']) form[name].value = state[name];
  $('c-percentile').hidden = !state.compare;
}

// remember keeps what is shown in the address, so that a link shows the same.
function remember() {
  const h = new URLSearchParams();
  for (const name of [...dimensions, 'compare']) if (state[name] && state[name] !== all[name]) h.set(name, state[name]);
  if (state.compare) h.set('at', measures[+state.percentile].name);
  if (zoom) h.set('zoom', zoom.map(t => Math.round(t)).join('-'));
  try { history.replaceState(null, '', h.size ? '#' + h : location.pathname + location.search); } catch { /* not from a file in every browser */ }
}

function recall() {
  const h = new URLSearchParams(location.hash.slice(1));
  for (const name of dimensions) if (values[name].includes(h.get(name))) state[name] = h.get(name);
  if (plural[h.get('compare')] && values[h.get('compare')].length > 1) state.compare = h.get('compare');
  const i = measures.findIndex(m => m.name === h.get('at'));
  if (i >= 0) state.percentile = String(i);
  const z = (h.get('zoom') || '').match(/^(-?\d+)-(-?\d+)$/);
  return z ? [+z[1], +z[2]] : null;
}

// ---- theme, print, size

const dark = matchMedia('(prefers-color-scheme: dark)');
function theme(redraw) {
  root.dataset.theme = state.theme === 'system' ? dark.matches ? 'dark' : 'light' : state.theme;
  $('theme').textContent = 'Theme: ' + {system: 'as the system', light: 'light', dark: 'dark'}[state.theme];
  if (redraw) redrawAll();
}
function redrawAll() {
  for (const c of Object.keys(heights)) draw(c);
  return fill();
}
try { state.theme = ['light', 'dark'].find(t => t === localStorage.getItem('fiolat-theme')) || 'system'; } catch { /* no storage: as the system */ }
$('theme').hidden = false;
$('theme').onclick = () => {
  state.theme = {system: 'light', light: 'dark', dark: 'system'}[state.theme];
  try { localStorage.setItem('fiolat-theme', state.theme); } catch { /* for this time only */ }
  theme(true);
};
dark.onchange = () => theme(true);
addEventListener('beforeprint', () => { root.dataset.theme = 'light'; redrawAll(); });
addEventListener('afterprint', () => theme(true));

$('charts').hidden = false;
theme(false);
const recalled = recall();
controls();
sync();
sortable($('summary'));
await redrawAll();
if (recalled) setZoom(recalled);
let width = $('percentiles').clientWidth;
new ResizeObserver(() => {
  if ($('percentiles').clientWidth === width) return;
  width = $('percentiles').clientWidth;
  for (const c of Object.keys(heights)) {
    views[c].width($(c).clientWidth);
    if (c !== 'spectrum') views[c].signal('timeTicks', timeTicks(shown(), views[c].width()));
    views[c].runAsync();
  }
}).observe($('percentiles'));
window.fiolat = {views, head, data, state};
performance.mark('drawn');
root.dataset.ready = 'true';
})().catch(err => {
  const trouble = document.getElementById('trouble');
  trouble.textContent = 'The charts cannot be drawn: ' + err.message + '. The tables below hold the whole run.';
  trouble.hidden = false;
  document.documentElement.dataset.ready = 'false';
  throw err;
});
