import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Fact } from '../../../src/domain/facts.ts';
import type { Intent } from '../../../src/domain/intent.ts';
import type { FactChange } from '../../../src/domain/look-back.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { type ModelledWorld, PlatformModel, RecordedEffects } from '../../../src/history/replay/platform-model.ts';
import { doneIntent } from '../../support/filled-store.ts';
import { DAY, MINUTE, NOTHING_OPEN, T0 } from '../../support/recorded.ts';

/** Two devices of one serial number, and one of another. */
const DEVICES: readonly (readonly [id: string, serial: string])[] = [
  ['d1', 'S1'],
  ['d2', 'S1'],
  ['d3', 'S2'],
];

class Facts implements ModelledWorld {
  private readonly facts = new Map<string, Fact | undefined>();

  apply(changes: readonly FactChange[]): void {
    for (const { kind, subject, path, value } of changes) this.facts.set(`${kind} ${subject} ${path}`, value);
  }

  factOf(kind: string, id: string, path: string): Fact | undefined {
    return this.facts.get(`${kind} ${id} ${path}`);
  }

  isThere(kind: string, id: string): boolean {
    return this.factOf(kind, id, 'SerialNumber') !== undefined;
  }

  idsOfSerial(serial: string): string[] {
    return DEVICES.flatMap(([id]) => (this.factOf('device', id, 'SerialNumber') === serial ? [id] : []));
  }

  banned(serial: string): (Fact | undefined)[] {
    return this.idsOfSerial(serial).map((id) => this.factOf('device', id, 'Banned'));
  }
}

function intentOf(id: string, action: string, target: string, sentAt: number, more: Partial<Intent> = {}): Intent {
  return doneIntent(sentAt, { id, action, target, ...more });
}

interface Modelled {
  world: Facts;
  model: PlatformModel;
  /** One run over whole lists: the recorded values, and the intents of its open state. */
  sees(banned: Record<string, Fact>, intents?: Intent[], isTrusted?: boolean): ReturnType<PlatformModel['seen']>;
}

function modelled(): Modelled {
  const world = new Facts();
  const effects = new RecordedEffects(ACTIONS);
  const model = new PlatformModel(ACTIONS, effects, world);
  const recorded = new Map<string, Fact>();
  for (const [id, serial] of DEVICES) {
    world.apply([
      { kind: 'device', subject: id, path: 'SerialNumber', value: serial },
      { kind: 'device', subject: id, path: 'Banned', value: 'FALSE' },
    ]);
    recorded.set(serial, 'FALSE');
  }
  let atMs = T0;
  effects.learn(NOTHING_OPEN, true, undefined);
  return {
    world,
    model,
    sees(banned, intents = [], isTrusted = true) {
      atMs += 5 * MINUTE;
      effects.learn({ ...NOTHING_OPEN, intents }, true, undefined);
      const changes = DEVICES.flatMap(([subject, serial]): FactChange[] =>
        banned[serial] === undefined || banned[serial] === recorded.get(serial)
          ? []
          : [{ kind: 'device', subject, path: 'Banned', value: banned[serial] }],
      );
      const seen = model.seen(changes, () => isTrusted);
      if (isTrusted) {
        world.apply([...seen.changes]);
        for (const [serial, value] of Object.entries(banned)) recorded.set(serial, value);
        effects.wereRead(atMs, 15_000);
      }
      return seen;
    },
  };
}

test('a recorded ban of Trustward is left out, and one of a person holds', () => {
  const { world, sees } = modelled();
  const { people } = sees({ S1: 'TRUE', S2: 'TRUE' }, [intentOf('i1', 'ban_device', 'S1', T0 + 2 * MINUTE)]);
  expect([world.banned('S1'), world.banned('S2')]).toEqual([['FALSE', 'FALSE'], ['TRUE']]);
  expect(people).toEqual([{ field: 'Banned', target: 'S2', value: 'TRUE' }]);
});

test("what a person asked Trustward to release is a person's change", () => {
  const { world, sees } = modelled();
  sees({ S1: 'TRUE' });
  const released = intentOf('i1', 'unban_device', 'S1', T0 + 7 * MINUTE, { undo: true, released: true });
  expect(sees({ S1: 'FALSE' }, [released]).people).toEqual([{ field: 'Banned', target: 'S1', value: 'FALSE' }]);
  expect(world.banned('S1')).toEqual(['FALSE', 'FALSE']);
});

test("a person's ban long after Trustward's own one is theirs", () => {
  const { world, sees } = modelled();
  const own = intentOf('i1', 'ban_device', 'S1', T0 + 2 * MINUTE);
  sees({ S1: 'TRUE' }, [own]);
  sees({ S1: 'FALSE' }, [own]);
  expect(world.banned('S1')).toEqual(['FALSE', 'FALSE']);
  expect(sees({ S1: 'TRUE' }, [own]).people).toHaveLength(1);
  expect(world.banned('S1')).toEqual(['TRUE', 'TRUE']);
});

test('an act of the replay hits every device of the serial number, and holds until a person changes it', () => {
  const { world, model, sees } = modelled();
  world.apply(model.did({ action: 'ban_device', target: 'S1' }));
  expect(world.banned('S1')).toEqual(['TRUE', 'TRUE']);
  // The real past banned it too, and undid it.
  sees({ S1: 'TRUE' }, [intentOf('i1', 'ban_device', 'S1', T0 + 2 * MINUTE)]);
  sees({ S1: 'FALSE' }, [intentOf('i2', 'unban_device', 'S1', T0 + 7 * MINUTE, { undo: true })]);
  expect(world.banned('S1')).toEqual(['TRUE', 'TRUE']);
  // Then a person banned it and unbanned it.
  expect(sees({ S1: 'TRUE' }).people).toHaveLength(1);
  sees({ S1: 'FALSE' });
  expect(world.banned('S1')).toEqual(['FALSE', 'FALSE']);
});

test('a change in a reading that was not trusted does not stay', () => {
  const { world, model, sees } = modelled();
  world.apply(model.did({ action: 'ban_device', target: 'S1' }));
  expect([...sees({ S1: 'TRUE' }, [], false).changes]).toHaveLength(2);
  sees({ S1: 'TRUE' }, [intentOf('i1', 'ban_device', 'S1', T0 + 6 * MINUTE)]);
  sees({ S1: 'FALSE' }, [intentOf('i2', 'unban_device', 'S1', T0 + 12 * MINUTE, { undo: true })]);
  expect(world.banned('S1')).toEqual(['TRUE', 'TRUE']);
});

test('after a gap the acts of the replay stay where the record did not move, and what Trustward did meanwhile is taken back', () => {
  const { world, model } = modelled();
  world.apply(model.did({ action: 'ban_device', target: 'S1' }));
  const stated = DEVICES.map(([subject, serial]): FactChange => {
    return { kind: 'device', subject, path: 'Banned', value: serial === 'S2' ? 'TRUE' : 'FALSE' };
  });
  world.apply(model.restated(stated));
  expect([world.banned('S1'), world.banned('S2')]).toEqual([['TRUE', 'TRUE'], ['TRUE']]);
  world.apply(model.afterGap([{ action: 'ban_device', target: 'S2', openedAt: T0 + DAY }], T0));
  expect(world.banned('S2')).toEqual(['FALSE']);
});

test('without acts the model is the record, less the effects of recorded intents', () => {
  const step = fc.record({
    serial: fc.constantFrom('S1', 'S2'),
    by: fc.constantFrom('person', 'trustward', 'release'),
    ban: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { world, sees } = modelled();
      const [recorded, expected] = [new Map<string, Fact>(), new Map<string, Fact>()];
      let intents: Intent[] = [];
      for (const [index, { serial, by, ban }] of steps.entries()) {
        const value = ban ? 'TRUE' : 'FALSE';
        const moves = (recorded.get(serial) ?? 'FALSE') !== value;
        if (by !== 'person') {
          const sentAt = T0 + (index * 5 + 2) * MINUTE;
          const released = by === 'release' ? { released: true } : {};
          intents = [...intents, intentOf(`i${index}`, ban ? 'ban_device' : 'unban_device', serial, sentAt, released)];
        }
        if (by !== 'trustward' && moves) expected.set(serial, value);
        recorded.set(serial, value);
        sees({ [serial]: value }, intents);
      }
      for (const [id, serial] of DEVICES)
        expect(world.factOf('device', id, 'Banned')).toBe(expected.get(serial) ?? 'FALSE');
    }),
    { numRuns: 300 },
  );
});
