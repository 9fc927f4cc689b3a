// Hands out items, each to one who asks.
import { createServer } from 'node:http'

const { PORT = '5672', ITEMS = 'apple,banana,cherry,date,fig,grape,lemon,melon' } = process.env
const items = ITEMS.split(',')

const server = createServer((request, response) => {
  if (request.method !== 'POST') return void response.end(`${items.length}\n`)
  const item = items.shift()
  response.writeHead(item === undefined ? 204 : 200).end(item)
})
server.listen(Number(PORT), () => console.log(`listening on ${server.address().port}`))
process.on('SIGTERM', () => process.exit(0))
