package carillontest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Request is a request of the backend, as docs/testing.md describes it.
type Request struct {
	Number     int
	Time       int64
	Connection string
	Protocol   string
	Headers    map[string]string
	Team       string
	KeyID      string
	Token      string
	Device     string
	Topic      string
	Channel    string
	Payload    json.RawMessage
	Body       string
	// Subscription, Bytes and Text are those of a message of Web Push: the subscription's name, the size of the body, and what
	// it says.
	Subscription string
	Bytes        int
	Text         string
	Status       int
	Reason       string
	APNSID       string
	Outcome      string
	Rule         string
	// Client, Alert, Protocols and Cause are those of a connection that failed before a request. Its outcome is "failed".
	Client    string
	Alert     string
	Protocols []string
	Cause     string
	// All has every key of the request.
	All map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON reads a request of the journal.
func (r *Request) UnmarshalJSON(text []byte) error {
	type plain Request
	if err := json.Unmarshal(text, (*plain)(r)); err != nil {
		return err
	}
	return json.Unmarshal(text, &r.All)
}

// Decode reads the payload into value, as json.Unmarshal does, except that a number without a type of its own, in a map or an
// any, becomes a json.Number with its digits. A float64 would change 18446744073709551615, and there is none for 1e400.
func (r Request) Decode(value any) error {
	decoder := json.NewDecoder(bytes.NewReader(r.Payload))
	decoder.UseNumber()
	return decoder.Decode(value)
}

// String returns the request in one line, or the connection that failed before a request.
func (r Request) String() string {
	if r.Outcome == "failed" {
		return fmt.Sprintf("#%d, a connection of %s failed: %s", r.Number, r.client(), r.Cause)
	}
	answer := "no answer yet"
	if r.Status != 0 {
		answer = strings.TrimSpace(fmt.Sprintf("%d %s", r.Status, r.Reason))
	}
	parts := []string{fmt.Sprintf("#%d", r.Number), answer}
	if r.Outcome != "" {
		parts = append(parts, r.Outcome)
	}
	for _, part := range [][2]string{{"topic", r.Topic}, {"token", r.Token}, {"channel", r.Channel}, {"subscription", r.Subscription}} {
		if part[1] != "" {
			parts = append(parts, part[0]+" "+part[1])
		}
	}
	_, hasText := r.All["text"]
	switch {
	case r.Payload != nil:
		parts = append(parts, "payload "+short(string(r.Payload)))
	case hasText:
		parts = append(parts, "text "+shown(r.Text))
	case r.Protocol == "webpush":
		parts = append(parts, "no text")
	default:
		parts = append(parts, "no payload")
	}
	if r.Rule != "" {
		parts = append(parts, "fault "+r.Rule)
	}
	return strings.Join(parts, ", ")
}

// value returns the value of a key of a match, as JSON.
func (r Request) value(key string) string {
	// These are header fields of the request.
	field := map[string]string{"pushType": "apns-push-type", "collapseID": "apns-collapse-id"}[key]
	if header, isThere := r.Headers[field]; isThere {
		return shown(header)
	}
	if text, isThere := r.All[key]; isThere {
		return short(string(text))
	}
	return "nothing"
}

// miss is a request that does not match, with the keys in which it differs.
type miss struct {
	Request Request
	Differs []string
}

func (r Request) client() string {
	if r.Client == "" {
		return "a client"
	}
	return r.Client
}

// distrust has the alerts of a client that does not trust a certificate (RFC 8446, 6.2).
var distrust = map[string]bool{
	"bad_certificate": true, "unsupported_certificate": true, "certificate_revoked": true, "certificate_expired": true,
	"certificate_unknown": true, "unknown_ca": true,
}

// whose says that a connection that failed before a request has no team, and tests that run at the same time share the service.
const whose = "a connection since this test began, perhaps another test's"

// trouble says what is wrong with a connection that failed before a request, and what to do.
func (r Request) trouble(host string) string {
	if r.Protocols != nil {
		how := "it sent a request of HTTP/1"
		if len(r.Protocols) > 0 {
			how = "it offered only " + strings.Join(r.Protocols, ", ")
		}
		return fmt.Sprintf("The backend does not speak HTTP/2 (%s: %s): APNs takes nothing else, so send with a client for HTTP/2.",
			whose, how)
	}
	if distrust[r.Alert] || (r.Alert == "" && strings.HasPrefix(r.Cause, "the client ended the connection")) {
		how := r.Cause
		if r.Alert != "" {
			how = "its alert is " + r.Alert
		}
		return fmt.Sprintf("The backend does not trust the service (%s: %s): let it trust the authority in apns.RootCAs, "+
			"apns.CAPEM or apns.CAFile(), and connect to %s.", whose, how, host)
	}
	return fmt.Sprintf("A connection of %s failed (%s): %s.", r.client(), whose, r.Cause)
}

// explanation says why a wait failed.
func (a *APNs) explanation(
	match object, count int, timeout time.Duration, matched int, nearest []miss, failed []Request, dropped int,
) string {
	team, _ := match["team"].(string)
	wanted := object{}
	for name, value := range match {
		if name != "team" {
			wanted[name] = value
		}
	}
	shownMatch := ""
	if len(wanted) > 0 {
		shownMatch = " " + shown(wanted)
	}
	expected := "but none should"
	if count > 0 {
		expected = fmt.Sprintf("instead of %d", count)
	}
	lines := []string{fmt.Sprintf("%d requests matched%s within %v, %s.", matched, shownMatch, timeout, expected)}
	for _, miss := range nearest {
		// Requests of other tests' teams say nothing about this one.
		if team != "" && miss.Request.Team != "" && miss.Request.Team != team {
			continue
		}
		lines = append(lines, "  "+miss.Request.String())
		for _, name := range miss.Differs {
			lines = append(lines, fmt.Sprintf("    %s is %s, not %s", name, miss.Request.value(name), shown(match[name])))
		}
		if len(miss.Differs) == 0 {
			lines = append(lines, "    matches")
		}
	}
	if len(lines) == 1 && matched == 0 {
		// Without a request, the newest connection that failed says more than anything else.
		host, place := a.Host, "connect to "+a.URL
		if endpoint := a.endpoint(match); endpoint != "" {
			place = "send to " + endpoint
			if parsed, err := url.Parse(endpoint); err == nil {
				host = parsed.Hostname()
			}
		}
		if len(failed) > 0 && failed[0].Number > a.since {
			return failed[0].trouble(host) + "\n" + lines[0]
		}
		if dropped > a.since {
			return lines[0] + "\n  The journal has dropped requests since this test began, perhaps the backend's: start the service with a larger --journal."
		}
		lines = append(lines, fmt.Sprintf("  The backend has sent nothing: it has to %s, and trust the authority in apns.RootCAs.", place))
	}
	return strings.Join(lines, "\n")
}

func shown(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return short(string(text))
}

// short returns the beginning of JSON, as a person reads it.
func short(text string) string {
	text = readable(text)
	characters := []rune(text)
	if len(characters) <= 300 {
		return text
	}
	return string(characters[:300]) + "…"
}
