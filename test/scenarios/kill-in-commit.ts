// test: preloaded into a run (`--import`): the process kills itself within the commit of what it decided, before the intent is in it.
import { SqliteDb } from '../../src/store/sqlite/database.ts';

const insert = SqliteDb.prototype.insert;
SqliteDb.prototype.insert = function (table, row, conflict) {
  if (table === 'intents' && row.target === process.env.KILL_BEFORE) process.kill(process.pid, 'SIGKILL');
  return insert.call(this, table, row, conflict);
};
