// Draws charts whose specifications hold their rows. A click on a row's mark goes to its anchor.
async function drawChart(chart) {
  const vg = compile(specs[chart], {legend: {orient: 'top', columns: Math.max(1, Math.floor($(chart).clientWidth / 80)), labelColor: css('--ink'), labelFontSize: 12}});
  vg.scales.find(s => s.name === 'color').range = palette();
  for (const m of vg.marks) m.aria = false; // the page says what a chart is
  const log = vg.scales.find(s => s.name === 'y').type === 'log';
  vg.signals = [...(vg.signals || []), {name: 'yTicks', value: []}];
  for (const a of vg.axes) if (a.scale === 'y') Object.assign(a, {minExtent: 54, maxExtent: 54, title: null}, log && {values: {signal: 'yTicks'}});
  const view = show(chart, vg, {logLevel: vega.Error}); // not a warning for each field without values
  view.addEventListener('click', (_, item) => { if (item && item.datum && item.datum.anchor) location.hash = item.datum.anchor; });
  await view.runAsync();
  if (log) await view.signal('yTicks', ticks(...view.scale('y').domain())).runAsync();
}
const caption = chart => ({title: $(chart).getAttribute('aria-label').split(';')[0], subtitle: document.title});
const redrawAll = () => Promise.all(Object.keys(specs).map(drawChart));
await redrawAll();
for (const c of Object.keys(specs)) ($(c).previousElementSibling || $(c)).before(savers(c, $(c).getAttribute('aria-label').split(';')[0]));

let width = root.clientWidth;
new ResizeObserver(() => {
  if (root.clientWidth === width) return;
  width = root.clientWidth;
  redrawAll();
}).observe(root);
window.fiolat = {views};
