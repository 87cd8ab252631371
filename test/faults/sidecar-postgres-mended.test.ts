/** A PostgreSQL that cannot serve as it is: the sidecar stays up, says what to do, and leads once that is done. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { tenure } from '../support/command.ts'
import { queryUrl } from '../support/postgres.ts'
import { newElection, PostgresBench } from '../support/postgres-bench.ts'
import { type SidecarProcess, sidecar, until } from '../support/sidecar.ts'

const TTL_MS = 3_000
/** Whoever has to be mended is asked every half ttl. */
const MENDED_MOST_MS = TTL_MS + 1_000
const TEST_TIMEOUT_MS = 30_000
const TOGETHER = 3

const bench = await PostgresBench.start()

interface Fault {
  readonly url: string
  readonly kind: string
  readonly says: RegExp
  readonly mend: () => Promise<unknown>
}

async function start(t: TestContext, url: string): Promise<SidecarProcess> {
  return sidecar(t, 'patient', ['--store', url, '--ttl', `${TTL_MS}ms`, '--election', newElection()])
}

/** It runs, is not ready and says why, in its status, its readiness and, once, its log; mended, it leads. */
async function isMended(t: TestContext, { url, kind, says, mend }: Fault): Promise<void> {
  const one = await start(t, url)
  const error = await until('the fault is in the status', async () => {
    const answer = await one.leadership()
    assert.equal(answer?.leading, false)
    return says.test(answer.store.error?.message ?? '') ? answer.store.error : null
  })
  assert.equal(error.kind, kind, error.message)
  const ready = await one.ask('/readyz')
  assert.equal(ready?.status, 503)
  assert.match(JSON.parse(ready.body).checks[0].message, says)
  assert.equal((await one.ask('/livez'))?.status, 200)
  await mend()
  const led = await one.leads(MENDED_MOST_MS)
  assert.equal(led.store.error, null)
  assert.equal((await one.ask('/readyz'))?.status, 200)
  const logged = one.log.filter(({ event }) => event === 'store_error').map(({ detail }) => detail)
  assert.ok(logged.some((detail) => says.test(detail ?? '')))
  assert.ok(
    logged.every((detail, i) => detail !== logged[i - 1]),
    `one line for each change: ${logged.join('; ')}`,
  )
  assert.equal(one.stderr, '')
}

async function emptyDatabase(): Promise<{ name: string; url: string }> {
  const name = await bench.server.createDatabase()
  return { name, url: bench.server.url(name) }
}

describe('stays up, says what to do, and leads once it is done:', { concurrency: TOGETHER }, () => {
  const rule = (name: string, body: (t: TestContext) => Promise<void>) =>
    test(name, { timeout: TEST_TIMEOUT_MS }, body)

  rule('a database without the schema', async (t) => {
    const { url } = await emptyDatabase()
    const mend = async () => {
      const { code, stderr } = await tenure(['migrate', '--store', url])
      assert.equal(code, 0, stderr)
    }
    await isMended(t, { url, kind: 'schema', says: /tenure migrate/, mend })
  })

  rule('a role without rights', async (t) => {
    const role = await bench.server.createRole()
    const url = bench.server.url(bench.database, role)
    const says = new RegExp(`GRANT USAGE ON SCHEMA tenure TO ${role};`)
    // What it says is what an administrator would paste.
    const mend = async () => {
      const one = await start(t, url)
      const grants = await until('it says which GRANTs', async () => {
        const message = (await one.leadership())?.store.error?.message ?? ''
        return message.match(/GRANT [^;]*;/g)
      })
      await bench.sql(grants.join(' '))
      await one.end()
    }
    await isMended(t, { url, kind: 'denied', says, mend })
  })

  rule('a wrong password', async (t) => {
    const role = await bench.server.createRole(`PASSWORD 'right' SUPERUSER`, 'secret')
    const url = new URL(bench.server.url(bench.database, role))
    url.password = 'wrong'
    const mend = () => bench.sql(`ALTER ROLE ${role} PASSWORD 'wrong'`)
    await isMended(t, { url: url.href, kind: 'denied', says: /correct the user or its password/, mend })
  })

  rule('a database that does not exist', async (t) => {
    // A template to which nobody is connected.
    const { name, url: template } = await emptyDatabase()
    assert.equal((await tenure(['migrate', '--store', template])).code, 0)
    const url = bench.server.url(`${name}_later`)
    const mend = () => bench.server.query(`CREATE DATABASE ${name}_later TEMPLATE ${name}`)
    await isMended(t, { url, kind: 'misconfigured', says: /create the database/, mend })
  })

  rule('a role that may only read', async (t) => {
    const role = await bench.server.createRole('SUPERUSER')
    await bench.sql(`ALTER ROLE ${role} SET default_transaction_read_only = on`)
    const url = bench.server.url(bench.database, role)
    const one = await start(t, url)
    const error = await until(
      'the fault is in the status',
      async () => (await one.leadership())?.store.error ?? null,
    )
    assert.match(error.message, /read-only/)
    assert.equal((await one.ask('/readyz'))?.status, 503)
    await bench.sql(`ALTER ROLE ${role} RESET default_transaction_read_only`)
    await one.leads(MENDED_MOST_MS)
  })

  rule('a newer schema that breaks with this version', async (t) => {
    const { url } = await emptyDatabase()
    assert.equal((await tenure(['migrate', '--store', url])).code, 0)
    await queryUrl(
      url,
      `INSERT INTO tenure.migration (number, name, breaking) VALUES (9001, 'far ahead', true)`,
    )
    assert.equal((await tenure(['migrate', '--store', url])).code, 5)
    const mend = () => queryUrl(url, 'DELETE FROM tenure.migration WHERE number = 9001')
    await isMended(t, { url, kind: 'schema', says: /9001 \(far ahead\).*run a newer Tenure/, mend })
  })
})
