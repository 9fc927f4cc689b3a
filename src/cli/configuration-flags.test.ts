import { resolve } from 'node:path'
import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { settingsOf } from '../cluster/configuration.ts'
import type { SettingCommand } from '../cluster/setting.ts'
import { addConfigurationFlags, configurationFrom } from './configuration-flags.ts'
import { createProgram } from './main.ts'

const parse = (name: SettingCommand, ...words: string[]) => {
  const command = addConfigurationFlags(new Command(name), name).option('--other')
  return configurationFrom(command.exitOverride().parse(words, { from: 'user' }).opts())
}

describe.each(['up', 'join'] as const)('sampan %s', (name) => {
  const command = createProgram('').commands.find((one) => one.name() === name)!
  const flags = new Map(command.options.map((option) => [option.attributeName(), option]))

  it.each(settingsOf(name))('has a flag of the same name for %s, with help', (setting) => {
    expect(flags.get(setting)?.description).not.toBe('')
    expect(flags.get(setting)?.long).toBe(`--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`)
  })

  it('sets nothing unless a flag is given: what is absent comes from the last start', () => {
    expect(parse(name)).toEqual({})
  })
})

describe('configurationFrom', () => {
  it('has the parsed values of the flags', () => {
    expect(parse('up', '--nodes', '3', '--proxy-mode', 'iptables', '--etcd-ca', 'ca.pem')).toEqual({
      nodes: 3,
      proxyMode: 'iptables',
      etcdCa: resolve('ca.pem'),
    })
  })

  it('leaves out options that are not settings', () => {
    expect(parse('up', '--other', '--api-port', '0')).toEqual({ apiPort: 0 })
  })
})
