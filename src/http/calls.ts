/** The two calls that change something. */
import type { ServerResponse } from 'node:http'
import { parseDuration } from '../config/duration.ts'
import type { ElectionHandle } from './elections.ts'
import { Problem } from './problem.ts'
import { sendJson } from './reply.ts'
import { DrainedRequest, ResignRequest, readBody } from './schemas.ts'

export function resign(election: ElectionHandle, body: unknown, response: ServerResponse): void {
  const { holdOff } = readBody(ResignRequest, body)
  const resigned = election.resign(readHoldOffMs(holdOff))
  if (!resigned.accepted) throw new Problem(409, 'not_resigned', resigned.message)
  sendJson(response, 200, { election: election.name, generation: resigned.generation })
}

function readHoldOffMs(text: string | undefined): number | null {
  if (text === undefined) return null
  const parsed = parseDuration(text)
  if (parsed.ok) return parsed.value
  throw new Problem(400, 'bad_duration', `holdOff ${JSON.stringify(text)}: ${parsed.rule}; ${parsed.remedy}`)
}

export function drained(election: ElectionHandle, body: unknown, response: ServerResponse): void {
  const { generation } = readBody(DrainedRequest, body)
  const answer = election.drained(generation)
  if (!answer.accepted) throw stale(generation, answer.current)
  sendJson(response, 200, { election: election.name, generation: answer.generation })
}

function stale(generation: number, current: number | null): Problem {
  const stands =
    current === null ? 'this instance holds no tenure' : `this instance holds generation ${current}`
  return new Problem(
    409,
    'stale_generation',
    `generation ${generation} is not held here (${stands}): nothing was changed; send the generation that the work ran under`,
    { extra: { current } },
  )
}
