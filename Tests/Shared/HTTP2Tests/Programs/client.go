// A client of Go's net/http. usage: go run client.go PORT CERTIFICATE
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

var client *http.Client

func post(url, id, body string) string {
	request, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("apns-id", id)
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	if response.ProtoMajor != 2 || response.StatusCode != 200 || response.Header.Get("apns-id") != id {
		log.Fatal(response)
	}
	return string(text)
}

func main() {
	certificate, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	client = &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true},
	}
	server := "https://127.0.0.1:" + os.Args[1]
	var group sync.WaitGroup
	var lock sync.Mutex
	good := 0
	for number := 0; number < 100; number++ {
		group.Add(1)
		go func(number int) {
			defer group.Done()
			body := fmt.Sprintf("{\"%d\"}", number)
			if post(server+"/echo", fmt.Sprint(number), body) == body {
				lock.Lock()
				good++
				lock.Unlock()
			}
		}(number)
	}
	group.Wait()
	long := post(server+"/echo", "long", strings.Repeat("x", 100_000))
	large := post(server+"/large", "large", "")
	fmt.Println(good, len(long), len(large))
}
