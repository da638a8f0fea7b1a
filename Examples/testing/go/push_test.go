// Tests of what a backend does if everything works, and if something fails. Run them with: go test
package push

import (
	"log"
	"os"
	"testing"
)

var service *carillon

func TestMain(m *testing.M) {
	var err error
	if service, err = startCarillon(); err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	service.close()
	os.Exit(code)
}

func send(t *testing.T, team *team) func() Answer {
	t.Helper()
	key := team.Keys[0]
	url := "https://" + service.ready.Development.Provider
	provider, err := NewProvider(url, team.BundleID, team.TeamID, key.KeyID, key.PrivateKey, service.roots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.Close)
	return func() Answer {
		answer, err := provider.Send(team.DeviceToken, []byte(`{"aps":{"alert":"Your order is ready"}}`))
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
	team := newTeam(t, service)
	answer := send(t, team)()
	expect(t, answer.Status, 200)
	seen := team.wait(1, object{"outcome": "delivered"})
	expect(t, seen[0].Payload.APS.Alert, "Your order is ready")
	expect(t, seen[0].APNSID, answer.APNSID)
}

func TestAppWasRemoved(t *testing.T) {
	team := newTeam(t, service)
	team.behave(object{"kind": "removed"})
	answer := send(t, team)()
	expect(t, answer.Status, 410)
	expect(t, answer.Reason, "Unregistered")
}

func TestPhoneIsOff(t *testing.T) {
	team := newTeam(t, service)
	team.behave(object{"kind": "offline"})
	expect(t, send(t, team)().Status, 200)
	team.wait(1, object{"outcome": "stored"})
	team.behave(object{"kind": "online"})
	team.wait(1, object{"outcome": "delivered"})
}

func TestBusyServer(t *testing.T) {
	team := newTeam(t, service)
	team.rehearse(object{"first": 1}, object{"answer": object{"reason": "ServiceUnavailable"}})
	push := send(t, team)
	expect(t, push().Reason, "ServiceUnavailable")
	expect(t, push().Status, 200)
	expect(t, len(team.wait(2, object{})), 2)
}
