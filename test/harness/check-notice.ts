// harness: the post of a life in which rules warn people, and the judge of it: nothing is acted on before each owner's message arrived and the whole
// time has passed since; no message is handed over again that arrived or may have, and none is left at the end. In: messages, requests, commits. Out:
// violations.
import { BETWEEN_BOOTS_MS } from '../../src/base/time.ts';
import type { Intent } from '../../src/domain/intent.ts';
import type { MessageEnd, PersonMailer, PersonMessage } from '../../src/domain/notice.ts';
import { NoticeDeliveries } from '../../src/runtime/notify/notices.ts';
import type { SqliteDb } from '../../src/store/sqlite/database.ts';
import type { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { type Life, mortal } from '../support/crash.ts';
import type { Checker } from './checker.ts';
import { Dice } from './dice.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { sickBox } from './planted-person-bugs.ts';
import type { PlatformRequest } from './platform.ts';
import { LOOK_MS, type NoticesProfile } from './profile.ts';
import { ownersOf } from './records.ts';
import { NOTICE_MS } from './rules.ts';

export interface Handed {
  id: string;
  to: string;
  atMs: number;
  how: MessageEnd['how'];
}

interface HandedOver extends Handed {
  /** Of the engine's wall clock from true time, then. */
  offsetMs: number;
}

/** As long as a message may take. */
const HANGS_MS = 120_000;

export class SimPost {
  readonly handed: HandedOver[] = [];
  /** Nothing goes wrong any more. */
  isCalm = false;
  private readonly dice: Dice;

  constructor(
    private readonly checker: Checker,
    private readonly notices: NoticesProfile,
    private readonly bug: PlantedBug | undefined,
  ) {
    this.dice = new Dice(checker.profile.seed, 'post');
  }

  /** What is due now, by a process that may end at any await. `isBeside`: a run is under way, which no message makes late. */
  async deliver(writer: SqliteStore, life: Life, nextId: () => string, isBeside: boolean): Promise<void> {
    const { clock } = this.checker;
    const mailer: PersonMailer = { send: (message) => this.take(message, isBeside) };
    const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const loop = new NoticeDeliveries({
      box: sickBox(mortal(writer.noticeBox(), life), this.bug),
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

  private async take({ id, to }: PersonMessage, isBeside: boolean): Promise<MessageEnd> {
    const { post } = this.notices;
    const { clock } = this.checker;
    const fate = this.isCalm ? 'delivered' : this.dice.weighted(isBeside ? { ...post, hangs: 0 } : post);
    const how = fate === 'hangs' ? 'doubt' : fate;
    // A doubt may have arrived, so it is as good as delivered for whoever would send it again.
    const known = this.handed.find((one) => one.id === id && one.how !== 'not_sent');
    if (known) this.checker.report('told_twice', `message ${id} to ${to} is handed over again, and was ${known.how}`);
    this.handed.push({ id, to: to.toLowerCase(), atMs: clock.trueMs, offsetMs: clock.offsetMs, how });
    if (fate === 'hangs') await clock.take(HANGS_MS);
    return how === 'delivered' ? { how } : { how, why: 'the post' };
  }

  /** Of one episode, owner and stage one message counts at a time. */
  onCommit(): void {
    const sql = `SELECT episode_id AS episode, address, ahead_ms AS ahead FROM notices
      WHERE open = 1 AND status NOT IN ('cancelled', 'mended') GROUP BY episode_id, address, ahead_ms HAVING count(*) > 1`;
    for (const { episode, address, ahead } of this.checker.ledger.db.all<{
      episode: string;
      address: string;
      ahead: number;
    }>(sql))
      this.checker.report('told_twice', `${address} has two messages about episode ${episode}, ${ahead} ms ahead`);
  }

  /** When all is quiet. */
  checkNoneWaits(): void {
    const sql = "SELECT id, status FROM notices WHERE open = 1 AND ahead_ms = 0 AND status IN ('waiting', 'sending')";
    for (const { id, status } of this.checker.ledger.db.all<{ id: string; status: string }>(sql))
      this.checker.report('lost', `message ${id} is ${status} at the end`);
  }
}

export function checkNotice(checker: Checker, { verb, target, atMs }: PlatformRequest, intent: Intent): void {
  const { post, ledger, world, profile, clock } = checker;
  if (!post || intent.undo) return;
  // Decision 0019: nothing shows that the clock was set ahead while the machine was off, if the server sends no time.
  const isUnseen = (one: HandedOver) =>
    !profile.hasDate &&
    clock.boots.some((bootMs) => bootMs >= one.atMs) &&
    clock.offsetMs - one.offsetMs > BETWEEN_BOOTS_MS;
  const known = new Set(intent.approved ? intent.effect.unwarned : []);
  const [serial, user] = target.split(' ');
  // Who came or went in between may not have been read.
  const [first = [], ...rest] = world.during(atMs - LOOK_MS, atMs).map(({ devices, users }) => {
    if (verb === 'unmap') return [user as string];
    return devices.filter((one) => one.serial === serial).flatMap((device) => ownersOf(device, users));
  });
  const owners = new Set(first.filter((owner) => rest.every((others) => others.includes(owner))));
  for (const { episodeId, rule } of intent.basis.filter((basis) => profile.notices?.rules.includes(basis.rule))) {
    const told = toldOf(ledger.db, post.handed, episodeId, atMs, isUnseen);
    for (const owner of owners)
      if (!known.has(owner) && !told.has(owner))
        checker.report('before_deadline', `${target}: ${rule} did not warn ${owner} so long before`);
  }
}

/** Whose message about an episode counts, and was delivered so long before, or seems so to every clock that there is. */
export function toldOf<One extends Handed>(
  db: SqliteDb,
  handed: readonly One[],
  episodeId: string,
  atMs: number,
  seemsSo: (one: One) => boolean = () => false,
): Set<string> {
  const sql = "SELECT id FROM notices WHERE episode_id = ? AND ahead_ms = 0 AND status <> 'cancelled'";
  const own = new Set(db.all<{ id: string }>(sql, episodeId).map(({ id }) => id));
  const isOver = (one: One) => one.atMs <= atMs - NOTICE_MS || seemsSo(one);
  return new Set(handed.filter((one) => own.has(one.id) && one.how === 'delivered' && isOver(one)).map(({ to }) => to));
}
