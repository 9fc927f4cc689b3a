import { isDns1123Subdomain } from '../../api/meta/names.ts'
import { isLoopback, isUnspecified, parseIP } from '../../base/ip-address.ts'
import type { ClusterConfiguration } from '../configuration.ts'
import { UserError } from '../user-error.ts'
import type { MachineFacts } from './machine-facts.ts'

/** Decides where other machines reach the cluster; without `listen` they do not. */
export function resolveListening(
  configuration: ClusterConfiguration,
  asked: ClusterConfiguration,
  machine: MachineFacts,
): ClusterConfiguration {
  const { listen: wanted, nodeName, ...rest } = configuration
  const listen = listenAddress(wanted, machine)
  if (listen === undefined) {
    if (asked.nodeName === undefined) return rest
    throw new UserError('--node-name is for a machine that others join', ['Say where they reach it: --listen ADDRESS'])
  }
  const { nodes = 0, runtime } = rest
  if (runtime === 'simulated') return { ...rest, listen }
  assertReachedByIPv4(listen, machine)
  if ((asked.nodes ?? 0) > 1)
    throw new UserError('with --listen this machine is one node itself', [
      'Others join with "sampan join": "sampan token create --print-join-command" prints how.',
    ])
  if (nodes > 0 && !machine.isRoot)
    throw new UserError('a machine that others join has to be set up as root', [
      'Run it as root, or without a node here: sampan up --listen ADDRESS --nodes 0',
    ])
  // A cluster that had several nodes on this machine has one from now on.
  return { ...rest, nodes: Math.min(nodes, 1), listen, nodeName: nodeNameOf(nodeName, machine) }
}

/** The API server listens on loopback anyway: asking for it means nowhere else. */
function listenAddress(text: string | undefined, { addresses }: MachineFacts): string | undefined {
  if (text === undefined) return undefined
  const ip = parseIP(text)!
  if (isLoopback(ip)) return undefined
  if (!isUnspecified(ip) && !addresses.includes(text))
    throw new UserError(`${text} is not an address of this machine`, [`It has ${addresses.join(', ') || 'none'}.`])
  return text
}

/** Nodes reach each other by the family of their pods' addresses. */
function assertReachedByIPv4(listen: string, { addresses }: MachineFacts): void {
  const reached = isUnspecified(parseIP(listen)!) ? addresses : [listen]
  if (reached.length === 0 || reached.some((address) => !address.includes(':'))) return
  throw new UserError(`nodes reach each other by IPv4, not by ${listen}`, [
    `Pods and Services have IPv4 addresses. This machine has ${addresses.join(', ')}.`,
  ])
}

/** The name that was asked for, or the hostname. */
export function nodeNameOf(asked: string | undefined, machine: Pick<MachineFacts, 'hostname'>): string {
  const name = asked ?? machine.hostname.toLowerCase()
  if (isDns1123Subdomain(name).length > 0)
    throw new UserError(
      `the hostname ${JSON.stringify(name)} is not a node name`,
      ['Choose one of lower-case letters, digits, dashes and dots: --node-name'],
      { exitCode: 2 },
    )
  return name
}
