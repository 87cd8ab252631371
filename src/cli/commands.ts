import type { Command } from './command.ts'

interface Entry {
  /** One line for the list of commands. */
  readonly summary: string
  load(): Promise<{ readonly command: Command }>
}

/** Every subcommand, loaded when it is called: a sidecar does not carry the others in memory. */
export const COMMANDS: Readonly<Record<string, Entry>> = {
  run: { summary: 'run the sidecar', load: () => import('./start.ts') },
  status: { summary: 'who leads, and how this instance stands', load: () => import('./status.ts') },
  wait: { summary: 'wait until this instance leads, or is ready to', load: () => import('./wait.ts') },
  history: { summary: 'the last tenures, and why they ended', load: () => import('./history.ts') },
  resign: { summary: 'make this instance step down', load: () => import('./resign.ts') },
  drain: { summary: 'step down, and wait until the lease is given back', load: () => import('./drain.ts') },
  doctor: { summary: 'what is wrong here, and what to do about it', load: () => import('./doctor.ts') },
  migrate: { summary: 'install or update the schema in PostgreSQL', load: () => import('./migrate.ts') },
  demo: {
    summary: 'why a lease needs a fence: a story with real processes',
    load: () => import('./demo.ts'),
  },
  config: { summary: 'show the settings, or their schema', load: () => import('./config.ts') },
}
