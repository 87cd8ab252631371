/** The claim book as slowly and plainly as it can be written: lists, and every rule spelt out. */

export interface ModelPin {
  readonly token: string
  readonly claim: ModelClaim
  readonly untilMs: number
}

export interface ModelClaim {
  readonly path: string
  readonly holder: string
  readonly sinceMs: number
  readonly expiresMs: number
  pins: number
  ended: boolean
}

export interface ModelWait {
  readonly holder: string
  readonly paths: readonly string[]
  readonly ttlMs: number
  readonly untilMs: number
  readonly mayHold: boolean
}

/** Where a path lies: `null` when the book must refuse it. */
function place(path: string): { absolute: boolean; words: string[] } | null {
  const words = path.split('/')
  if (path === '' || path.includes('\\') || words.includes('..')) return null
  return { absolute: path.startsWith('/'), words: words.filter((word) => word !== '' && word !== '.') }
}

export function isReadable(path: string): boolean {
  return place(path) !== null
}

function isWithin(path: string, above: string): boolean {
  const [low, high] = [place(path), place(above)]
  if (low === null || high === null || low.absolute !== high.absolute) return false
  return `${low.words.join('/')}/`.startsWith(high.words.length === 0 ? '' : `${high.words.join('/')}/`)
}

export function overlap(a: string, b: string): boolean {
  const [one, other] = [place(a), place(b)]
  if (one === null || other === null) return false
  return one.absolute !== other.absolute || isWithin(a, b) || isWithin(b, a)
}

function same(a: string, b: string): boolean {
  return isWithin(a, b) && isWithin(b, a)
}

export class Model {
  nowMs = 0
  claims: ModelClaim[] = []
  waits: ModelWait[] = []
  pins: ModelPin[] = []

  advance(ms: number): void {
    this.nowMs += ms
    for (const pin of this.pins.filter(({ untilMs }) => untilMs <= this.nowMs)) this.unpin(pin.token)
    this.#drop()
    this.waits = this.waits.filter(({ untilMs }) => this.nowMs < untilMs)
  }

  isCurrent = (claim: ModelClaim): boolean => !claim.ended && this.nowMs < claim.expiresMs

  /** What refuses a request: the claims, as `path heldPath holder heldFor`, and the waits, as `path holder`. */
  inTheWay(holder: string, paths: readonly string[], before: readonly ModelWait[], atOnce: boolean) {
    const readable = distinct(paths.filter(isReadable))
    const claims = readable.flatMap((path) =>
      this.claims
        .filter((claim) => claim.holder !== holder && overlap(path, claim.path))
        .map((claim) => ({ path, claim })),
    )
    const waits = readable
      .filter(
        (path) =>
          !this.claims.some((c) => atOnce && c.holder === holder && this.isCurrent(c) && same(path, c.path)),
      )
      .flatMap((path) =>
        before
          .filter((wait) => wait.holder !== holder)
          .flatMap((wait) =>
            wait.paths.filter((waited) => overlap(path, waited)).map(() => ({ path, wait })),
          ),
      )
    return { claims, waits }
  }

  grant(holder: string, paths: readonly string[], ttlMs: number): void {
    for (const path of distinct(paths)) {
      const before = this.claims.find((c) => c.holder === holder && !c.ended && same(c.path, path))
      if (before !== undefined) before.ended = true
      const sinceMs = before?.sinceMs ?? this.nowMs
      this.claims.push({ path, holder, sinceMs, expiresMs: this.nowMs + ttlMs, pins: 0, ended: false })
    }
    this.#drop()
  }

  release(holder: string, paths: readonly string[] | null): void {
    for (const claim of this.claims) {
      const named = paths === null || paths.some((path) => same(path, claim.path))
      if (claim.holder === holder && named) claim.ended = true
    }
    this.#drop()
  }

  /** The claim that a pin of this path would be on. */
  pinnable(holder: string, path: string): ModelClaim | null {
    const above = this.claims.filter((claim) => claim.holder === holder && isWithin(path, claim.path))
    const longest = Math.max(...above.map((claim) => place(claim.path)?.words.length ?? 0))
    const closest = above.filter((claim) => place(claim.path)?.words.length === longest).at(-1)
    return closest !== undefined && this.isCurrent(closest) ? closest : null
  }

  pin(claim: ModelClaim, token: string, forMs: number): void {
    claim.pins++
    this.pins.push({ token, claim, untilMs: this.nowMs + forMs })
  }

  unpin(token: string): boolean {
    const pin = this.pins.find((one) => one.token === token)
    if (pin === undefined) return false
    pin.claim.pins--
    this.pins = this.pins.filter((one) => one !== pin)
    this.#drop()
    return true
  }

  /** Null: no telling when. */
  endsInMs(claim: ModelClaim): number | null {
    const pins = this.pins.filter((pin) => pin.claim === claim).map(({ untilMs }) => untilMs)
    const endMs = Math.max(claim.ended ? 0 : claim.expiresMs, ...pins)
    return endMs === Number.POSITIVE_INFINITY ? null : endMs - this.nowMs
  }

  verdict(holder: string, path: string): 'own' | 'other' | 'free' {
    if (!isReadable(path)) return 'other'
    if (this.claims.some((claim) => claim.holder !== holder && overlap(path, claim.path))) return 'other'
    return this.claims.some((claim) => claim.holder === holder && isWithin(path, claim.path)) ? 'own' : 'free'
  }

  /** Everybody that a holder waits for, of all its waits. */
  waitsFor(holder: string): readonly string[] {
    return this.waits.filter((wait) => wait.holder === holder).flatMap((wait) => this.blockersOf(wait))
  }

  blockersOf(wait: ModelWait): readonly string[] {
    const before = this.waits.includes(wait) ? this.waits.slice(0, this.waits.indexOf(wait)) : this.waits
    const { claims, waits } = this.inTheWay(wait.holder, wait.paths, before, false)
    return [...claims.map(({ claim }) => claim.holder), ...waits.map((one) => one.wait.holder)]
  }

  /** Whether a holder that waited for these would wait for itself. */
  closesCycle(holder: string, first: readonly string[]): boolean {
    const seen = new Set<string>()
    const look = [...first, ...this.waitsFor(holder)]
    for (const at of look) {
      if (at === holder) return true
      if (!seen.has(at)) look.push(...this.waitsFor(at))
      seen.add(at)
    }
    return false
  }

  #drop(): void {
    this.claims = this.claims.filter((claim) => claim.pins > 0 || this.isCurrent(claim))
  }
}

function distinct(paths: readonly string[]): readonly string[] {
  return paths.filter((path, i) => paths.findIndex((one) => same(one, path)) === i)
}
