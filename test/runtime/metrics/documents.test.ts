// test: docs/metrics.md lists the metrics as they are defined, and what is in ops/ names only what a daemon really serves.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { buildProgram } from '../../../src/faces/cli/program.ts';
import {
  DEFINITIONS,
  type Definition,
  Metrics,
  PROCESS,
  RUNS,
  SAFETY,
  WORKERS,
} from '../../../src/runtime/metrics/registry.ts';
import { ROOT } from '../../support/built.ts';
import { type Measured, startMeasured } from './daemon-metrics.ts';

const INTRO = `# Metrics

The daemon serves its metrics as Prometheus text at two places:

- \`GET /metrics\` of the HTTP endpoint, with a token of scope \`read\`: \`trustward tokens add prometheus --scope read --out prometheus.token\`.
- A listener of its own, without a token, if \`TRUSTWARD_METRICS_LISTEN\` is set (\`127.0.0.1:9464\`). It has this path and no other, and answers requests to
  [our hosts](operating.md#tokens-and-hosts) only. Metrics name no device, person or address; they do show the ids of the rules, and how the engine does.

The folder \`ops\` has an example for Prometheus (\`ops/prometheus/prometheus.yml\`), alert rules whose texts say what to do (\`ops/prometheus/alerts.yml\`), and
a dashboard for Grafana (\`ops/grafana/trustward.json\`).

- What is not known is absent, not 0. While the database cannot be read, \`trustward_store_up\` is 0 and what only the database knows is absent.
- Gauges that the database knows are right from the first scrape after a restart. Counters begin at 0 with each process.
- The database is read at most once a second, however often the metrics are. \`trustward_store_read_timestamp_seconds\` shows when. Every other value is of
  the moment of the scrape.
- A time is a Unix timestamp in seconds; its age is \`time() - …\`.
- A label \`rule\` has the id of a loaded rule, or \`(not loaded)\`. \`route\` has the pattern of a route, or \`(none)\` where a request reached none.
- A command without a daemon (\`trustward run\`) has no metrics: the report and the exit code show how it ended.
- \`trustward_runs_total\` has the mode and trigger \`unknown\` for a run that an earlier process left.
`;

const WORKERS_INTRO = `A worker serves \`/metrics\`, \`/healthz\` and \`/readyz\` without a token at \`TRUSTWARD_WORKER_LISTEN\`, such as \`127.0.0.1:9465\`. Without this setting
it has no port. [Operating](operating.md#health-and-metrics-of-a-worker) has the checks.

- It also has \`trustward_build_info\`, \`trustward_store_up\`, \`trustward_store_fault\`, \`trustward_organizations\`, \`trustward_organizations_refused\`, and the metrics of the process.
- The first three of the table are read from the database: each worker and endpoint shows the same. Take their \`max\`, not their \`sum\`. The others are of one worker.
- A label \`organization\` has at most 100 ids in the life of a process, the first by id. All others are summed as \`(others)\`.
`;

const OUTRO = `## The process

Those of prom-client: event loop delay (\`nodejs_eventloop_lag_*\`: since the scrape before), garbage collection, heap, CPU, memory, open files.
`;

function tableOf(definitions: readonly Definition[]): string {
  const rows = definitions.map(
    ({ name, kind, help, labels = [] }) =>
      `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
  );
  return ['| metric | kind | labels | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

describe('the list of metrics', () => {
  it('is in the docs as it is defined (`npm run docs:metrics` writes it)', async () => {
    const parts = [
      INTRO,
      `## Safety first\n\n${tableOf(SAFETY)}\n`,
      `## Runs, and what they decide and do\n\n${tableOf(RUNS)}\n`,
      `## Jobs and workers, with PostgreSQL\n\n${WORKERS_INTRO}\n${tableOf(WORKERS)}\n`,
      `## The API, the endpoint, the disk\n\n${tableOf(PROCESS)}\n`,
      OUTRO,
      `| metric | kind | meaning |\n|---|---|---|\n${(await ofProcess()).join('\n')}\n`,
    ];
    await expect(parts.join('\n')).toMatchFileSnapshot(join(ROOT, 'docs/metrics.md'));
  });

  it('follows the conventions of Prometheus', () => {
    for (const { name, kind, help } of DEFINITIONS) {
      expect(name).toMatch(/^trustward_[a-z][a-z_]*[a-z]$/);
      expect([name, name.endsWith('_total')]).toEqual([name, kind === 'counter']);
      if (kind === 'histogram') expect(name).toMatch(/_seconds$/);
      expect([name, /(?<!un)(millis|minutes|kilo|mega|_ms$|percent)/.test(name)]).toEqual([name, false]);
      expect(help).toMatch(/^(\d|[A-Z]).*[^.]$/);
    }
    expect(new Set(DEFINITIONS.map(({ name }) => name)).size).toBe(DEFINITIONS.length);
  });
});

async function ofProcess(): Promise<string[]> {
  const own = new Set<string>(DEFINITIONS.map(({ name }) => name));
  const others = (await new Metrics().all()).filter(({ name }) => !own.has(name));
  return others.map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help.replace(/\.$/, '')} |`);
}

describe('what is in ops/ names only what a daemon really serves', () => {
  const read = (file: string) => readFileSync(join(ROOT, 'ops', file), 'utf8');
  const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

  interface Rule {
    alert: string;
    expr: string;
    labels: { severity: string };
    annotations: { summary: string; description: string };
  }
  interface Panel {
    title: string;
    type: string;
    description?: string;
    gridPos: { x: number; y: number; w: number; h: number };
    fieldConfig?: { defaults: { unit?: string } };
    targets?: { expr: string; legendFormat?: string }[];
  }
  const rules = (parse(read('prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
    (one) => one.rules,
  );
  const dashboard = JSON.parse(read('grafana/trustward.json')) as {
    title: string;
    uid: string;
    panels: Panel[];
    templating: { list: { query?: unknown; definition?: string }[] };
  };
  const panels = dashboard.panels.filter(({ type }) => type !== 'row');
  const expressions = [
    ...rules.map(({ alert, expr }) => [alert, expr] as const),
    ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
  ];

  /** What Prometheus adds itself. */
  const ADDED = ['job', 'instance', 'le'];
  const KNOWN_ELSEWHERE = ['up'];

  let on: Measured;
  /** By metric: its labels. Of the process as served, of ours as defined. */
  const served = new Map<string, Set<string>>();

  beforeAll(async () => {
    on = await startMeasured();
    const { text } = await on.until((scrape) => scrape.seriesOf('trustward_runs_total').length > 0);
    for (const [, name] of text.matchAll(/^# TYPE (\S+) /gm)) served.set(name as string, new Set());
    for (const [, name, labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
      const known = served.get(name as string) ?? served.get((name as string).replace(/_(bucket|sum|count)$/, ''));
      for (const [, label] of labels.matchAll(/(\w+)="/g)) known?.add(label as string);
    }
    const definitions: readonly Definition[] = DEFINITIONS;
    for (const { name, labels = [] } of definitions) for (const label of labels) served.get(name)?.add(label);
  });
  afterAll(() => on.close());

  /** Selectors of an expression: a metric, and the labels that it is asked by. */
  function selectorsOf(expr: string): { name: string; labels: string[] }[] {
    const found = expr.matchAll(/\b((?:trustward|nodejs|process)_\w+|up)\b(?:\{([^}]*)\})?/g);
    return [...found].map(([, name = '', labels = '']) => ({
      name: name.replace(/_(bucket|sum|count)$/, (end) => (served.has(name) ? end : '')),
      labels: [...labels.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label as string),
    }));
  }

  describe('ops', () => {
    it('asks for metrics that a running daemon serves, by labels that they have', () => {
      expect(expressions.length).toBeGreaterThan(40);
      for (const [where, expr] of expressions) {
        const selectors = selectorsOf(expr);
        expect([where, selectors.length > 0]).toEqual([where, true]);
        for (const { name, labels } of selectors) {
          if (KNOWN_ELSEWHERE.includes(name)) continue;
          expect([where, name, served.has(name)]).toEqual([where, name, true]);
          const known = [...(served.get(name) ?? []), ...ADDED];
          expect([where, name, labels.filter((label) => !known.includes(label))]).toEqual([where, name, []]);
        }
        const own = new Set([...selectors.flatMap(({ name }) => [...(served.get(name) ?? [])]), ...ADDED]);
        const grouped = [...expr.matchAll(/\b(?:by|on|without)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
          list.split(/,\s*/),
        );
        expect([where, grouped.filter((label) => !own.has(label))]).toEqual([where, []]);
      }
    });

    it('defines every metric that a daemon serves under our name', () => {
      const defined = new Set<string>(DEFINITIONS.map(({ name }) => name));
      expect([...served.keys()].filter((name) => name.startsWith('trustward_')).sort()).toEqual([...defined].sort());
    });

    it('has alerts that each say what to do, by commands that there are', async () => {
      for (const { alert, labels, annotations } of rules) {
        expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(page|ticket)$/)]);
        expect([alert, annotations.summary]).toEqual([alert, expect.stringContaining('{{ $labels.instance }}')]);
        expect(annotations.description.length).toBeGreaterThan(60);
        for (const [, command = ''] of annotations.description.matchAll(/`trustward ([^`]+)`/g)) {
          const [help, code] = await helpOf(
            command.split(' ').filter((word) => !word.startsWith('-') && word !== 'unknown' && word !== 'parked'),
          );
          expect([alert, command, code]).toEqual([alert, command, 0]);
          for (const [option] of command.matchAll(/--[a-z-]+/g))
            expect([command, help]).toEqual([command, expect.stringContaining(option)]);
        }
      }
    });

    it('has an alert test for every alert', () => {
      const tests = read('prometheus/alerts.test.yml');
      for (const { alert } of rules) expect(tests).toContain(`alertname="${alert}", instance="${alert}"`);
    });

    it('has a dashboard whose panels have a title, a unit and a place of their own, safety first', () => {
      expect(dashboard).toMatchObject({ title: 'Trustward', uid: 'trustward' });
      expect(dashboard.panels[0]).toMatchObject({ type: 'row', title: 'Safety first' });
      const rows = dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title);
      expect(rows).toEqual([
        'Safety first',
        'Runs',
        'Decisions and actions',
        'Management API',
        'Process and endpoint',
        'Workers, with PostgreSQL',
      ]);
      for (const { title, fieldConfig, targets = [] } of panels) {
        expect(title).toMatch(/^[A-Z0-9]/);
        expect([title, fieldConfig?.defaults.unit]).toEqual([title, expect.stringMatching(/^\w+$/)]);
        expect([title, targets.length > 0]).toEqual([title, true]);
        for (const { expr } of targets) expect([title, expr.includes('instance=~"$instance"')]).toEqual([title, true]);
      }
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
      expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24);
      expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    });
  });

  describe.skipIf(!hasPromtool)('promtool', () => {
    const promtool = (args: string[], input?: string) =>
      spawnSync('promtool', args, {
        cwd: join(ROOT, 'ops/prometheus'),
        encoding: 'utf8',
        ...(input !== undefined && { input }),
      });

    it.each([
      [['check', 'config', 'prometheus.yml']],
      [['check', 'rules', 'alerts.yml']],
      [['test', 'rules', 'alerts.test.yml']],
    ])('accepts `%s`', (args) => {
      const { status, stdout, stderr } = promtool(args);
      expect([status, status === 0 ? '' : stdout + stderr]).toEqual([0, '']);
    });

    it('accepts what a daemon serves', async () => {
      const { text } = await on.scrape();
      const { status, stdout, stderr } = promtool(['check', 'metrics'], text);
      expect([status, stdout + stderr]).toEqual([0, '']);
    });

    it('reads every expression of the dashboard', () => {
      const groups = [
        {
          name: 'dashboard',
          rules: expressions.map(([, expr], index) => ({
            record: `r${index}`,
            expr: expr.replaceAll('$__rate_interval', '5m'),
          })),
        },
      ];
      const dir = mkdtempSync(join(tmpdir(), 'trustward-ops-'));
      writeFileSync(join(dir, 'rules.yml'), JSON.stringify({ groups }));
      const checked = execFileSync('promtool', ['check', 'rules', join(dir, 'rules.yml')], { encoding: 'utf8' });
      rmSync(dir, { recursive: true });
      expect(checked).toContain(`${expressions.length} rules found`);
    });
  });

  async function helpOf(words: string[]): Promise<[help: string, code: number]> {
    const parts: string[] = [];
    const out = (text: string) => void parts.push(text);
    const code = await buildProgram({ env: {}, out, err: out, untilStopped: async () => {} })([...words, '--help']);
    return [parts.join(''), code];
  }
});
