import { defineConfig } from 'vitest/config';
import suite from './vitest.config.ts';

/** What `npm test` leaves out: it waits for leases, kills, packages, upgrades, browsers and whole processes. */
export default defineConfig({
  ...suite,
  test: { ...suite.test, include: ['test/**/*.slow.test.ts'], exclude: ['node_modules/**'] },
});
