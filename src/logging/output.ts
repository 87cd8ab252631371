import { fstatSync, write } from 'node:fs'
import { Socket } from 'node:net'
import type { Clock } from '../clock/clock.ts'

/** Where lines go. */
export interface Sink {
  write(line: string): void
  /** Resolves when what was written has gone out, which may be never. */
  flush?(): Promise<void>
  /** How many lines, or runs of lines, were lost so far. */
  readonly dropped?: number
}

/** What nobody reads is kept up to this size, and then dropped: a full pipe must not cost the lease. */
const QUEUE_MOST_BYTES = 4 * 1024 * 1024
/** How long to leave a descriptor alone that would have blocked. */
const RETRY_MS = 50

/**
 * Opens a descriptor that lines are written to in the background, in order.
 *
 * `process.stdout` would not do: on a pipe it stops the whole process until the reader has taken the line, and a
 * leader that stands still does not renew. Nothing here throws: a full disk, or a reader that went away, loses
 * lines and not the lease. Nor does anything keep the process from ending.
 */
export function openOutput(descriptor: number, clock: Clock): Sink {
  const kind = fstatSync(descriptor)
  return kind.isFIFO() || kind.isSocket() ? new PipeOutput(descriptor) : new FileOutput(descriptor, clock)
}

/** A pipe or a socket. A write to a full one in a thread would hold the process up even when it exits. */
class PipeOutput implements Sink {
  readonly #socket: Socket
  #dropped = 0
  #closed = false

  constructor(descriptor: number) {
    this.#socket = new Socket({ fd: descriptor, readable: false, writable: true })
    this.#socket.on('error', () => {
      this.#dropped++
      this.#closed = true
    })
  }

  get dropped(): number {
    return this.#dropped
  }

  write(line: string): void {
    const isFull = this.#socket.writableLength + Buffer.byteLength(line) > QUEUE_MOST_BYTES
    if (this.#closed || isFull) this.#dropped++
    else this.#socket.write(line)
  }

  flush(): Promise<void> {
    if (this.#closed || this.#socket.writableLength === 0) return Promise.resolve()
    return new Promise((resolve) => this.#socket.write('', () => resolve()))
  }
}

/** A file or a terminal, written to by a thread. */
class FileOutput implements Sink {
  readonly #descriptor: number
  readonly #clock: Clock
  #queue: string[] = []
  #queuedBytes = 0
  #isWriting = false
  #dropped = 0
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
    if (this.#queuedBytes + bytes > QUEUE_MOST_BYTES) {
      this.#dropped++
      return
    }
    this.#queue.push(line)
    this.#queuedBytes += bytes
    if (!this.#isWriting) this.#next()
  }

  flush(): Promise<void> {
    if (!this.#isWriting) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    return promise
  }

  #next(): void {
    this.#isWriting = this.#queue.length > 0
    if (this.#isWriting) {
      const bytes = Buffer.from(this.#queue.join(''))
      this.#queue = []
      this.#queuedBytes = 0
      this.#put(bytes)
      return
    }
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #put(bytes: Buffer): void {
    write(this.#descriptor, bytes, (error, written) => this.#ended(bytes, error, written))
  }

  #ended(bytes: Buffer, error: NodeJS.ErrnoException | null, written: number): void {
    if (error?.code === 'EAGAIN') {
      this.#clock.after(RETRY_MS, () => this.#put(bytes))
      return
    }
    if (error !== null) this.#dropped++
    if (error === null && written < bytes.length) this.#put(bytes.subarray(written))
    else this.#next()
  }
}
