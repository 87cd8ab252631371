/** The reference of the metrics, made from the registry that a sidecar exports. */
import { systemClock } from '../src/clock/system-clock.ts'
import { createMetrics } from '../src/metrics/metrics.ts'

const ELECTION = { name: 'NAME', ttlMs: 0, marginMs: 0 }
/** Labels whose values only a real process knows, or that are a matter of form. */
const FREE_LABELS = new Set(['election', 'name', 'version', 'node', 'store', 'le'])
const INTRODUCTION = `# Metrics

Made from the code by \`npm run gen\`. What to look at first, and how it is scraped: [monitoring.md](monitoring.md).

Each series exists from the start of the process, with the value 0; gauges are computed at the scrape. The names and labels of a
histogram are those that Prometheus gives it: \`_bucket\` with \`le\`, \`_sum\` and \`_count\`.
`

interface Sample {
  readonly labels: Readonly<Record<string, string | number | undefined>>
}

interface Family {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly Sample[]
}

const families = await exported()

/** Text of docs/metrics.md. */
export function metricsReference(): string {
  return [INTRODUCTION, overview(), labelValues(), bucketBounds()].join('\n')
}

async function exported(): Promise<readonly Family[]> {
  const build = { version: '', store: '' }
  const { registry, close } = createMetrics({ clock: systemClock(), elections: [ELECTION], build })
  close()
  const found = (await registry.getMetricsAsJSON()) as unknown as readonly (Omit<Family, 'type'> & {
    type: string | number
  })[]
  return found
    .map((family) => ({ ...family, type: String(family.type) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function overview(): string {
  const rows = families.map(({ name, type, help, values }) => {
    const labels = [...valuesByLabel(values).keys()].filter((label) => label !== 'le')
    return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`
  })
  return ['| metric | type | labels | what it says |', '| --- | --- | --- | --- |', ...rows, ''].join('\n')
}

/** The values that a label can take, metric by metric. */
function labelValues(): string {
  const rows = families.flatMap(({ name, values }) =>
    [...valuesByLabel(values)]
      .filter(([label]) => !FREE_LABELS.has(label))
      .map(([label, taken]) => `| \`${name}\` | \`${label}\` | ${[...taken].join(', ')} |`),
  )
  return ['## Values of labels', '', '| metric | label | values |', '| --- | --- | --- |', ...rows, ''].join(
    '\n',
  )
}

function bucketBounds(): string {
  const rows = families
    .filter(({ type }) => type === 'histogram')
    .map(({ name, values }) => `| \`${name}\` | ${[...(valuesByLabel(values).get('le') ?? [])].join(', ')} |`)
  return ['## Buckets', '', '| histogram | upper bounds, in seconds |', '| --- | --- |', ...rows, ''].join(
    '\n',
  )
}

function valuesByLabel(samples: readonly Sample[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>()
  for (const { labels } of samples) {
    for (const [label, value] of Object.entries(labels)) {
      const values = found.get(label) ?? new Set()
      found.set(label, values.add(String(value)))
    }
  }
  return found
}
