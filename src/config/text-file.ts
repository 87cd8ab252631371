import { closeSync, openSync, readSync } from 'node:fs'

/**
 * Reads a small text file, a pipe included.
 *
 * @throws Error when it cannot be read or is longer than `mostBytes`: one short sentence, without the path.
 */
export function readTextFile(path: string, mostBytes: number): string {
  const buffer = Buffer.alloc(mostBytes + 1)
  let length = 0
  const file = openSync(path, 'r')
  try {
    for (;;) {
      const read = readSync(file, buffer, length, buffer.length - length, null)
      length += read
      if (read === 0 || length === buffer.length) break
    }
  } finally {
    closeSync(file)
  }
  if (length > mostBytes) throw new Error(`it is longer than ${mostBytes} bytes`)
  return buffer.toString('utf8', 0, length)
}

/** What an exception says, in one line. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
