/** What an operator does over the network takes its time: asks again until the answer is yes. */
export async function until(question, patience = 20_000) {
  const end = Date.now() + patience
  for (;;) {
    const answer = await question()
    if (answer) return answer
    if (Date.now() > end) throw new Error('it did not come to pass')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
