import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { pathNotFound } from '../../api/meta/api-error.ts'
import { O_PLACE, openBeneath, openFolder } from '../../linux/beneath.ts'

/** `/logs/`: the log files of a node as they are, for those who look at it from afar. No link leads out of the folder. */
export async function sendLogFile(logDir: string, parts: readonly string[], response: ServerResponse): Promise<void> {
  using root = await openFolder(logDir).catch(notFound)
  using place = await openBeneath(root.descriptor, parts.join('/') || '.', { flags: O_PLACE, links: 'follow' }).catch(
    notFound,
  )
  const found = await stat(place.path)
  if (found.isDirectory()) {
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(await listing(place.path))
    return
  }
  if (!found.isFile()) throw pathNotFound()
  response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': found.size })
  // A log that grows meanwhile ends where it ended when it was asked for.
  if (found.size === 0) response.end()
  else await pipeline(createReadStream(place.path, { end: found.size - 1 }), response)
}

function notFound(): never {
  throw pathNotFound()
}

async function listing(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort()
  const lines = names.map((name) => `<a href="./${encodeURI(name)}">${escaped(name)}</a>\n`)
  return `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${lines.join('')}</pre>\n`
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
