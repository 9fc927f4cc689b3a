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
  io_uring: 'denied by containerd since 2023',
  personality: 'no address randomization',
  fanotify: 'events of all files',
  move_pages: 'containerd denies it',
  quotactl: 'quotas of the disk',
  vsock: 'the host of a virtual machine',
  raw_netlink: "the node's packet filter",
}

/** Reached by any process in a privileged pod, so that the probe proves itself there. */
const REFUSED_EVEN_THERE = new Set(['syslog', 'swapon'])

export const systemCalls: readonly ScriptAttempt[] = Object.entries(PROBES).map(([probe, idea]) => ({
  name: `the system call of the probe ${probe} is refused`,
  idea,
  script: `attacker probe ${probe}`,
  ...(!REFUSED_EVEN_THERE.has(probe) && { worksPrivileged: true as const }),
}))
