package owner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"sotto/live/event"
	"sotto/node"
)

// A change of members is no end, and a member that leaves has not failed: nobody has to
// mend anything.
func TestHowANodeEndsIsTold(t *testing.T) {
	for _, tc := range []struct {
		err               error
		note, state, text string
		words             string
	}{
		{node.ErrChange, "the members change after round 40", "", "", "the members change after round 40"},
		{fmt.Errorf("%w: at round 40", node.ErrRemoved), "", event.Done, "left after round 40",
			"left after round 40"},
		{context.Canceled, "", event.Interrupted, "start it again to go on", "goes on"},
		{errors.New("no space"), "", event.Failed, "no space", "stopped: no space"},
		{nil, "", event.Done, "", "goes on"},
	} {
		told := &teller{to: event.NewOwned(), dir: t.TempDir(), members: map[string]event.Member{},
			waits: map[string]time.Time{}, began: time.Now()}
		var note event.Note
		var end event.End
		var stand event.Standing
		told.to.Stream().Follow(func(e *event.Event) {
			switch b := e.Body.(type) {
			case *event.Note:
				note = *b
			case *event.End:
				end = *b
			case *event.Standing:
				stand = *b
			}
		})
		s := node.Status{Name: "n", Advance: node.Advance{Pace: node.InRounds, Round: 40, Rounds: 60}}
		s.Ready = true
		if tc.err != nil && !errors.Is(tc.err, context.Canceled) {
			s.Failure = tc.err.Error() // as the process has it then
		}
		if err := told.ended(&s, tc.err, time.Now()); err != nil {
			t.Error(err)
		}
		if note.Text != tc.note || end.State != tc.state || end.Text != tc.text || stand.Words != tc.words ||
			(stand.Next != "") != (tc.state == event.Failed) {
			t.Errorf("%v: %+v, %+v, %+v", tc.err, note, end, stand)
		}
	}
}
