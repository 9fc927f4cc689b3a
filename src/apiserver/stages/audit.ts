import type { Stage } from './stage.ts'

/** Writes audit events, where an audit policy is configured. */
export const audit: Stage = ({ auditor }, request, next) => (auditor ? auditor.observe(request, next) : next(request))
