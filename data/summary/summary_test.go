package summary_test

import (
	"slices"
	"testing"

	"sotto/data"
	"sotto/data/summary"
	"sotto/tensor"
)

// Groups may have no names.
func TestGroupsWithoutNames(t *testing.T) {
	d := &data.Dataset{X: tensor.NewMat(3, 2), Targets: make([]float32, 3), Groups: []int32{2, 0, 2}}
	if s := summary.Of(d); !slices.Equal(s.Groups, []int{1, 0, 2}) {
		t.Errorf("groups %v", s.Groups)
	}
}
