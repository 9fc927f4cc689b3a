import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { CompiledCode } from './compiled-code.ts'

/** The file that the build made of program.ts, beside the executables; its name holds a hash of what is in it. */
declare const PROGRAM_FILE: string

interface LoadedProgram {
  readonly program: typeof import('./program.ts')
  /** To be called once the role has come to its work: keeps what was compiled until then for the next start. */
  readonly keepCompiled: () => void
}

/** Loads the program with the code that an earlier process in the same role had to compile. */
export function loadProgram(role: string): LoadedProgram {
  const url = new URL(`./${PROGRAM_FILE}`, import.meta.url)
  const filename = fileURLToPath(url)
  const compiled = CompiledCode.of(`${PROGRAM_FILE}-${role}`)
  // The build leaves nothing but ASCII in it, which is read fastest so.
  const script = new Script(readFileSync(filename, 'latin1'), { filename, cachedData: compiled.read() })
  const module = { exports: {} }
  script.runInThisContext()(module, createRequire(url), url.href)
  const isNew = script.cachedDataRejected !== false
  return {
    program: module.exports as LoadedProgram['program'],
    keepCompiled: () => isNew && compiled.write(script.createCachedData()),
  }
}
