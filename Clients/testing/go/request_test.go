package carillontest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"carillon.example/carillontest"
)

// A payload may have numbers that no float64 is.
func TestNumbersKeepTheirDigits(t *testing.T) {
	var request carillontest.Request
	text := `{"number":1,"payload":{"aps":{"alert":"a"},"large":1e400,"id":18446744073709551615}}`
	if err := json.Unmarshal([]byte(text), &request); err != nil {
		t.Fatal(err)
	}
	var payload map[string]any
	if err := request.Decode(&payload); err != nil {
		t.Fatal(err)
	}
	for name, digits := range map[string]string{"large": "1e400", "id": "18446744073709551615"} {
		if number, isNumber := payload[name].(json.Number); !isNumber || number.String() != digits {
			t.Errorf("%s is %v", name, payload[name])
		}
	}
}

// What a test reads of a payload, and gives to a wait, is as it came.
func TestAPayloadOfTheJournalMatchesItself(t *testing.T) {
	t.Parallel()
	apns := carillontest.New(t)
	payload := `{"aps":{"alert":"hi \ud83d"},"beyond":1E99999999999999999999,"zero":-0,"digits":` + strings.Repeat("9", 3000) + `}`
	expect(t, newBackend(t, apns).notify(apns.Device("online").Token, payload).Status, 200)
	seen := apns.Wait(1, carillontest.Match{"outcome": "delivered"})[0]
	expect(t, string(seen.Payload), payload)
	var value map[string]any
	if err := seen.Decode(&value); err != nil {
		t.Fatal(err)
	}
	expect(t, fmt.Sprint(value["aps"]), "map[alert:hi \ufffd]")
	expect(t, fmt.Sprintf("%v %v", value["beyond"], value["zero"]), "1E99999999999999999999 -0")
	for _, match := range []any{seen.Payload, value} {
		expect(t, len(apns.Wait(1, carillontest.Match{"payload": match})), 1)
		expect(t, len(apns.Requests(carillontest.Match{"payload": match})), 1)
	}
}

// What a failed wait shows of payloads is the same text on both sides: half a character is U+FFFD, as the service reads it, and an
// escape is its character.
func TestPayloadsAreShownAsTheServiceReadsThem(t *testing.T) {
	t.Parallel()
	apns := carillontest.New(t)
	payload := `{"aps":{"alert":"Gr\u00fc\u00dfe <\ud83d> & \ud83d\ude00 \\ud83d"},"n":1E400}`
	expect(t, newBackend(t, apns).notify(apns.Device("online").Token, payload).Status, 200)
	var value any = map[string]any{"aps": map[string]any{"alert": "<\ufffd>"}}
	for _, match := range []any{value, json.RawMessage(`{"aps":{"alert":"<\ud83d>"}}`)} {
		_, err := apns.WaitFor(0, 1, carillontest.Match{"payload": match})
		if err == nil {
			t.Fatal("it matched")
		}
		line := `payload is {"aps":{"alert":"Grüße <` + "\ufffd> & \U0001f600 \\\\" + `ud83d"},"n":1E400}, not {"aps":{"alert":"<` + "\ufffd>\"}}"
		if !strings.Contains(err.Error(), line) {
			t.Error(err)
		}
	}
}
