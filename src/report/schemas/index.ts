// report: the schemas of all that other programs are shown. The endpoint is given them with the views; no command loads them.
import { reportSchema } from '../schema.ts';
import * as nouns from './nouns.ts';
import { explained, rule, triedRule } from './rules.ts';
import { summary } from './summary.ts';
import { why } from './why.ts';

export const schemas = {
  report: reportSchema,
  run: nouns.run,
  summary,
  history: nouns.history,
  decision: nouns.decision,
  plan: nouns.plan,
  intent: nouns.intent,
  claim: nouns.claim,
  exemption: nouns.exemption,
  stop: nouns.stop,
  acceptance: nouns.acceptance,
  released: nouns.released,
  auditEntry: nouns.auditEntry,
  notification: nouns.notification,
  token: nouns.token,
  rule,
  triedRule,
  explained,
  why,
};
