// check: undoing asks for better evidence than acting did. In: the report that no longer matches, where it is not newer than what the episode
// has seen: one flag that flips back, or an old report that is sent again, frees nobody.
import { type Check, skip } from '../../domain/check.ts';
import { timeText } from '../../domain/time-text.ts';

export const olderReport: Check = {
  when: 'the report that clears it is not newer than the one that it was done for',
  ask({ traits, undo, basis }) {
    const older = undo ? basis.find((one) => one.older)?.older : undefined;
    if (!older) return undefined;
    const { path, ofMs, thanMs, matched } = older;
    const of = ofMs === null ? `${path} has no time` : `${path} ${timeText(ofMs)}`;
    const than = matched ? `that ${traits.inverse} was done for` : 'that was seen before it';
    return skip(
      'older_report',
      `the report that clears it (${of}) is not newer than the one of ${timeText(thanMs)} ${than}`,
    );
  },
};
