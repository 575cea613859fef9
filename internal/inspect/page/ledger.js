// Ledgers: the versions of lines whose range of requests covers the request.
const lines = data.lines;
const labelOf = (v) => lines.words[lines.label[v]];
const decisionOf = (v) => lines.words[lines.decision[v]];
const reasonOf = (v) => lines.words[lines.reason[v]];
const weightOf = (v) => lines.tokens[v] + lines.framing[v];

// The request in which an item first stood, whatever its form was then.
const firstOf = [];
for (let v = 0; v < lines.id.length; v++) firstOf[lines.place[v]] ??= lines.from[v];

let cached = { at: -1, versions: [] };

// The versions of a request's ledger in the order in which the lines came.
function ledgerAt(i) {
  if (cached.at === i) return cached.versions;
  const out = [];
  for (let v = 0; v < lines.id.length; v++) {
    if (lines.from[v] <= i && i < lines.to[v]) out.push(v);
  }
  out.sort((a, b) => lines.place[a] - lines.place[b]);
  cached = { at: i, versions: out };
  return out;
}

function heaviestAt(i, n) {
  const top = [];
  for (const v of ledgerAt(i)) {
    const w = weightOf(v);
    if (w === 0 || (top.length === n && w <= weightOf(top[n - 1]))) continue;
    let at = top.length;
    while (at > 0 && weightOf(top[at - 1]) < w) at--;
    top.splice(at, 0, v);
    if (top.length > n) top.pop();
  }
  return top;
}

// What is sent, in the order in which a provider reads it.
function wire(versions) {
  const out = versions.filter((v) => lines.sent[v] > 0);
  out.sort((a, b) => lines.section[a] - lines.section[b] || lines.place[a] - lines.place[b]);
  return out;
}

const sameBytes = (a, b) => lines.hash[a] === lines.hash[b] && lines.sent[a] === lines.sent[b] &&
  (lines.sent[a] === 1 || lines.tokens[a] === lines.tokens[b]);

// Sums of counted lines as parts of the estimate; what no line holds is most
// of it instructions, at the beginning.
function scaled(shared, lost, total) {
  if (shared + lost === 0 || shared + lost === total) return [shared, lost];
  if (shared === 0) return [0, total];
  if (total < shared + lost) lost = Math.round(lost / (shared + lost) * total);
  return [total - lost, lost];
}

// The unchanged beginning of two requests, and what ended it.
function prefixOf(before, after, otherModel, total) {
  const old = wire(before), present = wire(after);
  let n = 0;
  while (!otherModel && n < old.length && n < present.length && sameBytes(old[n], present[n])) n++;
  let shared = 0, lost = 0;
  old.forEach((v, i) => { if (i < n) shared += weightOf(v); else lost += weightOf(v); });
  [shared, lost] = scaled(shared, lost, total);
  if (otherModel && old.length > 0) return { cause: 'model changed', line: lines.id[old[0]], shared, lost };
  if (n === old.length) return { cause: 'intact', line: '', shared, lost };
  const gone = old[n], next = present[n];
  const at = next === undefined ? lines.section[gone] : Math.min(lines.section[gone], lines.section[next]);
  let cause = ['tools changed', 'instructions changed', 'summary changed'][at];
  if (!cause) {
    const cleared = next !== undefined && lines.hash[next] === lines.hash[gone] && lines.sent[next] !== lines.sent[gone];
    cause = cleared ? 'tool output cleared' : 'messages changed';
  }
  return { cause, line: lines.id[gone], shared, lost };
}

// How the ledgers of two requests differ.
function difference(a, b) {
  const before = ledgerAt(a).slice(), after = ledgerAt(b).slice();
  const byID = new Map();
  for (const v of after) {
    if (!byID.has(lines.id[v])) byID.set(lines.id[v], []);
    byID.get(lines.id[v]).push(v);
  }
  const out = { removed: [], added: [], changed: [], same: 0 };
  for (const v of before) {
    const list = byID.get(lines.id[v]);
    if (!list || list.length === 0) { out.removed.push(v); continue; }
    const w = list.shift();
    if (sameLine(v, w)) out.same++; else out.changed.push([v, w]);
  }
  for (const v of after) {
    const list = byID.get(lines.id[v]);
    if (list[0] === v) { list.shift(); out.added.push(v); }
  }
  const heavy = (x, y) => weightOf(y) - weightOf(x);
  out.added.sort(heavy);
  out.removed.sort(heavy);
  const moved = ([x, y]) => Math.abs(weightOf(y) - weightOf(x));
  out.changed.sort((x, y) => moved(y) - moved(x));
  out.prefix = prefixOf(before, after, requests.model[a] !== requests.model[b], requests.total[a]);
  return out;
}

function sameLine(v, w) {
  return v === w || ['id', 'hash', 'label', 'decision', 'reason', 'category', 'tokens', 'framing'].every((k) => lines[k][v] === lines[k][w]);
}

function whatChanged(v, w) {
  if (lines.decision[v] !== lines.decision[w]) return decisionOf(v) + ' → ' + decisionOf(w);
  if (lines.hash[v] !== lines.hash[w]) return 'other content';
  if (lines.category[v] !== lines.category[w]) return 'now ' + categories[lines.category[w]].title;
  return reasonOf(w);
}
