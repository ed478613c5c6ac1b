import { defineConfig } from 'vitest/config';
import { COMPILED, FROM_BUILD, temporaryFolder } from './test/support/built.ts';
import { LongestFirst } from './test/support/longest-first.ts';

export default defineConfig({
  plugins: [FROM_BUILD],
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/**/*.{slow,long}.test.ts', 'node_modules/**'],
    globalSetup: ['test/support/build.ts'],
    setupFiles: ['test/support/fixed-seed.ts'],
    server: { deps: { external: [/\/\.test-build\//] } },
    // Where a test that hangs ends, and no measure of speed: a machine that is ten times slower passes.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    // The processes that tests start load what V8 has compiled for one before.
    env: { NODE_COMPILE_CACHE: COMPILED, TMPDIR: temporaryFolder() },
    // INVARIANT: what a test changes of its process (environment, prototypes, spies), it puts back: the next file has the same one.
    isolate: false,
    restoreMocks: true,
    // One more than the two cores of CI: many tests wait, for a process or for a lease to end.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
  },
});
