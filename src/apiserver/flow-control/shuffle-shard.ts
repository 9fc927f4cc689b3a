import { createHash } from 'node:crypto'

/**
 * The queues that a flow may use. Two flows rarely have the same hand, so a flow that fills all of its queues leaves
 * almost every other flow at least one that is free.
 */
export function dealHand(flow: string, queues: number, handSize: number): number[] {
  let entropy = createHash('sha256').update(flow).digest().readBigUInt64BE()
  const hand: number[] = []
  for (let dealt = 0; dealt < Math.min(handSize, queues); dealt++) {
    const left = BigInt(queues - dealt)
    let card = Number(entropy % left)
    entropy /= left
    // The card is counted among those that are still in the deck.
    for (const taken of hand.toSorted((a, b) => a - b)) if (taken <= card) card++
    hand.push(card)
  }
  return hand
}
