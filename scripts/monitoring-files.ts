/** The files of the chart tenure-monitoring that are copies: a chart can read nothing outside of its folder. */
import { readFileSync } from 'node:fs'

const COPIES = {
  'charts/tenure-monitoring/files/tenure-rules.yaml': 'deploy/prometheus/tenure-rules.yaml',
  'charts/tenure-monitoring/files/handovers.json': 'deploy/grafana/handovers.json',
}

/** Text of each copy, by its path. */
export function monitoringFiles(root = new URL('../', import.meta.url)): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(COPIES).map(([path, source]) => [path, readFileSync(new URL(source, root), 'utf8')]),
  )
}
