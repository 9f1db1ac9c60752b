// What the scripts of all pages share, around a page's own part.
(async () => {
'use strict';
const root = document.documentElement;
const {specs, licences} = JSON.parse(utf8(await unpack('specs')));
const views = {}, shownAs = {};

// make builds an element; text is text, never markup.
function make(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props || {})) k in e ? e[k] = v : e.setAttribute(k, v);
  e.append(...children);
  return e;
}

// ---- numbers as people read them, as Latency in page.go does

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

// ticks are round values for a log axis.
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

// ---- charts

const css = name => getComputedStyle(root).getPropertyValue(name).trim();
const most = 8; // lines that can be told apart
const palette = () => Array.from({length: most}, (_, i) => css('--s' + i));

// Vega-Lite warns of domains that the scripts replace.
const quietly = {level() { return this; }, warn() { return this; }, info() { return this; }, debug() { return this; }, error: (...a) => { console.error(...a); return quietly; }};

// compile makes a Vega specification in the page's colors.
function compile(spec, own) {
  const font = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  const ink = css('--ink'), quiet = css('--quiet'), line = css('--line');
  const vg = vegaLite.compile(spec, {logger: quietly, config: {
    background: null, font, aria: false, view: {stroke: null},
    axis: {labelColor: quiet, titleColor: quiet, gridColor: css('--grid'), domainColor: line, tickColor: line, labelFontSize: 12, labelFont: font},
    rule: {color: ink}, text: {color: ink, fontSize: 12, font}, ...own,
  }}).spec;
  vg.autosize = {type: 'fit', contains: 'padding'};
  vg.padding = 3;
  return vg;
}

// show draws a chart into the element with its name, as wide as that is.
function show(chart, vg, options) {
  if (views[chart]) views[chart].finalize();
  shownAs[chart] = vg;
  return views[chart] = new vega.View(vega.parse(vg, null, {ast: true}), {
    expr: vega.expressionInterpreter, renderer: 'svg', container: $(chart), hover: false, logLevel: vega.Warn, ...options,
  }).width($(chart).clientWidth).background(css('--paper')); // in what is saved, too
}

// picture is what a chart shows, as SVG or PNG, with what the page says beside it: caption, of a page's own part, has the
// title, lines with name, color and dash, and the least and the most of a ramp.
async function picture(chart, as) {
  const {title, subtitle, lines = [], ramp} = caption(chart), vg = shownAs[chart], width = $(chart).clientWidth, ink = css('--ink');
  const columns = Math.max(1, Math.floor(width / 130)), of = what => ({type: 'ordinal', domain: lines.map(l => l.name), range: lines.map(l => l[what])});
  const view = new vega.View(vega.parse({...vg,
    height: vg.height + 45 + (ramp ? 30 : 20 * Math.ceil(lines.length / columns)),
    title: {text: title, subtitle, anchor: 'start', color: ink, subtitleColor: ink, fontSize: 14, limit: width - 10},
    scales: [...vg.scales, {name: 'savedColor', ...of('color')}, {name: 'savedDash', ...of('dash')}],
    legends: [...vg.legends || [], ...lines.length ? [{stroke: 'savedColor', strokeDash: 'savedDash', symbolType: 'stroke', symbolStrokeWidth: 2, orient: 'top', columns, labelColor: ink, labelLimit: 0}] : [],
      ...ramp ? [{fill: 'color', type: 'gradient', orient: 'top', direction: 'horizontal', values: {signal: "domain('color')"}, labelColor: ink, labelOverlap: false,
        encode: {labels: {update: {text: {signal: `datum.index ? ${JSON.stringify(ramp[1])} : ${JSON.stringify(ramp[0])}`}}}}}] : []],
  }, null, {ast: true}), {expr: vega.expressionInterpreter, logLevel: vega.Error}).width(width).background(css('--paper'));
  view.setState(views[chart].getState({recurse: false, signals: name => !['width', 'height', 'padding', 'autosize', 'background'].includes(name),
    data: name => vg.data.some(d => d.name === name && !d.source)}));
  await view.runAsync();
  try { return as === 'svg' ? new Blob([await view.toSVG()], {type: 'image/svg+xml'}) : await view.toCanvas(2).then(canvas => new Promise(done => canvas.toBlob(done))); } finally { view.finalize(); }
}

// saver is a button that saves what blob makes of a chart, if it makes something.
const saver = (chart, as, what, blob) => make('button', {type: 'button', className: 'save', 'data-saves': chart + '.' + as, textContent: as.toUpperCase(), title: what + ' as ' + as.toUpperCase(), 'aria-label': what + ' as ' + as.toUpperCase(), onclick: async () => {
  const made = await blob(chart, as);
  if (!made) return;
  const url = URL.createObjectURL(made);
  make('a', {href: url, download: document.title.replace(/[^\p{L}\p{N}.-]+/gu, '-') + '-' + chart + '.' + as}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}});
const savers = (chart, what, blob = picture) => make('span', {className: 'pictures'}, saver(chart, 'svg', what, blob), saver(chart, 'png', what, blob));

$('licences').textContent = licences;

// ---- theme and print: a page's own part has redrawAll

const dark = matchMedia('(prefers-color-scheme: dark)');
let chosenTheme = 'system';
function theme(redraw) {
  root.dataset.theme = chosenTheme === 'system' ? dark.matches ? 'dark' : 'light' : chosenTheme;
  $('theme').textContent = 'Theme: ' + {system: 'as the system', light: 'light', dark: 'dark'}[chosenTheme];
  if (redraw) redrawAll();
}
try { chosenTheme = ['light', 'dark'].find(t => t === localStorage.getItem('fiolat-theme')) || 'system'; } catch { /* no storage: as the system */ }
$('theme').hidden = false;
$('theme').onclick = () => {
  chosenTheme = {system: 'light', light: 'dark', dark: 'system'}[chosenTheme];
  try { localStorage.setItem('fiolat-theme', chosenTheme); } catch { /* for this time only */ }
  theme(true);
};
dark.onchange = () => theme(true);
// On paper charts are drawn for the width of A4 and Letter between their margins, and are not shrunk with their words.
const paper = (width, size) => { document.body.style.cssText = width; root.style.fontSize = size; };
addEventListener('beforeprint', () => { paper('width: 718px; padding: 0', '12px'); root.dataset.theme = 'light'; redrawAll(); });
addEventListener('afterprint', () => { paper('', ''); theme(true); });
theme(false);

// OWN

performance.mark('drawn');
root.dataset.ready = 'true';
})().catch(failed);
