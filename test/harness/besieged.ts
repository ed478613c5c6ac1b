// harness: a round in which somebody edits the database beside the engine, or puts another file in its place, at a moment that may fall
// between any two awaits; and what the engine must do from then on. In: a life. Out: whether it goes on as if nothing had happened.

import { headOf } from '../../src/store/audit-rows.ts';
import { answered } from '../../src/store/sqlite/database.ts';
import { Life } from '../support/crash.ts';
import { bytesOf } from '../support/memory-database.ts';
import { type AcceptedView, goOnAfter, judgeAnew } from './afterwards.ts';
import { comparedBy } from './check-beside.ts';
import type { SimDisk } from './disk.ts';
import { type EditedView, goOnEdited } from './edited.ts';
import { editBeside } from './edits.ts';

export interface BesiegedView extends AcceptedView, Omit<EditedView, 'table'> {
  disk: SimDisk;
  round(): Promise<void>;
}

const WITHIN_MS = 90_000;

/** False: people accepted rows of which the checker knows nothing, and the life ended with them. */
export async function besiege(view: BesiegedView): Promise<boolean> {
  return view.profile.beside?.what === 'edit' ? edited(view) : replaced(view);
}

async function edited(view: BesiegedView): Promise<boolean> {
  const { db, clock, checker, dice, world } = view;
  const { ledger } = checker;
  let isLie = false;
  await roundWith(view, () => {
    const { seq } = answered(db, headOf);
    const edit = editBeside({ db, clock, dice, world, ledger });
    const { table } = edit;
    isLie = edit.isLie;
    checker.intrusion = { kind: 'on_edited', table, seq, atMs: clock.trueMs, compared: comparedBy(checker, table) };
  });
  const { table = '' } = checker.intrusion ?? {};
  await goOnEdited({ ...view, table });
  if (!isLie || checker.violations.length > 0) return true;
  const judge = judgeAnew(view);
  await goOnAfter(view, await view.start(new Life(undefined), judge), judge, 'accepted tables', ['against_a_person']);
  return false;
}

/** What is answered as committed from then on would be in no file that a restart opens. */
async function replaced(view: BesiegedView): Promise<boolean> {
  const { db, clock, checker, disk, dice } = view;
  await roundWith(view, () => {
    const bytes = bytesOf(db);
    const { seq } = answered(db, headOf);
    checker.intrusion = { kind: 'on_replaced', table: 'the file', seq, atMs: clock.trueMs, compared: undefined };
    disk.replace(() => {
      checker.intrusion = undefined;
      if (!bytesOf(db).equals(bytes)) checker.report('on_replaced', 'something was committed to a replaced file');
    });
  });
  for (let run = dice.whole(1, 2); run > 0; run -= 1) {
    clock.pass(20_000);
    await view.perform(dice.pick(['enforce', 'apply', 'release']));
  }
  view.end();
  await view.perform('enforce');
  return true;
}

async function roundWith({ clock, dice, round }: BesiegedView, happen: () => void): Promise<void> {
  clock.after(dice.whole(0, WITHIN_MS), happen);
  await round();
  clock.pass(WITHIN_MS);
}
