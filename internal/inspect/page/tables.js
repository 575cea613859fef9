// The ledger of the chosen request, and the table of all requests.
const ledgerView = { text: '', category: -1, decision: '', order: 'weight', page: 0 };
const requestView = { show: 'all', page: 0 };
const rowsOnPage = 25;

function chooseLines(i) {
  const text = ledgerView.text.toLowerCase();
  const out = ledgerAt(i).filter((v) => (ledgerView.category < 0 || lines.category[v] === ledgerView.category) &&
    (ledgerView.decision === '' || decisionOf(v) === ledgerView.decision) &&
    (text === '' || (lines.id[v] + '\n' + labelOf(v) + '\n' + reasonOf(v)).toLowerCase().includes(text)));
  if (ledgerView.order === 'weight') out.sort((a, b) => weightOf(b) - weightOf(a));
  return out;
}

function pick(key, label, options) {
  const select = el('select', { 'data-key': key, onchange: () => { ledgerView[key] = key === 'category' ? Number(select.value) : select.value; ledgerView.page = 0; drawLedger(); } },
    options.map(([value, text]) => el('option', { value, selected: String(ledgerView[key]) === String(value) }, text)));
  return el('label', {}, label + ' ', select);
}

function drawLedger() {
  const i = state.chosen;
  const all = ledgerAt(i), shown = chooseLines(i);
  const decisions = [...new Set(all.map(decisionOf))].sort();
  const pages = Math.max(1, Math.ceil(shown.length / rowsOnPage));
  ledgerView.page = Math.min(ledgerView.page, pages - 1);
  const sum = shown.reduce((n, v) => n + weightOf(v), 0);
  const part = shown.slice(ledgerView.page * rowsOnPage, (ledgerView.page + 1) * rowsOnPage).map((v) => ({ v }));
  const search = el('input', { type: 'search', 'data-key': 'text', value: ledgerView.text, placeholder: 'id, label or reason',
    oninput: () => { ledgerView.text = search.value; ledgerView.page = 0; drawLedger(); } });
  fill(document.getElementById('ledger'),
    el('h2', {}, 'Ledger of request ' + numberOf(i)),
    el('p', { class: 'hint' }, 'Every item that is, or could be, in the request, and what was decided about it. ' +
      (requests.besides[i] > 0 ? tokens(requests.besides[i]) + ' tokens stand in no item: framing, and what the provider was seen to count on top.' :
        requests.besides[i] < 0 ? 'The items alone were counted as ' + tokens(-requests.besides[i]) + ' more: the estimate follows what the provider reported.' : '')),
    el('div', { class: 'tools' }, el('label', {}, 'Find ', search),
      pick('category', 'Category', [[-1, 'all'], ...categories.map((c, k) => [k, c.title])]),
      pick('decision', 'Decision', [['', 'all'], ...decisions.map((d) => [d, d])]),
      pick('order', 'Order', [['weight', 'heaviest first'], ['request', 'as they came']])),
    el('div', { class: 'wide' }, tableOf([
      { head: 'item', cell: (r) => [swatch(lines.category[r.v]), labelOf(r.v)] },
      { head: 'tokens', number: true, cell: (r) => tokens(weightOf(r.v)) },
      { head: 'share', number: true, cell: (r) => weightOf(r.v) === 0 ? '' : share(weightOf(r.v), requests.total[i]) },
      { head: 'category', optional: true, cell: (r) => categories[lines.category[r.v]].title },
      { head: 'decision', cell: (r) => decisionOf(r.v) },
      { head: 'reason', optional: true, cell: (r) => reasonOf(r.v) },
      { head: 'since request', number: true, optional: true, cell: (r) => numberOf(firstOf[lines.place[r.v]]) },
      { head: 'id', cell: (r) => el('span', { class: 'id' }, lines.id[r.v]) },
    ], part, plural(shown.length, 'line') + ' of ' + tokens(all.length) + ', ' + tokens(sum) + ' tokens', { class: 'lines' })),
    pager(ledgerView.page, pages, (to) => { ledgerView.page = to; drawLedger(); }));
}

function chooseRequests() {
  const out = [];
  for (let i = 0; i < count; i++) {
    if (requestView.show === 'over' && requests.over[i] === 0) continue;
    if (requestView.show === 'marks' && !marksAt.has(i) && !requests.notes[i]) continue;
    out.push(i);
  }
  return out;
}

function heaviestCategory(i) {
  let best = 0;
  for (let k = 1; k < categories.length; k++) if (requests.tokens[k][i] > requests.tokens[best][i]) best = k;
  return best;
}

function requestRows(indexesShown) {
  return indexesShown.map((i) => ({ i, attributes: {
    class: i === state.chosen || i === state.compared ? 'chosen' : null, onclick: (e) => choose(i, e.shiftKey || e.ctrlKey || e.metaKey || state.picking) } }));
}

function drawRequests() {
  const shown = chooseRequests();
  const pages = Math.max(1, Math.ceil(shown.length / rowsOnPage));
  requestView.page = Math.min(requestView.page, pages - 1);
  const button = (key, text) => el('button', { type: 'button', 'data-key': key, 'aria-pressed': requestView.show === key ? 'true' : 'false',
    onclick: () => { requestView.show = key; requestView.page = 0; drawRequests(); } }, text);
  const hasUsage = requests.reported.some((n) => n !== null), hasCost = requests.cost.some((n) => n !== null);
  const columns = [
    { head: 'request', number: true, cell: (r) => el('a', { href: '#request=' + requests.number[r.i], onclick: (e) => { e.preventDefault(); } }, numberOf(r.i)) },
    { head: 'tokens', number: true, cell: (r) => tokens(requests.total[r.i]) },
    { head: '±', number: true, optional: true, cell: (r) => tokens(requests.band[r.i]) },
    { head: 'of budget', number: true, tone: (r) => requests.over[r.i] > 0 ? 'alarm-text' : '', cell: (r) => share(requests.total[r.i], requests.available[r.i]) },
    { head: 'mostly', optional: true, class: 'whole', cell: (r) => { const k = heaviestCategory(r.i); return [swatch(k), categories[k].title + ' ' + share(requests.tokens[k][r.i], requests.total[r.i])]; } },
  ];
  if (hasUsage) {
    columns.push({ head: 'reported', number: true, cell: (r) => requests.reported[r.i] === null ? '–' : tokens(requests.reported[r.i]) },
      { head: 'error', number: true, cell: (r) => errorPercent(r.i) === null ? '–' : percent(errorPercent(r.i), true) },
      { head: 'cached', number: true, optional: true, cell: (r) => requests.reported[r.i] === null ? '–' : share(requests.cached[r.i], requests.reported[r.i]) });
  }
  if (hasCost) columns.push({ head: 'cost', number: true, cell: (r) => money(requests.cost[r.i]) });
  columns.push({ head: 'what happened', cell: (r) => [...(marksAt.get(r.i) || []).map((m) => m.glyph + ' ' + m.text), ...(requests.notes[r.i] ? ['✕ ' + requests.notes[r.i]] : [])].join('; ') });
  const part = shown.slice(requestView.page * rowsOnPage, (requestView.page + 1) * rowsOnPage);
  fill(document.getElementById('requests'),
    el('h2', {}, 'All requests'),
    el('div', { class: 'tools' }, button('all', 'all'), button('over', 'over budget'), button('marks', 'with marks'),
      numberInput('chosen', 'Request', (i) => choose(i, false)), numberInput('compared', 'compare with', (i) => compareWith(i))),
    el('div', { class: 'wide' }, tableOf(columns, requestRows(part), plural(shown.length, 'request'), { class: 'lines choosable' })),
    pager(requestView.page, pages, (to) => { requestView.page = to; drawRequests(); }));
}

function numberInput(key, label, take) {
  const present = state[key];
  const input = el('input', { type: 'number', min: requests.number[0], max: requests.number[count - 1], 'data-key': key, value: present === null ? '' : requests.number[present],
    onchange: () => { const i = input.value === '' ? null : indexOf(Number(input.value)); if (i !== null || key === 'compared') take(i); } });
  return el('label', {}, label + ' ', input);
}
