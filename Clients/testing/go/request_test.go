package carillontest_test

import (
	"encoding/json"
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
