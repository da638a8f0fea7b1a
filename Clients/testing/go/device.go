package carillontest

import "time"

// Device is a virtual device.
type Device struct {
	ID string
	// Token is the device token in hexadecimal digits.
	Token string
	// Subscriptions are its subscriptions to Web Push.
	Subscriptions []Subscription
	apns          *APNs
}

// DeviceOption changes a device.
type DeviceOption func(device, behaviour object)

// Token gives the device this token, in hexadecimal digits.
func Token(token string) DeviceOption {
	return func(device, _ object) { device["token"] = token }
}

// Delay is for the behaviour slow: how long the device takes.
func Delay(delay time.Duration) DeviceOption {
	return func(_, behaviour object) { behaviour["delay"] = iso8601(delay) }
}

// Since is for the behaviour removed: when the app was removed.
func Since(since time.Time) DeviceOption {
	return func(_, behaviour object) { behaviour["since"] = since.UnixMilli() }
}

// Device makes a device with the app. It behaves as one that is online, slow, offline, silent, removed or expired.
func (a *APNs) Device(behaviour string, options ...DeviceOption) *Device {
	a.t.Helper()
	kind := object{"kind": behaviour}
	device := object{"team": a.TeamID, "name": "phone", "behaviour": kind}
	for _, option := range options {
		option(device, kind)
	}
	token, isNamed := device["token"].(string)
	delete(device, "token")
	if isNamed {
		device["tokens"] = object{a.BundleID: token}
	}
	var made struct {
		DeviceID string
		Apps     []struct{ BundleID, Token string }
		// The JSON of a subscription has the names of the fields.
		Subscriptions []Subscription
	}
	a.must("POST", "/v1/devices", device, &made)
	for _, app := range made.Apps {
		if !isNamed && app.BundleID == a.BundleID {
			token = app.Token
		}
	}
	a.made.Lock()
	defer a.made.Unlock()
	a.made.subscriptions = append(a.made.subscriptions, made.Subscriptions...)
	a.made.hasDevices = a.made.hasDevices || len(made.Subscriptions) == 0
	return &Device{made.DeviceID, token, made.Subscriptions, a}
}

// Behave changes what the device does from now on.
func (d *Device) Behave(behaviour string, options ...DeviceOption) {
	d.apns.t.Helper()
	kind := object{"kind": behaviour}
	for _, option := range options {
		option(object{}, kind)
	}
	d.apns.must("PATCH", "/v1/devices/"+d.ID, object{"behaviour": kind}, nil)
}

// Remove removes the device.
func (d *Device) Remove() {
	d.apns.t.Helper()
	d.apns.must("DELETE", "/v1/devices/"+d.ID, nil, nil)
}
