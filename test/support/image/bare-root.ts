/** A folder that holds what the image would, and ways to run in it what the image runs, without a container engine. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Stage } from './dockerfile.ts'

/** Copies into `root` what the stage copies; `find` tells where a file of the build stage lies on this machine. */
export function layOut(root: string, stage: Stage, find: (path: string) => string): void {
  // Whoever runs in it is somebody else.
  chmodSync(root, 0o755)
  for (const { sources, target } of stage.copies) {
    for (const source of sources) {
      const path = join(root, target.endsWith('/') ? join(target, basename(source)) : target)
      mkdirSync(dirname(path), { recursive: true })
      copyFileSync(find(source), path)
    }
  }
}

/** Adds what the base image brings: the libraries that `program` is linked with, and a place for /proc. */
export function addLibraries(root: string, program: string): void {
  const told = execFileSync('ldd', [program], { encoding: 'utf8' })
  for (const [, path = ''] of told.matchAll(/(?:=>\s*|^\s*)(\/\S+) \(0x/gm)) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    copyFileSync(path, join(root, path))
  }
  mkdirSync(join(root, 'proc'))
}

/** A word for the shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}

/**
 * What a shell does to run `command` with the words that follow, beside the file itself: no environment, the folder as
 * the working one.
 */
export function inFolder(root: string, command: readonly string[]): string {
  const [program = '', ...more] = command.map((word) => (word.startsWith('/') ? join(root, word) : word))
  return `cd ${quoted(root)}; exec env -i ${[program, ...more].map(quoted).join(' ')} "$@"`
}

/** The same as process 1 of a namespace of its own, as `user`, with the folder as a root that cannot be written. */
export function asContainer(root: string, command: readonly string[], user: string): string {
  const at = quoted(root)
  return [
    `mount --bind ${at} ${at}`,
    `mount -t proc proc ${at}/proc`,
    `mount -o remount,bind,ro ${at}`,
    `exec env -i "$(command -v chroot)" --userspec=${quoted(user)} ${at} ${command.map(quoted).join(' ')} "$@"`,
  ].join(' && ')
}

export const NAMESPACES = ['unshare', '--mount', '--pid', '--fork', '--kill-child'] as const

/** Why there are no namespaces for tests; false where there are. */
export function noNamespaces(): string | false {
  const [program, ...flags] = NAMESPACES
  if (spawnSync(program, [...flags, 'mount', '-t', 'tmpfs', 'none', '/tmp']).status === 0) return false
  return 'namespaces may not be made here: root, or a user with CAP_SYS_ADMIN, runs this test'
}
