import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { systemClock } from '../../src/clock/system-clock.ts'
import { locate } from '../../src/stores/kubernetes/location.ts'
import { openPlace } from '../../src/stores/kubernetes/store.ts'
import type { LeaseStore } from '../../src/stores/store.ts'
import {
  attempt,
  failsWith,
  newCandidate,
  newElection,
  startUnless,
  until,
  win,
} from '../support/kubernetes/bench.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { ShiftedClock } from '../support/kubernetes/shifted-clock.ts'

const TTL_MS = 60_000
const MINUTE_MS = 60_000

/** Some certificate authority that signed nothing here. */
const OTHER_AUTHORITY = `-----BEGIN CERTIFICATE-----
MIIBeDCCAR+gAwIBAgIUI+00ghnl6eRZgd1ktnOpcs6lLA4wCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGbm9ib2R5MCAXDTI2MTEzMDE5NTkwOVoYDzIxMjYxMTA2MTk1
OTA5WjARMQ8wDQYDVQQDDAZub2JvZHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AATlxhxtyQcUeanXGPOl8W6NV4mcjzyEY7nMnlo6R9sKmL25GNBd4cDpF+wGa+0n
JYnyoNlpI9dfOs8uFWSdWECUo1MwUTAdBgNVHQ4EFgQUjax2y3jo0dwvrOe7er/A
o0OGQSAwHwYDVR0jBBgwFoAUjax2y3jo0dwvrOe7er/Ao0OGQSAwDwYDVR0TAQH/
BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiAN/+dOFSs9fPTMridU2zX0ZVand2Uf
eTWjKkNGACLoigIgIfrWyEbTcpC27FIEjfaWCg3ocxGbNdF+Vpb+YX71IKU=
-----END CERTIFICATE-----
`

const skip = skipReason()
const bench = await startUnless(skip)

/** The files that a pod finds, in a folder of their own. */
async function serviceAccountFolder(): Promise<string> {
  const folder = await mkdtemp(join(bench.server.home, 'pod-'))
  const { token } = await bench.namespace.createToken(bench.account)
  await writeFile(join(folder, 'token'), `${token}\n`)
  await writeFile(join(folder, 'ca.crt'), await bench.server.ca())
  await writeFile(join(folder, 'namespace'), bench.namespace.name)
  return folder
}

/** What a pod's environment says, `port` being that of the server or of a proxy. */
function podEnvironment(port = bench.server.port): Record<string, string> {
  return { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) }
}

async function openInPod(
  t: { after(done: () => Promise<void>): void },
  folder: string,
  { port, url = 'kubernetes:' }: { port?: number; url?: string } = {},
): Promise<LeaseStore> {
  const context = { clock: systemClock(), note: () => undefined }
  const store = openPlace(await locate(url, podEnvironment(port), context.note, folder), context)
  t.after(() => store.close())
  return store
}

/** Replaces a file as the kubelet does: at once. */
async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text)
  await rename(`${path}.new`, path)
}

describe('in a pod', { skip }, () => {
  it('the service account is used: its token, its authority and its namespace', async (t) => {
    const store = await openInPod(t, await serviceAccountFolder())
    assert.equal(store.location, `127.0.0.1:${bench.server.port}/${bench.namespace.name}`)
    const held = await win(store, newElection(), newCandidate())
    assert.ok((await bench.namespace.lease(held.election)) !== null)
  })

  it('a namespace in the URL comes before that of the service account', async (t) => {
    const store = await openInPod(t, await serviceAccountFolder(), { url: 'kubernetes://elsewhere' })
    assert.match(store.location, /\/elsewhere$/)
    assert.match(await failsWith(store.current('x', attempt()), 'denied'), /namespace elsewhere/)
  })

  it('without a namespace file nothing is assumed', async () => {
    const folder = await serviceAccountFolder()
    await rm(join(folder, 'namespace'))
    const located = locate('kubernetes:', podEnvironment(), () => undefined, folder)
    assert.match(await failsWith(located, 'misconfigured'), /kubernetes:\/\/NAMESPACE/)
  })

  it('without a token the start fails, and says why', async () => {
    const folder = await serviceAccountFolder()
    await rm(join(folder, 'token'))
    const located = locate('kubernetes:', podEnvironment(), () => undefined, folder)
    assert.match(await failsWith(located, 'misconfigured'), /automountServiceAccountToken/)
  })

  it('proxy variables are not looked at', async (t) => {
    const before = { ...process.env }
    t.after(async () => {
      process.env = before
    })
    for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy'])
      process.env[name] = 'http://127.0.0.1:1'
    process.env.NODE_USE_ENV_PROXY = '1'
    await win(await openInPod(t, await serviceAccountFolder()), newElection(), newCandidate())
  })

  it('a token that was replaced, and the old one revoked, costs a holder nothing', async (t) => {
    const folder = await serviceAccountFolder()
    const old = await bench.namespace.createToken(bench.account)
    await writeFile(join(folder, 'token'), old.token)
    const proxy = await bench.proxy()
    const store = await openInPod(t, folder, { port: proxy.port })
    const held = await win(store, newElection(), newCandidate(), { ttlMs: TTL_MS })
    await replace(join(folder, 'token'), (await bench.namespace.createToken(bench.account)).token)
    await old.revoke()
    // The server remembers for some seconds that it took the old one.
    await until('the old token is refused', async () => {
      assert.equal((await store.renew(held, TTL_MS, attempt())).kind, 'granted')
      return proxy.requests.some(({ status }) => status === 401)
    })
    assert.equal(proxy.requests.filter(({ status }) => status === 401).length, 1)
  })

  it('a token that is not taken is an error that says so, once it was read again', async (t) => {
    const folder = await serviceAccountFolder()
    await writeFile(join(folder, 'token'), 'nonsense')
    const proxy = await bench.proxy()
    const store = await openInPod(t, folder, { port: proxy.port })
    assert.match(await failsWith(store.current(newElection(), attempt()), 'denied'), /token or certificate/)
    assert.equal(proxy.requests.length, 2)
  })

  it('a token that was replaced is used within a minute, also while the old one is still good', async (t) => {
    const folder = await serviceAccountFolder()
    const proxy = await bench.proxy()
    const clock = new ShiftedClock(systemClock())
    const context = { clock, note: () => undefined }
    const place = await locate('kubernetes:', podEnvironment(proxy.port), context.note, folder)
    const store = openPlace(place, context)
    t.after(() => store.close())
    await store.current(newElection(), attempt())
    const { token } = await bench.namespace.createToken(bench.account)
    await replace(join(folder, 'token'), token)
    clock.forward(MINUTE_MS)
    await store.current(newElection(), attempt())
    assert.equal(proxy.requests.at(-1)?.authorization, `Bearer ${token}`)
    // Unreadable for a moment: what was read last serves.
    await rm(join(folder, 'token'))
    clock.forward(MINUTE_MS)
    await store.current(newElection(), attempt())
    assert.equal(proxy.requests.at(-1)?.authorization, `Bearer ${token}`)
  })

  it('an authority that was replaced is used once the old one does not do', async (t) => {
    const folder = await serviceAccountFolder()
    await writeFile(join(folder, 'ca.crt'), OTHER_AUTHORITY)
    const store = await openInPod(t, folder)
    assert.match(await failsWith(store.current('x', attempt()), 'misconfigured'), /certificate authority/)
    await replace(join(folder, 'ca.crt'), await bench.server.ca())
    assert.equal(await store.current(newElection(), attempt()), null)
  })
})

describe('a kubeconfig', { skip }, () => {
  it('with an exec user: the program is run, and again when its token is refused', async () => {
    const folder = await mkdtemp(join(bench.server.home, 'exec-'))
    const tokenFile = join(folder, 'token')
    const countFile = join(folder, 'count')
    const script = `
      const { readFileSync, appendFileSync } = require('node:fs')
      appendFileSync(${JSON.stringify(countFile)}, 'x')
      const token = readFileSync(${JSON.stringify(tokenFile)}, 'utf8')
      process.stdout.write(JSON.stringify({ kind: 'ExecCredential', status: { token } }))`
    await writeFile(join(folder, 'plugin.cjs'), script)
    await writeFile(tokenFile, 'stale')
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: [join(folder, 'plugin.cjs')],
      interactiveMode: 'Never',
    }
    const kubeconfig = await bench.namespace.kubeconfig(bench.account, { user: { exec } })
    const store = await bench.open({ kubeconfig })
    await failsWith(store.current(newElection(), attempt()), 'denied')
    await writeFile(tokenFile, (await bench.namespace.createToken(bench.account)).token)
    const held = await win(store, newElection(), newCandidate())
    assert.equal((await store.renew(held, TTL_MS, attempt())).kind, 'granted')
  })

  it('with an exec program that fails: the error carries its words', async () => {
    const exec = { command: process.execPath, args: ['-e', 'console.error("no login"); process.exit(3)'] }
    const kubeconfig = await bench.namespace.kubeconfig(bench.account, { user: { exec } })
    const store = await bench.open({ kubeconfig })
    assert.match(await failsWith(store.current('x', attempt()), 'denied'), /no credentials.*no login/s)
  })

  it('with an OIDC user: its token is sent', async () => {
    const proxy = await bench.proxy()
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const token = `${part({ alg: 'none' })}.${part({ exp: Math.floor(Date.now() / 1_000) + 3_600 })}.x`
    const config = {
      'idp-issuer-url': 'https://issuer.invalid',
      'client-id': 'tenure',
      'client-secret': 'secret',
      'refresh-token': 'refresh',
      'id-token': token,
    }
    const user = { 'auth-provider': { name: 'oidc', config } }
    const kubeconfig = await bench.namespace.kubeconfig(bench.account, { user, port: proxy.port })
    const store = await bench.open({ kubeconfig })
    await failsWith(store.current('x', attempt()), 'denied')
    assert.equal(proxy.requests[0]?.authorization, `Bearer ${token}`)
  })

  it('with a token file: it is read again when its token is refused', async () => {
    const folder = await mkdtemp(join(bench.server.home, 'file-'))
    await mkdir(folder, { recursive: true })
    const tokenFile = join(folder, 'token')
    await writeFile(tokenFile, 'stale')
    const kubeconfig = await bench.namespace.kubeconfig(bench.account, { user: { tokenFile } })
    const store = await bench.open({ kubeconfig })
    await failsWith(store.current(newElection(), attempt()), 'denied')
    await writeFile(tokenFile, (await bench.namespace.createToken(bench.account)).token)
    assert.equal(await store.current(newElection(), attempt()), null)
  })
})
