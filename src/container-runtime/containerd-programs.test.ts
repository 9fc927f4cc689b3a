import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { findProgram, missingPrograms } from './containerd-programs.ts'

test('what is missing is named; a file that cannot be executed is no program', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-programs-'))
  try {
    for (const name of ['containerd', 'ctr']) writeFileSync(path.join(folder, name), '#!/bin/sh\n', { mode: 0o755 })
    writeFileSync(path.join(folder, 'runc'), '', { mode: 0o644 })
    expect(missingPrograms(['/no/such/folder', folder])).toEqual(['containerd-shim-runc-v2', 'runc'])
    expect(findProgram('ctr', [folder])).toBe(path.join(folder, 'ctr'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
