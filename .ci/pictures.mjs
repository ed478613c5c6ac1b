// The pictures of the README: the report of a dry run in a terminal, docs/report.svg, and a plan on the page, docs/plan.png. In: the built program
// and a made-up organization of its own, in a folder that is removed. Out: the two files. It needs Chromium. Usage: npm run docs:pictures
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PROGRAM = join(ROOT, 'dist/main.js');
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const REPORT_LINES = 27;

const dir = mkdtempSync(join(tmpdir(), 'trustward-pictures-'));
const started = [];
try {
  const { API_KEY, LISTENING } = await start(
    ['console', '--seed', '3', '--compromised', '3', '--listen', '127.0.0.1:0', '--db', join(dir, 'console.db')],
    /^(API_KEY|LISTENING)=(.*)$/,
    'LISTENING',
  );
  const env = {
    ...process.env,
    TRUSTWARD_API_URL: LISTENING,
    TRUSTWARD_API_KEY: API_KEY,
    TRUSTWARD_DB: join(dir, 'trustward.db'),
    TRUSTWARD_RULES: join(ROOT, 'rules'),
    TRUSTWARD_SCHEDULE: '0 0 1 1 *',
    TRUSTWARD_WATCH: '0s',
  };
  const trustward = (...args) => execFileSync(PROGRAM, args, { env, encoding: 'utf8' });

  writeFileSync(join(ROOT, 'docs/report.svg'), svgOf(trustward('run', '--mode', 'dry-run').split('\n')));

  done(trustward, 'run', '--mode', 'approve');
  const [{ id }] = JSON.parse(trustward('plans', '--status', 'pending', '--format', 'json')).plans;
  await start(['serve', '--mode', 'approve', '--listen', '127.0.0.1:0'], /^ {2}(HTTP endpoint) +(\S+)$/, 'HTTP endpoint', env);
  await photograph(trustward('open', '--print').trim(), `/plans/${id}`, join(ROOT, 'docs/plan.png'));
} finally {
  for (const child of started) child.kill('SIGTERM');
  rmSync(dir, { recursive: true, force: true });
}

/** Exit code 3: something waits for a person, as it should here. */
function done(trustward, ...args) {
  try {
    trustward(...args);
  } catch (error) {
    if (error.status !== 3) throw error;
  }
}

/** What it prints as names and values, once the last one is there. */
function start(args, line, last, env = process.env) {
  const child = spawn(PROGRAM, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(child);
  const found = {};
  return new Promise((resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`${args[0]} ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (text) => {
      const [, name, value] = line.exec(text) ?? [];
      if (name !== undefined) found[name] = value;
      if (name === last) resolve(found);
    });
  });
}

async function photograph(link, path, file) {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, locale: 'en-GB' });
    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.goto(new URL(path, link).href, { waitUntil: 'networkidle' });
    await page.screenshot({ path: file });
  } finally {
    await browser.close();
  }
}

/** A terminal of 100 columns. The title, the headline and the names of sections have a colour of their own. */
function svgOf(lines) {
  const [letter, height, left, top] = [7.83, 17, 20, 28];
  const shown = [...lines.slice(0, REPORT_LINES), '  …'];
  const width = Math.round(2 * left + 100 * letter);
  const rows = shown.flatMap((line, at) => {
    if (line.trim() === '') return [];
    const indent = line.length - line.trimStart().length;
    const place = `x="${(left + indent * letter).toFixed(1)}" y="${top + at * height}" textLength="${(line.trim().length * letter).toFixed(1)}"`;
    return [`<text ${place} lengthAdjust="spacingAndGlyphs"${styleOf(line, at, shown)}>${escaped(line.trim())}</text>`];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top + shown.length * height}" viewBox="0 0 ${width} ${top + shown.length * height}" role="img" aria-label="The report of a dry run in a terminal">`,
    `<rect width="100%" height="100%" rx="8" fill="#1e2430"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#d8dee9" xml:space="preserve">`,
    ...rows,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

function styleOf(line, at, lines) {
  const bold = (colour) => ` fill="${colour}" font-weight="bold"`;
  if (at === 0) return bold('#88c0d0');
  if (at < lines.indexOf('', 2)) return bold('#a3be8c');
  return /^[A-Z]{3}/.test(line) ? bold('#ebcb8b') : '';
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll(' ', '\u00a0');
}
