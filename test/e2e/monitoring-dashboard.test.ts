/** The dashboard as Grafana wants it. That its panels show something: test/faults/monitoring-prometheus.test.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dashboard, dashboardQueries, type Panel } from '../support/monitoring.ts'

const COLUMNS = 24
/** Those that Grafana itself replaces. */
const BUILT_IN = new Set(['__interval', '__rate_interval'])
const { panels, templating, uid, annotations } = dashboard()

function overlap(a: Panel, b: Panel): boolean {
  const [p, q] = [a.gridPos, b.gridPos]
  return p.x < q.x + q.w && q.x < p.x + p.w && p.y < q.y + q.h && q.y < p.y + p.h
}

test('panels have numbers of their own, lie beside one another, and say what they show', () => {
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  for (const [index, panel] of panels.entries()) {
    assert.ok(panel.gridPos.x + panel.gridPos.w <= COLUMNS, panel.title)
    const over = panels.slice(index + 1).find((other) => overlap(panel, other))
    assert.equal(over, undefined, `${panel.title} and ${over?.title} overlap`)
    if (panel.type === 'row') continue
    assert.ok((panel.description ?? '').length > 0, `${panel.title} says nothing`)
    assert.ok((panel.targets ?? []).length > 0, `${panel.title} asks for nothing`)
  }
})

test('no source of data is baked in, and every dashboard of ours has one address', () => {
  const sources = Array.from(
    JSON.stringify(dashboard()).matchAll(/"datasource":\{(.*?)"\}/g),
    ([, all]) => all,
  )
  assert.ok(sources.length > panels.filter(({ type }) => type !== 'row').length)
  for (const source of sources) assert.match(source ?? '', /^"type":"prometheus","uid":"\$\{datasource\}$/)
  assert.equal(uid, 'tenure-handovers')
})

test('every variable that is used is defined, and every one that is defined is used', () => {
  const defined = templating.list.map(({ name }) => name)
  const text = JSON.stringify(dashboard())
  const used = new Set(Array.from(text.matchAll(/\$\{?(\w+)\}?/g), ([, name]) => name ?? ''))
  for (const name of BUILT_IN) used.delete(name)
  assert.deepEqual([...used].toSorted(), defined.toSorted())
  assert.ok(['election', 'instance'].every((name) => defined.includes(name)))
})

test('every query is of one election, but for those of the process', () => {
  for (const [what, expr] of dashboardQueries(dashboard())) {
    if (expr.includes('tenure_event_loop_lag_seconds')) continue
    for (const [selector] of expr.matchAll(/\{[^}]*\}/g)) {
      assert.match(selector, /namespace=~"\$namespace", election="\$election"/, what)
    }
  }
})

test('it shows what the contract asks for', () => {
  const titles = panels.map(({ title }) => title)
  for (const title of [
    'State of each instance',
    'Tenures that ended, by reason',
    'Leaderless seconds',
    'Renew latency against the deadlines',
    'Slack',
    'Store errors',
    'Pauses',
  ]) {
    assert.ok(titles.includes(title), title)
  }
  assert.equal(panels.find(({ title }) => title === 'State of each instance')?.type, 'state-timeline')
  assert.deepEqual(
    annotations.list.map(({ name }) => name),
    ['Handovers'],
  )
})
