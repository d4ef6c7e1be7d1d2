// Package filter compiles and evaluates the filters of webhooks: boolean CEL expressions over the type and the data of
// an event, such as
//
//	data.fulfillmentType == "DELIVERY" && data.totalMinor >= 5000
//
// A [Checker] checks an expression against the schemas of the event types when a webhook is written. [Compile] needs no
// schemas, so that a filter that was accepted once stays valid.
package filter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// Limits of expressions.
const (
	MaxLength = 1000      // characters
	MaxCost   = 1_000_000 // units of CEL per evaluation; a unit is about one step and takes some 100 ns

	maxDepth        = 50              // of nested subexpressions
	maxNodes        = 2000            // of the syntax tree, after the expansion of macros
	maxRegexProgram = 200             // instructions of a regular expression
	maxTime         = 2 * time.Second // of an evaluation; reached only if the costs are wrong
	checkEvery      = 100             // iterations of a loop between two checks of the time
)

// Filter is a compiled expression. It is safe for concurrent use.
type Filter struct {
	program    cel.Program
	expression string
}

// Compile compiles an expression that a [Checker] has accepted.
func Compile(expression string) (*Filter, error) {
	env, err := dynamic()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return nil, firstError(issues)
	}
	program, err := env.Program(parsed, programOptions()...)
	if err != nil {
		return nil, err
	}
	return &Filter{program, expression}, nil
}

// Matches evaluates the filter for an event. data is the result of [Data]. cost is positive also if the evaluation
// fails: a member is missing, an operation does not exist for the types of its operands, or the cost exceeds [MaxCost].
// An event for which the evaluation fails counts as matching.
func (f *Filter) Matches(ctx context.Context, eventType string, data any) (matches bool, cost uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	result, details, err := f.program.ContextEval(ctx, map[string]any{"type": eventType, "data": data})
	cost = 1
	if details != nil && details.ActualCost() != nil {
		cost += *details.ActualCost()
	}
	var cancelled interpreter.EvalCancelledError
	switch {
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded:
		return true, MaxCost, fmt.Errorf("the cost of the evaluation exceeds %d units", MaxCost)
	case ctx.Err() != nil: // also without an error: exists and all can hide it
		return true, MaxCost, errors.New("the evaluation takes too long")
	case err != nil:
		return true, cost, f.describe(err)
	}
	if value, ok := result.(types.Bool); ok {
		return bool(value), cost, nil
	}
	return true, cost, fmt.Errorf("the result is %s, not a boolean", result.Type().TypeName())
}

// describe returns a message without values of the event, which are not stored beyond its body.
func (f *Filter) describe(err error) error {
	if key, found := strings.CutPrefix(err.Error(), "no such key: "); found && strings.Contains(f.expression, key) {
		return err
	}
	for _, known := range []string{
		"no such key", "no such overload", "division by zero", "modulus by zero", "integer overflow",
		"index out of bounds", "type conversion error",
	} {
		if strings.Contains(err.Error(), known) {
			return errors.New(known)
		}
	}
	return errors.New("the evaluation fails for this event")
}

// dynamic is the environment of [Compile], in which the types of members are unknown.
var dynamic = sync.OnceValues(func() (*cel.Env, error) {
	return environment(cel.Variable("data", cel.DynType))
})

// environment returns an environment with the functions of filters and the variable type. It leaves out times, bytes,
// and macros that build lists.
func environment(options ...cel.EnvOption) (*cel.Env, error) {
	library := &env.LibrarySubset{IncludeMacros: []string{operators.Has, operators.All, operators.Exists}}
	for _, name := range []string{
		operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional,
		operators.NotStrictlyFalse, operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals,
		operators.Greater, operators.GreaterEquals, operators.Add, operators.Subtract, operators.Multiply,
		operators.Divide, operators.Modulo, operators.Negate, operators.In, operators.Index, overloads.Size,
		overloads.Contains, overloads.StartsWith, overloads.EndsWith, overloads.Matches, overloads.TypeConvertInt,
		overloads.TypeConvertDouble, overloads.TypeConvertString,
	} {
		library.IncludeFunctions = append(library.IncludeFunctions, &env.Function{Name: name})
	}
	return cel.NewCustomEnv(append([]cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(library)),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(MaxLength),
		cel.ParserRecursionLimit(maxDepth),
		cel.ParserErrorRecoveryLimit(1),
		cel.ExpressionNodeLimit(maxNodes),
		cel.Variable("type", cel.StringType),
	}, options...)...)
}

func programOptions() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		cel.CostLimit(MaxCost),
		cel.InterruptCheckFrequency(checkEvery),
		cel.CostTracking(costs{}),
	}
}

// costs are the costs of calls. Those of CEL depend on types that [Compile] does not have, and do not include the
// elements of compared lists and objects.
type costs struct{}

// CallCost implements [interpreter.ActualCostEstimator].
func (costs) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	cost := uint64(1)
	switch function {
	case operators.Equals, operators.NotEquals:
		if alike(args[0], args[1]) {
			cost += costToRead(args[0]) + costToRead(args[1])
		}
	case operators.In:
		cost += costToRead(args[1])
	case overloads.Matches:
		cost += costToRead(args[0]) * costPerRegex
	default:
		for _, arg := range args {
			if text, ok := arg.(types.String); ok {
				cost += costToRead(text)
			}
		}
	}
	return &cost
}

// alike reports whether a comparison of two values reads their elements.
func alike(a, b ref.Val) bool {
	x, isSized := a.(traits.Sizer)
	y, areSized := b.(traits.Sizer)
	return a.Type() == b.Type() && (!isSized || !areSized || x.Size() == y.Size())
}

// costPerRegex is the cost of the largest regular expression per cost of reading its text.
const costPerRegex = maxRegexProgram / 4

// charactersPerUnit is the number of characters that are read for one unit, as in CEL's own costs.
const charactersPerUnit = 10

// costToRead returns the cost of reading a value with all its elements. Above [MaxCost] it is not exact.
func costToRead(value ref.Val) uint64 {
	cost := uint64(1)
	switch v := value.(type) {
	case types.String:
		cost += uint64(len(v)) / charactersPerUnit
	case traits.Mapper:
		for keys := v.Iterator(); cost <= MaxCost && keys.HasNext() == types.True; {
			key := keys.Next()
			member, _ := v.Find(key)
			cost += costToRead(key) + costToRead(member)
		}
	case traits.Lister:
		for elements := v.Iterator(); cost <= MaxCost && elements.HasNext() == types.True; {
			cost += costToRead(elements.Next())
		}
	}
	return cost
}

// bounded returns a cost that does not overflow when it is added to another one.
func bounded(cost float64) uint64 { return uint64(min(cost, math.MaxInt64)) }
