package owner_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sotto/experiment/owner"
	"sotto/privacy"
)

// A run file with sample_rate beside batch_size draws by the rate: minimum_batch was held
// against batch_size, and one record in ten batches passed for 20 in each. Where the
// number of records is secret, the owner alone is told.
func TestMinimumBatchIsOfWhatIsDrawn(t *testing.T) {
	for _, tc := range []struct {
		keys    string
		refused bool
		warned  bool
	}{
		{"sample_rate = 0.2", false, false},
		{"sample_rate = 0.001", true, false},
		{"sample_rate = 0.2\nadjacency = \"add-remove\"", false, false},
		{"sample_rate = 0.001\nadjacency = \"add-remove\"\nmin_records = 50", false, true},
	} {
		from := teamOf(t, strings.Replace(ownerRun, "batch_size = 20", "batch_size = 20\n"+tc.keys, 1))[1]
		m, err := owner.Join(from, chosen())
		if refused := errors.Is(err, privacy.ErrRefused); refused != tc.refused ||
			refused && !strings.Contains(err.Error(), "minimum_batch: found 0.09") {
			t.Errorf("%s: %v", tc.keys, err)
		}
		if err != nil {
			continue
		}
		warned := strings.Contains(fmt.Sprint(owner.Remarks(m)), "minimum_batch = 5")
		if warned != tc.warned {
			t.Errorf("%s: %v", tc.keys, owner.Remarks(m))
		}
	}
}
