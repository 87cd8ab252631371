/** Runs `tenure doctor`, and does with its remedies what a person would: pastes them. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { runCommandLine } from '../../src/cli/cli.ts'
import type { Check, Paste } from '../../src/cli/doctor/check.ts'
import type { Clock } from '../../src/clock/clock.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { cleanEnvironment } from './sidecar.ts'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const run = promisify(execFile)

export interface Patient {
  readonly argv: readonly string[]
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly clock?: Clock
}

export interface Diagnosis {
  readonly code: number
  readonly checks: readonly Check[]
}

/** Examines a patient in this process. No port is looked at unless the flags name one. */
export async function diagnose({
  argv,
  environment = {},
  clock = systemClock(),
}: Patient): Promise<Diagnosis> {
  let [stdout, stderr] = ['', '']
  const io = {
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
    environment,
    clock,
  }
  const code = await runCommandLine(['doctor', '--json', '--listen', '127.0.0.1:0', ...argv], io)
  assert.equal(stderr, '')
  const { checks, ok } = JSON.parse(stdout) as { checks: readonly Check[]; ok: boolean }
  assert.equal(ok, code === 0)
  return { code, checks }
}

/** What is not as it should be, in one line each. */
export function complaints({ checks }: Diagnosis): readonly string[] {
  return checks
    .filter(({ status }) => status === 'fault' || status === 'warning')
    .map(({ status, name, found }) => `${status} ${name}: ${found}`)
}

/** A fault that is planted, and how the doctor must speak of it. */
export interface Planted {
  /** As the end of the sentence "the doctor names …". */
  readonly title: string
  /** Plants it, and tells how to look. */
  plant(): Promise<Patient> | Patient
  /** Name of the check. */
  readonly check: string
  readonly status: 'fault' | 'warning'
  readonly found: RegExp
  /** The exit code; of a warning 0. */
  readonly code: number
  /** What the remedy's text must say. */
  readonly paste: RegExp
}

/** Does what the paste says, and tells how to look again. */
export type Apply = (paste: Paste, patient: Patient) => Promise<Patient>

export function testPlanted(planted: readonly Planted[], apply: Apply): void {
  for (const one of planted) {
    test(`the doctor names ${one.title}, and its remedy, pasted, cures it`, async () => cure(one, apply))
  }
}

async function cure({ plant, check, status, found, code, paste }: Planted, apply: Apply): Promise<void> {
  const patient = await plant()
  const before = await diagnose(patient)
  const named = before.checks.find(
    (one) => one.name === check && one.status === status && found.test(one.found),
  )
  assert.ok(named, `not named: ${JSON.stringify(before.checks, null, 1)}`)
  assert.ok(named.rule && named.remedy?.advice && named.remedy.paste, JSON.stringify(named))
  assert.match(named.remedy.paste.text, paste)
  assert.equal(before.code, code, complaints(before).join('\n'))
  const after = await diagnose(await apply(named.remedy.paste, patient))
  const ofName = after.checks.filter((one) => one.name === check)
  assert.ok(
    ofName.some((one) => one.status === 'ok'),
    `not cured: ${JSON.stringify(ofName)}`,
  )
  const left = ofName.filter((one) => one.status !== 'ok' && found.test(one.found))
  assert.deepEqual(left, [])
}

/** Flags and shell commands are the same everywhere; `bin` is a folder where `tenure` is found. */
export async function applyAnywhere({ into, text }: Paste, patient: Patient, bin: string): Promise<Patient> {
  const { argv, environment = {} } = patient
  if (into === 'flags') {
    const { stdout } = await run('sh', ['-c', `printf '%s\\n' ${text}`])
    return { ...patient, argv: [...argv, ...stdout.trimEnd().split('\n')] }
  }
  if (into === 'instead') {
    const [flag = '', value = ''] = text.split(' ')
    assert.ok(argv.includes(flag))
    return { ...patient, argv: argv.map((one, i) => (argv[i - 1] === flag ? value : one)) }
  }
  assert.equal(into, 'shell')
  const env = cleanEnvironment({ ...environment, PATH: `${bin}:${process.env.PATH}` })
  const { stdout } = await run('sh', ['-c', `${text}\nprintf '\\n'; env`], { env })
  const lines = stdout.split('\n').map((line) => line.split('='))
  const kept = new Set(lines.map(([name]) => name))
  return {
    ...patient,
    environment: Object.fromEntries(Object.entries(environment).filter(([name]) => kept.has(name))),
  }
}

/** Puts a program `tenure` into a folder. */
export function installTenure(folder: string): string {
  const path = join(folder, 'tenure')
  writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  chmodSync(path, 0o755)
  return folder
}
