import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Access, AccessReader } from '../../src/stores/kubernetes/access.ts'
import { identify } from '../../src/stores/kubernetes/user.ts'
import { ManualClock } from '../support/clock.ts'
import { settled } from '../support/scripted-store.ts'
import { tempFolder } from '../support/temp.ts'

const accessWith = (token: string): Access => ({
  server: new URL('https://127.0.0.1:1'),
  tls: { ca: null, cert: null, key: null, serverName: null, verify: true },
  headers: { authorization: token },
})

test('a program that takes its time holds no request up while there is an old credential', async () => {
  const clock = new ManualClock()
  let reading = Promise.withResolvers<Access>()
  const source = {
    name: 'test',
    server: new URL('https://127.0.0.1:1'),
    namespace: null,
    read: () => reading.promise,
  }
  const reader = new AccessReader(source, clock)
  const first = reader.get()
  reading.resolve(accessWith('one'))
  assert.equal((await first).headers.authorization, 'one')
  reading = Promise.withResolvers()
  clock.advance(60_000)
  const second = reader.get()
  clock.advance(100)
  assert.equal((await second).headers.authorization, 'one')
  reading.resolve(accessWith('two'))
  await settled()
  assert.equal((await reader.get()).headers.authorization, 'two')
})

test('a program that never answers is given up, and the next request begins again', async () => {
  const clock = new ManualClock()
  const asked: unknown[] = []
  const read = (): Promise<Access> => {
    asked.push(null)
    return asked.length === 1 ? new Promise(() => undefined) : Promise.resolve(accessWith('late'))
  }
  const source = { name: 'test', server: new URL('https://127.0.0.1:1'), namespace: null, read }
  const reader = new AccessReader(source, clock)
  const stuck = reader.get()
  clock.advance(10_000)
  await assert.rejects(stuck, /no credentials within 10000 ms/)
  assert.equal((await reader.get()).headers.authorization, 'late')
})

test('a token file that is empty is an error, and never a request without a token', async (t) => {
  const folder = tempFolder()
  t.after(() => folder.remove())
  const file = join(folder.path, 'token')
  writeFileSync(file, '\n')
  const user = { name: 'someone' }
  await assert.rejects(identify(user)(user, file), /token file .* is empty/)
})

test('a program that gives nothing is named, and asked again', async (t) => {
  const folder = tempFolder()
  t.after(() => folder.remove())
  const program = join(folder.path, 'plugin.sh')
  const answer = (status: object): string =>
    JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status })
  writeFileSync(program, `#!/bin/sh\necho '${answer({})}'\n`, { mode: 0o755 })
  const user = { name: 'someone', exec: { command: program, apiVersion: 'client.authentication.k8s.io/v1' } }
  const identified = identify(user)
  await assert.rejects(
    identified(user, null),
    /the program .*plugin\.sh of the user someone: it gave neither/,
  )
  writeFileSync(program, `#!/bin/sh\necho '${answer({ token: 'good' })}'\n`, { mode: 0o755 })
  assert.equal((await identified(user, null)).headers.authorization, 'Bearer good')
})
