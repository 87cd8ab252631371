import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chartsUnless, type Form, type Store, type Values, valuesFor } from '../support/helm.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'

const skip = skipReason(['helm'])
const charts = await chartsUnless(skip)

/** Under `tenure`, what is refused, and what the message has to say. */
const BY_SCHEMA: readonly [string, Values, RegExp][] = [
  ['an unknown value', { nativ: true }, /additional properties 'nativ' not allowed/],
  ['an unknown store', { store: { kind: 'redis' } }, /store\/kind/],
  ['an unknown setting', { settings: { renewEvery: '1s' } }, /'renewEvery' not allowed/],
  ['a setting that is the chart’s own', { settings: { election: 'a' } }, /'election' not allowed/],
  ['a duration without a unit', { settings: { ttl: 15 } }, /settings\/ttl/],
  ['a duration that is none', { settings: { promise: '1 s' } }, /settings\/promise/],
  ['a listener on the network', { listen: '0.0.0.0:4040' }, /\/listen/],
  ['probes that nobody outside can reach', { opsListen: '127.0.0.1:4041' }, /\/opsListen/],
  ['an election with a comma in its name', { elections: ['a,b'] }, /elections\/0/],
  ['an election that is named twice', { elections: ['a', 'a'] }, /elections/],
  ['a tag with a digest in it', { image: { tag: 'a@sha256:0' } }, /image\/tag/],
  ['a digest that is none', { image: { digest: 'sha256:abc' } }, /image\/digest/],
  ['a grace period with a unit', { terminationGracePeriodSeconds: '30s' }, /terminationGracePeriodSeconds/],
  ['a namespace that is none', { store: { kubernetes: { namespace: 'Apps' } } }, /kubernetes\/namespace/],
]

const postgres = (values: Values) => ({ store: { kind: 'postgres', postgres: values } })
const sqlite = (values: Values) => ({ store: { kind: 'sqlite', sqlite: values } })

const BY_RULE: readonly [string, Store, Form, Values, RegExp][] = [
  [
    'a ttl below the least of PostgreSQL',
    'postgres',
    'native',
    { settings: { ttl: '2999ms' } },
    /ttl of 2999 ms is too short: the least on the store postgres is 3000 ms/,
  ],
  [
    'a ttl below the least of SQLite',
    'sqlite',
    'native',
    { settings: { ttl: '0.5s' } },
    /ttl of 500 ms .* sqlite is 1000 ms/,
  ],
  [
    'a Lease that cannot keep the ttl',
    'kubernetes',
    'native',
    { settings: { ttl: '10500ms' } },
    /whole seconds: round it/,
  ],
  [
    'a store URL from two sources',
    'postgres',
    'native',
    postgres({ url: 'postgres://a@b/c', urlSecret: { name: 'x' } }),
    /either url or urlSecret.name/,
  ],
  [
    'a store URL from none',
    'postgres',
    'native',
    postgres({ urlSecret: { name: '' } }),
    /either url or urlSecret.name/,
  ],
  [
    'a password that everybody may read',
    'postgres',
    'native',
    postgres({ url: 'postgres://a:secret@b/c', urlSecret: { name: '' } }),
    /holds a password/,
  ],
  [
    'an emptyDir, in which each pod would lead',
    'sqlite',
    'native',
    sqlite({ volume: { emptyDir: {} } }),
    /an emptyDir would give each pod a store of its own/,
  ],
  ['no volume at all', 'sqlite', 'plain', sqlite({ volume: {} }), /set persistentVolumeClaim/],
  [
    'a folder on whichever node',
    'sqlite',
    'native',
    sqlite({ volume: { hostPath: { path: '/srv' } } }),
    /name the one node/,
  ],
  [
    'a native sidecar whose application takes the whole grace period',
    'kubernetes',
    'native',
    { applicationStop: '29s' },
    /grace period of 30000 ms is too short: the application may take 29000 ms to end, and then the sidecar 0 ms \(drain\) \+ 2000 ms \(promise and release\) = 31000 ms/,
  ],
  [
    'a native sidecar that drains for longer than there is time',
    'kubernetes',
    'native',
    { settings: { drain: '9s' } },
    /20000 ms to end, and then the sidecar 9000 ms \(drain\)/,
  ],
  [
    'a hook that the grace period would cut off',
    'postgres',
    'plain',
    { settings: { drain: '27s' } },
    /preStop hook may take 27000 ms \(drain\) \+ 2000 ms \(promise and release\), and the sidecar 2000 ms to end = 31000 ms/,
  ],
  [
    'a drain that ends before the application may',
    'postgres',
    'plain',
    { settings: { drain: '19999ms' } },
    /drain of 19999 ms is too short: the application may take 20000 ms/,
  ],
]

/** The volumes that `valuesFor` gives would be merged with others. */
function withStore(store: Store, form: Form, more: Values): Values {
  const values = valuesFor(store, form, more)
  return more.store === undefined ? values : { tenure: { native: form === 'native', ...more } }
}

describe('a chart refuses', { skip }, () => {
  for (const [what, values, message] of BY_SCHEMA) {
    it(`by its schema: ${what}`, async () => {
      const said = await charts.refusal({ tenure: values })
      assert.match(said, /don't meet the specifications of the schema/)
      assert.match(said, message)
    })
  }

  for (const [what, store, form, values, message] of BY_RULE) {
    it(`${what} (${store}, ${form})`, async () => {
      assert.match(await charts.refusal(withStore(store, form, values)), message)
    })
  }

  it('a sidecar without an election', async () => {
    // Null takes the default of the application's chart away.
    const values = valuesFor('sqlite', 'native', { elections: null })
    assert.match(await charts.refusal(values), /tenure.elections is empty/)
  })

  it('native sidecars before Kubernetes 1.29, and names the remedy', async () => {
    const native = valuesFor('postgres', 'native')
    const said = await charts.refusal(native, { kubeVersion: 'v1.28.15' })
    assert.match(said, /this is Kubernetes v1.28.15: native sidecars need 1.29: set tenure.native=false/)
    await charts.render(native, { kubeVersion: 'v1.29.0-eks-1234' })
    await charts.render(valuesFor('postgres', 'plain'), { kubeVersion: 'v1.28.15' })
  })

  it('an application on PostgreSQL that has no URL of its own', async () => {
    const tenure = postgres({ url: 'postgres://a@b/c', urlSecret: { name: '' } })
    assert.match(await charts.refusal({ tenure }), /application.urlSecret.name is empty/)
  })

  it('nothing at the very bound', async () => {
    await charts.render(valuesFor('kubernetes', 'native', { applicationStop: '28s' }))
    await charts.render(valuesFor('postgres', 'plain', { settings: { drain: '26s' } }))
    await charts.render(valuesFor('sqlite', 'plain', { settings: { ttl: '1s', drain: 0 } }))
    await charts.render(valuesFor('postgres', 'native', { settings: { ttl: '3000ms' } }))
  })
})
