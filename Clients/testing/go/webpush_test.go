package carillontest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"carillon.example/carillontest"
)

// sendPlain sends a message without encryption, over HTTP/2.
func sendPlain(t *testing.T, apns *carillontest.APNs, endpoint, text string) int {
	t.Helper()
	request, err := http.NewRequest("POST", endpoint, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("TTL", "60")
	response, err := apns.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestWebPush(t *testing.T) {
	t.Parallel()
	apns := carillontest.New(t)
	subscription := apns.WebPush("offline", carillontest.Name("alice@example.com"), carillontest.Plain())
	expect(t, len(subscription.P256DH), 87)
	expect(t, len(subscription.Auth), 22)
	apns.RehearseFor(carillontest.Match{"protocol": "webpush"},
		carillontest.Fault{"answer": carillontest.Fault{"reason": "TooManyRequests"}}, carillontest.When{"first": 1})
	expect(t, sendPlain(t, apns, subscription.Endpoint, "first"), 429)
	expect(t, sendPlain(t, apns, subscription.Endpoint, "second"), 201)
	seen := apns.Wait(1, carillontest.Match{"text": "second", "outcome": "stored"})
	expect(t, seen[0].Protocol, "webpush")
	expect(t, seen[0].Subscription, "alice@example.com")
	expect(t, seen[0].Text, "second")
	expect(t, seen[0].Bytes, 6)
	subscription.Device.Behave("online")
	apns.Wait(1, carillontest.Match{"text": "second", "outcome": "delivered"})
	subscription.Device.Behave("removed")
	expect(t, sendPlain(t, apns, subscription.Endpoint, "third"), 404)
	_, err := apns.WaitFor(100*time.Millisecond, 1, carillontest.Match{"text": "another"})
	expect(t, err != nil && strings.Contains(err.Error(), `subscription alice@example.com, text "second"`), true)
}
