package pretrained_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"testing"

	"l2mt/data"
	"l2mt/data/datatest"
	"l2mt/layers"
	"l2mt/model"
	"l2mt/model/modeltest"
	"l2mt/model/pretrained"
)

func TestTheNetworkIsThatOfTheFiles(t *testing.T) {
	got := datatest.Must(pretrained.Load())(t)
	want, err := model.Load(".")
	datatest.Holds(t, err == nil && reflect.DeepEqual(got, want),
		"embedded is %+v, in the directory %+v (%v)", got, want, err)
	datatest.Holds(t, got.Config.FeatureFree() && got.Config.Objective == model.Found,
		"it is a network of %+v", got.Config)
	sums := ""
	for _, name := range []string{"config.json", "weights.safetensors"} {
		sums += fmt.Sprintf("%x", sha256.Sum256(datatest.Must(os.ReadFile(name))(t)))
	}
	datatest.Equal(t, pretrained.Checksum(), fmt.Sprintf("%x", sha256.Sum256([]byte(sums))), "the checksum")
}

// The estimate is finite for problems of any number of features and tasks.
func TestItServesAllFeatures(t *testing.T) {
	n := datatest.Must(pretrained.Load())(t)
	forward := model.NewForward(n)
	const seed = 1
	for i, d := range []int{1, 3, 64, 2000} {
		p := modeltest.Problem(data.Stream(seed, "pretrained", uint64(i)), d, slices.Repeat([]int{6}, i+2)...)
		p.Problem = &data.Problem{Name: fmt.Sprint("of seed ", seed, " and ", d, " features")}
		payload := datatest.Must(model.Prepare(n.Config, p))(t)
		e := datatest.Must(forward.Estimate(payload))(t)
		rho := n.Direction() * e.C
		datatest.Holds(t, rho > 0 && !math.IsInf(rho, 0), "%s: rho is %v", p.Name, rho)
		datatest.Holds(t, layers.NotFinite(e.Phi) < 0, "%s: Phi is %v", p.Name, e.Phi)
	}
}
