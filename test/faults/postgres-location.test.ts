import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { describeLocation, type Environment, parseLocation } from '../../src/stores/postgres/location.ts'
import { findPassword, passwordSource } from '../../src/stores/postgres/password.ts'
import { encryptions } from '../../src/stores/postgres/tls.ts'
import { StoreError, type StoreSettings } from '../../src/stores/store.ts'
import { tempFolder } from '../support/temp.ts'

const folder = tempFolder()
after(() => folder.remove())

function refuses(url: string, message: RegExp, env: Environment = {}): void {
  assert.throws(
    () => parseLocation(url, env),
    (error) => error instanceof StoreError && error.kind === 'misconfigured' && message.test(error.message),
    url,
  )
}

describe('a store URL', () => {
  it('names user, password, host, port and database, each percent-encoded where needed', () => {
    const location = parseLocation(
      'postgresql://us%40er:p%3A%2Fw@db.example:6543/na%2Fme?application_name=x',
      {},
    )
    assert.deepEqual(location.hosts, [{ host: 'db.example', port: 6543 }])
    assert.equal(location.user, 'us@er')
    assert.equal(location.password, 'p:/w')
    assert.equal(location.database, 'na/me')
    assert.equal(location.applicationName, 'x')
  })

  it('is described without its password', () => {
    const location = parseLocation('postgres://me:hush@a,b:2/db', {})
    assert.equal(describeLocation(location), 'postgres://me@a:5432,b:2/db')
  })

  it('may name several hosts, IPv6 addresses and Unix sockets', () => {
    const hosts = (url: string, env: Environment = {}) =>
      parseLocation(url, env).hosts.map(({ host, port }) => [host, port])
    assert.deepEqual(hosts('postgres://u@a:1,[::1]:2,c/db'), [
      ['a', 1],
      ['::1', 2],
      ['c', 5432],
    ])
    assert.deepEqual(hosts('postgres://u@a,b/db?port=7'), [
      ['a', 7],
      ['b', 7],
    ])
    assert.deepEqual(hosts('postgres:///db?host=a,b&port=1,2'), [
      ['a', 1],
      ['b', 2],
    ])
    assert.deepEqual(hosts('postgres:///db?host=/run/postgresql'), [['/run/postgresql', 5432]])
    assert.deepEqual(hosts('postgres://%2Frun%2Fpostgresql/db'), [['/run/postgresql', 5432]])
    assert.deepEqual(hosts('postgres:', { PGHOST: 'h1,h2', PGPORT: '1,2' }), [
      ['h1', 1],
      ['h2', 2],
    ])
    assert.deepEqual(hosts('postgres:', {}), [['localhost', 5432]])
  })

  it('falls back to the PG* variables, and wins over them', () => {
    const env = {
      PGHOST: 'h',
      PGPORT: '7',
      PGUSER: 'u',
      PGDATABASE: 'd',
      PGSSLMODE: 'require',
      PGAPPNAME: 'app',
    }
    const fallen = parseLocation('postgres:', env)
    assert.equal(describeLocation(fallen), 'postgres://u@h:7/d')
    assert.equal(fallen.tls.mode, 'require')
    assert.equal(fallen.applicationName, 'app')
    assert.equal(describeLocation(parseLocation('postgres://x@y:1/z', env)), 'postgres://x@y:1/z')
    assert.equal(parseLocation('postgres://x@y/z?sslmode=disable', env).tls.mode, 'disable')
  })

  it('without a database uses the one named like the user', () => {
    assert.equal(parseLocation('postgres://me@h', {}).database, 'me')
  })

  it('ignores what changes nothing here, and understands a wish for the writable host', () => {
    parseLocation('postgres://h/d?gssencmode=disable&keepalives=1&target_session_attrs=read-write', {})
    assert.equal(parseLocation('postgres://h/d?connect_timeout=3', {}).connectTimeoutMs, 3_000)
  })

  it('with a fault in it is refused, and the message names the fault and the remedy', () => {
    refuses('postgres://h/d?ssl_mode=require', /unknown parameter "ssl_mode": did you mean sslmode\?/)
    refuses('postgres://h/d?foo=1', /unknown parameter "foo": known are .*sslmode/)
    refuses('postgres://h/d?sslmode=on', /sslmode=on is not known: use one of disable, /)
    refuses('postgres://h/d?target_session_attrs=standby', /has to be written/)
    refuses('postgres://h:99999/d', /port "99999" is not a number from 1 to 65535/)
    refuses('postgres://h:x/d', /port "x"/)
    refuses('postgres://::1/d', /IPv6 address in brackets/)
    refuses('postgres:///d?host=a,b,c&port=1,2', /2 ports for 3 hosts/)
    refuses('postgres://u:a%zz@h/d', /"%"/)
    refuses('postgres://h/d?connect_timeout=soon', /connect_timeout=soon/)
    refuses('postgres://h/d?sslrootcert=system&sslmode=require', /use sslmode=verify-full/)
    refuses('postgres://h/d?channel_binding=maybe', /channel_binding=maybe/)
    refuses('mysql://h/d', /not of the form/)
    refuses('postgres:', /sslmode=maybe/, { PGSSLMODE: 'maybe' })
  })
})

describe('sslmode', () => {
  it('says in which order TLS and plain are tried; a Unix socket needs none', () => {
    const ways = (mode: string, unix = false) =>
      encryptions(parseLocation(`postgres://h/d?sslmode=${mode}`, {}).tls, unix)
    assert.deepEqual(ways('disable'), ['plain'])
    assert.deepEqual(ways('allow'), ['plain', 'tls'])
    assert.deepEqual(ways('prefer'), ['tls', 'plain'])
    for (const mode of ['require', 'verify-ca', 'verify-full']) assert.deepEqual(ways(mode), ['tls'])
    assert.deepEqual(ways('verify-full', true), ['plain'])
    assert.equal(parseLocation('postgres://h/d', {}).tls.mode, 'prefer')
    assert.equal(parseLocation('postgres://h/d?sslrootcert=system', {}).tls.mode, 'verify-full')
  })
})

describe('the password', () => {
  const none: StoreSettings = { url: '', password: null, passwordFile: null }
  const ask = (url: string, env: Environment, settings: Partial<StoreSettings> = {}) => {
    const location = parseLocation(url, env)
    const [host] = location.hosts
    assert.ok(host !== undefined)
    return passwordSource(location, { ...none, ...settings }, env)(host)
  }

  it('comes from the URL, a setting, a file, PGPASSWORD or ~/.pgpass, in this order', async () => {
    const file = join(folder.path, 'password')
    writeFileSync(file, 'from file\n')
    writeFileSync(join(folder.path, '.pgpass'), 'h:5432:d:u:from pgpass\n', { mode: 0o600 })
    const env = { HOME: folder.path, PGPASSWORD: 'from env' }
    assert.equal(await ask('postgres://u:from%20url@h/d', env), 'from url')
    assert.equal(await ask('postgres://u@h/d', env, { password: 'from setting' }), 'from setting')
    assert.equal(await ask('postgres://u@h/d', env, { passwordFile: file }), 'from file')
    assert.equal(await ask('postgres://u@h/d', env), 'from env')
    assert.equal(await ask('postgres://u@h/d', { HOME: folder.path }), 'from pgpass')
  })

  it('given twice is refused', () => {
    const location = parseLocation('postgres://u:a@h/d', {})
    assert.throws(
      () => passwordSource(location, { ...none, password: 'b' }, {}),
      /given twice: by the store URL and by the password setting/,
    )
  })

  it('is not taken from a ~/.pgpass that others may read', async () => {
    chmodSync(join(folder.path, '.pgpass'), 0o644)
    await assert.rejects(ask('postgres://u@h/d', { HOME: folder.path }), /nobody else may read/)
  })

  it('is found in a file of the form of ~/.pgpass by its first line that matches', () => {
    const text = ['# h:1:d:u:comment', 'h:1:other:u:no', 'h:*:d:u:a\\:b\\\\c', '*:*:*:*:any', ''].join('\n')
    assert.equal(findPassword(text, ['h', '1', 'd', 'u']), 'a:b\\c')
    assert.equal(findPassword(text, ['x', '1', 'd', 'u']), 'any')
    assert.equal(findPassword('\\:\\:1:5:d:u:p', ['::1', '5', 'd', 'u']), 'p')
    assert.equal(findPassword('h:1:d:u:p', ['h', '2', 'd', 'u']), null)
    assert.equal(findPassword('h:1:d:u', ['h', '1', 'd', 'u']), null)
  })
})
