/**
 * npm run build: generated sources, then the libraries with shared chunks and the program in one file, unminified, then
 * declarations.
 * A part whose inputs did not change is left alone. `--generate` stops after the generated sources.
 */
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { ensureDependencies } from './setup.mjs'
import { local, ROOT, run, step } from './steps.mjs'

const LIBRARIES = ['src/cluster/index.ts', 'src/testing/index.ts']
const EXECUTABLES = ['src/bin/sampan.ts', 'src/bin/sampan-server.ts', 'src/bin/sampan-node.ts']
/** What tools/generate writes: if it is gone, an unchanged hash means nothing. */
const GENERATED = ['src/api/generated', 'src/openapi/generated', 'src/api/protobuf/generated']
const STAMPS = path.join(ROOT, '.cache', 'build')

const at = (file) => path.join(ROOT, file)

function* filesBelow(folder) {
  for (const entry of readdirSync(at(folder), { withFileTypes: true })) {
    const file = `${folder}/${entry.name}`
    if (entry.isDirectory()) yield* filesBelow(file)
    else yield file
  }
}

const isInput = (file) => !/\.(test|contract)\.ts$|\.md$/.test(file)

/** One hash over the names and bytes of files and folders. */
function hashOf(inputs) {
  const hash = createHash('sha256').update(process.version)
  for (const input of inputs.filter((name) => existsSync(at(name)))) {
    const files = path.extname(input) ? [input] : [...filesBelow(input)].filter(isInput).sort()
    for (const file of files)
      hash
        .update(file)
        .update('\0')
        .update(readFileSync(at(file)))
        .update('\0')
  }
  return hash.digest('hex')
}

/** Does the work unless it was done for the same inputs and its products are still there. */
async function whenChanged(name, inputs, products, work) {
  const stamp = path.join(STAMPS, name)
  const hash = hashOf(inputs)
  const done = existsSync(stamp) && readFileSync(stamp, 'utf8') === hash
  if (done && products.every((product) => existsSync(at(product)))) return
  await step(name, work)
  mkdirSync(STAMPS, { recursive: true })
  writeFileSync(stamp, hash)
}

const generate = () => run(process.execPath, [at('tools/generate/main.mjs')], { quiet: true })

/**
 * Sources name data files as `new URL('./generated/x.json.gz', import.meta.url)`. In the bundle every file lies one
 * level below dist/, so the data is copied to dist/assets/ and the URL points there.
 */
const assets = {
  name: 'assets',
  setup(build) {
    build.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path: file }) => {
      const source = readFileSync(file, 'utf8')
      if (!source.includes('import.meta.url')) return undefined
      const contents = source.replace(/new URL\(\s*'(\.[^']+)',\s*import\.meta\.url,?\s*\)/g, (whole, relative) => {
        const asset = path.resolve(path.dirname(file), relative)
        if (!existsSync(asset) || /\.[cm]?[jt]s$/.test(asset)) return whole
        const name = path.relative(at('src'), asset)
        mkdirSync(path.dirname(at(`dist/assets/${name}`)), { recursive: true })
        cpSync(asset, at(`dist/assets/${name}`), { recursive: true })
        return `new URL('../assets/${name}', import.meta.url)`
      })
      return { contents, loader: 'ts' }
    })
  },
}

const COMMON = {
  absWorkingDir: ROOT,
  outbase: 'src',
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  minify: false,
  legalComments: 'none',
  logLevel: 'warning',
}

async function bundle() {
  const { build } = await import('esbuild')
  for (const old of ['bin', 'cluster', 'testing', 'chunks', 'assets'])
    rmSync(at(`dist/${old}`), { recursive: true, force: true })
  await bundleLibraries(build)
  const program = await bundleProgram(build)
  const define = { PROGRAM_FILE: JSON.stringify(program) }
  await build({ ...COMMON, entryPoints: EXECUTABLES, format: 'esm', define })
  chmodSync(at('dist/bin/sampan.js'), 0o755)
}

const bundleLibraries = (build) =>
  build({
    ...COMMON,
    entryPoints: LIBRARIES,
    packages: 'external',
    chunkNames: 'chunks/[name]-[hash]',
    splitting: true,
    format: 'esm',
    plugins: [assets],
  })

/** Found at run time: one is native, one is for those with etcd or CRI sockets, two are optional to `ws`. */
const OUTSIDE_PROGRAM = ['koffi', '@grpc/grpc-js', 'bufferutil', 'utf-8-validate']

/**
 * All that the executables run, packages too, becomes one function in one file, since V8 can keep the compiled code of
 * scripts, not of modules. Returns the file's name.
 */
async function bundleProgram(build) {
  const { metafile } = await build({
    ...COMMON,
    entryPoints: ['src/bin/program.ts'],
    external: OUTSIDE_PROGRAM,
    entryNames: '[dir]/[name]-[hash]',
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'programUrl' },
    banner: { js: '(function (module, require, programUrl) {' },
    footer: { js: '})' },
    plugins: [assets],
    metafile: true,
  })
  writeLicenses(Object.keys(metafile.inputs))
  return path.basename(Object.keys(metafile.outputs)[0])
}

/** What the authors of the packages inside ask for: their licenses go where their code goes. */
function writeLicenses(inputs) {
  const packages = new Set(inputs.flatMap((input) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? []))
  const texts = [...packages].sort().map((name) => {
    const folder = at(`node_modules/${name}`)
    const license = readdirSync(folder).find((file) => /^licen[sc]e/i.test(file))
    return `${name}\n\n${readFileSync(path.join(folder, license), 'utf8').trim()}\n`
  })
  writeFileSync(at('dist/bin/LICENSES.txt'), texts.join(`\n${'-'.repeat(80)}\n\n`))
}

async function declarations() {
  rmSync(at('dist/types'), { recursive: true, force: true })
  await run(local('tsc'), ['-p', 'tsconfig.build.json'], { quiet: true })
}

export async function buildGenerated() {
  const inputs = ['tools/generate', 'package-lock.json']
  await whenChanged('generate sources', inputs, GENERATED, generate)
}

export async function build() {
  await buildGenerated()
  const inputs = ['src', 'tools/build.mjs', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json']
  await whenChanged('bundle', inputs, ['dist/bin/sampan.js', 'dist/cluster/index.js', 'dist/testing/index.js'], bundle)
  await whenChanged('declarations', inputs, ['dist/types/cluster/index.d.ts'], declarations)
}

if (process.argv[1] === at('tools/build.mjs')) {
  await ensureDependencies()
  await (process.argv.includes('--generate') ? buildGenerated() : build()).catch(() => process.exit(1))
}
