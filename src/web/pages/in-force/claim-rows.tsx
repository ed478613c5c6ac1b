// web: claims as rows: who, what, since when, for which rule, and the run or plan behind it. In: a page of claims. Out: rows. The devices
// are those that the action was about; runs that were removed are not named.

import { spanText } from '../../../domain/age-text.ts';
import type { Claim } from '../../../domain/claim.ts';
import { shownName } from '../../../domain/clip.ts';
import type { Intent } from '../../../domain/intent.ts';
import type { SubjectKind } from '../../../domain/subjects.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { Link } from '../../../report/html/link.tsx';
import { Mark } from '../../../report/html/marks.tsx';
import type { Row } from '../../../report/html/table.tsx';
import { Code, Term, When, Words } from '../../../report/html/text.tsx';
import { subjectPath, Who } from '../../../report/html/who.tsx';
import { Act } from '../../parts/act.tsx';

export const CLAIM_COLUMNS = [
  'Who',
  'Done',
  'Since',
  { head: 'Rule', kind: 'id' },
  { head: 'By', kind: 'id' },
  'State',
] as const;

export async function claimRows(
  { reader, clock, rules }: HttpDeps,
  claims: readonly Claim[],
  canRelease: boolean,
): Promise<Row[]> {
  const found = await reader.intents({ ids: [...new Set(claims.map(({ intentId }) => intentId))] });
  const intents = new Map(found.map((intent) => [intent.id, intent]));
  const runs = new Map<string, number>();
  for (const id of new Set(found.map(({ runId }) => runId))) {
    const run = await reader.run(id);
    if (run) runs.set(id, run.seq);
  }
  const nowMs = clock.nowMs();
  const kinds = new Map(rules().map(({ id, subject }) => [id, subject]));
  return claims.map((claim) => {
    const intent = intents.get(claim.intentId);
    return {
      id: `claim-${claim.id}`,
      cells: [
        <Subject claim={claim} intent={intent} kind={kinds.get(claim.rule)} />,
        <>
          <Link href={`/intents/${encodeURIComponent(claim.intentId)}`}>
            <Term>{claim.action}</Term>
          </Link>{' '}
          on <Code>{claim.target}</Code>
        </>,
        <>
          {spanText(Math.max(0, nowMs - claim.openedAt))}
          <div class="quiet">
            <When at={claim.openedAt} />
          </div>
        </>,
        <Link href={`/rules/${encodeURIComponent(claim.rule)}`}>
          <Words>{claim.rule}</Words>
        </Link>,
        <Origin intent={intent} run={intent && runs.get(intent.runId)} />,
        <Mark word={claim.status} tone={claim.status === 'orphaned' ? 'wait' : 'good'} />,
        ...(canRelease
          ? [
              <Act
                to="/in-force/release"
                label="Release"
                reason="required"
                fields={{ intent: claim.intentId }}
                confirm={`Undo ${claim.action} on ${shownName(claim.target)} now? It is not done again while the rule keeps matching.`}
              />,
            ]
          : []),
      ],
    };
  });
}

interface SubjectProps {
  claim: Claim;
  intent: Intent | undefined;
  /** What the rule judges; undefined: the rule is not loaded. */
  kind: SubjectKind | undefined;
}

/** A device is known as the action read it. */
function Subject({ claim: { subjectId, target }, intent, kind }: SubjectProps) {
  const device = intent?.effect.devices.find(({ id }) => id === subjectId);
  const known = kind ?? (device ? 'device' : undefined);
  const href = known && subjectPath(known, subjectId);
  return <Who who={device ?? { id: subjectId }} href={href} shown={target} />;
}

function Origin({ intent, run }: { intent: Intent | undefined; run: number | undefined }) {
  return (
    <>
      {run === undefined ? null : (
        <div>
          <Link href={`/runs/${run}`}>run {run}</Link>
        </div>
      )}
      {intent?.planId === undefined ? null : (
        <div>
          <Link href={`/plans/${encodeURIComponent(intent.planId)}`}>plan {intent.planId}</Link>
        </div>
      )}
      {intent?.approved ? <div class="quiet">approved by a person</div> : null}
    </>
  );
}
