package account

import (
	"encoding/json"
	"fmt"
	"strings"

	"sotto/config"
)

// Adjacency says which two data sets must look alike. Its zero value is invalid.
type Adjacency uint8

const (
	// AddRemove: one unit is added or removed; the number of records is private.
	AddRemove Adjacency = iota + 1
	// ReplaceOne: one unit is changed; the number of records is public. A clipped sum
	// moves by twice the clip.
	ReplaceOne
	// ZeroOut: one unit is replaced by a null unit that contributes 0; the number of
	// records is public. It has the curves of AddRemove.
	ZeroOut
)

var adjacencyNames = [...]string{"nothing", "add-remove", "replace-one", "zero-out"}

const adjacencyAllowed = "add-remove, replace-one or zero-out"

func (a Adjacency) valid() bool { return a >= AddRemove && a <= ZeroOut }

// String returns "add-remove", "replace-one" or "zero-out"; of the zero value "nothing".
func (a Adjacency) String() string {
	if int(a) >= len(adjacencyNames) {
		return fmt.Sprintf("Adjacency(%d)", uint8(a))
	}
	return adjacencyNames[a]
}

// HidesCount reports whether neighboring data sets differ in their number of records,
// which is then private.
func (a Adjacency) HidesCount() bool { return a == AddRemove }

var notCovered = [...][]string{ReplaceOne: {"the number of records that train, which is public: it tells a " +
	"record from one in its place that is left out for a missing cell, and a person from one whom the " +
	"public coin of the id has for the test part"}, ZeroOut: nil}

// NotCovered is what a guarantee leaves open where owners choose which of their records
// train before they are counted.
func (a Adjacency) NotCovered() []string {
	if !a.valid() {
		return nil
	}
	return notCovered[a]
}

// ParseAdjacency reads the names that String writes; an underscore may stand for the
// hyphen.
func ParseAdjacency(s string) (Adjacency, error) {
	t := strings.ReplaceAll(s, "_", "-")
	for a := AddRemove; a <= ZeroOut; a++ {
		if adjacencyNames[a] == t {
			return a, nil
		}
	}
	return 0, config.Bad("adjacency", s, adjacencyAllowed)
}

// MarshalText writes String.
func (a Adjacency) MarshalText() ([]byte, error) {
	if !a.valid() {
		return nil, config.Bad("adjacency", a, adjacencyAllowed)
	}
	return []byte(a.String()), nil
}

// UnmarshalText accepts what ParseAdjacency accepts.
func (a *Adjacency) UnmarshalText(b []byte) error {
	v, err := ParseAdjacency(string(b))
	if err == nil {
		*a = v
	}
	return err
}

// UnitKind is the kind of a protected unit. Its zero value is invalid.
type UnitKind uint8

const (
	UnitRecord UnitKind = iota + 1
	UnitGroup
	UnitOwner
	UnitPerson
)

var unitNames = [...]string{"nothing", UnitRecord: "record", UnitGroup: "group", UnitOwner: "owner",
	UnitPerson: "person"}

const unitAllowed = "record, group, owner or person"

// MaxGroup is the largest group that Group accepts.
const MaxGroup = 1 << 20

// Unit is what one epsilon protects: one record, a group of Size records, all data of one
// owner, or all records of one person, whom column Of names. Size is 0 except for groups,
// where it lies in 2..MaxGroup. Of is empty except for persons: what holds for the
// persons of one column says nothing of those of another. The zero value is invalid.
type Unit struct {
	Kind UnitKind
	Size int
	Of   string
}

// Record is the unit of one record.
func Record() Unit { return Unit{Kind: UnitRecord} }

// Group is the unit of k records; a group of one is a record. Accountants refuse k < 1
// and k > MaxGroup.
func Group(k int) Unit {
	if k == 1 {
		return Record()
	}
	return Unit{Kind: UnitGroup, Size: k}
}

// Owner is the unit of all data of one agent. No sampling of records amplifies it.
func Owner() Unit { return Unit{Kind: UnitOwner} }

// Person is the unit of all records with one id in a column, which are sampled together.
// Accountants refuse names but those of 1 to 64 ASCII characters without " \ ( and ).
func Person(column string) Unit { return Unit{Kind: UnitPerson, Of: column} }

// maxColumn bounds the name of a person's column.
const maxColumn = 64

// whole says that the unit is in a sampled batch as a whole or not at all.
func (u Unit) whole() bool { return u.Kind == UnitRecord || u.Kind == UnitPerson }

func (u Unit) validate() error {
	plain := func(r rune) bool { return r >= ' ' && r < 0x7f && !strings.ContainsRune(`"\()`, r) }
	switch {
	case u.Kind == UnitPerson && (u.Of == "" || len(u.Of) > maxColumn ||
		strings.ContainsFunc(u.Of, func(r rune) bool { return !plain(r) })):
		return config.Bad("unit.of", u.Of,
			"a column of 1 to 64 ASCII characters without quotes, backslashes and parentheses")
	case u.Kind != UnitPerson && u.Of != "":
		return config.Bad("unit.of", u.Of, "absent unless kind is person")
	case u.Kind == UnitGroup:
		if u.Size < 2 || u.Size > MaxGroup {
			return config.Bad("unit.size", u.Size, fmt.Sprintf("2 to %d", MaxGroup))
		}
	case !u.whole() && u.Kind != UnitOwner:
		return config.Bad("unit.kind", int(u.Kind), unitAllowed)
	case u.Size != 0:
		return config.Bad("unit.size", u.Size, "absent unless kind is group")
	}
	return nil
}

// members is how many records move at once: the group size, or 1.
func (u Unit) members() int {
	if u.Kind == UnitGroup {
		return u.Size
	}
	return 1
}

// String returns "record", "group(k)", "owner", "person(column)"; of no unit "nothing".
func (u Unit) String() string {
	if u != (Unit{}) && u.validate() != nil {
		return fmt.Sprintf("Unit(%d,%d)", u.Kind, u.Size)
	}
	if u.Kind == UnitGroup {
		return fmt.Sprintf("group(%d)", u.Size)
	}
	if u.Kind == UnitPerson {
		return "person(" + u.Of + ")"
	}
	return unitNames[u.Kind]
}

type unitJSON struct {
	Kind string `json:"kind"`
	Size int    `json:"size,omitempty"`
	Of   string `json:"of,omitempty"`
}

// MarshalJSON writes {"kind":"record"}, {"kind":"group","size":k}, {"kind":"owner"} or
// {"kind":"person","of":column}.
func (u Unit) MarshalJSON() ([]byte, error) {
	if err := u.validate(); err != nil {
		return nil, err
	}
	return json.Marshal(unitJSON{unitNames[u.Kind], u.Size, u.Of})
}

// UnmarshalJSON reads what MarshalJSON writes and refuses unknown keys.
func (u *Unit) UnmarshalJSON(b []byte) error {
	var j unitJSON
	if err := strictJSON(b, &j); err != nil {
		return err
	}
	for k := UnitRecord; k <= UnitPerson; k++ {
		if unitNames[k] == j.Kind {
			v := Unit{Kind: k, Size: j.Size, Of: j.Of}
			if err := v.validate(); err != nil {
				return err
			}
			*u = v
			return nil
		}
	}
	return config.Bad("unit.kind", j.Kind, unitAllowed)
}

// Norm is the norm in which a sensitivity is stated. Its zero value is invalid.
type Norm uint8

const (
	L1 Norm = iota + 1
	L2
)

// String returns "l1" or "l2".
func (n Norm) String() string {
	switch n {
	case L1:
		return "l1"
	case L2:
		return "l2"
	}
	return fmt.Sprintf("Norm(%d)", uint8(n))
}
