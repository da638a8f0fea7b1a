// Tests of what a backend does if everything works, and if something fails. Run them with: go test
package push

import (
	"testing"

	"carillon.example/carillontest"
)

func newProvider(t *testing.T, apns *carillontest.APNs) func(deviceToken string) Answer {
	t.Helper()
	provider, err := NewProvider(apns.URL, apns.BundleID, apns.TeamID, apns.KeyID, apns.PrivateKey, apns.RootCAs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.Close)
	return func(deviceToken string) Answer {
		t.Helper()
		answer, err := provider.Send(deviceToken, []byte(`{"aps":{"alert":"Your order is ready"}}`))
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

func expect[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%v instead of %v", got, want)
	}
}

func TestDelivered(t *testing.T) {
	apns := carillontest.New(t)
	answer := newProvider(t, apns)(apns.Device("online").Token)
	expect(t, answer.Status, 200)
	seen := apns.Wait(1, carillontest.Match{"outcome": "delivered"})
	expect(t, string(seen[0].Payload), `{"aps":{"alert":"Your order is ready"}}`)
	expect(t, seen[0].APNSID, answer.APNSID)
}

func TestAppWasRemoved(t *testing.T) {
	apns := carillontest.New(t)
	answer := newProvider(t, apns)(apns.Device("removed").Token)
	expect(t, answer.Status, 410)
	expect(t, answer.Reason, "Unregistered")
}

func TestPhoneIsOff(t *testing.T) {
	apns := carillontest.New(t)
	phone := apns.Device("offline")
	expect(t, newProvider(t, apns)(phone.Token).Status, 200)
	apns.Wait(1, carillontest.Match{"outcome": "stored"})
	phone.Behave("online")
	apns.Wait(1, carillontest.Match{"outcome": "delivered"})
}

func TestBusyServer(t *testing.T) {
	apns := carillontest.New(t)
	apns.Rehearse(carillontest.Fault{"answer": carillontest.Fault{"reason": "ServiceUnavailable"}}, carillontest.When{"first": 1})
	send, phone := newProvider(t, apns), apns.Device("online")
	expect(t, send(phone.Token).Reason, "ServiceUnavailable")
	expect(t, send(phone.Token).Status, 200)
	expect(t, len(apns.Wait(2, nil)), 2)
}
