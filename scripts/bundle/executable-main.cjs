/**
 * What the single executable runs first: serves the parts of the program, which lie in the executable as assets,
 * and imports it. The main script of an executable may import Node's own modules alone; a script that the
 * module loader has loaded may import all. So one of those does it.
 */
const { createRequire, registerHooks } = require('node:module')
const { getAssetKeys, getRawAsset } = require('node:sea')
const { setFlagsFromString } = require('node:v8')

const SCHEME = 'tenure:'
const START = `${SCHEME}start`

// As in the bundle: little lives long here.
setFlagsFromString('--semi-space-growth-factor=1')

const parts = new Set(getAssetKeys())

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === START) return { url: START, format: 'commonjs', shortCircuit: true }
    const inside = specifier.startsWith(SCHEME) || context.parentURL?.startsWith(SCHEME)
    const name = specifier.replace(/^(tenure:|\.\/)/, '')
    if (inside && parts.has(name)) return { url: SCHEME + name, format: 'module', shortCircuit: true }
    return next(specifier, context)
  },
  load(url, context, next) {
    if (url === START) {
      return { format: 'commonjs', source: `import('${SCHEME}main.js')`, shortCircuit: true }
    }
    if (!url.startsWith(SCHEME)) return next(url, context)
    const source = Buffer.from(getRawAsset(url.slice(SCHEME.length)))
    return { format: 'module', source, shortCircuit: true }
  },
})

// Node puts the name that was typed here. Whoever starts this program once more, as a script of Node is started
// (`spawn(process.execPath, [process.argv[1], …])`), names it by its path, and that is no argument.
process.argv[1] = process.execPath
if (process.argv[2] === process.execPath) process.argv.splice(2, 1)

createRequire(process.execPath)(START)
