import { readFileSync } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { NetworkInterfaceStats } from '../runtime.ts'

/** Figures of a network namespace, through any process that is in it. */
export function networkStats(pid: number): NetworkInterfaceStats[] {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/net/dev`, 'utf8')
  } catch {
    return []
  }
  const lines = text.split('\n').slice(2).filter(Boolean)
  return lines.map((line) => {
    const colon = line.indexOf(':')
    const fields = line
      .slice(colon + 1)
      .trim()
      .split(/\s+/)
      .map(Number)
    const field = (index: number) => fields[index] ?? 0
    return {
      name: line.slice(0, colon).trim(),
      rxBytes: field(0),
      rxErrors: field(2),
      txBytes: field(8),
      txErrors: field(10),
    }
  })
}

export interface Usage {
  readonly bytes: number
  readonly inodes: number
}

const FRESH_MS = 15_000

/** What containers wrote, counted at most every 15 seconds each. */
export class WritableUsage {
  private readonly clock: Clock
  private readonly known = new Map<string, { at: number; usage: Promise<Usage> }>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  of(folder: string): Promise<Usage> {
    const last = this.known.get(folder)
    if (last && this.clock.now() - last.at < FRESH_MS) return last.usage
    const usage = usageOf(folder)
    this.known.set(folder, { at: this.clock.now(), usage })
    return usage
  }

  forget(folder: string): void {
    this.known.delete(folder)
  }
}

async function usageOf(folder: string): Promise<Usage> {
  let bytes = 0
  let inodes = 0
  // One folder is open at a time, however deep a container nests them.
  const pending = [folder]
  for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
    const entries = await opendir(directory).catch(() => [])
    for await (const entry of entries) {
      const file = path.join(directory, entry.name)
      const stat = await lstat(file).catch(() => undefined)
      if (!stat) continue
      inodes++
      bytes += stat.blocks * 512
      if (stat.isDirectory()) pending.push(file)
    }
  }
  return { bytes, inodes }
}
