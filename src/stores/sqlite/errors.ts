/** From what SQLite and the file system report to what a person can do about it. */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { StoreError } from '../store.ts'

/** Primary result codes of SQLite: the low byte of `errcode`. */
const BUSY = 5
const LOCKED = 6
const READONLY = 8
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const PERM = 3
const AUTH = 23
const NOTADB = 26
const PRIMARY_MASK = 0xff
/** The one extended code that matters: the open file is no longer the one at the path. */
const READONLY_DBMOVED = READONLY | (4 << 8)

const DENIED_ERRNO = new Set(['EACCES', 'EPERM', 'EROFS'])
const FULL_ERRNO = new Set(['ENOSPC', 'EDQUOT'])
const WRONG_PATH_ERRNO = new Set(['ENOTDIR', 'EISDIR', 'ELOOP', 'ENAMETOOLONG'])

/** Whether another connection held a lock for longer than the busy timeout: nothing was done. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error)
  return code === BUSY || code === LOCKED
}

/** Whether SQLite itself saw that the file was moved away: nothing was written. */
export function isMoved(error: unknown): boolean {
  return sqliteCode(error) === READONLY_DBMOVED
}

/** Says what went wrong with the file at `path`. Reads the file system to tell a missing right from other causes. */
export function toStoreError(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error
  switch (primaryCode(error)) {
    case BUSY:
    case LOCKED:
      return storeError('unavailable', `${path} is locked by another process: ask again`, error)
    case FULL:
      return fullDisk(path, error)
    case NOTADB:
      return storeError(
        'misconfigured',
        `${path} is not a SQLite database: name another file, or move this one away`,
        error,
      )
    case CORRUPT:
      return storeError(
        'unavailable',
        `${path} is damaged: stop every candidate that uses it, move it away, and start them again`,
        error,
      )
    case PERM:
    case AUTH:
    case READONLY:
    case CANTOPEN:
      return deniedOrElse(path, error)
    default:
      return fromErrno(path, error)
  }
}

function fromErrno(path: string, error: unknown): StoreError {
  const code = errno(error)
  if (DENIED_ERRNO.has(code)) return denied(path, error)
  if (FULL_ERRNO.has(code)) return fullDisk(path, error)
  if (WRONG_PATH_ERRNO.has(code)) return wrongPath(path, error)
  return storeError('unavailable', `${path} cannot be used at present: ${text(error)}`, error)
}

/** SQLite says only that it could not open or write something: what is missing, the file system knows. */
function deniedOrElse(path: string, error: unknown): StoreError {
  const missing = missingRight(path)
  if (missing !== null) return storeError('denied', missing, error)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return wrongPath(path, error)
  const code = primaryCode(error)
  return code === CANTOPEN ? fromErrno(path, error) : denied(path, error)
}

/** A sentence that names the right that this process lacks, null when it lacks none. */
function missingRight(path: string): string | null {
  const folder = dirname(path)
  const journal = `${path}-journal`
  if (!permits(folder, constants.W_OK | constants.X_OK)) {
    return `the folder ${folder} cannot be written, and the journal needs a place beside ${path}: give this user (uid ${process.getuid?.()}) the right to write there`
  }
  for (const file of [path, journal]) {
    if (existsSync(file) && !permits(file, constants.R_OK | constants.W_OK)) {
      return `${file} cannot be written: give this user (uid ${process.getuid?.()}) the right to read and write it`
    }
  }
  return null
}

function permits(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch (error) {
    return !DENIED_ERRNO.has(errno(error))
  }
}

function denied(path: string, cause: unknown): StoreError {
  return storeError(
    'denied',
    `${path} cannot be written: give this user (uid ${process.getuid?.()}) the right to write it and its folder`,
    cause,
  )
}

function fullDisk(path: string, cause: unknown): StoreError {
  return storeError('unavailable', `no space left to write ${path}: make room on its disk`, cause)
}

function wrongPath(path: string, cause: unknown): StoreError {
  return storeError('misconfigured', `${path} cannot be a file: name a path below a folder`, cause)
}

function storeError(kind: StoreError['kind'], message: string, cause: unknown): StoreError {
  return new StoreError(kind, message, { cause })
}

function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode : null
}

function primaryCode(error: unknown): number | null {
  const code = sqliteCode(error)
  return code === null ? null : code & PRIMARY_MASK
}

function errno(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
