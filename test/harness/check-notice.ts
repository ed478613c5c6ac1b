// harness: the post of a life whose first rule warns people, and the judge of it: nothing is acted on before each owner's message arrived and the
// whole time has passed since, and no message is handed over again that arrived or may have. In: messages, requests. Out: violations.
import type { Intent } from '../../src/domain/intent.ts';
import type { MessageEnd, PersonMailer, PersonMessage } from '../../src/domain/notice.ts';
import type { EngineStore } from '../../src/engine/run/engine.ts';
import { NoticeDeliveries } from '../../src/runtime/notify/notices.ts';
import type { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { type Life, mortal } from '../support/crash.ts';
import type { Checker } from './checker.ts';
import { Dice } from './dice.ts';
import { replaced } from './planted-bugs.ts';
import type { PlatformRequest } from './platform.ts';
import { ownersOf } from './records.ts';

/** Of the rule `ban-first`. */
export const NOTICE_MS = 300_000;
export const NOTICE_WORDS = '{ before: 5m, remind: [1m] }';

interface HandedOver {
  id: string;
  to: string;
  atMs: number;
  how: MessageEnd['how'];
}

export class SimPost {
  readonly handed: HandedOver[] = [];
  /** Nothing goes wrong any more. */
  isCalm = false;
  private readonly dice: Dice;

  constructor(
    private readonly checker: Checker,
    seed: number,
  ) {
    this.dice = new Dice(seed, 'post');
  }

  /** What is due now, by a process that may end at any await. Errors: Crash. */
  async deliver(writer: SqliteStore, life: Life, nextId: () => string): Promise<void> {
    const { clock } = this.checker;
    const mailer: PersonMailer = { send: async (message) => this.take(message) };
    const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const loop = new NoticeDeliveries({
      box: mortal(writer.noticeBox(), life),
      mailer: mortal(mailer, life),
      reader: mortal(writer, life),
      maySend: () => true,
      ids: { next: nextId },
      clock,
      random: { next: () => 0.5 },
      log: silent,
    });
    await loop.round(new AbortController().signal);
    this.checker.onCommit();
  }

  private take({ id, to }: PersonMessage): MessageEnd {
    const how = this.isCalm
      ? 'delivered'
      : this.dice.weighted<MessageEnd['how']>({ delivered: 60, not_sent: 25, refused: 5, doubt: 10 });
    // A doubt may have arrived, so it is as good as delivered for whoever would send it again.
    const known = this.handed.find((one) => one.id === id && one.how !== 'not_sent');
    if (known) this.checker.report('told_twice', `message ${id} to ${to} is handed over again, and was ${known.how}`);
    this.handed.push({ id, to: to.toLowerCase(), atMs: this.checker.clock.trueMs, how });
    return how === 'delivered' ? { how } : { how, why: 'the post' };
  }
}

export function checkNotice(checker: Checker, request: PlatformRequest, intent: Intent): void {
  const { post, ledger, world } = checker;
  if (!post || intent.undo || intent.action !== 'ban_device') return;
  const known = new Set(intent.approved ? intent.effect.unwarned : []);
  for (const { episodeId } of intent.basis.filter(({ rule }) => rule === 'ban-first')) {
    const sql = "SELECT id FROM notices WHERE episode_id = ? AND ahead_ms = 0 AND status <> 'cancelled'";
    const own = new Set(ledger.db.all<{ id: string }>(sql, episodeId).map(({ id }) => id));
    const devices = world.now.devices.filter(({ serial }) => serial === request.target);
    for (const owner of new Set(devices.flatMap((device) => ownersOf(device, world.now.users)))) {
      if (known.has(owner)) continue;
      const isTold = post.handed.some(
        ({ id, to, how, atMs }) =>
          own.has(id) && to === owner && how === 'delivered' && atMs <= request.atMs - NOTICE_MS,
      );
      if (!isTold) checker.report('before_deadline', `${request.target}: ${owner} was not warned so long before`);
    }
  }
}

/** A store that takes each notice as delivered long ago: a planted bug. */
export function impatient(store: EngineStore): EngineStore {
  type Notices = NonNullable<Awaited<ReturnType<EngineStore['openState']>>['notices']>;
  const past = (notices: Notices): Notices =>
    new Map(
      [...notices].map(([episode, own]) => [
        episode,
        own.map((one) => ({ ...one, status: 'delivered' as const, dueAt: 0, deliveredAt: 0 })),
      ]),
    );
  const stateOf = async <S extends { notices?: Notices | undefined }>(state: Promise<S>) => {
    const { notices, ...rest } = await state;
    return { ...rest, notices: past(notices ?? new Map()) } as S;
  };
  return replaced(store, {
    openState: (nowMs) => stateOf(store.openState(nowMs)),
    openStateOf: (nowMs, about) => stateOf(store.openStateOf(nowMs, about)),
    noticesOf: async (episodes) => past(await store.noticesOf(episodes)),
  });
}
