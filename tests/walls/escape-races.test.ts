/**
 * Mounts that a sidecar races against: some thousand attempts in all. `SAMPAN_RACE_ATTEMPTS=100000` makes as many for each
 * race, and takes hours.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asRoot } from '../linux/as-root.ts'
import { escapesIn } from './attempt.ts'
import { Environment } from './environments.ts'
import { loadImages } from './images.ts'
import { type Race, runRace } from './race.ts'

const ATTEMPTS = Number(process.env.SAMPAN_RACE_ATTEMPTS ?? 500)
/** Generous, for a slow machine. */
const TIME_LIMIT = 120_000 + ATTEMPTS * 200

const whole = { name: 'v', mountPath: '/v' }

const RACES: readonly Race[] = [
  {
    name: 'a subPath that becomes a link does not lead to the host',
    idea: 'CVE-2021-25741',
    mounts: (i) => [{ name: 'v', mountPath: `/part/${i}`, subPath: String(i) }],
    place: (i) => `/part/${i}`,
    refusesLinks: true,
  },
  {
    name: 'a subPath that is made behind a link does not lead to the host',
    idea: 'CVE-2017-1002101',
    mounts: (i) => [{ name: 'v', mountPath: `/part/${i}`, subPath: `${i}/open` }],
    place: (i) => `/part/${i}`,
    refusesLinks: true,
  },
  {
    name: 'a mount target that becomes a link does not lead to the host',
    idea: 'CVE-2021-30465',
    mounts: (i) => [...(i === 0 ? [whole] : []), { name: 'other', mountPath: `/v/${i}/empty` }],
    place: (i) => `/v/${i}`,
  },
  {
    name: 'a working folder, a terminal and a termination message behind a link do not lead to the host',
    idea: 'CVE-2025-31133, CVE-2025-52565, CVE-2025-52881',
    mounts: (i) => (i === 0 ? [whole] : []),
    place: (i) => `/v/${i}`,
    container: { workingDir: '/v/1/open', terminationMessagePath: '/v/2/open/kept', tty: true },
  },
]

asRoot('raced mounts', () => {
  let environment: Environment
  beforeAll(async () => {
    environment = await Environment.up('builtin')
    await loadImages(environment, new Map())
  })
  afterAll(() => environment?.[Symbol.asyncDispose](), 120_000)

  for (const race of RACES)
    test(`${race.name} (${race.idea})`, { timeout: TIME_LIMIT }, async () => {
      const { text, ran, refused } = await runRace(environment, race, ATTEMPTS)
      expect(escapesIn(`${text}\nheld`, environment.canaries.secrets).join('\n')).toBe('')
      expect(environment.canaries.harm()).toEqual([])
      // Where the race is a close one both happen.
      expect(ran).toBeGreaterThan(0)
      if (race.refusesLinks) expect(refused).toBeGreaterThan(0)
    })
})
