/** Says that a changed configuration is followed; the following is done where the configuration comes from. */
import { nothingHeld, type PluginKind } from '../../plugin.ts'

export const reloadKind: PluginKind = {
  name: 'reload',
  setup: () => ({ name: 'reload', answer: (_, next) => next(), ...nothingHeld }),
}
