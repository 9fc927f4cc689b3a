// Keeps the messages of the guestbook. The leader takes new ones; a follower copies all of them from the leader.
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const { PORT = '6379', LEADER } = process.env
let messages = []

const server = createServer(async (request, response) => {
  if (request.method === 'POST') {
    if (LEADER) return void response.writeHead(405).end('only the leader takes messages\n')
    messages.push(await text(request))
  }
  response.setHeader('content-type', 'application/json').end(JSON.stringify(messages))
})
server.listen(Number(PORT), () => console.log(`listening on ${server.address().port}`))

if (LEADER) {
  setInterval(async () => {
    try {
      messages = await (await fetch(LEADER)).json()
    } catch (error) {
      console.error(`the leader does not answer: ${error.message}`)
    }
  }, 500)
}
// The first process of a container ends by a signal only if it says so.
process.on('SIGTERM', () => process.exit(0))
