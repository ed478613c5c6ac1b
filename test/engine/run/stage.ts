// test: plays a case: the real cycle on a real SQLite store, the platform in memory, people, and a process that may
// end. In: a case and its steps. Out: what happened, reported to a witness as it happens. It judges nothing.

import { AppError } from '../../../src/domain/errors.ts';
import type { Mode } from '../../../src/domain/rule.ts';
import { runCycle } from '../../../src/engine/cycle.ts';
import { checkAgain } from '../../../src/engine/operate/check-again.ts';
import { endExemption, resumeEverything } from '../../../src/engine/operate/commands.ts';
import { exempt } from '../../../src/engine/operate/exempt.ts';
import { answerPlan } from '../../../src/engine/operate/plans.ts';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import { resolveIntent } from '../../../src/engine/operate/resolve-intent.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { NoticeDeliveries } from '../../../src/runtime/notify/notices.ts';
import { withGuards } from '../../harness/check-guards.ts';
import type { Handed } from '../../harness/check-notice.ts';
import { replaced } from '../../harness/planted-bugs.ts';
import { CaseWorld } from '../../support/case-world.ts';
import { type Case, ruleOf, type Shape, type Step, type Subject, type Sudden } from '../../support/cases.ts';
import { Crash, Life, mortal } from '../../support/crash.ts';
import { type OnPlatform, silent, startOnPlatform } from '../../support/engine-on-platform.ts';
import { freshDatabase } from '../../support/memory-database.ts';
import type { Call } from '../../support/platform.ts';

const EXEMPT_MS = 7 * 86_400_000;
const ADA = { by: 'ada', reason: 'because' };

/** What the engine is asked to do, as those who ask for it know it. */
export interface Operation {
  name: 'run' | 'apply' | 'release' | 'check';
  mode: Mode;
  /** Ids of the rules of a run, undefined: all; of a check, its subject. */
  chosen: string[] | undefined;
}

export interface Witness {
  /** Within a writing request, before its effect. */
  request(call: Call): void;
  /** Before a list is read. */
  list(source: 'devices' | 'users' | 'services'): void;
  begin(operation: Operation): void;
  /** It came to its end, or broke off. */
  end(operation: Operation, isWhole: boolean): void;
  /** A person changed the target, or somebody changed it without a call of ours. */
  hand(target: string): void;
  exempted(about: Subject, id: string, untilMs: number): void;
  unexempted(id: string): void;
}

const NOBODY: Witness = {
  request: () => {},
  list: () => {},
  begin: () => {},
  end: () => {},
  hand: () => {},
  exempted: () => {},
  unexempted: () => {},
};

/** What people may be answered with; anything else is a fault. */
const EXPECTED = new Set(['conflict', 'not_found', 'usage', 'api_refused', 'api_unreachable', 'stopped']);

export class Stage {
  readonly on: OnPlatform;
  readonly world: CaseWorld;
  readonly db = freshDatabase();
  readonly shapes: (Shape | undefined)[];
  private readonly editions: number[];
  private life = new Life(undefined);
  private readonly amid: { before: 'read' | 'write'; left: number; what: Sudden }[] = [];
  isStopped = false;
  areGuarded = false;
  /** Messages to people. */
  readonly handed: Handed[] = [];
  private exemptions = 0;

  constructor(
    readonly given: Case,
    private readonly witness: Witness = NOBODY,
  ) {
    this.shapes = [...given.shapes];
    this.editions = given.shapes.map(() => 0);
    this.on = startOnPlatform({
      rules: this.rules(),
      db: this.db,
      daemonMode: given.daemonMode,
      settings: (settings) => {
        const ceilings = { run: { max: given.ceilings.run, percent: 0 }, day: { max: given.ceilings.day, percent: 0 } };
        return { ...settings, decide: { ...settings.decide, ceilings }, act: { ...settings.act, ceilings } };
      },
    });
    const { platform } = this.on;
    platform.onWrite = (call) => {
      this.witness.request(call);
      this.happen('write');
    };
    platform.onRead = (what) => {
      this.happen('read');
      if (what !== 'target') this.witness.list(what);
    };
    this.world = new CaseWorld(platform, this.on.clock, given.fleet);
    void this.begin(undefined);
  }

  rules(): LoadedRule[] {
    const all = this.shapes.flatMap((shape, index) =>
      shape ? [ruleOf(`r${index}`, shape, this.editions[index])] : [],
    );
    return [...withGuards(all, this.areGuarded ? this.given.guards : undefined)];
  }

  /** The shape of an active rule. */
  shapeOf(rule: string): Shape | undefined {
    const found = this.shapes[Number(rule.slice(1))];
    return found?.mode === 'off' ? undefined : found;
  }

  async take(step: Step): Promise<void> {
    try {
      await this.perform(step);
    } catch (error) {
      const isExpected = error instanceof Crash || (error instanceof AppError && EXPECTED.has(error.code));
      if (!this.life.ended && !isExpected) throw error;
    }
    if (this.life.ended) await this.begin(undefined);
  }

  private async perform(step: Step): Promise<void> {
    const { engine, clock, platform, store } = this.on;
    switch (step.do) {
      case 'run':
        return this.run(step.mode, step.chosen, step.waits);
      case 'pass':
        return clock.pass(step.ms);
      case 'answers':
        for (const target of this.world.targetsOf(step.of)) platform.answer(target, ...step.next);
        return;
      case 'plan':
        return this.answerPlan(step.answer);
      case 'resolve': {
        const open = [
          ...(await store.intents({ outcome: 'parked' })),
          ...(await store.intents({ outcome: 'unknown' })),
        ];
        const [first] = open;
        if (first) await resolveIntent(engine, first.id, step.as, ADA);
        return;
      }
      case 'release': {
        const targets = [...new Set((await store.openState(clock.now)).claims.map(({ target }) => target))];
        const target = targets[step.nth % Math.max(1, targets.length)];
        return target === undefined ? undefined : this.operate('release', () => releaseClaims(engine, target, ADA));
      }
      case 'unexempt': {
        const [first] = await store.exemptions(clock.now);
        if (!first) return;
        await endExemption({ store, clock }, first.id, ADA);
        return this.witness.unexempted(first.id);
      }
      case 'resume':
        if (this.isStopped) await resumeEverything({ store, clock }, ADA);
        this.isStopped = false;
        return;
      case 'restart':
        return this.begin(undefined);
      case 'crash':
        return this.begin(step.afterSteps);
      case 'amid':
        this.amid.push({ before: step.before, left: step.nth, what: step.what });
        return;
      case 'fails':
        return this.world.fail(step.of);
      case 'post':
        return this.deliver(step.how);
      case 'check':
        return this.operate('check', () => checkAgain(engine, step.of.kind, step.of.id, 'ada'), 'enforce', [
          step.of.id,
        ]);
      case 'give':
        return this.world.give(step.of.id, step.owner);
      case 'guards':
        this.areGuarded = step.are === 'on';
        return this.on.rules(...this.rules());
      default:
        return this.befall(step, true);
    }
  }

  private async deliver(how: Handed['how']): Promise<void> {
    const { store, clock, engine } = this.on;
    const loop = new NoticeDeliveries({
      box: mortal(store.noticeBox(), this.life),
      mailer: {
        send: async ({ id, to }) => {
          this.handed.push({ id, to, atMs: clock.now, how });
          return how === 'delivered' ? { how } : { how, why: 'the post' };
        },
      },
      reader: store,
      maySend: () => true,
      ids: engine.ids,
      clock,
      random: { next: () => 0.5 },
      log: silent,
    });
    await loop.round(new AbortController().signal);
  }

  /** Nothing scripted is left: the platform answers normally, nothing happens in the middle of a run, and nobody dies. */
  async calm(): Promise<void> {
    this.amid.length = 0;
    this.on.platform.answers.clear();
    await this.begin(undefined);
  }

  async close(): Promise<void> {
    await this.on.close();
  }

  private async run(mode: Mode, picked: number[] | null, waitForDoubts: boolean): Promise<void> {
    const active = this.rules().filter((rule) => rule.mode !== 'off');
    const ids = active.map(({ id }) => id).filter((id) => picked?.includes(Number(id.slice(1))));
    const chosen = ids.length > 0 ? ids : undefined;
    const request = { mode, trigger: picked ? 'http' : 'schedule', rules: chosen, waitForDoubts } as const;
    await this.operate('run', () => runCycle(this.on.engine, request), mode, chosen);
  }

  private async answerPlan(answer: 'apply' | 'approve' | 'reject'): Promise<void> {
    const { on } = this;
    const [approved] = await on.store.plans({ status: 'approved' }, 1);
    const [pending] = await on.store.plans({ status: 'pending' }, 1);
    const plan = approved ?? pending;
    if (!plan || plan.expiresAt <= on.clock.now) return;
    if (plan === pending) {
      if (answer === 'reject') await answerPlan(on.engine, plan.id, 'reject', { by: 'a person' });
      else await on.approve(plan);
    }
    if (answer === 'apply') await this.operate('apply', () => on.apply(plan));
  }

  private async operate(
    name: Operation['name'],
    work: () => Promise<unknown>,
    mode: Mode = 'enforce',
    chosen?: string[],
  ) {
    const operation = { name, mode, chosen };
    this.witness.begin(operation);
    let isWhole = false;
    try {
      await work();
      isWhole = true;
    } finally {
      this.witness.end(operation, isWhole);
    }
  }

  /** A fresh process on what is stored. `endsAfter`: so many steps of its ports later it ends. */
  private async begin(endsAfter: number | undefined): Promise<void> {
    const { engine, store, platform, clock } = this.on;
    this.life = new Life(endsAfter);
    engine.store = mortal(store, this.life);
    engine.api = mortal(platform, this.life);
    engine.clock = mortal(clock, this.life);
    engine.feed = { primed: new WeakSet(), triedMs: 0 };
    this.on.rules(...this.rules());
    await store.abortStaleRuns(clock.now);
  }

  private happen(before: 'read' | 'write'): void {
    for (const due of this.amid.filter((item) => item.before === before)) {
      due.left -= 1;
      if (due.left > 0) continue;
      this.amid.splice(this.amid.indexOf(due), 1);
      void this.befall(due.what).catch(() => undefined);
    }
  }

  /** What happens to the world, also in the middle of a run: all that it changes is changed before anything is awaited. */
  private async befall(what: Sudden, mayRelease = false): Promise<void> {
    const { store, clock } = this.on;
    switch (what.do) {
      case 'facts':
        return this.world.tell(what.of, what.field, what.told);
      case 'hand':
        return this.byHand(what.of, what.bundle);
      case 'reload': {
        const shape = this.given.shapes[what.index];
        if (!shape) return;
        const { change } = what;
        if (change === 'edited') this.editions[what.index] = 1 - (this.editions[what.index] as number);
        else if (change === 'gone') this.shapes[what.index] = undefined;
        else this.shapes[what.index] = change === 'restored' ? shape : { ...shape, mode: change };
        return this.on.rules(...this.rules());
      }
      case 'stop':
        await store.setStop({ at: clock.now, ...ADA }, [{ kind: 'stop.set', body: ADA }]);
        this.isStopped = true; // from its commit on
        return;
      case 'exempt':
        return this.exempt(what.of, what.selects, what.release && mayRelease);
    }
  }

  private byHand(subject: Subject, bundle: boolean): void {
    const target = this.world.byHand(subject, bundle);
    if (target !== undefined) this.witness.hand(target);
  }

  private async exempt(of: Subject, selects: boolean, release: boolean): Promise<void> {
    const { engine, store, clock } = this.on;
    this.exemptions += 1;
    const own = `x${this.exemptions}`;
    const about = selects && of.kind === 'device' ? { selector: { field: 'DeviceID', value: of.id } } : { subject: of };
    const request = { ...about, unseen: true, owner: 'Ana', reason: 'travel', until: '7d', release };
    let isFirst = true;
    const next = () => {
      const id = isFirst ? own : engine.ids.next();
      isFirst = false;
      return id;
    };
    const into = release ? engine.store : store;
    // It protects from when it is stored: before that, its members are read, and a run under way goes on.
    const seen = replaced(into, {
      saveExemption: async (...saved) => {
        await into.saveExemption(...saved);
        if (saved[0].id === own) this.witness.exempted(of, own, clock.now + EXEMPT_MS);
      },
    });
    const add = () => exempt({ ...engine, store: seen, ids: { next } }, request, 'ada');
    await (release ? this.operate('release', add) : add());
  }
}
