// report: a replay as one HTML file. In: a replay as a document. Out: pieces.
import type { ReplayDocument } from '../../replay/document.ts';
import { replayHeadline } from '../../replay/words.ts';
import { filePieces } from '../file.tsx';
import { Words } from '../text.tsx';
import { ReplayParts } from './parts.tsx';

/** A browser is slow with more. */
const ROWS_MAX = 5_000;

export function* replayHtmlPieces(replay: ReplayDocument): Generator<string> {
  const title = replayHeadline(replay);
  const main = (
    <>
      <h1>
        <Words>{title}</Words>
      </h1>
      <ReplayParts replay={replay} rowsMax={ROWS_MAX} isPage={false} />
    </>
  );
  yield* filePieces(title, [String(main)]);
}
