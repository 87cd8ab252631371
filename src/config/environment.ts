import type { Fault, Origin } from './origin.ts'
import { SETTING_NAMES, type SettingName, settingOf, VARIABLE_PREFIX, variableName } from './settings.ts'
import { didYouMean } from './suggest.ts'
import type { Source, Written } from './written.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What `tenure exec` tells its child; a Tenure inside such a child is not meant by it. */
const TOLD_TO_CHILDREN = new Set(['TENURE_GENERATION', 'TENURE_SESSION'])
const TEST_PREFIX = 'TENURE_TEST_'

/** Kubernetes makes these in every pod for a Service called `tenure` or `tenure-…`. Nobody wrote them. */
const SERVICE_LINK =
  /_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/
const SERVICE_LINK_URL = /^(tcp|udp|sctp):\/\//

const SETTING_OF = new Map(SETTING_NAMES.map((name) => [variableName(name), name]))

/** Reads the `TENURE_*` variables of the settings in `scope`; with `strict` any unknown one is a fault. */
export function readEnvironment(
  environment: Environment,
  scope: readonly SettingName[],
  strict: boolean,
): Source {
  const written = new Map<SettingName, readonly Written[]>()
  const faults: Fault[] = []
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith(VARIABLE_PREFIX) || text === undefined) continue
    const name = SETTING_OF.get(variable)
    if (name === undefined) {
      if (strict && !isForeign(variable, text)) faults.push(unknownVariable(variable))
    } else if (scope.includes(name)) written.set(name, valuesOf(name, variable, text))
  }
  return { written, faults }
}

function valuesOf(name: SettingName, variable: string, text: string): readonly Written[] {
  const origin: Origin = { kind: 'variable', text: `variable ${variable}` }
  const texts = settingOf(name).many === true ? text.split(',').map((part) => part.trim()) : [text]
  return texts.map((one) => ({ text: one, origin }))
}

function isForeign(variable: string, text: string): boolean {
  if (TOLD_TO_CHILDREN.has(variable) || variable.startsWith(TEST_PREFIX)) return true
  return SERVICE_LINK.test(variable) || (variable.endsWith('_PORT') && SERVICE_LINK_URL.test(text))
}

function unknownVariable(variable: string): Fault {
  return {
    where: `variable ${variable}`,
    rule: `there is no such setting${didYouMean(variable, SETTING_OF.keys())}`,
    remedy: 'unset it, or correct its name',
  }
}
