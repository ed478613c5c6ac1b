// web: exemptions as rows. In: a page of them. Out: rows: what each covers now, when it ends, when it was last used. Counting what they all
// cover has a bound of time: by a field without an index, each count reads all devices.

import { spanText } from '../../../domain/age-text.ts';
import type { Exemption } from '../../../domain/exemption.ts';
import { aboutText } from '../../../domain/exemption.ts';
import { type Covered, coveredBy, coveredText } from '../../../domain/exemption-covers.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { Link } from '../../../report/html/link.tsx';
import { Mark } from '../../../report/html/marks.tsx';
import type { Row } from '../../../report/html/table.tsx';
import { Code, Name, When, Words } from '../../../report/html/text.tsx';
import { subjectPath } from '../../../report/html/who.tsx';
import { type JoinedView, joinedText, joinedView } from '../../../report/listed.ts';
import { Act } from '../../parts/act.tsx';

export const IN_FORCE_COLUMNS = ['About', 'Covers now', 'Why', 'Ends', 'Used last'];
export const OVER_COLUMNS = ['About', 'Why', 'Was over', 'Ended by', 'Used last'];

const COUNTING_MS = 80;

export async function inForceRows(deps: HttpDeps, exemptions: readonly Exemption[], canEnd: boolean): Promise<Row[]> {
  const operator = (await deps.reader.latestRun())?.findings?.operator;
  const ending = new Set(operator?.ending.map(({ id }) => id));
  const unused = new Set(operator?.unused.map(({ id }) => id));
  const covers = await coversOf(deps, exemptions);
  const nowMs = deps.clock.nowMs();
  const joined = new Map<string, JoinedView>();
  for (const one of exemptions) joined.set(one.id, await joinedView(deps.reader, one, nowMs));
  return exemptions.map((one) => ({
    id: `exemption-${one.id}`,
    cells: [
      <About exemption={one} />,
      <>
        <Covers covered={covers.get(one.id)} />
        <Joined exemption={one} joined={joined.get(one.id)} canConfirm={canEnd} />
      </>,
      <Why exemption={one} />,
      <>
        in {spanText(one.expiresAt - nowMs)} {ending.has(one.id) ? <Mark word="ends soon" tone="wait" /> : null}
        <div class="quiet">
          <When at={one.expiresAt} />
        </div>
      </>,
      <>
        {one.usedAt === undefined ? 'never' : <When at={one.usedAt} />}{' '}
        {unused.has(one.id) ? <Mark word="unused" tone="wait" /> : null}
      </>,
      ...(canEnd
        ? [<Act to={`/exemptions/${encodeURIComponent(one.id)}/end`} label="End" reason="required" tone="danger" />]
        : []),
    ],
  }));
}

export function overRow(exemption: Exemption): Row {
  const { id, expiresAt, endedAt, endedBy, endedReason, usedAt } = exemption;
  return {
    id: `exemption-${id}`,
    cells: [
      <About exemption={exemption} />,
      <Why exemption={exemption} />,
      <When at={endedAt ?? expiresAt} />,
      endedAt === undefined ? (
        'its time was over'
      ) : (
        <>
          <Name>{endedBy ?? 'somebody'}</Name>
          {endedReason === undefined ? null : (
            <div>
              <Words>{endedReason}</Words>
            </div>
          )}
        </>
      ),
      usedAt === undefined ? 'never' : <When at={usedAt} />,
    ],
  };
}

function About({ exemption }: { exemption: Exemption }) {
  const { id, subject } = exemption;
  const about = <Words>{aboutText(exemption)}</Words>;
  return (
    <>
      {subject ? <Link href={subjectPath(subject.kind, subject.id)}>{about}</Link> : <b>{about}</b>}
      {exemption.acceptForgeable ? <div class="quiet">devices report this themselves</div> : null}
      <div class="quiet">
        <Code>{id}</Code>
      </div>
    </>
  );
}

function Why({ exemption: { reason, owner, createdBy, createdAt } }: { exemption: Exemption }) {
  return (
    <>
      <Words>{reason}</Words>
      <div>
        <Name>{owner}</Name> is responsible for it
      </div>
      <div class="quiet">
        added by <Name>{createdBy}</Name>, <When at={createdAt} />
      </div>
    </>
  );
}

/** Neither acted on nor exempt until a person says yes. */
function Joined(props: { exemption: Exemption; joined: JoinedView | undefined; canConfirm: boolean }) {
  const text = props.joined && joinedText(props.joined);
  if (text === undefined) return null;
  return (
    <div>
      <Mark word="waits for a yes" tone="wait" /> <Words>{text}</Words>
      {props.canConfirm ? (
        <Act
          to={`/exemptions/${encodeURIComponent(props.exemption.id)}/confirm`}
          label="Cover these too"
          reason="required"
        />
      ) : null}
    </div>
  );
}

type Counted = Covered | 'unknown' | 'not counted';

function Covers({ covered }: { covered: Counted | undefined }) {
  if (covered === undefined || covered === 'not counted') return <span class="quiet">not counted here</span>;
  if (covered === 'unknown') return <span class="quiet">cannot be known before it is used</span>;
  return (
    <>
      {covered.count === 0 ? <Mark word="nothing" tone="wait" /> : null} <Words>{coveredText(covered)}</Words>
    </>
  );
}

async function coversOf({ reader, clock }: HttpDeps, exemptions: readonly Exemption[]): Promise<Map<string, Counted>> {
  const begunMs = clock.monotonicMs();
  const counted = new Map<string, Counted>();
  const byId = new Map<string, Counted>();
  for (const one of exemptions) {
    const about = aboutText(one);
    let covered = counted.get(about);
    if (covered === undefined && clock.monotonicMs() - begunMs <= COUNTING_MS) {
      covered = (await coveredBy(reader, one)) ?? 'unknown';
      counted.set(about, covered);
    }
    byId.set(one.id, covered ?? 'not counted');
  }
  return byId;
}
