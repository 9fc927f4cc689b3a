import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import { systemClock } from '../../base/clock.ts'
import { instanceOf } from '../../cluster/instance.ts'
import type { NodeImages } from '../../cluster/node-images.ts'
import { UserError } from '../../cluster/user-error.ts'
import type { Image, RegistryAuth } from '../../container-runtime/image-service.ts'
import { addClusterFlags, type ClusterFlags } from '../cluster-flags.ts'
import { pullDisplay } from '../printing/pull-progress.ts'
import { progress, say, success } from '../printing/say.ts'
import { formatRows } from '../printing/table.ts'

interface PullFlags extends ClusterFlags {
  username?: string
  passwordStdin?: boolean
}

export function imageCommand(): Command {
  return new Command('image')
    .description('Bring images to the nodes on this machine, or take them away.')
    .addCommand(
      addClusterFlags(new Command('pull'))
        .description('Fetch an image from its registry.')
        .argument('<image>', 'busybox:1.36, registry.example/app@sha256:…')
        .option('-u, --username <name>', 'who to be to the registry')
        .option('--password-stdin', 'read the password from standard input')
        .action(pull),
    )
    .addCommand(
      addClusterFlags(new Command('load'))
        .description('Take images from a file: docker save, skopeo, buildah; or from an OCI layout.')
        .argument('<archive>', 'a tar file, perhaps compressed, or a folder')
        .action(load),
    )
    .addCommand(
      addClusterFlags(new Command('list'))
        .alias('ls')
        .description('List the images that are here.')
        .option('-o, --output <format>', 'json for programs')
        .action(list),
    )
    .addCommand(
      addClusterFlags(new Command('rm'))
        .description('Remove images, by name or id. Containers that run go on.')
        .argument('<image...>', 'names or ids')
        .action(remove),
    )
    .addHelpText(
      'after',
      `
Examples:
  $ sampan image pull busybox:1.36
  $ docker save my-app | gzip > my-app.tar.gz && sampan image load my-app.tar.gz
  $ kubectl run my-app --image=my-app --image-pull-policy=Never`,
    )
}

async function withImages<T>(flags: ClusterFlags, work: (images: NodeImages) => Promise<T>): Promise<T> {
  // Other commands need not load this.
  const { openNodeImages } = await import('../../cluster/node-images.ts')
  const images = await openNodeImages(instanceOf(flags))
  try {
    return await work(images)
  } finally {
    await images[Symbol.asyncDispose]()
  }
}

async function pull(reference: string, flags: PullFlags): Promise<void> {
  const auth = await authOf(flags)
  await withImages(flags, async ({ nodes }) => {
    const display = pullDisplay(process.stderr, () => systemClock.now())
    let image: Image | undefined
    try {
      for (const node of nodes)
        image = await node.images.pull(reference, {
          ...(auth && { auth }),
          onProgress: (step) => display.show(step),
        })
    } finally {
      display.end()
    }
    success(`Pulled ${image?.repoTags[0] ?? image?.repoDigests[0] ?? reference} (${megabytes(image?.size ?? 0)})`)
  })
}

async function authOf({ username, passwordStdin }: PullFlags): Promise<RegistryAuth | undefined> {
  if (username === undefined && !passwordStdin) return undefined
  if (username === undefined || !passwordStdin)
    throw new UserError('--username and --password-stdin belong together', [], { exitCode: 2 })
  return { username, password: (await text(process.stdin)).replace(/\r?\n$/, '') }
}

async function load(archive: string, flags: ClusterFlags): Promise<void> {
  await withImages(flags, async ({ nodes }) => {
    const waiting = progress(`loading ${archive}`)
    let images: readonly Image[] = []
    try {
      for (const node of nodes) images = await node.images.import(archive)
    } finally {
      waiting.stop()
    }
    for (const image of images) success(`Loaded ${image.repoTags[0] ?? image.id} (${megabytes(image.size)})`)
  })
}

async function list(flags: ClusterFlags & { output?: string }): Promise<void> {
  await withImages(flags, async ({ nodes }) => {
    const known = new Map<string, Image & { nodes: string[] }>()
    for (const { name, images } of nodes)
      for (const image of await images.list()) {
        const entry = known.get(image.id)
        if (entry) entry.nodes.push(name)
        else known.set(image.id, { ...image, nodes: [name] })
      }
    if (flags.output === 'json') return say(JSON.stringify([...known.values()]))
    const rows = [...known.values()].flatMap((image) =>
      namesOf(image).map((name) => [name, image.id.slice(7, 19), megabytes(image.size), image.nodes.join(',')]),
    )
    if (rows.length === 0) return say('No images here. Get one: sampan image pull busybox')
    for (const line of formatRows([['IMAGE', 'ID', 'SIZE', 'NODES'], ...rows])) say(line)
  })
}

const namesOf = ({ repoTags, repoDigests }: Image) =>
  repoTags.length > 0 ? repoTags : repoDigests.length > 0 ? repoDigests.slice(0, 1) : ['<none>']

async function remove(references: readonly string[], flags: ClusterFlags): Promise<void> {
  await withImages(flags, async ({ nodes }) => {
    for (const reference of references) {
      let found = false
      for (const { images } of nodes) {
        const image = (await images.status(reference)) ?? (await byShortId(images, reference))
        if (!image) continue
        found = true
        await images.remove(image.id.startsWith(`sha256:${reference}`) ? image.id : reference)
      }
      if (!found) throw new UserError(`there is no image ${reference}`, ['See what is here: sampan image list'])
      success(`Removed ${reference}`)
    }
  })
}

const SHORTEST_ID = 6

async function byShortId(images: { list(): Promise<readonly Image[]> }, text: string): Promise<Image | undefined> {
  if (text.length < SHORTEST_ID) return undefined
  const found = (await images.list()).filter(({ id }) => id.startsWith(`sha256:${text}`))
  return found.length === 1 ? found[0] : undefined
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
