// Package query asks questions of tables whose records stay where they are: counts,
// means, histograms, quantiles, tables, moments, survival. A question is text; compiled
// with the public variables of a data set it is a map from a record to numbers whose
// norm is at most 1, so that one release of their noisy sum answers all questions of a
// run. What is computed from that sum is post-processing and costs nothing.
package query

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"sotto/config"
)

// Question is one question, parsed and not yet held against a data set.
type Question struct {
	Text  string
	Kind  string // see Kinds
	Vars  []string
	Nums  []float64 // its numbers: edges, bins, probabilities
	By    []string
	Where []Condition
}

// Condition keeps records: of a number by a comparison, of a category by = or !=.
type Condition struct {
	Var   string
	Op    string // =, !=, <, <=, >, >=
	Value string
}

var comparisons = []string{"=", "!=", "<", "<=", ">", ">="}

// Kinds of questions, with what stands between their parentheses.
var Kinds = map[string]string{
	"count":       "count()",
	"sum":         "sum(NUMBER)",
	"mean":        "mean(NUMBER)",
	"variance":    "variance(NUMBER)",
	"histogram":   "histogram(NUMBER, BINS), or histogram(NUMBER, EDGE, EDGE, EDGE, ...)",
	"quantile":    "quantile(NUMBER, PROBABILITY, ...)",
	"table":       "table(CATEGORY, ...)",
	"correlation": "correlation(NUMBER, NUMBER, ...)",
	"covariance":  "covariance(NUMBER, NUMBER, ...)",
	"pca":         "pca(NUMBER, NUMBER, ...)",
	"regression":  "regression(NUMBER, NUMBER or CATEGORY, ...); the first is explained by the others",
	"ttest":       "ttest(NUMBER, CATEGORY); the category has two values",
	"top":         "top(CATEGORY, HOW MANY)",
	"survival":    "survival(TIME, EVENT) or survival(TIME, EVENT, BINS); EVENT's last value is the event",
	"evaluation":  "evaluation() or evaluation(BINS): of the model that [algorithm] model names",
}

// Parse reads a question such as "mean(age) by sex where ward = north and age >= 18".
// Names and values with other signs than letters, digits, underscores, dots and dashes
// stand in double quotes, two of which inside are one.
func Parse(text string) (*Question, error) {
	p := &parser{text: text}
	if err := p.scan(); err != nil {
		return nil, err
	}
	q := &Question{Text: strings.TrimSpace(text)}
	q.Kind = strings.ToLower(p.next().text)
	if _, ok := Kinds[q.Kind]; !ok {
		return nil, p.bad(q.Kind, config.OneOf(Kinds))
	}
	if err := p.arguments(q); err != nil {
		return nil, err
	}
	if p.word("by") {
		for {
			t := p.next()
			if !t.name() {
				return nil, p.bad(t.text, "the name of a variable after by")
			}
			if q.By = append(q.By, t.text); !p.sign(",") {
				break
			}
		}
	}
	if p.word("where") {
		for {
			c := Condition{Var: p.next().text, Op: p.next().text, Value: p.next().text}
			if c.Value == "" || !slices.Contains(comparisons, c.Op) {
				return nil, p.bad(c.Var+" "+c.Op+" "+c.Value, "conditions such as age >= 18 and sex = F")
			}
			if q.Where = append(q.Where, c); !p.word("and") {
				break
			}
		}
	}
	if t := p.next(); t.text != "" {
		return nil, p.bad(t.text, "by VARIABLE, ... and where CONDITION and ... after the question")
	}
	return q, q.check()
}

func (q *Question) bad(found, allowed string) error {
	return config.Bad("ask", fmt.Sprintf("%s: %s", q.Text, found), allowed)
}

// onlyNames are kinds without numbers: a variable may be called 5.
var onlyNames = map[string]bool{"table": true, "correlation": true, "covariance": true, "pca": true,
	"regression": true}

// Bounds of what one question may ask.
const (
	maxVars = 32
	maxBins = 4096
)

// check refuses what no data set has.
func (q *Question) check() error {
	most := map[string][2]int{"count": {0, 0}, "sum": {1, 1}, "mean": {1, 1}, "variance": {1, 1},
		"histogram": {1, 1}, "quantile": {1, 1}, "table": {1, 4}, "correlation": {2, maxVars},
		"covariance": {1, maxVars}, "pca": {2, maxVars}, "regression": {2, maxVars}, "ttest": {2, 2},
		"top": {1, 1}, "survival": {2, 2}, "evaluation": {0, 0}}[q.Kind]
	if n := len(q.Vars); n < most[0] || n > most[1] {
		return q.bad(fmt.Sprintf("%d variables", n), Kinds[q.Kind])
	}
	switch q.Kind {
	case "histogram":
		return q.checkEdges()
	case "top":
		if len(q.Nums) != 1 || !isBins(q.Nums[0]) {
			return q.bad(q.numbers(), fmt.Sprintf("how many values, 1 to %d", maxBins))
		}
	case "survival", "evaluation":
		if len(q.Nums) > 1 || len(q.Nums) == 1 && !isBins(q.Nums[0]) {
			return q.bad(q.numbers(), fmt.Sprintf("nothing, or a number of bins, 1 to %d", maxBins))
		}
	case "quantile":
		for _, x := range q.Nums {
			if !(x > 0 && x < 1) {
				return q.bad(fmt.Sprint(x), "probabilities above 0 and below 1")
			}
		}
		if len(q.Nums) == 0 || len(q.Nums) > maxVars {
			return q.bad(fmt.Sprintf("%d probabilities", len(q.Nums)), fmt.Sprintf("1 to %d", maxVars))
		}
	default:
		if len(q.Nums) > 0 {
			return q.bad(fmt.Sprint(q.Nums[0]), Kinds[q.Kind])
		}
	}
	return nil
}

// numbers are those of the question as an error shows them.
func (q *Question) numbers() string {
	if len(q.Nums) == 0 {
		return "no number"
	}
	return strings.Trim(fmt.Sprint(q.Nums), "[]")
}

func (q *Question) checkEdges() error {
	if len(q.Nums) == 1 && isBins(q.Nums[0]) {
		return nil
	}
	for k := range q.Nums {
		if k > 0 && !(q.Nums[k] > q.Nums[k-1]) {
			return q.bad(fmt.Sprint(q.Nums[k]), "edges that ascend")
		}
	}
	if len(q.Nums) < 2 || len(q.Nums) > maxBins+1 {
		return q.bad(q.numbers(),
			fmt.Sprintf("a number of bins, 1 to %d, or at least 2 edges", maxBins))
	}
	return nil
}

// isBins reports whether x is a number of bins.
func isBins(x float64) bool { return x >= 1 && x <= maxBins && x == math.Floor(x) }

// token is a word, a sign or a quoted text.
type token struct {
	text   string
	quoted bool
}

func (t token) name() bool {
	return t.quoted || t.text != "" && !strings.Contains("(),=!<>", t.text[:1])
}

type parser struct {
	text   string
	tokens []token
}

func (p *parser) bad(found, allowed string) error {
	if found == "" {
		found = "the end"
	}
	return config.Bad("ask", fmt.Sprintf("%s: %s", p.text, found), allowed)
}

// scan cuts the text into tokens.
func (p *parser) scan() error {
	for rest := []rune(p.text); len(rest) > 0; {
		switch c := rest[0]; {
		case unicode.IsSpace(c):
			rest = rest[1:]
		case c == '"':
			end := 1
			var text []rune
			for ; end < len(rest); end++ {
				if rest[end] == '"' {
					if end+1 == len(rest) || rest[end+1] != '"' {
						break
					}
					end++
				}
				text = append(text, rest[end])
			}
			if end == len(rest) {
				return p.bad(string(rest), "a closing quote")
			}
			p.tokens = append(p.tokens, token{string(text), true})
			rest = rest[end+1:]
		case strings.ContainsRune("(),", c):
			p.tokens, rest = append(p.tokens, token{text: string(c)}), rest[1:]
		case strings.ContainsRune("=!<>", c):
			n := 1
			if len(rest) > 1 && rest[1] == '=' && c != '=' {
				n = 2
			}
			p.tokens, rest = append(p.tokens, token{text: string(rest[:n])}), rest[n:]
		default:
			n := 0
			for n < len(rest) && (unicode.IsLetter(rest[n]) || unicode.IsDigit(rest[n]) ||
				strings.ContainsRune("_.-+", rest[n])) {
				n++
			}
			if n == 0 {
				return p.bad(string(c), "letters, digits, quoted texts, parentheses, commas and comparisons")
			}
			p.tokens, rest = append(p.tokens, token{text: string(rest[:n])}), rest[n:]
		}
	}
	return nil
}

// next takes the next token; the zero one at the end.
func (p *parser) next() token {
	if len(p.tokens) == 0 {
		return token{}
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

func (p *parser) sign(s string) bool {
	if len(p.tokens) == 0 || p.tokens[0].quoted || p.tokens[0].text != s {
		return false
	}
	p.next()
	return true
}

func (p *parser) word(w string) bool {
	if len(p.tokens) == 0 || p.tokens[0].quoted || !strings.EqualFold(p.tokens[0].text, w) {
		return false
	}
	p.next()
	return true
}

// arguments reads what stands between parentheses.
func (p *parser) arguments(q *Question) error {
	if !p.sign("(") {
		return p.bad(p.next().text, "( after "+q.Kind)
	}
	for !p.sign(")") {
		if len(q.Vars)+len(q.Nums) > 0 && !p.sign(",") {
			return p.bad(p.next().text, ", or )")
		}
		t := p.next()
		if !t.name() {
			return p.bad(t.text, Kinds[q.Kind])
		}
		// the variables come first: one may be called 5
		x, err := strconv.ParseFloat(t.text, 64)
		numbered := len(q.Vars) > 0 && !onlyNames[q.Kind] || q.Kind == "evaluation"
		if (err == nil || errors.Is(err, strconv.ErrRange)) && !t.quoted && numbered {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return p.bad(t.text, "a finite number")
			}
			q.Nums = append(q.Nums, x)
			continue
		}
		if len(q.Nums) > 0 {
			return p.bad(t.text, "a number")
		}
		q.Vars = append(q.Vars, t.text)
	}
	return nil
}
