// package: an empty machine, the settings, the key and one backup: docs/operating.md leads back to a daemon that acts.
import { it } from 'vitest';
import { built } from '../support/built.ts';
import { restoreOnAnEmptyMachine } from './bare-restore.ts';

it(
  'the steps for an empty machine lead from a backup to a daemon that acts, and nothing is done twice',
  {
    timeout: 400_000,
  },
  () =>
    restoreOnAnEmptyMachine({
      npx: `npx() { shift; "${process.execPath}" "${built('src/main.ts')}" "$@"; }`,
      program: [process.execPath, built('src/main.ts')],
    }),
);
