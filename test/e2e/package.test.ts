/** The libraries as an application gets them: installed, without our sources, without our tools. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { promisify } from 'node:util'
import { tempFolder } from '../support/temp.ts'

const run = promisify(execFile)
const manifest = JSON.parse(await readFile('package.json', 'utf8'))
const names = Object.keys(manifest.exports).filter((path) => manifest.exports[path].types !== undefined)

const temporary = tempFolder()
const folder = temporary.path
after(() => temporary.remove())
before(async () => {
  const installed = join(folder, 'node_modules', 'tenure')
  await mkdir(installed, { recursive: true })
  await run(process.execPath, ['scripts/build-libraries.ts', join(installed, 'dist')])
  await cp('package.json', join(installed, 'package.json'))
  await symlink(join(process.cwd(), 'node_modules', '@types'), join(folder, 'node_modules', '@types'))
  await symlink(
    join(process.cwd(), 'node_modules', 'undici-types'),
    join(folder, 'node_modules', 'undici-types'),
  )
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
})

for (const name of names) {
  const specifier = name.replace('.', 'tenure')

  it(`${specifier} is imported by plain JavaScript and needs no other package`, async () => {
    const script = `import * as library from '${specifier}'; process.stdout.write(String(Object.keys(library).length))`
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: folder })
    assert.ok(Number(stdout) > 0)
  })

  it(`${specifier} type-checks in an application, declarations included`, async () => {
    const file = `${specifier.replace('/', '-')}.ts`
    await writeFile(
      join(folder, file),
      `import * as library from '${specifier}'\nexport const names: string[] = Object.keys(library)\n`,
    )
    const compiler = join(process.cwd(), 'node_modules', 'typescript', 'bin', 'tsc')
    const flags = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--types',
      'node',
      file,
    ]
    await run(process.execPath, [compiler, ...flags], { cwd: folder }).catch((error) =>
      assert.fail(error.stdout),
    )
  })
}
