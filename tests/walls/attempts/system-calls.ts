/** System calls that a pod without further rights must not reach, with the default capabilities and filter. */
import type { ScriptAttempt } from '../attempt.ts'

/** Probes of attacker.c, and where each idea comes from. */
const PROBES: Readonly<Record<string, string>> = {
  mount: 'capabilities(7): CAP_SYS_ADMIN',
  umount: 'a mask over /proc taken away',
  remount: '/proc/sys made writable again',
  pivot_root: 'another root',
  setns: 'another namespace',
  unshare_user: 'all capabilities in a user namespace: half of the local root exploits begin here',
  unshare_mount: 'a mount namespace',
  unshare_cgroup: 'CVE-2022-0492',
  clone_user: 'a user namespace by clone',
  clone3: 'a user namespace by clone3, whose flags a filter does not see',
  fsopen: 'CVE-2022-0185',
  open_tree: 'mounts by descriptor',
  move_mount: 'mounts by descriptor',
  mount_setattr: 'mounts by descriptor',
  open_by_handle: 'shocker.c: files by handle',
  kexec: 'another kernel',
  init_module: 'a kernel module',
  finit_module: 'a kernel module',
  delete_module: 'a kernel module',
  reboot: 'the machine off',
  acct: 'a log of all processes',
  swapon: 'memory of others',
  syslog: "the kernel's log",
  sethostname: 'the name of the pod',
  bpf: 'CVE-2021-3490 and others',
  perf: 'CVE-2013-2094 and others',
  userfaultfd: 'a kernel that waits: CVE-2022-2590 and others',
  keyctl: 'keys of others: CVE-2016-0728',
  add_key: 'keys of others',
  request_key: 'keys of others',
  io_uring: 'CVE-2022-29582 and others: container runtimes deny it since 2023',
  personality: 'no address randomization',
  fanotify: 'events of all files',
  quotactl: 'quotas of the disk',
  vsock: 'the host of a virtual machine',
  raw_netlink: "the node's packet filter",
}

const CELLS_OF_PROBES = [
  { cell: 'default', where: 'a pod without a security context' },
  { cell: 'filtered', where: 'a pod with the profile RuntimeDefault' },
] as const

/** Debian's containerd is older than the ban of these. */
const ON: Readonly<Record<string, ScriptAttempt['on']>> = {
  io_uring: ['builtin', 'rootless'],
  vsock: ['builtin', 'rootless'],
}

/** Refused to everyone by some kernels. */
const REFUSED_EVEN_PRIVILEGED = new Set(['syslog', 'swapon'])

export const systemCalls: readonly ScriptAttempt[] = CELLS_OF_PROBES.flatMap(({ cell, where }) =>
  Object.entries(PROBES).map(([probe, idea]) => ({
    name: `${where} cannot ${probe.replaceAll('_', ' ')}`,
    idea,
    cell,
    script: `attacker probe ${probe}`,
    ...(ON[probe] && { on: ON[probe] }),
    ...(cell === 'default' && !REFUSED_EVEN_PRIVILEGED.has(probe) && { worksPrivileged: true as const }),
  })),
)
