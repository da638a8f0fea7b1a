// Package carillontest gives a test a push notification service, Carillon, which speaks APNs' protocols.
//
//	func TestTheCustomerIsTold(t *testing.T) {
//		apns := carillontest.New(t)
//		phone := apns.Device("online")
//		notify(apns.URL, phone.Token, "Your order is ready") // your backend
//		seen := apns.Wait(1, carillontest.Match{"outcome": "delivered"})
//		…
//	}
//
// The first test of a package starts the service, and it ends with the package's tests. Each test has a team of its own, so
// tests may run in parallel.
package carillontest

import (
	"os"
	"sync"
	"testing"
	"time"
)

// TB is the part of testing.TB that this package needs. *testing.T, *testing.B and *testing.F have it.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, arguments ...any)
	Failed() bool
	Logf(format string, arguments ...any)
}

var _ TB = testing.TB(nil)

// Option changes what New gives to a test.
type Option func(*settings)

type settings struct {
	service
	team
	waitLimit time.Duration
}

// service has the options that a service is started with.
type service struct {
	accept       string
	options      []string
	startTimeout time.Duration
}

// team has the identifiers of a team. Those that are empty are chosen by the service or by this package.
type team struct {
	id, bundleID, keyID, privateKey string
}

// AcceptAny makes unknown teams, keys, topics and device tokens at their first sight, for a backend with data of its own. The
// test gets a service of its own, and sees the requests of all teams.
func AcceptAny() Option { return func(s *settings) { s.accept = "any" } }

// Options gives the test a service of its own with these options of `carillon serve`.
func Options(options ...string) Option { return func(s *settings) { s.options = options } }

// StartTimeout is the longest time until the service is ready; 30 seconds if it is not given.
func StartTimeout(timeout time.Duration) Option {
	return func(s *settings) { s.startTimeout = timeout }
}

// WaitLimit is the longest time of each Wait; 5 seconds if it is not given, and at most 10 minutes.
func WaitLimit(limit time.Duration) Option { return func(s *settings) { s.waitLimit = limit } }

// TeamID names the team.
func TeamID(id string) Option { return func(s *settings) { s.id = id } }

// BundleID names the app. Two teams of a service cannot have the same app.
func BundleID(bundleID string) Option { return func(s *settings) { s.bundleID = bundleID } }

// Key gives the team a key of yours, in PEM. If it is empty, the service makes one with this ID.
func Key(keyID, privateKeyPEM string) Option {
	return func(s *settings) { s.keyID, s.privateKey = keyID, privateKeyPEM }
}

// New makes a team for the test, which ends with it. The test fails if there is no service.
func New(t TB, options ...Option) *APNs {
	t.Helper()
	all := settings{waitLimit: 5 * time.Second, service: service{startTimeout: 30 * time.Second}}
	for _, option := range options {
		option(&all)
	}
	carillon, err := serviceFor(t, all.service)
	if err != nil {
		t.Fatalf("%v", err)
	}
	apns, err := newAPNs(t, carillon, all)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(apns.end)
	return apns
}

// serviceFor returns the service that all tests share, or one of the test's own.
func serviceFor(t TB, wanted service) (*carillon, error) {
	if wanted.accept == "" && wanted.options == nil {
		return sharedService(wanted)
	}
	carillon, err := startOrAttach(wanted)
	if err == nil {
		t.Cleanup(carillon.close)
	}
	return carillon, err
}

var shared struct {
	sync.Mutex
	carillon *carillon
	err      error
}

// sharedService starts the service of this process, which ends with the process.
func sharedService(wanted service) (*carillon, error) {
	shared.Lock()
	defer shared.Unlock()
	// After an error, a second attempt would only let each test wait as long as the first.
	if shared.carillon == nil && shared.err == nil {
		shared.carillon, shared.err = startOrAttach(wanted)
	}
	return shared.carillon, shared.err
}

func startOrAttach(wanted service) (*carillon, error) {
	if url := os.Getenv("CARILLON_MANAGEMENT_URL"); url != "" {
		return attach(url, os.Getenv("CARILLON_MANAGEMENT_KEY"), wanted.accept)
	}
	return start(wanted)
}
