/**
 * npm run fuzz [-- targets...] [--seconds N] [--seed N]: bundles the targets of tests/fuzz (Node 20 runs no TypeScript)
 * and fuzzes each of them.
 */
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT, run } from './steps.mjs'

/** Bundles the fuzzer and its targets, and returns the folder they are in. */
export async function bundleFuzzer() {
  const { build } = await import('esbuild')
  const outdir = path.join(ROOT, '.cache', 'fuzz', 'modules')
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['tests/fuzz/main.ts', 'tests/fuzz/engine/worker.ts', 'tests/fuzz/targets/*.ts'],
    outbase: 'tests/fuzz',
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    sourcemap: true,
    // The same code as ES modules: names cannot be imported from CommonJS in a bundle.
    alias: { yaml: path.join(ROOT, 'node_modules', 'yaml', 'browser', 'index.js') },
    logLevel: 'warning',
  })
  return outdir
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { ensureDependencies } = await import('./setup.mjs')
  const { buildGenerated } = await import('./build.mjs')
  await ensureDependencies()
  await buildGenerated()
  const modules = await bundleFuzzer()
  const args = ['--enable-source-maps', path.join(modules, 'main.js'), '--modules', modules, ...process.argv.slice(2)]
  await run(process.execPath, args).catch(() => process.exit(1))
}
