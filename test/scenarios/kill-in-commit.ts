// test: preloaded into a run (`--import`): the process kills itself within the commit of what it decided, before the intent is in it.
import { Db } from '../../src/store/database.ts';

const insert = Db.prototype.insert;
Db.prototype.insert = function (table, row, conflict) {
  if (table === 'intents' && row.target === process.env.KILL_BEFORE) process.kill(process.pid, 'SIGKILL');
  return insert.call(this, table, row, conflict);
};
