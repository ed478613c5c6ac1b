// cli: the commands that run rules and apply plans.
import { ACT_CONCURRENCY, ENGINE, mode, operation, output, type Row, SERVE } from './row.ts';

const ANSWERING = [...ENGINE, ...output('text, json')];
const ONLY_RULES = { flag: '--rule <id...>', text: 'only these rules' };

export const ROWS: readonly Row[] = [
  {
    line: 'serve',
    summary: 'run the daemon: schedule and HTTP endpoint',
    options: [
      ...SERVE,
      { flag: '--listen <host:port>', text: 'address of the HTTP endpoint (TRUSTWARD_LISTEN)' },
      { flag: '--schedule <cron>', text: 'when runs happen (TRUSTWARD_SCHEDULE)' },
      {
        flag: '--watch <duration>',
        text: 'time between two readings of the event log between runs; 0s: none (TRUSTWARD_WATCH)',
      },
      mode('the most that any rule may do (TRUSTWARD_MODE)'),
      ACT_CONCURRENCY,
    ],
    examples: [
      '# with the settings of the environment; a made-up organization without TRUSTWARD_API_URL',
      'trustward serve',
      '# every ten minutes; what would be done waits for approval',
      "trustward serve --mode approve --schedule '*/10 * * * *'",
    ],
    load: async () => (await import('../serve.ts')).serveCommand,
  },
  {
    line: 'worker',
    summary: 'carry out the runs and commands of all organizations, with PostgreSQL; any number, on any machines',
    options: [
      { flag: '--db <address>', text: 'the database, postgres://… (TRUSTWARD_DB)' },
      {
        flag: '--listen <host:port>',
        text: 'address of its health and metrics, without a token (TRUSTWARD_WORKER_LISTEN)',
      },
      { flag: '--concurrency <count>', text: 'organizations worked on at once (TRUSTWARD_WORKER_CONCURRENCY)' },
    ],
    examples: [
      '# the organizations of the folder TRUSTWARD_ORGANIZATIONS, sixteen of them at once',
      'trustward worker --concurrency 16',
    ],
    load: async () => (await import('../serve-endpoint.ts')).workerCommand,
  },
  {
    line: 'run',
    summary: 'do one run and print its report',
    options: [
      ...ENGINE,
      ...output('text, json, md, csv, html'),
      mode('how far this run may go'),
      ACT_CONCURRENCY,
      ONLY_RULES,
    ],
    examples: [
      '# what the rules would do now; nothing is changed',
      'trustward run --mode dry-run',
      '# one rule, and the report as a file',
      'trustward run --rule ban-compromised-device --out run.md',
      '# other rules than the active ones: a what-if, of which nothing is kept',
      'trustward run --rules new-rules',
    ],
    load: async () => (await import('../run.ts')).runCommand,
  },
  {
    line: 'plan',
    summary: 'do a dry run that seals what a live run would do',
    options: [...ENGINE, ...output('text, json, md, csv, html'), ONLY_RULES],
    examples: [
      '# everything that a live run would do',
      'trustward plan',
      '# for review in a merge request',
      'trustward plan --out plan.md',
    ],
    load: async () => (await import('../run.ts')).planCommand,
  },
  operation('approvePlan', ANSWERING, async () => (await import('../run.ts')).approveCommand),
  operation('rejectPlan', ANSWERING, async () => (await import('../run.ts')).rejectCommand),
  operation('applyPlan', [...ANSWERING, ACT_CONCURRENCY], async () => (await import('../run.ts')).applyCommand),
];
