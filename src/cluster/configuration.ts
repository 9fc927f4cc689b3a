/**
 * Every setting of a cluster, declared once: its name, type, default, validation and help text. The flags of `sampan up` and
 * `sampan join`, the options of `startCluster()`, and what passes to the server's and the nodes' processes derive from this
 * table. A flag has the name of its setting: `proxyMode` is `--proxy-mode`.
 *
 * To add one: a line here; then read it in the part that uses it, from `plane.options` (scope `control-plane`) or from
 * `node.settings` (scope `node`).
 */
import { FEATURE_GATES, type FeatureGate, parseFeatureGates } from '../api/feature-gates.ts'
import { isDns1123Subdomain } from '../api/meta/names.ts'
import { parseIP } from '../base/ip-address.ts'
import { parseSources } from '../pod-network/forwarding-sources.ts'
import {
  choice,
  file,
  list,
  type Setting,
  type SettingCommand,
  type SettingScope,
  text,
  toggle,
  wholeNumber,
} from './setting.ts'
import { parseStoreChoice } from './store-choice.ts'
import { UserError } from './user-error.ts'

export const API_VERSION = 'sampan.dev/v1alpha1'
export const KIND = 'ClusterConfiguration'

const RUNTIMES = ['builtin', 'containerd', 'simulated'] as const
const ENDPOINT_HELP = 'unix:// socket of a CRI v1 runtime that runs the pods'

export const SETTINGS = {
  /** Where the state is kept; see `parseStoreChoice`. */
  store: text(
    'store',
    { scope: 'command', up: 'embedded, memory, or etcd://host:port,...', default: 'embedded' },
    parseStoreChoice,
  ),
  etcdCa: file({ scope: 'command', up: 'PEM of the authorities to trust for etcds://' }),
  etcdCert: file({ scope: 'command', up: 'PEM of the client certificate for etcds://' }),
  etcdKey: file({ scope: 'command', up: 'PEM of its key' }),
  auditPolicy: file({ scope: 'command', up: 'Policy of audit.k8s.io/v1: which requests to log' }),
  auditLog: file(
    { scope: 'command', up: 'the audit log, - for standard output (default: audit.log in the data directory)' },
    '-',
  ),
  encryptionConfig: file({ scope: 'command', up: 'EncryptionConfiguration: what to encrypt in the store, and how' }),
  authenticationConfig: file({ scope: 'command', up: 'AuthenticationConfiguration: issuers of accepted tokens' }),
  featureGates: list<FeatureGate, 'control-plane'>(
    'gates',
    {
      scope: 'control-plane',
      up: `comma-separated gates to enable, as Name=true; off by default: ${FEATURE_GATES.join(', ')}`,
      default: [],
    },
    parseFeatureGates,
    (gate) => ((FEATURE_GATES as readonly string[]).includes(gate) ? undefined : `unrecognized feature gate: ${gate}`),
  ),
  enableAdmissionPlugins: list(
    'names',
    { scope: 'control-plane', up: 'comma-separated admission plugins to turn on that are off by default', default: [] },
    splitList,
    noProblem,
  ),
  disableAdmissionPlugins: list(
    'names',
    { scope: 'control-plane', up: 'comma-separated admission plugins to turn off', default: [] },
    splitList,
    noProblem,
  ),
  apiPort: wholeNumber('port', 65_535, {
    scope: 'command',
    up: 'port of the API server, 0 for any free one',
    default: 6443,
  }),
  /** How many on this machine. */
  nodes: wholeNumber('n', 99_999, { scope: 'command', up: 'worker nodes (default: 1, or 0 where no pods can run)' }),
  /** What runs pods. `simulated` nodes exist in the API only. */
  runtime: choice('runtime', RUNTIMES, {
    scope: 'node',
    up: 'what runs the pods; on simulated nodes they exist in the API only',
    join: { help: 'what runs the pods (default: builtin)', choices: ['builtin', 'containerd'] },
  }),
  containerRuntimeEndpoint: text('socket', { scope: 'node', up: ENDPOINT_HELP, join: ENDPOINT_HELP }, checkSocket),
  /** How Services are reached. */
  proxyMode: choice('mode', ['nftables', 'iptables', 'userspace'], {
    scope: 'node',
    up: 'how Services are reached',
    join: "how Services are reached (default: the cluster's)",
    default: 'nftables',
  }),
  /** How pods of different nodes reach each other. */
  network: choice('network', ['host-gw', 'vxlan'], {
    scope: 'node',
    up: 'between pods of different nodes (default: host-gw, with --listen vxlan)',
  }),
  /** Whether pods that name no seccomp profile get the runtime's default. */
  seccompDefault: toggle({
    scope: 'node',
    up: "give pods without a seccomp profile the runtime's own (default: true)",
    join: "give pods without a seccomp profile the runtime's own (default: true)",
    default: true,
  }),
  /** How many processes a pod may have; -1 for no limit. Stops a fork bomb long before the machine runs out of ids. */
  podMaxPids: wholeNumber(
    'n',
    999_999_999,
    {
      scope: 'node',
      up: 'processes that a pod may have, -1 for no limit',
      join: 'processes that a pod may have, -1 for no limit (default: 4096)',
      default: 4096,
    },
    -1,
  ),
  /** Whether pods may mount a folder of their node with the annotation `sampan.dev/host-path`. */
  allowHostPath: toggle({
    scope: 'node',
    up: 'let pods mount a folder of their node with the annotation sampan.dev/host-path',
    join: 'let pods mount a folder of this node with the annotation sampan.dev/host-path',
    default: false,
  }),
  /** Where other machines reach pods and Services from, through this machine. */
  allowForwardingFrom: list(
    'sources',
    {
      scope: 'node',
      up: 'comma-separated interfaces and CIDRs that reach pods and Services through this machine; none by default',
      join: 'comma-separated interfaces and CIDRs that reach pods and Services through this machine; none by default',
      default: [],
    },
    (text) => checkedSources(text === 'none' ? [] : splitList(text)),
    (item) => problemWithSource(item),
  ),
  /** Where other machines reach the API server. */
  listen: text(
    'address',
    { scope: 'command', up: 'let other machines reach the API and join: an address of this one, or 0.0.0.0' },
    checkAddress,
  ),
  /** Of the node that this machine is. */
  nodeName: text(
    'name',
    {
      scope: 'command',
      up: 'with --listen: the name of the node that this machine is (default: its hostname)',
      join: 'the name of the node (default: the hostname)',
    },
    checkNodeName,
  ),
  nodeIp: text(
    'address',
    { scope: 'command', join: 'address by which other nodes reach this one (default: the one towards the server)' },
    checkAddress,
  ),
}

type Settings = typeof SETTINGS
export type SettingName = keyof Settings
type ValueOf<K extends SettingName> = Settings[K] extends Setting<infer T> ? T : never
type NamesOf<S extends SettingScope> = {
  [K in SettingName]: Settings[K] extends Setting<infer _, S> ? K : never
}[SettingName]

/** What a user said of a cluster: plain JSON data. What is absent has its default. */
export type ClusterConfiguration = { readonly [K in SettingName]?: ValueOf<K> }
/** The settings that the control plane itself reads. */
export type ControlPlaneConfiguration = Pick<ClusterConfiguration, NamesOf<'control-plane'>>
/** The settings that every node's process reads. */
export type NodeConfiguration = Pick<ClusterConfiguration, NamesOf<'node'>>

/** The form in a file. */
export interface ConfigurationDocument extends ClusterConfiguration {
  readonly apiVersion: typeof API_VERSION
  readonly kind: typeof KIND
}

export const toDocument = (configuration: ClusterConfiguration): ConfigurationDocument => ({
  apiVersion: API_VERSION,
  kind: KIND,
  ...configuration,
})

/** Checks a document; throws a `UserError` that names each field that is wrong. */
export function fromDocument(document: unknown, where: string): ClusterConfiguration {
  const { apiVersion, kind, ...fields } = (document ?? {}) as Record<string, unknown>
  const problems = Object.entries(fields).flatMap(([name, value]) => problemsWith(name, value))
  if (apiVersion !== API_VERSION) problems.unshift(`apiVersion: must be ${API_VERSION}`)
  if (kind !== KIND) problems.unshift(`kind: must be ${KIND}`)
  if (problems.length > 0) throw new UserError(`${where} is not a valid ${KIND}`, problems)
  return fields as ClusterConfiguration
}

function problemsWith(name: string, value: unknown): string[] {
  if (!isSettingName(name)) return [`${name}: unknown field`]
  const problem = SETTINGS[name].problemWith(value)
  return problem === undefined ? [] : [`${name}: ${problem}`]
}

export const isSettingName = (name: string): name is SettingName => Object.hasOwn(SETTINGS, name)

/** The settings that are flags of a command, in the order of the table. */
export const settingsOf = (command: SettingCommand): readonly SettingName[] =>
  (Object.keys(SETTINGS) as SettingName[]).filter((name) => SETTINGS[name].flags[command])

/** The part of a configuration that has this scope. */
export function inScope<S extends SettingScope>(
  scope: S,
  configuration: ClusterConfiguration,
): Pick<ClusterConfiguration, NamesOf<S>> {
  const entries = Object.entries(configuration).filter(([name]) => SETTINGS[name as SettingName]?.scope === scope)
  return Object.fromEntries(entries) as Pick<ClusterConfiguration, NamesOf<S>>
}

/** The value, or its default from the table. */
export const valueFor = <K extends SettingName>(configuration: ClusterConfiguration, name: K) =>
  (configuration[name] ?? SETTINGS[name].default) as NonNullable<ClusterConfiguration[K]>

/** What runs the pods: one of the runtimes, or `cri` for any CRI socket. */
export type RuntimeKind = (typeof RUNTIMES)[number] | 'cri'

export const runtimeOf = ({ runtime, containerRuntimeEndpoint }: ClusterConfiguration): RuntimeKind | undefined =>
  containerRuntimeEndpoint === undefined ? runtime : 'cri'

/** Settings that describe one thing: naming one of them forgets what an earlier start said of the others. */
const TOGETHER: readonly (readonly SettingName[])[] = [
  ['runtime', 'containerRuntimeEndpoint'],
  ['etcdCa', 'etcdCert', 'etcdKey'],
]

/** What was asked for now, and else what the last start had. */
export function mergeConfiguration(saved: ClusterConfiguration, asked: ClusterConfiguration): ClusterConfiguration {
  const forgotten = TOGETHER.filter((names) => names.some((name) => asked[name] !== undefined)).flat()
  const kept = Object.entries(saved).filter(([name]) => !forgotten.includes(name as SettingName))
  return { ...Object.fromEntries(kept), ...asked }
}

function splitList(text: string): string[] {
  return text.split(',').filter((item) => item !== '')
}

function noProblem(): undefined {}

function checkedSources(sources: string[]): string[] {
  parseSources(sources)
  return sources
}

function problemWithSource(item: string): string | undefined {
  try {
    parseSources([item])
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function checkSocket(text: string): void {
  if (!/^unix:(\/\/)?\/./.test(text)) throw new Error('must be the path of a socket, as unix:///run/…')
}

function checkAddress(text: string): void {
  if (!parseIP(text)) throw new Error(`${JSON.stringify(text)} is not an IP address`)
}

function checkNodeName(text: string): void {
  if (isDns1123Subdomain(text).length > 0)
    throw new Error(`${JSON.stringify(text)} is not a node name: use lower-case letters, digits, dashes and dots`)
}
