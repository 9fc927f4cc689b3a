import { type Command, InvalidArgumentError, Option } from 'commander'
import { type ClusterConfiguration, SETTINGS, type SettingName, settingsOf } from '../cluster/configuration.ts'
import type { Setting, SettingCommand } from '../cluster/setting.ts'

/** Adds a flag for each setting that the command has: `proxyMode` becomes `--proxy-mode <mode>`. */
export function addConfigurationFlags(command: Command, name: SettingCommand): Command {
  for (const setting of settingsOf(name)) command.addOption(optionOf(setting, name))
  return command
}

/** Picks the settings out of the options of a command. */
export function configurationFrom(options: Readonly<Record<string, unknown>>): ClusterConfiguration {
  const names = Object.keys(SETTINGS).filter((name) => options[name] !== undefined)
  return Object.fromEntries(names.map((name) => [name, options[name]]))
}

function optionOf(name: SettingName, command: SettingCommand): Option {
  const setting: Setting<unknown> = SETTINGS[name]
  const { help, choices = setting.choices } = setting.flags[command]!
  const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  const value = setting.argument === undefined ? '[true|false]' : `<${setting.argument}>`
  const option = new Option(`${flag} ${value}`, help)
  if (choices) return option.choices(choices)
  return option.argParser((text) => parsed(setting, text))
}

function parsed(setting: Setting<unknown>, text: string): unknown {
  try {
    return setting.parse(text)
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}
