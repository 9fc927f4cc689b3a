/** The options of `up` and `join` that say what nodes open, and which admission plugins run. */
import { type Command, InvalidArgumentError } from 'commander'
import { parseSources } from '../../pod-network/forwarding-sources.ts'
import type { AdmissionChoice, NodeAccess, Settings } from './instance.ts'

export interface NodeAccessOptions {
  allowHostPath?: boolean
  allowForwardingFrom?: string[]
}

export interface AdmissionOptions {
  enableAdmissionPlugins?: string[]
  disableAdmissionPlugins?: string[]
}

export const withNodeAccessOptions = (command: Command): Command =>
  command
    .option('--allow-host-path', 'let pods see a folder of their node by the annotation sampan.dev/host-path')
    .option('--no-allow-host-path', 'refuse that annotation again')
    .option(
      '--allow-forwarding-from <sources>',
      'interfaces and CIDRs from which other machines reach pods and Services through this one, by commas; or none',
      sourcesArgument,
    )

export const withAdmissionOptions = (command: Command): Command =>
  command
    .option('--enable-admission-plugins <names>', 'admission plugins that are off by default, by commas', listArgument)
    .option('--disable-admission-plugins <names>', 'admission plugins to turn off, by commas', listArgument)

/** As asked for, or as last time. */
export function nodeAccessOf(options: NodeAccessOptions, saved: NodeAccess = {}): NodeAccess {
  const { allowHostPath = saved.allowHostPath, allowForwardingFrom = saved.allowForwardingFrom } = options
  return {
    ...(allowHostPath && { allowHostPath }),
    ...(allowForwardingFrom?.length && { allowForwardingFrom }),
  }
}

/** As asked for, or as last time. */
export function admissionOf(options: AdmissionOptions, { admission: saved = {} }: Settings): AdmissionChoice {
  const { enableAdmissionPlugins: enable = saved.enable, disableAdmissionPlugins: disable = saved.disable } = options
  return { ...(enable?.length && { enable }), ...(disable?.length && { disable }) }
}

const listArgument = (text: string) => text.split(',').filter((name) => name !== '')

function sourcesArgument(text: string): string[] {
  const sources = text === 'none' ? [] : listArgument(text)
  try {
    parseSources(sources)
    return sources
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}
