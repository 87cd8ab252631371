import { prettyFactory } from 'pino-pretty'
import type { Sink } from './output.ts'

/** A sink that turns lines of JSON into short lines for people. */
export function prettySink(sink: Sink, colorize: boolean): Sink {
  const render = prettyFactory({
    colorize,
    translateTime: 'SYS:HH:MM:ss.l',
    include: 'time,level,err',
    messageFormat: (line, key) => {
      const { election } = line
      return `${typeof election === 'string' ? `[${election}] ` : ''}${line[key]}`
    },
  })
  return { write: (line: string) => sink.write(render(line)) }
}
