import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TempFolder {
  readonly path: string
  /** Removes the folder and all that is in it. */
  remove(): void
}

/** A fresh folder that no other test run shares. */
export function tempFolder(): TempFolder {
  const path = mkdtempSync(join(tmpdir(), 'tenure-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
