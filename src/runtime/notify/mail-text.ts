// notify: the text of a mail to a person. In: a message, whose names and texts are hostile, and templates. Out: a subject, a text and HTML. Each
// value is shown in full sight and escaped here and nowhere else: no template can leave that out.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { didYouMean } from '../../base/nearest-name.ts';
import { clip, plainUrl, shownName, spellHidden, unlinked } from '../../base/text.ts';
import { wallText } from '../../base/time.ts';
import type { KnownTraits } from '../../domain/action.ts';
import type { PersonMessage } from '../../domain/notice.ts';

// What may stand in a template.

interface Said {
  message: PersonMessage;
  timeZone: string;
  /** The service desk. */
  contact: string | undefined;
  actions: KnownTraits;
  /** Inside of `factors`: the one that is shown. */
  factor?: PersonMessage['factors'][number];
}

interface Placeholder {
  what: string;
  of(said: Said): string | undefined;
}

const TEXT_MAX = 1_000;

/** Who uses or builds the device chose it: on one line, with hidden characters spelled, and nothing that a mail program makes a link of. */
function theirs(text: string | undefined, cut = shownName): string | undefined {
  return text === undefined ? undefined : unlinked(spellHidden(cut(text.replace(/\s+/g, ' ').trim())));
}

/** The organization wrote it: its lines stay. */
function ours(text: string | undefined): string | undefined {
  return text?.trim().split(/\r?\n/).map(spellHidden).join('\n');
}

/** By name. `factor.text` and `factor.url` stand inside of `{{#factors}}…{{/factors}}`. */
export const PLACEHOLDERS: Readonly<Record<string, Placeholder>> = {
  'person.name': { what: 'the name of the person', of: ({ message }) => theirs(message.person.name) },
  'person.email': { what: 'the e-mail address of the person', of: ({ message }) => theirs(message.person.email) },
  'device.name': { what: 'the name of the device', of: ({ message }) => theirs(message.device.name) },
  'device.serial': { what: 'its serial number', of: ({ message }) => theirs(message.device.serial) },
  'device.platform': { what: 'its platform, such as macOS', of: ({ message }) => theirs(message.device.platform) },
  'device.model': { what: 'its model', of: ({ message }) => theirs(message.device.model) },
  'rule.id': { what: 'the id of the rule', of: ({ message }) => message.rule.id },
  'rule.title': { what: 'the title of the rule', of: ({ message }) => ours(message.rule.title) },
  problem: {
    what: 'what is wrong: `fix.problem` of the rule, or else that the check of its title found it',
    of: ({ message: { rule } }) => ours(rule.fix?.problem ?? `found by the check “${rule.title}”`),
  },
  severity: { what: 'the severity of the rule', of: ({ message }) => message.rule.severity },
  since: { what: 'since when it is so', of: ({ message, timeZone }) => wallText(timeZone, message.since) },
  due: { what: 'when the action becomes due', of: ({ message, timeZone }) => wallText(timeZone, message.dueAt) },
  action: {
    what: 'what happens then, as the end of a sentence: `it is blocked: …`',
    of: ({ message: { action }, actions }) =>
      actions.get(action)?.warnText ?? `\`${spellHidden(action)}\` is done on it`,
  },
  fix: { what: 'only for a section: the rule says how to mend it', of: ({ message }) => message.rule.fix?.text },
  'fix.text': { what: 'how to mend it, from the rule', of: ({ message }) => ours(message.rule.fix?.text) },
  'fix.url': { what: 'an address with more, from the rule', of: ({ message }) => plainUrl(message.rule.fix?.url) },
  advice: {
    what: 'only for a section: the platform has advice of its own',
    of: ({ message }) => (message.factors.length > 0 ? 'yes' : undefined),
  },
  factors: { what: 'only for a section, which is repeated for each advice of the platform', of: () => undefined },
  'factor.text': { what: 'the advice', of: ({ factor }) => theirs(factor?.text, (text) => clip(text, TEXT_MAX)) },
  // INVARIANT: no link of theirs: it may look like ours.
  'factor.url': { what: 'an address with more', of: ({ factor }) => theirs(plainUrl(factor?.url), (url) => url) },
  link: { what: "the person's own page, where there is one", of: ({ message }) => plainUrl(message.link) },
  contact: { what: 'the address of the service desk (`TRUSTWARD_SMTP_REPLY_TO`)', of: ({ contact }) => contact },
  first: {
    what: 'only for a section: it is the first message',
    of: ({ message }) => (message.stage === 'first' ? 'yes' : undefined),
  },
  reminder: {
    what: 'only for a section: it is a reminder',
    of: ({ message }) => (message.stage === 'reminder' ? 'yes' : undefined),
  },
};

const FOR_SECTIONS: ReadonlySet<string> = new Set(['fix', 'advice', 'factors', 'first', 'reminder']);

// A template: text with `{{name}}`, and `{{#name}}…{{/name}}`, which is shown when the name has a value.

type Part = string | { name: string; parts?: Part[] };

interface TemplateFault {
  /** From 1. */
  line: number;
  column: number;
  text: string;
}

interface Section {
  name: string;
  parts: Part[];
  at: number;
}

export function parseTemplate(text: string): Part[] | TemplateFault {
  const open: Section[] = [{ name: '', parts: [], at: 0 }];
  const faultAt = (at: number, why: string): TemplateFault => {
    const lines = text.slice(0, at).split('\n');
    return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1, text: why };
  };
  for (let from = 0; ; ) {
    const { name: within, parts, at: opened } = open.at(-1) as Section;
    const at = text.indexOf('{{', from);
    if (at < 0) {
      parts.push(text.slice(from));
      return open.length === 1 ? parts : faultAt(opened, `\`{{#${within}}}\` is not ended: add \`{{/${within}}}\``);
    }
    const [tag, sign, name = ''] = /^\{\{([#/]?)[ \t]*([^{}\s]*)[ \t]*\}\}/.exec(text.slice(at, at + 200)) ?? [];
    if (tag === undefined) return faultAt(at, '`{{` is not closed: write `{{device.name}}`, on one line');
    const why = tagFault(name, sign === '', open);
    if (why !== undefined) return faultAt(at, why);
    let [start, end] = [at, at + tag.length];
    // A line that has only the tag of a section is no line of the text.
    const before = /(?:^|\n)[ \t]*$/.exec(text.slice(from, at));
    const after = /^[ \t]*\r?\n/.exec(text.slice(end));
    if (sign !== '' && before && after) {
      start = from + before.index + (before[0].startsWith('\n') ? 1 : 0);
      end += after[0].length;
    }
    parts.push(text.slice(from, start));
    from = end;
    if (sign === '') parts.push({ name });
    else if (sign === '#') open.push({ name, parts: [], at });
    else {
      if (open.length === 1 || within !== name)
        return faultAt(
          at,
          `\`{{/${name}}}\` ends no section: ${open.length === 1 ? 'none is open' : `\`{{#${within}}}\` is open`}`,
        );
      open.pop();
      open.at(-1)?.parts.push({ name, parts });
    }
  }
}

function tagFault(name: string, isValue: boolean, open: readonly Section[]): string | undefined {
  if (!Object.hasOwn(PLACEHOLDERS, name))
    return `\`${spellHidden(clip(name, 100))}\` is not a placeholder${didYouMean(name, Object.keys(PLACEHOLDERS)) || `: there are ${Object.keys(PLACEHOLDERS).join(', ')}`}`;
  if (isValue && FOR_SECTIONS.has(name)) return `\`${name}\` has no text: write \`{{#${name}}}…{{/${name}}}\``;
  if (name.startsWith('factor.') && !open.some((section) => section.name === 'factors'))
    return `\`${name}\` stands outside of \`{{#factors}}…{{/factors}}\``;
  return undefined;
}

function rendered(parts: readonly Part[], said: Said, shown: (text: string) => string): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const { name, parts: inner } = part;
      if (inner && name === 'factors')
        return said.message.factors.map((factor) => rendered(inner, { ...said, factor }, shown)).join('');
      const value = PLACEHOLDERS[name]?.of(said) ?? '';
      if (inner) return value === '' ? '' : rendered(inner, said, shown);
      return shown(value);
    })
    .join('');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function inHtml(text: string): string {
  return text.replace(/[&<>"']/g, (found) => ESCAPES[found] as string).replaceAll('\n', '<br>');
}

// The files of an organization, and those that come with Trustward.

/** A reminder without a file of its own has that of the first message, where `{{#reminder}}` can tell it apart. */
const FILES = ['subject.txt', 'notice.txt', 'notice.html', 'reminder.txt', 'reminder.html'] as const;
type TemplateFile = (typeof FILES)[number];

const SHIPPED_TEMPLATES = new URL('./templates/', import.meta.url);
const BYTES_MAX = 65_536;
const FOLDER = 'TRUSTWARD_MAIL_TEMPLATES';

export type MailTemplates = ReadonlyMap<TemplateFile, Part[]>;

const shipped = new Map<string, Part[]>();

function shippedParts(file: TemplateFile): Part[] {
  const known = shipped.get(file) ?? (parseTemplate(readFileSync(new URL(file, SHIPPED_TEMPLATES), 'utf8')) as Part[]);
  shipped.set(file, known);
  return known;
}

/** Their texts, to be changed. */
export function shippedTemplates(): { name: string; text: string }[] {
  const names = readdirSync(SHIPPED_TEMPLATES).sort();
  return names.map((name) => ({ name, text: readFileSync(new URL(name, SHIPPED_TEMPLATES), 'utf8') }));
}

/** Those of the organization; every fault names its file, line and column. */
export function readTemplates(names: {
  text(name: string): string | undefined;
  fault(of: string, text: string): void;
}): MailTemplates {
  const folder = names.text(FOLDER);
  const found = new Map<TemplateFile, Part[]>();
  if (folder === undefined) return found;
  try {
    for (const file of readdirSync(folder)
      .filter((name) => !name.startsWith('.'))
      .sort()) {
      const path = join(folder, file);
      const fault = (why: string) => names.fault(FOLDER, `${FOLDER}: \`${path}\`${why}`);
      const known = FILES.find((name) => name === file);
      if (!known) {
        fault(` is not a template: the names are ${FILES.join(', ')}`);
        continue;
      }
      if (statSync(path).size > BYTES_MAX) {
        fault(` is larger than ${BYTES_MAX / 1_024} KiB`);
        continue;
      }
      const parsed = parseTemplate(readFileSync(path, 'utf8'));
      if (Array.isArray(parsed)) found.set(known, parsed);
      else fault(`:${parsed.line}:${parsed.column}: ${parsed.text}`);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    names.fault(FOLDER, `${FOLDER}: \`${folder}\` cannot be read (${code}): give a folder of templates`);
  }
  return found;
}

export interface MailText {
  subject: string;
  text: string;
  html: string;
}

const SUBJECT_MAX = 200;

export function mailText(
  message: PersonMessage,
  { templates, ...given }: Omit<Said, 'message' | 'factor'> & { templates: MailTemplates },
): MailText {
  const said = { message, ...given };
  const body = (form: 'txt' | 'html'): Part[] => {
    const own = message.stage === 'reminder' ? templates.get(`reminder.${form}`) : undefined;
    return own ?? templates.get(`notice.${form}`) ?? shippedParts(`notice.${form}`);
  };
  const subject = rendered(templates.get('subject.txt') ?? shippedParts('subject.txt'), said, (text) => text);
  return {
    subject: clip(subject.replace(/\s+/g, ' ').trim(), SUBJECT_MAX),
    text: rendered(body('txt'), said, (text) => text),
    html: rendered(body('html'), said, inHtml),
  };
}
