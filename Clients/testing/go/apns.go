package carillontest

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// APNs is a push notification service with a team for one test. It sees the requests of the test's own backend, and no others.
type APNs struct {
	// URL is where the backend connects to: the HTTP/2 API. Host and Port are its parts.
	URL  string
	Host string
	Port int
	// BinaryAddress is where the binary API listens: a host and a port.
	BinaryAddress string
	// CAPEM is the authority that the backend has to trust, in PEM, and RootCAs is the same for crypto/tls.
	CAPEM   string
	RootCAs *x509.CertPool
	// TeamID, KeyID and PrivateKey are what signs provider tokens. The key is in PEM, as in a .p8 file.
	TeamID     string
	KeyID      string
	PrivateKey string
	// BundleID is the app, which is also its topic.
	BundleID string
	// Clock is the team's clock.
	Clock *Clock

	t          TB
	carillon   *carillon
	scope      object
	waitLimit  time.Duration
	rehearsals []*Rehearsal
	folder     string
	made       *inventory
	// since is the number of the newest entry of the journal from before the test.
	since int
}

func newAPNs(t TB, c *carillon, wanted settings) (*APNs, error) {
	bundleID := wanted.bundleID
	if bundleID == "" {
		random := make([]byte, 6)
		if _, err := rand.Read(random); err != nil {
			return nil, err
		}
		bundleID = "com.example.test-" + hex.EncodeToString(random)
	}
	team := object{"name": "Test", "apps": []string{bundleID}, "keys": []object{given("keyID", wanted.keyID, "privateKey", wanted.privateKey)}}
	if wanted.id != "" {
		team["teamID"] = wanted.id
	}
	var made struct {
		Teams []struct {
			TeamID string
			Keys   []struct{ KeyID, PrivateKey string }
		}
		Service struct{ Journal struct{ Newest int } }
	}
	if _, err := c.ask("POST", "/v1/fixtures", object{"teams": []object{team}}, &made); err != nil {
		return nil, err
	}
	if len(made.Teams) == 0 || len(made.Teams[0].Keys) == 0 {
		return nil, errors.New("the service has made no team")
	}
	host, port, err := net.SplitHostPort(c.provider)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	key := made.Teams[0].Keys[0]
	apns := &APNs{
		URL: "https://" + c.provider, Host: host, Port: number, BinaryAddress: c.binary, CAPEM: c.caPEM, RootCAs: c.roots,
		TeamID: made.Teams[0].TeamID, KeyID: key.KeyID, PrivateKey: key.PrivateKey, BundleID: bundleID,
		t: t, carillon: c, scope: object{}, waitLimit: wanted.waitLimit, since: made.Service.Journal.Newest,
		made: &inventory{},
	}
	// A backend with data of its own has a team of its own.
	if c.accept != "any" {
		apns.scope["team"] = apns.TeamID
	}
	apns.Clock = &Clock{apns}
	return apns, nil
}

func given(pairs ...string) object {
	values := object{}
	for at := 0; at < len(pairs); at += 2 {
		if pairs[at+1] != "" {
			values[pairs[at]] = pairs[at+1]
		}
	}
	return values
}

func (a *APNs) must(method, path string, body, result any) {
	a.t.Helper()
	if _, err := a.carillon.ask(method, path, body, result); err != nil {
		a.t.Fatalf("%v", err)
	}
}

// end ends the team's rehearsals, and deletes it with its devices and requests. If the test failed, the log gets what the
// backend sent.
func (a *APNs) end() {
	a.t.Helper()
	if a.t.Failed() {
		a.t.Logf("what the backend sent to apns:\n  %s", strings.Join(a.Sent(), "\n  "))
	}
	for _, rehearsal := range a.rehearsals {
		_, _ = a.carillon.ask("DELETE", "/v1/rehearsals/"+rehearsal.id, nil, nil)
	}
	_, _ = a.carillon.ask("DELETE", "/v1/teams/"+a.TeamID, nil, nil)
	if a.folder != "" {
		_ = os.RemoveAll(a.folder)
	}
}

// TLS returns a new configuration that trusts the service.
func (a *APNs) TLS() *tls.Config {
	return &tls.Config{RootCAs: a.RootCAs, MinVersion: tls.VersionTLS12}
}

// Client returns a new client for HTTP/2 that trusts the service. Its connections are closed at the end of the test.
func (a *APNs) Client() *http.Client {
	transport := &http.Transport{TLSClientConfig: a.TLS(), ForceAttemptHTTP2: true}
	a.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (a *APNs) file(name, text string) string {
	a.t.Helper()
	if a.folder == "" {
		folder, err := os.MkdirTemp("", "carillon-")
		if err != nil {
			a.t.Fatalf("%v", err)
		}
		a.folder = folder
	}
	path := filepath.Join(a.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		a.t.Fatalf("%v", err)
	}
	return path
}

// CAFile returns the path of a file with CAPEM. It is removed at the end of the test.
func (a *APNs) CAFile() string { a.t.Helper(); return a.file("ca.pem", a.CAPEM) }

// KeyFile returns the path of a file with PrivateKey. It is removed at the end of the test.
func (a *APNs) KeyFile() string {
	a.t.Helper()
	return a.file("AuthKey_"+a.KeyID+".p8", a.PrivateKey)
}

// Environment has variables with all that a backend in a process of its own has to know.
func (a *APNs) Environment() map[string]string {
	a.t.Helper()
	return map[string]string{
		"APNS_URL": a.URL, "APNS_HOST": a.Host, "APNS_PORT": strconv.Itoa(a.Port), "APNS_CA_FILE": a.CAFile(),
		"APNS_TEAM_ID": a.TeamID, "APNS_KEY_ID": a.KeyID, "APNS_KEY_FILE": a.KeyFile(), "APNS_PRIVATE_KEY": a.PrivateKey,
		"APNS_TOPIC": a.BundleID,
		// Go trusts the authorities in this file in place of the system's.
		"SSL_CERT_FILE": a.CAFile(),
	}
}

// Match selects requests by their values: topic, token, pushType, status, reason, outcome, payload and so on, as
// docs/testing.md describes them.
type Match map[string]any

func (a *APNs) own(match Match) object {
	own := object{}
	for name, value := range a.scope {
		own[name] = value
	}
	for name, value := range match {
		own[name] = value
	}
	return own
}

// Requests returns the requests of the backend that match, oldest first. With nil it returns all.
func (a *APNs) Requests(match Match) []Request {
	a.t.Helper()
	requests, err := a.seen(match)
	if err != nil {
		a.t.Fatalf("%v", err)
	}
	return requests
}

// Sent returns the newest requests of the backend, each in one line of text. If there is none, it returns the connections that
// failed. The log of a failed test has them.
func (a *APNs) Sent() []string {
	seen, err := a.seen(nil)
	if err == nil && len(seen) == 0 {
		query := url.Values{"outcome": {"failed"}, "after": {strconv.Itoa(a.since)}, "limit": {strconv.Itoa(shownRequests)}}
		_, err = a.carillon.ask("GET", "/v1/requests?"+query.Encode(), nil, &seen)
	}
	if err != nil {
		return []string{err.Error()}
	}
	if len(seen) > shownRequests {
		seen = seen[len(seen)-shownRequests:]
	}
	lines := []string{}
	for _, request := range seen {
		lines = append(lines, request.String())
	}
	if len(lines) == 0 {
		lines = append(lines, "nothing")
	}
	return lines
}

// shownRequests is the number of requests that a failed test shows: a person reads no more.
const shownRequests = 20

// checkJournal returns an error if the journal is off: then nobody knows what was sent.
func (a *APNs) checkJournal() error {
	var journal struct{ Keep int }
	if _, err := a.carillon.ask("GET", "/v1/journal", nil, &journal); err != nil || journal.Keep > 0 {
		return err
	}
	return fmt.Errorf("the journal of the Carillon at %s is off, so nobody knows what was sent: start it with --journal 10000",
		a.carillon.url)
}

const page = 1000

func (a *APNs) seen(match Match) ([]Request, error) {
	query := url.Values{"limit": {strconv.Itoa(page)}}
	for name, value := range a.own(match) {
		if text, isText := value.(string); isText {
			query.Set(name, text)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		query.Set(name, string(text))
	}
	var requests []Request
	for {
		var more []Request
		if _, err := a.carillon.ask("GET", "/v1/requests?"+query.Encode(), nil, &more); err != nil {
			return nil, err
		}
		requests = append(requests, more...)
		if len(more) < page {
			if len(requests) == 0 {
				return nil, a.checkJournal()
			}
			return requests, nil
		}
		query.Set("after", strconv.Itoa(more[page-1].Number))
	}
}

// Wait waits until count requests match, and returns them. Requests from before count too. With 0 it waits for the whole time,
// and no request may match. If they do not come in time, the test fails and shows what came instead. WaitLimit sets the time.
func (a *APNs) Wait(count int, match Match) []Request {
	a.t.Helper()
	requests, err := a.WaitFor(a.waitLimit, count, match)
	if err != nil {
		a.t.Fatalf("%v", err)
	}
	return requests
}

// WaitFor is Wait with a limit of its own, and returns the error.
func (a *APNs) WaitFor(timeout time.Duration, count int, match Match) ([]Request, error) {
	own := a.own(match)
	var seen struct {
		Requests []Request
		Matched  int
		Nearest  []miss
		Failed   []Request
		Dropped  int
	}
	body := object{"match": own, "count": count, "timeout": iso8601(timeout)}
	status, err := a.carillon.wait(timeout, "/v1/requests/wait", body, &seen)
	if err != nil {
		return nil, err
	}
	if status == http.StatusRequestTimeout {
		return nil, errors.New(a.explanation(own, count, timeout, seen.Matched, seen.Nearest, seen.Failed, seen.Dropped))
	}
	return seen.Requests, nil
}

func iso8601(duration time.Duration) string {
	return fmt.Sprintf("PT%.3fS", duration.Seconds())
}
