// Takes items from the queue and works on them: one with the argument `one`, else all there are.
const { QUEUE = 'http://queue:5672' } = process.env
const takesOne = process.argv[2] === 'one'

async function take() {
  const answer = await fetch(QUEUE, { method: 'POST' })
  return answer.status === 204 ? undefined : answer.text()
}

for (let item = await take(); item !== undefined; item = takesOne ? undefined : await take()) {
  console.log(`working on ${item}`)
  await new Promise((resolve) => setTimeout(resolve, 200))
}
