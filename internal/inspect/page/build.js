// Elements. Text goes in as text only, so that no label can become markup.
function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k === 'style') Object.assign(e.style, v);
    else if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (v === true) e.setAttribute(k, '');
    else if (v !== false && v !== null && v !== undefined) e.setAttribute(k, v);
  }
  for (const c of children.flat()) if (c !== null && c !== undefined && c !== false) e.append(c);
  return e;
}

const swatch = (k) => el('span', { class: 'swatch', style: { background: colour(k) } });

function barOf(width, background) {
  return el('span', { class: 'bar', style: { width: (100 * Math.min(1, Math.max(0, width))).toFixed(2) + '%', background } });
}

// A table from columns [{head, number, optional, cell(row)}].
function tableOf(columns, rows, caption, attributes) {
  const kind = (c) => [c.number ? 'number' : '', c.optional ? 'optional' : '', c.class || ''].join(' ').trim();
  return el('table', attributes,
    caption ? el('caption', {}, caption) : null,
    el('thead', {}, el('tr', {}, columns.map((c) => el('th', { scope: 'col', class: kind(c) }, c.head)))),
    el('tbody', {}, rows.map((row) => el('tr', row.attributes || {}, columns.map((c, i) => {
      const cell = c.cell(row);
      return el(i === 0 ? 'th' : 'td', { scope: i === 0 ? 'row' : null, class: (kind(c) + ' ' + (c.tone ? c.tone(row) : '')).trim() || null }, cell);
    })))));
}

// Buttons that turn the pages of a long table.
function pager(page, pages, turn) {
  if (pages < 2) return null;
  const go = (to, text) => el('button', { type: 'button', disabled: to < 0 || to >= pages || to === page, onclick: () => turn(to) }, text);
  return el('div', { class: 'tools' }, go(0, 'First'), go(page - 1, 'Previous'),
    el('span', {}, 'page ' + tokens(page + 1) + ' of ' + tokens(pages)), go(page + 1, 'Next'), go(pages - 1, 'Last'));
}

// Replace what a place holds, keeping the focus where the reader typed.
function fill(place, ...children) {
  const active = document.activeElement;
  const key = active && place.contains(active) ? active.dataset.key : null;
  const range = key && active.type === 'search' ? [active.selectionStart, active.selectionEnd] : null;
  place.replaceChildren(...children.flat().filter((c) => c !== null && c !== undefined));
  if (!key) return;
  const again = place.querySelector('[data-key="' + key + '"]');
  if (!again) return;
  again.focus({ preventScroll: true });
  if (range) again.setSelectionRange(range[0], range[1]);
}
