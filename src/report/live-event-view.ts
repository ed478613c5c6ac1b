// report: a decision or an outcome as it is sent to those who react to it: on the stream, and to webhooks. In: the event. Out: its entry's
// number and time, and the whole record as the lists show it.
import type { LiveEvent } from '../domain/live-event.ts';
import { isoTime } from '../domain/time-text.ts';
import { auditView } from './audit-view.ts';
import { decisionView } from './decision-view.ts';
import { intentView } from './plan-view.ts';

/** A record that was removed since is null, and `body` then has what the audit keeps of it. */
export function liveEventView(live: LiveEvent) {
  const { entry, event, isDryRun } = live;
  const { seq, at, kind, hash } = entry;
  const head = { event, seq, at: isoTime(at), kind, hash, dryRun: isDryRun };
  const record = live.event === 'decision' ? live.decision : live.intent;
  const kept = record ? {} : { body: auditView(entry).body };
  if (live.event === 'decision')
    return { ...head, decision: live.decision ? decisionView(live.decision) : null, ...kept };
  const { result, note = null, intent } = live;
  return { ...head, result, note, intent: intent ? intentView(intent) : null, ...kept };
}
