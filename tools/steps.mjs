/** Running commands one after another, with a line for each: what the tools of this folder have in common. */
import { spawn } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of package.json. */
export const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)))

const colours = process.stdout.isTTY && !process.env.NO_COLOR
const paint = (code, text) => (colours ? `\x1b[${code}m${text}\x1b[0m` : text)
export const bold = (text) => paint(1, text)
export const red = (text) => paint(31, text)
export const green = (text) => paint(32, text)
export const yellow = (text) => paint(33, text)

export const local = (binary) => path.join(ROOT, 'node_modules', '.bin', binary)

/** Runs a command to its end. `quiet` keeps its output back unless it fails. */
export function run(command, args, { quiet = false, env = process.env, cwd = ROOT } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit' })
    const output = []
    child.stdout?.on('data', (chunk) => output.push(chunk))
    child.stderr?.on('data', (chunk) => output.push(chunk))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(Buffer.concat(output).toString())
      if (quiet) process.stderr.write(Buffer.concat(output))
      reject(
        new Error(`${path.basename(command)} ${args.join(' ')} ${signal ? `died of ${signal}` : `ended with ${code}`}`),
      )
    })
  })
}

const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`

/** One named piece of work; says how it went and how long it took. */
export async function step(name, work) {
  const started = Date.now()
  console.log(bold(`> ${name}`))
  try {
    const result = await work()
    console.log(`${green('ok')} ${name} (${seconds(started)})`)
    return result
  } catch (error) {
    console.error(`${red('failed')} ${name} (${seconds(started)}): ${error instanceof Error ? error.message : error}`)
    throw error
  }
}

/** Runs all steps, also after a failure, so that one run tells everything that is wrong. Returns the failed names. */
export async function allSteps(steps) {
  const failed = []
  for (const [name, work] of steps) {
    try {
      await step(name, work)
    } catch {
      failed.push(name)
    }
  }
  if (failed.length > 0) console.error(red(`\nfailed: ${failed.join(', ')}`))
  return failed
}
