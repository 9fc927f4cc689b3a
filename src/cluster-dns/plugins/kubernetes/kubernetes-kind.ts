import { CorefileError } from '../../corefile/corefile-error.ts'
import { oneOf, unknownOption, wholeNumber, zoneOf } from '../../corefile/options.ts'
import type { Directive } from '../../corefile/parse.ts'
import type { PluginKind } from '../../plugin.ts'
import { followCluster } from './cluster-objects.ts'
import { type KubernetesOptions, kubernetesPlugin } from './kubernetes.ts'

const TTL = 5
const MAX_TTL = 3600
const PODS = ['disabled', 'insecure', 'verified'] as const

type Settings = Pick<KubernetesOptions, 'zones' | 'pods' | 'ttl' | 'fallthrough'>

/** `kubernetes [ZONES...] { pods insecure; ttl 30; fallthrough [ZONES...] }` */
export const kubernetesKind: PluginKind = {
  name: 'kubernetes',
  setup(directive, { informers, zones, serviceAddress, changed, serial }) {
    const settings = settingsOf(directive, zones)
    const objects = followCluster(informers, { pods: settings.pods === 'verified', changed })
    const ownAddresses = () => (serviceAddress === undefined ? [] : [serviceAddress])
    return kubernetesPlugin({ ...settings, objects, ownAddresses, serial })
  },
}

function settingsOf(directive: Directive, blockZones: readonly string[]): Settings {
  const zones = directive.args.length > 0 ? directive.args.map((zone) => zoneOf(directive, zone)) : blockZones
  return directive.options.reduce<Settings>(withOption, { zones, pods: 'disabled', ttl: TTL, fallthrough: undefined })
}

function withOption(settings: Settings, option: Directive): Settings {
  switch (option.name) {
    case 'pods':
      return { ...settings, pods: oneOf(option, option.args[0], PODS) }
    case 'ttl': {
      const ttl = wholeNumber(option, option.args[0])
      if (ttl > MAX_TTL) throw new CorefileError(option.line, `ttl must be in range [0, ${MAX_TTL}]: ${ttl}`)
      return { ...settings, ttl }
    }
    case 'fallthrough':
      return {
        ...settings,
        fallthrough: option.args.length > 0 ? option.args.map((zone) => zoneOf(option, zone)) : [''],
      }
    // How the API server is reached is known already, and every endpoint has a name of its own anyway.
    case 'endpoint':
    case 'tls':
    case 'kubeconfig':
    case 'endpoint_pod_names':
    case 'startup_timeout':
      return settings
    default:
      return unknownOption('kubernetes', option)
  }
}
