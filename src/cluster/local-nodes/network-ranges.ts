import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { writeFileAtomically } from '../../base/atomic-file.ts'
import { cidrsOverlap, parseCIDR } from '../../base/ip-address.ts'
import type { Linux } from '../../linux/linux.ts'
import type { Store } from '../../store/store.ts'
import { storeDirectory } from '../open-store.ts'

/** Where the networks between the nodes of one machine are looked for. */
export const NODE_NETWORKS = '172.30.0.0/16'

/** Where pods, Services and load balancers of a cluster get their addresses from. */
export interface NetworkRanges {
  readonly pods: string
  readonly services: string
  readonly loadBalancers: string
}

/** What a cluster has that is alone on its machine, and one that spans several. */
export const USUAL_RANGES: NetworkRanges = {
  pods: '10.244.0.0/16',
  services: '10.96.0.0/16',
  loadBalancers: '10.98.0.0/24',
}

const CANDIDATES: readonly NetworkRanges[] = [
  USUAL_RANGES,
  ...Array.from({ length: 11 }, (_, i) => ({
    pods: `10.${245 + i}.0.0/16`,
    services: `10.${101 + i}.0.0/16`,
    loadBalancers: `10.98.${1 + i}.0/24`,
  })),
]

export const rangesIn = ({ pods, services, loadBalancers }: NetworkRanges): string[] => [pods, services, loadBalancers]

/** Made with a cluster, and never changed. */
const DEFAULT_SERVICE_CIDR = '/registry/servicecidrs/kubernetes'

const fileOf = (dataDir: string) => join(dataDir, 'network.json')

/**
 * The ranges of the cluster in a data directory. They are chosen once: the first that meet neither what this machine routes
 * elsewhere nor another cluster beside this one, so that each is reached by its own addresses, by its API server too. Several
 * machines, and several API servers on one etcd, have to know the same ranges: there nothing is chosen (`isShared`).
 */
export async function networkRanges(dataDir: string, linux: Linux, isShared: boolean): Promise<NetworkRanges> {
  const known = await rangesOf(dataDir)
  if (known) return known
  if (isShared) return USUAL_RANGES
  const ranges = existsSync(storeDirectory(dataDir)) ? USUAL_RANGES : await freeRanges(dataDir, linux)
  await writeRanges(dataDir, ranges)
  return ranges
}

/** A state that comes from elsewhere has its ranges in it: Services of the cluster have addresses of one of them. */
export async function adoptRanges(dataDir: string, store: Store): Promise<void> {
  const entry = await store.get(DEFAULT_SERVICE_CIDR)
  const text = entry?.value.toString() ?? ''
  const ranges = CANDIDATES.find(({ services }) => text.includes(`"${services}"`)) ?? USUAL_RANGES
  await writeRanges(dataDir, ranges)
}

async function writeRanges(dataDir: string, ranges: NetworkRanges): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await writeFileAtomically(fileOf(dataDir), `${JSON.stringify(ranges)}\n`)
}

async function rangesOf(dataDir: string): Promise<NetworkRanges | undefined> {
  const text = await readFile(fileOf(dataDir), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as NetworkRanges)
}

async function freeRanges(dataDir: string, linux: Linux): Promise<NetworkRanges> {
  const taken = [...routedHere(linux), ...(await besides(dataDir))]
  const meets = (cidr: string) => taken.some((other) => overlap(cidr, other))
  // Where everything is taken, as behind a network that claims all of 10.0.0.0/8, the more exact route wins.
  return CANDIDATES.find((ranges) => !rangesIn(ranges).some(meets)) ?? USUAL_RANGES
}

function routedHere(linux: Linux): string[] {
  using network = linux.openRtnetlink()
  return [...network.addresses().map(({ address }) => address), ...network.routes().map((route) => route.destination)]
}

/** Clusters that are stopped now come back with what they have. */
async function besides(dataDir: string): Promise<string[]> {
  const root = dirname(dataDir)
  const names = await readdir(root).catch(() => [])
  const others = await Promise.all(names.map((name) => rangesOf(join(root, name)).catch(() => undefined)))
  return others.flatMap((ranges) => (ranges ? rangesIn(ranges) : []))
}

/** The default route is everywhere, and meets nothing. */
export function overlap(cidr: string, other: string): boolean {
  const range = parseCIDR(other)
  return range !== undefined && range.prefixLength > 0 && cidrsOverlap(range, parseCIDR(cidr)!)
}
