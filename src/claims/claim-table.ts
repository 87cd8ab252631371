import { type Claim, type Ended, isCurrent } from './claim.ts'
import { DueQueue } from './due-queue.ts'
import type { ClaimPath } from './path.ts'
import { PathIndex } from './path-index.ts'

/** What a new claim needs, beside its path. */
export interface Grant {
  readonly owner: string
  readonly holder: string
  readonly ttlMs: number
}

/** The claims that are alive. It answers who stands where; whether a grant is right is judged by its callers. */
export class ClaimTable {
  readonly index = new PathIndex<Claim>()
  /** Of each owner, by the key of the path: the newest claim generation, unless it has ended. */
  readonly #held = new Map<string, Map<string, Claim>>()
  readonly #alive = new Set<Claim>()
  /** Of each owner that has anything alive. */
  readonly #labels = new Map<string, string>()
  readonly #due = new DueQueue<Claim>()
  #generation = 0

  get size(): number {
    return this.#alive.size
  }

  /** Every claim, the oldest first. */
  all(): IterableIterator<Claim> {
    return this.#alive.values()
  }

  /** Whether anything of the owner is alive, also by pins alone. */
  holdsAny(owner: string): boolean {
    return this.index.countOf(owner) > 0
  }

  /** The label of an owner that has anything alive. */
  labelOf(owner: string): string | undefined {
    return this.#labels.get(owner)
  }

  /** The newest claim generation of the owner at exactly this path. */
  held(owner: string, path: ClaimPath): Claim | undefined {
    return this.#held.get(owner)?.get(path.key)
  }

  heldBy(owner: string): readonly Claim[] {
    return [...(this.#held.get(owner)?.values() ?? [])]
  }

  owners(): readonly string[] {
    return [...this.#held.keys()]
  }

  /** Puts a new claim generation in place; the one before it ends, or lives on by its pins. */
  grant(path: ClaimPath, { owner, holder, ttlMs }: Grant, nowMs: number): Claim {
    const before = this.held(owner, path)
    if (before !== undefined) this.end(before, 'replaced')
    const claim: Claim = {
      path,
      owner,
      holder,
      claimGeneration: ++this.#generation,
      heldSinceMs: before?.heldSinceMs ?? nowMs,
      ttlMs,
      expiresAtMs: nowMs + ttlMs,
      pins: new Set(),
      ended: null,
    }
    this.index.add(claim)
    this.#alive.add(claim)
    this.#labels.set(owner, holder)
    this.#due.add(claim.expiresAtMs, claim)
    const held = this.#held.get(owner)
    if (held === undefined) this.#held.set(owner, new Map([[path.key, claim]]))
    else held.set(path.key, claim)
    // A refresh leaves the entry of the generation before it.
    this.#due.sweep(this.#alive.size, (one) => this.#alive.has(one))
    return claim
  }

  /** Ends a claim that is held. True when the path is free of it, false while pins keep it alive. */
  end(claim: Claim, how: Ended): boolean {
    claim.ended = how
    this.#forget(claim)
    return this.settle(claim, Number.NEGATIVE_INFINITY)
  }

  /** Takes the claim out unless its own right or a pin keeps it alive. True when it is out. */
  settle(claim: Claim, nowMs: number): boolean {
    if (claim.pins.size > 0 || isCurrent(claim, nowMs)) return false
    if (claim.ended === null) this.#forget(claim)
    this.#alive.delete(claim)
    this.index.remove(claim)
    if (!this.holdsAny(claim.owner)) this.#labels.delete(claim.owner)
    return true
  }

  /** Takes out every claim whose time is over; returns them. Those that are pinned stay until the unpin. */
  reap(nowMs: number): readonly Claim[] {
    const out: Claim[] = []
    for (let claim = this.#due.take(nowMs); claim !== undefined; claim = this.#due.take(nowMs)) {
      if (this.#alive.has(claim) && this.settle(claim, nowMs)) out.push(claim)
    }
    return out
  }

  #forget(claim: Claim): void {
    const held = this.#held.get(claim.owner)
    held?.delete(claim.path.key)
    if (held?.size === 0) this.#held.delete(claim.owner)
  }
}
