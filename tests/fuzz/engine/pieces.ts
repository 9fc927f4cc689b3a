/** The same bytes as they could arrive: in pieces of different sizes. */
export function inPieces(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 5 + 3) % 61) {
    pieces.push(Buffer.from(bytes.subarray(at, at + size)))
  }
  return pieces
}
