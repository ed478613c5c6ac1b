// test: a process of its own that begins a large commit, and kills itself. Arguments: a database with a run under way, and when: after a number
// of turns, or `before` or `after` its COMMIT.
import { giveWay } from '../../src/base/turns.ts';
import { SqliteDb } from '../../src/store/sqlite/database.ts';
import { openStore } from '../support/stored-nouns.ts';
import { commitOfSizes, LARGE_SIZES } from './large-commits.ts';

const [, , file, when] = process.argv as [string, string, string, string];
const die = () => process.kill(process.pid, 'SIGKILL');

const commit = SqliteDb.prototype.commit;
SqliteDb.prototype.commit = function () {
  if (when === 'before') die();
  commit.call(this);
  die();
};

const { store } = openStore(file);
const committing = store.commitRun(commitOfSizes(LARGE_SIZES));
for (let turn = 0; turn < Number(when); turn += 1) await giveWay();
if (Number.isInteger(Number(when))) die();
await committing;
