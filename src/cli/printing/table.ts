/** The Table form in which the server answers a `get`. */
export interface Table {
  readonly kind?: string
  readonly columnDefinitions?: readonly { readonly name: string; readonly priority?: number }[]
  readonly rows?: readonly TableRow[]
  readonly metadata?: { readonly resourceVersion?: string }
}

export interface TableRow {
  readonly cells: readonly unknown[]
  readonly object?: { readonly metadata?: { readonly name?: string; readonly namespace?: string } }
}

export interface TableStyle {
  readonly wide?: boolean
  readonly withNamespace?: boolean
  /** Put before each name: `pod/`. */
  readonly namePrefix?: string
  readonly headers?: boolean
}

/** Columns under each other, three spaces apart, as kubectl prints them. */
export function formatRows(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length)
  }
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i]! + 3)))
      .join('')
      .trimEnd(),
  )
}

export function formatTable(table: Table, style: TableStyle): string[] {
  const rows = (table.rows ?? []).map((row) => cellsOf(table, row, style))
  return formatRows(style.headers === false ? rows : [headersOf(table, style), ...rows])
}

function headersOf(table: Table, style: TableStyle): string[] {
  const names = shown(table, style).map((i) => table.columnDefinitions![i]!.name.toUpperCase())
  return style.withNamespace ? ['NAMESPACE', ...names] : names
}

function cellsOf(table: Table, row: TableRow, style: TableStyle): string[] {
  const cells = shown(table, style).map((i) => cellText(row.cells[i]))
  if (style.namePrefix && cells.length > 0) cells[0] = `${style.namePrefix}${cells[0]}`
  return style.withNamespace ? [row.object?.metadata?.namespace ?? '', ...cells] : cells
}

/** Indexes of the columns to print. */
function shown(table: Table, style: TableStyle): number[] {
  return (table.columnDefinitions ?? []).flatMap((column, i) => (style.wide || !column.priority ? [i] : []))
}

/** A cell stays on its line, whatever an object carries. */
function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return '<none>'
  const text = typeof cell === 'object' ? JSON.stringify(cell) : String(cell)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters in data must not reach the terminal
  return text.replace(/[\u0000-\u001f\u007f]/g, ' ')
}
