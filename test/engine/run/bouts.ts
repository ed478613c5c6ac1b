// test: cases for walks in which a match begins, is acted on and clears, or is acted on and reversed by a person: two rules that propose the same,
// and bouts among everything else that happens. In: fast-check's chance. Out: a case of the same length as any other. It plays
// nothing. Why: by chance alone, one walk in thirty undoes anything, and hardly one while another rule still proposes
// it.
import fc from 'fast-check';
import type { ActionName } from '../../../src/domain/action.ts';
import type { Guards } from '../../../src/domain/guards.ts';
import {
  type Case,
  caseOf,
  DEVICES,
  FIELDS,
  type Field,
  type ReportedFlag,
  SERVICES,
  type Shape,
  type Step,
  type Subject,
  step,
  USERS,
} from '../../support/cases.ts';

type PairKind = 'device' | 'service';
const IDS: { readonly [kind in PairKind]: readonly string[] } = { device: DEVICES, service: SERVICES };
const LAST_DEVICE = DEVICES.length - 1; // mostly of the same serial number as the first

/** Two rules of one action, each with its own field, so that one can clear while the other still matches. */
const pair: fc.Arbitrary<Shape[]> = fc
  .record({
    action: fc.constantFrom<ActionName[]>('ban_device', 'ban_device', 'disable_service', 'add_to_bundle'),
    modes: fc.constantFrom<[Shape['mode'], Shape['mode']][]>(
      ['enforce', 'enforce'],
      ['enforce', 'enforce'],
      ['enforce', 'enforce'],
      ['enforce', 'approve'],
      ['approve', 'approve'],
    ),
    waits: fc.constantFrom<Pick<Shape, 'for' | 'clearFor'>[]>(
      { for: '0s', clearFor: '0s' },
      { for: '0s', clearFor: '0s' },
      { for: '30s', clearFor: '0s' },
      { for: '0s', clearFor: '30s' },
    ),
  })
  .map(({ action, modes, waits }) =>
    modes.map((mode, index) => ({
      subject: action === 'ban_device' ? 'device' : 'service',
      trouble: index === 0 ? 'T1' : 'T2',
      actions: [action],
      mode,
      severity: 'critical',
      for: '0s',
      clearFor: '0s',
      cooldown: '0s',
      revert: true,
      owners: 'all',
      limits: '{ max: 100, percent: 100 }',
      // Only the second waits: the first shows the target while the second is not yet sure.
      ...(index === 1 ? waits : {}),
    })),
  );

interface Bout {
  first: number;
  /** The second field is that of another device, which may have the same serial number. */
  isShared: boolean;
  /** A run sees the state between one bout and the other. */
  isSeenApart: boolean;
  clearsFirst: Field;
  /** The other is no longer visible: that ends nothing. */
  isUnsettled: boolean;
  /** Events between the end of one bout and that of the other. */
  between: Step[];
  passes: boolean;
  /** The undo waits in a plan, and before it is applied the other rule proposes the same. */
  isHeld: boolean;
  answersPlan: boolean;
  reversal: Reversal | null;
}

/** A person reverses what was done, within the quiet period or after it. */
interface Reversal {
  afterMs: number;
  /** The runs that come next: over one rule alone, or over all. */
  seenBy: readonly (number[] | null)[];
  /** From one of them to the next. */
  apartMs: number;
}

const reversal: fc.Arbitrary<Reversal> = fc.record({
  afterMs: fc.constantFrom(1_000, 1_000, 15_000, 40_000),
  seenBy: fc.constantFrom<Reversal['seenBy'][]>(
    [[0], [1], null],
    [[1], [0], null],
    [[1], null, [0]],
    [null, [1], [0]],
    [null, null],
  ),
  apartMs: fc.constantFrom(1_000, 15_000, 40_000),
});

const bout: fc.Arbitrary<Bout> = fc.record({
  first: fc.nat(LAST_DEVICE),
  isShared: fc.constantFrom(false, false, true),
  isSeenApart: fc.boolean(),
  clearsFirst: fc.constantFrom<Field[]>('T1', 'T2'),
  isUnsettled: fc.constantFrom(false, false, true),
  between: fc.array(step, { maxLength: 2 }),
  passes: fc.constantFrom(true, true, false),
  isHeld: fc.constantFrom(false, false, false, true),
  answersPlan: fc.constantFrom(false, false, true),
  reversal: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: reversal }),
});

function stepsOf(kind: PairKind, action: ActionName | undefined, bout: Bout): Step[] {
  const ids = IDS[kind];
  const isShared = bout.isShared && kind === 'device';
  const subject = (index: number): Subject => ({ kind, id: ids[index % ids.length] as string });
  const about = { T1: subject(isShared ? 0 : bout.first), T2: subject(isShared ? LAST_DEVICE : bout.first) };
  const tell = (field: Field, told: ReportedFlag): Step => ({ do: 'facts', of: about[field], field, told });
  const run = (mode: 'enforce' | 'approve', chosen: number[] | null): Step => ({
    do: 'run',
    mode,
    chosen,
    waits: false,
  });
  const apply: Step = { do: 'plan', answer: 'apply' };
  const look = bout.answersPlan ? [run('enforce', null), apply] : [run('enforce', null)];
  if (bout.isHeld) {
    const held = [tell('T2', 'FALSE'), tell('T1', 'TRUE'), ...look, tell('T1', 'FALSE'), run('approve', null)];
    return [...held, tell('T2', 'TRUE'), run('enforce', [1]), apply]; // a run over chosen rules supersedes no plan
  }
  const reversed = (reversal: Reversal | null): Step[] => {
    if (!reversal) return [];
    const { afterMs, seenBy, apartMs } = reversal;
    const hand: Step = { do: 'hand', of: about.T1, bundle: action === 'add_to_bundle' };
    const runs = seenBy.flatMap((chosen): Step[] => [run('enforce', chosen), { do: 'pass', ms: apartMs }]);
    return [{ do: 'pass', ms: afterMs }, hand, ...runs];
  };
  const clearsLast = bout.clearsFirst === 'T1' ? 'T2' : 'T1';
  return [
    tell('T1', 'TRUE'),
    ...(bout.isSeenApart ? look : []),
    tell('T2', 'TRUE'),
    ...look,
    ...reversed(bout.reversal),
    tell(bout.clearsFirst, 'FALSE'),
    ...(bout.isUnsettled ? [tell(clearsLast, null)] : []),
    ...bout.between,
    ...look,
    ...(bout.passes ? [tell(clearsLast, 'FALSE'), ...look] : []),
  ];
}

/** What people meet: rules that warn them or begin with a share, guards, new owners, checks again. */
const NOTICE = 'notice: { before: 5m, remind: [1m] }';
const ROLLOUT = 'rollout: { steps: [50%, 100%], each: 1h, brake: { reversed: 1, exempted: 1 } }';
const run: Step = { do: 'run', mode: 'enforce', chosen: null, waits: false };
const device = fc.constantFrom(...DEVICES).map((id): Subject => ({ kind: 'device', id }));
const mended = (of: Subject): Step[] => FIELDS.map((field) => ({ do: 'facts', of, field, told: 'FALSE' }));
const meeting: fc.Arbitrary<Step[]> = fc.oneof(
  fc.constantFrom('delivered', 'not_sent', 'refused', 'doubt').map((how): Step[] => [{ do: 'post', how }]),
  fc.constant<Step[]>([run, { do: 'post', how: 'delivered' }, { do: 'pass', ms: 400_000 }, run]),
  fc
    .tuple(device, fc.boolean())
    .map(([of, isMended]): Step[] => [...(isMended ? mended(of) : []), { do: 'check', of }]),
  device.map((of): Step[] => [
    run,
    ...mended(of),
    { do: 'check', of },
    { do: 'pass', ms: 61_000 },
    { do: 'check', of },
  ]),
  fc.tuple(device, fc.constantFrom(...USERS)).map(([of, owner]): Step[] => [{ do: 'give', of, owner }]),
  fc.constantFrom('on', 'on', 'off').map((are): Step[] => [{ do: 'guards', are }]),
  fc.constant<Step[]>([run, { do: 'pass', ms: 3_700_000 }, run]),
);
const met = fc.record({
  more: fc.array(fc.constantFrom(undefined, NOTICE, ROLLOUT), { minLength: 5, maxLength: 5 }),
  guards: fc.record({
    ask: fc.constantFrom<Guards['ask'][]>(
      [],
      [{ selector: { kind: 'user', field: 'Email', value: USERS[0] }, reason: undefined }],
    ),
    lastDevice: fc.boolean(),
    perDay: fc.constantFrom(undefined, 1),
  }),
  meetings: fc.array(fc.tuple(fc.nat(60), meeting), { minLength: 4, maxLength: 10 }),
});
const BANS: readonly ActionName[] = ['ban_device', 'delete_device'];

/** Only what takes devices from people warns them. */
function meetingPeople(
  given: Case,
  { more, guards, meetings }: typeof met extends fc.Arbitrary<infer T> ? T : never,
): Case {
  const history = [...given.history];
  for (const [at, steps] of meetings) history.splice(at % history.length, 0, ...steps);
  const shapes = given.shapes.map((shape, index) => {
    const fits = more[index] === NOTICE ? BANS.includes.bind(BANS) : (action: ActionName) => action !== 'notify';
    return shape.actions.every((action) => fits(action)) ? { ...shape, more: more[index] } : shape;
  });
  return { ...given, shapes, guards, history };
}

const RULES_MAX = 5; // as many as steps name
const LENGTHS = { min: 28, max: 60 }; // a bout is shorter than the shortest

export const walkCase: fc.Arbitrary<Case> = fc
  .record({
    given: caseOf(LENGTHS),
    pair: fc.option(pair, { freq: 4 }),
    bouts: fc.array(fc.record({ at: fc.nat(LENGTHS.max), bout }), { minLength: 2, maxLength: 5 }),
    // Last, so that the others are as they were before.
    met: fc.option(met, { freq: 1 }),
  })
  .map(({ given, pair, bouts, met }) => {
    const whole = withBouts(given, pair, bouts);
    return met ? meetingPeople(whole, met) : whole;
  });

function withBouts(given: Case, pair: Shape[] | null, bouts: readonly { at: number; bout: Bout }[]): Case {
  if (!pair) return given;
  const kind = pair[0]?.subject === 'device' ? 'device' : 'service';
  const history = [...given.history];
  for (const { at, bout } of bouts) {
    const steps = stepsOf(kind, pair[0]?.actions[0], bout);
    history.splice(at % (history.length - steps.length), steps.length, ...steps);
  }
  return { ...given, shapes: [...pair, ...given.shapes].slice(0, RULES_MAX), history };
}
