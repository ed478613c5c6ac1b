// run: a pass over the devices of a large fleet whose parts other threads read and judge. In: the parts, in the order of the list. Out: what
// one thread alone would have found. Flips are found here, where it is known how many are left.
import type { Facts } from '../domain/facts.ts';
import type { IdentityChanges } from '../domain/identity.ts';
import type { LookBackPass } from '../domain/look-back.ts';
import type { Sight } from '../domain/movement.ts';
import type { PartReaders } from '../domain/part-readers.ts';
import type { Api } from '../domain/ports.ts';
import type { RecordPart } from '../domain/record-part.ts';
import type { SeenSubjects } from '../domain/recorded-history.ts';
import type { Baseline } from '../domain/snapshot.ts';
import type { Evaluator, Flip, Judge, JudgeContext, Judgement, WantedFlips } from '../domain/verdict.ts';
import type { FleetIndex } from '../pull/fleet-index.ts';
import type { IdentityPass } from '../pull/identity-pass.ts';
import type { PartsPull } from '../pull/pull-source.ts';
import type { RecordPass } from '../pull/record-pass.ts';

/** The result of a pass over one source: its judgement, the values that the trust gate compares, what names find its subjects. */
export interface Pass {
  judgement: Judgement | undefined;
  values: Baseline['values'];
  identities: IdentityChanges;
  /** For the history; undefined: nothing is recorded. */
  records: Pick<SeenSubjects, 'changed' | 'prints'> | undefined;
  /** What it left. */
  flipBudget: WantedFlips['budget'];
  /** Where some rule looks back on these subjects. */
  lookBack?: LookBackPass | undefined;
  /** Of whether the source moves. */
  sight: Sight;
}

export interface PartsPassOptions {
  api: Api;
  readers: PartReaders;
  evaluator: Evaluator;
  form: 'paged' | 'unpaged';
  events: Parameters<PartReaders['begin']>[1];
  setup: Omit<
    Parameters<PartReaders['begin']>[2],
    'flipsLeft' | 'isExampleWanted' | 'prints' | 'recordPrints' | 'source'
  >;
  context: JudgeContext;
  /** For one attempt, fresh. */
  fresh(): { fleet: FleetIndex; identities: IdentityPass; records: RecordPass; flips: WantedFlips };
}

/** Undefined where the API cannot hand over pieces. */
export function partsPass(options: PartsPassOptions): PartsPull<Pass> | undefined {
  const { api, readers, evaluator, events, form } = options;
  if (!api.inPieces) return undefined;
  return {
    recordsMin: readers.recordsMin,
    begin: async () => {
      const { fleet, identities, records, flips } = options.fresh();
      const flipsLeft = new Uint8Array(new SharedArrayBuffer(1));
      const finder = new FlipsOfParts(evaluator, { ...options.context, flips }, flips, flipsLeft);
      const merge = evaluator.merge('device');
      const { isExampleWanted } = merge;
      const prints = { prints: identities.shared, recordPrints: records.shared };
      const shared = { flipsLeft, isExampleWanted, ...prints };
      const read = await readers.begin(evaluator, events, { ...options.setup, ...shared, source: 'devices' });
      if (!read) return undefined;
      const consumer = {
        accept: (part: RecordPart) => {
          fleet.addPart(part.fleet);
          identities.acceptPart(part.identities);
          records.acceptPart(part.changed, part.sight);
          finder.find(part);
          merge.add(part.judged);
        },
        finish: (): Pass => {
          const judgement = merge.finish();
          return {
            judgement,
            values: judgement.values,
            identities: identities.finish(),
            ...records.finish(),
            flipBudget: flips.budget,
          };
        },
      };
      return { consumer, parts: (api as Required<Api>).inPieces('devices', form, read) };
    },
  };
}

/** Judges again the records whose verdicts are new, in their order, to find the flips that a pass looks for. */
class FlipsOfParts {
  private readonly judge: Judge;
  private known = 0;
  private knownOpen = 0;

  constructor(
    evaluator: Evaluator,
    context: JudgeContext,
    private readonly flips: WantedFlips,
    private readonly left: Uint8Array,
  ) {
    this.judge = evaluator.judge('device', context);
    this.show();
  }

  find({ wanted, judged }: RecordPart): void {
    if (wanted.length === 0 || !this.isLeft()) return;
    for (const record of wanted) this.judge.accept(record as Facts);
    const { matches, open } = this.judge.finish();
    const found = new Map<string, Flip>();
    for (const { rule, summary, flip } of [...matches.slice(this.known), ...open.slice(this.knownOpen)])
      if (flip) found.set(`${rule} ${summary.id}`, flip);
    [this.known, this.knownOpen] = [matches.length, open.length];
    for (const each of [...judged.matches, ...judged.open]) {
      const flip = found.get(`${each.rule} ${each.summary.id}`);
      if (flip) each.flip = flip;
    }
    this.show();
  }

  private isLeft(): boolean {
    const { flips, tries } = this.flips.budget;
    return flips > 0 && tries > 0;
  }

  private show(): void {
    this.left[0] = this.isLeft() ? 1 : 0;
  }
}
