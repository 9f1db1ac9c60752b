// Draws the charts and tables of a report. The numbers are all there: nothing is
// computed here but sums of counts.
const {head, ...data} = JSON.parse(utf8(await unpack('packed')));

// rowsOf is the inverse of byField in data.go.
function rowsOf(columns) {
  const fields = Object.entries(columns);
  return fields[0][1].map((_, i) => Object.fromEntries(fields.map(([name, values]) => [name, values[i]])));
}

// completed adds to the numbers of a kind or run what follows from them.
function completed(head, d) {
  [d.scopes, d.leaves] = [rowsOf(d.scopes), rowsOf(d.leaves)];
  const statistics = d.by.map(rowsOf);
  for (const by of statistics.flat()) {
    by.rate = by.n.map((n, k) => n && (by.covered[k] ? n / by.covered[k] : null));
    const limit = (off, i, sign) => off.map((v, k) => v < 0 ? -1 : Math.max(1, Math.abs(by.p[i][k])) * (1 + sign * v / 100));
    by.ci = by.limits.map(({lower, upper}, i) => ({lower: limit(lower, i, -1), upper: limit(upper, i, 1)}));
  }
  head.edges = d.edges;
  head.ladder = ladder(head.ios);
  head.coarse = {column: head.column, columns: head.columns, quanta: head.quanta};
  d.grids = [0, 1].map(i => d.scopes.map((s, k) => ({...s, ...statistics[i]?.[k]})));
  d.scopes = d.grids[0];
}

// ladder are the percentiles of the spectrum of n I/Os, all below 100. As in HdrHistogram ("percentile ticks per half
// distance"), each ten steps halve the share above, until it is less than one I/O.
function ladder(n) {
  const out = [0];
  for (let half = 1; half < n; half *= 2) for (let tick = 1; tick <= 10; tick++) {
    const left = (1 - tick / 20) / half;
    if (left * n < 1) break;
    out.push(100 * (1 - left));
  }
  return out;
}
completed(head, data);
(data.kinds || []).forEach((d, i) => completed(head.kinds[i], d));

// ---- times as people read them

const two = n => String(n).padStart(2, '0');
function elapsed(ms) {
  const a = Math.abs(ms), s = Math.floor(a / 1000), rest = Math.round(a - s * 1000);
  return (ms < 0 ? '−' : '') + (s >= 3600 ? Math.floor(s / 3600) + ':' + two(Math.floor(s / 60) % 60) : Math.floor(s / 60)) + ':' + two(s % 60) +
    (rest ? '.' + String(rest).padStart(3, '0') : '');
}
// clock is the wall clock, of the browser's time zone or UTC, in ms since 1970 as if that were UTC.
const clock = (ms, local) => { const t = head.start + ms; return t - (local ? new Date(t).getTimezoneOffset() * 6e4 : 0); };
const dated = t => new Date(Math.round(t)).toISOString().replace('T', ' ').replace('Z', '').replace('.000', '');
// stamp is a time by the clock chosen. What begins before the run holds nothing from then, so it is of 0.
const stamp = ms => state.clock === 'start' ? elapsed(Math.max(0, ms)) : dated(clock(ms, state.clock === 'local')) + (state.clock === 'utc' ? ' UTC' : '');
// tickText is a time on an axis.
function tickText(ms) {
  if (state.clock === 'start') return elapsed(Math.max(0, ms));
  const [day, time] = dated(clock(ms, state.clock === 'local')).split(' ');
  return time === '00:00:00' ? day : time;
}
function length(ms) {
  if (ms < 1000) return digits(ms, 4) + ' ms';
  if (ms < 60000) return digits(ms / 1000, 5) + ' s';
  return ms % 3600000 === 0 ? ms / 3600000 + ' h' : ms % 60000 === 0 ? ms / 60000 + ' min' : digits(ms / 1000, 8) + ' s';
}
const from = k => head.first + k * head.column;
const to = k => Math.min(from(k + 1), head.end > from(k) ? head.end : from(k) + head.interval); // the last may be shorter
const span = k => stamp(from(k)) + ' to ' + stamp(to(k));
const at = (grid, ms) => Math.min(grid.columns - 1, Math.max(0, Math.floor((ms - head.first) / grid.column)));
const columnAt = ms => at(head, ms);
// Histograms may be in longer columns.
const cellFrom = k => head.first + k * head.cells.column;
const cellTo = k => Math.min(cellFrom(k + 1), Math.max(head.end, cellFrom(k) + head.interval));
const cellAt = ms => at(head.cells, ms);
const middle = k => (from(k) + to(k)) / 2;

const ios = n => count(n) + (n === 1 ? ' I/O' : ' I/Os');

// ---- what is shown

const dimensions = ['host', 'job', 'log', 'direction'];
const all = {host: '', job: '', log: '', direction: 'all'};
// Apart is the choice of all I/Os in which charts over time have lines for each direction.
const of = (d, n) => d[n] === 'apart' ? all[n] : d[n] || all[n];
const key = d => JSON.stringify(dimensions.map(n => of(d, n)));
const scopeAt = new Map(head.scopes.map((d, i) => [key(d), i]));
const natural = new Intl.Collator('en', {numeric: true}).compare; // osd3 is before osd12
const values = Object.fromEntries(dimensions.map(n => [n, [...new Set(head.scopes.map(d => d[n] || all[n]))].filter(v => v !== all[n]).sort(n === 'direction' ? () => 0 : natural)]));
// mapped is the dimension that the map over time has a row of each value of: hosts, else jobs.
const mapped = ['host', 'job'].find(n => values[n].length > 1);
const plural = {host: 'hosts', job: 'jobs', log: 'logs', direction: 'directions'};

const clocks = head.start === null ? ['start'] : ['start', 'utc', 'local'];
const shownFirst = new Set([...['p' + head.percentiles[0], 'p99', 'p' + head.percentiles.at(-1)], ...(head.sla || []).map(rule => rule.measure)]);
const state = {...all, direction: values.direction.length > 1 ? 'apart' : all.direction, clock: head.first < 0 && head.start !== null ? 'utc' : 'start', compare: '', counted: 'completed'};
let zoom = null, cursor = null, spectrumCursor = null, bucketCursor = null, lines = [], spectra = [];

const named = head.percentiles.map((p, i) => ({name: 'p' + p, of: s => s.p[i], ci: s => s.ci && s.ci[i], total: s => s.total[i]}));
const n = named.length;
const measures = [...named,
  {name: 'max', of: s => s.max, total: s => s.total[n + 1]},
  {name: 'mean', of: s => s.mean, total: s => s.total[n + 2]},
  {name: 'min', of: s => s.min, total: s => s.total[n]}];

state.hidden = new Set(measures.map(m => m.name).filter(name => !shownFirst.has(name)));
state.percentile = String(Math.max(0, measures.findIndex(m => m.name === 'p99'), measures.findIndex(m => m.name === head.measure)));

// counted is a scope with its statistics over time as chosen: an I/O counts when it completes, or while it is in flight.
const counted = i => { const s = data.scopes[i]; return s && s.inflight && state.counted === 'inflight' ? {...s, ci: null, ...s.inflight} : s; };
const chosen = () => scopeAt.get(key(state));
const titled = text => text[0].toUpperCase() + text.slice(1);
const scopeName = d => dimensions.filter(x => of(d, x) !== all[x]).map(x => d[x]).join(' · ') || 'all I/Os';

// others are the scopes that differ from what is chosen in one dimension.
function others(dim) {
  return values[dim].map(v => ({...state, [dim]: v})).filter(d => scopeAt.has(key(d))).map(d => ({name: d[dim], scope: scopeAt.get(key(d))}));
}

// keyed is what a line is called in a chart: names from outside must not be keys of objects.
const keyed = (name, i) => ({name, key: 'line ' + i});

// look is how the nth of several lines is drawn.
const look = i => ({color: palette()[i % most], dash: dashes[i % most]});

// hue is the look of a direction, lighter or darker by a share of -1 to 1.
function hue(direction, share = 0) {
  const color = palette()[head.hues[direction] ?? 0], to = css(share < 0 ? '--paper' : '--ink');
  const blend = at => Math.round(parseInt(color.substr(at, 2), 16) * (1 - Math.abs(share)) + parseInt(to.substr(at, 2), 16) * Math.abs(share));
  return {color: '#' + [1, 3, 5].map(at => blend(at).toString(16).padStart(2, '0')).join(''), dash: dashes[0]};
}

// parts are the scopes that are drawn of what is chosen: one, or one of each direction.
const parts = () => state.direction === 'apart' ? others('direction') : [{name: '', scope: chosen()}].filter(p => p.scope !== undefined);

// series are the lines over time: measures of one scope or of each direction, or one measure of several scopes.
function series() {
  if (!state.compare) {
    return measures.flatMap((m, i) => parts().map(({name, scope}) => ({name: (name + ' ' + m.name).trim(), key: (name + ' ' + m.name).trim(), group: m.name, part: name, scope, measure: m,
      ...(name ? {...hue(name, i < n ? 0.9 * i / Math.max(1, n - 1) - 0.5 : 0), dash: dashes[i % most]} : look(i)), hidden: state.hidden.has(m.name)})));
  }
  const m = measures[+state.percentile];
  return others(state.compare)
    .sort((a, b) => Math.abs(m.total(data.scopes[b.scope])) - Math.abs(m.total(data.scopes[a.scope])))
    .slice(0, most)
    .map((o, i) => ({...keyed(o.name, i), group: o.name, part: '', scope: o.scope, measure: m, ...look(i), hidden: state.hidden.has(o.name)}));
}

// partials are the stretches of time of which the logs cover a part only.
const partials = s => Object.keys(s && s.partial || {}).map(k => ({t: from(+k), t2: to(+k)}));

// gaps are the stretches of time in which nothing completed.
function gaps(s) {
  const out = [];
  if (s) s.n.forEach((n, k) => { if (!n) out.at(-1)?.t2 === from(k) ? out.at(-1).t2 = to(k) : out.push({t: from(k), t2: to(k)}); });
  return out;
}

// points are a series of a scope s as steps: (t, v) holds from t on; null ends a stretch.
function points(key, at, s, ci) {
  const out = [], n = s.n, partial = s.partial || {};
  for (let k = 0; k < head.columns; k++) {
    if (!n[k]) continue;
    const v = Math.max(1, Math.abs(at[k]));
    const p = {p: key, t: from(k), v, lower: null, upper: null, k};
    if (ci && !partial[k] && ci.lower[k] >= 0 && ci.upper[k] >= 0) [p.lower, p.upper] = [Math.max(1, ci.lower[k]), Math.max(1, ci.upper[k])];
    out.push(p);
    if (k + 1 === head.columns || !n[k + 1] || partial[k] || partial[k + 1]) out.push({...p, t: to(k), k: null}, {p: key, t: to(k), v: null, lower: null, upper: null, k: null});
  }
  return out;
}

function timeTicks([a, b], width) {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 15000, 30000, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5, 864e5, 1728e5, 6048e5];
  const step = steps.find(s => (b - a) / s <= Math.max(2, width / 95)) || steps.at(-1);
  const out = [];
  const zero = state.clock === 'start' ? 0 : clock(0, state.clock === 'local'); // round values are those of the clock
  for (let t = Math.ceil((a + zero) / step) * step - zero; t <= b; t += step) out.push(t);
  return out;
}

// around is a domain for a log axis with some air.
function around(lo, hi) {
  if (!(lo <= hi)) return [1e3, 1e6];
  const air = Math.max(Math.pow(hi / lo, 0.04), 1.08);
  return [lo / air, hi * air];
}

// ---- charts

// Dashes tell lines apart where colors cannot, but not in a line that goes up and down
// at every pixel.
const dashes = head.columns > 150 ? Array.from({length: 8}, () => [1, 0]) : [[1, 0], [7, 3], [2, 2], [1, 0], [7, 3], [2, 2], [1, 0], [7, 3]];

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
    {name: 'timeTicks', value: []}, {name: 'tickTexts', value: []},
    {name: 'at', value: null, on: [
      {events: 'mousemove', update: inside + " ? +invert('x', x()) : null"}, {events: 'mouseout', update: 'null'}]},
  ];
};
const overPercentiles = () => [
  {name: 'at', value: null, on: [
    {events: 'mousemove', update: "x() >= 0 && x() <= width ? +invert('x', x()) : null"}, {events: 'mouseout', update: 'null'}]},
];

const overTimeToo = chart => !['spectrum', 'cdf', 'counts', 'sides'].includes(chart);
const timed = ['percentiles', 'rate', 'heat', ...(mapped ? ['map'] : [])]; // the charts that follow zoom and cursor
const isMap = chart => chart === 'heat' || chart === 'map';
// about has what findings call themselves, and a sign for outliers, by the row of the map that they are about.
const about = new Map();
const names = (whose, name) => { for (const w of whose || []) if (!about.get(w)?.includes(name)) about.set(w, [...about.get(w) || [], name]); };
for (const m of head.marks || []) if (m.dimension === mapped) names(m.who, m.name);
for (const o of head.outliers || []) names(mapped === 'host' ? o.hosts : [o.job], '▾');
const labelOf = name => [name, ...about.get(name) || []].join(' ');
// left is the width of what is left of the charts over time, in which the map has names.
const left = mapped ? Math.max(54, Math.min(130, root.clientWidth / 5, 12 + 6.2 * Math.max(...values[mapped].map(v => labelOf(v).length)))) : 54;
const STALLED = '#d55e00';
const hatch = Array.from({length: 500}, (_, i) => `M${7 * i - 400},400l400,-400`).join('');

// steer makes a compiled chart follow the page: its domains, looks and cursor are
// signals, and dragging chooses a time. What it draws stays as the spec has it.
function steer(vg, chart) {
  const scale = name => vg.scales.find(s => s.name === name);
  const time = overTimeToo(chart);
  vg.signals = [...(vg.signals || []), ...(time ? overTime() : overPercentiles()),
    {name: 'ink', value: css('--ink')}, {name: 'paper', value: css('--paper')}, {name: 'extent', value: [1, 10]}, {name: 'extentTicks', value: []},
    {name: 'names', value: []}, {name: 'colors', value: []}, {name: 'dashed', value: []}];
  vg.data.push({name: 'pointed'});
  scale('x').domain = {signal: time ? 'shown' : 'extentX'};
  if (!time) vg.signals.push({name: 'extentX', value: [1, 10]});
  scale('y').domain = {signal: 'extent'};
  delete scale('y').nice;
  if (isMap(chart)) {
    scale('color').domain = {signal: 'heat'};
    scale('color').range = {signal: 'colors'};
    scale('color').interpolate = 'lab';
    const cells = vg.marks.find(m => m.type === 'rect').encode.update;
    cells.x2.offset = 0.7; // no seams between cells
    cells.y.offset = chart === 'heat' ? 0.7 : heights.map < 4 * members ? 0 : 1; // a line between rows takes too much of thin ones
    if (!cells.y.offset) cells.y2.offset = 0.7;
    vg.signals.push({name: 'labels', value: []});
    if (chart === 'heat') for (const [i, dash] of [[1, 0], [5, 3]].entries()) {
      vg.data.push({name: 'over' + i});
      for (const [stroke, width] of [['paper', 4], ['ink', 1.8]]) vg.marks.push({type: 'line', aria: false, clip: true, interactive: false, from: {data: 'over' + i}, encode: {update: {x: {scale: 'x', field: 't'}, y: {scale: 'y', field: 'v'},
        interpolate: {value: 'step-after'}, defined: {signal: 'isValid(datum.v)'}, stroke: {signal: stroke}, strokeDash: {value: stroke === 'ink' ? dash : [1, 0]}, strokeWidth: {value: width}, opacity: {value: 0.8}}}});
    }
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
    if (a.scale === 'x' && time) Object.assign(a, {values: {signal: 'timeTicks'}, title: chart === 'kinds' && !a.grid ? 'time since the start of each run' : null, labelFlush: true, labelBound: true, tickCount: 100},
      a.encode?.labels && {encode: {labels: {update: {text: {signal: 'tickTexts[indexof(timeTicks, datum.value)]'}}}}});
    if (a.scale === 'y') Object.assign(a, {minExtent: overTimeToo(chart) ? left : 54, maxExtent: overTimeToo(chart) ? left : 54, labelLimit: left - 8, title: null}, chart === 'map' && {labelOverlap: false, tickCount: members});
    if (a.scale === 'y' && !['rate', 'cdf'].includes(chart) && (a.values || a.grid || chart === 'map')) a.values = {signal: 'extentTicks'};
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
  if (chart === 'percentiles') {
    vg.data.push({name: 'marks'}, {name: 'rules'}, {name: 'ticks'});
    const rule = {y: {scale: 'y', field: 'limit'}}, ofRule = {aria: false, interactive: false, clip: true, from: {data: 'rules'}};
    vg.marks.push({type: 'rule', name: 'sla', ...ofRule, encode: {update: {...rule, x: {value: 0}, x2: {signal: 'width'}, stroke: {scale: 'color', field: 'p'}, strokeDash: {value: ruleDash}, strokeWidth: {value: 1.5}}}});
    const at = {x: {scale: 'x', field: 't'}}, top = {...at, y: {field: 'y'}}, own = {aria: false, interactive: false, clip: true, from: {data: 'marks'}};
    vg.marks.push({type: 'rect', ...own, encode: {update: {...at, x2: {scale: 'x', field: 't2'}, y: {value: 0}, y2: {signal: 'height'}, fill: {value: STALLED}, opacity: {value: 0.08}}}},
      {type: 'rule', ...own, encode: {update: {...at, y: {value: 0}, y2: {signal: 'height'}, stroke: {signal: 'ink'}, strokeDash: {value: [3, 3]}, opacity: {value: 0.6}}}},
      {type: 'symbol', name: 'mark', ...own, clip: false, encode: {update: {...top, size: {value: 210}, fill: {signal: "datum.note ? paper : '" + STALLED + "'"}, stroke: {signal: 'ink'}}}},
      {type: 'text', ...own, clip: false, encode: {update: {...top, text: {field: 'name'}, align: {value: 'center'}, baseline: {value: 'middle'}, fontSize: {value: 11}, fontWeight: {value: 'bold'},
        fill: {signal: "datum.note ? ink : '#000000'"}}}},
      {type: 'symbol', name: 'tick', ...own, from: {data: 'ticks'}, encode: {update: {...at, y: {value: 4}, shape: {value: 'triangle-down'}, size: {value: 55}, fill: {signal: 'ink'}}}});
  }
  if (time && chart !== 'map') {
    const across = {x: {scale: 'x', field: 't'}, x2: {scale: 'x', field: 't2'}, y: {value: 0}, y2: {signal: 'height'}};
    vg.data.push({name: 'partials'}, {name: 'gaps'});
    vg.marks.unshift({type: 'group', name: 'gap', clip: true, interactive: false, aria: false, from: {data: 'gaps'}, encode: {update: {...across, clip: {value: true}}}, marks: [
      {type: 'path', aria: false, interactive: false, encode: {update: {path: {value: hatch}, stroke: {signal: 'ink'}, opacity: {value: 0.3}}}},
      {type: 'text', aria: false, interactive: false, encode: {update: {text: {value: 'no I/O completed'}, x: {signal: "(scale('x', parent.t) + scale('x', parent.t2)) / 2 - scale('x', parent.t)"},
        y: {signal: 'height / 2'}, align: {value: 'center'}, fontSize: {value: 11}, fill: {signal: 'ink'}, opacity: {signal: "scale('x', parent.t2) - scale('x', parent.t) > 95 ? 1 : 0"}}}}]});
    // What is of a part of a quantum only is faded.
    if (chart !== 'heat') vg.marks.push({type: 'rect', name: 'partial', aria: false, clip: true, interactive: false, from: {data: 'partials'}, encode: {update: {...across, fill: {signal: 'paper'}, opacity: {value: 0.6}}}});
  }
  vg.marks.push({type: 'rule', name: 'cursorRule', aria: false, clip: true, interactive: false, encode: {update: {
    x: {scale: 'x', signal: 'at || 0'}, y: {value: 0}, y2: {signal: 'height'}, stroke: {signal: 'ink'}, opacity: {signal: 'at === null ? 0 : 0.45'}}}});
  if (!isMap(chart)) vg.marks.push({type: 'symbol', name: 'dots', aria: false, clip: true, interactive: false, from: {data: 'pointed'}, encode: {update: {
    x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'v'}, size: {value: 44}, fill: {scale: 'color', field: 'p'},
    stroke: {signal: 'paper'}, strokeWidth: {value: 1.5}}}});
  if (time) vg.marks.push({type: 'rect', name: 'dragged', aria: false, clip: true, interactive: false, encode: {update: {
    x: {signal: 'drag ? min(drag[0], drag[1]) : 0'}, x2: {signal: 'drag ? max(drag[0], drag[1]) : 0'},
    y: {value: 0}, y2: {signal: 'height'}, fill: {signal: 'ink'}, opacity: {value: 0.12}}}});
  return vg;
}

const members = mapped ? values[mapped].length : 0, mapHeight = members > 16 ? Math.max(160, 2 * members) : members * (members > 8 ? 11 : 14);
const heights = {percentiles: mapped ? 220 : 300, ...(mapped ? {map: mapHeight + 24} : {}), rate: 100, heat: 300, spectrum: 330, cdf: 260, counts: 260};

function draw(chart) {
  const vg = steer(compile({...specs[chart], height: heights[chart]}, {line: {interpolate: 'step-after'}, area: {interpolate: 'step-after'}}), chart);
  const view = show(chart, vg, {renderer: isMap(chart) || chart === 'counts' ? 'canvas' : 'svg', tooltip: () => {}});
  if (!overTimeToo(chart)) {
    view.addSignalListener('at', (_, x) => chart === 'spectrum' ? setSpectrumCursor(x === null ? null : nearest(x)) : setBucketCursor(x === null ? null : bucketAt(x)));
    return view;
  }
  view.addSignalListener('at', (_, t) => setCursor(t === null ? null : columnAt(t)));
  view.addSignalListener('zoom', (_, z) => setZoom(z));
  if (chart === 'map') view.addEventListener('click', () => { if (!justDragged) chooseMember(memberAt()); });
  return view;
}
// A drag ends wherever the button is let go.
let justDragged = false;
addEventListener('mouseup', () => {
  justDragged = false;
  for (const view of Object.values(views)) {
    let drag = null;
    try { drag = view.signal('drag'); } catch { continue; } // charts of the whole run have none
    if (!drag) continue;
    view.signal('drag', null);
    const x = view.scale('x'), [a, b] = [...drag].sort((p, q) => p - q);
    if (justDragged = b - a > 4) setZoom([x.invert(a), x.invert(b)]);
    view.runAsync();
  }
});

// setTicks puts round values on a time axis.
function setTicks(view, domain) {
  const at = timeTicks(domain, view.width());
  return view.signal('timeTicks', at).signal('tickTexts', at.map(tickText));
}

const shown = () => zoom || [head.first, to(head.columns - 1)];

function setZoom(z) {
  if (z) {
    const full = [head.first, to(head.columns - 1)], least = Math.min(2 * (head.fine || head).column, full[1] - full[0]);
    let [a, b] = z;
    if (b - a < least) { const m = (a + b) / 2; [a, b] = [m - least / 2, m + least / 2]; }
    if (a < full[0]) [a, b] = [full[0], Math.min(full[1], b + full[0] - a)];
    if (b > full[1]) [a, b] = [Math.max(full[0], a + full[1] - b), full[1]];
    z = a <= full[0] && b >= full[1] ? null : [a, b];
  }
  if (String(z) === String(zoom)) return;
  zoom = z;
  const t = cursor === null ? null : middle(cursor);
  regrid();
  if (t !== null) cursor = columnAt(t);
  placeMarks();
  for (const c of timed) {
    setTicks(views[c].signal('zoom', zoom), shown()).runAsync();
  }
  fill();
  remember();
}

// regrid takes the finer columns where they are no more than a screen can show.
const maxColumns = 600;
function regrid() {
  const fine = head.fine && zoom && state.counted !== 'inflight' && (zoom[1] - zoom[0]) / head.fine.column <= maxColumns;
  Object.assign(head, fine ? head.fine : head.coarse);
  data.scopes = data.grids[+Boolean(fine)];
  $('time').max = head.columns - 1;
}

// outliersShown are those of the hosts, jobs and directions that are chosen.
const outliersShown = () => (head.outliers || []).filter(o => ['apart', all.direction, o.direction].includes(state.direction) &&
  (state.host === all.host || o.hosts?.includes(state.host)) && (state.job === all.job || !o.job || o.job === state.job));

// placeMarks puts notes and the first findings at the top of the chart, below each other where they are close and as many as have room, and a tick for each outlier.
function placeMarks() {
  const [a, b] = shown(), scale = views.percentiles.width() / (b - a), taken = [];
  const deep = Math.floor(views.percentiles.height() / 18 / 2);
  const found = (head.marks || []).filter(m => (m.note || m.to > m.from) && m.to >= a && m.from <= b).sort((m, o) => !m.note - !o.note).flatMap(m => {
    const t = Math.max(a, m.from), x = (t - a) * scale, clear = taken.findIndex(row => row.every(other => Math.abs(x - other) > 18)), row = clear < 0 ? taken.length : clear;
    if (row >= deep) return [];
    (taken[row] ||= []).push(x);
    return [{...m, t, t2: Math.min(b, m.to), y: 18 + 18 * row}];
  });
  views.percentiles.data('marks', found).data('ticks', outliersShown().map(o => ({...o, t: (o.from + o.to) / 2})).filter(o => o.t >= a && o.t <= b));
}

// ---- filling

let windowed = false; // the tables are of a window
const drawnIn = new Map(), ruleDash = [10, 4]; // the lines by view, and how SLA rules are dashed
const looks = (view, of) => drawnIn.set(view, of) && view.signal('names', of.map(l => l.key)).signal('colors', of.map(l => l.color)).signal('dashed', of.map(l => l.dash));

function fill() {
  const scope = chosen();
  $('trouble').hidden = scope !== undefined;
  if (scope === undefined) {
    $('trouble').textContent = 'There is no I/O of ' + scopeName(state) + '.';
  }
  lines = scope === undefined ? [] : series();
  const visible = lines.filter(l => !l.hidden);

  const rows = visible.flatMap(l => points(l.key, l.measure.of(counted(l.scope)), counted(l.scope), state.compare ? null : l.measure.ci && l.measure.ci(counted(l.scope))));
  const seen = [...rows.flatMap(r => r.v === null ? [] : [r.v, r.lower, r.upper].filter(v => v !== null)), ...rulesShown().map(r => r.limit)];
  const extent = around(seen.reduce((a, b) => Math.min(a, b), Infinity), seen.reduce((a, b) => Math.max(a, b), 0));
  const part = partials(data.scopes[scope]), none = gaps(data.scopes[scope]);
  looks(views.percentiles.data('points', rows).data('partials', part).data('gaps', none).data('rules', rulesShown()), visible).signal('extent', extent).signal('extentTicks', ticks(...extent));

  const rated = state.compare ? visible : scope === undefined ? [] : parts().map(p => ({key: p.name || 'rate', name: p.name || 'all', scope: p.scope, ...(p.name ? hue(p.name) : look(0))}));
  const rates = rated.flatMap(l => points(l.key, data.scopes[l.scope].rate, data.scopes[l.scope]));
  looks(views.rate.data('points', rates).data('partials', part).data('gaps', none), rated).signal('extent', [0, 1.05 * rates.reduce((a, r) => Math.max(a, r.v || 0), 1)]);

  fillHeat(scope);
  views.heat.data('gaps', none);
  if (mapped) fillMap();

  spectra = wholeLines(scope);
  const curves = spectra.flatMap(l => l.curve.map(c => ({p: l.key, x: c.x, v: Math.max(1, Math.abs(c.v))})));
  const high = curves.reduce((a, c) => Math.max(a, c.v), 0), low = curves.reduce((a, c) => Math.min(a, c.v), Infinity), reach = around(low, high);
  looks(views.spectrum.data('points', curves), spectra).signal('extent', reach).signal('extentTicks', ticks(...reach))
    .signal('extentX', [1, curves.reduce((a, c) => Math.max(a, c.x), 10)]);
  fillCounts();

  for (const c of timed) setTicks(views[c], shown());
  placeMarks();
  $('percentile').max = scope === undefined ? 0 : Math.max(0, rungs().length - 1);
  titles();
  if (zoom || windowed) summarize();
  windowed = Boolean(zoom);
  legend();
  describe();
  covers();
  setCursor(cursor, true);
  setSpectrumCursor(spectrumCursor, true);
  setBucketCursor(bucketCursor, true);
  for (const d of document.querySelectorAll('details[data-table]')) table(d);
  return Promise.all(Object.values(views).map(v => v.runAsync()));
}

// wholeLine is a line in the charts of the whole run.
const wholeLine = (name, scope, i, drawn = look(i)) => ({...keyed(name, i), curve: curve(scope), buckets: bucketsNow(scope), ...drawn});
function wholeLines(scope) {
  if (scope === undefined) return [];
  if (state.compare) return lines.map((o, i) => wholeLine(o.name, o.scope, i));
  return parts().map((o, i) => o.name ? wholeLine(o.name, o.scope, i, hue(o.name)) : wholeLine(scopeName(state), o.scope, i));
}

// rulesShown are the SLA rules on what is drawn, whichever direction is chosen, as lines of the legend.
const rulesShown = () => (head.sla || []).flatMap(rule => {
  const line = lines.find(l => !l.hidden && l.measure.name === rule.measure && [l.part, 'all'].includes(l.part && rule.direction));
  return line ? [{p: line.key, limit: rule.limit, name: rule.text, color: line.color, dash: ruleDash}] : [];
});

// curve is the spectrum of a scope: x is 1/(1-p).
function curve(scope) {
  const s = whole(scope);
  if (!s) return [];
  s.curve ||= spectrum(bucketsOf(scope), s, s.total[n + 1]);
  return s.curve.map((v, i) => i === s.curve.length - 1 ? {p: 100, x: Math.max(1, s.totalN[0]), v} : {p: head.ladder[i], x: 100 / (100 - head.ladder[i]), v});
}

// leavesOf are the leaves that make a scope.
function leavesOf(scope) {
  const d = head.scopes[scope];
  return data.leaves.filter((_, i) => dimensions.every(x => (d[x] || all[x]) === all[x] || d[x] === head.leaves[i][x]));
}

// heatOf adds up the leaves of a scope in the rows of the heat map, by column.
function heatOf(scope) {
  const rows = new Map();
  for (const leaf of leavesOf(scope)) {
    leaf.rows.forEach((counts, r) => {
      r = r + leaf.from >> head.finer;
      if (!counts.some(n => n)) return;
      if (!rows.has(r)) rows.set(r, new Float64Array(head.cells.columns));
      const sum = rows.get(r);
      for (let k = 0; k < counts.length; k++) sum[k] += counts[k];
    });
  }
  return rows;
}

// bucketsOf are the I/Os of a scope in the whole run: n of them from lo up to hi, and upTo of them below hi.
function bucketsOf(scope) {
  const sums = new Map(), edge = b => Math.max(1, data.buckets.edges[b - data.buckets.from]);
  for (const leaf of leavesOf(scope)) (leaf.at || []).forEach((b, i) => sums.set(b, (sums.get(b) || 0) + leaf.n[i]));
  let upTo = 0;
  return [...sums].sort(([a], [b]) => a - b).map(([b, n]) => ({lo: edge(b), hi: edge(b + 1), n, upTo: upTo += n}));
}

// inWindow returns the first and the last column of histograms in the window chosen, null if that is the whole run.
const inWindow = () => zoom && [cellAt(zoom[0]), Math.max(cellAt(zoom[0]), cellAt(zoom[1] - 1e-6))];
const windowName = () => { const w = inWindow(); return w ? `${stamp(cellFrom(w[0]))} to ${stamp(cellTo(w[1]))}` : 'the whole run'; };
// inColumns returns the first and the last column of a time.
const inColumns = (a, b) => [columnAt(a), Math.max(columnAt(a), columnAt(b - 1e-6))];

// bucketsIn are the I/Os of a scope in the columns of a window, as bucketsOf.
function bucketsIn(scope, [first, last]) {
  const sums = new Map(), edge = r => Math.max(1, data.rows.edges[r - data.rows.from]);
  for (const leaf of leavesOf(scope)) (leaf.rows || []).forEach((counts, r) => {
    let n = 0;
    for (let k = first; k <= last && k < counts.length; k++) n += counts[k];
    if (n) sums.set(r + leaf.from, (sums.get(r + leaf.from) || 0) + n);
  });
  let upTo = 0;
  return [...sums].sort(([a], [b]) => a - b).map(([r, n]) => ({lo: edge(r), hi: edge(r + 1), n, upTo: upTo += n}));
}

const bucketsNow = scope => zoom ? bucketsIn(scope, inWindow()) : bucketsOf(scope);

// percentileOf is a percentile of buckets as fio/fiohist computes it; below 0 it is a lower bound.
function percentileOf(of, p, least, most) {
  const n = of.at(-1).upTo, rank = n * p / 100, b = p === 0 ? of[0] : of.find(b => b.upTo >= rank - 1e-9 * n) || of.at(-1);
  const v = Math.min(most, Math.max(least, p === 0 ? b.lo : b.lo + (b.hi - b.lo) * Math.min(1, (rank - b.upTo + b.n) / b.n)));
  return b.hi > 17.1e9 && b === of.at(-1) ? -b.lo : v;
}

// whole is a scope with its totals: those of the run, or of the window chosen.
function whole(i) {
  const s = data.scopes[i], w = inWindow();
  if (!s || !w) return s;
  const of = bucketsIn(i, w);
  if (!of.length) return {...s, total: s.total.map(() => null), totalN: [0], totalRate: [0], curve: []};
  const count = of.at(-1).upTo;
  let covered = 0, [min, max, sum] = [Infinity, 0, 0];
  const [first, last] = inColumns(cellFrom(w[0]), cellTo(w[1]));
  for (let k = first; k <= last; k++) {
    if (s.n[k]) [min, max, sum] = [Math.min(min, s.min[k]), Math.max(max, s.max[k]), sum + s.n[k] * s.mean[k]];
    covered += s.rate[k] ? s.n[k] / s.rate[k] : s.idle?.[k] ? s.idle[k] * head.interval / 1000 : 0;
  }
  return {...s, total: [...head.percentiles.map(p => within(of, +p, s)), min, max, sum / count, null], totalN: [count], totalRate: [covered ? count / covered : 0], curve: spectrum(of, s, max)};
}

// within is a percentile of buckets of a scope, spectrum those of the ladder and the 100th.
const within = (of, p, s) => percentileOf(of, p, s.total[n], Math.abs(s.total[n + 1]));
const spectrum = (of, s, max) => of.length ? [...head.ladder.filter(p => (1 - p / 100) * of.at(-1).upTo >= 1 || p === 0).map(p => within(of, p, s)), max] : [];

// titles say what the charts and tables below are of.
let ofKind = '';
const firstTitles = {};
function titles() {
  for (const id of ['spectrum', 'counts', 'summary']) {
    firstTitles[id] ||= $('h-' + id).textContent;
    $('h-' + id).textContent = titled(firstTitles[id].replace(/the whole run/i, () => windowName()));
  }
  for (const id of ['percentiles', 'heat']) $('h-' + id).textContent = (firstTitles[id] ||= $('h-' + id).textContent) + ofKind;
  for (const id of ['heat', 'counts']) if (state.direction === 'apart') $('h-' + id).textContent += ' of all directions together';
  for (const id of ['spectrum', 'counts']) $('h-' + id).textContent += ofKind;
}

// numbersOf are the numbers of a row of the table of all scopes.
function numbersOf(r) {
  const s = whole(r.dataset.scope);
  return [s.totalN[0], s.totalRate[0], s.total[n + 2], ...named.map(m => m.total(s)), s.total[n + 1]];
}

// summarize fills the table of all scopes with the window's numbers.
function summarize() {
  const body = [...$('summary').tBodies[0].rows], first = $('summary').tHead.querySelectorAll('.text').length;
  const numbers = body.map(numbersOf);
  body.forEach((r, i) => numbers[i].forEach((v, c) => {
    r.cells[first + c].textContent = v === null ? '–' : c < 2 ? count(v) : alike(numbers.map(o => o[c]))(v);
  }));
}

const shares = of => of.length ? [{v: of[0].lo, share: 0}, ...of.map(b => ({v: b.hi, share: b.upTo / of.at(-1).upTo}))] : [];
let bars = []; // of what is chosen
function fillCounts() {
  const scope = chosen();
  bars = scope === undefined ? [] : bucketsNow(scope);
  const drawn = [bars, ...spectra.map(l => l.buckets)].filter(b => b.length);
  const reach = drawn.length ? around(Math.min(...drawn.map(b => b[0].lo)), Math.max(...drawn.map(b => b.at(-1).hi))) : [1e3, 1e6];
  const least = bars.reduce((a, b) => Math.min(a, b.n), 1) / 2, most_ = bars.reduce((a, b) => Math.max(a, b.n), 10);
  looks(views.cdf.data('points', spectra.flatMap(l => shares(l.buckets).map(s => ({p: l.key, ...s})))), spectra).signal('extent', [0, 1]).signal('extentX', reach);
  looks(views.counts.data('points', bars.map(b => ({p: 'line 0', ...b, base: least}))), [{key: 'line 0', ...look(0)}])
    .signal('extent', [least, most_ * 1.3]).signal('extentTicks', ticks(least, most_ * 1.3).filter(v => v >= 1)).signal('extentX', reach);
  $('bucket').max = Math.max(0, bars.length - 1);
  $('legend-counts').replaceChildren(...spectra.map(l => make('li', null, swatch(l), make('span', {textContent: l.name}), make('output', {className: 'value'}))));
}

const bucketAt = x => bars.length ? bars.reduce((best, b, i) => b.lo <= x ? i : best, 0) : null;
function setBucketCursor(i, force) {
  if (i === bucketCursor && !force) return;
  bucketCursor = i = i !== null && i < bars.length ? i : null;
  const at = i === null ? null : bars[i], outputs = [...$('legend-counts').querySelectorAll('output')], dots = [];
  spectra.forEach((l, j) => {
    const own = at && l.buckets.findLast(b => b.hi <= at.hi), share = own ? own.upTo / l.buckets.at(-1).upTo : 0;
    outputs[j].textContent = at && l.buckets.length ? percent(100 * share) : '';
    if (own) dots.push({p: l.key, x: at.hi, v: share});
  });
  const text = at ? `${latency(at.lo)} to ${latency(at.hi)}: ${ios(at.n)}. At most ${latency(at.hi)} took` : 'Point at a chart, or use the slider, to see the I/Os of a bucket.';
  $('at-counts').textContent = text;
  const slider = $('bucket');
  if (i !== null) slider.value = i;
  slider.setAttribute('aria-valuetext', text + ' ' + spectra.map((l, j) => outputs[j].textContent + ' of ' + l.name).join(', '));
  views.cdf.data('pointed', dots).signal('at', at ? at.hi : null).runAsync();
  views.counts.signal('at', at ? Math.sqrt(at.lo * at.hi) : null).runAsync();
}

let heat = new Map();
function fillHeat(scope) {
  heat = scope === undefined ? new Map() : heatOf(scope);
  const cells = [], shares = $('heat-share').checked, sums = new Float64Array(head.cells.columns);
  let max = 1, lo = Infinity, hi = 0;
  if (shares) for (const counts of heat.values()) counts.forEach((n, k) => { sums[k] += n; });
  for (const [r, counts] of heat) {
    const bottom = Math.max(head.edges[r], head.edges[r + 1] / 2), top = head.edges[r + 1];
    [lo, hi] = [Math.min(lo, bottom), Math.max(hi, top)];
    counts.forEach((n, k) => {
      if (!n) return;
      const c = shares ? 1000 * n / sums[k] : n; // the scale begins at 1
      max = Math.max(max, c);
      cells.push({t: cellFrom(k), t2: cellTo(k), lo: bottom, hi: top, n: c, k, r});
    });
  }
  const extent = lo < hi ? [lo, hi] : [1e3, 1e6];
  const s = data.scopes[scope] && counted(scope);
  ['50', '99'].forEach((p, i) => {
    const at = head.percentiles.indexOf(p);
    views.heat.data('over' + i, s && at >= 0 && $('heat-lines').checked ? points(p, s.p[at], s) : []);
  });
  $('ramp-least').textContent = shares ? '0.1 %' : '1';
  $('ramp-most').textContent = shares ? percent(+(max / 10).toPrecision(3)) : ios(max);
  views.heat.data('cells', cells).signal('extent', extent).signal('extentTicks', ticks(...extent)).signal('heat', [0, max]).signal('colors', css('--ramp').split(/,\s*/));
}

// ---- the map of hosts, or jobs, over time

const mapMeasures = [...named.toReversed(), measures[n], {name: 'I/Os per second', of: s => s.rate}];
const mapMeasure = () => mapMeasures[$('map-measure').value];
let rows = []; // of the map: its name, and its scope if it has I/Os in what is chosen
function fillMap() {
  const m = mapMeasure(), isRate = m.name === 'I/Os per second';
  const direction = state.direction === 'apart' ? $('map-direction').value : state.direction;
  $('c-map-direction').hidden = state.direction !== 'apart';
  rows = values[mapped].map(name => ({name, scope: scopeAt.get(key({...state, direction, [mapped]: name}))}));
  const seen = rows.flatMap(r => r.scope === undefined ? [] : m.of(counted(r.scope)).filter((_, k) => counted(r.scope).n[k]).map(Math.abs));
  const [lo, hi] = seen.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, 0]);
  const share = isRate ? v => v / hi : v => hi > lo ? Math.log(Math.max(1, v) / Math.max(1, lo)) / Math.log(hi / Math.max(1, lo)) : 0;
  const cells = [];
  rows.forEach((r, i) => {
    if (r.scope === undefined) return;
    const s = counted(r.scope), of = m.of(s), idle = data.scopes[r.scope].idle || {};
    for (let k = 0; k < head.columns; k++) {
      if (s.n[k]) cells.push({t: from(k), t2: to(k), i, i2: i + 1, c: share(Math.abs(of[k]))});
      if (idle[k]) cells.push({t: from(k), t2: to(k), i: s.n[k] ? i + 0.5 : i, i2: i + 1, c: -1});
    }
  });
  for (const stall of head.stalls || []) if (stall.dimension === mapped) for (const name of stall.values) {
    const i = values[mapped].indexOf(name); // to the millisecond, where cells are of quanta
    if (i >= 0) cells.push({t: stall.from, t2: stall.to, i, i2: i + 1, c: -1, exact: true});
  }
  const every = Math.ceil(11 * rows.length / mapHeight), format = isRate ? count : latency;
  $('map-least').textContent = seen.length ? isRate ? '0' : format(lo) : '';
  $('map-most').textContent = seen.length ? format(hi) : '';
  $('h-map').textContent = (direction === all.direction ? '' : direction + ' ') + `${m.name} of each ${mapped}`;
  $('d-map').textContent = `${m.name} of ${rows.length} ${plural[mapped]} over time, and where nothing completed. The table has the numbers; the list of ${plural[mapped]} above chooses one.`;
  views.map.data('cells', cells).signal('extent', [rows.length, 0]).signal('heat', [0, 1]).signal('colors', css('--ramp').split(/,\s*/))
    .signal('labels', rows.map(r => (r.name === state[mapped] ? '▸ ' : '') + labelOf(r.name))).signal('extentTicks', rows.map((_, i) => i + 0.5).filter((_, i) => i % every === 0));
}

function memberAt() {
  const y = views.map.signal('cursorY');
  return y === null ? undefined : rows[Math.floor(y)];
}

// chooseMember chooses a row of the map, or all if it was chosen.
function chooseMember(row) {
  if (!row) return;
  state[mapped] = state[mapped] === row.name ? all[mapped] : row.name;
  if (state.compare === mapped) state.compare = '';
  sync();
  fill();
  remember();
}

function mapText() {
  const row = memberAt(), m = mapMeasure(), k = cursor, s = row && counted(row.scope), idle = row && row.scope !== undefined && data.scopes[row.scope].idle?.[k];
  $('at-map').textContent = k === null || !row ? '' : `${row.name}, ${span(k)}: ` + (!s || !s.n[k] ? idle ? 'nothing completed' : 'no I/O' :
    (m.name === 'I/Os per second' ? count(s.rate[k]) : latency(m.of(s)[k])) + (idle ? `, nothing completed in ${idle} of ${head.quanta} intervals` : ''));
}

function swatch({color, dash}) {
  const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg'), l = document.createElementNS(ns, 'line');
  for (const [k, v] of Object.entries({width: 26, height: 10, 'aria-hidden': 'true'})) svg.setAttribute(k, v);
  for (const [k, v] of Object.entries({x1: 0, x2: 26, y1: 5, y2: 5, stroke: color, 'stroke-width': 3, 'stroke-dasharray': dash[1] ? dash.join(' ') : 'none'})) l.setAttribute(k, v);
  svg.append(l);
  return svg;
}

function legend() {
  const box = $('legend'), focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.series : undefined;
  box.replaceChildren(box.firstElementChild, ...[...new Set(lines.map(l => l.group))].map(name => {
    const of = lines.filter(l => l.group === name), input = make('input', {type: 'checkbox', checked: !of[0].hidden});
    input.dataset.series = name;
    input.onchange = () => { input.checked ? state.hidden.delete(name) : state.hidden.add(name); fill(); remember(); };
    return make('label', null, input, ...of[0].part ? [make('span', {textContent: name})] : [],
      ...of.flatMap(l => [swatch(l), make('span', {textContent: l.part || name}), make('output', {className: 'value'})]));
  }));
  $('rules').hidden = !rulesShown().length;
  $('rules').replaceChildren(...rulesShown().map(r => make('span', {className: 'rule'}, swatch(r), make('span', {textContent: 'SLA: ' + r.name}))));
  if (focused !== undefined) [...box.querySelectorAll('input')].find(i => i.dataset.series === focused)?.focus();
  $('legend-spectrum').replaceChildren(...spectra.map(l => make('li', null, swatch(l), make('span', {textContent: l.name}), make('output', {className: 'value'}))));
}

function describe() {
  const s = data.scopes[chosen()];
  if (!s) return;
  const what = state.compare ? measures[+state.percentile].name + ' of ' + lines.map(l => l.name).join(', ') : named.map(m => m.name).join(', ');
  $('d-percentiles').textContent = `${what} of ${scopeName(state)} from ${stamp(head.first)} to ${stamp(head.end)}. Whole run: ` +
    named.map(m => m.name + ' ' + latency(m.total(s))).join(', ') + '. ' + (head.marks?.length ? 'Numbers and letters mark the findings and notes below. ' : '') + 'Use the slider below for single points, or the table.';
  $('d-heat').textContent = `I/Os of ${scopeName(state)} by time and latency; darker or brighter is more. The table has the counts.`;
}

function covers() {
  const shownColumns = Math.round((shown()[1] - shown()[0]) / head.column);
  let text = `${titled(scopeName(state))}. Each point covers ${length(head.column)}`;
  text += head.quanta > 1 ? `: the histograms of ${head.quanta} intervals of ${length(head.interval)} are added up, and the percentiles taken from the sum.` : ': one interval.';
  text += ' Hatched: no I/O completed.';
  if (state.counted === 'inflight') text += ' An I/O counts while it waits, so a stall shows as the latency of what waits.';
  else if (!state.compare) text += ' Bands are 95 % sampling limits of independent I/Os.';
  if (state.compare && values[state.compare].length > most) text += ` Of ${values[state.compare].length} ${plural[state.compare]} the ${most} with the highest ${measures[+state.percentile].name} are shown.`;
  const rules = rulesShown().map(r => r.name);
  if (scopeOf() && scopeOf().partial) text += ' Faded: the logs cover a part of it only.';
  if (rules.length) text += ` SLA rules, drawn as lines of long dashes: ${rules.join('; ')}.`;
  if (zoom) text += ` Shown: ${stamp(Math.round(zoom[0]))} to ${stamp(Math.round(zoom[1]))}, ${shownColumns} points.`;
  const coarse = data.rows.edges.length > 2 ? data.rows.edges.at(-1) / data.rows.edges.at(-2) - 1 : 0;
  if (zoom) text += ` The numbers, spectrum and distribution below are of ${windowName()}, from buckets of ${digits(100 * coarse, 2)} % of a latency.`;
  $('covers').textContent = text;
}

// ---- pointing

function setCursor(k, force) {
  if (k === cursor && !force) return;
  cursor = k;
  const t = k === null ? null : middle(k);
  for (const c of timed) {
    const dots = k === null || isMap(c) ? [] : lines.filter(l => !l.hidden && counted(l.scope).n[k])
      .map(l => ({p: l.key, x: t, v: Math.max(1, Math.abs(l.measure.of(counted(l.scope))[k]))}));
    if (c === 'rate') views[c].data('pointed', []); else views[c].data('pointed', dots);
    views[c].signal('at', t).runAsync();
  }
  const s = data.scopes[chosen()];
  const outputs = [...$('legend').querySelectorAll('output')];
  lines.forEach((l, i) => {
    const of = counted(l.scope);
    outputs[i].textContent = k === null ? latency(l.measure.total(whole(l.scope))) : of.n[k] ? latency(l.measure.of(of)[k]) : 'no I/O';
  });
  let text = titled(windowName());
  if (k !== null && s) {
    text = span(k) + (head.start === null || state.clock !== 'start' ? '' : ' (' + dated(clock(from(k))) + ' UTC)') + ': ' +
      (s.n[k] ? `${ios(s.n[k])}, ${count(s.rate[k])} per second, ` : 'no I/O, ') + `${s.logs[k]} of ${head.logs} ${head.logs === 1 ? 'log' : 'logs'}` + (head.quanta > 1 ? ' at least' : '') +
      (s.partial && s.partial[k] ? `; partial: the logs cover ${length(Math.round(1000 * s.partial[k]))} of it` : '') +
      outliersShown().filter(o => o.from < to(k) && o.to > from(k)).map(o => '; ' + o.text).join('');
  }
  $('at-time').textContent = text;
  const slider = $('time');
  if (k !== null) slider.value = k;
  slider.setAttribute('aria-valuetext', text + ', ' + lines.filter(l => !l.hidden).map(l => l.name + ' ' + outputs[lines.indexOf(l)].textContent).join(', '));
  heatText();
  if (mapped) mapText();
}

function heatText() {
  if (cursor === null) { $('at-heat').textContent = 'Point at a cell to see its count.'; return; }
  const y = views.heat.signal('cursorY'), k = cellAt(middle(cursor));
  let text = stamp(cellFrom(k)) + ' to ' + stamp(cellTo(k)) + ': ';
  const rows = [...heat].filter(([, counts]) => counts[k]);
  const at = y === null ? undefined : head.edges.findIndex((e, r) => r + 1 < head.edges.length && e <= y && y < head.edges[r + 1]);
  if (at !== undefined && at >= 0) {
    text += `${latency(head.edges[at])} to ${latency(head.edges[at + 1])}: ${ios(heat.has(at) ? heat.get(at)[k] : 0)}`;
  } else if (rows.length) {
    const [r, counts] = rows.reduce((a, b) => b[1][k] > a[1][k] ? b : a);
    text += `most I/Os, ${count(counts[k])}, at ${latency(head.edges[r])} to ${latency(head.edges[r + 1])}`;
  } else {
    text += 'no I/O';
  }
  $('at-heat').textContent = text;
}

// rungs are the points of the longest spectrum.
const rungs = () => spectra.reduce((longest, l) => l.curve.length > longest.length ? l.curve : longest, curve(chosen()));
function nearest(x) {
  const c = rungs();
  return c.reduce((best, p, i) => Math.abs(Math.log(p.x / x)) < Math.abs(Math.log(c[best].x / x)) ? i : best, 0);
}

const scopeOf = () => data.scopes[chosen()];
const percent = p => String(+p.toPrecision(p < 99 ? 5 : 12)) + ' %';
function setSpectrumCursor(i, force) {
  if (i === spectrumCursor && !force) return;
  const c = rungs();
  if (i !== null && i >= c.length) i = null;
  spectrumCursor = i;
  const at = i === null ? null : c[i];
  const outputs = [...$('legend-spectrum').querySelectorAll('output')], dots = [];
  spectra.forEach((l, j) => {
    let v = null;
    if (at) {
      const own = l.curve, found = at.p === 100 ? own.at(-1) : own.find(o => o.p === at.p);
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

// ---- tables, made when they are opened, and the same as CSV

// sheet is what a chart shows: its columns, [title, name in CSV, format], and rows of plain numbers; null is none.
function sheet(chart) {
  const s = scopeOf(), name = l => l.name + '_ns', within = ([start, end]) => Array.from({length: end - start + 1}, (_, k) => start + k), columns = within(zoom ? inColumns(...zoom) : [0, head.columns - 1]);
  if (chart === 'percentiles') {
    return {
      top: [['from', 'from_ms', stamp], ['to', 'to_ms', stamp], ['I/Os', 'ios', count], ['I/Os per second', 'iops', count], ['logs', 'logs', String],
        ...(s.partial ? [['covered', 'covered_s', v => length(1000 * v)]] : []), ...lines.map(l => [l.name, name(l)])],
      rows: columns.map(k => [from(k), to(k), s.n[k], s.rate[k], s.logs[k], ...(s.partial ? [s.partial[k] ?? null] : []),
        ...lines.map(l => { const of = counted(l.scope); return of.n[k] ? l.measure.of(of)[k] : null; })]),
    };
  }
  if (chart === 'heat') {
    const found = [...heat.keys()].sort((a, b) => a - b);
    return {
      top: [['from', 'from_ms', stamp], ...found.map(r => [latency(head.edges[r]) + ' to ' + latency(head.edges[r + 1]), `from_${head.edges[r]}_to_${head.edges[r + 1]}_ns`, count])],
      rows: within(inWindow() || [0, head.cells.columns - 1]).map(k => [cellFrom(k), ...found.map(r => heat.get(r)[k])]),
    };
  }
  if (chart === 'map') {
    const m = mapMeasure(), rate = m.name === 'I/Os per second';
    return {
      top: [['from', 'from_ms', stamp], ...rows.map(r => [r.name, rate ? r.name + '_iops' : r.name + '_ns', ...(rate ? [count] : [])])],
      rows: columns.map(k => [from(k), ...rows.map(r => { const of = counted(r.scope); return of && of.n[k] ? m.of(of)[k] : null; })]),
    };
  }
  if (chart === 'counts') {
    return {
      top: [['from', 'from_ns', latency], ['to', 'to_ns', latency], ['I/Os', 'ios', count], ['I/Os up to there', 'ios_up_to', count], ['share', 'share', v => percent(100 * v)]],
      rows: bars.map(b => [b.lo, b.hi, b.n, b.upTo, b.upTo / bars.at(-1).upTo]),
    };
  }
  const curves = spectra.map(l => l.curve);
  return {
    top: [['percentile', 'percentile', percent], ...spectra.map(l => [l.name, name(l)])],
    rows: rungs().map((c, i, all) => [c.p, ...curves.map(own => {
      const found = i === all.length - 1 ? own.at(-1) : own.find(o => o.p === c.p);
      return found ? found.v : null;
    })]),
  };
}

// alike writes latencies in one unit: that of their median.
function alike(values) {
  const sorted = values.filter(v => v !== null).map(Math.abs).sort((a, b) => a - b), middle = sorted[sorted.length - 1 >> 1] || 0;
  const [by, unit] = [[1e9, ' s'], [1e6, ' ms'], [1e3, ' µs']].find(([least]) => middle >= least) || [1, ' ns'];
  return v => (v < 0 ? '≥ ' : '') + digits(Math.abs(v) / by, 4) + unit;
}

function table(details) {
  details.querySelector('.scroll')?.remove();
  if (!details.open || chosen() === undefined) return;
  const {top, rows} = sheet(details.dataset.table), formats = top.map((c, i) => c[2] || alike(rows.map(r => r[i])));
  const cell = (v, i) => i === 0 ? make('th', {scope: 'row', textContent: formats[i](v)}) :
    make('td', null, v === null ? '–' : make('data', {value: String(Math.abs(v)), textContent: formats[i](v)}));
  const name = details.querySelector('summary').textContent;
  details.append(make('div', {className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': name},
    make('table', null, make('thead', null, make('tr', null, ...top.map(c => make('th', {scope: 'col', textContent: c[0]})))),
      make('tbody', null, ...rows.map(r => make('tr', null, ...r.map(cell)))))));
}

// csv has latencies in ns; at_least names the columns in which a row's are no more than a lower bound.
function csv(chart) {
  const {top, rows} = sheet(chart), latencies = top.map(c => !c[2]), bound = rows.some(r => r.some((v, i) => latencies[i] && v < 0));
  const quote = text => /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  const line = cells => cells.map(c => quote(c === null ? '' : String(c))).join(',') + '\n';
  return line([...top.map(c => c[1]), ...(bound ? ['at_least'] : [])]) + rows.map(r => line([...r.map((v, i) => v !== null && latencies[i] ? Math.abs(v) : v),
    ...(bound ? [top.filter((_, i) => latencies[i] && r[i] < 0).map(c => c[1]).join(' ')] : [])])).join('');
}

// saved is what a button saves of a chart: nothing if what is selected has no data.
const saved = async (chart, as) => chosen() === undefined ? null : as === 'csv' ? new Blob([csv(chart)], {type: 'text/csv'}) : picture(chart, as);

const headingOf = c => $('h-' + (c === 'counts' ? '' : c)) || $(c).previousElementSibling;
function caption(c) {
  const ramp = c === 'heat' ? 'ramp' : c === 'map' && 'map';
  const kind = headingOf(c).querySelector('strong'); // then numbers
  return {title: kind ? 'Percentiles over time: ' + kind.textContent : headingOf(c).textContent, subtitle: document.querySelector('h1').textContent + (c === 'map' ? '' : ': ' + scopeName(state)),
    lines: c === 'counts' ? [] : [...drawnIn.get(views[c]) || [], ...c === 'percentiles' ? rulesShown() : []], ramp: ramp && [$(ramp + '-least').textContent, $(ramp + '-most').textContent]};
}

// sortable lets the table of the whole run be sorted by each of its columns.
function sortable(t) {
  const body = t.tBodies[0], first = t.tHead.querySelectorAll('.text').length;
  [...t.tHead.rows[0].cells].forEach((th, i) => {
    const button = make('button', {type: 'button', textContent: th.textContent});
    button.onclick = () => {
      const down = th.getAttribute('aria-sort') !== 'descending';
      for (const other of t.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const value = r => i < first ? r.cells[i].textContent : Math.abs(numbersOf(r)[i - first]), rows = [...body.rows].map(r => [value(r), r]);
      body.append(...rows.sort(([x], [y]) => (x < y ? 1 : x > y ? -1 : 0) * (down ? 1 : -1)).map(([, r]) => r));
    };
    th.replaceChildren(button);
  });
}

// ---- controls

function controls() {
  const form = $('controls');
  for (const dim of dimensions) {
    if (values[dim].length < 2) continue; // no choice
    const each = values[dim].map(v => make('option', {value: v, textContent: v})), sum = make('option', {value: all[dim], textContent: dim === 'direction' ? 'the sum' : 'all'});
    form[dim].append(...dim === 'direction' ? [make('option', {value: 'apart', textContent: values[dim].map(v => v + 's').join(' and ')}), ...each, sum] : [sum, ...each]);
    $('c-' + dim).hidden = false;
    if (dim !== 'direction') form.compare.append(make('option', {value: dim, textContent: plural[dim]}));
  }
  if (form.compare.length) {
    form.compare.prepend(make('option', {value: '', textContent: '–'}));
    $('c-compare').hidden = false;
  }
  if (!mapped) $('map-part').remove();
  else {
    $('map-part').hidden = false;
    $('map-measure').append(...mapMeasures.map((m, i) => make('option', {value: String(i), textContent: m.name})));
    $('map-measure').value = String([head.measure === 'iops' ? 'I/Os per second' : head.measure, 'p99', named[0].name].map(name => mapMeasures.findIndex(m => m.name === name)).find(i => i >= 0));
    $('map-direction').append(...[...values.direction, all.direction].map(v => make('option', {value: v, textContent: v === all.direction ? 'the sum' : v + 's'})));
    if (values.direction.includes(head.direction)) $('map-direction').value = head.direction;
    $('map-measure').onchange = $('map-direction').onchange = () => fill();
  }
  $('c-clock').hidden = clocks.length < 2;
  form.percentile.append(...measures.map((m, i) => make('option', {value: String(i), textContent: m.name})));
  $('c-counted').hidden = !data.scopes.some(s => s.inflight);
  $('heat-share').onchange = $('heat-lines').onchange = () => fill();
  form.onsubmit = e => e.preventDefault();
  form.onchange = e => { state[e.target.name] = e.target.value; if (e.target.name === 'counted') { regrid(); cursor = null; } if (e.target.name === 'compare' && state.compare) state[state.compare] = all[state.compare]; sync(); fill(); remember(); };
  for (const b of form.querySelectorAll('[data-zoom]')) b.onclick = () => {
    const [a, b2] = shown(), w = b2 - a, m = cursor === null ? (a + b2) / 2 : middle(cursor);
    setZoom({in: [m - w / 4, m + w / 4], out: [m - w, m + w], left: [a - w / 2, b2 - w / 2], right: [a + w / 2, b2 + w / 2], all: null}[b.dataset.zoom]);
  };
  regrid();
  $('time').oninput = e => setCursor(+e.target.value);
  $('percentile').oninput = e => setSpectrumCursor(+e.target.value);
  $('bucket').oninput = e => setBucketCursor(+e.target.value);
  for (const d of document.querySelectorAll('details[data-table]')) {
    d.ontoggle = () => table(d);
    const what = d.querySelector('summary').textContent.replace(' as a table', '');
    d.before(saver(d.dataset.table, 'csv', what, saved));
  }
  for (const c of Object.keys(heights)) {
    headingOf(c).before(savers(c, headingOf(c).textContent, saved));
  }
}

function sync() {
  const form = $('controls');
  for (const name of [...dimensions, 'clock', 'compare', 'percentile', 'counted']) form[name].value = state[name];
  $('c-percentile').hidden = !state.compare;
}

// remember keeps what is shown in the address, so that a link shows the same.
function remember() {
  const h = new URLSearchParams();
  for (const name of [...dimensions, 'compare']) if (state[name] && state[name] !== (name === 'direction' && values.direction.length > 1 ? 'apart' : all[name])) h.set(name, state[name]);
  if (state.compare) h.set('at', measures[+state.percentile].name);
  if (state.counted === 'inflight') h.set('counted', state.counted);
  if (state.clock !== 'start') h.set('clock', state.clock);
  if (zoom) h.set('zoom', zoom.map(t => Math.round(t)).join('-'));
  try { history.replaceState(null, '', h.size ? '#' + h : location.pathname + location.search); } catch { /* not from a file in every browser */ }
}

function recall() {
  const h = new URLSearchParams(location.hash.slice(1));
  for (const name of dimensions) if ([...values[name], all[name]].includes(h.get(name))) state[name] = h.get(name);
  if (plural[h.get('compare')] && values[h.get('compare')].length > 1) state.compare = h.get('compare');
  const i = measures.findIndex(m => m.name === h.get('at'));
  if (i >= 0) state.percentile = String(i);
  if (h.get('counted') === 'inflight' && data.scopes.some(s => s.inflight)) state.counted = 'inflight';
  if (clocks.includes(h.get('clock'))) state.clock = h.get('clock');
  const z = (h.get('zoom') || '').match(/^(-?\d+)-(-?\d+)$/);
  return z ? [+z[1], +z[2]] : null;
}

// ---- size

function redrawAll() {
  for (const c of Object.keys(heights)) draw(c);
  return fill();
}
// KINDS
$('charts').hidden = false;
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
    if (overTimeToo(c)) setTicks(views[c], shown());
    views[c].runAsync();
  }
}).observe($('percentiles'));
window.fiolat = {views, head, data, state, bucketsOf, percentileOf, saved, curve};
