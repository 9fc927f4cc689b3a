// Answers every request after some work for the processor.
import { createServer } from 'node:http'

const { PORT = '8080', WORK = '2000000' } = process.env

const server = createServer((_, response) => {
  let sum = 0
  for (let i = 0; i < Number(WORK); i++) sum += Math.sqrt(i)
  response.end(`OK ${Math.round(sum)}\n`)
})
server.listen(Number(PORT), () => console.log(`listening on ${server.address().port}`))
process.on('SIGTERM', () => process.exit(0))
