/** Faults that have nothing to do with the store, and have to be named on each. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { after } from 'node:test'
import { systemClock } from '../../src/clock/system-clock.ts'
import { openStore } from '../../src/stores/open.ts'
import type { Patient, Planted } from './doctor.ts'

const TTL_MS = 600_000

export interface CommonOptions {
  /** Flags and variables of a store that is sound. */
  readonly sound: () => Patient
  readonly leastTtl: string
}

export function commonPlanted({ sound, leastTtl }: CommonOptions): readonly Planted[] {
  const patient = (more: readonly string[], environment: Patient['environment'] = {}): Patient => ({
    argv: [...sound().argv, ...more],
    environment: { ...sound().environment, ...environment },
  })
  return [
    {
      title: 'a variable that is no setting',
      plant: () => patient([], { TENURE_TLT: '10s' }),
      check: 'settings',
      status: 'fault',
      found: /TENURE_TLT/,
      code: 2,
      paste: /^unset TENURE_TLT$/,
    },
    {
      title: 'a timing that leaves no room for two attempts',
      plant: () => patient(['--ttl', '20s', '--attempt-timeout', '4s', '--backoff', '1s']),
      check: 'timing',
      status: 'fault',
      found: /flag --ttl/,
      code: 2,
      paste: /^--ttl 20s --attempt-timeout 2500ms --backoff 500ms$/,
    },
    {
      title: 'a margin that eats the ttl',
      plant: () => patient(['--margin', '15s']),
      check: 'timing',
      status: 'fault',
      found: /flag --margin/,
      code: 2,
      paste: /^--margin 3s$/,
    },
    {
      title: 'a ttl below the least of the store',
      plant: () => patient(['--ttl', '500ms']),
      check: 'timing',
      status: 'fault',
      found: /flag --ttl/,
      code: 2,
      paste: new RegExp(`^--ttl ${leastTtl}$`),
    },
    {
      title: 'a drain that outlasts the grace period',
      plant: () => patient(['--drain', '30s', '--grace-period', '30s']),
      check: 'grace period',
      status: 'fault',
      found: /30000 \+ 1500 = 31500 ms ≤ 30000 ms does not hold/,
      code: 2,
      paste: /^--drain 28500ms$/,
    },
    {
      title: 'a port of the API that is taken',
      plant: async () => patient(['--listen', `127.0.0.1:${await takenPort()}`]),
      check: 'listen',
      status: 'fault',
      found: /cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\)/,
      code: 1,
      paste: /^--listen 127\.0\.0\.1:\d+$/,
    },
    {
      title: 'a port of the probes that is taken',
      plant: async () =>
        patient([
          '--listen',
          `127.0.0.1:${await freedPort()}`,
          '--ops-listen',
          `127.0.0.1:${await takenPort()}`,
        ]),
      check: 'ops-listen',
      status: 'fault',
      found: /cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\)/,
      code: 1,
      paste: /^--ops-listen 127\.0\.0\.1:\d+$/,
    },
    {
      title: 'an address of the probes that this host does not have',
      plant: async () =>
        patient(['--listen', `127.0.0.1:${await freedPort()}`, '--ops-listen', '192.0.2.1:9090']),
      check: 'ops-listen',
      status: 'fault',
      found: /EADDRNOTAVAIL/,
      code: 1,
      paste: /^--ops-listen 0\.0\.0\.0:\d+$/,
    },
  ]
}

/** A lease that is held under a label, by a session that is not here. */
export async function held(url: string, election: string, identity: string): Promise<void> {
  const clock = systemClock()
  const store = await openStore({ url, password: null, passwordFile: null }, { clock, note: () => undefined })
  after(() => store.close())
  const attempt = { timeoutMs: 10_000, signal: AbortSignal.timeout(10_000) }
  const candidate = { identity, session: clock.uuid() }
  const result = await store.acquire(election, candidate, { ttlMs: TTL_MS, above: 0 }, attempt)
  if (result.kind !== 'granted') throw new Error(`not granted: ${JSON.stringify(result)}`)
}

async function listening(): Promise<{ server: Server; port: number }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

/** A port on which something listens that is no sidecar, for the whole file. */
async function takenPort(): Promise<number> {
  const { server, port } = await listening()
  server.on('connection', (socket) => socket.destroy())
  after(() => server.close())
  return port
}

async function freedPort(): Promise<number> {
  const { server, port } = await listening()
  server.close()
  await once(server, 'close')
  return port
}
