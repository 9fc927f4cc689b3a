/** Files of the kernel in /proc and /sys, and control groups. Files are opened for writing, and nothing is written. */
import type { ScriptAttempt } from '../attempt.ts'

/** Opens each for appending; the shell closes it again. */
const opens = (...files: readonly string[]) =>
  `for f in ${files.join(' ')}; do [ -e $f ] && (: >> $f) 2>/dev/null && echo ESCAPED $f can be written; done; echo held`

const reads = (...files: readonly string[]) =>
  `for f in ${files.join(' ')}; do n=$(head -c 64 $f 2>/dev/null | wc -c); [ "$n" -gt 0 ] && echo ESCAPED $f gives $n bytes; done; echo held`

const WRITABLE: Readonly<Record<string, readonly string[]>> = {
  '/proc/sys/kernel': [
    'core_pattern',
    'modprobe',
    'hotplug',
    'sysrq',
    'panic',
    'poweroff_cmd',
    'usermodehelper/bset',
  ].map((name) => `/proc/sys/kernel/${name}`),
  '/proc/sys/vm and fs': [
    ...['/proc/sys/vm/panic_on_oom', '/proc/sys/vm/drop_caches', '/proc/sys/vm/overcommit_memory'],
    ...['/proc/sys/fs/binfmt_misc/register', '/proc/sys/fs/suid_dumpable', '/proc/sys/fs/protected_symlinks'],
  ],
  '/proc/sys/net': ['/proc/sys/net/ipv4/ip_forward', '/proc/sys/net/ipv4/conf/all/route_localnet'],
}

const OTHER_WRITABLE: Readonly<Record<string, readonly string[]>> = {
  'the trigger of system requests': ['/proc/sysrq-trigger'],
  'interrupts and buses': ['/proc/irq/default_smp_affinity', '/proc/irq/*/smp_affinity', '/proc/bus/pci/*/*'],
  'other files of /proc': ['/proc/acpi/*', '/proc/mtrr', '/proc/latency_stats', '/proc/fs/*/*', '/proc/scsi/scsi'],
}

const SYS_WRITABLE: Readonly<Record<string, readonly string[]>> = {
  '/sys/kernel': ['uevent_helper', 'uevent_seqnum', 'profiling', 'kexec_crash_size', 'mm/ksm/run'].map(
    (name) => `/sys/kernel/${name}`,
  ),
  'devices and modules': [
    '/sys/power/state',
    '/sys/class/*/*/uevent',
    '/sys/bus/*/drivers_probe',
    '/sys/module/*/uevent',
  ],
  'control groups': [
    ...['/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/*/cgroup.procs', '/sys/fs/cgroup/*/release_agent'],
    ...[
      '/sys/fs/cgroup/*/devices.allow',
      '/sys/fs/cgroup/*/notify_on_release',
      '/sys/fs/cgroup/*/memory.limit_in_bytes',
    ],
  ],
}

const READABLE: Readonly<Record<string, readonly string[]>> = {
  "the kernel's memory": ['/proc/kcore', '/dev/mem', '/dev/kmem', '/dev/port', '/dev/core'],
  'keys of others': ['/proc/keys'],
  'timers and schedules': ['/proc/timer_list', '/proc/timer_stats', '/proc/sched_debug', '/proc/latency_stats'],
  "the kernel's log": ['/proc/kmsg', '/dev/kmsg'],
  'interrupts, which tell keystrokes': ['/proc/interrupts'],
  'the firmware': ['/sys/firmware/*/*', '/sys/firmware/*/*/*', '/proc/acpi/*', '/proc/asound/*', '/proc/scsi/*'],
  'the power meter': ['/sys/devices/virtual/powercap/*/*'],
}

const writableRows = (files: typeof WRITABLE, worksPrivileged: boolean): ScriptAttempt[] =>
  Object.entries(files).map(([what, list]) => ({
    name: `a pod cannot write ${what}`,
    idea: 'the kernel runs what core_pattern, modprobe, uevent_helper and release_agent name',
    script: opens(...list),
    ...(worksPrivileged && { worksPrivileged: true as const }),
  }))

/** As CVE-2022-0492 does it, for each controller. */
const RELEASE_AGENT = `for c in memory cpu cpuset devices freezer blkio pids rdma misc; do
  unshare -Ur -m -C sh -c "mkdir -p /tmp/cg; mount -t cgroup -o $c cgroup /tmp/cg && cat /tmp/cg/release_agent > /tmp/cg/release_agent && echo ESCAPED $c" 2>/dev/null
done; echo held`

/** Waits for the other container; its program has this name. */
const NEIGHBOUR = `until pid=$(grep -l '^Name:.busybox' /proc/[0-9]*/status 2>/dev/null | head -1 | cut -d/ -f3) && [ -n "$pid" ]; do sleep 0.2; done`

export const kernelFiles: readonly ScriptAttempt[] = [
  ...writableRows(WRITABLE, true),
  ...writableRows(OTHER_WRITABLE, false),
  ...writableRows(SYS_WRITABLE, false),
  ...Object.entries(READABLE).map(([what, list]) => ({
    name: `a pod cannot read ${what}`,
    idea: 'paths that runtimes mask',
    script: reads(...list),
  })),
  {
    name: 'a pod with a user namespace cannot name a release agent',
    idea: 'CVE-2022-0492',
    script: RELEASE_AGENT,
  },
  {
    name: 'a pod cannot make control groups',
    idea: 'a group without the limits of the pod',
    script:
      'for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir $d/walls 2>/dev/null && [ -e $d/walls/cgroup.procs ] && echo ESCAPED $d; rmdir $d/walls 2>/dev/null; done; echo held',
    worksPrivileged: true,
  },
  {
    name: 'a pod does not see where its control groups are',
    idea: 'cgroup namespaces',
    // Without cgroup v2 containerd gives a pod the namespace of the node.
    on: ['builtin', 'rootless'],
    script: "grep -qv ':/$' /proc/self/cgroup && echo ESCAPED $(grep -v ':/$' /proc/self/cgroup); echo held",
  },
  {
    name: 'a pod cannot be spared when memory ends',
    idea: 'the node dies in its place',
    script: '(echo -1000 > /proc/self/oom_score_adj) 2>/dev/null && echo ESCAPED; echo held',
  },
  {
    name: 'a pod does not see processes of the node',
    idea: 'the PID namespace',
    script:
      'attacker watch 200 $SECRET_FILE; [ -d /proc/$MARKER ] && tr "\\0" "\\n" < /proc/$MARKER/environ; kill -0 $MARKER 2>/dev/null && echo ESCAPED $MARKER; echo held',
  },
  {
    name: 'a container does not read memory, environment and files of another one with another user',
    idea: 'shareProcessNamespace',
    cell: 'shared-processes',
    script: `${NEIGHBOUR}; attacker memory $pid; cat /proc/$pid/root/etc/passwd && echo ESCAPED its files`,
  },
  {
    name: 'a container does not signal another one with another user',
    idea: 'shareProcessNamespace',
    // A plain user has one id, which all users of all pods are for the kernel.
    on: ['builtin', 'containerd'],
    cell: 'shared-processes',
    script: `${NEIGHBOUR}; attacker signal $pid`,
  },
  {
    name: 'a container that shares processes does not get at the host through the first of them',
    idea: '/proc/1/root of the pause process',
    cell: 'shared-processes',
    script:
      'attacker watch 300 $SECRET_FILE; ls /proc/1/root/ /proc/1/cwd/ && echo ESCAPED the first process shows its root',
  },
  {
    name: 'a container that may trace its pod does not get at the host through the first process',
    idea: '/proc/1/root of the pause process, with SYS_PTRACE',
    cell: 'tracer',
    script: 'for p in /proc/[0-9]*; do cat $p/root$SECRET_FILE $p/cwd$SECRET_FILE; done 2>/dev/null; echo held',
  },
]
