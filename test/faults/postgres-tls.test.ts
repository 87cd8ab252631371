import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { unprivileged } from '../support/postgres.ts'
import { attempt, failsWith, newElection, PostgresBench } from '../support/postgres-bench.ts'
import { tempFolder } from '../support/temp.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
if (!hasOpenssl && process.env.CI === 'true')
  throw new Error('openssl is missing: install the package openssl')
const skip = hasOpenssl ? false : 'OPENSSL IS NOT INSTALLED: nobody makes certificates'

const folder = tempFolder()
after(() => folder.remove())

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', [...args], { cwd: folder.path, stdio: 'ignore' })
}

/** A certificate authority `name`, and a key with a certificate of it for `localhost` alone. */
function makeCertificates(name: string): void {
  const subject = (common: string) => ['-subj', `/CN=${common}`, '-nodes', '-newkey', 'rsa:2048']
  openssl(
    'req',
    '-x509',
    ...subject(name),
    '-keyout',
    `${name}-ca.key`,
    '-out',
    `${name}-ca.crt`,
    '-days',
    '2',
  )
  openssl('req', ...subject('localhost'), '-keyout', `${name}.key`, '-out', `${name}.csr`)
  writeFileSync(join(folder.path, `${name}.ext`), 'subjectAltName=DNS:localhost\n')
  const by = [
    '-CA',
    `${name}-ca.crt`,
    '-CAkey',
    `${name}-ca.key`,
    '-CAcreateserial',
    '-extfile',
    `${name}.ext`,
  ]
  openssl('x509', '-req', '-in', `${name}.csr`, ...by, '-out', `${name}.crt`, '-days', '2')
}

async function tlsServer(): Promise<PostgresBench> {
  makeCertificates('ours')
  makeCertificates('other')
  const bench = await PostgresBench.start()
  const user = await unprivileged()
  for (const kind of ['crt', 'key']) {
    const path = join(bench.server.home, `server.${kind}`)
    copyFileSync(join(folder.path, `ours.${kind}`), path)
    chmodSync(path, 0o600)
    if (user !== null) chownSync(path, user.uid, user.gid)
  }
  await bench.sql(`ALTER SYSTEM SET ssl_cert_file = '${join(bench.server.home, 'server.crt')}'`)
  await bench.sql(`ALTER SYSTEM SET ssl_key_file = '${join(bench.server.home, 'server.key')}'`)
  await bench.sql('ALTER SYSTEM SET ssl = on')
  await bench.server.stop()
  await bench.server.start()
  return bench
}

describe('TLS', { skip }, async () => {
  if (skip !== false) return
  const plain = await PostgresBench.start()
  const bench = await tlsServer()
  const ca = (name: string) => encodeURIComponent(join(folder.path, `${name}-ca.crt`))

  const urlOf = (to: PostgresBench, query: string, host = 'localhost') =>
    `postgres://postgres@${host}:${to.server.port}/${to.database}?${query}`

  /** Whether a store with this URL gets through, and whether with TLS. */
  async function usesTls(to: PostgresBench, query: string, host?: string): Promise<boolean> {
    const store = await to.open({ url: urlOf(to, query, host) })
    assert.equal(await store.current(newElection(), attempt()), null)
    const rows = await to.sql<{ ssl: boolean }>(
      `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'tenure'`,
    )
    await store.close()
    assert.equal(rows.length, 1)
    return rows[0]?.ssl === true
  }

  async function refusal(to: PostgresBench, query: string, host?: string): Promise<string> {
    const store = await to.open({ url: urlOf(to, query, host) })
    return failsWith(store.current(newElection(), attempt()), 'misconfigured')
  }

  it('is used where the server has it and the mode does not forbid it', async () => {
    assert.equal(await usesTls(bench, 'sslmode=disable'), false)
    assert.equal(await usesTls(bench, 'sslmode=allow'), false)
    assert.equal(await usesTls(bench, 'sslmode=prefer'), true)
    assert.equal(await usesTls(bench, 'application_name=tenure'), true)
    assert.equal(await usesTls(bench, 'sslmode=require'), true)
  })

  it('is done without where the server has none, unless the mode asks for it', async () => {
    assert.equal(await usesTls(plain, 'sslmode=prefer'), false)
    assert.match(await refusal(plain, 'sslmode=require'), /does not support SSL.*sslmode/)
  })

  it('verify-ca checks who signed, verify-full also the name', async () => {
    assert.equal(await usesTls(bench, `sslmode=verify-ca&sslrootcert=${ca('ours')}`), true)
    assert.equal(await usesTls(bench, `sslmode=verify-ca&sslrootcert=${ca('ours')}`, '127.0.0.1'), true)
    assert.equal(await usesTls(bench, `sslmode=verify-full&sslrootcert=${ca('ours')}`), true)
    assert.match(
      await refusal(bench, `sslmode=verify-ca&sslrootcert=${ca('other')}`),
      /certificate.*sslrootcert/,
    )
    assert.match(
      await refusal(bench, `sslmode=require&sslrootcert=${ca('other')}`),
      /certificate.*sslrootcert/,
    )
    assert.match(
      await refusal(bench, `sslmode=verify-full&sslrootcert=${ca('ours')}`, '127.0.0.1'),
      /certificate/,
    )
    assert.match(await refusal(bench, 'sslmode=verify-full&sslrootcert=system'), /certificate/)
  })

  it('that cannot be checked for want of a file says which', async () => {
    assert.match(await refusal(bench, 'sslmode=verify-full'), /set sslrootcert/)
    assert.match(
      await refusal(bench, 'sslmode=verify-full&sslrootcert=/nowhere.crt'),
      /sslrootcert: \/nowhere.crt cannot be read/,
    )
    assert.match(await refusal(bench, 'sslmode=require&sslcert=/nowhere.crt'), /sslcert: \/nowhere.crt/)
  })

  it('binds the login to the channel where that is asked for, and is refused where it cannot', async () => {
    const name = await bench.server.createRole(`PASSWORD 'right'`, 'secret')
    const url = (to: PostgresBench, user: string, more: string) =>
      urlOf(to, `channel_binding=require&${more}`).replace('postgres@', `${user}@`)
    const bound = await bench.open({ url: url(bench, `${name}:right`, 'sslmode=require') })
    // The login succeeds; what is missing then are rights.
    assert.match(await failsWith(bound.current(newElection(), attempt()), 'denied'), /GRANT/)
    const plainly = await bench.open({ url: url(bench, `${name}:right`, 'sslmode=disable') })
    assert.match(await failsWith(plainly.current(newElection(), attempt()), 'denied'), /channel binding/)
    const trusted = await bench.open({ url: url(bench, 'postgres', 'sslmode=require') })
    assert.match(await failsWith(trusted.current(newElection(), attempt()), 'denied'), /channel binding/)
  })

  it('is not needed on a Unix socket', async () => {
    const store = await bench.open({
      url: `postgres://postgres@${encodeURIComponent(bench.server.home)}:${bench.server.port}/${bench.database}?sslmode=require`,
    })
    assert.equal(await store.current(newElection(), attempt()), null)
  })
})
