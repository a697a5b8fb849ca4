package demo

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// The calculator's bounds: a demo must not be a way to burn a processor.
const (
	maxExpression = 1000    // bytes
	maxDepth      = 100     // nested parentheses and signs
	maxBits       = 1 << 16 // of a numerator or denominator
	maxExponent   = 10_000
	decimals      = 20 // digits after the point when a result has no end
)

var (
	errTooLarge = errors.New("the result is too large for this calculator")
	errDivision = errors.New("division by zero")
)

// calculate evaluates an expression exactly, in fractions: + - * / % ^ and parentheses, with ^ binding tightest and
// to the right (-2^2 is -4). x % y has the sign of y. The answer says when it is rounded.
func calculate(expression string) (string, error) {
	if len(expression) > maxExpression {
		return "", fmt.Errorf("the expression has %d characters; at most %d are taken", len(expression), maxExpression)
	}
	p := &parser{in: strings.NewReplacer("×", "*", "·", "*", "÷", "/", "−", "-", "**", "^").Replace(expression)}
	v, err := p.value(bindsSum)
	if err == nil && p.next() != 0 {
		err = p.unexpected()
	}
	if err != nil {
		return "", err
	}
	if v.IsInt() {
		return v.Num().String(), nil
	}
	if n, exact := v.FloatPrec(); exact && n <= decimals {
		return v.FloatString(n), nil
	}
	return "about " + strings.TrimRight(v.FloatString(decimals), "0"), nil
}

// How tightly operators bind. A sign binds more than a product and less than a power.
const (
	bindsSum = iota + 1
	bindsProduct
	bindsSign
	bindsPower
)

var binds = map[byte]int{'+': bindsSum, '-': bindsSum, '*': bindsProduct, '/': bindsProduct, '%': bindsProduct, '^': bindsPower}

// number is a decimal number. An exponent belongs to it only when digits follow.
var number = regexp.MustCompile(`^[0-9.]+(?:[eE][+-]?([0-9]+))?`)

type parser struct {
	in    string
	at    int
	depth int
}

// next is the next character that is no space; 0 at the end.
func (p *parser) next() byte {
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.in) {
		return 0
	}
	return p.in[p.at]
}

func (p *parser) unexpected() error {
	if p.next() == 0 {
		return errors.New("the expression ends too early")
	}
	return fmt.Errorf("%q at position %d is not understood; use numbers, + - * / %% ^ and parentheses", []rune(p.in[p.at:])[0], p.at+1)
}

// value reads an operand, and all operators behind it that bind at least so tightly.
func (p *parser) value(least int) (*big.Rat, error) {
	v, err := p.operand()
	for err == nil {
		op := p.next()
		if binds[op] < least || binds[op] == 0 {
			return v, nil
		}
		p.at++
		right := binds[op] + 1
		if op == '^' { // to the right: 2^3^2 is 2^9, and 2^-1 is a half
			right = bindsSign
		}
		var w *big.Rat
		if w, err = p.value(right); err == nil {
			v, err = apply(op, v, w)
		}
	}
	return nil, err
}

// operand reads a number, what stands in parentheses, or either with signs before it.
func (p *parser) operand() (*big.Rat, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("more than %d nested parentheses or signs", maxDepth)
	}
	defer func() { p.depth-- }()
	switch c := p.next(); c {
	case '+', '-':
		p.at++
		v, err := p.value(bindsSign)
		if err == nil && c == '-' {
			v.Neg(v)
		}
		return v, err
	case '(':
		p.at++
		v, err := p.value(bindsSum)
		switch closing := p.next(); {
		case err != nil:
			return nil, err
		case closing == 0:
			return nil, errors.New("a closing parenthesis is missing")
		case closing != ')':
			return nil, p.unexpected()
		}
		p.at++
		return v, nil
	}
	m := append(number.FindStringSubmatch(p.in[p.at:]), "", "") // none: it is empty
	if len(m[1]) > 4 {
		return nil, errTooLarge
	}
	v, ok := new(big.Rat).SetString(m[0])
	if !ok {
		return nil, p.unexpected()
	}
	p.at += len(m[0])
	return bounded(v)
}

func apply(op byte, v, w *big.Rat) (*big.Rat, error) {
	out := new(big.Rat)
	switch op {
	case '+':
		out.Add(v, w)
	case '-':
		out.Sub(v, w)
	case '*':
		out.Mul(v, w)
	case '^':
		return power(v, w)
	default:
		if w.Sign() == 0 {
			return nil, errDivision
		}
		if out.Quo(v, w); op == '%' {
			floor := new(big.Rat).SetInt(new(big.Int).Div(out.Num(), out.Denom())) // Euclidean: the denominator is positive
			out.Sub(v, floor.Mul(floor, w))
		}
	}
	return bounded(out)
}

func power(base, e *big.Rat) (*big.Rat, error) {
	if !e.IsInt() {
		return nil, errors.New("only whole exponents are supported")
	}
	if !e.Num().IsInt64() || e.Num().Int64() > maxExponent || e.Num().Int64() < -maxExponent {
		return nil, fmt.Errorf("the exponent is larger than %d", maxExponent)
	}
	n := e.Num().Int64()
	if n < 0 {
		if base.Sign() == 0 {
			return nil, errDivision
		}
		base, n = new(big.Rat).Inv(base), -n
	}
	if int64(base.Num().BitLen())*n > maxBits || int64(base.Denom().BitLen()-1)*n > maxBits {
		return nil, errTooLarge
	}
	exp := big.NewInt(n)
	return bounded(new(big.Rat).SetFrac(new(big.Int).Exp(base.Num(), exp, nil), new(big.Int).Exp(base.Denom(), exp, nil)))
}

func bounded(v *big.Rat) (*big.Rat, error) {
	if v.Num().BitLen() > maxBits || v.Denom().BitLen() > maxBits {
		return nil, errTooLarge
	}
	return v, nil
}
