package carillontest

import "time"

// When selects some of the requests that a fault is about: {"share": 0.1}, {"first": 3}, {"every": 5}, {"after": 100} or
// {"between": [...]string{"PT10S", "PT20S"}}. It selects all of them if it is empty.
type When map[string]any

// Fault is what goes wrong: {"answer": Fault{"reason": "ServiceUnavailable"}}, {"close": "rst"} and so on, as docs/testing.md
// describes them.
type Fault map[string]any

// Rehearsal has faults that were arranged with Rehearse.
type Rehearsal struct {
	apns *APNs
	id   string
}

// withoutTeam has the faults that happen before the sender is known, so a rule cannot select a team.
var withoutTeam = map[string]bool{"refuse": true, "certificate": true, "tls": true, "handshake": true}

// Rehearse makes something go wrong for the backend, until the end of the test.
func (a *APNs) Rehearse(fault Fault, when When) *Rehearsal {
	a.t.Helper()
	return a.RehearseFor(nil, fault, when)
}

// RehearseFor is Rehearse for the requests that match.
func (a *APNs) RehearseFor(match Match, fault Fault, when When) *Rehearsal {
	a.t.Helper()
	rule := object{"match": a.own(match), "fault": fault}
	for name := range fault {
		if withoutTeam[name] {
			if match == nil {
				match = Match{}
			}
			rule["match"] = match
		}
	}
	if len(when) > 0 {
		rule["when"] = when
	}
	var made struct{ Rehearsal string }
	a.must("POST", "/v1/rehearsals", object{"rules": []object{rule}}, &made)
	rehearsal := &Rehearsal{a, made.Rehearsal}
	a.rehearsals = append(a.rehearsals, rehearsal)
	return rehearsal
}

// Fired returns how often the fault has happened.
func (r *Rehearsal) Fired() (count int) {
	r.apns.t.Helper()
	var shown struct{ Rules []struct{ Fired int } }
	r.apns.must("GET", "/v1/rehearsals/"+r.id, nil, &shown)
	for _, rule := range shown.Rules {
		count += rule.Fired
	}
	return count
}

// End ends it. At the end of the test this happens by itself.
func (r *Rehearsal) End() {
	r.apns.t.Helper()
	r.apns.must("DELETE", "/v1/rehearsals/"+r.id, nil, nil)
}

// Clock is the team's clock. It runs like the machine's, and can be advanced.
type Clock struct{ apns *APNs }

// Now returns the team's time.
func (c *Clock) Now() time.Time {
	c.apns.t.Helper()
	query := ""
	if team, isText := c.apns.scope["team"].(string); isText {
		query = "?team=" + team
	}
	var reading struct{ Now time.Time }
	c.apns.must("GET", "/v1/clock"+query, nil, &reading)
	return reading.Now
}

// Advance advances the clock. Afterwards everything that became due has happened.
func (c *Clock) Advance(by time.Duration) time.Time {
	c.apns.t.Helper()
	var reading struct{ Now time.Time }
	body := c.apns.own(nil)
	body["advance"] = iso8601(by)
	c.apns.must("POST", "/v1/clock", body, &reading)
	return reading.Now
}

// Finding is something that the backend did although Apple advises against it.
type Finding struct {
	ID, Severity, Section, Text, Advice string
	Requests                            []int
}

// Report returns what the backend did against the advice. A good one has no findings.
func (a *APNs) Report() []Finding {
	a.t.Helper()
	query := ""
	if team, isText := a.scope["team"].(string); isText {
		query = "?team=" + team
	}
	var report struct{ Findings []Finding }
	a.must("GET", "/v1/reports"+query, nil, &report)
	return report.Findings
}
