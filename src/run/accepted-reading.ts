// run: applies an operator's acceptance to the next reading of that source. The reading uses it up either way.
// INVARIANT: it overrules only what the operator saw: the same causes, on a list that has not lost more since. It never
// accepts the beginning of a list: a reading that ended early is `too_many`, or `grown` without an acceptance of that.

import { type Acceptance, isAcceptable, type UsedAcceptance } from '../domain/operator.ts';
import type { SourceReading } from '../domain/snapshot.ts';
import type { TrustSettings } from '../pull/trust-gate.ts';

/** Makes the reading trusted when the acceptance covers it. Returns the result of the acceptance. */
export function acceptReading(
  reading: SourceReading,
  acceptance: Acceptance,
  trust: Pick<TrustSettings, 'shrunkPercent' | 'shrunkRecords'>,
): { reading: SourceReading; used: UsedAcceptance } {
  if (reading.trusted)
    return { reading, used: { ...acceptance, overrode: [], refused: 'the reading was trusted anyway' } };
  const refused = whyNot(reading, acceptance, trust);
  if (refused !== undefined) return { reading, used: { ...acceptance, overrode: [], refused } };
  const { by, reason } = acceptance;
  const overrode = reading.reasons;
  return {
    reading: { ...reading, trusted: true, reasons: [], accepted: { by, reason, overrode } },
    used: { ...acceptance, overrode, refused: undefined },
  };
}

function whyNot(
  { source, state, reasons, count }: SourceReading,
  acceptance: Acceptance,
  trust: Pick<TrustSettings, 'shrunkPercent' | 'shrunkRecords'>,
): string | undefined {
  if (state !== 'read') return 'the source could not be read';
  const hard = reasons.find(({ code }) => !isAcceptable(code));
  if (hard) return `nobody can accept this: ${hard.text}`;
  const fresh = reasons.find(({ code }) => !acceptance.causes.includes(code));
  if (fresh) return `this was not so when it was accepted: ${fresh.text}`;
  // Of the log, each run reads another part.
  const lost = source === 'events' ? 0 : acceptance.count - count;
  if (lost > trust.shrunkRecords && (lost / acceptance.count) * 100 > trust.shrunkPercent)
    return `it had ${acceptance.count} records when it was accepted, and has ${count}`;
  return undefined;
}
