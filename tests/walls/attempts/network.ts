/** What a pod reaches by the network without any credentials. */
import type { ScriptAttempt } from '../attempt.ts'

/** Servers on the loopback of the node and of the machine; see neighbours of the canaries in loopback.ts. */
export const LOOPBACK_PORT = 45_871

const get = 'wget -q -T 3 -O- --no-check-certificate'
/** Any answer with content is one too many. */
const gets = (...urls: readonly string[]) =>
  `for u in ${urls.join(' ')}; do text=$(${get} $u 2>/dev/null); [ -n "$text" ] && echo ESCAPED $u: $text; done; echo held`

const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token'
const API = 'https://kubernetes.default.svc'

export const network: readonly ScriptAttempt[] = [
  {
    name: 'the kubelet answers nothing without credentials',
    idea: 'an open kubelet',
    script: gets(
      ...['pods', 'runningpods/', 'metrics', 'logs/', 'stats/summary', 'configz', 'debug/pprof/'].map(
        (place) => `https://$NODE_IP:10250/${place}`,
      ),
      ...['http://$NODE_IP:10255/pods', 'http://$NODE_IP:10250/pods', 'http://$NODE_IP:10248/pods'],
    ),
  },
  {
    name: 'the kubelet runs nothing without credentials',
    idea: 'an open kubelet',
    script: `for v in run exec attach portForward; do text=$(${get} --post-data cmd=id https://$NODE_IP:10250/$v/default/cell-default/main 2>/dev/null); [ -n "$text" ] && echo ESCAPED $v $text; done; echo held`,
  },
  {
    name: 'the API server tells a pod without credentials nothing',
    idea: 'anonymous access',
    script: gets(
      ...['api/v1/secrets', 'api/v1/pods', 'api/v1/nodes/node-1/proxy/pods', 'metrics', 'debug/pprof/'].map(
        (place) => `${API}/${place}`,
      ),
    ),
  },
  {
    name: 'the token of a pod opens nothing of others',
    idea: 'the default service account',
    script: `for p in api/v1/secrets api/v1/namespaces/kube-system/secrets api/v1/namespaces/default/secrets api/v1/nodes/node-1/proxy/pods; do text=$(${get} --header "Authorization: Bearer $(cat ${TOKEN})" ${API}/$p 2>/dev/null); [ -n "$text" ] && echo ESCAPED $p; done; [ -s ${TOKEN} ] && echo held`,
  },
  {
    name: 'servers on the loopback of the node and of the machine are not reached',
    idea: 'CVE-2020-8558',
    script: gets(
      ...[
        '127.0.0.1',
        '$NODE_IP',
        'localhost',
        '$(ip route | sed -n "s/default via \\([^ ]*\\).*/\\1/p")',
        '172.30.0.1',
        '169.254.1.1',
      ].map((host) => `http://${host}:${LOOPBACK_PORT}/`),
    ),
  },
  {
    name: 'a frame with a loopback address inside does not reach the node',
    idea: 'CVE-2020-8558',
    script: `gateway=$(ip route | sed -n 's/default via \\([^ ]*\\).*/\\1/p'); ping -c 1 -W 1 $gateway >/dev/null; mac=$(awk -v g=$gateway '$1 == g { print $4 }' /proc/net/arp); for i in 1 2 3; do attacker loopback-frame $mac $POD_IP ${LOOPBACK_PORT}; done`,
  },
  {
    name: 'a pod cannot change links, addresses and routes of its own network',
    idea: 'NET_ADMIN is no default capability',
    script:
      'ip link set lo down 2>/dev/null && echo ESCAPED link; ip route add 127.0.0.0/8 via $NODE_IP 2>/dev/null && echo ESCAPED route; ip addr add 10.244.0.250/32 dev eth0 2>/dev/null && echo ESCAPED address; echo held',
    worksPrivileged: true,
  },
  {
    name: 'a pod with the network of the node finds no socket without a file',
    idea: 'CVE-2020-15257',
    cell: 'host-network',
    script: 'attacker abstract-sockets',
  },
]
