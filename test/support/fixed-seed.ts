// support: one seed for all properties, so that what passes here passes there; `TEST_SEED=random` looks for what no run has seen yet.
import fc from 'fast-check';

const { TEST_SEED: asked } = process.env;

if (asked !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(asked ?? 1) });
