// harness: people say yes, some of whom may not, beside runs, a changing file, edited rows and ends of the process. In: a seed. Out: figures and
// violations. INVARIANT: what a call needed is counted here from what was said, by names of the test, and not as the product counts it.

import { asPerson, personOf } from '../../src/domain/actor.ts';
import type { Approval, Owner } from '../../src/domain/approvals.ts';
import { planDigest } from '../../src/domain/digest.ts';
import { AppError } from '../../src/domain/errors.ts';
import type { Facts } from '../../src/domain/facts.ts';
import type { Plan, PlanSelection } from '../../src/domain/plan.ts';
import { chooseFrom } from '../../src/engine/approve/plans.ts';
import { runCycle } from '../../src/engine/cycle.ts';
import { answerPart, applyPlan } from '../../src/engine/operate/plans.ts';
import type { Engine, EngineStore } from '../../src/engine/run/engine.ts';
import { Crash, Life, mortal } from '../support/crash.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../support/engine-on-platform.ts';
import { Dice } from './dice.ts';
import { replaced } from './planted-bugs.ts';

export type ApproverBug = 'nobody_is_the_same' | 'the_row_is_counted' | 'owners_are_forgotten';

export interface ApproverFigures {
  steps: number;
  ends: number;
  yes: number;
  refused: number;
  calls: number;
  violations: string[];
}

type Name = 'ana' | 'ben' | 'cleo';
interface Actor {
  by: string;
  groups?: string[];
  /** Whom the test holds for it; undefined: nobody. */
  is?: Name;
  of?: readonly string[];
}

const issuer = 'https://id.example.com';
const person = (is: Name, sub: string, email: string, ...of: string[]): Actor => ({
  by: asPerson({ email, sub, issuer }),
  groups: of,
  is,
  of,
});
const ACTORS: readonly Actor[] = [
  person('ana', 'a', 'ana@x.org', 'security'),
  person('ana', 'a-again', 'ANA@x.org', 'security'),
  { by: 'ana-laptop', is: 'ana', of: ['security'] },
  person('ben', 'b', 'ben@x.org', 'security', 'ops'),
  person('ben', 'b', 'ben.new@x.org', 'security'),
  person('cleo', 'c', 'cleo@x.org', 'ops'),
  { by: 'ci' },
  { by: 'ben (command line)' },
  { by: 'ben (token ci)' },
];
const TOKENS = [{ token: 'ana-laptop', email: 'ana@x.org', groups: ['security'] }];

const approval = (over: Partial<Approval>): Approval => ({
  people: 2,
  groups: [],
  notSelf: true,
  rules: [],
  actions: [],
  severities: [],
  from: 1,
  ...over,
});
const FILES: readonly (readonly Approval[])[] = [
  [approval({ groups: ['security'] })],
  [approval({})],
  [approval({ people: 3 })],
  [approval({ people: 1 })],
  [approval({ from: 3 }), approval({ people: 1, groups: ['ops'], notSelf: false })],
  [approval({ rules: ['ban'], notSelf: false })],
];

/** By rule, the groups one of which each yes has to be of. */
type Owned = Readonly<Partial<Record<'ban' | 'other', readonly string[]>>>;
const OWNED: readonly Owned[] = [
  {},
  {},
  { ban: ['ops'] },
  { ban: ['security'], other: ['ops'] },
  { other: ['nobody'] },
];

/** What asks people, at one moment. */
interface Files {
  approvals: readonly Approval[];
  owned: Owned;
}

interface Said {
  actor: Actor;
  glass: boolean;
}

class Walk {
  readonly figures: ApproverFigures = { steps: 0, ends: 0, yes: 0, refused: 0, calls: 0, violations: [] };
  private readonly dice: Dice;
  private readonly on: OnPlatform;
  private file: Files = { approvals: FILES[0] as readonly Approval[], owned: {} };
  /** By the digest of what they read: what was said, whether or not it was recorded. */
  private readonly said = new Map<string, Said[]>();
  /** By the same digest. */
  private readonly read = new Map<string, Plan['intents']>();
  private readonly askers = new Map<string, Name | undefined>();
  private devices = 0;
  private isApplying = false;
  private written: { target: string; file: Files }[] = [];

  constructor(
    seed: number,
    private readonly bug: ApproverBug | undefined,
  ) {
    this.dice = new Dice(seed, 'approvers');
    this.on = startOnPlatform({ rules: this.rules() });
    this.on.platform.onWrite = ({ target }) => {
      this.written.push({ target, file: this.file });
      if (this.dice.chance(0.1)) this.change();
    };
  }

  async go(steps: number): Promise<ApproverFigures> {
    for (let step = 0; step < steps; step += 1) {
      this.figures.steps += 1;
      const life = new Life(this.dice.chance(0.15) ? this.dice.whole(1, 60) : undefined);
      const engine = this.engineOf(life);
      try {
        await this.step(engine);
      } catch (error) {
        if (!(error instanceof Crash) && !(error instanceof AppError)) throw error;
        if (error instanceof AppError) this.figures.refused += 1;
      }
      if (life.ended) {
        this.figures.ends += 1;
        this.on.restart();
      }
      await this.judge();
    }
    await this.on.close();
    return this.figures;
  }

  private engineOf(life: Life): Engine {
    const store = mortal(this.sick(this.on.engine.store), life);
    return { ...this.on.engine, ...this.careless(), store, api: mortal(this.on.engine.api, life) };
  }

  /** When a plan is applied, and when something is called: answering one asks as it should. */
  private careless(): Partial<Engine> {
    if (this.bug !== 'owners_are_forgotten') return {};
    const { active } = this.on.engine;
    const withoutOwners = () => {
      const { rules, ...set } = active();
      return {
        ...set,
        rules: rules.map(({ guards, ...rule }) => {
          if (!guards?.approvals) return rule;
          return { ...rule, guards: { ...guards, approvals: { ...guards.approvals, owners: undefined } } };
        }),
      };
    };
    return { active: () => (this.isApplying ? withoutOwners() : active()) };
  }

  private sick(store: EngineStore): EngineStore {
    if (this.bug === 'the_row_is_counted')
      return replaced(store, {
        auditedYes: async (plan) => ({
          ...(await store.auditedYes(plan)),
          given: (await store.plan(plan.id))?.agreed?.given ?? [],
        }),
      });
    if (this.bug !== 'nobody_is_the_same') return store;
    const other = (by: string, at: number) => {
      const { email = '', sub = '' } = personOf(by) ?? {};
      return email === '' ? by : asPerson({ email: `${at}${email}`, sub: `${at}${sub}`, issuer });
    };
    return replaced(store, {
      auditedYes: async (plan) => {
        const { given, asked } = await store.auditedYes(plan);
        return { given: given.map((one, at) => ({ ...one, by: other(one.by, at) })), asked };
      },
    });
  }

  private rules() {
    const guards = { ask: [], lastDevice: false, perDay: undefined, files: [] };
    const owners: Owner[] = Object.entries(this.file.owned).map(([rule, groups]) => ({
      folder: rule,
      groups,
      rules: [rule],
    }));
    const approvals = { approvals: this.file.approvals, tokens: TOKENS, ...(owners.length > 0 && { owners }) };
    return ['ban', 'other'].map((id) => ({
      ...banRule({ id, mode: 'approve', field: id === 'ban' ? 'CompromisedStatus' : 'Other' }),
      guards: { ...guards, approvals },
    }));
  }

  private change(): void {
    this.file = { approvals: this.dice.pick(FILES), owned: this.dice.pick(OWNED) };
    this.on.rules(...this.rules());
  }

  private async step(engine: Engine): Promise<void> {
    const { dice, on } = this;
    const what = dice.weighted({
      yes: 40,
      apply: 20,
      run: 20,
      device: 15,
      change: 6,
      edit: 6,
      no: 2,
      glass: 2,
      time: 4,
    });
    if (what === 'run') return this.run(engine);
    if (what === 'apply') return this.apply(engine);
    if (what === 'yes' || what === 'glass') return this.yes(engine, what === 'glass');
    if (what === 'change') return this.change();
    if (what === 'time') return void (await on.clock.sleep(dice.whole(1, 20 * 3_600_000)));
    if (what === 'edit') return this.edit(engine);
    if (what === 'device') {
      this.devices += 1;
      const fields = dice.pick<Facts>([
        { CompromisedStatus: 'TRUE' },
        { Other: 'TRUE' },
        { CompromisedStatus: 'TRUE', Other: 'TRUE' },
      ]);
      on.platform.addDevice(`d${this.devices}`, { MdmData: fields });
      return;
    }
    const plan = await this.waiting();
    if (plan) await answerPart(engine, plan.id, 'reject', this.all(plan), dice.pick(ACTORS));
  }

  private async run(engine: Engine): Promise<void> {
    const actor = this.dice.chance(0.5) ? this.dice.pick(ACTORS) : undefined;
    const before = (await this.on.store.latestRun())?.id;
    const request = {
      mode: 'enforce',
      trigger: actor ? 'http' : 'schedule',
      rules: undefined,
      waitForDoubts: false,
    } as const;
    try {
      await runCycle(engine, { ...request, ...(actor && { by: actor.by }) });
    } finally {
      const id = (await this.on.store.latestRun())?.id;
      if (id !== undefined && id !== before) this.askers.set(id, actor?.is);
    }
  }

  private async waiting(): Promise<Plan | undefined> {
    const plans = await this.on.store.plans({ status: 'pending' }, 10);
    return plans.length === 0 ? undefined : this.dice.pick(plans);
  }

  private all(plan: Plan): PlanSelection {
    return { rules: [], only: [], except: [], digest: plan.digest };
  }

  private async yes(engine: Engine, glass: boolean, of?: Plan, actor = this.dice.pick(ACTORS)): Promise<void> {
    const plan = of ?? (await this.waiting());
    if (!plan) return;
    const [one] = plan.intents;
    const isPart = plan.intents.length > 1 && this.dice.chance(0.2) && one !== undefined;
    const selection = { ...this.all(plan), ...(isPart && { only: [one.target] }) };
    const digest = planDigest(chooseFrom(plan, selection).chosen);
    this.read.set(digest, chooseFrom(plan, selection).chosen);
    this.said.set(digest, [...(this.said.get(digest) ?? []), { actor, glass }]);
    const { file } = this;
    const said = { ...actor, reason: 'it is right' };
    const answered = await answerPart(engine, plan.id, 'approve', selection, said, glass);
    this.figures.yes += 1;
    if (answered.plan.status === 'approved') this.demand(file, plan, digest, `plan ${plan.id} is approved`);
  }

  private async apply(engine: Engine): Promise<void> {
    const plans = await Promise.all(
      (['approved', 'interrupted'] as const).map((status) => this.on.store.plans({ status }, 5)),
    );
    const plan = plans.flat()[0];
    this.isApplying = true;
    try {
      if (plan) await applyPlan(engine, plan.id, { by: 'the daemon' });
    } finally {
      this.isApplying = false;
    }
  }

  /** A row as somebody writes it who has no key, and who then says yes again. */
  private async edit(engine: Engine): Promise<void> {
    const plan = await this.waiting();
    if (!plan) return;
    // Others than those who said it, or many at once.
    const others = ACTORS.filter(({ by, is }) => is && !plan.agreed?.given.some((one) => one.by === by));
    const given = others
      .slice(0, plan.agreed?.given.length ?? others.length)
      .map(({ by, groups = [] }) => ({ at: 0, by, groups }));
    const decided = { status: 'approved', decidedAt: 1, decidedBy: ACTORS[0]?.by } as const;
    const edited = { ...plan, agreed: { given, missing: '' }, ...(this.dice.chance(0.3) && decided) };
    const again = ACTORS.find(({ by }) => plan.agreed?.given.some((one) => one.by === by));
    await this.on.store.changePlan(edited, [], []);
    if (again) await this.yes(engine, false, plan, again);
  }

  /** Each call since the last step, by the file that was in force when it was sent. */
  private async judge(): Promise<void> {
    const written = this.written;
    this.written = [];
    for (const { target, file } of written) {
      this.figures.calls += 1;
      const sent = (await this.on.store.intents({ target })).filter(
        ({ undo, sentAt }) => !undo && sentAt !== undefined,
      );
      const last = sent.sort((a, b) => (b.sentAt ?? 0) - (a.sentAt ?? 0))[0];
      const plan = last?.planId === undefined ? undefined : await this.on.store.plan(last.planId);
      if (plan) this.demand(file, plan, plan.digest, `the call on ${target}`);
      else if (last) this.figures.violations.push(`the call on ${target} is of no plan`);
    }
  }

  private demand({ approvals, owned }: Files, plan: Plan, digest: string, what: string): void {
    const all = this.said.get(digest) ?? [];
    if (all.some(({ glass }) => glass)) return;
    const acts = (this.read.get(digest) ?? plan.intents).map(({ basis }) => {
      return basis.flatMap(({ rule }) => owned[rule as keyof Owned] ?? []);
    });
    const isOf = ({ is, of = [] }: Actor, groups: readonly string[]) =>
      is && groups.some((group) => of.includes(group));
    const said = all.filter(({ actor }) => acts.every((groups) => groups.length === 0 || isOf(actor, groups)));
    for (const [rule, groups] of Object.entries(owned)) {
      const isThere = acts.some((asked) => groups.some((group) => asked.includes(group)));
      if (isThere && !said.some(({ actor }) => isOf(actor, groups)))
        this.figures.violations.push(`${what}: rule ${rule} belongs to ${groups.join()}, and none of them said yes`);
    }
    const asker = this.askers.get(plan.runId);
    for (const { people, groups, rules, from, notSelf } of approvals) {
      const about = plan.intents.filter(
        ({ basis }) => rules.length === 0 || basis.some(({ rule }) => rules.includes(rule)),
      );
      if (about.length < from) continue;
      const counted = said.filter(
        ({ actor: { of = [] } }) => groups.length === 0 || groups.some((group) => of.includes(group)),
      );
      const names = new Set(counted.flatMap(({ actor: { is } }) => is ?? []));
      const others = [...names].filter((name) => !notSelf || name !== asker).length;
      if (names.size >= people && others >= Math.max(1, people - 1)) continue;
      this.figures.violations.push(
        `${what}: ${people} of ${groups.join()} are needed, and ${[...names].join()} said yes`,
      );
    }
  }
}

export async function walkApprovers(seed: number, steps: number, bug?: ApproverBug): Promise<ApproverFigures> {
  return new Walk(seed, bug).go(steps);
}

export function sumOf(all: readonly ApproverFigures[]): ApproverFigures {
  const sum: ApproverFigures = { steps: 0, ends: 0, yes: 0, refused: 0, calls: 0, violations: [] };
  for (const one of all) {
    for (const name of ['steps', 'ends', 'yes', 'refused', 'calls'] as const) sum[name] += one[name];
    sum.violations.push(...one.violations);
  }
  return sum;
}
