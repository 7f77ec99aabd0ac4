// node render.mjs --prom URL --to SECONDS --range SECONDS --scrape SECONDS --out FOLDER BOARD.json ...
// Renders each board to FOLDER/<board>.png. Fails on a script error, an empty panel, or panels that overlap.
import { createServer } from 'node:http';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';

import { build } from 'esbuild';
import { chromium } from 'playwright-core';

const WIDTH = 1600;
const PATIENCE_MS = 20_000;
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-proxy-server', '--hide-scrollbars'];
const HTML = '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="page.css"><style>body{margin:0;background:#111217} *{box-sizing:border-box} p{margin:0}</style><div id="root"></div><script type="module" src="page.js"></script>';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { prom: { type: 'string' }, to: { type: 'string' }, range: { type: 'string' }, scrape: { type: 'string' }, out: { type: 'string' }, chromium: { type: 'string', default: '/usr/bin/chromium' } },
});

async function bundled(folder) {
  const outfile = join(folder, 'page.js');
  await build({
    entryPoints: [join(import.meta.dirname, 'src/page.jsx')], outfile, bundle: true, format: 'esm', jsx: 'automatic', minify: true, logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis' }, loader: { '.svg': 'dataurl', '.ttf': 'empty', '.woff2': 'empty' },
  });
  return { script: await readFile(outfile), style: await readFile(join(folder, 'page.css')) };
}

async function serving(files, use) {
  const server = createServer((request, response) => {
    const file = files[new URL(request.url, 'http://x').pathname];
    response.writeHead(file ? 200 : 204, { 'Content-Type': file?.type ?? 'text/plain' }).end(file?.body);
  });
  await new Promise((ready) => { server.listen(0, '127.0.0.1', ready); });
  try {
    return await use(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

// Runs in the page: what is empty, what lies on something else, what reaches beyond the page.
function judged() {
  const { panels, expected, problems } = window.preview;
  const places = [...document.querySelectorAll('[data-panel]')].map((node) => ({ title: node.dataset.panel, box: node.getBoundingClientRect() }));
  const found = [...problems];
  if (places.length !== expected) found.push(`${places.length} panels on the page, ${expected} on the board`);
  for (const { title, points } of Object.values(panels)) if (!points) found.push(`${title}: empty`);
  for (const node of document.querySelectorAll('[data-panel]')) {
    const content = node.querySelector('[data-testid="data-testid panel content"]');
    const isDrawn = content && (content.querySelector('canvas') || content.innerText.trim());
    if (!isDrawn) found.push(`${node.dataset.panel}: nothing drawn`);
  }
  places.forEach((one, i) => {
    if (one.box.right > innerWidth) found.push(`${one.title}: beyond the page`);
    for (const other of places.slice(i + 1)) {
      const isApart = one.box.right <= other.box.left || other.box.right <= one.box.left || one.box.bottom <= other.box.top || other.box.bottom <= one.box.top;
      if (!isApart) found.push(`${one.title} and ${other.title} overlap`);
    }
  });
  return found;
}

// Runs in the page, too.
function areTablesDrawn() {
  return [...document.querySelectorAll('[role="grid"]')].every((grid) => grid.querySelector('[role="gridcell"]'));
}

async function rendered(browser, address, path) {
  const page = await browser.newPage({ viewport: { width: WIDTH, height: 1000 } });
  const problems = [];
  page.on('pageerror', (error) => problems.push(`script error: ${error.message}`));
  page.on('console', (message) => { if (message.type() === 'error') problems.push(`console: ${message.text()}`); });
  const { prom, to, range, scrape, out } = values;
  await page.goto(`${address}/?${new URLSearchParams({ prom, to, range, scrape })}`);
  const isDone = () => window.preview && window.preview.expected > 0 && Object.keys(window.preview.panels).length + window.preview.problems.length >= window.preview.expected;
  await page.waitForFunction(isDone, null, { timeout: PATIENCE_MS }).catch(() => problems.push('not all panels were drawn in time'));
  // The whole board in view, as a table draws only the rows that can be seen; then time to draw them.
  await page.setViewportSize({ width: WIDTH, height: await page.evaluate(() => document.getElementById('board').offsetHeight) });
  await page.waitForFunction(areTablesDrawn, null, { timeout: PATIENCE_MS }).catch(() => problems.push('a table was not drawn in time'));
  await page.evaluate(() => new Promise((drawn) => { requestAnimationFrame(() => requestAnimationFrame(drawn)); }));
  problems.push(...(await page.evaluate(judged)));
  await page.locator('#board').screenshot({ path: join(out, `${basename(path, '.json')}.png`) });
  await page.close();
  return problems;
}

const folder = await mkdtemp(join(tmpdir(), 'memotel-preview-'));
let status = 0;
try {
  const { script, style } = await bundled(folder);
  const page = { '/': { type: 'text/html', body: HTML }, '/page.js': { type: 'text/javascript', body: script }, '/page.css': { type: 'text/css', body: style } };
  const browser = await chromium.launch({ executablePath: values.chromium, args: FLAGS });
  try {
    for (const path of positionals) {
      const files = { ...page, '/board.json': { type: 'application/json', body: await readFile(path) } };
      const problems = await serving(files, (address) => rendered(browser, address, path));
      console.log(`${basename(path)}: ${problems.length ? 'FAILED' : 'ok'}`);
      for (const problem of problems) console.log(`  ${problem}`);
      if (problems.length) status = 1;
    }
  } finally {
    await browser.close();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
process.exit(status);
