// What the page shows: columns, one value for each request.
const data = JSON.parse(document.getElementById('data').textContent);
const categories = data.categories;
const requests = data.requests;
const count = requests.number.length;
const marksAt = new Map();
for (const m of data.marks) {
  if (!marksAt.has(m.at)) marksAt.set(m.at, []);
  marksAt.get(m.at).push(m);
}

// What the reader chose: a request, one to compare it with, one under the
// pointer. Indexes, null for none.
const state = { chosen: data.peak, compared: null, hover: null, picking: false };

const dark = window.matchMedia('(prefers-color-scheme: dark)');
const colour = (k) => dark.matches ? categories[k].dark : categories[k].light;
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const whole = new Intl.NumberFormat('en-US');
const tokens = (n) => whole.format(n).replace('-', '−');
const change = (n) => (n > 0 ? '+' : '') + tokens(n);
const plural = (n, noun) => tokens(n) + ' ' + noun + (n === 1 ? '' : 's');
function percent(p, signed) {
  const size = Math.abs(p);
  let text = size === 0 || size >= 99.95 ? p.toFixed(0) : size < 0.05 ? '<0.1' : p.toFixed(1);
  if (signed && p > 0 && size >= 0.05) text = '+' + text;
  return text.replace('-', '−') + ' %';
}
const share = (part, of) => of > 0 ? percent(100 * part / of) : '–';
function money(usd) {
  if (usd === null || usd === undefined) return '–';
  if (usd === 0) return '$0';
  if (usd < 0.0001) return '<$0.0001';
  if (usd < 1) return '$' + usd.toFixed(4);
  return '$' + whole.format(Math.floor(usd)) + (usd % 1).toFixed(2).slice(1);
}
function short(n) {
  if (n >= 1e6) return (n / 1e6).toFixed(n % 1e6 ? 1 : 0) + 'M';
  if (n >= 1e3) return (n / 1e3).toFixed(n % 1e3 ? 1 : 0) + 'k';
  return String(n);
}
const clock = (ms) => ms === null ? '' : new Date(ms).toISOString().slice(0, 16).replace('T', ' ') + ' UTC';

// How far off the estimate of a request was, in per cent of the report; null
// when the two are not comparable.
function errorPercent(i) {
  const c = requests.compared[i];
  const reported = requests.reported[i];
  return c === null || !reported ? null : 100 * (c[0] - reported) / reported;
}
function bandPercent(i) {
  const c = requests.compared[i];
  const reported = requests.reported[i];
  return c === null || !reported ? null : 100 * c[1] / reported;
}
const numberOf = (i) => String(requests.number[i]) + (requests.attempt[i] > 1 ? ' (' + requests.attempt[i] + ')' : '');

// The last attempt of a request by its number, null when there is none.
function indexOf(number) {
  const i = requests.number.lastIndexOf(number);
  return i < 0 ? null : i;
}
