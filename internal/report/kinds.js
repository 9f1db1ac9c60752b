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
const wholeTime = [Math.min(...[...kinds.values()].map(k => k.head.first)), Math.max(...[...kinds.keys()].map(k => as(k, () => to(head.columns - 1))))];

// use makes a kind the one that all else is about.
function use(kind) {
  Object.assign(head, kinds.get(kind).head);
  Object.assign(data, kinds.get(kind).data);
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
  $('time').max = head.columns - 1;
  ofKind = ': ' + kind;
}

const chart = kind => 'kind-' + kind;
const kindSelect = make('select', {name: 'kind'}, ...[...kinds.keys()].map(k => make('option', {value: k, textContent: fullName(k)})));
kindSelect.onchange = () => {
  choose(kindSelect.value);
  for (const c of timed) views[c].signal('domain', [head.first, to(head.columns - 1)]);
}; // and the form goes on
$('controls').prepend(make('label', {id: 'c-kind'}, ofRuns ? 'Run ' : 'Kind ', kindSelect));
for (const k of kinds.keys()) {
  const title = make('h3', {id: 'h-kind-' + k});
  $('kinds').append(title, make('div', {className: 'plot', id: chart(k), role: 'img', 'aria-labelledby': 'h-kind-' + k}));
  $(chart(k)).style.cursor = 'crosshair';
  specs[chart(k)] = specs.percentiles;
  heights[chart(k)] = 170;
}

// kindLines are the lines of each kind: the percentiles that are switched on.
const kindLines = () => named.map((m, i) => ({...m, look: i})).filter(m => !state.hidden.has(m.name));

function fillKinds() {
  const shown = kindLines(), colors = palette();
  const drawn = new Map([...kinds.keys()].map(kind => [kind, as(kind, () => {
    const s = data.scopes[chosen()];
    return s ? shown.flatMap(m => points(m.name, m.of(s), s, null)) : [];
  })]));
  const seen = [...drawn.values()].flat().map(r => r.v).filter(v => v !== null);
  const extent = around(seen.reduce((a, b) => Math.min(a, b), Infinity), seen.reduce((a, b) => Math.max(a, b), 0));
  for (const [kind, rows] of drawn) {
    views[chart(kind)].data('points', rows).data('partials', as(kind, () => partials(data.scopes[chosen()]))).data('gaps', as(kind, () => gaps(data.scopes[chosen()]))).signal('domain', wholeTime).signal('extent', extent).signal('extentTicks', ticks(...extent))
      .signal('names', shown.map(m => m.name)).signal('colors', shown.map(m => colors[m.look])).signal('dashed', shown.map(m => dashes[m.look]));
  }
  $('legend-kinds').replaceChildren(...shown.map(m => make('li', null, swatch(m.look), make('span', {textContent: m.name}))));
  zoomKinds();
  pointKinds();
}

function zoomKinds() {
  for (const kind of kinds.keys()) setTicks(views[chart(kind)].signal('zoom', zoom), zoom || wholeTime).runAsync();
}

// pointKinds says what each kind has at the time pointed at, or of the whole run.
function pointKinds() {
  const t = cursor === null ? null : (from(cursor) + to(cursor)) / 2;
  $('at-kinds').textContent = (t === null ? 'The whole run' : span(cursor)) + ': ' + scopeName(state);
  for (const kind of kinds.keys()) {
    const [said, dots] = as(kind, () => {
      const s = data.scopes[chosen()], k = t === null ? null : columnAt(t);
      if (!s || (k === null ? !s.totalN[0] : !s.n[k] || t < from(k) || t > to(k))) return [['no I/O'], []];
      const shown = kindLines(), at = m => k === null ? m.total(s) : m.of(s)[k];
      return [[count(k === null ? s.totalN[0] : s.n[k]) + ' I/Os', ...shown.map(m => m.name + ' ' + latency(at(m)))],
        k === null ? [] : shown.map(m => ({p: m.name, x: t, v: Math.max(1, Math.abs(at(m)))}))];
    });
    $('h-kind-' + kind).replaceChildren(make('strong', {textContent: fullName(kind)}), ': ' + said.join(', '));
    views[chart(kind)].data('pointed', dots).signal('at', t).runAsync();
  }
}

// The whole runs lie over each other, unless parts of one are compared.
if (ofRuns) {
  const spectraOfOne = wholeLines;
  wholeLines = scope => state.compare ? spectraOfOne(scope) : [...kinds.keys()].flatMap((k, i) => as(k, () => chosen() === undefined ? [] : [wholeLine(fullName(k), chosen(), i)]));
}

// What follows the page's choices, zoom and cursor follows them here, too.
const [fillOne, zoomOne, pointOne, syncOne, rememberOne] = [fill, setZoom, setCursor, sync, remember];
fill = () => { const done = fillOne(); fillKinds(); return done.then(() => Promise.all(Object.values(views).map(v => v.runAsync()))); };
setZoom = z => { const was = zoom; zoomOne(z); if (zoom !== was) zoomKinds(); };
setCursor = (k, force) => { const moved = k !== cursor || force; pointOne(k, force); if (moved) pointKinds(); };
sync = () => { syncOne(); kindSelect.value = state.kind; };
remember = () => {
  rememberOne();
  if (state.kind === firstKind) return;
  const h = new URLSearchParams(location.hash.slice(1));
  h.set('kind', state.kind);
  try { history.replaceState(null, '', '#' + h); } catch { /* not from a file in every browser */ }
};
const wanted = new URLSearchParams(location.hash.slice(1)).get('kind');
choose(kinds.has(wanted) ? wanted : firstKind);

