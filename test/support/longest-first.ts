// support: the order of the test files: those that take longest begin first, so that no worker is left with one at the end while others have
// nothing to do. In: the files of a run. Out: the same, in order.
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ROOT } from './built.ts';

/** Those that wait, for a lease to end or for a process, stand between those that compute. */
const LONGEST = [
  'test/harness/simulation.test.ts',
  'test/runtime/jobs/takeover.test.ts',
  'test/faces/web/every-page.browser.test.ts',
  'test/harness/workers/workers.test.ts',
  'test/package/package.test.ts',
  'test/store/postgres/lease.test.ts',
  'test/scenarios/canary.test.ts',
  'test/store/postgres/lease-processes.test.ts',
  'test/history/fidelity/fidelity.test.ts',
  'test/runtime/daemon/ending.test.ts',
  'test/platform/threads/threads.test.ts',
  'test/runtime/daemon/daemon.test.ts',
  'test/scenarios/endless-lists.test.ts',
  'test/scenarios/killed.test.ts',
  'test/engine/run/dry-live.test.ts',
  'test/scenarios/killed-at-once.test.ts',
  'test/docs.test.ts',
  'test/store/postgres/lease-histories.test.ts',
  'test/harness/freeze.test.ts',
  'test/faces/cli/bad-input.test.ts',
  'test/scenarios/failing-disk-beside.test.ts',
  'test/faces/cli/db-move.test.ts',
  'test/history/fidelity/killed.test.ts',
  'test/runtime/daemon/credentials.test.ts',
  'test/package/bare-restore.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const gone = LONGEST.filter((path) => !existsSync(join(ROOT, path)));
    if (gone.length > 0) throw new Error(`test/support/longest-first.ts names files that are gone: ${gone.join(', ')}`);
    const placeOf = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.indexOf(relative(ROOT, moduleId));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b));
  }
}
