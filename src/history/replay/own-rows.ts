// history: the rows that a what-if keeps in memory, as the store keeps those of a live process: episodes, claims, decisions in force, intents.
// In: what was decided and done. Out: what deciding and acting ask of a store. INVARIANT: it keeps what `OpenState` has, and nothing else.
import type { ActStore } from '../../domain/act-store.ts';
import type { Claim } from '../../domain/claim.ts';
import type { StoredDecision } from '../../domain/decision.ts';
import { type Episode, seenOfKey } from '../../domain/episode.ts';
import { type Intent, isUnresolved } from '../../domain/intent.ts';
import type { OpenState } from '../../domain/store.ts';

type Rows = Pick<OpenState, 'episodes' | 'claims' | 'decisions' | 'intents'>;

export class OwnRows implements Pick<ActStore, 'openClaimsOn' | 'episodesInForce' | 'episodesThatSaw' | 'intentsOn'> {
  readonly episodes: Map<string, Episode>;
  readonly claims: Map<string, Claim>;
  readonly decisions: Map<string, StoredDecision>;
  readonly intents: Map<string, Intent>;

  constructor({ episodes, claims, decisions, intents }: Rows) {
    this.episodes = byId(episodes);
    this.claims = byId(claims);
    this.decisions = byId(decisions);
    this.intents = byId(intents);
  }

  all(): Rows {
    return {
      episodes: [...this.episodes.values()],
      claims: [...this.claims.values()],
      decisions: [...this.decisions.values()],
      intents: [...this.intents.values()],
    };
  }

  put(changed: { episodes?: readonly Episode[]; claims?: readonly Claim[] }): void {
    for (const episode of changed.episodes ?? []) this.episodes.set(episode.id, episode);
    for (const claim of changed.claims ?? []) {
      if (claim.status === 'standing' || claim.status === 'orphaned') this.claims.set(claim.id, claim);
      else this.claims.delete(claim.id);
    }
  }

  /** Forgets episodes that are over and claim nothing, and intents that nothing in force rests on. */
  forgetOver(): void {
    const [claiming, claimed] = [new Set<string>(), new Set<string>()];
    for (const { episodeId, intentId } of this.claims.values()) {
      claiming.add(episodeId);
      claimed.add(intentId);
    }
    for (const [id, { state }] of this.episodes) {
      if (state === 'closed' && !claiming.has(id)) this.episodes.delete(id);
    }
    for (const [id, intent] of this.intents) {
      const isNeeded = isUnresolved(intent) || intent.outcome === 'parked' || claimed.has(id);
      if (!isNeeded && !intent.basis.some(({ episodeId }) => this.episodes.has(episodeId))) this.intents.delete(id);
    }
  }

  async openClaimsOn(target: string): Promise<Claim[]> {
    const open = [...this.claims.values()].filter((claim) => claim.target === target);
    return open.sort((a, b) => Number(a.status === 'orphaned') - Number(b.status === 'orphaned'));
  }

  async episodesInForce(ids: readonly string[]): Promise<Episode[]> {
    return [...new Set(ids)].flatMap((id) => this.episodes.get(id) ?? []);
  }

  async episodesThatSaw(target: string): Promise<Episode[]> {
    const saw = ({ state, seenSo }: Episode) =>
      state !== 'closed' && seenSo.some((key) => seenOfKey(key).target === target);
    return [...this.episodes.values()].filter(saw);
  }

  async intentsOn(target: string): Promise<Intent[]> {
    return [...this.intents.values()].filter((intent) => intent.target === target);
  }
}

function byId<T extends { id: string }>(all: readonly T[]): Map<string, T> {
  return new Map(all.map((one) => [one.id, one]));
}
