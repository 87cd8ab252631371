import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
const STOPPED = /^T/i

/** Whether a signal has stopped this process: it is there, and does nothing. */
export async function isStopped(pid: number): Promise<boolean> {
  return STOPPED.test(await stateOf(pid))
}

/** One letter and perhaps more, as `ps` shows it. */
async function stateOf(pid: number): Promise<string> {
  if (process.platform !== 'linux')
    return (await run('ps', ['-o', 'state=', '-p', String(pid)])).stdout.trim()
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1')
  // The name before it, in parentheses, may hold anything.
  return stat.slice(stat.lastIndexOf(')') + 2)
}
