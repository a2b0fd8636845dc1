package schema

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sotto/config"
)

// fill puts defaults where a key is absent, and one form where there are two: schemas
// that say the same have the same digest.
func (s *Schema) fill() {
	if s.MissingCells == nil {
		s.MissingCells = []string{""}
	}
	if s.Target.Missing == "" {
		s.Target.Missing = Refuse
	}
	plain(s.Target.Bounds)
	plain(s.Target.Scale)
	for i := range s.Columns {
		c := &s.Columns[i]
		plain(c.Bounds)
		plain(c.Scale)
		if c.Kind == Number && c.Scale == nil {
			c.Scale = []float64{0, 1}
		}
		switch v := c.Missing.(type) {
		case nil:
			if c.Kind == Number || c.Kind == Category {
				c.Missing = Refuse
			}
		case int64:
			c.Missing = float64(v)
		case float64:
			c.Missing = v + 0
		}
	}
}

// plain makes 0 of -0.
func plain(x []float64) {
	for i := range x {
		x[i] += 0
	}
}

func (s *Schema) validate() error {
	switch {
	case s.Version != Version:
		return config.Bad("version", s.Version, fmt.Sprint(Version))
	case len(s.Columns) < 1 || len(s.Columns) > maxColumns:
		return wrong("column", fmt.Sprintf("%d tables [[column]]", len(s.Columns)),
			fmt.Sprintf("1 to %d", maxColumns))
	}
	if err := errors.Join(checkText("name", s.Name, true), s.checkMissingCells()); err != nil {
		return err
	}
	seen := map[string]bool{}
	ids, width := 0, 0
	for i := range s.Columns {
		c := &s.Columns[i]
		key := func(k string) string { return fmt.Sprintf("column[%d].%s", i, k) }
		if err := s.checkColumn(c, key); err != nil {
			return err
		}
		if seen[c.Name] {
			return config.Bad(key("name"), c.Name, "a name that no other column has")
		}
		seen[c.Name] = true
		if c.Kind == ID {
			if ids++; ids > 1 {
				return config.Bad(key("kind"), c.Kind, "one column of kind id")
			}
		}
		if width += c.width(); width > maxFeatures {
			return wrong(key("categories"), fmt.Sprintf("%d features so far", width),
				fmt.Sprintf("at most %d", maxFeatures))
		}
	}
	if width == 0 {
		return wrong("column", "no feature", "at least one column of kind number or category")
	}
	if err := s.checkFeatures(); err != nil {
		return err
	}
	return s.checkTarget(seen)
}

// wrong is config.Bad without quotes around what was found.
func wrong(key, found, allowed string) error {
	return &config.Error{Key: key, Found: found, Allowed: allowed}
}

// misfit refuses a key that belongs to another kind.
func misfit(key, kind string) error { return wrong(key, "a value", "none for "+kind) }

// checkFeatures refuses two features with one name.
func (s *Schema) checkFeatures() error {
	seen := map[string]bool{}
	for i := range s.Columns {
		for _, name := range s.Columns[i].features() {
			if seen[name] || s.Intercept && name == "intercept" {
				return config.Bad(fmt.Sprintf("column[%d].name", i), s.Columns[i].Name,
					fmt.Sprintf("a name without a second feature %q", name))
			}
			seen[name] = true
		}
	}
	return nil
}

// checkMissingCells refuses texts that no trimmed cell has, or that are there twice.
func (s *Schema) checkMissingCells() error {
	for i, v := range s.MissingCells {
		if v != "" {
			if err := checkText("missing_cells", v, false); err != nil {
				return err
			}
		}
		if slices.Contains(s.MissingCells[:i], v) {
			return config.Bad("missing_cells", v, "each text once")
		}
	}
	return nil
}

func (s *Schema) checkColumn(c *Column, key func(string) string) error {
	if err := checkText(key("name"), c.Name, false); err != nil {
		return err
	}
	if err := checkText(key("unit"), c.Unit, true); err != nil {
		return err
	}
	switch c.Kind {
	case Number:
		return c.checkNumber(key)
	case Category:
		return s.checkCategory(c, key)
	case Ignore, ID:
		for _, k := range []struct {
			name  string
			given bool
		}{{"bounds", c.Bounds != nil}, {"scale", c.Scale != nil}, {"categories", c.Categories != nil},
			{"other", c.Other}, {"missing", c.Missing != nil}, {"indicator", c.Indicator}} {
			if k.given {
				return misfit(key(k.name), "a column of kind "+c.Kind)
			}
		}
		return nil
	}
	return config.Bad(key("kind"), c.Kind, "one of number, category, ignore, id")
}

func (c *Column) checkNumber(key func(string) string) error {
	if c.Categories != nil || c.Other {
		return misfit(key("categories"), "a column of kind number")
	}
	if err := checkBounds(key, c.Bounds, c.Scale); err != nil {
		return err
	}
	if c.Scale == nil {
		return wrong(key("scale"), "none", "[0, 1] or [-1, 1]")
	}
	lo, hi := c.Bounds[0], c.Bounds[1]
	filled := false
	switch v := c.Missing.(type) {
	case string:
		if v != Refuse && v != Drop && v != Mean {
			return config.Bad(key("missing"), v, c.missingAllowed())
		}
		filled = v == Mean
	case float64:
		if !(lo <= v && v <= hi) {
			return config.Bad(key("missing"), v, c.missingAllowed())
		}
		filled = true
	default:
		return wrong(key("missing"), fmt.Sprintf("%v", v), c.missingAllowed())
	}
	return c.checkIndicator(key, filled)
}

func (c *Column) missingAllowed() string {
	if c.Kind == Number {
		return fmt.Sprintf("refuse, drop, mean of bounds, or a number of %v to %v", c.Bounds[0], c.Bounds[1])
	}
	return "refuse, drop, or a category of the column"
}

// checkIndicator refuses an indicator of what never happens.
func (c *Column) checkIndicator(key func(string) string, filled bool) error {
	if c.Indicator && !filled {
		return config.Bad(key("indicator"), true,
			"false where missing is refuse or drop: no record would have it")
	}
	return nil
}

func (s *Schema) checkCategory(c *Column, key func(string) string) error {
	if c.Bounds != nil || c.Scale != nil {
		return misfit(key("bounds"), "a column of kind category")
	}
	if len(c.Categories) < 1 {
		return wrong(key("categories"), "none", "the categories in order, at least one")
	}
	if err := s.checkTexts(key("categories"), c.Categories); err != nil {
		return err
	}
	slots := c.slots()
	if c.Other && slices.Contains(c.Categories, "other") {
		return config.Bad(key("categories"), "other", "another word for it, or other = false")
	}
	v, ok := c.Missing.(string)
	if !ok {
		return wrong(key("missing"), fmt.Sprintf("%v", c.Missing), c.missingAllowed())
	}
	filled := v != Refuse && v != Drop
	if filled && !slices.Contains(slots, v) {
		return config.Bad(key("missing"), v, c.missingAllowed())
	}
	return c.checkIndicator(key, filled)
}

// checkTexts checks categories or values: each once, none that stands for a missing one.
func (s *Schema) checkTexts(key string, texts []string) error {
	seen := make(map[string]bool, len(texts))
	for _, v := range texts {
		if err := checkText(key, v, false); err != nil {
			return err
		}
		if seen[v] {
			return config.Bad(key, v, "each text once")
		}
		if seen[v] = true; slices.Contains(s.MissingCells, v) {
			return config.Bad(key, v, "a text that is not in missing_cells")
		}
	}
	return nil
}

func (s *Schema) checkTarget(columns map[string]bool) error {
	t := &s.Target
	key := func(k string) string { return "target." + k }
	if err := checkText(key("column"), t.Column, false); err != nil {
		return err
	}
	if columns[t.Column] {
		return config.Bad(key("column"), t.Column, "a column that is not among the tables [[column]]")
	}
	if t.Missing != Refuse && t.Missing != Drop {
		return config.Bad(key("missing"), t.Missing, "refuse or drop")
	}
	if err := checkText(key("unit"), t.Unit, true); err != nil {
		return err
	}
	switch t.Kind {
	case Class:
		if t.Bounds != nil || t.Scale != nil {
			return misfit(key("bounds"), "a target of kind class")
		}
		if len(t.Values) < 2 {
			return wrong(key("values"), strconv.Itoa(len(t.Values)), "the classes in order, at least two")
		}
		return s.checkTexts(key("values"), t.Values)
	case Number:
		if t.Values != nil {
			return misfit(key("values"), "a target of kind number")
		}
		return checkBounds(key, t.Bounds, t.Scale)
	}
	return config.Bad(key("kind"), t.Kind, "one of class, number")
}

// checkBounds checks bounds, and scale where there is one.
func checkBounds(key func(string) string, bounds, scale []float64) error {
	if len(bounds) != 2 || !(bounds[0] < bounds[1]) || !(bounds[0] >= -math.MaxFloat32) ||
		!(bounds[1] <= math.MaxFloat32) || float32(bounds[0]) == float32(bounds[1]) {
		return config.Bad(key("bounds"), bounds,
			"[low, high] with low < high, finite and different as float32, of public knowledge")
	}
	if scale != nil && !slices.Equal(scale, []float64{0, 1}) && !slices.Equal(scale, []float64{-1, 1}) {
		return config.Bad(key("scale"), scale, "[0, 1] or [-1, 1]")
	}
	return nil
}

// checkText refuses what a trimmed cell or one line of a page cannot hold.
func checkText(key, v string, empty bool) error {
	if v == "" && empty {
		return nil
	}
	if v == "" || len(v) > maxText || strings.TrimSpace(v) != v || !utf8.ValidString(v) ||
		strings.ContainsFunc(v, unicode.IsControl) || strings.HasPrefix(v, "\ufeff") {
		return config.Bad(key, v, fmt.Sprintf(
			"a text of 1 to %d bytes, without control characters and without space at its ends", maxText))
	}
	return nil
}
