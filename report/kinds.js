// ---- kinds of latency side by side: this part is in pages of several kinds only

const kinds = new Map([[head.part, {head: {...head}, data: {...data}}], ...head.kinds.map((h, i) => [h.part, {head: h, data: data.kinds[i]}])]
  .sort(([a], [b]) => ['slat', 'clat', 'lat'].indexOf(a) - ['slat', 'clat', 'lat'].indexOf(b)));
const firstKind = head.part, ofRuns = Boolean(head.name);
const fullName = kind => ofRuns ? kind + ' · ' + kinds.get(kind).head.name : kind;
for (const k of kinds.values()) {
  k.head.scopes ||= [];
  k.head.leaves ||= [];
  for (const n of dimensions) values[n] = [...new Set([...values[n], ...k.head.scopes.map(d => d[n] || all[n])])].filter(v => v !== all[n]).sort(n === 'direction' ? () => 0 : natural);
}
if (values.direction.length > 1) state.direction = values.direction.includes(head.direction) && ofRuns ? head.direction : 'apart';
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
if (ofRuns) {
  $('c-percentile').firstChild.textContent = 'Percentile ';
  $('legend-kinds').append(...[...kinds.keys()].map(k => make('li', null, make('span', {id: 'h-kind-' + k}))));
}
for (const k of kinds.keys()) {
  if (!ofRuns) {
    const title = make('h3', {id: 'h-kind-' + k});
    $('kinds').append(title, make('div', {className: 'plot', id: chart(k), role: 'img', 'aria-labelledby': 'h-kind-' + k}));
  }
  $(chart(k)).style.cursor = 'crosshair';
  specs[chart(k)] = specs.percentiles;
  heights[chart(k)] = ofRuns ? 260 : 170;
}

// kindLines are the lines of a kind, or one percentile of a run.
const kindLines = kind => as(kind, () => !ofRuns ? series().filter(l => !l.hidden) : parts().map(p => ({key: (kind + ' ' + p.name).trim(), name: (fullName(kind) + ' ' + p.name).trim(), part: p.name, scope: p.scope, measure: measures[+state.percentile],
  ...(p.name ? {...hue(p.name, head.side ? 0 : -0.5), dash: dashes[head.side]} : look(head.side))})));

// pale makes lines of their own of what the logs of a run cover in part, since fading all of the chart there would fade the others.
function pale(rows, s) {
  let p;
  return rows.map(r => ({...r, p: p = r.k === null ? p : r.p + (s.partial?.[r.k] ? ' partial' : '')}));
}

function fillKinds() {
  const lines = [...kinds.keys()].map(kindLines);
  const drawn = [...kinds.keys()].map((kind, i) => as(kind, () => lines[i].flatMap(l => {
    const s = data.scopes[l.scope], rows = points(l.key, l.measure.of(s), s, ofRuns && l.measure.ci ? l.measure.ci(s) : null);
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
    $('h-kinds').textContent = `${measures[+state.percentile].name} of each run since its start`;
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

// The whole runs lie over each other, unless parts of one are compared.
if (ofRuns) {
  const spectraOfOne = wholeLines;
  wholeLines = scope => state.compare ? spectraOfOne(scope) : [...kinds.keys()].flatMap((k, i) => as(k, () => chosen() === undefined ? [] : [wholeLine(fullName(k), chosen(), i, look(head.side))]));
}

// What follows the page's choices, zoom and cursor follows them here, too.
const [fillOne, zoomOne, pointOne, syncOne, rememberOne] = [fill, setZoom, setCursor, sync, remember];
fill = () => { fillKinds(); return fillOne(); }; // in which all are drawn
setZoom = z => { const was = zoom; zoomOne(z); if (zoom !== was) zoomKinds(); };
setCursor = (k, force) => { const moved = k !== cursor || force; pointOne(k, force); if (moved) pointKinds(); };
sync = () => { syncOne(); kindSelect.value = state.kind; if (ofRuns) $('c-percentile').hidden = false; };
remember = () => {
  rememberOne();
  if (state.kind === firstKind && !ofRuns) return;
  const h = new URLSearchParams(location.hash.slice(1));
  if (state.kind !== firstKind) h.set('kind', state.kind);
  if (ofRuns) h.set('at', measures[+state.percentile].name);
  try { history.replaceState(null, '', '#' + h); } catch { /* not from a file in every browser */ }
};
const wanted = new URLSearchParams(location.hash.slice(1)).get('kind');
choose(kinds.has(wanted) ? wanted : firstKind);

