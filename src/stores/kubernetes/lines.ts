import type { Readable } from 'node:stream'

/** etcd takes 1.5 MB at most for an object. */
const LINE_MOST_CHARS = 2 * 1024 * 1024

/**
 * The lines of a stream, as they come.
 *
 * @throws Error where a line has no end, and whatever reading throws.
 */
export async function* linesOf(body: Readable): AsyncGenerator<string> {
  body.setEncoding('utf8')
  let rest = ''
  for await (const chunk of body as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LINE_MOST_CHARS) throw new Error(`a line is longer than ${LINE_MOST_CHARS} characters`)
    yield* lines
  }
}
