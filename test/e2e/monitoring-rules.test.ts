/** The rules for Prometheus: right by promtool, each alert tested both ways, each with its runbook. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { alerts, RULES, RULES_TEST, textOf } from '../support/monitoring.ts'
import { promtool, skipPrometheus } from '../support/prometheus.ts'

const RUNBOOKS = 'docs/runbooks'
const RUNBOOK_BASE = 'https://example.com/tenure/docs/runbooks'
const HEADS = ['Meaning', 'Impact', 'Diagnosis', 'Mitigation']

interface Case {
  readonly alertname: string
  readonly exp_alerts?: readonly unknown[]
}

const absolute = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** Alerts that are tested, once for those that have to fire and once for those that must not. */
function tested(): { readonly firing: ReadonlySet<string>; readonly quiet: ReadonlySet<string> } {
  const { tests } = parse(textOf(RULES_TEST)) as {
    tests: readonly { alert_rule_test: readonly Case[] }[]
  }
  const firing = new Set<string>()
  const quiet = new Set<string>()
  for (const { alert_rule_test: cases } of tests) {
    const fired = cases.filter(({ exp_alerts: expected = [] }) => expected.length > 0)
    for (const { alertname } of fired) firing.add(alertname)
    // A series under which an alert fires at some time proves nothing of what keeps it quiet.
    if (fired.length === 0) for (const { alertname } of cases) quiet.add(alertname)
  }
  return { firing, quiet }
}

describe('promtool', { skip: skipPrometheus() }, () => {
  test('finds the rules in order', async () => {
    await promtool('check', 'rules', absolute(RULES))
  })

  test('sees every alert fire and stay quiet as it should', async () => {
    await promtool('test', 'rules', absolute(RULES_TEST))
  })
})

test('every alert is tested firing, and under series that must not make it fire', () => {
  const names = [...alerts().keys()].toSorted()
  const { firing, quiet } = tested()
  assert.deepEqual([...firing].toSorted(), names)
  assert.deepEqual([...quiet].toSorted(), names)
})

test('the alerts are those of the contract, each with how bad it is and what it says', () => {
  const all = alerts()
  assert.equal(all.size, 11)
  for (const [name, { labels, annotations }] of all) {
    assert.match(name, /^Tenure[A-Z]/)
    assert.ok(['critical', 'warning'].includes(labels?.severity ?? ''), name)
    assert.match(annotations?.summary ?? '', /\{\{ \$labels\.(election|instance) \}\}.*\.$/)
    assert.match(annotations?.description ?? '', /\{\{ \$labels\.election \}\}/)
    assert.equal(annotations?.runbook_url, `${RUNBOOK_BASE}/${name}.md`)
  }
})

test('every alert has its runbook, with the four heads, and there is no other', () => {
  const names = [...alerts().keys()].map((name) => `${name}.md`).toSorted()
  assert.deepEqual(readdirSync(absolute(RUNBOOKS)).toSorted(), names)
  for (const file of names) {
    const text = textOf(`${RUNBOOKS}/${file}`)
    assert.equal(text.split('\n')[0], `# ${file.replace('.md', '')}`)
    const sections = Array.from(text.matchAll(/^## (.+)\n\n\S/gm), ([, head]) => head)
    assert.deepEqual(sections, HEADS, file)
  }
})

test('every alert stands in the table of the alerts', () => {
  const text = textOf('docs/monitoring.md')
  const rows = Array.from(
    text.matchAll(/^\| \[(\w+)\]\(runbooks\/\1\.md\) \| (\w+) \|/gm),
    ([, name, severity]) => [name, severity],
  )
  assert.deepEqual(
    rows,
    [...alerts()].map(([name, { labels }]) => [name, labels?.severity]),
  )
})

test('links in the runbooks and in monitoring.md lead somewhere', () => {
  const runbooks = readdirSync(absolute(RUNBOOKS)).map((file) => `${RUNBOOKS}/${file}`)
  for (const page of [...runbooks, 'docs/monitoring.md', 'docs/metrics.md']) {
    for (const [, link = ''] of textOf(page).matchAll(/\]\(([^)#]+)[^)]*\)/g)) {
      const target = fileURLToPath(new URL(link, new URL(`../../${page}`, import.meta.url)))
      assert.ok(existsSync(target), `${page}: ${link}`)
    }
  }
})
