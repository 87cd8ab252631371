/** What rules, dashboard and docs ask for is what a real sidecar exports. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, type TestContext, test } from 'node:test'
import { metricsReference } from '../../scripts/metrics-reference.ts'
import { dashboard, dashboardQueries, RULES, rulesOf, textOf } from '../support/monitoring.ts'
import { metricNames, shortened } from '../support/promql.ts'
import { SidecarProcess } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

/** What Prometheus itself makes. */
const OF_PROMETHEUS = ['up']
const OURS = /\b(?:tenure_[a-z_]+|leader_election_master_status|process_resident_memory_bytes)\b/g
/** Names in docs that begin like a metric of ours: a role of PostgreSQL, and not more. */
const NO_METRICS = new Set(['tenure_application'])

/** The text of /metrics of a sidecar on SQLite, which ends with the hook. */
async function scraped(): Promise<string> {
  const folder = tempFolder()
  const one = new SidecarProcess('one', ['--store', `sqlite:${join(folder.path, 'lease.db')}`])
  try {
    await one.listening()
    const answer = await one.ask('/metrics')
    assert.equal(answer?.status, 200)
    return answer.body
  } finally {
    await one.end()
    folder.remove()
  }
}

/** Names of samples, `_bucket` and the like included. */
function samples(text: string): ReadonlySet<string> {
  return new Set(Array.from(text.matchAll(/^([a-z_]+)[{ ]/gm), ([, name]) => name ?? ''))
}

/** Names of families, without `_bucket` and the like. */
function families(text: string): ReadonlySet<string> {
  return new Set(Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name ?? ''))
}

describe('a real sidecar exports', () => {
  let text = ''
  before(async () => {
    text = await scraped()
  })

  test('every metric that a rule asks for, but for those that a rule records', () => {
    const rules = rulesOf(textOf(RULES))
    const recorded = rules.flatMap(({ record }) => record ?? [])
    const known = new Set([...samples(text), ...recorded, ...OF_PROMETHEUS])
    for (const { expr, record, alert } of rules) {
      const names = metricNames(expr)
      assert.ok(names.length > 0, `${record ?? alert} asks for nothing`)
      for (const name of names) assert.ok(known.has(name), `${record ?? alert}: nobody exports ${name}`)
    }
  })

  test('every metric that the dashboard asks for, records of rules left aside', () => {
    const known = samples(text)
    const queries = dashboardQueries(dashboard())
    const variables = dashboard().templating.list.flatMap(({ name, definition }) =>
      definition === undefined
        ? []
        : [[name, definition.replace(/^label_values\((.*), \w+\)$/, '$1')] as const],
    )
    assert.ok(queries.length > 20 && variables.length === 3)
    for (const [what, expr] of [...queries, ...variables]) {
      const names = metricNames(expr)
      assert.ok(names.length > 0, `${what} asks for nothing`)
      for (const name of names) assert.ok(known.has(name), `${what}: nobody exports ${name}`)
    }
  })

  test('every metric that a page names', () => {
    const known = new Set([...samples(text), ...families(text)])
    const runbooks = readdirSync(new URL('../../docs/runbooks', import.meta.url))
    const pages = [
      'docs/monitoring.md',
      'docs/metrics.md',
      'docs/operations.md',
      ...runbooks.map((file) => `docs/runbooks/${file}`),
    ]
    for (const page of pages) {
      for (const [name] of textOf(page).matchAll(OURS)) {
        assert.ok(known.has(name) || NO_METRICS.has(name), `${page}: nobody exports ${name}`)
      }
    }
  })

  test('what the reference lists, and nothing else', (t: TestContext) => {
    const listed = Array.from(
      textOf('docs/metrics.md').matchAll(/^\| `(\w+)` \| (?:gauge|counter|histogram) \|/gm),
      ([, name]) => name,
    )
    t.assert.deepEqual(listed, [...families(text)].toSorted())
  })
})

test('the reference of the metrics is what the code says', () => {
  assert.equal(textOf('docs/metrics.md'), metricsReference(), 'run "npm run gen"')
})

test('names are found in an expression, and nothing else is taken for one', () => {
  const cases: readonly [string, readonly string[]][] = [
    ['up == 0', ['up']],
    ['max by (namespace, election) (tenure_is_leader{state=~"a|b"} == bool 1)', ['tenure_is_leader']],
    ['sum without(a) (rate(x_total[5m])) / on (job) group_left(b) y unless z:sum', ['x_total', 'y', 'z:sum']],
    ['time() - x offset 5m > 2 * NaN or 1e3 * v{a="tenure_{b}"}', ['x', 'v']],
    ['changes((max(g))[15m:30s]) > 4 and ignoring (c) up', ['g', 'up']],
  ]
  for (const [expression, names] of cases) assert.deepEqual(metricNames(expression), names, expression)
})

test('a shortened rule keeps everything but its times, down to the least that is asked for', () => {
  const rule =
    '      - alert: A\n        expr: increase(x[10m]) > 3 or max_over_time(y[1h])\n        for: 90s\n'
  assert.equal(
    shortened(rule, 60),
    '      - alert: A\n        expr: increase(x[10000ms]) > 3 or max_over_time(y[60000ms])\n        for: 1500ms\n',
  )
  assert.match(shortened(rule, 60, 2_000), /\[10000ms\](.|\n)*for: 2000ms\n$/)
})
