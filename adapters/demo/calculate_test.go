package demo

import (
	"math/big"
	"strings"
	"testing"
)

func TestCalculate(t *testing.T) {
	for _, c := range []struct{ in, want, fault string }{
		{in: "1+1", want: "2"},
		{in: " 2 + 3 * 4 ", want: "14"},
		{in: "(2+3)*4", want: "20"},
		{in: "0.1 + 0.2", want: "0.3"},
		{in: "1/8", want: "0.125"},
		{in: "2/3", want: "about 0.66666666666666666667"},
		{in: "10 - 3 - 2", want: "5"},
		{in: "24/4/2", want: "3"},
		{in: "2^3^2", want: "512"},
		{in: "-2^2", want: "-4"},
		{in: "(-2)^2", want: "4"},
		{in: "2^-2", want: "0.25"},
		{in: "--3", want: "3"},
		{in: "2*-3", want: "-6"},
		{in: "7 % 3", want: "1"},
		{in: "-7 % 3", want: "2"},
		{in: "7.5 % 2", want: "1.5"},
		{in: "6×7", want: "42"},
		{in: "2**10", want: "1024"},
		{in: "1.5e3", want: "1500"},
		{in: ".5+1.", want: "1.5"},
		{in: "12345678901234567890*98765432109876543210", want: "1219326311370217952237463801111263526900"},
		{in: "1/0", fault: "division by zero"},
		{in: "1 % 0", fault: "division by zero"},
		{in: "0^-1", fault: "division by zero"},
		{in: "9^9^9", fault: "the exponent is larger than 10000"},
		{in: "10^10000^10000", fault: "too large"},
		{in: "99999999999^9999", fault: "too large"},
		{in: "(9^9999)*(9^9999)*(9^9999)", fault: "too large"},
		{in: "(9^9999)^9999", fault: "too large"}, // refused before it is computed
		{in: "1e99999", fault: "too large"},
		{in: "2^0.5", fault: "whole exponents"},
		{in: "", fault: "ends too early"},
		{in: "1+", fault: "ends too early"},
		{in: "(1+2", fault: "closing parenthesis"},
		{in: "1)", fault: `')' at position 2`},
		{in: "1..2", fault: "not understood"},
		{in: "two", fault: "'t' at position 1"},
		{in: "1 2", fault: "'2' at position 3"},
		{in: strings.Repeat("(", 200) + "1", fault: "nested"},
		{in: strings.Repeat("1", 2000), fault: "at most 1000"},
	} {
		got, err := calculate(c.in)
		if c.fault == "" && (err != nil || got != c.want) {
			t.Errorf("calculate(%q) = %q, %v; want %q", c.in, got, err, c.want)
		}
		if c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("calculate(%q) = %q, %v; want an error with %q", c.in, got, err, c.fault)
		}
	}
}

// FuzzCalculate: whatever comes, it ends, and a whole answer is a number.
func FuzzCalculate(f *testing.F) {
	f.Add("1+2*(3^4)%5")
	f.Add("9^9^9^9")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := calculate(s)
		if err != nil {
			return
		}
		if _, ok := new(big.Rat).SetString(strings.TrimPrefix(got, "about ")); !ok {
			t.Fatalf("calculate(%q) = %q, which is no number", s, got)
		}
	})
}
