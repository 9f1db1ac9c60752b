// ---- kinds of latency side by side: this part is in pages of several kinds only

const kinds = new Map([[head.part, {head: {...head}, data: {...data}}], ...head.kinds.map((h, i) => [h.part, {head: h, data: data.kinds[i]}])]
  .sort(([a], [b]) => ['slat', 'clat', 'lat'].indexOf(a) - ['slat', 'clat', 'lat'].indexOf(b)));
const firstKind = head.part, ofRuns = Boolean(head.name), groups = head.groups, repeats = ofRuns && !groups && kinds.size > 2;
const fullName = kind => ofRuns ? kind + ' · ' + kinds.get(kind).head.name : kind;
for (const k of kinds.values()) {
  k.head.scopes ||= [];
  k.head.leaves ||= [];
  for (const n of dimensions) values[n] = [...new Set([...values[n], ...k.head.scopes.map(d => d[n] || all[n])])].filter(v => v !== all[n]).sort(n === 'direction' ? () => 0 : natural);
}
if (values.direction.length > 1) state.direction = ofRuns && [head.direction, ...groups || repeats ? values.direction : []].find(d => values.direction.includes(d)) || 'apart';
const wholeTime = [Math.min(...[...kinds.values()].map(k => k.head.first)), Math.max(...[...kinds.keys()].map(k => as(k, () => to(head.columns - 1))))];

// use makes a kind the one that all else is about.
function use(kind) {
  Object.assign(head, kinds.get(kind).head);
  Object.assign(data, kinds.get(kind).data);
  regrid();
  scopeAt.clear();
  head.scopes.forEach((d, i) => scopeAt.set(key(d), i));
}

// as is what f says of a kind.
function as(kind, f) {
  const was = head.part;
  use(kind);
  try { return f(); } finally { use(was); }
}

function choose(kind) {
  state.kind = kind;
  use(kind);
  cursor = spectrumCursor = bucketCursor = null;
  ofKind = ': ' + kind;
}

// Kinds have a chart each; runs lie over each other in one, at one percentile.
const chart = kind => ofRuns ? 'kinds' : 'kind-' + kind;
const kindSelect = make('select', {name: 'kind'}, ...[...kinds.keys()].map(k => make('option', {value: k, textContent: fullName(k)})));
kindSelect.onchange = () => {
  choose(kindSelect.value);
  for (const c of timed) views[c].signal('domain', [head.first, to(head.columns - 1)]);
}; // and the form goes on
$('controls').prepend(make('label', {id: 'c-kind'}, ofRuns ? 'Run ' : 'Kind ', kindSelect));
if (groups) {
  $('kinds').append(make('h3', {id: 'h-sides', textContent: 'Each run against the mean of A'}), make('div', {className: 'plot', id: 'sides', role: 'img', 'aria-labelledby': 'h-sides'}));
  heights.sides = 300;
  if (root.clientWidth > 640) { // else the table comes first
    const section = $('kinds').parentNode, both = make('div', {className: 'beside'});
    section.before(both);
    both.append(section, $('spectrum').parentNode);
  }
} else if (ofRuns) {
  $('c-percentile').firstChild.textContent = 'Percentile ';
  $('legend-kinds').append(...[...kinds.keys()].map(k => make('li', null, make('span', {id: 'h-kind-' + k}))));
}
for (const k of groups ? [] : kinds.keys()) {
  if (!ofRuns) {
    const title = make('h3', {id: 'h-kind-' + k});
    $('kinds').append(title, make('div', {className: 'plot', id: chart(k), role: 'img', 'aria-labelledby': 'h-kind-' + k}));
  }
  $(chart(k)).style.cursor = 'crosshair';
  specs[chart(k)] = specs.percentiles;
  heights[chart(k)] = ofRuns ? 260 : 170;
}

// kindLines are the lines of a kind, or one percentile of a run, with the median where there are many.
const kindLines = kind => as(kind, () => {
  if (!ofRuns) return series().filter(l => !l.hidden);
  const chosen = measures[+state.percentile], median = repeats && parts().length === 1 && measures.find(m => m.name === 'p50' && m !== chosen);
  return [chosen, ...median ? [median] : []].flatMap((m, i) => parts().map((p, j) => ({key: [kind, p.name, ...i ? [m.name] : []].filter(Boolean).join(' '), name: [fullName(kind), p.name, ...median ? [m.name] : []].filter(Boolean).join(' '), part: p.name, scope: p.scope, measure: m,
    ...repeats ? {color: look(head.side).color, dash: i ? [2, 2] : dashes[j]} : p.name ? {...hue(p.name, head.side ? 0 : -0.5), dash: dashes[head.side]} : look(head.side)})));
});

// pale makes lines of their own of what the logs of a run cover in part, since fading all of the chart there would fade the others.
function pale(rows, s) {
  let p;
  return rows.map(r => ({...r, p: p = r.k === null ? p : r.p + (s.partial?.[r.k] ? ' partial' : '')}));
}

function fillKinds() {
  const lines = [...kinds.keys()].map(kindLines);
  const drawn = [...kinds.keys()].map((kind, i) => as(kind, () => lines[i].flatMap(l => {
    const s = data.scopes[l.scope], rows = points(l.key, l.measure.of(s), s, ofRuns && !repeats && l.measure.ci ? l.measure.ci(s) : null);
    return ofRuns ? pale(rows, s) : rows;
  })));
  const seen = drawn.flat().flatMap(r => [r.v, r.lower, r.upper].filter(v => v));
  const extent = around(seen.reduce((a, b) => Math.min(a, b), Infinity), seen.reduce((a, b) => Math.max(a, b), 0));
  const fillChart = (c, rows, of) => drawnIn.set(views[c], of) && views[c].data('points', rows).signal('domain', wholeTime).signal('extent', extent).signal('extentTicks', ticks(...extent))
    .signal('names', of.flatMap(m => [m.key, m.key + ' partial'])).signal('colors', of.flatMap(m => [m.color, m.color + '66'])).signal('dashed', of.flatMap(m => [m.dash, m.dash]));
  if (ofRuns) {
    fillChart('kinds', drawn.flat(), lines.flat());
    for (const [i, kind] of [...kinds.keys()].entries()) { // the looks that are drawn
      const li = $('h-kind-' + kind).parentNode;
      li.querySelectorAll('svg').forEach(s => s.remove());
      li.prepend(...lines[i].map(swatch));
    }
    const drawnMeasures = [...new Set(lines.flat().map(l => l.measure.name))];
    $('h-kinds').textContent = `${drawnMeasures.join(' and, dotted, ')} of each run since its start`;
  } else {
    [...kinds.keys()].forEach((kind, i) => fillChart(chart(kind), drawn[i], lines[i]).data('partials', as(kind, () => partials(data.scopes[chosen()]))).data('gaps', as(kind, () => gaps(data.scopes[chosen()]))));
    $('legend-kinds').replaceChildren(...lines[0].map(l => make('li', null, swatch(l), make('span', {textContent: l.name}))));
  }
  zoomKinds();
}

function zoomKinds() {
  const clock = state.clock;
  if (ofRuns) state.clock = 'start'; // the only one that they have in common
  for (const kind of kinds.keys()) setTicks(views[chart(kind)].signal('zoom', zoom), zoom || wholeTime).runAsync();
  state.clock = clock;
}

// pointKinds says what each kind has at the time pointed at, or of the whole run.
function pointKinds() {
  const t = cursor === null ? null : (from(cursor) + to(cursor)) / 2;
  $('at-kinds').textContent = (t === null ? 'The whole run' : span(cursor)) + ': ' + scopeName(state);
  const dots = [...kinds.keys()].map(kind => {
    const lines = kindLines(kind);
    return as(kind, () => {
      const k = t === null ? null : columnAt(t), none = s => k === null ? !s.totalN[0] : !s.n[k] || t < from(k) || t > to(k);
      const said = parts().map(p => {
        const s = data.scopes[p.scope], of = ofRuns && kinds.size === 2 ? named : [...new Set(lines.filter(l => l.scope === p.scope).map(l => l.measure))];
        return (p.name + ' ').trimStart() + (none(s) ? 'no I/O' : [ios(k === null ? s.totalN[0] : s.n[k]), ...of.map(m => m.name + ' ' + latency(k === null ? m.total(s) : m.of(s)[k]))].join(', '));
      });
      $('h-kind-' + kind).replaceChildren(make('strong', {textContent: fullName(kind)}), ': ' + (said.join('; ') || 'no I/O'));
      return lines.filter(l => k !== null && !none(data.scopes[l.scope])).map(l => ({p: l.key, x: t, v: Math.max(1, Math.abs(l.measure.of(data.scopes[l.scope])[k]))}));
    });
  });
  [...kinds.keys()].forEach((kind, i) => views[chart(kind)].data('pointed', ofRuns ? dots.flat() : dots[i]).signal('at', t).runAsync());
}

// ---- groups of runs: a dot a run, and what each side did as a whole

const membersOf = side => [...kinds.keys()].filter(k => kinds.get(k).head.side === side);
const sideName = side => `${'AB'[side]} · ${groups[side]}`;

// sideLine adds up the I/Os of a side's runs. Buckets of coarser logs hold those of finer ones.
function sideLine(side) {
  const drawn = membersOf(side).flatMap(k => as(k, () => chosen() === undefined ? [] : [{buckets: bucketsNow(chosen()), total: whole(chosen()).total}]));
  const buckets = [], least = Math.min(...drawn.map(d => d.total[n])), most = Math.max(...drawn.map(d => Math.abs(d.total[n + 1])));
  for (const b of drawn.flatMap(d => d.buckets).sort((a, b) => a.lo - b.lo || b.hi - a.hi)) {
    const last = buckets.at(-1);
    if (last && b.hi <= last.hi) last.n += b.n; else buckets.push({...b});
  }
  let ios = 0;
  for (const b of buckets) b.upTo = ios += b.n;
  if (!ios) return [];
  const at = p => ({p, x: 100 / (100 - p), v: percentileOf(buckets, p, least, most)});
  return [{...keyed(sideName(side), side), ...look(side), buckets, curve: [...ladder(ios).map(at), {p: 100, x: Math.max(1, ios), v: most}]}];
}

// dots are the figures of each run, as ratios to the mean of A.
function dots() {
  const figures = [...named, measures.find(m => m.name === 'mean'), {name: 'IOPS', total: s => s.totalRate[0], format: count}], out = [];
  const known = figures.flatMap(m => parts().map(p => ({m, direction: p.name}))).flatMap(({m, direction}) => {
    const sides = [0, 1].map(side => membersOf(side).flatMap(kind => as(kind, () => {
      const scope = direction ? parts().find(p => p.name === direction)?.scope : chosen(), v = scope === undefined || !data.scopes[scope].totalN[0] ? 0 : Math.abs(m.total(data.scopes[scope]));
      return v ? [{kind, v}] : [];
    })));
    return sides[0].length && sides[1].length ? [{m, direction, sides}] : [];
  });
  for (const [i, {m, direction, sides}] of known.entries()) {
    const format = m.format || latency, means = sides.map(of => Math.exp(of.reduce((sum, o) => sum + Math.log(o.v), 0) / of.length));
    const own = (side, v, more) => out.push({v: v / means[0], color: look(side).color, ...more});
    for (const [side, of] of sides.entries()) {
      const x = i + [0.3, 0.7][side];
      own(side, means[side], {x, mean: true, text: `${sideName(side)}: mean ${m.name} ${format(means[side])}`});
      of.forEach((o, j) => own(side, o.v, {x: x + 0.2 * ((j + 0.5) / of.length - 0.5), kind: o.kind, text: `${fullName(o.kind)}: ${(direction + ' ' + m.name).trim()} ${format(o.v)}`}));
    }
    known[i].label = [(direction + ' ' + m.name).trim(), format(means[0])];
  }
  return {out, labels: known.map(k => k.label)};
}

const pointAtDot = 'Point at a dot to see its run.';
function drawSides() {
  const view = show('sides', compile({...specs.sides, height: heights.sides}), {tooltip: () => {}});
  view.addEventListener('mousemove', (_, item) => { $('at-kinds').textContent = item?.datum?.text || pointAtDot; });
  view.addEventListener('click', (_, item) => {
    if (!item?.datum?.kind) return;
    kindSelect.value = item.datum.kind;
    kindSelect.dispatchEvent(new Event('change', {bubbles: true}));
  });
  return view;
}

function fillSides() {
  const {out, labels} = dots(), [lo, hi] = out.reduce(([a, b], d) => [Math.min(a, d.v), Math.max(b, d.v)], [0.99, 1.01]), air = Math.max(1.005, (hi / lo) ** 0.08), extent = [lo / air, hi * air];
  const sides = [0, 1].map(side => ({name: `${sideName(side)}, ${membersOf(side).length} runs`, ...look(side)}));
  drawnIn.set(views.sides, sides);
  views.sides.data('points', out).signal('extent', extent).signal('ratios', [...new Set([...ticks(...extent), 1])].sort((a, b) => a - b)).signal('figures', labels).signal('places', labels.map((_, i) => i + 0.5));
  $('at-kinds').textContent = pointAtDot;
  $('legend-kinds').replaceChildren(...sides.map(s => make('li', null, swatch(s), make('span', {textContent: s.name}))));
}

// The whole runs lie over each other, unless parts of one are compared.
if (ofRuns) {
  const spectraOfOne = wholeLines;
  wholeLines = scope => state.compare ? spectraOfOne(scope) : groups ? [0, 1].flatMap(sideLine) : [...kinds.keys()].flatMap((k, i) => as(k, () => chosen() === undefined ? [] : [wholeLine(fullName(k), chosen(), i, look(head.side))]));
}

// What follows the page's choices, zoom and cursor follows them here, too.
const [fillOne, zoomOne, pointOne, syncOne, rememberOne] = [fill, setZoom, setCursor, sync, remember];
if (groups) {
  const drawOne = draw;
  draw = chart => chart === 'sides' ? drawSides() : drawOne(chart);
  fill = () => { fillSides(); return fillOne(); };
  const titlesOne = titles;
  titles = () => { titlesOne(); $('h-spectrum').textContent = 'Percentile spectrum of A and B' + (zoom ? ': ' + windowName() : ''); };
} else {
  fill = () => { fillKinds(); return fillOne(); }; // in which all are drawn
  setZoom = z => { const was = zoom; zoomOne(z); if (zoom !== was) zoomKinds(); };
  setCursor = (k, force) => { const moved = k !== cursor || force; pointOne(k, force); if (moved) pointKinds(); };
}
sync = () => { syncOne(); kindSelect.value = state.kind; if (ofRuns && !groups) $('c-percentile').hidden = false; };
remember = () => {
  rememberOne();
  if (state.kind === firstKind && !ofRuns) return;
  const h = new URLSearchParams(location.hash.slice(1));
  if (state.kind !== firstKind) h.set('kind', state.kind);
  if (ofRuns && !groups) h.set('at', measures[+state.percentile].name);
  try { history.replaceState(null, '', '#' + h); } catch { /* not from a file in every browser */ }
};
const wanted = new URLSearchParams(location.hash.slice(1)).get('kind');
choose(kinds.has(wanted) ? wanted : firstKind);

