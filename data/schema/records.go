package schema

import "slices"

// Records are an owner's records as a schema has them. They are private.
type Records struct {
	// X are the features, row by row, Width a row; see Schema.Features.
	X     []float32
	Width int
	// Labels are indices of Target.Values; Targets are numbers. One is nil, both are of
	// ReadNew.
	Labels  []int32
	Targets []float32
	IDs     []string // of the column of kind ID; nil without one
	Groups  []string // of ReadGrouped
	Lines   []int    // of each record in the file
	Dropped []int    // lines of the rows that the schema drops
	Counts  Counts
}

// Len is the number of records.
func (r *Records) Len() int { return len(r.Lines) }

// Counts are what happened to the rows of an owner's file. They are exact figures of its
// records: the owner's alone.
type Counts struct {
	Layout  Layout `json:"layout"`
	Rows    int    `json:"rows"`
	Kept    int    `json:"kept"`
	Dropped int    `json:"dropped"` // a cell was missing whose rule is Drop
	Refusals
	// Incomplete rows have a missing cell, whatever its rule.
	Incomplete int `json:"incomplete"`
	// Extra columns are in the file and not in the schema.
	Extra int `json:"extra_columns"`
	IDCounts
	// Columns are those with features, in the schema's order, and the target last.
	Columns []ColumnCounts `json:"columns"`
	Classes []int          `json:"classes,omitempty"` // kept rows by Target.Values
}

// Refusals are rows for which Read refuses the file.
type Refusals struct {
	Refused int   `json:"refused"`
	First   error `json:"-"` // of the first of them; nil: there is none
}

// IDCounts are of the column of kind ID.
type IDCounts struct {
	RepeatedIDs int `json:"repeated_ids"` // rows whose ID an earlier row has
	EmptyIDs    int `json:"empty_ids"`    // rows without one, refused where persons count
}

// ColumnCounts are what happened to the cells of one column, of all rows.
type ColumnCounts struct {
	Name    string `json:"name"`
	Missing int    `json:"missing"`
	Filled  int    `json:"filled"`  // missing cells for which a stated value stands
	Clipped int    `json:"clipped"` // numbers outside the bounds
	Other   int    `json:"other"`   // texts that the slot for other texts took
	Refused int    `json:"refused"`
}

// Fill is the number that stands for a missing cell of a column of kind Number; false
// where none does.
func (c *Column) Fill() (float64, bool) {
	switch v := c.Missing.(type) {
	case float64:
		return v, true
	case string:
		if v == Mean && len(c.Bounds) == 2 {
			return c.Bounds[0]/2 + c.Bounds[1]/2, true
		}
	}
	return 0, false
}

// FillSlot is the place, among the features of a column of kind Category, of what stands
// for a missing cell; false where nothing does.
func (c *Column) FillSlot() (int, bool) {
	v, ok := c.Missing.(string)
	if !ok || v == Refuse || v == Drop {
		return 0, false
	}
	at := slices.Index(c.slots(), v)
	return at, at >= 0
}
