/** What this user, and others, may do with the file and its folder. */
import { accessSync, constants, existsSync, type Stats, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { advise, type Check, fault, ok, paste, type Remedy, warning } from '../check.ts'
import { shellWord } from '../quote.ts'

const NAME = 'rights'
const OTHERS_WRITE = 0o002
const STICKY = 0o1000
/** The file and its journal take some kilobytes. */
const SPACE_LEAST_BYTES = 256 * 1024

/** Whether this user can write the folder, the file, and the journal beside it. */
export function checkRights(path: string): readonly Check[] {
  const folder = nearestFolder(path)
  const below = folder === dirname(path) ? '' : `, in which ${dirname(path)} is made`
  const checks = [
    checkAccess(folder, constants.W_OK | constants.X_OK, 'u+wx', `the folder ${folder}${below}`),
    ...[path, `${path}-journal`]
      .filter((file) => existsSync(file))
      .map((file) => checkAccess(file, constants.R_OK | constants.W_OK, 'u+rw', file)),
  ].filter((check) => check !== null)
  if (checks.length > 0) return checks
  return [ok(NAME, `uid ${process.getuid?.()} can write the folder and what is in it`), checkSpace(folder)]
}

function nearestFolder(path: string): string {
  let folder = dirname(path)
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  return folder
}

/** Null where the right is there. */
function checkAccess(path: string, mode: number, bits: string, what: string): Check | null {
  try {
    accessSync(path, mode)
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const remedy = code === 'EROFS' ? writableMount(path) : giveRight(path, bits)
    const rule = 'the file, its folder and the journal beside it can be written'
    return fault(NAME, 'denied', `${what} cannot be written (${code})`, rule, remedy)
  }
}

function writableMount(path: string): Remedy {
  return advise(`mount the file system of ${path} for writing, or name a file on another one`)
}

/** The owner can help himself; else the administrator makes this user the owner. */
function giveRight(path: string, bits: string): Remedy {
  const uid = process.getuid?.()
  const owner = statSync(path, { throwIfNoEntry: false })?.uid
  if (owner === uid) return paste('shell', `chmod ${bits} ${shellWord(path)}`, 'give the owner the right')
  return paste(
    'shell',
    `chown ${uid} ${shellWord(path)} && chmod ${bits} ${shellWord(path)}`,
    'as the administrator, give this user the file',
  )
}

function checkSpace(folder: string): Check {
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const found = `${Math.floor(free / 1024)} kB are free in ${folder}`
  if (free >= SPACE_LEAST_BYTES) return ok('space', found)
  return fault(
    'space',
    'unavailable',
    found,
    'a renewal needs room for the journal',
    advise('make room on that disk; leases can be held again at once'),
  )
}

/** Whether people who have nothing to do with it can take leases, or exchange the file. */
export function checkOthers(path: string): readonly Check[] {
  const [file, folder] = [statOf(path), statOf(dirname(path))]
  const open = (what: string, target: string) =>
    warning(
      'others',
      `every user of this host may write ${what}`,
      'whoever can write the file can hold every lease in it',
      paste(
        'shell',
        `chmod o-w ${shellWord(target)}`,
        'take the right from others; candidates of other users get it by a group',
      ),
    )
  const found: Check[] = []
  if (isOpen(file)) found.push(open(path, path))
  if (isOpen(folder) && ((folder?.mode ?? 0) & STICKY) === 0) {
    found.push(open(`the folder ${dirname(path)}`, dirname(path)))
  }
  return found.length > 0 ? found : [ok('others', 'not every user of this host may write it')]
}

function isOpen(stat: Stats | null): boolean {
  return stat !== null && (stat.mode & OTHERS_WRITE) !== 0
}

/** Two names for one file are two journals: a crash under the one is not mended under the other. */
export function checkLinks(path: string): readonly Check[] {
  const names = statOf(path)?.nlink ?? 1
  if (names < 2) return [ok('links', 'the file has one name')]
  const word = shellWord(path)
  return [
    warning(
      'links',
      `${path} has ${names} names (hard links)`,
      'a lease file has one name, because its journal is found by the name',
      paste(
        'shell',
        `cp -p ${word} ${word}.new && mv ${word}.new ${word}`,
        'stop every candidate that uses the file, make a file with one name of it, and start them again',
      ),
    ),
  ]
}

function statOf(path: string): Stats | null {
  return statSync(path, { throwIfNoEntry: false }) ?? null
}
