// Drawing into a chart's canvas, in device pixels.

// The columns of the plot: where each begins and ends, and which request it
// shows. Where there are more requests than pixels, a column shows the one
// for which rank is largest.
function columnsOf(u, rank) {
  const ratio = devicePixelRatio;
  const low = Math.max(0, Math.ceil(u.scales.x.min)), high = Math.min(count - 1, Math.floor(u.scales.x.max));
  const step = u.bbox.width / (u.scales.x.max - u.scales.x.min);
  const out = [];
  if (step >= 2 * ratio) {
    const gap = step > 14 * ratio ? Math.round(2 * ratio) : step > 5 * ratio ? Math.round(ratio) : 0;
    const most = 64 * ratio;
    for (let i = low; i <= high; i++) {
      let left = Math.round(u.valToPos(i - 0.5, 'x', true)), right = Math.round(u.valToPos(i + 0.5, 'x', true)) - gap;
      if (right - left > most) {
        const middle = (left + right) / 2;
        left = Math.round(middle - most / 2);
        right = Math.round(middle + most / 2);
      }
      out.push({ i, left, right });
    }
    return out;
  }
  let last = null;
  for (let i = low; i <= high; i++) {
    const left = Math.floor(u.valToPos(i - 0.5, 'x', true));
    const right = Math.max(left + 1, Math.ceil(u.valToPos(i + 0.5, 'x', true)));
    if (last && last.left === left) {
      last.right = Math.max(last.right, right);
      if (rank(i) > rank(last.i)) last.i = i;
      continue;
    }
    if (last) last.right = left;
    last = { i, left, right };
    out.push(last);
  }
  return out;
}

function clipped(u, draw) {
  const c = u.ctx;
  c.save();
  c.beginPath();
  c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  c.clip();
  draw(c);
  c.restore();
}

// The stack of categories of every request.
function drawStacks(u) {
  const columns = columnsOf(u, (i) => requests.total[i]);
  clipped(u, (c) => {
    for (const col of columns) {
      let sum = 0;
      let bottom = u.valToPos(0, 'y', true);
      for (let k = 0; k < categories.length; k++) {
        const n = requests.tokens[k][col.i];
        if (n === 0) continue;
        sum += n;
        const top = u.valToPos(sum, 'y', true);
        c.fillStyle = colour(k);
        c.fillRect(col.left, top, col.right - col.left, bottom - top);
        bottom = top;
      }
    }
    drawReported(u, c, columns);
  });
  drawNames(u, columns);
}

// What the provider counted, as a dash on the bar where bars are wide enough.
function drawReported(u, c, columns) {
  if (columns.length === 0 || columns[0].right - columns[0].left < 7 * devicePixelRatio) return;
  for (const col of columns) {
    const n = requests.reported[col.i];
    if (n === null || requests.compared[col.i] === null) continue;
    const y = Math.round(u.valToPos(n, 'y', true));
    c.fillStyle = token('--paper');
    c.fillRect(col.left, y - 1.5 * devicePixelRatio, col.right - col.left, 3 * devicePixelRatio);
    c.fillStyle = token('--ink');
    c.fillRect(col.left, y - 0.5 * devicePixelRatio, col.right - col.left, devicePixelRatio);
  }
}

// Whether dark or light text reads better on a colour.
function inkOn(hex) {
  const channel = (at) => {
    const v = parseInt(hex.slice(at, at + 2), 16) / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  };
  const light = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
  return 1.05 / (light + 0.05) > (light + 0.05) / 0.06 ? '#ffffff' : '#14161a';
}

// The name of each category inside its layer, where the layer is thick enough
// over the whole length of the name.
function drawNames(u, columns) {
  const ratio = devicePixelRatio, c = u.ctx;
  if (columns.length > 1 && columns[1].left - columns[0].right > 8 * ratio || columns.length === 1) { namesBeside(u, columns[columns.length - 1]); return; }
  const size = Math.round(12 * ratio), need = 15 * ratio;
  c.save();
  c.font = '600 ' + size + 'px system-ui, sans-serif';
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  for (let k = 0; k < categories.length; k++) {
    const name = categories[k].title;
    const length = c.measureText(name).width + 16 * ratio;
    const place = roomFor(u, columns, k, length, need);
    if (!place) continue;
    c.fillStyle = inkOn(colour(k));
    c.fillText(name, place.x, place.y);
  }
  c.restore();
}

// With few and far bars the names stand to the right of the last one, each at
// the height of its layer as far as there is room.
function namesBeside(u, column) {
  const ratio = devicePixelRatio, c = u.ctx;
  const x = column.right + 10 * ratio;
  if (u.bbox.left + u.bbox.width - x < 100 * ratio) return;
  const named = [];
  let sum = 0;
  for (let k = 0; k < categories.length; k++) {
    const n = requests.tokens[k][column.i];
    if (n > 0) named.push({ k, y: u.valToPos(sum + n / 2, 'y', true) });
    sum += n;
  }
  const step = 15 * ratio;
  let floor = u.bbox.top + u.bbox.height - step / 2;
  for (const n of named) {
    n.y = Math.min(n.y, floor);
    floor = n.y - step;
  }
  c.save();
  c.font = Math.round(12 * ratio) + 'px system-ui, sans-serif';
  c.textAlign = 'left';
  c.textBaseline = 'middle';
  for (const { k, y } of named) {
    if (y < u.bbox.top) break;
    c.fillStyle = colour(k);
    c.fillRect(x, y - 4 * ratio, 8 * ratio, 8 * ratio);
    c.fillStyle = token('--ink');
    c.fillText(categories[k].title, x + 13 * ratio, y);
  }
  c.restore();
}

// The middle of the thickest stretch of a layer that holds a name.
function roomFor(u, columns, k, length, need) {
  const scale = u.bbox.height / (u.scales.y.max - u.scales.y.min);
  let best = null;
  for (let from = 0; from < columns.length; from++) {
    let low = -Infinity, high = Infinity, to = from;
    while (to < columns.length) {
      const i = columns[to].i;
      let base = 0;
      for (let j = 0; j < k; j++) base += requests.tokens[j][i];
      low = Math.max(low, base);
      high = Math.min(high, base + requests.tokens[k][i]);
      if ((high - low) * scale < need) break;
      if (columns[to].right - columns[from].left >= length) break;
      to++;
    }
    if (to >= columns.length || (high - low) * scale < need) continue;
    const thick = (high - low) * scale;
    if (!best || thick > best.thick) {
      best = { thick, x: (columns[from].left + columns[to].right) / 2, y: u.valToPos((low + high) / 2, 'y', true) };
    }
  }
  return best;
}

// The line of the budget, which may change from request to request, and the
// line of the window, each with its name.
function drawLimits(u) {
  const columns = columnsOf(u, () => 0);
  if (columns.length === 0) return;
  const line = (column, dash, width) => clipped(u, (c) => {
    for (const [style, extra] of [[token('--paper'), 2], [token('--ink'), 0]]) {
      c.strokeStyle = style;
      c.lineWidth = (width + extra) * devicePixelRatio;
      c.setLineDash(dash.map((d) => d * devicePixelRatio));
      c.globalAlpha = extra ? 0.7 : 1;
      c.beginPath();
      columns.forEach((col, n) => {
        const y = Math.round(u.valToPos(column[col.i], 'y', true));
        if (n === 0) c.moveTo(u.bbox.left, y); else c.lineTo(col.left, y);
        c.lineTo(n === columns.length - 1 ? u.bbox.left + u.bbox.width : col.right, y);
      });
      c.stroke();
    }
  });
  line(requests.available, [6, 4], 1.5);
  line(requests.window, [], 1);
  const last = columns[columns.length - 1].i;
  nameLine(u, 'budget ' + tokens(requests.available[last]), requests.available[last]);
  if (requests.window[last] <= u.scales.y.max) nameLine(u, 'window ' + tokens(requests.window[last]), requests.window[last]);
}

// The name of a line at the left end, on a patch of paper; at the upper edge
// when the line is above the picture.
function nameLine(u, text, value) {
  const ratio = devicePixelRatio, c = u.ctx;
  const outside = value > u.scales.y.max;
  c.save();
  c.font = Math.round(12 * ratio) + 'px system-ui, sans-serif';
  c.textBaseline = 'middle';
  c.textAlign = 'left';
  const label = outside ? text + ' is above the picture' : text;
  const width = c.measureText(label).width;
  const x = u.bbox.left + 8 * ratio;
  const y = outside ? u.bbox.top + 10 * ratio : u.valToPos(value, 'y', true) - 10 * ratio;
  c.fillStyle = token('--paper');
  c.globalAlpha = 0.85;
  c.fillRect(x - 4 * ratio, y - 8 * ratio, width + 8 * ratio, 16 * ratio);
  c.globalAlpha = 1;
  c.fillStyle = token('--ink');
  c.fillText(label, x, y);
  c.restore();
}

// Marks: a sign above the plot, and a thin line down where there are few.
function drawMarks(u) {
  const ratio = devicePixelRatio, c = u.ctx;
  const low = u.scales.x.min, high = u.scales.x.max;
  const shown = data.marks.filter((m) => m.at - 0.5 >= low && m.at - 0.5 <= high);
  c.save();
  c.font = Math.round(13 * ratio) + 'px system-ui, sans-serif';
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  const taken = new Map();
  for (const m of shown) {
    const refused = m.kind === 'overflow';
    const x = Math.round(u.valToPos(Math.min(m.at - 0.5, count - 0.5), 'x', true));
    const cell = Math.round(x / (12 * ratio));
    const level = taken.get(cell) || 0;
    taken.set(cell, level + 1);
    if (shown.length <= 80 && level === 0) {
      c.strokeStyle = token('--ink');
      c.globalAlpha = 0.45;
      c.lineWidth = ratio;
      c.setLineDash([2 * ratio, 3 * ratio]);
      c.beginPath();
      c.moveTo(x + 0.5, u.bbox.top);
      c.lineTo(x + 0.5, u.bbox.top + u.bbox.height);
      c.stroke();
      c.globalAlpha = 1;
      c.setLineDash([]);
    }
    if (level > (shown.length > 80 ? 0 : 1)) continue;
    c.fillStyle = refused ? token('--alarm') : token('--ink');
    c.fillText(m.glyph, x + level * 12 * ratio, u.bbox.top - 9 * ratio);
  }
  c.restore();
}

// The chosen request and the one it is compared with: a bracket under the
// axis line and a letter.
function drawChoice(u) {
  const ratio = devicePixelRatio, c = u.ctx;
  const one = (i, letter) => {
    if (i === null || i < u.scales.x.min || i > u.scales.x.max) return;
    const left = u.valToPos(i - 0.5, 'x', true), right = u.valToPos(i + 0.5, 'x', true);
    const x = (left + right) / 2, half = Math.max(3 * ratio, Math.min((right - left) / 2, 32 * ratio));
    const y = u.bbox.top + u.bbox.height;
    c.fillStyle = token('--accent');
    c.fillRect(x - half, y + ratio, 2 * half, 3 * ratio);
    if (letter) {
      c.font = '700 ' + Math.round(11 * ratio) + 'px system-ui, sans-serif';
      c.textAlign = 'center';
      c.fillText(letter, x, y + 14 * ratio);
    }
  };
  c.save();
  one(state.chosen, '');
  one(state.compared, '');
  c.restore();
}
