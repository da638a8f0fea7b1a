package carillontest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"carillon.example/carillontest"
)

const hello = `{"aps":{"alert":"Your order is ready"}}`

func TestDelivered(t *testing.T) {
	t.Parallel()
	apns := carillontest.New(t)
	got := newBackend(t, apns).notify(apns.Device("online").Token, hello)
	expect(t, got.Status, 200)
	seen := apns.Wait(1, carillontest.Match{"outcome": "delivered", "payload": map[string]any{"aps": map[string]any{"alert": "Your order is ready"}}})
	expect(t, string(seen[0].Payload), hello)
	expect(t, seen[0].APNSID, got.APNSID)
	expect(t, len(apns.Requests(carillontest.Match{"status": 200})), 1)
}

func TestAppWasRemoved(t *testing.T) {
	t.Parallel()
	apns := carillontest.New(t)
	got := newBackend(t, apns).notify(apns.Device("removed", carillontest.Since(time.Now())).Token, hello)
	expect(t, got.Status, 410)
	expect(t, got.Reason, "Unregistered")
}

func TestPhoneIsOff(t *testing.T) {
	t.Parallel()
	apns := carillontest.New(t)
	phone := apns.Device("offline")
	expect(t, newBackend(t, apns).notify(phone.Token, hello).Status, 200)
	apns.Wait(1, carillontest.Match{"outcome": "stored"})
	phone.Behave("online")
	apns.Wait(1, carillontest.Match{"outcome": "delivered"})
}

func TestBusyServer(t *testing.T) {
	t.Parallel()
	apns := carillontest.New(t)
	rehearsal := apns.Rehearse(
		carillontest.Fault{"answer": carillontest.Fault{"reason": "ServiceUnavailable"}}, carillontest.When{"first": 1})
	token, backend := apns.Device("online").Token, newBackend(t, apns)
	expect(t, backend.notify(token, hello).Reason, "ServiceUnavailable")
	expect(t, backend.notify(token, hello).Status, 200)
	expect(t, len(apns.Wait(2, nil)), 2)
	expect(t, rehearsal.Fired(), 1)
}

func TestAnHourLater(t *testing.T) {
	t.Parallel()
	apns := carillontest.New(t)
	token, backend := apns.Device("online").Token, newBackend(t, apns)
	expect(t, backend.notify(token, hello).Status, 200)
	before := apns.Clock.Now()
	if !apns.Clock.Advance(61 * time.Minute).After(before) {
		t.Error("the clock was not advanced")
	}
	// The advance has made it so old, so only going on with it after the first answer is a fault.
	expect(t, backend.notify(token, hello).Reason, "ExpiredProviderToken")
	expect(t, backend.notify(token, hello).Reason, "ExpiredProviderToken")
	for _, finding := range apns.Report() {
		if finding.ID == "provider-token-too-old" {
			return
		}
	}
	t.Error("the report does not name the provider token")
}

func TestIdentifiersOfTheBackend(t *testing.T) {
	t.Parallel()
	apns := carillontest.New(t, carillontest.TeamID("GOTEAM0001"), carillontest.BundleID("com.example.shop.go"),
		carillontest.Key("GOKEY00001", ""))
	const token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
	expect(t, apns.Device("online", carillontest.Token(token)).Token, token)
	expect(t, newBackend(t, apns).notify(token, hello).Status, 200)
	seen := apns.Wait(1, carillontest.Match{"outcome": "delivered", "token": token})
	expect(t, seen[0].Team, "GOTEAM0001")
	expect(t, seen[0].KeyID, "GOKEY00001")
	expect(t, seen[0].Topic, "com.example.shop.go")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	apns := carillontest.New(t, carillontest.Options("--conformance", "strict"))
	got := newBackend(t, apns).notify(apns.Device("online").Token, hello)
	expect(t, got.Status, 403)
	// The Guide wants the path in another form of HPACK than net/http has. The option makes that a rule.
	if !strings.HasPrefix(got.Detail, "The header :path came as a literal with incremental indexing (") ||
		!strings.Contains(got.Detail, "; the Guide (2.3.4.1) requires it as a literal without indexing") {
		t.Error(got.Detail)
	}
}

func TestDataOfTheBackend(t *testing.T) {
	t.Parallel()
	apns := carillontest.New(t, carillontest.AcceptAny())
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	own := *apns
	own.TeamID, own.KeyID, own.BundleID = "STRANGE001", "STRANGEKEY", "com.example.own"
	own.PrivateKey = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	const token = "5f21d20b2a4b1b8c1d7d3c3f6a3c7e1f5f21d20b2a4b1b8c1d7d3c3f6a3c7e1f"
	expect(t, newBackend(t, &own).notify(token, hello).Status, 200)
	seen := apns.Wait(1, carillontest.Match{"topic": "com.example.own", "outcome": "delivered"})
	expect(t, seen[0].Team, "STRANGE001")
	expect(t, seen[0].Token, token)
}

// Two hundred tests that run at the same time over one service: each has a team of its own.
func TestMany(t *testing.T) {
	for number := 0; number < 200; number++ {
		payload := fmt.Sprintf(`{"number":%d}`, number)
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			apns := carillontest.New(t, carillontest.WaitLimit(time.Minute))
			apns.Rehearse(carillontest.Fault{"answer": carillontest.Fault{"reason": "ServiceUnavailable"}}, carillontest.When{"first": 1})
			token, backend := apns.Device("online").Token, newBackend(t, apns)
			expect(t, backend.notify(token, payload).Status, 503)
			expect(t, backend.notify(token, payload).Status, 200)
			seen := apns.Wait(1, carillontest.Match{"outcome": "delivered"})
			expect(t, string(seen[0].Payload), payload)
			expect(t, len(apns.Requests(nil)), 2)
		})
	}
}
