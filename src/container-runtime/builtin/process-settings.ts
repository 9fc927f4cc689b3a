import { readFileSync } from 'node:fs'
import { defaultSeccompFilter, seccompFilterOf } from '../../linux/seccomp.ts'
import type { ContainerConfig, SeccompProfile } from '../container-config.ts'
import type { ImageConfig } from '../image-content.ts'
import { RuntimeError } from '../runtime.ts'
import { capabilitiesOf } from './capabilities.ts'
import { type Identity, identityOf, type Passwd } from './identity.ts'
import { DEFAULT_PATH } from './program.ts'
import type { ProcessSettings } from './records.ts'

/** What the container's program is started with: the pod's word first, then the image's. */
export function processSettings(
  config: ContainerConfig,
  image: ImageConfig,
  files: Passwd,
  hostname: string,
): ProcessSettings {
  const { security } = config
  const identity = identityOf(security, image.user, files)
  return {
    args: argsOf(config, image),
    env: environment(config, image, identity, hostname),
    cwd: config.workingDir || image.workingDir || '/',
    identity,
    capabilities: capabilitiesOf(security),
    noNewPrivileges: security.noNewPrivileges,
    seccomp: security.privileged ? { type: 'Unconfined' } : security.seccomp,
  }
}

/** A command replaces both the image's entrypoint and its command; arguments alone replace the command. */
function argsOf(config: ContainerConfig, image: ImageConfig): string[] {
  const command = config.command.length > 0 ? config.command : image.entrypoint
  const useImageCommand = config.command.length === 0 && config.args.length === 0
  const args = [...command, ...(useImageCommand ? image.command : config.args)]
  if (args.length === 0) throw new RuntimeError('InvalidArgument', 'no command specified')
  return args
}

/** The last word about a name counts. */
function environment(config: ContainerConfig, image: ImageConfig, identity: Identity, hostname: string): string[] {
  const entries = new Map<string, string>([['PATH', DEFAULT_PATH]])
  if (config.tty) entries.set('TERM', 'xterm')
  for (const entry of image.env) {
    const equals = entry.indexOf('=')
    if (equals > 0) entries.set(entry.slice(0, equals), entry.slice(equals + 1))
  }
  entries.set('HOSTNAME', hostname)
  for (const { name, value } of config.env) entries.set(name, value)
  if (!entries.has('HOME')) entries.set('HOME', identity.home)
  return [...entries].map(([name, value]) => `${name}=${value}`)
}

const filters = new Map<string, Buffer>()

/** The compiled filter; undefined if nothing is filtered. */
export function seccompFilter(profile: SeccompProfile, capabilities: readonly string[]): Buffer | undefined {
  if (profile.type === 'Unconfined') return undefined
  if (profile.type === 'Localhost') return localhostFilter(profile.path, capabilities)
  const key = capabilities.join()
  const known = filters.get(key)
  if (known) return known
  const filter = defaultSeccompFilter(capabilities)
  filters.set(key, filter)
  return filter
}

function localhostFilter(file: string, capabilities: readonly string[]): Buffer {
  try {
    return seccompFilterOf(readFileSync(file, 'utf8'), capabilities)
  } catch (error) {
    throw new RuntimeError('InvalidArgument', `failed to load seccomp profile "${file}": ${(error as Error).message}`)
  }
}
