/**
 * `npm run sim -- --seeds N [--from S]` runs N worlds and prints what was seen; `--seed S` runs one and tells its
 * story. Exit code 1 when a guarantee was broken.
 */
import { parseArgs } from 'node:util'
import { type Run, simulate } from './simulate.ts'

/** Lines of the story that lead up to a breach. */
export const STORY_LINES = 120

export function tellBreach(run: Run): string {
  const lines = run.story.slice(-STORY_LINES)
  return [
    `seed ${run.seed}: ${run.breach?.message}`,
    ...lines,
    `replay: npm run sim -- --seed ${run.seed}`,
  ].join('\n')
}

export interface Campaign {
  readonly seeds: number
  readonly simulatedMs: number
  readonly tenures: number
  readonly answers: number
  readonly breaches: readonly Run[]
}

/** Runs seeds from `from` on, until `seeds` of them have run or one broke a guarantee. */
export async function campaign(from: number, seeds: number): Promise<Campaign> {
  let simulatedMs = 0
  let tenures = 0
  let answers = 0
  for (let seed = from; seed < from + seeds; seed++) {
    const run = await simulate(seed)
    simulatedMs += run.simulatedMs
    tenures += run.tenures
    answers += run.answers
    if (run.breach !== null) return { seeds: seed - from + 1, simulatedMs, tenures, answers, breaches: [run] }
  }
  return { seeds, simulatedMs, tenures, answers, breaches: [] }
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '300' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
    },
  })
  const print = (line: string): void => void process.stdout.write(`${line}\n`)
  if (values.seed !== undefined) {
    const run = await simulate(Number(values.seed))
    print(run.story.join('\n'))
    return run.breach === null ? 0 : 1
  }
  const startedMs = performance.now()
  const { seeds, simulatedMs, tenures, answers, breaches } = await campaign(
    Number(values.from),
    Number(values.seeds),
  )
  for (const run of breaches) print(tellBreach(run))
  const seconds = (performance.now() - startedMs) / 1_000
  const hours = (simulatedMs / 3_600_000).toFixed(1)
  print(
    `seeds ${values.from}+${seeds}: ${hours} simulated hours in ${seconds.toFixed(1)} s, ${tenures} tenures, ${answers} answers "leading", ${breaches.length} breaches`,
  )
  return breaches.length === 0 ? 0 : 1
}

if (import.meta.main) process.exitCode = await main()
