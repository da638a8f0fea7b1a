// Sends many notifications with net/http over one HTTP/2 connection, as a provider in Go does, and prints how long that took.
//
//	provider URL CA PROVIDER-TOKEN TOKEN TOPIC COUNT IN-FLIGHT
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) != 8 {
		fmt.Fprintln(os.Stderr, "usage: provider URL CA PROVIDER-TOKEN TOKEN TOPIC COUNT IN-FLIGHT")
		os.Exit(2)
	}
	url, ca, bearer, token, topic := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	count, _ := strconv.Atoi(os.Args[6])
	inFlight, _ := strconv.Atoi(os.Args[7])
	pem, err := os.ReadFile(ca)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, MaxConnsPerHost: 1,
	}}
	payload := []byte(`{"aps":{"alert":"Hello","badge":1}}`)
	send := func() bool {
		request, _ := http.NewRequest("POST", url+"/3/device/"+token, bytes.NewReader(payload))
		request.Header.Set("authorization", "bearer "+bearer)
		request.Header.Set("apns-topic", topic)
		request.Header.Set("apns-push-type", "alert")
		request.Header.Set("apns-priority", "10")
		request.Header.Set("apns-expiration", "0")
		response, err := client.Do(request)
		if err != nil {
			return false
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		return response.StatusCode == 200 && response.Header.Get("apns-id") != ""
	}
	// The first answer shows that the token is valid. Until then the service allows one stream.
	send()
	var left, failed atomic.Int64
	left.Store(int64(count))
	var workers sync.WaitGroup
	start := time.Now()
	for i := 0; i < inFlight; i++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for left.Add(-1) >= 0 {
				if !send() {
					failed.Add(1)
				}
			}
		}()
	}
	workers.Wait()
	wall := time.Since(start).Seconds()
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	cpu := float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6
	fmt.Printf("{\"client\":\"go\",\"count\":%d,\"failed\":%d,\"seconds\":%f,\"cpu\":%f,\"cpuMicrosecondsEach\":%f}\n",
		count, failed.Load(), wall, cpu, cpu/float64(count)*1e6)
}
