package carillontest

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
)

// Subscription is a subscription of an app on a virtual device to Web Push, with what a Web Push library needs to send to it.
type Subscription struct {
	// Name is what the journal has: Match{"subscription": subscription.Name}.
	Name string
	// Endpoint is the URL to send to. P256DH and Auth are the public key and the secret, in base64url.
	Endpoint string
	P256DH   string
	Auth     string
	// PrivateKey decrypts. A test does not need it: the journal has what a message says.
	PrivateKey string
	// Device is the phone. Behave changes what it does.
	Device *Device `json:"-"`
}

// Name gives a subscription to Web Push this name.
func Name(name string) DeviceOption { return subscribing("name", name) }

// VAPID lets only this public key sign what is sent to a subscription to Web Push. It is in base64url.
func VAPID(key string) DeviceOption { return subscribing("vapid", key) }

// Plain lets a subscription to Web Push accept messages without encryption.
func Plain() DeviceOption { return subscribing("plain", true) }

// inventory has what was made in a team.
type inventory struct {
	sync.Mutex
	subscriptions []Subscription
	// hasDevices is whether there are devices without a subscription.
	hasDevices bool
}

// endpoint returns where the backend has to send if this match is about Web Push; otherwise "".
func (a *APNs) endpoint(match object) string {
	a.made.Lock()
	defer a.made.Unlock()
	_, hasName := match["subscription"]
	_, hasText := match["text"]
	isWebPush := hasName || hasText || match["protocol"] == "webpush"
	if len(a.made.subscriptions) == 0 || (!isWebPush && a.made.hasDevices) {
		return ""
	}
	for _, subscription := range a.made.subscriptions {
		if match["subscription"] == subscription.Name {
			return subscription.Endpoint
		}
	}
	return a.made.subscriptions[len(a.made.subscriptions)-1].Endpoint
}

func subscribing(key string, value any) DeviceOption {
	return func(device, _ object) {
		if subscriptions, isThere := device["subscriptions"].([]object); isThere {
			subscriptions[0][key] = value
		}
	}
}

// WebPush makes a device with the app, and a subscription of it to Web Push. The device behaves as for Device.
func (a *APNs) WebPush(behaviour string, options ...DeviceOption) *Subscription {
	a.t.Helper()
	random := make([]byte, 4)
	if _, err := rand.Read(random); err != nil {
		a.t.Fatalf("%v", err)
	}
	subscribe := func(device, _ object) { device["subscriptions"] = []object{{"name": hex.EncodeToString(random)}} }
	device := a.Device(behaviour, append([]DeviceOption{subscribe}, options...)...)
	if len(device.Subscriptions) == 0 {
		a.t.Fatalf("the service has made no subscription")
	}
	subscription := device.Subscriptions[0]
	subscription.Device = device
	return &subscription
}
