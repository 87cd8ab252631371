/** A sidecar with a claim book, behind real sockets. */
import assert from 'node:assert/strict'
import type { Standing } from '../../src/claims/desk.ts'
import type { Route } from '../../src/http/route.ts'
import { ROUTES } from '../../src/http/routes.ts'
import { SCHEMAS } from '../../src/http/schemas.ts'
import { until } from '../support/sidecar.ts'
import { type Reply, type Rig, startRig } from './http-fixtures.ts'

export const MEANT = { 'Tenure-Request': '1', 'Content-Type': 'application/json' }
export const STANDS: Standing = { valid: true, tenure: 'one' }
export const UUID = '00000000-0000-4000-8000-000000000000'

export interface ClaimRig extends Rig {
  /** What the book stands on. */
  stand: { now: Standing }
  call(path: string, body: unknown, headers?: Record<string, string>): Promise<Reply>
  acquire(holder: string, paths: string[], more?: object): Promise<Reply>
  covering(path: string, more?: string): Promise<string>
  waits(count: number): Promise<void>
}

export async function startClaimRig(t: Parameters<typeof startRig>[0]): Promise<ClaimRig> {
  const stand = { now: STANDS }
  const rig = await startRig(t, { claims: () => stand.now })
  const call = async (
    path: string,
    body: unknown,
    headers: Record<string, string> = MEANT,
  ): Promise<Reply> => {
    const reply = await rig.ask(path, { method: 'POST', headers, body: JSON.stringify(body) })
    fits(path, reply)
    return reply
  }
  const status = async () => (await rig.ask('/v1/claims')).json
  return {
    ...rig,
    stand,
    call,
    acquire: (holder, paths, more = {}) => call('/v1/claims/acquire', { holder, paths, ...more }),
    covering: async (path, more = '') => {
      const reply = await rig.ask(`/v1/claims/covering?path=${encodeURIComponent(path)}${more}`)
      fits('/v1/claims/covering', reply)
      return reply.json.verdict
    },
    waits: async (count) => {
      await until(`${count} waits`, async () => ((await status()).waits.length === count ? true : null))
    },
  }
}

/** Every answer fits the schema that the document gives for it. */
export function fits(path: string, { status, json }: Reply): void {
  const { answers }: Route = ROUTES[path as keyof typeof ROUTES]
  const name = answers[status]?.schema
  assert.ok(
    name !== undefined && name in SCHEMAS,
    `${path} ${status} is in the document: ${JSON.stringify(json)}`,
  )
  SCHEMAS[name as keyof typeof SCHEMAS].parse(json)
}
