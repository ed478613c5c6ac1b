// Import rules (docs/flow.md): data flows one way, a stage never imports another stage, a library has one home.
/** Files of `from` import of ours only `domain`, `base`, themselves and `more`. */
const imports = (name, from, more = []) => ({
  name,
  severity: 'error',
  from: { path: `^src/${from}/` },
  to: { path: `^src/(?!${['domain/', 'base/', `${from}/`, ...more].join('|')})` },
});
const only = (name, library, home) => ({
  name,
  severity: 'error',
  from: { pathNot: `^src/(${home})` },
  to: { path: `^node_modules/${library}(/|$)` },
});

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'base-imports-nothing-of-ours',
      severity: 'error',
      from: { path: '^src/base/' },
      to: { path: '^src/(?!base/)' },
    },
    imports('domain-imports-base-alone', 'domain'),
    // The stages.
    imports('pull-imports-domain-alone', 'engine/pull'),
    imports('rules-import-domain-alone', 'rules/(?!active)', ['rules/']),
    imports('active-rules-know-who-runs-them', 'rules/active', [
      'rules/',
      'engine/run/engine',
      'faces/report/fact-text',
    ]),
    imports('decide-imports-domain-alone', 'engine/decide'),
    imports('approve-imports-domain-alone', 'engine/approve'),
    imports('act-imports-domain-alone', 'engine/act'),
    imports('contract-imports-domain-alone', 'contract'),
    imports('report-imports-domain-alone', 'faces/report', ['contract/']),
    // What they reach the world through.
    imports('audit-imports-domain-alone', 'engine/audit'),
    imports('store-imports-domain-alone', 'store'),
    imports('platform-imports-domain-alone', 'platform/(contract|client)', ['platform/']),
    imports('threads-read-and-judge-alone', 'platform/threads', ['platform/client/', 'engine/pull/', 'rules/']),
    imports('recording-imports-no-stage', 'history/(codec|files|record|[a-z-]+\\.ts)', [
      'history/',
      'platform/contract/',
    ]),
    imports('schedule-imports-domain-alone', 'runtime/schedule'),
    imports('jobs-import-domain-alone', 'runtime/jobs'),
    imports('notify-imports-domain-alone', 'runtime/notify'),
    imports('signals-import-domain-exact-json-and-deliveries', 'signals', [
      'platform/contract/exact-json\\.ts',
      'runtime/notify/(delivery|settings)\\.ts',
    ]),
    imports('sources-import-domain-and-exact-json', 'sources', ['platform/contract/exact-json\\.ts']),
    imports('metrics-imports-domain-alone', 'runtime/metrics'),
    imports('http-imports-domain-alone', 'faces/http', ['contract/']),
    imports('web-imports-domain-report-and-http', 'faces/web', ['contract/', 'faces/report/', 'faces/http/']),
    {
      name: 'console-shares-only-the-contract',
      severity: 'error',
      from: { path: '^src/console/' },
      to: { path: '^src/(?!console/|platform/contract|base/|domain/(errors|ports)\\.ts)' },
    },
    {
      name: 'engine-never-sees-the-console',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(console/|runtime/compose/|faces/cli/(grammar/)?[a-z]+\\.ts)' },
      to: { path: '^src/console/' },
    },
    {
      name: 'faces-alone-start-workers-and-endpoints',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(runtime/(worker|endpoint)|faces/cli)/' },
      to: { path: '^src/runtime/(worker|endpoint)/' },
    },
    {
      // It makes no run and calls nothing: neither the cycle, nor a stage, nor the client of the Management API.
      name: 'endpoint-answers-and-asks-workers',
      severity: 'error',
      from: { path: '^src/runtime/endpoint/' },
      to: { path: '^src/(engine/(cycle|pull|decide|approve|act)|platform|console|history)' },
    },
    {
      // It works through the parts that a composition connects, and knows neither the pages nor the API of an organization.
      name: 'workers-compose-and-carry-out',
      severity: 'error',
      from: { path: '^src/runtime/worker/' },
      to: { path: '^src/(engine/(pull|decide|approve)|platform|console|faces/(web|cli))' },
    },
    only('prom-client-lives-in-metrics', 'prom-client', 'runtime/metrics'),
    only('sqlite-lives-in-the-stores', 'better-sqlite3', 'store|console/store'),
    only('pg-lives-where-postgresql-is-asked', 'pg', 'store/postgres|sources/read-postgres\\.ts'),
    only('pg-boss-lives-in-jobs', 'pg-boss', 'runtime/jobs'),
    only('croner-lives-in-schedule', 'croner', 'runtime/schedule'),
    only('undici-lives-in-the-client', 'undici', 'platform/client'),
    only('json-logic-lives-in-rules', 'json-logic-js', 'rules/'),
    only('ipaddr-lives-in-notify', 'ipaddr\\.js', 'runtime/notify'),
    only('jose-lives-where-tokens-are-checked', 'jose', 'signals/set\\.ts|faces/http/provider\\.ts|console/app\\.ts'),
    only('openid-client-lives-in-one-file', 'openid-client', 'faces/http/provider\\.ts'),
    only('passkeys-live-in-one-file', '@simplewebauthn', 'faces/http/passkeys\\.ts'),
    only('nodemailer-lives-in-one-file', 'nodemailer', 'runtime/notify/mail\\.ts'),
    only('pages-live-in-web', 'htmx\\.org', 'faces/web'),
    only('commander-lives-in-the-command-line', 'commander', 'faces/cli'),
    only('parquet-lives-in-history', 'hyparquet(-writer)?', 'history/files'),
    only('openapi-lives-in-http', '@hono/zod-openapi', 'faces/http'),
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
