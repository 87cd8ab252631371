import { write, writeSync } from 'node:fs'
import type { Clock } from '../clock/clock.ts'

/** Where lines go. */
export interface Sink {
  write(line: string): void
  /** Resolves when what was written has gone out. */
  flush?(): Promise<void>
  /** How many lines, or runs of lines, were lost so far. */
  readonly dropped?: number
}

/** What nobody reads is kept up to this size, and then dropped: a full pipe must not cost the lease. */
const QUEUE_MOST_BYTES = 4 * 1024 * 1024
/** How long to leave a descriptor alone that would have blocked. */
const RETRY_MS = 50

/**
 * A file descriptor that lines are written to in the background, in order.
 *
 * `process.stdout` would not do: on a pipe it stops the whole process until the reader has taken the line, and a
 * leader that stands still does not renew. Nothing here throws: a full disk, or a reader that went away, loses
 * lines and not the lease.
 */
export class Output implements Sink {
  readonly #descriptor: number
  readonly #clock: Clock
  #queue: string[] = []
  #queuedBytes = 0
  /** What is being written; null when nothing is. */
  #writing: Buffer | null = null
  #dropped = 0
  #closed = false
  #waiting: (() => void)[] = []

  constructor(descriptor: number, clock: Clock) {
    this.#descriptor = descriptor
    this.#clock = clock
  }

  get dropped(): number {
    return this.#dropped
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line)
    if (this.#closed || this.#queuedBytes + bytes > QUEUE_MOST_BYTES) {
      this.#dropped++
      return
    }
    this.#queue.push(line)
    this.#queuedBytes += bytes
    if (this.#writing === null) this.#next()
  }

  flush(): Promise<void> {
    if (this.#writing === null) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    return promise
  }

  /** Writes what is queued at once: for the exit of the process, when no later turn comes. */
  flushNow(): void {
    const rest = this.#takeQueue()
    try {
      for (let at = 0; at < rest.length; ) at += writeSync(this.#descriptor, rest, at)
    } catch {
      this.#dropped++ // the process is ending: there is nobody left to tell
    }
  }

  #takeQueue(): Buffer {
    const taken = Buffer.from(this.#queue.join(''))
    this.#queue = []
    this.#queuedBytes = 0
    return taken
  }

  #next(): void {
    if (this.#queue.length === 0) {
      this.#writing = null
      for (const resolve of this.#waiting.splice(0)) resolve()
      return
    }
    this.#put(this.#takeQueue())
  }

  #put(bytes: Buffer): void {
    this.#writing = bytes
    write(this.#descriptor, bytes, (error, written) => this.#ended(bytes, error, written))
  }

  #ended(bytes: Buffer, error: NodeJS.ErrnoException | null, written: number): void {
    if (error?.code === 'EAGAIN') {
      this.#clock.after(RETRY_MS, () => this.#put(bytes))
      return
    }
    if (error !== null) {
      this.#dropped++
      this.#closed = error.code === 'EPIPE'
      this.#next()
      return
    }
    if (written < bytes.length) this.#put(bytes.subarray(written))
    else this.#next()
  }
}
