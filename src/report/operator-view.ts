// report: exemptions, the stop switch and the result of a release, as readers see them: times as text, nothing left
// out.
import type { ActionName } from '../domain/action.ts';
import { aboutText, type Exemption, isInForce } from '../domain/exemption.ts';
import type { Intent } from '../domain/intent.ts';
import type { Acceptance, Stop } from '../domain/operator.ts';
import { isoTime } from '../domain/time-text.ts';
import { isoOrNull } from './iso-or-null.ts';
import { intentView } from './plan-view.ts';

export function exemptionView(exemption: Exemption, nowMs: number) {
  return {
    id: exemption.id,
    about: aboutText(exemption),
    subject: exemption.subject ?? null,
    selector: exemption.selector ?? null,
    owner: exemption.owner,
    reason: exemption.reason,
    expiresAt: isoTime(exemption.expiresAt),
    createdAt: isoTime(exemption.createdAt),
    createdBy: exemption.createdBy,
    endedAt: isoOrNull(exemption.endedAt),
    endedBy: exemption.endedBy ?? null,
    endedReason: exemption.endedReason ?? null,
    usedAt: isoOrNull(exemption.usedAt),
    inForce: isInForce(exemption, nowMs),
    acceptForgeable: exemption.acceptForgeable ?? false,
  };
}

export function stopView({ at, by, reason }: Stop) {
  return { at: isoTime(at), by, reason };
}

export function acceptanceView({ source, at, by, reason, run, causes, count }: Acceptance) {
  return { source, at: isoTime(at), by, reason, run, causes, count };
}

/** The result of a release: the undo that was sent, if one was needed. */
export function releasedView(released: {
  target: string;
  action: ActionName;
  state: 'released' | 'dry_run' | 'standing';
  text: string;
  intent: Intent | undefined;
}) {
  const { target, action, state, text, intent } = released;
  return { target, action, state, text, intent: intent ? intentView(intent) : null };
}
