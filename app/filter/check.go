package filter

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
)

// Checker checks expressions against the schemas of event types. It is safe for concurrent use.
type Checker struct {
	env  *cel.Env
	data *shape
}

// NewChecker returns a checker for events with one of these JSON Schemas of their envelope. Expressions can name the
// members that at least one of them has. A member whose type differs between them is dynamic.
func NewChecker(schemas ...json.RawMessage) (*Checker, error) {
	var data *shape
	for _, text := range schemas {
		var envelope schema
		if err := json.Unmarshal(text, &envelope); err != nil {
			return nil, err
		}
		if envelope.Properties["data"] == nil {
			return nil, fmt.Errorf("the schema of an event has no data: %.100s", text)
		}
		data = union(data, shapeOf("data", envelope.Properties["data"]))
	}
	objects, err := newProvider(data)
	if err != nil {
		return nil, err
	}
	env, err := environment(cel.CustomTypeProvider(objects), cel.Variable("data", data.celType()),
		cel.ASTValidators(regexes{}))
	if err != nil {
		return nil, err
	}
	return &Checker{env, data}, nil
}

// Error is the reason why an expression is not a filter. Line and Column start with 1.
type Error struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Check returns an [*Error] unless an expression is a filter: it has at most [MaxLength] characters, compiles, has a
// boolean result, and its cost for an event with the largest values that the schemas allow is at most [MaxCost].
func (c *Checker) Check(expression string) error {
	compiled, issues := c.env.Compile(expression)
	if issues.Err() != nil {
		return firstError(issues)
	}
	if compiled.OutputType() != cel.BoolType {
		return &Error{1, 1, fmt.Sprintf("the result is %s, not a boolean", cel.FormatCELType(compiled.OutputType()))}
	}
	cost, err := c.env.EstimateCost(compiled, estimator{c.data})
	if err != nil {
		return err
	}
	if cost.Max > MaxCost {
		return &Error{1, 1, fmt.Sprintf("the expression is too costly: up to %s units for an event, more than %d",
			formatCost(cost.Max), MaxCost)}
	}
	_, err = Compile(expression)
	return err
}

func formatCost(cost uint64) string {
	if cost >= math.MaxInt64 {
		return "an unlimited number of"
	}
	return fmt.Sprint(cost)
}

// firstError returns the first error, because the others often follow from it.
func firstError(issues *cel.Issues) error {
	first := issues.Errors()[0]
	message, _, _ := strings.Cut(first.Message, "\n")
	return &Error{max(first.Location.Line(), 1), max(first.Location.Column()+1, 1), message}
}

// regexes checks regular expressions. They must be literals, which are compiled once, with a limited program.
// cel.RegexProgramSizeLimit panics for repetitions.
type regexes struct{}

// Name implements [cel.ASTValidator].
func (regexes) Name() string { return "comanda.regexes" }

// Validate implements [cel.ASTValidator].
func (regexes) Validate(_ *cel.Env, _ cel.ValidatorConfig, a *ast.AST, issues *cel.Issues) {
	calls := ast.MatchDescendants(ast.NavigateAST(a), ast.FunctionMatcher(overloads.Matches))
	for _, call := range calls {
		args := call.AsCall().Args()
		pattern := args[len(args)-1]
		if pattern.Kind() != ast.LiteralKind {
			issues.ReportErrorAtID(pattern.ID(), "the pattern of matches must be a literal")
			continue
		}
		text, _ := pattern.AsLiteral().Value().(string)
		if err := checkRegex(text); err != nil {
			issues.ReportErrorAtID(pattern.ID(), "%v", err)
		}
	}
}

func checkRegex(pattern string) error {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return err
	}
	if n := len(program.Inst); n > maxRegexProgram {
		return fmt.Errorf("the regular expression is too large: %d instructions, more than %d", n, maxRegexProgram)
	}
	return nil
}

// estimator estimates the maximum of the costs that type costs counts.
type estimator struct{ data *shape }

// EstimateSize implements [checker.CostEstimator].
func (e estimator) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	path := node.Path()
	if len(path) == 0 {
		return nil
	}
	if path[0] == "type" {
		return &checker.SizeEstimate{Max: defaultCharacters}
	}
	if found := e.data.at(path[1:]); found != nil && found.size > 0 {
		return &checker.SizeEstimate{Max: found.size}
	}
	return nil
}

// EstimateCallCost implements [checker.CostEstimator].
func (e estimator) EstimateCallCost(_, overload string, target *checker.AstNode, args []checker.AstNode,
) *checker.CallEstimate {
	if target != nil {
		args = append([]checker.AstNode{*target}, args...)
	}
	most := uint64(0)
	switch overload {
	case overloads.Equals, overloads.NotEquals:
		most = bounded(min(e.toRead(args[0]), e.toRead(args[1])))
	case overloads.InList:
		most = bounded(e.toRead(args[1]))
	case overloads.Matches, overloads.MatchesString:
		most = bounded(e.toRead(args[0]) * costPerRegex)
	default:
		return nil
	}
	return &checker.CallEstimate{CostEstimate: checker.CostEstimate{Max: most}}
}

// toRead returns the maximum of costToRead of the value of a node.
func (e estimator) toRead(node checker.AstNode) float64 {
	if path := node.Path(); len(path) > 0 && path[0] == "data" {
		if found := e.data.at(path[1:]); found != nil {
			return found.toRead()
		}
	}
	size := node.ComputedSize()
	if size == nil {
		size = e.EstimateSize(node)
	}
	switch kind := node.Type().Kind(); {
	case kind != cel.StringKind && kind != cel.ListKind:
		return 1
	case size == nil:
		return defaultCharacters
	case kind == cel.ListKind:
		return 1 + float64(size.Max)*defaultCharacters/charactersPerUnit
	default:
		return 1 + float64(size.Max)/charactersPerUnit
	}
}

func (s *shape) toRead() float64 {
	sum := 1.0
	switch s.kind {
	case "string":
		sum += float64(s.size) / charactersPerUnit
	case "array", "map":
		sum += float64(s.size) * s.element.toRead()
	case "object":
		for name, member := range s.members {
			sum += 1 + float64(len(name))/charactersPerUnit + member.toRead()
		}
	case "": // of one type or the other
		sum += defaultCharacters / charactersPerUnit
	}
	return sum
}
