import { hostname, networkInterfaces } from 'node:os'
import { isDns1123Subdomain } from '../../api/meta/names.ts'
import { isLoopback, isUnspecified, parseIP } from '../../base/ip-address.ts'
import { CliError } from '../cli-error.ts'
import type { ServerSettings } from '../server-process.ts'
import type { Settings } from './instance.ts'

interface Machines {
  readonly listen?: string
  readonly nodeName?: string
}

interface Asked extends Machines {
  readonly nodes?: number
}

type NodesChosen = Pick<ServerSettings, 'nodes' | 'runtime'>

/** Adds where other machines reach the cluster, as asked for or as last time. */
export function withMachines<T extends NodesChosen>(
  chosen: T,
  asked: Asked,
  saved: Settings,
  own: readonly string[] = ownAddresses(),
): T & Machines {
  const listen = listenAddress(asked.listen ?? saved.listen, own)
  if (listen === undefined) {
    if (asked.nodeName !== undefined)
      throw new CliError('--node-name is for a machine that others join', ['Say where they reach it: --listen ADDRESS'])
    return chosen
  }
  const { nodes = 0, runtime } = chosen
  if (runtime === 'simulated') return { ...chosen, listen }
  assertReachedByIPv4(listen, own)
  if ((asked.nodes ?? 0) > 1)
    throw new CliError('with --listen this machine is one node itself', [
      'Others join with "sampan join": "sampan token create --print-join-command" tells how.',
    ])
  if (nodes > 0 && process.getuid?.() !== 0)
    throw new CliError('a machine that others join has to be set up as root', [
      'Run it as root, or without a node here: sampan up --listen ADDRESS --nodes 0',
    ])
  // A cluster that had several nodes on this machine has one from now on.
  return { ...chosen, nodes: Math.min(nodes, 1), listen, nodeName: nodeNameOf(asked.nodeName ?? saved.nodeName) }
}

/** Loopback is where the API server listens anyway: asked for, it means nowhere else. */
function listenAddress(text: string | undefined, own: readonly string[]): string | undefined {
  if (text === undefined) return undefined
  const ip = parseIP(text)
  if (!ip)
    throw new CliError(`${text} is no address to listen on`, ['Use an IP address of this machine, or 0.0.0.0.'], 2)
  if (isLoopback(ip)) return undefined
  if (!isUnspecified(ip) && !own.includes(text))
    throw new CliError(`${text} is no address of this machine`, [`It has ${own.join(', ') || 'none'}.`])
  return text
}

/** Nodes reach each other by the family of their pods' addresses. */
function assertReachedByIPv4(listen: string, own: readonly string[]): void {
  const reached = isUnspecified(parseIP(listen)!) ? own : [listen]
  if (reached.length === 0 || reached.some((address) => !address.includes(':'))) return
  throw new CliError(`nodes reach each other by IPv4, not by ${listen}`, [
    `Pods and Services have IPv4 addresses. This machine has ${own.join(', ')}.`,
  ])
}

/** As asked for, or that of the machine. */
export function nodeNameOf(asked: string | undefined): string {
  const name = asked ?? hostname().toLowerCase()
  if (isDns1123Subdomain(name).length > 0)
    throw new CliError(
      `${JSON.stringify(name)} is no name for a node`,
      ['Choose one of small letters, digits, dashes and dots: --node-name'],
      2,
    )
  return name
}

export const isOwnAddress = (address: string) => ownAddresses().includes(address)

const ownAddresses = () =>
  Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address }) => address)
