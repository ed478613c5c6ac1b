// test: the judge of every writing request of a walk, at the moment when it reaches the platform. In: the stage's
// events and the true world. Out: violations in words. It keeps its own model, and never calls src/decide. What nobody
// could have seen (a change and its reverse between two reads) is no violation.
import type { ActionName } from '../../../src/domain/action.ts';
import type { Intent } from '../../../src/domain/intent.ts';
import { INTENT } from '../../../src/store/rows.ts';
import type { Shape, Subject } from '../../support/cases.ts';
import { QUIET_MS } from '../../support/engine-on-platform.ts';
import type { Call } from '../../support/platform.ts';
import { beginTrouble, isOver, seeAgain, type Trouble } from './incidents.ts';
import { noRequests, pathOf } from './paths.ts';
import { Promises } from './promises.ts';
import { ACTION_OF, IDS, INVERSE_OF, Sights } from './sights.ts';
import type { Operation, Stage, Witness } from './stage.ts';

const DAY_MS = 86_400_000;
/** What we did to a target, as far as later reads show. */
interface Hold {
  atMs: number;
  /** When a look first found it reversed. */
  goneMs: number | undefined;
  isLost: boolean;
}

export class Judge implements Witness {
  readonly violations: string[] = [];
  readonly requests = noRequests();
  kept = 0;
  private readonly troubles = new Map<string, Trouble>();
  private readonly holds = new Map<string, Hold>();
  private readonly exemptions = new Map<string, { about: Subject; untilMs: number }>();
  private readonly sent: { action: ActionName; atMs: number; operation: Operation | undefined }[] = [];
  private operation: Operation | undefined;
  private operations = 0;
  /**
   * The operation in or after which a person last changed it back: a run that read it before need not propose it any
   * more.
   */
  private readonly disputes = new Map<string, number>();
  private looks = new Set<string>();
  private matches: { rule: string; subject: string; so: string[] }[] = [];
  /** Sent, and not known to be done yet: a doubt may be found done by a later run. */
  private readonly intents = new Set<string>();
  private stage!: Stage;
  private sights!: Sights;
  private promises!: Promises;

  watch(stage: Stage): void {
    this.stage = stage;
    this.sights = new Sights(stage);
    this.promises = new Promises(stage, this.sights, (kind, text) => this.report(kind, text));
  }

  begin(operation: Operation): void {
    this.operation = operation;
    this.operations += 1;
    this.looks = new Set();
    this.matches = [];
    if (operation.name === 'check') this.checked(operation.chosen?.[0] ?? '');
  }

  /** It reads all devices of the serial number, or one user or service: a match that is gone there is over. */
  private checked(id: string): void {
    const serial = this.stage.on.platform.devices.get(id)?.SerialNumber;
    const alike = (one: string) => one === id || this.stage.on.platform.devices.get(one)?.SerialNumber === serial;
    for (const [rule, shape] of this.active())
      for (const subject of IDS[shape.subject].filter(alike))
        if (shape.trouble !== 'errors' && this.sights.of(shape, subject) === 'no_match')
          this.passed(`${rule} ${subject}`, shape);
  }

  /** What this run reads. A cleared match counts at once, everything else at the end of the run. */
  list(source: 'devices' | 'users' | 'services'): void {
    if (this.operation?.name !== 'run') return;
    this.looks.add(source);
    for (const [rule, shape] of this.judged()) {
      if (`${shape.subject}s` !== source) continue;
      for (const subject of IDS[shape.subject]) {
        const sight = this.sights.of(shape, subject);
        if (sight === 'no_match' || sight === 'absent') this.passed(`${rule} ${subject}`, shape);
        if (sight !== 'match') continue;
        const names = shape.actions
          .filter((action) => INVERSE_OF[action] !== undefined && this.isSeen(action))
          .map((action) => ({ action, target: this.sights.targetOf(action, shape, subject) }));
        const so = names.filter(({ action, target }) => this.sights.isSo(action, target).so);
        this.matches.push({ rule, subject, so: so.map(({ action, target }) => `${action} ${target}`) });
      }
    }
  }

  end({ name, mode, chosen }: Operation, isWhole: boolean): void {
    if (isWhole && name === 'run') {
      const isLive = mode !== 'dry-run' && this.stage.given.daemonMode !== 'dry-run';
      for (const { rule, subject, so } of this.matches) this.seen(rule, subject, so, isLive);
      if (isLive && chosen === undefined) this.lookAtHolds();
      this.forgetOrphans();
    }
    this.learnOutcomes();
    this.operation = undefined;
  }

  /** All that propose what a person reversed know it, whether they had acted themselves, and whether they were due. */
  hand(target: string): void {
    this.changedBack(target, true);
  }

  private changedBack(target: string, isByPerson: boolean): void {
    for (const action of Object.keys(INVERSE_OF) as ActionName[]) {
      const key = `${action} ${target}`;
      const isReversed = this.sights.isSo(action, target).reversed;
      if (isReversed) this.disputes.set(key, this.operations);
      const isSeen = isByPerson && this.isSeen(action);
      const wasOurs = isSeen && [...this.troubles.values()].some((trouble) => trouble.claims.has(key));
      for (const { rule, subject, so, reversed, claims } of this.troubles.values()) {
        claims.delete(key);
        if (isReversed && (so.has(key) || (wasOurs && this.proposes(rule, subject, key)))) reversed.add(key);
        else reversed.delete(key);
      }
    }
  }

  private proposes(rule: string, subject: string, key: string): boolean {
    const shape = this.stage.shapeOf(rule);
    return (
      shape?.actions.some((action) => `${action} ${this.sights.targetOf(action, shape, subject)}` === key) ?? false
    );
  }

  exempted(about: Subject, id: string, untilMs: number): void {
    this.exemptions.set(id, { about, untilMs });
  }

  unexempted(id: string): void {
    this.exemptions.delete(id);
  }

  request({ action: verb, target }: Call): void {
    const action = ACTION_OF[verb] as ActionName;
    const intent = this.underWay(action, target);
    if (!intent) {
      this.report('unaudited', `${action} ${target} has no committed intent`);
      return;
    }
    this.intents.add(intent.id);
    this.requests[pathOf(intent, this.operation)] += 1;
    this.checkCeilings(action);
    if (this.stage.isStopped) this.report('stopped', `${action} ${target} while everything is stopped`);
    this.checkModes(intent);
    if (!intent.undo) this.promises.check(intent, this.operation);
    if (intent.undo) this.checkUndo(intent);
    else this.checkAct(intent);
    if (!intent.undo && INVERSE_OF[action])
      this.holds.set(`${action} ${target}`, { atMs: this.now, goneMs: undefined, isLost: false });
  }

  private get now(): number {
    return this.stage.on.clock.now;
  }

  private report(kind: string, text: string): void {
    this.violations.push(`${kind}: ${text}`);
  }

  private judged() {
    return this.active().filter(([id]) => this.operation?.chosen?.includes(id) ?? true);
  }

  private active() {
    return this.stage.rules().flatMap(({ id }) => {
      const shape = this.stage.shapeOf(id);
      return shape ? [[id, shape] as const] : [];
    });
  }

  private seen(rule: string, subject: string, so: string[], isLive: boolean): void {
    const key = `${rule} ${subject}`;
    const trouble = this.troubles.get(key) ?? beginTrouble(rule, subject, this.now, this.operations);
    seeAgain(trouble, this.now);
    this.troubles.set(key, trouble);
    for (const name of so) {
      const isOthers = [...this.troubles.values()].some((other) => other !== trouble && other.claims.has(name));
      if (isLive && isOthers && this.mayAdopt(trouble, name)) trouble.claims.add(name);
      trouble.so.add(name);
    }
  }

  private passed(key: string, shape: Shape): void {
    const trouble = this.troubles.get(key);
    if (!trouble || !isOver(trouble, shape, this.now)) return;
    this.troubles.delete(key);
    const others = [...this.troubles.values()].flatMap(({ claims }) => [...claims]);
    if (others.some((name) => trouble.claims.has(name))) this.kept += 1;
  }

  private mayAdopt({ rule, sinceMs, begun }: Trouble, name: string): boolean {
    const shape = this.stage.shapeOf(rule);
    const target = name.slice(name.indexOf(' ') + 1);
    const waits = shape?.for === '0s' || this.now - sinceMs >= 60_000;
    const isOwn = this.holds.get(name)?.isLost === false && !this.hasDoubt(target);
    return (
      isOwn &&
      waits &&
      (this.disputes.get(name) ?? -1) < begun &&
      isMode(shape?.mode, 'approve') &&
      !this.exemptionOf(target)
    );
  }

  /**
   * Reversed in two reads, a quiet period apart and long after any doubt: everybody could see that it is no longer
   * ours.
   */
  private lookAtHolds(): void {
    const isWhole = this.stage.shapes.every((shape) => shape !== undefined && shape.mode !== 'off');
    for (const [name, hold] of this.holds) {
      const [action, ...rest] = name.split(' ') as [ActionName, ...string[]];
      const isDevice = action.endsWith('_device');
      if (!this.looks.has(isDevice ? 'devices' : 'services') || !this.isSeen(action) || this.hasDoubt(rest.join(' ')))
        continue;
      const isGone = this.sights.isSo(action, rest.join(' ')).reversed && isWhole && this.now - hold.atMs > QUIET_MS;
      if (!isGone) hold.goneMs = undefined;
      else if (hold.goneMs === undefined) hold.goneMs = this.now;
      else if (this.now - hold.goneMs > QUIET_MS) hold.isLost = true;
    }
  }

  /** A server that does not list bundles hides what people do to them. */
  private isSeen(action: ActionName): boolean {
    return !action.endsWith('_bundle') || this.stage.on.platform.listsBundles;
  }

  /** Claims of a rule that is gone are orphans, and another rule may adopt them. */
  private forgetOrphans(): void {
    for (const { rule, claims } of this.troubles.values()) if (!this.stage.shapeOf(rule)) claims.clear();
  }

  private learnOutcomes(): void {
    for (const id of this.intents) {
      const row = this.stage.db.get('SELECT * FROM intents WHERE id = ?', id);
      const intent = row && INTENT.nounOf(row);
      if (!intent || !(intent.outcome === 'succeeded' || intent.outcome === 'confirmed')) continue;
      this.intents.delete(id);
      if (intent.undo) this.learnUndone(intent);
      if (intent.undo) continue;
      const name = `${intent.action} ${intent.target}`;
      for (const { rule, subjectId } of intent.basis) {
        const trouble = this.troubles.get(`${rule} ${subjectId}`);
        if (!trouble || !this.sights.isSo(intent.action, intent.target).so) continue;
        trouble.so.add(name);
        trouble.reversed.delete(name);
        trouble.begun = this.operations;
        if (this.holds.has(name)) trouble.claims.add(name);
      }
    }
  }

  /** By an operator command, or by our own action: then nobody has seen it so yet. */
  private learnUndone({ action, target, released }: Intent): void {
    if (released) this.changedBack(target, false);
    else
      for (const { so, reversed } of this.troubles.values())
        for (const known of [so, reversed]) known.delete(`${INVERSE_OF[action]} ${target}`);
  }

  private underWay(action: ActionName, target: string): Intent | undefined {
    const sql =
      "SELECT * FROM intents WHERE status = 'sent' AND action = ? AND target = ? ORDER BY sent_at DESC, id DESC";
    const row = this.stage.db.get(sql, action, target);
    return row && INTENT.nounOf(row);
  }

  private hasDoubt(target: string): boolean {
    const sql =
      "SELECT 1 AS found FROM intents WHERE target = ? AND (status IN ('planned', 'sent') OR outcome = 'unknown')";
    return this.stage.db.get(sql, target) !== undefined;
  }

  private checkCeilings(action: ActionName): void {
    const { operation } = this;
    this.sent.push({ action, atMs: this.now, operation });
    const { run, day } = this.stage.given.ceilings;
    const own = this.sent.filter((one) => one.action === action);
    const inRun = own.filter((one) => one.operation === operation).length;
    const inDay = own.filter((one) => one.atMs >= this.now - DAY_MS).length;
    if (inRun > run) this.report('ceiling', `${inRun} × ${action} in one run (${run})`);
    if (inDay > day) this.report('ceiling', `${inDay} × ${action} in 24 hours (${day})`);
  }

  private checkModes({ action, target, approved, released, basis }: Intent): void {
    const { daemonMode } = this.stage.given;
    const floor = approved ? 'approve' : 'enforce';
    const what = `${action} ${target}`;
    const mode = this.operation?.mode ?? 'off';
    if (mode === 'dry-run' || mode === 'off' || !isMode(daemonMode, floor))
      this.report('mode', `${what} in a run of mode ${mode}, of a daemon of mode ${daemonMode}`);
    if (!approved && mode !== 'enforce') this.report('mode', `${what}, unapproved, in a run of mode ${mode}`);
    const lesser = basis.find(({ rule }) => !isMode(this.stage.shapeOf(rule)?.mode, floor));
    if (!released && lesser)
      this.report('mode', `${what} by ${lesser.rule}, of mode ${this.stage.shapeOf(lesser.rule)?.mode ?? 'off'}`);
  }

  private checkAct({ action, target, basis }: Intent): void {
    const name = `${action} ${target}`;
    const sights = basis.map(({ rule, subjectId }) => this.sights.ofRule(rule, subjectId));
    if (!sights.some((sight) => sight === 'match' || sight === 'window'))
      this.report('unknown', `${name} although what was read is ${sights.join(', ')}`);
    const exempt = this.exemptionOf(target);
    if (exempt) this.report('exempt', `${name} although ${exempt.kind} ${exempt.id} is exempt`);
    const troubles = basis.map(({ rule, subjectId }) => this.troubles.get(`${rule} ${subjectId}`));
    if (troubles.every((trouble) => trouble?.reversed.has(name)))
      this.report('person', `${name} although a person reversed it, and its trouble has lasted since`);
  }

  private checkUndo({ action, target, basis, released }: Intent): void {
    if (released) return;
    const name = `${INVERSE_OF[action]} ${target}`;
    const hold = this.holds.get(name);
    if (!hold) this.report('person', `${action} ${target} undoes what was never done by us`);
    if (hold?.isLost) this.report('person', `${action} ${target} although what was ours is long gone`);
    const sights = basis.map(({ rule, subjectId }) => this.sights.ofRule(rule, subjectId));
    if (!sights.every((sight) => sight === 'no_match' || sight === 'window'))
      this.report('unknown', `${action} ${target} although what was read is ${sights.join(', ')}`);
    for (const { rule, subject, claims } of this.troubles.values()) {
      if (claims.has(name) && this.stage.shapeOf(rule))
        this.report('claim', `${action} ${target} although the trouble of ${rule} and ${subject} lasts`);
    }
  }

  private exemptionOf(target: string): Subject | undefined {
    const touched = this.sights.touchedBy(target);
    const inForce = [...this.exemptions.values()].filter(({ untilMs }) => untilMs > this.now);
    return inForce.find(({ about }) => touched.some(({ kind, id }) => kind === about.kind && id === about.id))?.about;
  }
}

function isMode(mode: string | undefined, floor: 'approve' | 'enforce'): boolean {
  return mode === 'enforce' || mode === floor;
}
