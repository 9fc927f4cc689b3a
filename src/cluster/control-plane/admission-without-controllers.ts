/** What a plugin begins, controllers have to end: without them it would stand in the way. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  ServiceAccount: ['serviceaccount-controller'],
  StorageObjectInUseProtection: [
    'persistentvolumeclaim-protection-controller',
    'persistentvolume-protection-controller',
    'volumeattributesclass-protection-controller',
  ],
}

/** Admission plugins to leave out, because not all controllers run. */
export function pluginsWithoutControllers(options: { readonly controllers?: boolean | readonly string[] }): string[] {
  const { controllers = true } = options
  if (controllers === true) return []
  const running = controllers === false ? [] : controllers
  return Object.keys(NEEDS).filter((plugin) => NEEDS[plugin]!.some((name) => !running.includes(name)))
}
