import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Hint } from '../../src/stores/store.ts'
import { findPgbouncer, startPgbouncer } from '../support/pgbouncer.ts'
import { freePort, type PostgresServer, queryUrl } from '../support/postgres.ts'
import {
  attempt,
  failsWith,
  newCandidate,
  newElection,
  PostgresBench,
  timed,
  until,
  win,
} from '../support/postgres-bench.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'

const TTL_MS = 60_000
const ATTEMPT_MS = 400
/** What a machine under load may add. */
const SLACK_MS = 600
const WAKE_MOST_MS = 200

const bench = await PostgresBench.start()
const pgbouncer = await findPgbouncer()

async function proxied(): Promise<{ proxy: TcpProxy; url: string }> {
  const proxy = await TcpProxy.start(bench.server.port)
  after(() => proxy.close())
  return { proxy, url: urlOf([proxy.port]) }
}

function urlOf(ports: readonly number[]): string {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',')
  return `postgres://postgres@${hosts}/${bench.database}?sslmode=disable`
}

describe('a connection that goes silent', () => {
  it('is noticed within the attempt, and never used again', async () => {
    const { proxy, url } = await proxied()
    const store = await bench.open({ url })
    const tenure = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
    assert.equal(proxy.connections, 1)
    proxy.mode = 'swallow'
    const { tookMs } = await timed(() =>
      failsWith(store.renew(tenure, TTL_MS, attempt(ATTEMPT_MS)), 'unavailable'),
    )
    assert.ok(tookMs < ATTEMPT_MS + SLACK_MS, `${tookMs} ms`)
    const connecting = await timed(() =>
      failsWith(store.renew(tenure, TTL_MS, attempt(ATTEMPT_MS)), 'unavailable'),
    )
    assert.ok(connecting.tookMs < ATTEMPT_MS + SLACK_MS, `${connecting.tookMs} ms`)
    proxy.mode = 'pass'
    assert.equal((await store.renew(tenure, TTL_MS, attempt())).kind, 'granted')
    assert.equal(proxy.connections, 3)
    assert.equal(proxy.open, 1)
  })

  it('costs one attempt, also where other idle connections met the same fate', async () => {
    const { proxy, url } = await proxied()
    const store = await bench.open({ url })
    const tenures = await Promise.all(
      [1, 2, 3].map(() => win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })),
    )
    assert.equal(proxy.open, 3)
    proxy.forgetOpen()
    const [tenure] = tenures
    assert.ok(tenure !== undefined)
    await failsWith(store.renew(tenure, TTL_MS, attempt(ATTEMPT_MS)), 'unavailable')
    assert.equal((await store.renew(tenure, TTL_MS, attempt(ATTEMPT_MS + SLACK_MS))).kind, 'granted')
  })

  it('ends by itself a little after its attempt, should nobody give it up', async () => {
    const { proxy, url } = await proxied()
    const store = await bench.open({ url })
    proxy.mode = 'swallow'
    const forgotten = { timeoutMs: ATTEMPT_MS, signal: new AbortController().signal }
    const { tookMs } = await timed(() => failsWith(store.current(newElection(), forgotten), 'unavailable'))
    assert.ok(tookMs >= ATTEMPT_MS && tookMs < ATTEMPT_MS + SLACK_MS, `${tookMs} ms`)
  })

  it('does not keep a store from closing', async () => {
    const { proxy, url } = await proxied()
    const store = await bench.open({ url })
    proxy.mode = 'swallow'
    const request = failsWith(store.current(newElection(), attempt()), 'unavailable')
    await until('it connects', () => proxy.connections === 1)
    const { tookMs } = await timed(() => Promise.all([store.close(), request]))
    assert.ok(tookMs < SLACK_MS, `${tookMs} ms`)
    await failsWith(store.current(newElection(), attempt()), 'unavailable')
  })
})

it('a grant whose reply was lost is found by the next acquire, which begins a tenure above it', async () => {
  const { proxy, url } = await proxied()
  const store = await bench.open({ url })
  const election = newElection()
  const who = newCandidate()
  await store.current(election, attempt())
  proxy.mode = 'drop-replies'
  // The election is seeded beforehand, so that one statement is all.
  await bench.sql('INSERT INTO tenure.lease (election) VALUES ($1)', [election])
  await failsWith(
    store.acquire(election, who, { ttlMs: TTL_MS, above: 0 }, attempt(ATTEMPT_MS)),
    'unavailable',
  )
  proxy.mode = 'pass'
  const found = await store.acquire(election, who, { ttlMs: TTL_MS, above: 0 }, attempt())
  assert.ok(found.kind === 'refused' && found.session === who.session && found.generation === 1)
  assert.equal(found.remainingMs, 0)
  assert.equal((await win(store, election, who, { above: 1 })).generation, 2)
})

describe('a server that is away', () => {
  it('killed and started again: requests fail meanwhile, and the tenure goes on after', async () => {
    const store = await bench.open()
    const tenure = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
    await bench.server.kill()
    const { tookMs } = await timed(() => failsWith(store.renew(tenure, TTL_MS, attempt()), 'unavailable'))
    assert.ok(tookMs < SLACK_MS, `a refused connection is known at once: ${tookMs} ms`)
    await bench.server.start()
    assert.equal((await store.renew(tenure, TTL_MS, attempt())).kind, 'granted')
    assert.equal((await store.current(tenure.election, attempt()))?.generation, tenure.generation)
  })

  it('frozen: a request ends with its attempt, and what it did late harms nobody', async () => {
    const store = await bench.open()
    const tenure = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
    await bench.server.pause()
    const { tookMs } = await timed(() =>
      failsWith(store.renew(tenure, TTL_MS, attempt(ATTEMPT_MS)), 'unavailable'),
    )
    await bench.server.resume()
    assert.ok(tookMs < ATTEMPT_MS + SLACK_MS, `${tookMs} ms`)
    assert.equal((await store.renew(tenure, TTL_MS, attempt())).kind, 'granted')
  })

  it('from the start: a store opens all the same, and serves when the server is there', async () => {
    const port = await freePort()
    const store = await bench.open({ url: urlOf([port]) })
    const message = await failsWith(store.current(newElection(), attempt()), 'unavailable')
    assert.match(message, new RegExp(`127.0.0.1:${port}.*ECONNREFUSED`))
  })
})

describe('several hosts', () => {
  it('one that hangs leaves time for the next, which is asked first from then on', async () => {
    const { proxy } = await proxied()
    proxy.mode = 'swallow'
    const store = await bench.open({ url: urlOf([proxy.port, bench.server.port]) })
    const election = newElection()
    assert.equal(await store.current(election, attempt(1_000)), null)
    assert.equal(proxy.connections, 1)
    await Promise.all([1, 2, 3].map(() => store.current(election, attempt(1_000))))
    assert.equal(proxy.connections, 1)
  })

  describe('with a standby', () => {
    let standby: PostgresServer | undefined
    after(() => standby?.dispose())

    it('the one that can be written is used, and a standby alone is told to be one', async () => {
      standby = await bench.server.startStandby()
      const store = await bench.open({ url: urlOf([standby.port, bench.server.port]) })
      await win(store, newElection(), newCandidate())
      const alone = await bench.open({ url: urlOf([standby.port]) })
      assert.match(await failsWith(alone.current(newElection(), attempt()), 'unavailable'), /is a standby/)
    })
  })

  it('an error names each of them', async () => {
    const ports = [await freePort(), await freePort()]
    const store = await bench.open({ url: urlOf(ports) })
    const message = await failsWith(store.current(newElection(), attempt()), 'unavailable')
    for (const port of ports) assert.match(message, new RegExp(`127.0.0.1:${port}: `))
  })

  it('what waiting will not mend on one of them tells more than another that is down', async () => {
    const down = await freePort()
    const url = urlOf([bench.server.port, down]).replace(bench.database, 'nowhere')
    const store = await bench.open({ url })
    await failsWith(store.current(newElection(), attempt()), 'misconfigured')
  })
})

it('a server that turns read-only under a connection is left, and found again', async () => {
  const store = await bench.open()
  const tenure = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
  await bench.sql('ALTER SYSTEM SET default_transaction_read_only = on')
  await bench.sql('SELECT pg_reload_conf()')
  const readOnly = async (value: string) => {
    const [row] = await bench.sql<{ setting: string }>(
      `SELECT current_setting('default_transaction_read_only') AS setting`,
    )
    return row?.setting === value
  }
  await until('it is read-only', () => readOnly('on'))
  await until('a renewal meets it', async () => {
    const outcome = await store.renew(tenure, TTL_MS, attempt()).catch((error: Error) => error)
    return outcome instanceof Error
  })
  await bench.sql('ALTER SYSTEM RESET default_transaction_read_only')
  await bench.sql('SELECT pg_reload_conf()')
  await until('it is writable', () => readOnly('off'))
  assert.equal((await store.renew(tenure, TTL_MS, attempt())).kind, 'granted')
})

describe('wake-ups', () => {
  /** Waits until somebody listens through this many connections. */
  const listening = (count: number) =>
    until('it listens', async () => {
      const rows = await bench.sql(`SELECT 1 FROM pg_stat_activity WHERE query = 'LISTEN tenure'`)
      return rows.length === count
    })

  it('a release wakes the watchers of that election, however long its name, and no others', async () => {
    const holder = await bench.open()
    const watcher = await bench.open()
    for (const election of [newElection(), `${newElection()}${'é'.repeat(150)}`]) {
      const hints: Hint[] = []
      const others: Hint[] = []
      const watch = watcher.watch?.(election, (hint) => hints.push(hint))
      const other = watcher.watch?.(`${election} `, (hint) => others.push(hint))
      await listening(1)
      const tookMs: number[] = []
      let above = 0
      for (let i = 0; i < 10; i++) {
        const tenure = await win(holder, election, newCandidate(), { ttlMs: TTL_MS, above })
        above = tenure.generation
        const count = hints.length
        const round = await timed(async () => {
          await holder.release(tenure, attempt())
          await until('the watcher is woken', () => hints.length > count)
        })
        tookMs.push(round.tookMs)
      }
      assert.equal(hints.length, 10)
      assert.deepEqual(others, [])
      tookMs.sort((a, b) => a - b)
      assert.ok((tookMs[5] ?? Infinity) < WAKE_MOST_MS, `${tookMs}`)
      watch?.close()
      other?.close()
    }
  })

  it('a connection for them that was cut comes back, and wakes everybody, for something may have been missed', async () => {
    const { proxy, url } = await proxied()
    const watcher = await bench.open({ url })
    const hints: Hint[] = []
    const election = newElection()
    watcher.watch?.(election, (hint) => hints.push(hint))
    await listening(1)
    assert.deepEqual(hints, [])
    proxy.cut()
    await until('it is woken', () => hints.length === 1)
    const holder = await bench.open()
    await holder.release(await win(holder, election, newCandidate()), attempt())
    await until('it hears again', () => hints.length === 2)
  })

  const skip = pgbouncer === null && process.env.CI !== 'true' ? 'PGBOUNCER IS NOT INSTALLED' : false
  it('through a pooler there are none, which is noted once, and settings do not leak', { skip }, async () => {
    assert.ok(pgbouncer !== null, 'pgbouncer is missing: run `node scripts/prepare-tests.ts`')
    const bouncer = await startPgbouncer(pgbouncer, bench.server)
    after(() => bouncer.stop())
    const url = bouncer.url(bench.database)
    const store = await bench.open({ url })
    const count = bench.notes.length
    const watches = [1, 2].map(() => store.watch?.(newElection(), () => assert.fail('nobody can wake us')))
    await until('it is noted', () => bench.notes.length > count)
    assert.match(bench.notes.at(-1) ?? '', /pooler.*polling/)
    const tenure = await win(store, newElection(), newCandidate())
    await store.renew(tenure, TTL_MS, attempt())
    const [row] = await queryUrl<{ lock_timeout: string }>(url, 'SHOW lock_timeout')
    assert.equal(row?.lock_timeout, '0')
    for (const watch of watches) watch?.close()
    assert.equal(bench.notes.length, count + 1)
    await store.close()
  })
})
