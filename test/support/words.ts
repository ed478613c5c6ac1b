// support: the words that no operator says (docs/glossary.md). In: a text or a page. Out: each place that has one. Commands, kinds of the audit
// and fields of JSON keep such names: they are code.

const NOT_SAID =
  /\b(?:claims?|claimed|episodes?|intents?|orphaned|unpaged|approval_needed|held)\b|\b(?:a|last|each|next|no|two) looks?\b|\blooks? at the event log/gi;

/** Without code, markup, commands, and the ids of tests. */
function said(html: string): string {
  const text = html
    .replace(/<(script|style|code)\b[\s\S]*?<\/\1>/g, ' ')
    .replace(/<[a-z/!][^>]*>/g, ' ')
    .replace(/`[^`]*`/g, ' ')
    // Kinds and fields of the audit.
    .replace(/\b[a-z]+\.[a-z_]+\b/g, ' ')
    .replace(/\w+ = &quot;|&quot;\w+&quot;:/g, ' ');
  return text.replace(/(?:^ *| {2})trustward .*$/gm, ' ').replace(/\b(?:intent|episode|decision)-?\w*\d\w*/g, ' ');
}

export function notSaid(text: string): string[] {
  const whole = said(text);
  return [...whole.matchAll(NOT_SAID)].map(({ 0: word, index }) => whole.slice(index - 40, index + word.length + 20));
}
