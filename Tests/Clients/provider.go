// Sends notifications with Go's net/http and its own cryptography, as a backend in Go does. It prints one line of JSON for each answer.
//
//	provider URL CA TOPIC DEVICE-TOKEN PAYLOAD COUNT (key FILE KEY-ID TEAM-ID | certificate FILE)
package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

type answer struct {
	Status int    `json:"status"`
	Reason string `json:"reason,omitempty"`
	ID     string `json:"id"`
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(file string) []byte {
	text, err := os.ReadFile(file)
	check(err)
	return text
}

// A provider token: a JWT that is signed with ES256.
func providerToken(file, keyID, teamID string) string {
	block, _ := pem.Decode(read(file))
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	check(err)
	encode := base64.RawURLEncoding.EncodeToString
	header, _ := json.Marshal(map[string]string{"alg": "ES256", "kid": keyID})
	claims, _ := json.Marshal(map[string]any{"iss": teamID, "iat": time.Now().Unix()})
	text := encode(header) + "." + encode(claims)
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key.(*ecdsa.PrivateKey), digest[:])
	check(err)
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + encode(signature)
}

func main() {
	if len(os.Args) < 9 {
		fmt.Fprintln(os.Stderr, "provider: too few arguments")
		os.Exit(2)
	}
	url, ca, topic, token, payload := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	count, err := strconv.Atoi(os.Args[6])
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(read(ca))
	config, bearer := &tls.Config{RootCAs: roots}, ""
	if os.Args[7] == "certificate" {
		certificate, err := tls.LoadX509KeyPair(os.Args[8], os.Args[8])
		check(err)
		config.Certificates = []tls.Certificate{certificate}
	} else {
		bearer = "bearer " + providerToken(os.Args[8], os.Args[9], os.Args[10])
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
	send := func() answer {
		request, err := http.NewRequest("POST", url+"/3/device/"+token, bytes.NewReader([]byte(payload)))
		check(err)
		if bearer != "" {
			request.Header.Set("authorization", bearer)
		}
		request.Header.Set("apns-topic", topic)
		request.Header.Set("apns-push-type", "alert")
		response, err := client.Do(request)
		check(err)
		defer response.Body.Close()
		told := answer{Status: response.StatusCode, ID: response.Header.Get("apns-id")}
		if response.StatusCode != 200 {
			check(json.NewDecoder(response.Body).Decode(&told))
		}
		return told
	}
	answers := make([]answer, count)
	var all sync.WaitGroup
	for i := range answers {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			answers[i] = send()
		}(i)
	}
	all.Wait()
	for _, each := range answers {
		check(json.NewEncoder(os.Stdout).Encode(each))
	}
}
