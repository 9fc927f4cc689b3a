/** Brings a fresh clone to where the other tools work: npm packages, and on Debian the programs the tests need. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT, run, step, yellow } from './steps.mjs'

const readJson = (file) => JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'))

/** True if what is installed is what the lock file asks for. */
export function dependenciesInstalled() {
  if (!existsSync(path.join(ROOT, 'node_modules', '.package-lock.json'))) return false
  const wanted = readJson('package-lock.json').packages
  const installed = readJson('node_modules/.package-lock.json').packages
  return Object.entries(wanted).every(
    ([name, entry]) => name === '' || entry.optional || installed[name]?.version === entry.version,
  )
}

export async function ensureDependencies() {
  if (dependenciesInstalled()) return
  // Not `npm ci`: it refuses a lock file that lacks packages for other platforms, as a partial registry leaves it.
  const args = ['install', '--no-save', '--no-audit', '--no-fund']
  await step('install npm packages', () => run('npm', args, { quiet: true }))
}

/** Programs the tests start, and the Debian package each comes from. */
const PROGRAMS = [
  { program: 'etcd', package: 'etcd-server', for: 'the store tests against a real etcd, and the benchmark' },
  { program: 'openssl', package: 'openssl', for: 'checking our certificates' },
  { program: 'diff', package: 'diffutils', for: 'kubectl diff' },
  { program: 'ip', package: 'iproute2', for: 'checking links, addresses and routes' },
  { program: 'nft', package: 'nftables', for: 'checking nftables rules' },
  { program: 'iptables', package: 'iptables', for: 'pods on CNI plugins' },
  { program: 'host-local', package: 'containernetworking-plugins', for: 'pods on CNI plugins' },
  { program: 'containerd', package: 'containerd', for: 'pods on containerd' },
  { program: 'runc', package: 'runc', for: 'pods on containerd' },
  { program: 'ping', package: 'iputils-ping', for: 'real packets in the pod network' },
  { program: 'haproxy', package: 'haproxy', for: 'the benchmark of the proxy in user space' },
  { program: 'nginx', package: 'libnginx-mod-stream', for: 'the benchmark of the proxy in user space' },
  { program: 'dnsperf', package: 'dnsperf', for: 'DNS under load, and the benchmarks of UDP' },
  { program: 'iperf3', package: 'iperf3', for: 'bytes through Services' },
  { program: 'dnsmasq', package: 'dnsmasq-base', for: 'the benchmarks of DNS and of UDP' },
  { program: 'unbound', package: 'unbound', for: 'the benchmark of DNS' },
  { program: 'conntrack', package: 'conntrack', for: 'checking tracked connections' },
  { program: 'qemu-aarch64-static', package: 'qemu-user-static', for: 'the syscall agent of arm64' },
  { program: 'linux.uml', package: 'user-mode-linux', for: 'a kernel with nothing but cgroup v2' },
  { program: 'nghttp', package: 'nghttp2-client', for: 'HTTP/2 as others speak it' },
  { program: 'dig', package: 'bind9-dnsutils', for: 'asking the DNS server' },
  { program: 'busybox', package: 'busybox-static', for: 'the image of the container tests' },
  { program: 'docker-registry', package: 'docker-registry', for: 'pulling images from a real registry' },
  { program: 'setfattr', package: 'attr', for: 'files with capabilities in images' },
  { program: 'zstd', package: 'zstd', for: 'image layers of that compression' },
  { program: 'musl-gcc', package: 'musl-tools', for: 'the program that attacks from inside a pod' },
  { program: 'skopeo', package: 'skopeo', for: 'pushing images in all their forms' },
]

/** Debian keeps CNI plugins out of the path. */
const inPath = (program) =>
  [...(process.env.PATH ?? '').split(path.delimiter), '/usr/lib/cni'].some((folder) =>
    existsSync(path.join(folder, program)),
  )

const isDebianRoot = () => process.getuid?.() === 0 && existsSync('/etc/debian_version')

async function aptInstall(packages) {
  // In runlevel 1 Debian's packages do not start the services they bring; the tests start their own processes.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const args = ['-y', '--no-install-recommends', '-o', 'Dpkg::Use-Pty=0', 'install', ...packages]
  try {
    await run('apt-get', args, { quiet: true, env })
  } catch {
    await run('apt-get', ['-q', 'update'], { quiet: true, env })
    await run('apt-get', args, { quiet: true, env })
  }
}

/** Installs what is missing when that is possible; else says what will be skipped, or fails where CI is set. */
export async function ensurePrograms() {
  let missing = PROGRAMS.filter(({ program }) => !inPath(program))
  if (missing.length > 0 && isDebianRoot()) {
    const packages = missing.map((entry) => entry.package)
    await step(`install ${packages.join(', ')} with apt`, () => aptInstall(packages)).catch(() => {})
    missing = missing.filter(({ program }) => !inPath(program))
  }
  if (missing.length === 0) return
  for (const entry of missing) {
    console.log(
      yellow(`skipping ${entry.for}: no ${entry.program} here. Get it with: apt-get install ${entry.package}`),
    )
  }
  if (process.env.CI) throw new Error('CI is set, so nothing may be skipped: install the programs named above')
}
