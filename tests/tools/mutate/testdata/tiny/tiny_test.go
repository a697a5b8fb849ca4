package tiny

import (
	"flag"
	"testing"
)

var full = flag.Bool("full", true, "look at everything")

func TestGrade(t *testing.T) {
	if *full && Grade(0) != "nothing" {
		t.Error("0")
	}
	if Grade(10) != "great" || Grade(5) != "good" {
		t.Error("10 or 5")
	}
}

func TestShy(t *testing.T) {
	if Shy("ana") != "ana" {
		t.Error("ana")
	}
}

func TestBetween(t *testing.T) {
	if !Between(2, 1, 3) || Between(0, 1, 3) {
		t.Error("between")
	}
}

func TestWait(t *testing.T) {
	if Wait(2) != 2 {
		t.Error("2")
	}
}
