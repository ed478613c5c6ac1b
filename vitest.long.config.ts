import { defineConfig } from 'vitest/config';
import suite from './vitest.config.ts';

/** The long forms: more cases of the same properties. docs/development.md says how long each takes. */
export default defineConfig({
  ...suite,
  test: {
    include: ['test/**/*.long.test.ts'],
    globalSetup: ['test/support/build.ts'],
    server: suite.test?.server,
    testTimeout: 600_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    maxWorkers: 2,
  },
});
