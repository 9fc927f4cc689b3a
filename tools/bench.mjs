/** npm run bench [-- --quick] [names...]: builds, bundles bench/main.ts (Node 20 runs no TypeScript) and runs it. */
import path from 'node:path'
import { build } from './build.mjs'
import { ensureDependencies, ensurePrograms } from './setup.mjs'
import { ROOT, run } from './steps.mjs'

await ensureDependencies()
await ensurePrograms()
await build()
const { build: bundle } = await import('esbuild')
const outdir = path.join(ROOT, '.cache', 'bench')
await bundle({
  absWorkingDir: ROOT,
  entryPoints: [
    'bench/main.ts',
    'bench/load.ts',
    'bench/peer-server.ts',
    'bench/control-loops-job.ts',
    'bench/workload-job.ts',
    'bench/sections/cluster-dns-server.ts',
  ],
  outdir,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  packages: 'external',
  logLevel: 'warning',
})
// Node reads these certificates whenever it starts, which takes longer than all the rest and is not what is measured.
delete process.env.NODE_EXTRA_CA_CERTS
await run(process.execPath, [path.join(outdir, 'main.js'), ...process.argv.slice(2)]).catch(() => process.exit(1))
