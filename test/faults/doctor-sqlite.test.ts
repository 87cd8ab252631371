/** `tenure doctor` on a SQLite file: what is planted is named, and what it says to paste mends it. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, linkSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Check } from '../../src/cli/doctor/check.ts'
import {
  type Apply,
  applyAnywhere,
  complaints,
  diagnose,
  installTenure,
  type Planted,
  testPlanted,
} from '../support/doctor.ts'
import { commonPlanted, held } from '../support/doctor-planted.ts'
import { unprivileged } from '../support/postgres.ts'
import { cleanEnvironment } from '../support/sidecar.ts'
import { tempFolder } from '../support/temp.ts'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const ELECTION = 'default'

const temp = tempFolder()
after(() => temp.remove())
const bin = installTenure(temp.path)
let count = 0

/** A folder of its own for a case; the default file of its user lies in it too. */
function place() {
  const folder = join(temp.path, `case-${++count}`)
  mkdirSync(folder)
  const path = join(folder, 'lease.db')
  return { folder, path, patient: patientOf(`sqlite:${path}`, folder) }
}

function patientOf(url: string, folder: string) {
  return { argv: ['--store', url], environment: { XDG_STATE_HOME: join(folder, 'state') } }
}

/** A file with a lease that a candidate elsewhere holds. */
async function file() {
  const made = place()
  await held(`sqlite:${made.path}`, ELECTION, 'web-9')
  return made
}

/** The file, changed by somebody. */
async function changed(sql: string) {
  const made = await file()
  const database = new DatabaseSync(made.path)
  database.exec(sql)
  database.close()
  return made
}

const apply: Apply = async (paste, patient) => {
  if (paste.into !== 'sqlite') return applyAnywhere(paste, patient, bin)
  const database = new DatabaseSync((patient.argv[1] ?? '').replace('sqlite:', ''))
  database.exec(paste.text)
  database.close()
  return patient
}

const fault = (rest: Omit<Planted, 'status'>): Planted => ({ status: 'fault', ...rest })
const warning = (rest: Omit<Planted, 'status' | 'code'>): Planted => ({ status: 'warning', code: 0, ...rest })

const PLANTED: readonly Planted[] = [
  fault({
    title: 'a folder where a file should be',
    plant: () => {
      const { folder } = place()
      return patientOf(`sqlite:${folder}`, folder)
    },
    check: 'place',
    found: /is a folder/,
    code: 2,
    paste: /^--store sqlite:\S+\/tenure\.db$/,
  }),
  fault({
    title: 'a path below a file',
    plant: () => {
      const { folder, path } = place()
      writeFileSync(path, '')
      return patientOf(`sqlite:${path}/tenure.db`, folder)
    },
    check: 'place',
    found: /lies below .*, which is a file/,
    code: 2,
    paste: /^--store sqlite:$/,
  }),
  fault({
    title: 'a device',
    plant: () => patientOf('sqlite:/dev/null', place().folder),
    check: 'place',
    found: /no regular file/,
    code: 2,
    paste: /^--store sqlite:$/,
  }),
  fault({
    title: 'a database in memory',
    plant: () => patientOf('sqlite::memory:', place().folder),
    check: 'place',
    found: /no other process can see memory/,
    code: 2,
    paste: /^--store sqlite:$/,
  }),
  fault({
    title: 'a URL with settings',
    plant: () => {
      const { folder, path } = place()
      return patientOf(`sqlite:${path}?mode=rw`, folder)
    },
    check: 'place',
    found: /takes no settings/,
    code: 2,
    paste: /^--store sqlite:$/,
  }),
  fault({
    title: "another program's database",
    plant: () => {
      const { path, patient } = place()
      const database = new DatabaseSync(path)
      database.exec('CREATE TABLE theirs (x)')
      database.close()
      return patient
    },
    check: 'content',
    found: /is the database of another program/,
    code: 2,
    paste: /^--store sqlite:\S+\/tenure\.db$/,
  }),
  fault({
    title: 'a file that is no database',
    plant: () => {
      const { path, patient } = place()
      writeFileSync(path, 'no database, but a letter\n'.repeat(100))
      return patient
    },
    check: 'content',
    found: /is not a SQLite database/,
    code: 2,
    paste: /^--store sqlite:\S+\/tenure\.db$/,
  }),
  fault({
    title: 'a damaged file',
    plant: async () => {
      const { path, patient } = await file()
      const bytes = readFileSync(path)
      // All but the first page, which names the program and the tables.
      writeFileSync(path, bytes.fill(0xa5, 4_096))
      return patient
    },
    check: 'content',
    found: /damaged/,
    code: 5,
    paste: /^mv \S+lease\.db \S+lease\.db\.damaged$/,
  }),
  fault({
    title: 'a file that has lost its name',
    plant: async () => (await changed('DELETE FROM place')).patient,
    check: 'content',
    found: /lost the row that names it/,
    code: 5,
    paste: /^mv /,
  }),
  warning({
    title: 'a file in WAL mode',
    plant: async () => (await changed('PRAGMA journal_mode = WAL')).patient,
    check: 'journal',
    found: /journal mode wal/,
    paste: /^PRAGMA journal_mode = TRUNCATE;$/,
  }),
  warning({
    title: 'a file with two names',
    plant: async () => {
      const { path, folder, patient } = await file()
      linkSync(path, join(folder, 'other.db'))
      return patient
    },
    check: 'links',
    found: /2 names/,
    paste: /^cp -p .* && mv /,
  }),
  warning({
    title: 'a file that everybody may write',
    plant: async () => {
      const { path, patient } = await file()
      chmodSync(path, 0o666)
      return patient
    },
    check: 'others',
    found: /every user of this host may write \S+lease\.db$/,
    paste: /^chmod o-w \S+lease\.db$/,
  }),
  warning({
    title: 'a folder in which everybody may exchange the file',
    plant: async () => {
      const { folder, patient } = await file()
      chmodSync(folder, 0o777)
      return patient
    },
    check: 'others',
    found: /may write the folder/,
    paste: /^chmod o-w \S+$/,
  }),
  warning({
    title: 'a twin',
    plant: async () => {
      const { patient } = await file()
      return { ...patient, argv: [...patient.argv, '--identity', 'web-9'] }
    },
    check: 'twin',
    found: /held as "web-9" by session [0-9a-f-]{36} under generation 1/,
    paste: /^--identity web-9-2$/,
  }),
]

describe('on a SQLite file', () => {
  testPlanted([...PLANTED, ...commonPlanted({ sound: () => place().patient, leastTtl: '1s' })], apply)

  test('that is sound, or not there yet, it complains of nothing, and changes not a byte', async () => {
    const { path, patient } = await file()
    const bytes = readFileSync(path)
    const sound = await diagnose(patient)
    assert.deepEqual(complaints(sound), [])
    assert.equal(sound.code, 0)
    assert.deepEqual(readFileSync(path), bytes)
    const missing = place()
    assert.deepEqual(complaints(await diagnose(missing.patient)), [])
    assert.equal(existsSync(missing.path), false)
    assert.equal(existsSync(join(missing.folder, 'state')), false)
  })

  test('that is newer it asks for the newer Tenure, never for another file', async () => {
    const { patient } = await changed('PRAGMA user_version = 99')
    const { code, checks } = await diagnose(patient)
    const content = checks.find(({ name }) => name === 'content')
    assert.match(content?.found ?? '', /schema version 99/)
    assert.equal(content?.remedy?.paste, null)
    assert.equal(code, 5)
  })

  test('whose lock is held it says so, and is content once it is free', async () => {
    const { path, patient } = await file()
    const database = new DatabaseSync(path)
    database.exec('BEGIN IMMEDIATE')
    const { code, checks } = await diagnose(patient)
    database.close()
    const lock = checks.find(({ name }) => name === 'writable')
    assert.match(lock?.found ?? '', /was locked for more than/)
    assert.match(lock?.remedy?.paste?.text ?? '', /^fuser -v /)
    assert.equal(code, 4)
    assert.deepEqual(complaints(await diagnose(patient)), [])
  })
})

const nobody = await unprivileged()

describe('as a user without rights', { skip: nobody === null && 'only root can become another user' }, () => {
  interface Case {
    readonly title: string
    readonly target: 'folder' | 'file' | 'journal'
    readonly owner: 'self' | 'root'
  }
  const CASES: readonly Case[] = [
    { title: 'a folder of its own that it may not write', target: 'folder', owner: 'self' },
    { title: "somebody else's folder", target: 'folder', owner: 'root' },
    { title: 'a file of its own that it may not write', target: 'file', owner: 'self' },
    { title: "somebody else's file", target: 'file', owner: 'root' },
    { title: "somebody else's journal", target: 'journal', owner: 'root' },
  ]
  chmodSync(temp.path, 0o755)

  /** As another user, in a process of its own: rights are not checked for root. */
  function examineAsNobody(path: string): { code: number; checks: readonly Check[] } {
    const args = [MAIN, 'doctor', '--json', '--listen', '127.0.0.1:0', '--store', `sqlite:${path}`]
    try {
      const stdout = execFileSync(process.execPath, args, {
        ...nobody,
        cwd: '/',
        env: cleanEnvironment({ HOME: '/' }),
      })
      return { code: 0, checks: JSON.parse(String(stdout)).checks }
    } catch (error) {
      const { status, stdout } = error as { status: number; stdout: Buffer }
      return { code: status, checks: JSON.parse(String(stdout)).checks }
    }
  }

  for (const { title, target, owner } of CASES) {
    test(`the doctor names ${title}, and its remedy, pasted, cures it`, async () => {
      const { uid = 0, gid = 0 } = nobody ?? {}
      const { folder, path } = await file()
      writeFileSync(`${path}-journal`, '')
      for (const one of [folder, path, `${path}-journal`]) chownSync(one, uid, gid)
      const spoiled = { folder, file: path, journal: `${path}-journal` }[target]
      if (owner === 'root') chownSync(spoiled, 0, 0)
      chmodSync(spoiled, target === 'folder' ? 0o555 : 0o444)
      const { code, checks } = examineAsNobody(path)
      const rights = checks.find(({ name }) => name === 'rights')
      assert.equal(code, 4)
      assert.ok(rights?.found.includes(spoiled), rights?.found)
      const text = rights?.remedy?.paste?.text ?? ''
      assert.match(text, owner === 'root' ? new RegExp(`^chown ${uid} `) : /^chmod u\+/)
      execFileSync('sh', ['-c', text])
      assert.deepEqual(complaints(examineAsNobody(path)), [])
    })
  }
})

/** In a mount namespace of its own, which ends with the process: `prepare` is for a shell, with the file as $0. */
function examineMounted(path: string, prepare: string): { code: number; checks: readonly Check[] } {
  const args = [
    process.execPath,
    MAIN,
    'doctor',
    '--json',
    '--listen',
    '127.0.0.1:0',
    '--store',
    `sqlite:${path}`,
  ]
  const script = ['-m', 'sh', '-c', `${prepare} && exec "$@"`, path, ...args]
  const { status, stdout } = spawnSync('unshare', script, { env: cleanEnvironment(), encoding: 'utf8' })
  return { code: status ?? -1, checks: JSON.parse(stdout).checks }
}

describe('on a mount', { skip: nobody === null && 'only root can mount' }, () => {
  test('that is read-only the doctor says so', async () => {
    const { folder, path } = await file()
    const mount = `mount --bind ${folder} ${folder} && mount -o remount,ro,bind ${folder}`
    const { code, checks } = examineMounted(path, mount)
    const rights = checks.find(({ name }) => name === 'rights')
    assert.match(`${code} ${rights?.found} ${rights?.remedy?.advice}`, /^4 .*\(EROFS\) mount .* for writing/)
  })

  test('of the file alone the doctor asks for its folder', async () => {
    const { path } = await file()
    const { code, checks } = examineMounted(path, 'mount --bind "$0" "$0"')
    const warned = checks.find(({ name, status }) => name === 'place' && status === 'warning')
    assert.match(`${code} ${warned?.found}`, /^0 .*mounted as a single file: .*mount its folder/)
  })
})
