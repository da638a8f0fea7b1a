// Load for script/bench: devices that wait for notifications and acknowledge them, and providers that send. Speaks to
// Carillon (HTTP/2) and to an MQTT broker alike, with the same TLS, the same payloads and the same clock, so that the
// two differ in nothing but the protocol. It builds with Go's own library alone.
//
//	load devices -kind carillon|mqtt -address HOST:PORT -count N …   waits for commands on standard input
//	load push    -kind carillon|mqtt -address HOST:PORT -count N …   sends and ends
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
)

type options struct {
	kind, address, authority, chains, key, paths, token string
	count, first, connections, window, parallel         int
	rate                                                float64
	expiration, channel                                 string
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: load devices|push …")
	}
	var o options
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	flags.StringVar(&o.kind, "kind", "carillon", "carillon or mqtt")
	flags.StringVar(&o.address, "address", "", "of the server")
	flags.StringVar(&o.authority, "ca", "", "the server's authority, PEM")
	flags.StringVar(&o.chains, "chains", "", "client certificate chains, PEM; where there is one, everybody has it")
	flags.StringVar(&o.key, "key", "", "the key of all of them, PEM")
	flags.StringVar(&o.paths, "paths", "", "push: a request path for each device")
	flags.StringVar(&o.token, "token", "", "push: the provider token")
	flags.StringVar(&o.expiration, "expiration", "", "push: the value of apns-expiration")
	flags.StringVar(&o.channel, "channel", "", "a broadcast channel, or MQTT topic, that all devices subscribe to and pushes go to")
	flags.IntVar(&o.count, "count", 1, "devices: how many; push: how many notifications")
	flags.IntVar(&o.first, "first", 0, "devices: the number of the first one")
	flags.IntVar(&o.connections, "connections", 8, "push: how many")
	flags.IntVar(&o.window, "window", 100, "push: how many under way on each connection")
	flags.IntVar(&o.parallel, "parallel", 32, "devices: how many connect at once")
	flags.Float64Var(&o.rate, "rate", 0, "push: notifications a second; 0 is as fast as they are answered")
	flags.Parse(os.Args[2:])

	var err error
	switch os.Args[1] {
	case "devices":
		err = runDevices(o)
	case "push":
		err = runPush(o)
	default:
		err = fmt.Errorf("unknown command %s", os.Args[1])
	}
	if err != nil {
		log.Fatal(err)
	}
}
