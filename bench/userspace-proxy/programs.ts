/** The processes around the proxies, as texts for `node -e`, and the configurations of the peers. */

export const PORTS = {
  echo: 7001,
  sink: 7002,
  udp: 7003,
  peerEcho: 8001,
  peerSink: 8002,
  peerUdp: 8003,
  peerDns: 8004,
} as const

/** Says what it hears; takes all and says `ok` at the end. */
export const SERVER = `
const net = require('node:net')
net.createServer({ noDelay: true }, (s) => { s.on('error', () => {}); s.pipe(s) }).listen(${PORTS.echo}, '127.0.0.1')
net.createServer({ allowHalfOpen: true }, (s) => { s.on('error', () => {}); s.resume(); s.on('end', () => s.end('ok')) }).listen(${PORTS.sink}, '127.0.0.1')
console.log('ready')
`

/** kind, port, clients at once, operations of each. */
export const LOAD = `
const net = require('node:net')
const [kind, port, clients, count] = process.argv.slice(1).map((w, i) => (i === 0 ? w : Number(w)))
const request = Buffer.alloc(100, 'x'), megabyte = Buffer.alloc(1 << 20)
const connect = () => net.connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
const trip = (s) => new Promise((done, fail) => { let n = 0; const on = (d) => { n += d.length; if (n >= 100) { s.off('data', on); done() } }; s.on('data', on); s.once('error', fail); s.write(request) })
const kinds = {
  async kept() { const s = connect(); s.setMaxListeners(0); for (let i = 0; i < count; i++) await trip(s); s.destroy() },
  async fresh() { for (let i = 0; i < count; i++) { const s = connect(); await trip(s); s.end(); await new Promise((r) => s.on('close', r).resume()) } },
  async bulk() { const s = connect(); s.resume(); for (let i = 0; i < count; i++) if (!s.write(megabyte)) await new Promise((r) => s.once('drain', r)); s.end(); await new Promise((r) => s.on('close', r)) },
}
Promise.all(Array.from({ length: clients }, () => kinds[kind]())).then(() => process.exit(0), (e) => { console.error(e); process.exit(1) })
`

export const HAPROXY = `global
  nbthread 1
  maxconn 2048
defaults
  mode tcp
  option splice-auto
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen echo
  bind 127.0.0.1:${PORTS.peerEcho}
  server one 127.0.0.1:${PORTS.echo}
listen sink
  bind 127.0.0.1:${PORTS.peerSink}
  server one 127.0.0.1:${PORTS.sink}
`

export const nginx = (folder: string) => `load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/nginx.log;
events { worker_connections 4096; }
stream {
  server {
    listen 127.0.0.1:${PORTS.peerUdp} udp;
    proxy_pass 127.0.0.1:${PORTS.udp};
    proxy_timeout 2s;
  }
  server {
    listen 127.0.0.1:${PORTS.peerDns} udp;
    proxy_pass 127.0.0.1:${PORTS.udp};
    proxy_timeout 2s;
    proxy_responses 1;
  }
}
`

/** Answers every question itself, at once. */
export const DNSMASQ = [
  ...['-k', '-C', '/dev/null', '--no-resolv', '--no-hosts', '--bind-interfaces', '--user=root', '-x', ''],
  ...[`--port=${PORTS.udp}`, '--listen-address=127.0.0.1', '--address=/test/192.0.2.1'],
]
