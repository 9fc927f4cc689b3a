// A DNS server as people write them in Go: the library of CoreDNS, a map of names, nothing else.
package main

import (
	"bufio"
	"net"
	"os"
	"strings"

	"github.com/miekg/dns"
)

// miekg-server ADDRESS HOSTS: serves the names of a file in the form of /etc/hosts.
func main() {
	names := read(os.Args[2])
	soa, err := dns.NewRR("cluster.local. 5 IN SOA ns.dns.cluster.local. hostmaster.cluster.local. 1 7200 1800 86400 5")
	if err != nil {
		panic(err)
	}
	dns.HandleFunc("cluster.local.", func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg)
		reply.SetReply(query)
		reply.Authoritative = true
		question := query.Question[0]
		answer, found := names[strings.ToLower(question.Name)]
		if found && question.Qtype == dns.TypeA {
			reply.Answer = []dns.RR{answer}
		} else {
			reply.Ns = []dns.RR{soa}
			if !found {
				reply.Rcode = dns.RcodeNameError
			}
		}
		_ = w.WriteMsg(reply)
	})
	panic((&dns.Server{Addr: os.Args[1], Net: "udp"}).ListenAndServe())
}

func read(file string) map[string]dns.RR {
	in, err := os.Open(file)
	if err != nil {
		panic(err)
	}
	names := make(map[string]dns.RR)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		name := fields[1] + "."
		header := dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 30}
		names[name] = &dns.A{Hdr: header, A: net.ParseIP(fields[0])}
	}
	return names
}
