import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/**/*.long.test.ts', 'node_modules/**'],
    globalSetup: ['test/support/build.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
    // INVARIANT: what a test changes of its process (environment, prototypes, spies), it puts back: the next file has the same one.
    isolate: false,
    restoreMocks: true,
    maxWorkers: 2,
  },
});
