// Import rules (docs/flow.md): data flows one way, a stage never imports another stage, a library has one home.
const STAGES = 'pull|evaluate|decide|approve|act|report';
const only = (name, library, home) => ({
  name,
  severity: 'error',
  from: { pathNot: `^src/(${home})` },
  to: { path: `^node_modules/${library}(/|$)` },
});

module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'domain-imports-nothing-of-ours',
      severity: 'error',
      from: { path: '^src/domain' },
      to: { path: '^src/(?!domain)' },
    },
    {
      name: 'a-stage-never-imports-another-stage',
      severity: 'error',
      from: { path: `^src/(${STAGES})/` },
      to: { path: `^src/(${STAGES})/`, pathNot: '^src/$1/' },
    },
    {
      name: 'a-stage-imports-domain-alone',
      severity: 'error',
      from: { path: `^src/(${STAGES})/` },
      to: { path: '^src/(?!domain/)', pathNot: '^src/$1/' },
    },
    {
      name: 'audit-and-store-import-domain-and-files-alone',
      severity: 'error',
      from: { path: '^src/(audit|store)/' },
      to: { path: '^src/(?!domain/|files/)', pathNot: '^src/$1/' },
    },
    {
      name: 'files-import-nothing-of-ours',
      severity: 'error',
      from: { path: '^src/files/' },
      to: { path: '^src/(?!files/)' },
    },
    {
      name: 'recording-imports-no-stage',
      severity: 'error',
      from: { path: '^src/history/(codec|files|record|[a-z-]+\\.ts)' },
      to: { path: '^src/(?!domain/|files/|history/|management/contract/)' },
    },
    {
      name: 'management-imports-domain-alone',
      severity: 'error',
      from: { path: '^src/management/' },
      to: { path: '^src/(?!domain/|management/)' },
    },
    {
      name: 'console-shares-only-the-contract',
      severity: 'error',
      from: { path: '^src/console/' },
      to: { path: '^src/(?!console/|management/contract|domain/(errors|hosts|ports|time-text)\\.ts)' },
    },
    {
      name: 'engine-never-sees-the-console',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(console/|compose/|commands/(grammar/)?console\\.ts)' },
      to: { path: '^src/console/' },
    },
    {
      name: 'threads-read-and-judge-alone',
      severity: 'error',
      from: { path: '^src/threads/' },
      to: { path: '^src/(?!domain/|threads/|pull/|evaluate/|management/client/)' },
    },
    {
      name: 'http-imports-domain-alone',
      severity: 'error',
      from: { path: '^src/http/' },
      to: { path: '^src/(?!domain/|http/)' },
    },
    {
      name: 'web-imports-domain-report-and-http',
      severity: 'error',
      from: { path: '^src/web/' },
      to: { path: '^src/(?!domain/|report/|http/|web/)' },
    },
    {
      name: 'organizations-read-files-and-settings-alone',
      severity: 'error',
      from: { path: '^src/organizations/' },
      to: { path: '^src/(?!domain/|organizations/|config/|evaluate/index\\.ts|rule-set/bounded-read\\.ts)' },
    },
    {
      name: 'schedule-imports-domain-alone',
      severity: 'error',
      from: { path: '^src/schedule/' },
      to: { path: '^src/(?!domain/|schedule/)' },
    },
    {
      name: 'jobs-import-domain-alone',
      severity: 'error',
      from: { path: '^src/jobs/' },
      to: { path: '^src/(?!domain/|jobs/)' },
    },
    {
      name: 'notify-imports-domain-alone',
      severity: 'error',
      from: { path: '^src/notify/' },
      to: { path: '^src/(?!domain/|notify/)' },
    },
    {
      name: 'metrics-imports-domain-alone',
      severity: 'error',
      from: { path: '^src/metrics/' },
      to: { path: '^src/(?!domain/|metrics/)' },
    },
    only('prom-client-lives-in-metrics', 'prom-client', 'metrics'),
    only('sqlite-lives-in-the-stores', 'better-sqlite3', 'store|console/store'),
    only('pg-lives-in-the-store-on-postgresql', 'pg', 'store/postgres'),
    only('pg-boss-lives-in-jobs', 'pg-boss', 'jobs'),
    only('croner-lives-in-schedule', 'croner', 'schedule'),
    only('undici-lives-in-the-client', 'undici', 'management/client'),
    only('json-logic-lives-in-evaluate', 'json-logic-js', 'evaluate'),
    only('ipaddr-lives-in-notify', 'ipaddr\\.js', 'notify'),
    only('pages-live-in-web', '(htmx\\.org|uplot)', 'web'),
    only('commander-lives-in-commands', 'commander', 'commands'),
    only('parquet-lives-in-history', 'hyparquet(-writer)?', 'history/files'),
    only('openapi-lives-in-http', '@hono/zod-openapi', 'http'),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.js'],
    },
  },
};
