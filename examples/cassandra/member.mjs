// One member of a ring: knows the others by asking its seeds, and keeps rows on a disk of its own.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { hostname } from 'node:os'
import { text } from 'node:stream/consumers'

const { PORT = '9042', DATA = '/data', SEEDS = '', NAME = hostname() } = process.env
const seeds = SEEDS.split(',').filter((seed) => seed && !seed.startsWith(`${NAME}.`))
const members = new Set([NAME])
mkdirSync(DATA, { recursive: true })
const file = `${DATA}/rows.json`
const rows = readRows()

function readRows() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://member')
  if (pathname === '/members') {
    if (searchParams.has('me')) members.add(searchParams.get('me'))
    return void response.end(JSON.stringify([...members].sort()))
  }
  if (request.method === 'PUT') {
    rows[pathname] = await text(request)
    writeFileSync(file, JSON.stringify(rows))
  }
  response.writeHead(pathname in rows ? 200 : 404).end(rows[pathname])
})
server.listen(Number(PORT), () => console.log(`listening on ${server.address().port}`))

setInterval(async () => {
  for (const seed of seeds) {
    try {
      for (const name of await (await fetch(`http://${seed}/members?me=${NAME}`)).json()) members.add(name)
    } catch {
      // A seed that is not up yet is asked again.
    }
  }
}, 500)
process.on('SIGTERM', () => process.exit(0))
