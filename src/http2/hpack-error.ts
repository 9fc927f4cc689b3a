/** The client's header blocks cannot be read any more: COMPRESSION_ERROR, which ends the connection. */
export class HpackError extends Error {}
