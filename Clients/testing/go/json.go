package carillontest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

var quoted = regexp.MustCompile(`"[^"\\]*(?:\\.[^"\\]*)*"`)

// readable returns JSON with each text as a person reads it, and all else as it came. An escape becomes its character, if it need
// not be one, and half a character becomes U+FFFD, as the service reads it.
func readable(text string) string {
	return quoted.ReplaceAllStringFunc(text, func(token string) string {
		var value string
		if json.Unmarshal([]byte(token), &value) != nil {
			return token
		}
		var written bytes.Buffer
		encoder := json.NewEncoder(&written)
		// Otherwise < is \u003c.
		encoder.SetEscapeHTML(false)
		if encoder.Encode(value) != nil {
			return token
		}
		return strings.TrimSuffix(written.String(), "\n")
	})
}
