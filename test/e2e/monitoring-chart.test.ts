/** The chart for the Prometheus operator and Grafana: what it renders is what lies in deploy. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { monitoringFiles } from '../../scripts/monitoring-files.ts'
import { VERSION } from '../../src/version.ts'
import { chartsUnless, type Values } from '../support/helm.ts'
import { skipReason } from '../support/kubernetes/binaries.ts'
import { type Manifest, only, parseManifests } from '../support/manifests.ts'
import { alerts, dashboard, RULES, type RuleFile, textOf } from '../support/monitoring.ts'

const CHART = 'tenure-monitoring'
const skip = skipReason(['helm'])
const charts = await chartsUnless(skip)

async function template(values: Values) {
  const file = await charts.valuesFile(values)
  return charts.helm('template', 'watch', charts.path(CHART), '--namespace', 'apps', '--values', file)
}

async function render(values: Values): Promise<readonly Manifest[]> {
  const { code, stdout, stderr } = await template(values)
  assert.equal(code, 0, stderr)
  return parseManifests(stdout)
}

/** The spec of the one manifest of that kind. */
async function spec<T>(kind: string, values: Values = {}): Promise<T> {
  return only(await render(values), kind).spec as T
}

test('the copies in the chart are the files in deploy', () => {
  for (const [path, text] of monitoringFiles()) assert.equal(textOf(path), text, 'run "npm run gen"')
})

describe('the chart tenure-monitoring', { skip }, () => {
  test('helm has nothing to warn of, and the chart is of this version', async () => {
    const path = charts.path(CHART)
    for (const more of [[], ['--values', `${path}/ci/everything-values.yaml`]]) {
      const { code, stdout } = await charts.helm('lint', '--strict', path, ...more)
      assert.equal(code, 0, stdout)
      assert.doesNotMatch(stdout, /WARNING|ERROR/)
    }
    const { stdout } = await charts.helm('show', 'chart', path)
    assert.match(stdout, new RegExp(`^appVersion: ${VERSION}$`, 'm'))
  })

  test('the PrometheusRule holds the rules as they are', async () => {
    assert.deepEqual(await spec('PrometheusRule'), parse(textOf(RULES)))
  })

  test('the runbooks are where the value says', async () => {
    const base = 'https://wiki.internal/a $1 {{ b }}'.replaceAll(/[ {}]/g, '')
    const { groups } = await spec<RuleFile>('PrometheusRule', { runbooks: { base } })
    const urls = groups
      .flatMap(({ rules }) => rules)
      .flatMap(({ annotations }) => annotations?.runbook_url ?? [])
    assert.deepEqual(
      urls,
      [...alerts().keys()].map((name) => `${base}/${name}.md`),
    )
  })

  test('an alert that is left out is missing, and nothing else', async () => {
    const values = { rules: { without: ['TenureNoStandby', 'TenureFlapping'] } }
    const { groups } = await spec<RuleFile>('PrometheusRule', values)
    const left = groups.flatMap(({ rules }) => rules).flatMap(({ alert }) => alert ?? [])
    assert.deepEqual(
      left,
      [...alerts().keys()].filter((name) => !values.rules.without.includes(name)),
    )
  })

  test('an alert that nobody knows cannot be left out', async () => {
    const { code, stderr } = await template({ rules: { without: ['TenureNoStandby', 'TenureNoLeaders'] } })
    assert.notEqual(code, 0)
    assert.match(stderr, /rules\.without names TenureNoLeaders, and there is no such alert: take a name from/)
  })

  test('the dashboard is picked up by its label, and is the one in deploy', async () => {
    const config = only(await render({}), 'ConfigMap')
    assert.equal(config.metadata.labels?.grafana_dashboard, '1')
    assert.equal(config.metadata.annotations, undefined)
    assert.deepEqual(JSON.parse(config.data?.['handovers.json'] ?? ''), dashboard())
    const foldered = only(await render({ dashboard: { folder: 'Fleet: all' } }), 'ConfigMap')
    assert.deepEqual(foldered.metadata.annotations, { grafana_folder: 'Fleet: all' })
  })

  test('the PodMonitor scrapes the port that the sidecars have, in the namespaces that are named', async () => {
    const endpoint = { port: 'tenure-ops', path: '/metrics', interval: '15s' }
    const common = { selector: { matchLabels: {} }, podMetricsEndpoints: [endpoint] }
    assert.deepEqual(await spec('PodMonitor'), common)
    assert.deepEqual(await spec('PodMonitor', { podMonitor: { namespaces: ['a', 'b'] } }), {
      ...common,
      namespaceSelector: { matchNames: ['a', 'b'] },
    })
    assert.deepEqual(await spec('PodMonitor', { podMonitor: { namespaces: ['*'] } }), {
      ...common,
      namespaceSelector: { any: true },
    })
    assert.match(textOf('charts/tenure/templates/_container.tpl'), new RegExp(`name: ${endpoint.port},`))
  })

  test('each part can be left out, and carries the labels by which it is selected', async () => {
    const parts = { podMonitor: 'PodMonitor', rules: 'PrometheusRule', dashboard: 'ConfigMap' }
    for (const [part, kind] of Object.entries(parts)) {
      const rest = await render({ [part]: { enabled: false } })
      assert.deepEqual(
        rest.map((one) => one.kind).toSorted(),
        Object.values(parts)
          .filter((one) => one !== kind)
          .toSorted(),
      )
      const labelled = only(await render({ [part]: { labels: { release: 'main' } } }), kind)
      assert.equal(labelled.metadata.labels?.release, 'main')
    }
  })

  const refused: readonly [string, Values, RegExp][] = [
    ['an unknown value', { rule: {} }, /'rule' not allowed/],
    ['an interval without a unit', { podMonitor: { interval: 15 } }, /podMonitor\/interval/],
    ['a namespace that is none', { podMonitor: { namespaces: ['Apps'] } }, /podMonitor\/namespaces\/0/],
    ['a base that ends in a slash', { runbooks: { base: 'https://a/' } }, /runbooks\/base/],
    ['a label that is no text', { dashboard: { labels: { grafana_dashboard: 1 } } }, /grafana_dashboard/],
  ]
  for (const [what, values, message] of refused) {
    test(`${what} is refused`, async () => {
      const { code, stderr } = await template(values)
      assert.notEqual(code, 0)
      assert.match(stderr, message)
    })
  }
})
