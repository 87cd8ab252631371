/** The commands that the documentation tells people to run. */
import { globSync, readFileSync } from 'node:fs'

const PAGES = ['README.md', 'CONTRIBUTING.md', 'docs/**/*.md', 'examples/**/README.md', 'charts/*/README.md']
const BLOCK = /```sh\n(.*?)```/gs

export interface DocumentedCommand {
  readonly page: string
  /** One command line without its remark, or a whole script. */
  readonly text: string
}

export function documentedCommands(): readonly DocumentedCommand[] {
  return globSync(PAGES).flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(BLOCK)]
      .flatMap(([, block = '']) => commandsOf(block))
      .map((text) => ({ page, text })),
  )
}

function commandsOf(block: string): readonly string[] {
  if (block.startsWith('#!')) return [block]
  return block
    .replaceAll(/ *\\\n */g, ' ')
    .split('\n')
    .map((line) => line.replace(/\s+#\s.*$/, '').trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
}
