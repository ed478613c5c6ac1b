// support: one seed for all properties, so that what passes here passes there; `TEST_SEED=random` looks for what no run has seen yet. And how many cases of
// a property are tried: `THOROUGH=1`, as `npm run test:nodes` has it, tries all.
import fc from 'fast-check';

const { TEST_SEED: asked, THOROUGH } = process.env;

/** What is tried in each place or by each bug, is tried in some of them otherwise. */
export const isThorough = THOROUGH === '1';

if (asked !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(asked ?? 1) });
