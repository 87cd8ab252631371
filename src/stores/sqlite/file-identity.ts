import { statSync } from 'node:fs'

/**
 * Tells the file at a path from any other that was or will be there; null while there is none.
 *
 * Only `stat` is used: opening and closing the file beside SQLite would drop the locks that SQLite holds in this
 * process. A file that is kept open keeps its inode number from being given to another.
 */
export function fileIdentity(path: string): string | null {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? null : `${stat.dev}:${stat.ino}`
}
