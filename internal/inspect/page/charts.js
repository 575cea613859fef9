// The charts. uPlot brings axes, zoom and the pointer; the pictures are drawn
// above.
const charts = [];
const indexes = Float64Array.from({ length: count }, (_, i) => i);
let syncing = false;

// The stretch that shows all requests; with few of them there is room for the
// names of the layers at the right.
const all = { min: -0.5, max: count - 0.5 + (count <= 8 ? 0.18 * count : 0) };

function axes(values, splits, space) {
  const base = { stroke: () => token('--quiet'), font: '12px system-ui, sans-serif', ticks: { show: false } };
  return [
    { ...base, grid: { show: false }, size: 30, gap: 6, space: 64, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000],
      splits: (u, axis, min, max, step) => roundNumbers(min, max, step), values: (u, splits) => splits.map((i) => tokens(requests.number[i])) },
    { ...base, grid: { stroke: () => token('--rule'), width: 1 }, size: 56, gap: 6, space: space || 26, values, ...(splits ? { splits } : {}) },
  ];
}

// The requests that the axis names: those with a round number, and the first.
function roundNumbers(min, max, step) {
  const out = [];
  for (let i = Math.max(0, Math.ceil(min)); i <= Math.min(count - 1, max); i++) {
    if (requests.attempt[i] === 1 && (requests.number[i] % step === 0 || (i === 0 && step > 1))) out.push(i);
  }
  return out;
}

// A chart whose picture is drawn by draw, over values for its range.
function chart(place, height, range, axisValues, draw, extra) {
  const host = document.getElementById(place);
  if (!host) return null;
  const options = {
    width: Math.max(240, host.clientWidth), height, padding: extra && extra.padding || [8, 22, 0, 0],
    legend: { show: false },
    scales: { x: { time: false, range: (u, min, max) => [min, max] }, y: { range } },
    axes: axes(axisValues, extra && extra.splits, extra && extra.space),
    series: [{}, { paths: () => null, points: { show: false } }],
    cursor: {
      y: false, points: { show: false }, drag: { x: true, y: false, dist: 6, setScale: true },
      sync: { key: 'requests', setSeries: false, scales: ['x', null] },
      bind: { dblclick: () => () => { zoom(all.min, all.max); return null; } },
    },
    hooks: { drawAxes: [draw], setCursor: [(u) => point(u)], setScale: [(u, key) => { if (key === 'x') follow(u); }] },
  };
  const u = new uPlot(options, [indexes, indexes], host);
  charts.push({ u, host, height });
  u.setScale('x', all);
  u.over.addEventListener('click', (e) => {
    const i = under(u);
    if (i !== null) choose(i, e.shiftKey || e.ctrlKey || e.metaKey || state.picking);
  });
  u.over.addEventListener('mouseleave', () => hover(null));
  return u;
}

function under(u) {
  if (u.cursor.left === undefined || u.cursor.left < 0) return null;
  const i = Math.round(u.posToVal(u.cursor.left, 'x'));
  return i >= 0 && i < count ? i : null;
}

function point(u) {
  if (u.cursor.event && u.cursor.event.type !== 'mouseleave') hover(under(u));
}

// All charts show the same stretch of requests.
function follow(u) {
  if (syncing) return;
  zoom(u.scales.x.min, u.scales.x.max, u);
}

function zoom(min, max, except) {
  if (!Number.isFinite(min) || !Number.isFinite(max)) return;
  syncing = true;
  for (const { u } of charts) {
    if (u !== except && (u.scales.x.min !== min || u.scales.x.max !== max)) u.setScale('x', { min, max });
  }
  syncing = false;
}

function peakOf(column) {
  let top = 0;
  for (const n of column) if (n !== null && n > top) top = n;
  return top;
}

// The height of the main chart: up to the window, unless the window is far
// larger than anything in it.
function windowRange() {
  const comparable = requests.reported.map((n, i) => requests.compared[i] === null ? null : n);
  const peak = Math.max(peakOf(requests.total), peakOf(comparable));
  const top = peak >= 0.4 * Math.min(...requests.available) ? Math.max(peak, peakOf(requests.window)) : peak;
  return [0, Math.max(1, top) * 1.06];
}

// Sticks from zero for each value of a column; where requests share a pixel,
// the one with the highest rank.
function drawSticks(u, value, style, rank) {
  const zero = u.valToPos(0, 'y', true);
  clipped(u, (c) => {
    for (const col of columnsOf(u, (i) => value(i) === null ? -Infinity : rank(value(i)))) {
      const v = value(col.i);
      if (v === null) continue;
      const y = u.valToPos(Math.max(u.scales.y.min, Math.min(u.scales.y.max, v)), 'y', true);
      c.fillStyle = style(v, col.i);
      c.fillRect(col.left, Math.min(y, zero), Math.max(1, col.right - col.left), Math.max(devicePixelRatio, Math.abs(y - zero)));
    }
  });
}

function drawBand(u) {
  clipped(u, (c) => {
    c.fillStyle = token('--band');
    for (const col of columnsOf(u, () => 0)) {
      const b = bandPercent(col.i);
      if (b === null) continue;
      const top = u.valToPos(b, 'y', true), bottom = u.valToPos(-b, 'y', true);
      c.fillRect(col.left, top, Math.max(1, col.right - col.left), bottom - top);
    }
  });
}

function drawLine(u, column) {
  const low = Math.max(0, Math.floor(u.scales.x.min)), high = Math.min(count - 1, Math.ceil(u.scales.x.max));
  clipped(u, (c) => {
    c.strokeStyle = token('--line');
    c.lineWidth = 2 * devicePixelRatio;
    c.lineJoin = 'round';
    c.beginPath();
    let open = false;
    for (let i = low; i <= high; i++) {
      if (column[i] === null) { open = false; continue; }
      const x = u.valToPos(i, 'x', true), y = u.valToPos(column[i], 'y', true);
      if (open) c.lineTo(x, y); else c.moveTo(x, y);
      open = true;
    }
    c.stroke();
    if (count === 1 || low === high) {
      c.fillStyle = token('--line');
      c.fillRect(u.valToPos(low, 'x', true) - 3, u.valToPos(column[low] ?? 0, 'y', true) - 3, 6, 6);
    }
  });
}

// The range of the error chart: wide enough for nearly all, even when a first
// request is far off.
function errorRange() {
  const errors = [];
  for (let i = 0; i < count; i++) {
    const e = errorPercent(i);
    if (e !== null) errors.push(Math.max(Math.abs(e), bandPercent(i)));
  }
  errors.sort((a, b) => a - b);
  const most = errors.length === 0 ? 1 : errors[Math.min(errors.length - 1, Math.floor(errors.length * 0.98))];
  const top = Math.max(0.5, most * 1.15);
  return [-top, top];
}

// The largest of 1, 2, 5, 10, … (and of their tenths) below a number.
function roundBelow(n) {
  const power = 10 ** Math.floor(Math.log10(n));
  return (n >= 5 * power ? 5 : n >= 2 * power ? 2 : 1) * power;
}

function costRange() {
  return [0, Math.max(0.0001, peakOf(requests.spent)) * 1.08];
}

function buildCharts() {
  chart('plot-window', 420, windowRange, (u, splits) => splits.map(short), (u) => { drawStacks(u); drawLimits(u); drawMarks(u); drawChoice(u); }, { padding: [24, 22, 0, 0], space: 40 });
  chart('plot-error', 122, errorRange, (u, splits) => splits.map((v) => percent(Math.round(v * 100) / 100, true)), (u) => {
    drawBand(u);
    drawSticks(u, errorPercent, (v, i) => Math.abs(v) <= bandPercent(i) ? token('--line') : token('--alarm'), Math.abs);
  }, { splits: (u, axis, min, max) => { const t = roundBelow(max); return [-t, 0, t]; } });
  chart('plot-cached', 100, () => [0, 1], (u, splits) => splits.map((v) => Math.round(v * 100) + ' %'), (u) => {
    drawSticks(u, (i) => requests.reported[i] ? requests.cached[i] / requests.reported[i] : null, () => token('--line'), (v) => -v);
  }, { splits: () => [0, 0.5, 1] });
  chart('plot-cost', 122, costRange, (u, splits) => splits.map((v) => '$' + (v >= 100 ? v.toFixed(0) : String(Math.round(v * 10000) / 10000))), (u) => drawLine(u, requests.spent));
}

function redraw() {
  for (const { u } of charts) u.redraw(false, true);
}

function resize() {
  for (const { u, host, height } of charts) {
    const width = Math.max(240, host.clientWidth);
    if (width !== u.width) u.setSize({ width, height });
  }
}
