/** One measured thing beside what it is measured against. */
export interface Row {
  what: string
  ours: string
  /** The peer of the same run, or what the figure is measured against. */
  peer: string
  ratio?: number
  /** What it should be. */
  goal: string
}

export interface Section {
  name: string
  title: string
  run(settings: Settings): Promise<Row[]>
}

export interface Settings {
  quick: boolean
}

export function printRows(title: string, rows: readonly Row[]): void {
  console.log(`\n${title}`)
  const header = ['', 'sampan', 'beside', 'ratio', 'goal']
  const cells = rows.map((row) => [
    row.what,
    row.ours,
    row.peer,
    row.ratio === undefined ? '' : row.ratio.toFixed(2),
    row.goal,
  ])
  const widths = header.map((name, i) => Math.max(name.length, ...cells.map((line) => (line[i] as string).length)))
  for (const line of [header, ...cells]) {
    console.log(
      `  ${line
        .map((cell, i) => cell.padEnd(widths[i] as number))
        .join('  ')
        .trimEnd()}`,
    )
  }
}

export const ms = (value: number) => `${value.toFixed(0)} ms`
export const us = (value: number) => `${value.toFixed(1)} us`
export const mb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`
