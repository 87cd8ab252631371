/** How the API server is reached and who we are to it, as it was last read. */
import type { Clock, Instant } from '../../clock/clock.ts'
import { longestElapsedMs } from '../../clock/clock.ts'

/** What a TLS connection is made with. PEM texts. */
export interface TlsSettings {
  readonly ca: string | null
  readonly cert: string | null
  readonly key: string | null
  readonly serverName: string | null
  readonly verify: boolean
}

/** One reading of the configuration. */
export interface Access {
  /** With a path where the API server stands behind one. */
  readonly server: URL
  readonly tls: TlsSettings
  /** What proves who we are: `Authorization`, and impersonation where it was asked for. */
  readonly headers: Readonly<Record<string, string>>
}

/** Where the configuration comes from. */
export interface AccessSource {
  /** For people: `in-cluster`, or the context of a kubeconfig. */
  readonly name: string
  readonly server: URL
  /** The namespace that the configuration names; null where it names none. */
  readonly namespace: string | null
  /**
   * Reads everything again. `renew`: the API server did not take what it was given last, so nothing cached serves.
   *
   * @throws Error whatever reading a file or running a program throws.
   */
  read(renew: boolean): Promise<Access>
}

/** Tokens and certificates that were replaced are found within this time; the kubelet does so well before an end. */
const FRESH_MS = 50_000
/** A reading that takes longer is given up, and begun again by the next request. */
const READ_MOST_MS = 10_000
/** How long a request waits for a new reading while there is an old one. */
const STALE_AFTER_MS = 100

/** The present access: read anew when it is no longer fresh, kept where that does not succeed. */
export class AccessReader {
  readonly #source: AccessSource
  readonly #clock: Clock
  #last: { readonly access: Access; readonly at: Instant } | null = null
  #reading: Promise<Access> | null = null
  #renew = false

  constructor(source: AccessSource, clock: Clock) {
    this.#source = source
    this.#clock = clock
  }

  /** The API server did not take it: the next reading is a fresh one. */
  reject(access: Access): void {
    if (this.#last?.access === access) {
      this.#last = null
      this.#renew = true
    }
  }

  /**
   * What was read last serves while it is read anew, and where that does not succeed: a program for credentials may
   * take its time, and a lease does not wait for it.
   */
  get(): Promise<Access> {
    const last = this.#last
    if (last !== null && longestElapsedMs(last.at, this.#clock.now()) < FRESH_MS)
      return Promise.resolve(last.access)
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    if (last === null) return this.#reading
    // A file is read in time; a program may not be.
    return within(this.#clock, STALE_AFTER_MS, this.#reading).catch(() => last.access)
  }

  async #read(): Promise<Access> {
    const at = this.#clock.now()
    const renew = this.#renew
    const access = await within(this.#clock, READ_MOST_MS, this.#source.read(renew))
    this.#renew = false
    this.#last = { access, at }
    return access
  }
}

function within<T>(clock: Clock, mostMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = new Error(`no credentials within ${mostMs} ms: is a program for them waiting for something?`)
    const cancel = clock.after(mostMs, () => reject(late))
    work.then(resolve, reject).finally(cancel)
  })
}
