// harness: somebody has a device checked again, and the judge of it: it begins nothing, and undoes no more than the device that was asked for; that is
// asked for at the platform once a minute. In: a living engine, its requests. Out: violations.
import type { Intent } from '../../src/domain/intent.ts';
import { checkAgain } from '../../src/engine/operate/check-again.ts';
import type { Engine } from '../../src/engine/run/engine.ts';
import { type Asking, begin } from './asking.ts';
import type { Checker } from './checker.ts';
import type { PlatformRequest } from './platform.ts';

const EVERY_MS = 60_000;
/** Rows that a check adds nothing to. */
const BEGUN = {
  episodes: 'SELECT count(*) AS n FROM episodes',
  notices: 'SELECT count(*) AS n FROM notices WHERE ahead_ms = 0',
  acts: "SELECT count(*) AS n FROM intents JOIN runs ON runs.id = run_id WHERE run_trigger = 'check' AND undo = 0",
};

export class CheckedAgain {
  /** The DeviceID that is asked for next. */
  device = '';
  asked = 0;
  undone = 0;
  private readonly done = new Map<string, number>();

  constructor(private readonly checker: Checker) {}

  onRequest({ target }: PlatformRequest, intent: Intent): void {
    const { checker, device } = this;
    if (checker.operation?.name !== 'check') return;
    this.undone += 1;
    const what = `${intent.action} ${target}`;
    if (!intent.undo) checker.report('beyond_check', `${what}: a check begins it`);
    const { serial } = checker.world.born.devices.find(({ id }) => id === device) ?? {};
    if (target !== serial) checker.report('beyond_check', `${what}: ${device} was asked for`);
  }

  /** Errors: those of the check. */
  async press(asking: Asking, engine: Engine, reads: () => number): Promise<void> {
    const { checker, device, done } = this;
    const { clock } = checker;
    const [startMs, readsBefore, before] = [clock.trueMs, reads(), this.counts()];
    begin(asking, engine, 'check', engine.daemonMode);
    const { isRepeat, run } = await checkAgain(engine, 'device', device, 'person somebody@main.test');
    this.asked += 1;
    const lastMs = done.get(device) ?? Number.NEGATIVE_INFINITY;
    const isSteady = clock.jumps.every((atMs) => atMs < lastMs);
    if (startMs - lastMs < EVERY_MS && isSteady && (!isRepeat || reads() > readsBefore))
      checker.report('beyond_check', `${device} is read again ${startMs - lastMs} ms after the last check`);
    if (!isRepeat && run !== undefined) done.set(device, startMs);
    for (const [name, count] of Object.entries(this.counts()))
      if (count > (before[name] ?? 0)) checker.report('beyond_check', `a check of ${device} began ${name}: ${count}`);
  }

  private counts(): { [name: string]: number } {
    const { ledger } = this.checker;
    const rows = Object.entries(BEGUN).map(([name, sql]) => [name, Number(ledger.db.get<{ n: number }>(sql)?.n)]);
    const pending = ledger.db.all<{ id: string }>("SELECT id FROM plans WHERE status = 'pending'");
    const planned = pending.flatMap(({ id }) => ledger.plan(id)?.intents.filter(({ undo }) => !undo) ?? []);
    return { ...Object.fromEntries(rows), planned: new Set(planned.map(({ key }) => key)).size };
  }
}
