/** The parts into which esbuild splits the program, for the bundle and for the executable. */
import { build } from 'esbuild'

export interface Part {
  readonly name: string
  readonly contents: Uint8Array
}

/** The name of the part that is the program; importing it runs a command line. */
export const MAIN_PART = 'main.js'

/** Some dependencies are CommonJS, and ask for Node's own modules in its way. */
const REQUIRE =
  "import { createRequire as tenureRequire } from 'node:module'; const require = tenureRequire('/');"

export async function buildParts(): Promise<readonly Part[]> {
  const { outputFiles } = await build({
    entryPoints: ['src/cli/main.ts'],
    outdir: 'dist',
    write: false,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    minify: true,
    legalComments: 'none',
    // Optional native parts of pg, which are not installed.
    external: ['pg-native'],
    // Tables of every charset and every media type of the world, for an API that speaks JSON in UTF-8.
    alias: {
      'iconv-lite': './scripts/bundle/iconv-utf8.cjs',
      'mime-db': './scripts/bundle/mime-types.json',
    },
    banner: { js: REQUIRE },
    logLevel: 'warning',
  })
  return outputFiles.map(({ path, contents }) => ({ name: path.slice(path.lastIndexOf('/') + 1), contents }))
}
