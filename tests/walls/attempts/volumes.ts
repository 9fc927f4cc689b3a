/** Volumes: parts of them that are links, places they are mounted at, the termination message. */
import { type TestEntry, testTar } from '../../../src/container-runtime/images/unpack/tar-entries.contract.ts'
import { type Attempt, type ContainerAttempt, thinned } from '../attempt.ts'
import { shell } from '../cells.ts'

const UP = '../../../../../../../../../../../..'
const disk = { disk: { emptyDir: {} } }
/** Makes the links in the volume. */
const LINKS = [
  'ln -s $GOAL $V-disk/absolute',
  `ln -s ${UP}$GOAL $V-disk/relative`,
  'ln -s /proc/1/root$GOAL $V-disk/process',
  'ln -s /proc/self/cwd $V-disk/self',
  'ln -s .. $V-disk/up',
  'ln -s $SECRET_FILE $V-disk/file',
  'ln -s absolute $V-disk/twice',
  'mkdir $V-disk/folder && ln -s ../absolute $V-disk/folder/inner',
  'ln -s loop $V-disk/loop',
].join('; ')

const PARTS = [
  ...['absolute', 'relative', 'process', 'self', 'up', 'file', 'twice', 'folder/inner', 'loop'],
  ...['absolute/open', 'absolute/made-by-the-node', 'up/made-by-the-node', 'folder/inner/open/made', 'up/up/up/up/etc'],
]

/** What an attempt tries with what it was given. */
const USE = 'cat /part /part/secret /part/kept; ls /part; echo escaped > /part/written-through-subpath; echo held'

const parts = PARTS.map(
  (subPath): ContainerAttempt => ({
    name: `a subPath that is the link ${subPath} is refused`,
    idea: 'CVE-2017-1002101',
    volumes: disk,
    prepare: LINKS,
    container: () => ({ volumeMounts: [{ name: 'disk', mountPath: '/part', subPath }], command: shell(USE) }),
    ends: 'refused',
  }),
)

const readOnlyParts = ['absolute', 'file'].map(
  (subPath): ContainerAttempt => ({
    name: `a read-only subPath that is the link ${subPath} is refused`,
    idea: 'CVE-2017-1002101',
    volumes: disk,
    prepare: LINKS,
    container: () => ({
      volumeMounts: [{ name: 'disk', mountPath: '/part', subPath, readOnly: true }],
      command: shell(USE),
    }),
    ends: 'refused',
  }),
)

const expressions = ['../..', '../../../../../etc', '/etc', 'a/../../..'].map(
  (value): ContainerAttempt => ({
    name: `a subPathExpr that becomes ${value} is refused`,
    idea: 'CVE-2021-25741, CVE-2023-3676',
    volumes: disk,
    container: () => ({
      env: [{ name: 'PART', value }],
      volumeMounts: [{ name: 'disk', mountPath: '/part', subPathExpr: '$(PART)' }],
      command: shell(USE),
    }),
    ends: 'refused',
  }),
)

/** A volume over a file system of the kernel must not take its protection away. */
const STILL_PROTECTED =
  'for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/kernel/uevent_helper; do [ -e $f ] && grep -q " /proc " /proc/mounts && ! [ -L $f ] && (: >> $f) 2>/dev/null && [ "$(stat -f -c %T $f)" = proc ] && echo ESCAPED $f; done; echo held'

const overKernel = ['/proc', '/proc/self', '/proc/sys', '/sys', '/sys/fs/cgroup', '/dev', '/dev/shm', '/'].map(
  (mountPath): ContainerAttempt => ({
    name: `a volume mounted at ${mountPath} gives no rights`,
    idea: 'CVE-2019-16884, CVE-2025-52881: a fake /proc',
    volumes: disk,
    container: () => ({
      volumeMounts: [{ name: 'disk', mountPath }],
      command: ['/bin/busybox', ...shell(STILL_PROTECTED)],
    }),
  }),
)

const link = (name: string, to: string): TestEntry => ({ name, type: '2', link: to, uid: 0, gid: 0 })
const throughLinks = ['/x/sys', '/x/self/attr', '/x/sysrq-trigger'].map(
  (mountPath): ContainerAttempt => ({
    name: `a volume mounted at ${mountPath}, where /x is /proc, gives no rights`,
    idea: 'CVE-2023-27561, CVE-2025-31133',
    volumes: disk,
    image: () => ({ layers: [{ tar: testTar([link('x', '/proc')]) }] }),
    container: () => ({ volumeMounts: [{ name: 'disk', mountPath }], command: shell(STILL_PROTECTED) }),
  }),
)

const MESSAGE_PATHS: Readonly<Record<string, string>> = {
  'a link in a volume': '/v/file',
  'behind a link in a volume': '/v/absolute/secret',
  'a descriptor': '/proc/self/fd/3',
  'the environment of another process': '/proc/1/environ',
  'a name that goes up': `/tmp/${UP}/etc/shadow`,
}

const messages = Object.entries(MESSAGE_PATHS).map(
  ([what, terminationMessagePath]): ContainerAttempt => ({
    name: `a termination message at ${what} shows and changes nothing of the host`,
    idea: 'the node reads it',
    volumes: disk,
    prepare: LINKS,
    container: () => ({
      terminationMessagePath,
      volumeMounts: [{ name: 'disk', mountPath: '/v' }],
      command: shell('rm -f /dev/termination-log; ln -sf $SECRET_FILE /dev/termination-log; echo held'),
    }),
  }),
)

export const volumes: readonly Attempt[] = [
  ...thinned(4, parts),
  ...thinned(2, readOnlyParts),
  ...thinned(2, expressions),
  ...thinned(2, overKernel),
  ...throughLinks,
  ...thinned(2, messages),
  {
    name: 'the file of a termination message cannot be replaced by a link or a fifo',
    idea: 'the node reads it',
    container: () => ({
      command: shell(
        'rm -f /dev/termination-log; mv /dev/termination-log /dev/x; ln -sf $SECRET_FILE /dev/termination-log; mkfifo /dev/termination-log; mount --bind /etc/passwd /dev/termination-log; echo held',
      ),
    }),
  },
  {
    name: 'a termination message of many megabytes is cut',
    idea: 'the node reads it',
    ends: 'ran',
    container: () => ({ command: shell('yes escaped | head -c 33554432 > /dev/termination-log; echo held') }),
  },
  {
    name: 'a read-only volume cannot be made writable',
    idea: 'remount',
    volumes: disk,
    ends: 'ran',
    container: () => ({
      volumeMounts: [{ name: 'disk', mountPath: '/v', readOnly: true }],
      command: shell(
        'mount -o remount,rw /v; mount -o remount,bind,rw /v; (echo x > /v/x) 2>/dev/null && echo ESCAPED; umount /v && echo ESCAPED; echo held',
      ),
    }),
  },
  ...['absolute', 'relative'].map(
    (subPath): ContainerAttempt => ({
      name: `a part of an image volume that is a link (${subPath}) shows nothing of the host`,
      idea: 'CVE-2017-1002101 for image volumes',
      on: ['builtin', 'rootless'],
      volumes: { image: { image: { reference: 'its own' } } },
      image: ({ folder }) => ({
        layers: [{ tar: testTar([link('absolute', folder), link('relative', `${UP}${folder}`)]) }],
      }),
      container: () => ({ volumeMounts: [{ name: 'image', mountPath: '/part', subPath }], command: shell(USE) }),
    }),
  ),
  {
    name: 'links in an image volume lead into the container',
    idea: 'image volumes',
    on: ['builtin', 'rootless'],
    volumes: { image: { image: { reference: 'its own' } } },
    image: ({ folder }) => ({
      layers: [{ tar: testTar([link('absolute', folder), link('relative', `${UP}${folder}`)]) }],
    }),
    container: () => ({
      volumeMounts: [{ name: 'image', mountPath: '/image' }],
      command: shell('cat /image/absolute/secret /image/relative/secret; echo x > /image/x; echo held'),
    }),
  },
  ...['config', 'secret', 'projected'].map((volume) => ({
    name: `a ${volume} volume does not lead outside and cannot be written`,
    idea: 'CVE-2017-1002102: links of the atomic writer',
    cell: 'volumes' as const,
    script: `cd /v/${volume}; cat ..data/${UP}$SECRET_FILE ../../..$SECRET_FILE; (echo x > file; ln -s $GOAL link; rm -r ..data) 2>&1; [ -e link ] && echo ESCAPED; cat file | grep -q unchanged || echo ESCAPED; echo held`,
  })),
]
