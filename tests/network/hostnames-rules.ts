/** What a person who looks at a node is shown of the hostnames example. */
const lines = (text: string) => text.trim().split('\n')

export const NAT = lines(`
-A PREROUTING -m comment --comment "addresses of Services" -j KUBE-SERVICES
-A OUTPUT -m comment --comment "addresses of Services" -j KUBE-SERVICES
-A POSTROUTING -m comment --comment "source addresses of marked packets" -j KUBE-POSTROUTING
-A KUBE-EXT-YN5D6RYVEVZOH44Q -m comment --comment "from outside to default/hostnames: answers return through this node" -j KUBE-MARK-MASQ
-A KUBE-EXT-YN5D6RYVEVZOH44Q -j KUBE-SVC-YN5D6RYVEVZOH44Q
-A KUBE-MARK-FOREIGN -s 10.244.0.0/16 -j RETURN
-A KUBE-MARK-FOREIGN -j KUBE-MARK-MASQ
-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
-A KUBE-NODEPORTS -p tcp -m comment --comment "default/hostnames" -m tcp --dport 30080 -j KUBE-EXT-YN5D6RYVEVZOH44Q
-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0
-A KUBE-POSTROUTING -m comment --comment "marked packets leave with the address of this node" -j MASQUERADE --random-fully
-A KUBE-SEP-6EUHMQ3OA2AW7TFI -s 10.244.0.6/32 -m comment --comment "default/hostnames" -j KUBE-MARK-MASQ
-A KUBE-SEP-6EUHMQ3OA2AW7TFI -p tcp -m comment --comment "default/hostnames" -m tcp -j DNAT --to-destination 10.244.0.6:9376
-A KUBE-SEP-C6GFSMK4HHNDCNDV -s 10.244.1.5/32 -m comment --comment "default/hostnames" -j KUBE-MARK-MASQ
-A KUBE-SEP-C6GFSMK4HHNDCNDV -p tcp -m comment --comment "default/hostnames" -m tcp -j DNAT --to-destination 10.244.1.5:9376
-A KUBE-SEP-SSAABTGROZSQSKZY -s 10.244.0.5/32 -m comment --comment "default/hostnames" -j KUBE-MARK-MASQ
-A KUBE-SEP-SSAABTGROZSQSKZY -p tcp -m comment --comment "default/hostnames" -m tcp -j DNAT --to-destination 10.244.0.5:9376
-A KUBE-SERVICES -d 10.96.174.42/32 -p tcp -m comment --comment "default/hostnames cluster IP" -m tcp --dport 80 -j KUBE-SVC-YN5D6RYVEVZOH44Q
-A KUBE-SERVICES -d 192.168.10.1/32 -m comment --comment "node ports, after the addresses of all Services" -j KUBE-NODEPORTS
-A KUBE-SVC-YN5D6RYVEVZOH44Q ! -s 10.244.0.0/16 -d 10.96.174.42/32 -p tcp -m comment --comment "default/hostnames cluster IP" -m tcp --dport 80 -j KUBE-MARK-MASQ
-A KUBE-SVC-YN5D6RYVEVZOH44Q -m comment --comment "default/hostnames -> 10.244.0.5:9376" -m statistic --mode random --probability 0.33333333349 -j KUBE-SEP-SSAABTGROZSQSKZY
-A KUBE-SVC-YN5D6RYVEVZOH44Q -m comment --comment "default/hostnames -> 10.244.0.6:9376" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-6EUHMQ3OA2AW7TFI
-A KUBE-SVC-YN5D6RYVEVZOH44Q -m comment --comment "default/hostnames -> 10.244.1.5:9376" -j KUBE-SEP-C6GFSMK4HHNDCNDV
`)

export const FILTER = lines(`
-A INPUT -j KUBE-FIREWALL
-A INPUT -m conntrack --ctstate NEW -m comment --comment "source ranges of load balancers" -j KUBE-PROXY-FIREWALL
-A INPUT -m comment --comment "health check node ports" -j KUBE-NODEPORTS
-A INPUT -m conntrack --ctstate NEW -m comment --comment "external addresses of Services" -j KUBE-EXTERNAL-SERVICES
-A FORWARD -m conntrack --ctstate NEW -m comment --comment "source ranges of load balancers" -j KUBE-PROXY-FIREWALL
-A FORWARD -m comment --comment "forwarded packets" -j KUBE-FORWARD
-A FORWARD -m conntrack --ctstate NEW -m comment --comment "addresses of Services" -j KUBE-SERVICES
-A FORWARD -m conntrack --ctstate NEW -m comment --comment "external addresses of Services" -j KUBE-EXTERNAL-SERVICES
-A OUTPUT -j KUBE-FIREWALL
-A OUTPUT -m conntrack --ctstate NEW -m comment --comment "source ranges of load balancers" -j KUBE-PROXY-FIREWALL
-A OUTPUT -m conntrack --ctstate NEW -m comment --comment "addresses of Services" -j KUBE-SERVICES
-A OUTPUT -m conntrack --ctstate NEW -m comment --comment "external addresses of Services" -j KUBE-EXTERNAL-SERVICES
-A KUBE-CLUSTER-IPS -d 10.96.174.42/32 -m comment --comment "default/hostnames has no such port" -j KUBE-PROXY-REJECT
-A KUBE-CLUSTER-IPS -m comment --comment "no Service has this IP" -j DROP
-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP
-A KUBE-FORWARD -m comment --comment "marked packets to Services" -m mark --mark 0x4000/0x4000 -j ACCEPT
-A KUBE-FORWARD -m comment --comment "answers and the rest of known connections" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A KUBE-PROXY-REJECT -p tcp -j REJECT --reject-with tcp-reset
-A KUBE-PROXY-REJECT -j REJECT --reject-with icmp-port-unreachable
-A KUBE-SERVICES -d 10.96.0.0/16 -m comment --comment "not an address and port of a Service" -j KUBE-CLUSTER-IPS
`)

/** Without the chains and sets that are the same for every cluster. */
export const NFTABLES = [
  `	map services {
		type ipv4_addr . inet_proto . inet_service : verdict
		comment "cluster, external and load-balancer IPs"
		elements = { 10.96.174.42 . tcp . 80 comment "default/hostnames" : goto cluster-ip-3 }
	}
`,
  `	map nodeports {
		type inet_proto . inet_service : verdict
		comment "node ports"
		elements = { tcp . 30080 comment "default/hostnames" : goto nodeport-3 }
	}
`,
  `	map endpoints {
		type ipv4_addr . inet_proto . inet_service . mark : ipv4_addr . inet_service
		comment "the endpoints of an address, numbered"
		elements = { 10.96.174.42 . tcp . 80 . 0x00000000 : 10.244.0.5 . 9376,
			     10.96.174.42 . tcp . 80 . 0x00000001 : 10.244.0.6 . 9376,
			     10.96.174.42 . tcp . 80 . 0x00000002 : 10.244.1.5 . 9376 }
	}
`,
  `	chain cluster-ip-3 {
		ip saddr != @pod-cidrs jump mark-for-masquerade
		dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 3 map @endpoints
		dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 1 map @endpoints
	}
`,
  `	chain nodeport-3 {
		jump mark-for-masquerade
		dnat ip to meta l4proto . th dport . numgen random mod 3 map @nodeport-endpoints
		dnat ip to meta l4proto . th dport . numgen random mod 1 map @nodeport-endpoints
	}
`,
  `	chain services {
		ip daddr . meta l4proto . th dport vmap @services
		ip daddr @nodeport-ips meta l4proto . th dport vmap @nodeports
	}
`,
  `	chain nat-prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		jump services
	}
`,
  `	chain nat-postrouting {
		type nat hook postrouting priority srcnat; policy accept;
		ct status dnat ip saddr . ip daddr @hairpin masquerade fully-random comment "a pod that reaches itself"
		jump masquerading
	}
`,
]

export const NFTABLES_MAPS = lines(`
services
nodeports
endpoints
nodeport-endpoints
no-endpoint-services
no-endpoint-nodeports
`)

/** Those of the next sizes, one endpoint more and one less, are there before they are needed. */
export const NFTABLES_CHAINS = lines(`
cluster-ip-3
cluster-ip-2
cluster-ip-4
nodeport-3
nodeport-2
nodeport-4
mark-for-masquerade
masquerading
reject-chain
services
endpoints-check
nodeport-endpoints-check
cluster-ips-check
firewall-check
filter-forward
filter-output
nat-prerouting
nat-output
nat-postrouting
`)
