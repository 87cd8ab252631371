/** The rules and the dashboard that we ship, as tests read them. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

const ROOT = new URL('../../', import.meta.url)
export const RULES = 'deploy/prometheus/tenure-rules.yaml'
export const RULES_TEST = 'deploy/prometheus/tenure-rules.test.yaml'
const DASHBOARD = 'deploy/grafana/handovers.json'

export interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly for?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[]
}

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[]
}

export interface Dashboard {
  readonly uid: string
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] }
  readonly annotations: { readonly list: readonly { readonly name: string; readonly expr: string }[] }
}

/** Text of a file of the repository. */
export function textOf(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8')
}

export function rulesOf(text: string): readonly Rule[] {
  return (parse(text) as RuleFile).groups.flatMap(({ rules }) => rules)
}

/** The alerts that we ship, by name. */
export function alerts(): ReadonlyMap<string, Rule> {
  return new Map(
    rulesOf(textOf(RULES)).flatMap((rule) => (rule.alert === undefined ? [] : [[rule.alert, rule] as const])),
  )
}

export function dashboard(): Dashboard {
  return JSON.parse(textOf(DASHBOARD)) as Dashboard
}

/** Every expression of the dashboard, with what it is for. */
export function dashboardQueries({ panels, annotations }: Dashboard): readonly (readonly [string, string])[] {
  return [
    ...panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ refId, expr }) => [`${title}, ${refId}`, expr] as const),
    ),
    ...annotations.list.map(({ name, expr }) => [name, expr] as const),
  ]
}
