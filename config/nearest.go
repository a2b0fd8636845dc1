package config

import "strings"

// Nearest returns the option that word was most likely meant to be: the one with the
// fewest letters added, left out, replaced or exchanged with their neighbor, at most one
// for every three of the word. "" means that none is so near, or that word is one of
// them.
func Nearest(word string, options []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, o := range options {
		switch d := distance(strings.ToLower(word), strings.ToLower(o), least); {
		case o == word || word == "":
			return ""
		case d < least:
			best, least = o, d
		}
	}
	return best
}

// distance is the number of edits between two words, or most where it is not below that.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, now := rows[(i+1)%3], rows[(i+2)%3], rows[i%3]
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
	}
	return min(most, rows[len(a)%3][len(b)])
}

// unknownKey is what Found says of a key that nobody knows; Allowed then lists keys.
const unknownKey = "an unknown key"

// meant is the value or key that e's was most likely meant to be, "" where nothing is
// near.
func (e *Error) meant() string {
	word, list, ok := strings.Trim(e.Found, `"`), "", false
	if e.Found == unknownKey {
		word, ok = e.Key[strings.LastIndexByte(e.Key, '.')+1:], true
		list = strings.TrimPrefix(e.Allowed, "one of ")
	} else if strings.HasPrefix(e.Found, `"`) {
		list, ok = strings.CutPrefix(e.Allowed, "one of ")
	}
	if !ok {
		return ""
	}
	options := strings.Split(list, ", ")
	for i, o := range options {
		options[i], _, _ = strings.Cut(strings.Trim(o, "[]"), " ")
	}
	return Nearest(word, options)
}
