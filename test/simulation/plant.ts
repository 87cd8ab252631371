/** `node --import ./test/simulation/plant.ts …` with `PLANTED_BUG=name`: loads the source with that bug in it. */
import { registerHooks } from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MUTANTS } from './mutants.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const mutant = MUTANTS.find(({ name }) => name === process.env.PLANTED_BUG)
if (mutant === undefined)
  throw new Error(`PLANTED_BUG=${process.env.PLANTED_BUG} is not the name of a planted bug`)

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.startsWith('file:') || loaded.source == null) return loaded
    const file = relative(root, fileURLToPath(url))
    const patches = mutant.patches.filter((patch) => patch.file === file)
    if (patches.length === 0) return loaded
    let source = Buffer.from(loaded.source as Uint8Array).toString('utf8')
    for (const { find, replace } of patches) {
      if (source.split(find).length !== 2)
        throw new Error(`${file} does not hold ${JSON.stringify(find)} exactly once`)
      source = source.replace(find, () => replace)
    }
    return { ...loaded, source }
  },
})
