/** The base image of all attempts, and hostile ones on top of it, loaded with `sampan image load`. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { makeBusyboxRoot } from '../container-runtime/busybox-image.ts'
import { buildImage, tarOf } from '../tools/build-image.ts'
import type { HostileImage } from './attempt.ts'
import type { Environment } from './environments.ts'

export const BASE_IMAGE = 'walls.test/base:1'
export const hostileName = (row: number) => `walls.test/hostile-${row}:1`

/** Loads the base image and these. Gives what was said about those that were not taken. */
export async function loadImages(
  environment: Environment,
  hostile: ReadonlyMap<string, HostileImage>,
): Promise<ReadonlyMap<string, string>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-walls-images-'))
  chmodSync(folder, 0o755)
  try {
    const base = baseLayer(folder)
    const [wellFormed, malformed] = [[...hostile], [...hostile]].map((all, i) =>
      all.filter(([, image]) => (image.isMalformed === true) === (i === 1)),
    )
    const bundle = path.join(folder, 'bundle')
    writeLayout(bundle, base, [[BASE_IMAGE, {}], ...wellFormed!])
    const loaded = await environment.sampan('image', 'load', bundle)
    if (loaded.code !== 0) throw new Error(`sampan image load: ${loaded.stdout}\n${loaded.stderr}`)
    const refused = new Map<string, string>()
    for (const [i, one] of malformed!.entries()) {
      const layout = path.join(folder, `malformed-${i}`)
      writeLayout(layout, base, [one])
      const { code, stdout, stderr } = await environment.sampan('image', 'load', layout)
      if (code !== 0) refused.set(one[0], `${stdout}${stderr}`)
    }
    return refused
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function baseLayer(folder: string): Buffer {
  const root = path.join(folder, 'base')
  mkdirSync(root)
  makeBusyboxRoot(root)
  writeFileSync(path.join(root, 'bin', 'attacker'), attackerProgram(), { mode: 0o755 })
  return tarOf(root)
}

/** Several images in one OCI layout. */
function writeLayout(to: string, base: Buffer, images: readonly (readonly [string, HostileImage])[]): void {
  const manifests: unknown[] = []
  const index = path.join(to, 'index.json')
  for (const [name, { layers = [], config = {} }] of images) {
    const all = [{ tar: base }, ...layers].map((layer) => ({ compression: 'none' as const, ...layer }))
    buildImage({ to, name, layers: all, config: { Env: ['PATH=/bin'], Cmd: ['sh'], ...config } })
    const written = JSON.parse(readFileSync(index, 'utf8')) as { manifests: unknown[] }
    manifests.push(...written.manifests)
  }
  writeFileSync(index, JSON.stringify({ schemaVersion: 2, manifests }))
}

let program: Buffer | undefined

/** attacker.c; musl makes it small and without libraries. */
export function attackerProgram(): Buffer {
  if (program) return program
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-attacker-'))
  const file = path.join(folder, 'attacker')
  const source = path.join(import.meta.dirname, 'attacker.c')
  try {
    execFileSync('musl-gcc', ['-static', '-Os', '-s', '-Wall', '-Wextra', '-Wno-format-truncation', '-o', file, source])
    program = readFileSync(file)
    return program
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
