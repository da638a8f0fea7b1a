package carillontest_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"testing"
	"time"

	"carillon.example/carillontest"
)

// backend is a small provider on net/http. A real one gets the same values from its configuration.
type backend struct {
	t      *testing.T
	apns   *carillontest.APNs
	client *http.Client
	token  string
}

func newBackend(t *testing.T, apns *carillontest.APNs) *backend {
	t.Helper()
	block, _ := pem.Decode([]byte(apns.PrivateKey))
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(fmt.Sprintf(`{"alg":"ES256","kid":%q}`, apns.KeyID))) + "." +
		encode([]byte(fmt.Sprintf(`{"iss":%q,"iat":%d}`, apns.TeamID, time.Now().Unix())))
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, parsed.(*ecdsa.PrivateKey), digest[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return &backend{t, apns, apns.Client(), text + "." + encode(signature)}
}

type answer struct {
	Status int
	APNSID string
	Reason string
	Detail string
}

func (b *backend) notify(token, payload string) answer {
	b.t.Helper()
	request, err := http.NewRequest("POST", b.apns.URL+"/3/device/"+token, bytes.NewReader([]byte(payload)))
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("authorization", "bearer "+b.token)
	request.Header.Set("apns-topic", b.apns.BundleID)
	request.Header.Set("apns-push-type", "alert")
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	got := answer{Status: response.StatusCode, APNSID: response.Header.Get("apns-id")}
	if response.StatusCode != http.StatusOK {
		if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
			b.t.Fatal(err)
		}
	}
	return got
}

func expect[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%v instead of %v", got, want)
	}
}
