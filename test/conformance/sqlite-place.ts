import { join } from 'node:path'
import type { Clock } from '../../src/clock/clock.ts'
import { openStore } from '../../src/stores/open.ts'
import type { LeaseStore } from '../../src/stores/store.ts'
import { ManualClock } from '../support/clock.ts'
import { type TempFolder, tempFolder } from '../support/temp.ts'

/** A SQLite file in a folder of its own, on a machine whose clock is moved by hand. */
export class SqlitePlace {
  readonly folder: TempFolder = tempFolder()
  readonly path = join(this.folder.path, 'tenure.db')
  readonly machine = new ManualClock()
  readonly notes: string[] = []
  readonly #stores: LeaseStore[] = []

  /** Another process on the machine, or, with a clock of its own, on another. */
  async open(clock: Clock = this.machine.sibling(), path = this.path): Promise<LeaseStore> {
    const store = await openStore(
      { url: `sqlite:${path}`, password: null, passwordFile: null },
      { clock, note: (message) => this.notes.push(message) },
    )
    this.#stores.push(store)
    return store
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()))
    this.folder.remove()
  }
}
