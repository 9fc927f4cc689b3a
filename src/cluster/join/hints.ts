export const NEW_TOKEN_HINT = 'Make another on the first machine: sampan token create --print-join-command'
