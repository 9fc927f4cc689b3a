import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import {
  editKubeconfig,
  kubeconfigPaths,
  mergeKubeconfig,
  parseKubeconfig,
  withoutContext,
} from '../../client/kubeconfig.ts'
import { adminKubeconfigPath, type Instance } from '../instance.ts'
import { UserError } from '../user-error.ts'

/** The kubeconfig a context goes to: the named file, else the first that kubectl reads. */
export const publishedPath = (named: string | undefined) => resolve(named ?? kubeconfigPaths()[0]!)

/** Loads what publishing needs, while a server is still starting. */
export const prepareToPublish = () => import('yaml').then(() => {})

/** Adds the cluster's context to a kubeconfig file and makes it the current one. */
export async function publishContext(instance: Instance, path: string): Promise<void> {
  const own = adminKubeconfigPath(instance)
  const added = await parseKubeconfig(await readFile(own, 'utf8'), own)
  try {
    await editKubeconfig(path, systemClock, (config) => mergeKubeconfig(config, added))
  } catch (error) {
    throw new UserError(`the context could not be added to the kubeconfig: ${(error as Error).message}`, [
      'Choose another file with --kubeconfig; the cluster itself is not affected.',
    ])
  }
}

/** Brings new credentials to a kubeconfig that has the cluster's context; what is current stays so. */
export async function refreshContext(instance: Instance, path: string): Promise<void> {
  const own = adminKubeconfigPath(instance)
  const added = await parseKubeconfig(await readFile(own, 'utf8'), own)
  await editKubeconfig(path, systemClock, (config) => {
    if (!config.contexts?.some(({ name }) => name === instance.context)) return undefined
    return { ...mergeKubeconfig(config, added), 'current-context': config['current-context'] ?? '' }
  })
}

/** Takes the cluster's context out of every kubeconfig it may be in; returns those it was in. */
export async function forgetContext(instance: Instance, paths: readonly string[]): Promise<string[]> {
  const changed: string[] = []
  for (const path of new Set(paths.map((path) => resolve(path)))) {
    if (await editIfThere(path, instance.context)) changed.push(path)
  }
  return changed
}

async function editIfThere(path: string, context: string): Promise<boolean> {
  const text = await readFile(path, 'utf8').catch(() => '')
  // Most files do not hold it: these are neither locked nor parsed.
  if (!text.includes(context)) return false
  return editKubeconfig(path, systemClock, (config) => withoutContext(config, context))
}
