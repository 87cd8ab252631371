import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { inClusterSource } from '../../src/stores/kubernetes/in-cluster.ts'
import { kubeconfigPaths, kubeconfigSource } from '../../src/stores/kubernetes/kubeconfig.ts'
import { locate, parseLocation } from '../../src/stores/kubernetes/location.ts'
import { StoreError } from '../../src/stores/store.ts'

const folder = mkdtempSync(join(tmpdir(), 'tenure-kubeconfig-'))
after(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const misconfigured = (message: RegExp) => (error: unknown) =>
  error instanceof StoreError && error.kind === 'misconfigured' && message.test(error.message)

const ONE = file(
  'one',
  `
clusters:
  - name: a
    cluster: {server: 'https://a.invalid/k8s/clusters/x', certificate-authority: ca.pem, tls-server-name: inside}
users:
  - name: anna
    user: {token: first}
contexts:
  - name: work
    context: {cluster: a, user: anna, namespace: ops}
  - name: bare
    context: {cluster: a, user: basic}
current-context: work
`,
)
const TWO = file(
  'two',
  `
clusters:
  - name: b
    cluster: {server: 'https://[::1]:6443', insecure-skip-tls-verify: true}
users:
  - name: anna
    user: {token: second}
  - name: basic
    user: {username: joe, password: secret, as: boss}
contexts:
  - name: other
    context: {cluster: b, user: anna}
current-context: other
`,
)

describe('a kubernetes: URL', () => {
  it('names a namespace, a context, both or neither', () => {
    assert.deepEqual(parseLocation('kubernetes:'), { namespace: null, context: null })
    assert.deepEqual(parseLocation('kubernetes://ops'), { namespace: 'ops', context: null })
    assert.deepEqual(parseLocation('kubernetes://ops/'), { namespace: 'ops', context: null })
    assert.deepEqual(parseLocation('kubernetes:?context=kind%20one'), {
      namespace: null,
      context: 'kind one',
    })
    assert.deepEqual(parseLocation('kubernetes://ops?context=x'), { namespace: 'ops', context: 'x' })
  })

  it('that cannot be read says what to write instead', () => {
    assert.throws(
      () => parseLocation('kubernetes:ops'),
      misconfigured(/use kubernetes:, kubernetes:\/\/NAMESPACE/),
    )
    assert.throws(() => parseLocation('kubernetes://Ops'), misconfigured(/"Ops" is no namespace/))
    assert.throws(() => parseLocation('kubernetes://ops/lease'), misconfigured(/cannot be read/))
    assert.throws(() => parseLocation('kubernetes://ops?contxt=x'), misconfigured(/no parameter "contxt"/))
  })
})

describe('a kubeconfig', () => {
  it('gives server, namespace and credentials, files being looked for beside it', async () => {
    const source = await kubeconfigSource([ONE], null)
    assert.equal(source.server.href, 'https://a.invalid/k8s/clusters/x')
    assert.equal(source.namespace, 'ops')
    await assert.rejects(source.read(false), /ENOENT.*ca\.pem/)
    file('ca.pem', 'AUTHORITY')
    const access = await source.read(false)
    assert.equal(access.tls.ca, 'AUTHORITY')
    assert.equal(access.tls.serverName, 'inside')
    assert.equal(access.tls.verify, true)
    assert.deepEqual(access.headers, { authorization: 'Bearer first' })
  })

  it('of several files: whichever names something first wins', async () => {
    const work = await kubeconfigSource([ONE, TWO], null)
    assert.equal(work.name, 'context work')
    const other = await kubeconfigSource([ONE, TWO], 'other')
    const access = await other.read(false)
    assert.deepEqual(access.headers, { authorization: 'Bearer first' })
    assert.equal(access.tls.verify, false)
    assert.equal(other.server.host, '[::1]:6443')
  })

  it('knows users with a password, and whom to act as', async () => {
    const { headers } = await (await kubeconfigSource([ONE, TWO], 'bare')).read(false)
    const authorization = `Basic ${Buffer.from('joe:secret').toString('base64')}`
    assert.deepEqual(headers, { 'impersonate-user': 'boss', authorization })
  })

  it('without what was asked for is an error that names it', async () => {
    await assert.rejects(kubeconfigSource([ONE], 'missing'), misconfigured(/there is no context "missing"/))
    await assert.rejects(kubeconfigSource([join(folder, 'none')], null), misconfigured(/ENOENT/))
    await assert.rejects(kubeconfigSource([ONE], 'bare'), misconfigured(/there is no user "basic"/))
    const broken = file('broken', 'clusters: [')
    await assert.rejects(kubeconfigSource([broken], null), misconfigured(/cannot be used/))
    const proxied = file(
      'proxied',
      "clusters: [{name: a, cluster: {server: 'https://a', proxy-url: 'http://p'}}]\nusers: [{name: u}]\ncontexts: [{name: c, context: {cluster: a, user: u}}]\ncurrent-context: c",
    )
    await assert.rejects(kubeconfigSource([proxied], null), misconfigured(/proxy-url/))
  })

  it('is where KUBECONFIG says, else in the home folder', () => {
    assert.deepEqual(kubeconfigPaths({ KUBECONFIG: '/a::/b', HOME: '/home/x' }), ['/a', '/b'])
    assert.deepEqual(kubeconfigPaths({ HOME: '/home/x' }), ['/home/x/.kube/config'])
  })

  it('comes before the service account where one is named; a missing namespace is said to be "default"', async () => {
    const notes: string[] = []
    const environment = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBECONFIG: `${ONE}:${TWO}` }
    const named = await locate('kubernetes:', environment, (note) => notes.push(note))
    assert.equal(named.namespace, 'ops')
    assert.equal(notes.length, 0)
    const bare = await locate('kubernetes:?context=other', environment, (note) => notes.push(note))
    assert.equal(bare.namespace, 'default')
    assert.match(notes[0] ?? '', /"default".*kubernetes:\/\/NAMESPACE/)
  })
})

describe('in a pod', () => {
  it('an IPv6 address of the API server is put into brackets', async () => {
    for (const [name, text] of Object.entries({ token: 't', 'ca.crt': 'c', namespace: 'ns\n' }))
      file(name, text)
    const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' }
    const source = await inClusterSource(environment, folder)
    assert.equal(source.server.host, '[fd00::1]:6443')
    assert.equal(source.namespace, 'ns')
    assert.deepEqual((await source.read(false)).headers, { authorization: 'Bearer t' })
  })
})
