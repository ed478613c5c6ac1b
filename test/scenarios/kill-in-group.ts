// test: preloaded into a run (`--import`): the process kills itself around a commit of several outcomes, as KILL_GROUP says: within it, so
// that none is there, or right after it.
import { GroupCommit } from '../../src/store/sqlite/sqlite-store.ts';

const add = GroupCommit.prototype.add;
let outcomes = 0;
GroupCommit.prototype.add = function (work, when) {
  if (when === 'at_once') return add.call(this, work, when);
  outcomes += 1;
  const last = outcomes === Number(process.env.KILL_AFTER_OUTCOMES);
  const kill = () => {
    process.kill(process.pid, 'SIGKILL');
  };
  if (!last) return add.call(this, work, when);
  if (process.env.KILL_GROUP !== 'after') {
    return add.call(
      this,
      function* () {
        yield* work();
        kill();
      },
      when,
    );
  }
  return add.call(this, work, when).then(kill);
};
