import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TempFolder {
  readonly path: string
  /** Removes the folder and all that is in it. */
  remove(): void
}

/** A process that is about to be ended may still write while its folder is being removed. */
const REMOVE = { recursive: true, force: true, maxRetries: 50, retryDelay: 20 } as const

/** A fresh folder that no other test run shares. */
export function tempFolder(): TempFolder {
  const path = mkdtempSync(join(tmpdir(), 'tenure-'))
  return { path, remove: () => rmSync(path, REMOVE) }
}
