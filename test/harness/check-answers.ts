// harness: judges answers to plans at their commit: approved is what a person said of what they read and still is so, and no more; a part and the
// rest are the plan. In: what people are about to say, and what the audit has as approved. Out: violations, and the plans that may be applied.
import { canonicalJson } from '../../src/base/json.ts';
import { contentOf, type Plan, type PlannedIntent } from '../../src/domain/plan.ts';
import type { Checker } from './checker.ts';
import type { ToldApproval } from './ledger.ts';

interface Said {
  keys: ReadonlySet<string>;
  /** The plan as it was then. */
  whole: readonly PlannedIntent[];
}

export class Answers {
  /** What a person began to read, perhaps before the last runs. */
  reading: Plan | undefined;
  /** By the plan that a person answers. The last word counts. */
  private readonly said = new Map<string, Said>();

  constructor(private readonly checker: Checker) {}

  /** Before it is committed: it may be, though whoever said it never learns of that. Returns how much of it is so as it was read. */
  say(plan: string, chosen: readonly PlannedIntent[]): number {
    const whole = this.checker.ledger.plan(plan)?.intents ?? [];
    const now = new Set(whole.map((one) => canonicalJson(contentOf(one))));
    const same = chosen.filter((one) => now.has(canonicalJson(contentOf(one))));
    this.said.set(plan, { keys: new Set(same.map(({ key }) => key)), whole });
    return same.length;
  }

  check(): void {
    for (const approval of this.checker.ledger.approvals.splice(0)) this.checkApproval(approval);
  }

  private checkApproval({ plan: id, partOf }: ToldApproval): void {
    const { checker } = this;
    const plan = checker.ledger.plan(id);
    if (!plan) return; // an entry that somebody appended beside the engine
    const said = this.said.get(partOf ?? id);
    const keys = new Set(plan.intents.map(({ key }) => key));
    if (!said || said.keys.size !== keys.size || [...said.keys].some((key) => !keys.has(key)))
      checker.report(
        'unapproved',
        `plan ${id} is approved with ${keys.size} intents, and people said ${said?.keys.size ?? 0}`,
      );
    checker.approvedPlans.add(id);
    if (partOf !== undefined) this.checkParts(partOf, plan, said?.whole ?? []);
  }

  private checkParts(partOf: string, part: Plan, whole: readonly PlannedIntent[]): void {
    const rest = this.checker.ledger.plan(partOf);
    const now = [...part.intents, ...(rest?.intents ?? [])];
    if (rest?.status !== 'pending' || sorted(now) !== sorted(whole))
      this.checker.report('lost', `plan ${partOf} (${rest?.status}) and its part ${part.id} are not what it was`);
  }
}

function sorted(intents: readonly PlannedIntent[]): string {
  return canonicalJson(intents.map((intent) => canonicalJson(intent)).sort());
}
