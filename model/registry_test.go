package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"l2mt/model"
)

func TestATakenOrEmptyNameIsRefusedWithWhoHasIt(t *testing.T) {
	for want, register := range map[string]func(){
		`package l2mt/model_test registers the estimator "kernel", a name that package l2mt/model has taken`:      func() { model.RegisterEstimator("kernel", model.Estimator{}) },
		`package l2mt/model_test registers the link "example-exp", a name that package l2mt/model_test has taken`: func() { model.RegisterLink("example-exp", model.Link{}) },
		`package l2mt/model_test registers a readout without a name`:                                              func() { model.RegisterReadout("", nil) },
	} {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, want) {
					t.Errorf("it panics with %q", said)
				}
			}()
			register()
		})
	}
}

func TestPiecesSayWhoRegisteredThem(t *testing.T) {
	pieces := model.Pieces()
	for _, want := range []model.Piece{{"readout", "mean", "l2mt/model"}, {"estimator", "kernel", "l2mt/model"}, {"estimator", "example-cosine", "l2mt/model_test"}, {"link", "log", "l2mt/model"}} {
		if !slices.Contains(pieces, want) {
			t.Errorf("%v is not among %v", want, pieces)
		}
	}
}

// The names are as the runtime writes them: dots in the last element of an
// import path are escaped (cmd/internal/objabi, PathToPrefix).
func TestThePackageOfAFunction(t *testing.T) {
	for function, want := range map[string]string{
		"l2mt/model.init.0":                "l2mt/model",
		"example.com/own/v2.init.0.func1":  "example.com/own/v2",
		"example.com/own.go/x.(*T).Method": "example.com/own.go/x",
		"gopkg.in/own%2ev3.init":           "gopkg.in/own.v3",
		"own.Register[...]":                "own",
	} {
		if got := model.PackageOf(function); got != want {
			t.Errorf("%s is in %q, want %q", function, got, want)
		}
	}
}
