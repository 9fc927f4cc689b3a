/** Images whose folders and files lead elsewhere when a container of them is started. */
import { type TestEntry, testTar } from '../../../src/container-runtime/images/unpack/tar-entries.contract.ts'
import { type ContainerAttempt, thinned } from '../attempt.ts'
import type { Goal } from '../canaries.ts'
import { shell } from '../cells.ts'

const UP = '../../../../../../../../../../../..'
const link = (name: string, to: string): TestEntry => ({ name, type: '2', link: to, uid: 0, gid: 0 })

/** Where links lead. */
const TARGETS: Readonly<Record<string, (goal: Goal) => string>> = {
  'an absolute link': ({ folder }) => folder,
  'a relative link': ({ folder }) => `${UP}${folder}`,
  'a link through /proc/1/root': ({ folder }) => `/proc/1/root${folder}`,
  'a link through a descriptor': ({ folder }) => `/proc/self/fd/3/${UP}${folder}`,
}

/** Files of /etc lead to the file of a link, folders to its folder. */
const PLACES: Readonly<Record<string, readonly (readonly [name: string, below: string])[]>> = {
  '/proc': [['proc', '']],
  '/sys': [['sys', '']],
  '/dev': [['dev', '']],
  '/etc': [['etc', '/open']],
  'files of /etc, /tmp and /run': [
    ...['etc/hosts', 'etc/hostname', 'etc/resolv.conf'].map((name) => [name, '/writable'] as const),
    ...['etc/passwd', 'etc/group'].map((name) => [name, '/etc/passwd'] as const),
    ['tmp', '/open'],
    ['run', '/open'],
  ],
}

const WRITE_ALL = shell(
  'for d in /etc /tmp /run /dev /sys /proc; do cat $d/secret $d/kept; echo escaped > $d/link-followed; done; for f in /etc/hosts /etc/hostname /etc/resolv.conf; do echo escaped > $f; done; echo held',
)

const links = Object.entries(PLACES).flatMap(([place, names]) =>
  Object.entries(TARGETS).map(
    ([what, target]): ContainerAttempt => ({
      name: `an image with ${what} at ${place} changes nothing on the host`,
      idea: 'CVE-2023-27561, CVE-2021-30465',
      image: (goal) => {
        const entries = names.map(([name, below]) => link(name, `${target(goal)}${below}`))
        return { layers: [{ tar: testTar(entries) }], config: { User: 'hostuser' } }
      },
      container: () => ({ command: ['/bin/busybox', ...WRITE_ALL] }),
    }),
  ),
)

/** Where a volume is mounted, in an image with links. */
const mountTargets = Object.entries(TARGETS).map(
  ([what, target]): ContainerAttempt => ({
    name: `a volume mounted behind ${what} stays inside`,
    idea: 'CVE-2021-30465',
    volumes: { disk: { emptyDir: {} } },
    image: (goal) => ({
      layers: [{ tar: testTar([link('data', target(goal)), link('file', `${target(goal)}/open/made`)]) }],
    }),
    container: () => ({
      volumeMounts: [
        { name: 'disk', mountPath: '/data/volume/deep' },
        { name: 'disk', mountPath: '/file' },
      ],
      workingDir: '/data/working',
      terminationMessagePath: '/data/open/termination-log',
      command: shell('cat /data/secret; echo escaped > /data/open/written; echo held'),
    }),
  }),
)

const passwd = (what: string, entry: TestEntry, more: Partial<ContainerAttempt> = {}): ContainerAttempt => ({
  name: `an image whose /etc/passwd is ${what} harms neither the node nor its neighbours`,
  idea: 'a file that is read by the runtime',
  image: () => ({ layers: [{ tar: testTar([entry]), compression: 'gzip' }], config: { User: 'someone' } }),
  container: () => ({}),
  ...more,
})

/** In an image the first lines of passwd name nobody. */
const LARGE = 64 << 20

export const imageRoots: readonly ContainerAttempt[] = [
  ...thinned(3, links),
  ...thinned(2, mountTargets),
  // Debian's containerd opens a fifo and waits for ever.
  passwd('a fifo', { name: 'etc/passwd', type: '6' }, { on: ['builtin', 'rootless'] }),
  passwd('an endless device', link('etc/passwd', '/dev/zero'), { on: ['builtin', 'rootless'] }),
  passwd('a folder', { name: 'etc/passwd', type: '5', mode: 0o755 }),
  passwd(
    'very large',
    { name: 'etc/passwd', data: Buffer.alloc(LARGE, 'someone-else:x:1:1::/:/bin/sh\n') },
    { on: ['builtin'] },
  ),
  passwd('one endless line', { name: 'etc/passwd', data: Buffer.alloc(8 << 20, ':') }, { on: ['builtin'] }),
  {
    name: 'a program whose interpreter is /proc/self/exe does not run ours',
    idea: 'CVE-2019-5736',
    image: () => ({ layers: [{ tar: testTar([{ name: 'evil', data: '#!/proc/self/exe\n', mode: 0o755 }]) }] }),
    ends: 'anyhow',
    container: () => ({ command: ['/evil'] }),
  },
]
