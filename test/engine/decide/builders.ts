// test: small builders for deciding: rules and subjects with everything said that a test does not care about.
import type { ActionName } from '../../../src/domain/action.ts';
import type { Rule } from '../../../src/domain/rule.ts';
import { SOURCE_OF, type SubjectSummary } from '../../../src/domain/subjects.ts';
import type { VerdictName } from '../../../src/domain/verdict.ts';

export const T0 = 1_800_000_000_000;
export const MINUTE = 60_000;
export const HOUR = 3_600_000;

export function rule(id: string, fields: Partial<Rule> & { does?: ActionName } = {}): Rule {
  const { does, ...rest } = fields;
  return {
    id,
    title: id,
    severity: 'high',
    subject: 'device',
    when: true,
    then: [{ action: does ?? 'ban_device', with: {} }],
    mode: 'enforce',
    forMs: 0,
    clearForMs: 0,
    cooldownMs: 0,
    revert: true,
    reportTimes: ['MdmData.Timestamp'],
    limits: { max: 1_000, percent: 100 },
    owners: 'one',
    watch: true,
    hash: `hash of ${id}`,
    file: `${id}.yaml`,
    sources: [SOURCE_OF[fields.subject ?? 'device']],
    ...rest,
  };
}

export interface SceneSubject {
  kind: 'device' | 'user' | 'service';
  serial: string;
  serials?: string[];
  /** Banned of a device, Enabled of a service. */
  state: string | undefined;
  model: string;
  platform: string;
  owners: string[] | undefined;
  /** By rule; `no_match` when nothing is said. */
  verdicts: Record<string, VerdictName>;
  present: boolean;
  /** When MDM made the report that runs see, epoch ms; null: never; absent: a new one when a verdict changes. */
  reportedAt?: number | null;
}

export function summaryOf(id: string, subject: SceneSubject): SubjectSummary {
  const { kind, serial, serials, state, model, platform, owners } = subject;
  const field = kind === 'service' ? 'Enabled' : 'Banned';
  return { kind, id, name: `name of ${id}`, serial, serials, owners, state: { [field]: state }, model, platform };
}
