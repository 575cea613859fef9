// The panel beside the chart: what is in one request. Its swatches stand in
// the order of the layers and so explain the chart.
function weightLine(i) {
  const over = requests.total[i] - requests.available[i];
  return [
    el('p', { class: 'weight' }, el('b', {}, tokens(requests.total[i])), ' tokens', requests.band[i] > 0 ? ' ± ' + tokens(requests.band[i]) : ''),
    el('p', {}, share(requests.total[i], requests.window[i]) + ' of the window · ',
      over > 0 ? el('span', { class: 'alarm-text' }, tokens(over) + ' over budget') : tokens(-over) + ' free'),
  ];
}

function layers(i) {
  const order = categories.map((_, k) => k).reverse();
  const top = Math.max(1, ...order.map((k) => requests.tokens[k][i]));
  const rows = order.map((k) => {
    const n = requests.tokens[k][i];
    return el('tr', { class: n === 0 ? 'quiet' : null }, el('th', { scope: 'row' }, swatch(k), categories[k].title), el('td', { class: 'number' }, tokens(n)),
      el('td', { class: 'number' }, n === 0 ? '' : share(n, requests.total[i])), el('td', { class: 'bars' }, n > 0 ? barOf(n / top, colour(k)) : null));
  });
  return el('table', { class: 'stack' }, el('tbody', {}, rows));
}

function outcome(i) {
  const out = [];
  if (requests.reported[i] !== null) {
    const e = errorPercent(i);
    out.push(el('p', {}, 'provider counted ' + tokens(requests.reported[i]) + (e === null ? '' : ' · estimate ' + percent(e, true))));
    out.push(el('p', {}, share(requests.cached[i], requests.reported[i]) + ' from the cache · ' + tokens(requests.output[i]) + ' output · ' +
      (requests.cost[i] === null ? 'price unknown' : money(requests.cost[i]))));
  } else {
    out.push(el('p', {}, 'the provider’s count is not known'), el('p', {}, '\u00a0'));
  }
  if (requests.notes[i]) out.push(el('p', { class: 'alarm-text' }, '✕ ' + requests.notes[i]));
  return out;
}

function marksOf(i) {
  const marks = marksAt.get(i) || [];
  if (marks.length === 0) return null;
  return [el('h4', {}, 'Just before'), marks.slice(0, 4).map((m) => el('p', { class: 'mark' + (m.kind === 'overflow' ? ' alarm-text' : '') }, m.glyph + ' ' + m.text)),
    marks.length > 4 ? el('p', {}, 'and ' + plural(marks.length - 4, 'more mark')) : null].flat();
}

function biggest(i) {
  const top = heaviestAt(i, 8);
  return [el('h4', {}, 'Biggest items'), el('ul', { class: 'items' }, top.map((v) => el('li', { title: lines.id[v] + ' · ' + reasonOf(v) }, swatch(lines.category[v]),
    el('span', { class: 'name' }, labelOf(v), el('i', {}, lines.id[v])), el('span', { class: 'number' }, tokens(weightOf(v))))))];
}

function drawDetail() {
  const i = state.hover ?? state.chosen;
  const step = (by) => el('button', { type: 'button', 'aria-label': by < 0 ? 'the request before' : 'the next request', 'data-key': 'step' + by,
    disabled: state.chosen + by < 0 || state.chosen + by >= count, onclick: () => choose(state.chosen + by, false) }, by < 0 ? '‹' : '›');
  const facts = [requests.models[requests.model[i]], clock(requests.time[i])].filter((t) => t !== '');
  fill(document.getElementById('detail'),
    el('h3', {}, 'Request ' + numberOf(i), el('span', {}, step(-1), ' ', step(1))),
    el('p', {}, facts.length > 0 ? facts.join(' · ') : '\u00a0'),
    weightLine(i), layers(i), el('h4', {}, 'Afterwards'), outcome(i), marksOf(i), biggest(i));
}
