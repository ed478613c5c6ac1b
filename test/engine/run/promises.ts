// test: what people are promised, judged at each writing request of a walk that is no undo: warned long before, asked where `guards.yaml` asks, spared
// outside of a rollout's share, and not punished by a check. In: an intent that is sent, the true world. Out: violations in words.
import { placeAmong } from '../../../src/domain/digest.ts';
import type { Intent } from '../../../src/domain/intent.ts';
import { ALL } from '../../../src/domain/rollout.ts';
import { toldOf } from '../../harness/check-notice.ts';
import type { Sights } from './sights.ts';
import type { Operation, Stage } from './stage.ts';

const DAY_MS = 86_400_000;
const TAKES: ReadonlySet<string> = new Set(['ban_device', 'delete_device']);

export class Promises {
  /** Serial numbers of devices that were taken, or may have been. */
  private readonly taken: { serial: string; atMs: number }[] = [];

  constructor(
    private readonly stage: Stage,
    private readonly sights: Sights,
    private readonly report: (kind: string, text: string) => void,
  ) {}

  check(intent: Intent, operation: Operation | undefined): void {
    const what = `${intent.action} ${intent.target}`;
    if (operation?.name === 'check') this.report('check', `${what}: a check begins it`);
    this.checkNotices(intent, what);
    this.checkRollouts(intent, what);
    if (TAKES.has(intent.action)) this.checkGuards(intent, what);
  }

  private checkNotices({ basis, approved, effect, target }: Intent, what: string): void {
    const { db, on, handed } = this.stage;
    const known = approved ? (effect.unwarned ?? []) : [];
    const owners = this.sights.touchedBy(target).filter(({ kind }) => kind === 'user');
    for (const { rule, episodeId } of basis) {
      if (!this.stage.shapeOf(rule)?.more?.startsWith('notice')) continue;
      const told = toldOf(db, handed, episodeId, on.clock.now);
      for (const { id } of owners)
        if (!told.has(id) && !known.includes(id))
          this.report('notice', `${what}: ${rule} did not warn ${id} so long before`);
    }
  }

  private checkRollouts({ basis }: Intent, what: string): void {
    const isHeldBack = ({ rule, subjectId }: Intent['basis'][number]) => {
      const { rollout } = this.stage.rules().find(({ id }) => id === rule) ?? {};
      const row = this.stage.db.get<{ step: number; braked_at: number | null }>(
        'SELECT * FROM rollouts WHERE rule = ?',
        rule,
      );
      if (!rollout) return false;
      return row?.braked_at != null || placeAmong(ALL, rule, subjectId) >= (rollout.steps[row?.step ?? 0] ?? ALL);
    };
    if (basis.every(isHeldBack)) this.report('rollout', `${what}: outside of the share, or stopped`);
  }

  private checkGuards({ approved, target }: Intent, what: string): void {
    const { given, areGuarded, on } = this.stage;
    const [serial = ''] = target.split(' ');
    const owners = this.sights.touchedBy(target).filter(({ kind }) => kind === 'user');
    const { now } = on.clock;
    const earlier = this.taken.filter(({ atMs }) => atMs > now - DAY_MS).map((one) => one.serial);
    this.taken.push({ serial, atMs: now });
    if (!areGuarded || !given.guards || approved) return;
    for (const { selector } of given.guards.ask)
      if (owners.some(({ id }) => id === selector.value))
        this.report('guard', `${what}: nobody said yes about ${selector.value}`);
    const { perDay = ALL } = given.guards;
    for (const { id } of owners) {
      const isOwn = (one: string) =>
        this.sights.touchedBy(one).some((party) => party.kind === 'user' && party.id === id);
      const own = new Set([...earlier.filter(isOwn), serial]);
      if (own.size > perDay)
        this.report('guard', `${what}: ${own.size} devices of ${id} within a day, and nobody said yes`);
    }
  }
}
