/** What an image says about how it is started: folder, command, user, environment. */
import { type ContainerAttempt, thinned } from '../attempt.ts'
import { shell } from '../cells.ts'

const UP = '../../../../../../../../../../../..'
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
/** Descriptors that runc had open are among the first ones; an agent of ours has some up to 40. */
const EVERYWHERE = numbers(3, 10)
const OURS = numbers(11, 40)
const on = (fd: number): Pick<ContainerAttempt, 'on'> => (OURS.includes(fd) ? { on: ['builtin', 'rootless'] } : {})

const workingFolders = [...EVERYWHERE, ...OURS].map(
  (fd): ContainerAttempt => ({
    name: `a working folder at descriptor ${fd} is not one of the host`,
    idea: 'CVE-2024-21626',
    ...on(fd),
    image: () => ({ config: { WorkingDir: `/proc/self/fd/${fd}/` } }),
    container: () => ({ command: shell(`cat ./${UP}$SECRET_FILE .$SECRET_FILE; echo held`) }),
  }),
)

const commands = [...EVERYWHERE, ...OURS].map(
  (fd): ContainerAttempt => ({
    name: `a command behind descriptor ${fd} is not one of the host`,
    idea: 'CVE-2024-21626, CVE-2019-5736',
    ...on(fd),
    container: ({ folder }) => ({
      command: [`/proc/self/fd/${fd}/${UP}${folder}/busybox`, 'echo', 'ESCAPED the host has this program'],
    }),
    ends: 'refused',
  }),
)

const OTHER_FOLDERS: Readonly<Record<string, string>> = {
  'another process': '/proc/1/cwd',
  'the root of another process': '/proc/1/root',
  'a descriptor and up': `/proc/self/fd/7/${UP}`,
  'a namespace': '/proc/self/ns/mnt',
}

const otherFolders = Object.entries(OTHER_FOLDERS).map(
  ([what, workingDir]): ContainerAttempt => ({
    name: `a working folder that is ${what} is not one of the host`,
    idea: 'CVE-2024-21626',
    container: () => ({ workingDir, command: shell(`cat ./${UP}$SECRET_FILE .$SECRET_FILE; echo held`) }),
  }),
)

/** Of images that must not run as root: none of these may be taken for another user. */
const ROOT_BY_ANOTHER_NAME = [
  ...['0', '00', '+0', '-0', '0x0', ' 0', '0 ', '0:1000', 'root', 'root:0', '4294967296', '18446744073709551616', '-1'],
  ...['0\n1000', '1000\n0', '1000:0\n', 'no-such-user', '', ':', ':0', '0:'],
]

const users = ROOT_BY_ANOTHER_NAME.map(
  (User): ContainerAttempt => ({
    name: `an image with the user ${JSON.stringify(User)} does not run as root where it must not`,
    idea: 'CVE-2022-0811, CVE-2023-0778: users that are read in two ways',
    image: () => ({ config: { User } }),
    container: () => ({
      securityContext: { runAsNonRoot: true },
      command: shell('[ "$(id -u)" = 0 ] && echo ESCAPED it is root; echo held'),
    }),
  }),
)

/** Programs of the host that took these variables along would leave files in the canaries' folder. */
const ENVIRONMENT = (folder: string) => [
  ...['LD_DEBUG=all', `LD_DEBUG_OUTPUT=${folder}/open/ld-debug`, `LD_LIBRARY_PATH=${folder}/open`],
  ...[`NODE_V8_COVERAGE=${folder}/open/coverage`, `NODE_OPTIONS=--report-dir=${folder}/open --report-on-signal`],
  ...['GODEBUG=gctrace=1', `BASH_ENV=${folder}/open/kept`, `ENV=${folder}/open/kept`],
]

export const imageConfigs: readonly ContainerAttempt[] = [
  ...thinned(2, workingFolders),
  ...thinned(2, commands),
  ...thinned(2, otherFolders),
  ...thinned(5, users),
  {
    name: 'the environment of an image does not reach programs of the host',
    idea: 'CVE-2025-23266, CVE-2019-14271: LD_PRELOAD, libnss of the container',
    image: ({ folder }) => ({ config: { Env: ['PATH=/bin', ...ENVIRONMENT(folder)] } }),
    container: () => ({
      command: shell('sleep 2; echo held'),
      lifecycle: { postStart: { exec: { command: ['/bin/true'] } } },
      tty: true,
    }),
  },
]
