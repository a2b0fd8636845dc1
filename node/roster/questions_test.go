package roster

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sotto/privacy"
)

// question_epsilon was held against target_epsilon at any target_delta: epsilon 1 at
// delta .003 passed for "at most 1", and cost 1.48 at the policy's own delta.
func TestQuestionEpsilonIsAtTheLifetimeDelta(t *testing.T) {
	_, keys := members(t, 3)
	text := strings.Replace(fmt.Sprintf(policyText, PeerID(public(keys[1]))), `"dsgd"`, `"query"`, 1)
	p, err := ParsePolicy("policy.toml", []byte(text+"question_epsilon = 1.0\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		epsilon, delta float64
		allowed        bool
	}{{1, 1e-4, true}, {1, 1e-6, true}, {.5, 2e-4, false}, {1, 3e-3, false}, {1.1, 1e-4, false}} {
		_, err := p.Allow(Request{Algorithm: "query", Dataset: "heart-disease", ExpectedBatchSize: 16,
			Self: public(keys[0]), Members: []ed25519.PublicKey{public(keys[0]), public(keys[1])},
			Provenance: privacy.Proved,
			Questions:  Questions{[]Asked{{Text: "count()", Kind: "count", Cells: 1}}, tc.epsilon, tc.delta}})
		if refused := errors.Is(err, privacy.ErrRefused); refused == tc.allowed ||
			refused && !strings.Contains(err.Error(), "question_epsilon:") {
			t.Errorf("epsilon %g at delta %g: %v", tc.epsilon, tc.delta, err)
		}
	}
}
