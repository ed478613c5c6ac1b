// support: the order of the test files: those that take longest begin first, so that no worker is left with one at the end while others have
// nothing to do. In: the files of a run. Out: the same, in order.
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ROOT } from './built.ts';

/** Of `npm test`, then of `npm run test:all`: those that wait, for a lease to end or for a process, stand between those that compute. */
const LONGEST = [
  'test/engine/operate/apply-plan.test.ts',
  'test/faces/cli/doctor.test.ts',
  'test/history/replay/look-back.test.ts',
  'test/rules/load.test.ts',
  'test/platform/threads/threads.test.ts',
  'test/engine/run/untrusted.test.ts',
  'test/faces/cli/replay.test.ts',
  'test/store/large-commit.test.ts',
  'test/engine/run/whole-runs.test.ts',
  'test/rules/properties.test.ts',
  'test/runtime/daemon/daemon.test.ts',
  'test/engine/decide/properties.test.ts',
  'test/engine/run/dry-live.test.ts',
  'test/harness/freeze.test.ts',
  'test/runtime/endpoint/broken-files.slow.test.ts',
  'test/engine/audit/birth-killed.slow.test.ts',
  'test/harness/simulation.slow.test.ts',
  'test/runtime/worker/worker.slow.test.ts',
  'test/walks.slow.test.ts',
  'test/faces/web/every-page.browser.slow.test.ts',
  'test/harness/workers/workers.slow.test.ts',
  'test/history/fidelity/fidelity.slow.test.ts',
  'test/store/upgrades.slow.test.ts',
  'test/faces/http/attack.slow.test.ts',
  'test/faces/cli/db-move.slow.test.ts',
  'test/runtime/jobs/takeover.slow.test.ts',
  'test/scenarios/edited-rows.slow.test.ts',
  'test/store/postgres/sessions.slow.test.ts',
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
