#!/usr/bin/env node
/** The program. Everything that touches the process itself stands here. */
import './early-signals.ts'
import { systemClock } from '../clock/system-clock.ts'
import { runCommandLine } from './cli.ts'
import { EXIT } from './exit.ts'

let outputFailed = false

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that went away (`tenure history | head -1`) is no fault of the command.
  if (error.code === 'EPIPE') return
  outputFailed = true
  process.stderr.write(`tenure: standard output cannot be written: ${error.message}\n`)
})
process.stderr.on('error', () => {
  outputFailed = true // and there is no place left to say so
})

const code = await runCommandLine(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  environment: process.env,
  clock: systemClock(),
})
// The error of the last write comes with its end.
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
// Nothing that still holds the loop open may keep a finished command from ending.
process.exit(outputFailed && code === EXIT.ok ? EXIT.fault : code)
