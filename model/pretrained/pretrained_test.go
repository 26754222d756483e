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
	"l2mt/model"
	"l2mt/model/modeltest"
	"l2mt/model/pretrained"
)

func TestTheNetworkIsThatOfTheFiles(t *testing.T) {
	got := datatest.Must(pretrained.Load())(t)
	want, err := model.Load(".")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("embedded is %+v, in the directory %+v (%v)", got, want, err)
	}
	if !got.Config.FeatureFree() || got.Config.Objective != model.Found {
		t.Errorf("it is a network of %+v", got.Config)
	}
	sums := ""
	for _, name := range []string{"config.json", "weights.safetensors"} {
		b := datatest.Must(os.ReadFile(name))(t)
		sums += fmt.Sprintf("%x", sha256.Sum256(b))
	}
	datatest.Equal(t, pretrained.Checksum(), fmt.Sprintf("%x", sha256.Sum256([]byte(sums))), "the checksum")
}

// The estimate is finite for problems of any number of features and tasks.
func TestItServesAllFeatures(t *testing.T) {
	n := datatest.Must(pretrained.Load())(t)
	forward := datatest.Must(model.NewForward(n))(t)
	const seed = 1
	for i, d := range []int{1, 3, 64, 2000} {
		p := modeltest.Problem(data.Stream(seed, "pretrained", uint64(i)), d, slices.Repeat([]int{6}, i+2)...)
		p.Problem = &data.Problem{Name: fmt.Sprint("of seed ", seed, " and ", d, " features")}
		payload := datatest.Must(model.Prepare(n.Config, p))(t)
		e := datatest.Must(forward.Estimate(payload))(t)
		if rho := n.Direction() * e.C; !(rho > 0) || math.IsInf(rho, 0) {
			t.Errorf("%s: rho is %v", p.Name, rho)
		}
		for _, v := range e.Phi {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s: Phi has %v", p.Name, v)
			}
		}
	}
}
