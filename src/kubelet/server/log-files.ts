import { createReadStream } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { pathNotFound } from '../../api/meta/api-error.ts'

/** `/logs/`: the log files of a node as they are, for those who look at it from afar. */
export async function sendLogFile(root: string, parts: readonly string[], response: ServerResponse): Promise<void> {
  const file = await fileIn(root, parts)
  const found = await stat(file)
  if (found.isDirectory()) {
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(await listing(file))
    return
  }
  if (!found.isFile()) throw pathNotFound()
  response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': found.size })
  // A log that grows meanwhile ends where it ended when it was asked for.
  if (found.size === 0) response.end()
  else await pipeline(createReadStream(file, { end: found.size - 1 }), response)
}

/** Neither names nor links lead out of the folder. */
async function fileIn(root: string, parts: readonly string[]): Promise<string> {
  const [top, file] = await Promise.all([realpath(root), realpath(path.join(root, ...parts))]).catch(() => {
    throw pathNotFound()
  })
  if (file !== top && !file.startsWith(`${top}${path.sep}`)) throw pathNotFound()
  return file
}

async function listing(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort()
  const lines = names.map((name) => `<a href="./${encodeURI(name)}">${escaped(name)}</a>\n`)
  return `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${lines.join('')}</pre>\n`
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
