import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../clock/clock.ts'
import type { Cast, Fleet } from './cast.ts'
import { ClockMover } from './hand-clock.ts'
import { clockPath, createData, openData, readFleet } from './place.ts'
import { ProcessPlayer } from './player.ts'

/** Two processes, a clock, and the data, in a folder that goes with them. */
export class Stage implements Cast {
  readonly a: ProcessPlayer
  readonly b: ProcessPlayer
  readonly #folder: string
  readonly #mover: ClockMover
  readonly #data: DatabaseSync
  readonly #clearUp = () => this.#clear()

  constructor(clock: Clock) {
    this.#folder = mkdtempSync(join(tmpdir(), 'tenure-demo-'))
    this.a = new ProcessPlayer('a', clock)
    this.b = new ProcessPlayer('b', clock)
    // However this process ends, short of a SIGKILL: then they clear up.
    process.once('exit', this.#clearUp)
    this.#mover = new ClockMover(clockPath(this.#folder))
    this.#data = openData(this.#folder)
    createData(this.#data)
  }

  async open(): Promise<void> {
    await Promise.all([this.a.enter(this.#folder, [this.b.pid]), this.b.enter(this.#folder, [this.a.pid])])
  }

  advance(ms: number): void {
    this.#mover.advance(ms)
  }

  fleet(): Fleet {
    return readFleet(this.#data)
  }

  async close(): Promise<void> {
    this.a.kill()
    this.b.kill()
    await Promise.all([this.a.gone, this.b.gone])
    this.#mover.close()
    this.#data.close()
    this.#clear()
    process.off('exit', this.#clearUp)
  }

  #clear(): void {
    this.a.kill()
    this.b.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
