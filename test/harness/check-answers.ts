// harness: judges answers to plans at their commit: approved is what a person said, and no more; a part and the rest are the plan.
// In: what people are about to say, and what the audit has as approved. Out: violations, and the plans that may be applied.
import { canonicalJson } from '../../src/base/json.ts';
import type { PlannedIntent } from '../../src/domain/plan.ts';
import type { Checker } from './checker.ts';
import type { ToldApproval } from './ledger.ts';

export class Answers {
  /** By the plan that a person answers: the keys of what they approve. The last word counts. */
  private readonly said = new Map<string, ReadonlySet<string>>();

  constructor(private readonly checker: Checker) {}

  /** Before it is committed: it may be, though whoever said it never learns of that. */
  say(plan: string, chosen: readonly PlannedIntent[]): void {
    this.said.set(plan, new Set(chosen.map(({ key }) => key)));
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
    if (!said || said.size !== keys.size || [...said].some((key) => !keys.has(key)))
      checker.report(
        'unapproved',
        `plan ${id} is approved with ${keys.size} intents, and people said ${said?.size ?? 0}`,
      );
    checker.approvedPlans.add(id);
    if (partOf !== undefined) this.checkParts(partOf, id);
  }

  private checkParts(partOf: string, part: string): void {
    const { ledger } = this.checker;
    const whole = ledger.plan(partOf);
    const parts = whole?.supersededBy ?? [];
    const now = parts.flatMap((id) => ledger.plan(id)?.intents ?? []);
    const isWhole = sorted(now) === sorted(whole?.intents ?? []);
    if (whole?.status !== 'superseded' || !parts.includes(part) || parts.length !== 2 || !isWhole)
      this.checker.report('lost', `plan ${partOf} (${whole?.status}) is not its part ${part} and the rest: ${parts}`);
  }
}

function sorted(intents: readonly PlannedIntent[]): string {
  return canonicalJson(intents.map((intent) => canonicalJson(intent)).sort());
}
