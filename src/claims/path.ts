/** Paths as the claim book sees them: words between slashes. No file system is asked. */

export const PATH_MOST_CHARACTERS = 4_096
/** Deeper ones are refused, so that a claim costs a bounded number of nodes. */
export const SEGMENTS_MOST = 128

/** Control characters and line ends: a NUL ends a path early elsewhere, a line end breaks a log line. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u

/** A path that was read. Two of the same `key` are one path. */
export interface ClaimPath {
  /** As given. */
  readonly text: string
  readonly absolute: boolean
  /** Without `.` and empty ones; none for `/` and for `.`. */
  readonly segments: readonly string[]
  readonly key: string
}

/** A path that the book cannot reason about, and the rule that it breaks. */
export interface BadPath {
  readonly path: string
  readonly rule: string
}

export interface PathRules {
  /** For workspaces on a file system that takes `A` and `a` for one name. */
  readonly ignoreCase: boolean
}

/** Reads a path; a text instead names the rule that it breaks. */
export function readPath(text: string, rules: PathRules): ClaimPath | string {
  const broken = brokenRule(text)
  if (broken !== null) return broken
  const absolute = text.startsWith('/')
  const segments = text
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .map((segment) => spelling(segment, rules))
  if (segments.length > SEGMENTS_MOST) return `a path has ${SEGMENTS_MOST} segments at most`
  return { text, absolute, segments, key: (absolute ? '/' : '') + segments.join('/') }
}

function brokenRule(text: string): string | null {
  if (text === '') return 'a path is never empty'
  if (text.length > PATH_MOST_CHARACTERS) return `a path has ${PATH_MOST_CHARACTERS} characters at most`
  if (!text.isWellFormed()) return 'a path is well-formed Unicode'
  if (CONTROL.test(text)) return 'a path holds no control characters'
  if (text.includes('\\')) return 'a path holds no backslash: it may separate segments, or not'
  if (text.split('/').includes('..')) return 'a path holds no ".." segment: where it leads, links decide'
  return null
}

/**
 * Some file systems take the composed and the decomposed form of a letter for one name. Here they always are: at
 * worst two files collide that need not.
 */
function spelling(segment: string, { ignoreCase }: PathRules): string {
  const composed = segment.normalize('NFC')
  // Down first: ẞ has no other upper case than itself. Then up and down: ß, ſ and their like have no lower case of
  // their own to meet in.
  return ignoreCase ? composed.toLowerCase().toUpperCase().toLowerCase().normalize('NFC') : composed
}

/** Each path once, the first spelling of it. */
export function distinct(paths: readonly ClaimPath[]): readonly ClaimPath[] {
  const known = new Map<string, ClaimPath>()
  for (const path of paths) if (!known.has(path.key)) known.set(path.key, path)
  return [...known.values()]
}
