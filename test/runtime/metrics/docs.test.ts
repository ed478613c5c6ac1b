// test: docs/metrics.md lists the metrics as their definitions have them, with the labels that a daemon really serves.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
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
