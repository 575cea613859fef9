// Two requests side by side: what came, what went, what it did to the cache.
function prefixText(x) {
  if (x.cause === 'intact') return 'Nothing broke the cache: all of the earlier request is an unchanged beginning of the later one.';
  return 'The cache breaks because ' + ({ 'model changed': 'another model answers', 'tools changed': 'the tools changed', 'instructions changed': 'the instructions changed',
    'summary changed': 'a summary came, went or was replaced', 'tool output cleared': 'old tool output was cleared', 'messages changed': 'messages left or changed' })[x.cause] +
    ': ' + tokens(x.shared) + ' tokens before that place are shared, ' + tokens(x.lost) + ' after it are lost.';
}

function categoryChanges(a, b) {
  const rows = categories.map((_, k) => ({ k, before: requests.tokens[k][a], after: requests.tokens[k][b] })).filter((r) => r.before > 0 || r.after > 0).reverse();
  const most = Math.max(1, ...rows.map((r) => Math.abs(r.after - r.before)));
  const both = (r) => {
    const part = 50 * Math.abs(r.after - r.before) / most;
    return el('span', { class: 'bar', style: { width: part.toFixed(2) + '%', marginLeft: (r.after < r.before ? 50 - part : 50).toFixed(2) + '%', background: colour(r.k) } });
  };
  return tableOf([
    { head: 'category', cell: (r) => [swatch(r.k), categories[r.k].title] },
    { head: 'request ' + numberOf(a), number: true, cell: (r) => tokens(r.before) },
    { head: 'request ' + numberOf(b), number: true, cell: (r) => tokens(r.after) },
    { head: 'change', number: true, cell: (r) => r.after === r.before ? '' : change(r.after - r.before) },
    { head: '', class: 'bars both', cell: (r) => r.after === r.before ? null : both(r) },
  ], rows, null, { class: 'lines' });
}

function lineList(title, versions) {
  if (versions.length === 0) return null;
  const shown = versions.slice(0, 12);
  return el('div', {}, el('h3', {}, title + ' ', el('small', {}, plural(versions.length, 'line'))),
    el('ul', { class: 'items' }, shown.map((v) => el('li', { title: lines.id[v] + ' · ' + reasonOf(v) }, swatch(lines.category[v]),
      el('span', { class: 'name' }, labelOf(v), el('i', {}, lines.id[v])), el('span', { class: 'number' }, tokens(weightOf(v)))))),
    versions.length > shown.length ? el('p', { class: 'quiet' }, 'and ' + tokens(versions.length - shown.length) + ' more, lighter ones') : null);
}

function changedList(pairs) {
  if (pairs.length === 0) return null;
  const shown = pairs.slice(0, 12);
  return el('div', {}, el('h3', {}, 'Changed ', el('small', {}, plural(pairs.length, 'line'))),
    el('ul', { class: 'items' }, shown.map(([v, w]) => el('li', { title: lines.id[w] }, swatch(lines.category[w]),
      el('span', { class: 'name' }, labelOf(w), el('i', {}, whatChanged(v, w))), el('span', { class: 'number' }, change(weightOf(w) - weightOf(v)))))),
    pairs.length > shown.length ? el('p', { class: 'quiet' }, 'and ' + tokens(pairs.length - shown.length) + ' more') : null);
}

function drawCompare() {
  const place = document.getElementById('compare');
  place.hidden = state.compared === null;
  if (place.hidden) { fill(place); return; }
  const [a, b] = state.chosen < state.compared ? [state.chosen, state.compared] : [state.compared, state.chosen];
  const d = difference(a, b);
  const cachedText = requests.reported[b] === null ? null :
    el('p', { class: 'quiet' }, 'Afterwards the provider read ' + tokens(requests.cached[b]) + ' of ' + tokens(requests.reported[b]) + ' tokens from its cache.');
  fill(place,
    el('h2', {}, 'Request ' + numberOf(b) + ' compared with request ' + numberOf(a)),
    el('p', {}, tokens(requests.total[a]) + ' → ' + tokens(requests.total[b]) + ' tokens (' + change(requests.total[b] - requests.total[a]) + '). ' + prefixText(d.prefix)),
    cachedText,
    el('div', { class: 'wide' }, categoryChanges(a, b)),
    el('div', { class: 'pair' }, lineList('Added', d.added), changedList(d.changed), lineList('Removed', d.removed)),
    el('p', { class: 'quiet' }, plural(d.same, 'line') + ' the same in both.'),
    el('p', {}, el('button', { type: 'button', 'data-key': 'uncompare', onclick: () => compareWith(null) }, 'Close the comparison')));
}
