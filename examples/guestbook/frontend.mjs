// The page of the guestbook: reads from the followers, writes to the leader.
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const { PORT = '8080', LEADER = 'http://leader:6379', FOLLOWER = 'http://follower:6379' } = process.env
const escaped = (message) => message.replace(/[&<>]/g, (char) => `&#${char.charCodeAt(0)};`)

async function page() {
  const messages = await (await fetch(FOLLOWER)).json()
  const list = messages.map((message) => `<li>${escaped(message)}</li>`).join('')
  return `<h1>Guestbook</h1><ul>${list}</ul><form method=post><input name=message><button>Sign</button></form>\n`
}

async function sign(request) {
  const message = new URLSearchParams(await text(request)).get('message') ?? ''
  await fetch(LEADER, { method: 'POST', body: message })
}

const server = createServer(async (request, response) => {
  try {
    if (request.method !== 'POST') return void response.setHeader('content-type', 'text/html').end(await page())
    await sign(request)
    response.writeHead(303, { location: '/' }).end()
  } catch (error) {
    response.writeHead(503).end(`${error.message}\n`)
  }
})
server.listen(Number(PORT), () => console.log(`listening on ${server.address().port}`))
process.on('SIGTERM', () => process.exit(0))
