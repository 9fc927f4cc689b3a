/** What containers may call by default, the same in effect as containerd's: everything an ordinary program needs. */
import type { SeccompProfile, SeccompRule } from '../seccomp.ts'
import type { Architecture } from '../syscall-numbers.ts'

const EPERM = 1
const ENOSYS = 38
const AF_VSOCK = 40n
/** Every CLONE_NEW… flag. */
const NEW_NAMESPACES = 0x7e020000n

const ALWAYS = `
  accept accept4 access adjtimex alarm bind brk cachestat capget capset chdir chmod chown clock_adjtime clock_getres
  clock_gettime clock_nanosleep close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1
  epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2 execve execveat exit
  exit_group faccessat faccessat2 fadvise64 fallocate fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl
  fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat fstatfs fsync ftruncate futex futex_requeue
  futex_wait futex_waitv futex_wake futimesat get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid
  geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid
  getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid getxattr getxattrat inotify_add_watch
  inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit ioctl
  ioprio_get ioprio_set kill landlock_add_rule landlock_create_ruleset landlock_restrict_self lchown lgetxattr link linkat
  listen listmount listxattr listxattrat llistxattr lremovexattr lseek lsetxattr lstat madvise map_shadow_stack membarrier
  memfd_create memfd_secret mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mprotect mq_getsetattr
  mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap mseal msgctl msgget msgrcv msgsnd msync munlock
  munlockall munmap name_to_handle_at nanosleep newfstatat open openat openat2 pause pidfd_open pidfd_send_signal pipe
  pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64 process_mrelease
  process_vm_readv process_vm_writev pselect6 ptrace pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv
  recvfrom recvmmsg recvmsg remap_file_pages removexattr removexattrat rename renameat renameat2 restart_syscall rmdir
  rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
  rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
  sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield
  seccomp select semctl semget semop semtimedop sendfile sendmmsg sendmsg sendto set_robust_list set_thread_area
  set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid setreuid
  setrlimit setsid setsockopt setuid setxattr setxattrat shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4
  socketpair splice stat statfs statmount statx symlink symlinkat sync sync_file_range syncfs sysinfo tee tgkill time
  timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime
  times tkill truncate umask uname unlink unlinkat utime utimensat utimes vfork vmsplice wait4 waitid write writev
`

const BY_ARCHITECTURE: Record<Architecture, string> = { x64: 'arch_prctl modify_ldt', arm64: '' }

const BY_CAPABILITY: Readonly<Record<string, string>> = {
  DAC_READ_SEARCH: 'open_by_handle_at',
  SYS_ADMIN: `bpf clone clone3 fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie mount mount_setattr move_mount
    open_tree perf_event_open quotactl quotactl_fd setdomainname sethostname setns syslog umount2 unshare`,
  SYS_BOOT: 'reboot',
  SYS_CHROOT: 'chroot',
  SYS_MODULE: 'delete_module init_module finit_module',
  SYS_PACCT: 'acct',
  SYS_PTRACE: 'kcmp pidfd_getfd process_madvise process_vm_readv process_vm_writev ptrace',
  SYS_RAWIO: 'iopl ioperm',
  SYS_TIME: 'settimeofday clock_settime',
  SYS_TTY_CONFIG: 'vhangup',
  SYS_NICE: 'get_mempolicy mbind set_mempolicy set_mempolicy_home_node',
  SYSLOG: 'syslog',
  BPF: 'bpf',
  PERFMON: 'perf_event_open',
}

const allow = (names: string, ...conditions: SeccompRule['conditions']): SeccompRule => ({
  names: names.trim().split(/\s+/),
  action: { do: 'allow' },
  conditions,
})

/** Execution domains that change nothing an attacker could use. */
const PERSONALITIES = [0n, 0x8n, 0x20000n, 0x20008n, 0xffffffffn]

export function defaultProfile(capabilities: ReadonlySet<string>, architecture: Architecture): SeccompProfile {
  const rules: SeccompRule[] = [
    allow(`${ALWAYS} ${BY_ARCHITECTURE[architecture]}`),
    allow('socket', { index: 0, op: 'ne', value: AF_VSOCK, valueTwo: 0n }),
    ...PERSONALITIES.map((value) => allow('personality', { index: 0, op: 'eq', value, valueTwo: 0n })),
  ]
  for (const [capability, names] of Object.entries(BY_CAPABILITY))
    if (capabilities.has(capability)) rules.push(allow(names))
  if (!capabilities.has('SYS_ADMIN')) {
    rules.push(allow('clone', { index: 0, op: 'masked-eq', value: NEW_NAMESPACES, valueTwo: 0n }))
    // Its flags are in memory, where no filter sees them; told that it is missing, libc falls back to clone.
    rules.push({ names: ['clone3'], action: { do: 'errno', value: ENOSYS }, conditions: [] })
  }
  return { defaultAction: { do: 'errno', value: EPERM }, rules }
}
