/** npm start: install and build if need be, then a cluster with the demo in the foreground. Arguments go to .sampan up`. */
import { spawn } from 'node:child_process'
import path from 'node:path'
import { build } from './build.mjs'
import { ensureDependencies } from './setup.mjs'
import { ROOT } from './steps.mjs'

try {
  await ensureDependencies()
  await build()
} catch {
  process.exit(1)
}
const cli = path.join(ROOT, 'dist', 'bin', 'sampan.js')
const child = spawn(process.execPath, [cli, 'up', '--demo', ...process.argv.slice(2)], { stdio: 'inherit' })
// Ctrl-C reaches the child by the terminal; wait for its orderly end instead of dying first.
process.on('SIGINT', () => {})
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('close', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
