// What the reader does.
let frame = 0;
function hover(i) {
  if (state.hover === i) return;
  state.hover = i;
  if (frame) return;
  frame = requestAnimationFrame(() => { frame = 0; drawDetail(); });
}

function choose(i, compare) {
  if (i < 0 || i >= count) return;
  if (compare && i !== state.chosen) { compareWith(i); return; }
  state.chosen = i;
  if (state.compared === i) state.compared = null;
  ledgerView.page = 0;
  show();
}

function compareWith(i) {
  state.compared = i === state.chosen ? null : i;
  state.picking = false;
  show();
}

function show() {
  document.getElementById('said').textContent = 'Request ' + numberOf(state.chosen) + ': ' + plural(requests.total[state.chosen], 'token') + ', ' +
    share(requests.total[state.chosen], requests.available[state.chosen]) + ' of the budget';
  drawDetail();
  drawCompare();
  drawLedger();
  drawRequests();
  redraw();
  const hash = '#request=' + requests.number[state.chosen] + (state.compared === null ? '' : '&compare=' + requests.number[state.compared]);
  try { history.replaceState(null, '', hash); } catch { /* a page without an address keeps none */ }
}

// A link can name what to show: #request=310&compare=311.
function readAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const find = (name) => wanted.has(name) ? indexOf(Number(wanted.get(name))) : null;
  state.chosen = find('request') ?? state.chosen;
  const other = find('compare');
  state.compared = other === state.chosen ? null : other;
}

function keys(e) {
  const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -count, End: count }[e.key];
  if (e.key === 'Escape') { compareWith(null); return; }
  if (by === undefined) return;
  e.preventDefault();
  state.hover = null;
  const from = e.shiftKey ? state.compared ?? state.chosen : state.chosen;
  choose(Math.max(0, Math.min(count - 1, from + by)), e.shiftKey);
}

readAddress();
buildCharts();
show();
document.getElementById('plot-window').addEventListener('keydown', keys);
window.addEventListener('hashchange', () => { readAddress(); show(); });
dark.addEventListener('change', show);
new ResizeObserver(resize).observe(document.querySelector('.plots'));
window.addEventListener('resize', resize);
