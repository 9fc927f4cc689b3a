/** Device nodes, setuid programs and file capabilities. */
import { type TestEntry, testTar } from '../../../src/container-runtime/images/unpack/tar-entries.contract.ts'
import type { Attempt } from '../attempt.ts'
import { shell } from '../cells.ts'
import { attackerProgram } from '../images.ts'

/** Type and numbers: the disk, memory, loop control, FUSE, the kernel's log. */
const NODES = [
  ['b', 'root'],
  ['c', '1:1'],
  ['c', '10:237'],
  ['c', '10:229'],
  ['c', '1:11'],
] as const

const openAll = (folder: string) =>
  NODES.map(([type, numbers]) => `attacker device ${folder} ${type} ${numbers}`).join('; ')

const ALLOWED = 'null zero full random urandom tty ptmx fuse console'

/** In a layer: owner root, numbers of the first disk. */
const nodes: TestEntry[] = [
  { name: 'disk', type: '4', major: 259, minor: 0, mode: 0o666, uid: 0, gid: 0 },
  { name: 'memory', type: '3', major: 1, minor: 1, mode: 0o666, uid: 0, gid: 0 },
  { name: 'log', type: '3', major: 1, minor: 11, mode: 0o666, uid: 0, gid: 0 },
]

/** CAP_SYS_ADMIN, permitted and effective. */
const FILE_CAPABILITY = {
  'SCHILY.xattr.security.capability': Buffer.from('0100000200002000000000000000000000000000', 'hex').toString('latin1'),
}
const program = (more: Partial<TestEntry>): TestEntry => ({
  name: 'bin/strong',
  data: attackerProgram(),
  mode: 0o755,
  uid: 0,
  gid: 0,
  ...more,
})
export const devices: readonly Attempt[] = [
  ...['/tmp', '/dev', '/dev/shm'].map((folder) => ({
    name: `device nodes made in ${folder} do not open`,
    idea: 'mknod is a default capability',
    script: openAll(folder),
    ...(folder === '/tmp' && { worksPrivileged: true as const }),
  })),
  ...['disk', 'memory'].map((volume) => ({
    name: `device nodes made in an emptyDir on ${volume} do not open`,
    idea: 'mknod is a default capability',
    cell: 'volumes' as const,
    script: openAll(`/v/${volume}`),
  })),
  {
    name: 'device nodes do not open where a pod with SYS_ADMIN mounts without nodev',
    idea: 'the device cgroup',
    cell: 'sys-admin',
    script: `mkdir -p /tmp/m; mount -t tmpfs none /tmp/m; ${openAll('/tmp/m')}; mount -o remount,dev /; ${openAll('/tmp')}`,
  },
  {
    name: 'a pod has no devices but the usual ones',
    idea: 'the device cgroup',
    script: `for f in /dev/*; do [ -L $f ] && continue; [ -c $f ] || [ -b $f ] || continue; case " ${ALLOWED} " in *" \${f#/dev/} "*) ;; *) echo ESCAPED $f;; esac; done; echo held`,
    worksPrivileged: true,
  },
  {
    name: 'device nodes in the layers of an image do not open',
    idea: 'a layer is a tar of root',
    image: () => ({ layers: [{ tar: testTar(nodes) }], isMalformed: true }),
    container: () => ({
      command: shell(
        'for f in /disk /memory /log; do head -c 1 $f >/dev/null 2>&1 && echo ESCAPED $f; done; echo held',
      ),
    }),
  },
  {
    name: 'a setuid program gives nothing with allowPrivilegeEscalation: false',
    idea: 'no_new_privs',
    image: () => ({ layers: [{ tar: testTar([program({ mode: 0o4755 })]) }] }),
    ends: 'ran',
    container: () => ({
      securityContext: { runAsUser: 1000, allowPrivilegeEscalation: false },
      command: ['/bin/strong', 'privileges'],
    }),
  },
  {
    name: 'a program with file capabilities gives nothing with allowPrivilegeEscalation: false',
    idea: 'no_new_privs',
    image: () => ({ layers: [{ tar: testTar([program({ pax: FILE_CAPABILITY })]) }] }),
    // The kernel may refuse to run it at all.
    ends: 'anyhow',
    container: () => ({
      securityContext: { runAsUser: 1000, allowPrivilegeEscalation: false },
      command: ['/bin/strong', 'privileges'],
    }),
  },
  {
    name: 'a program with file capabilities gets none that the pod has not',
    idea: 'the bounding set, CVE-2022-24769',
    image: () => ({ layers: [{ tar: testTar([program({ pax: FILE_CAPABILITY })]) }] }),
    // The kernel may refuse to run it at all.
    ends: 'anyhow',
    container: () => ({ securityContext: { runAsUser: 1000 }, command: ['/bin/strong', 'probe', 'mount'] }),
  },
]
