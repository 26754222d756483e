package infer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"l2mt/data"
)

// AtlasFile is kept beside a network's weights.
const AtlasFile = "atlas.json"

// Atlas holds the embeddings of the problems that a network was trained on, to
// say how far a new problem is from them.
type Atlas struct {
	Problems []Place `json:"problems"`
	// Radius is the largest distance of a training problem from its nearest
	// other one. Problems further away are unlike everything in training.
	Radius float64 `json:"radius"`
}

// Place is where a problem is.
type Place struct {
	Name string `json:"name"`
	// Tasks names the tasks, and E holds their embeddings.
	Tasks []string    `json:"tasks"`
	E     [][]float32 `json:"e"`
}

// Neighbour is a training problem near a new one.
type Neighbour struct {
	Name     string  `json:"name"`
	Distance float64 `json:"distance"`
}

// Place returns where a problem is in the network's eyes.
func (n *Network) Place(p *data.ProblemData) (Place, error) {
	e, err := n.estimate(p)
	if err != nil {
		return Place{}, err
	}
	return placeOf(p, e.E), nil
}

func placeOf(p *data.ProblemData, e []float64) Place {
	place := Place{Name: p.Name}
	h := len(e) / len(p.Tasks)
	for i, t := range p.Tasks {
		row := make([]float32, h)
		for j, v := range e[i*h:][:h] {
			row[j] = float32(v)
		}
		place.Tasks, place.E = append(place.Tasks, t.Name), append(place.E, row)
	}
	return place
}

// NewAtlas places the problems of training.
func NewAtlas(n *Network, problems []*data.ProblemData) (*Atlas, error) {
	a := &Atlas{}
	for _, p := range problems {
		place, err := n.Place(p)
		if err != nil {
			return nil, err
		}
		a.Problems = append(a.Problems, place)
	}
	for i, p := range a.Problems {
		others := Atlas{Problems: slices.Concat(a.Problems[:i], a.Problems[i+1:])}
		if near := others.Nearest(p, 1); len(near) > 0 {
			a.Radius = max(a.Radius, near[0].Distance)
		}
	}
	return a, nil
}

// Nearest lists the k nearest problems, nearest first.
func (a *Atlas) Nearest(p Place, k int) []Neighbour {
	var near []Neighbour
	for _, other := range a.Problems {
		near = append(near, Neighbour{other.Name, distance(p, other)})
	}
	slices.SortStableFunc(near, func(a, b Neighbour) int { return cmp.Compare(a.Distance, b.Distance) })
	return near[:min(k, len(near))]
}

// distance is the mean, over the tasks of a, of the distance to the nearest
// task of b. A task and the task with all labels flipped are the same here.
func distance(a, b Place) float64 {
	sum := 0.0
	for _, e := range a.E {
		nearest := math.Inf(1)
		for _, f := range b.E {
			minus, plus := 0.0, 0.0
			for j, v := range e {
				d, s := float64(v-f[j]), float64(v+f[j])
				minus += d * d
				plus += s * s
			}
			nearest = min(nearest, minus, plus)
		}
		sum += math.Sqrt(nearest)
	}
	return sum / float64(len(a.E))
}

// Save writes the atlas beside a network.
func (a *Atlas) Save(dir string) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("infer: atlas: %w", err)
	}
	if err := renameio.WriteFile(filepath.Join(dir, AtlasFile), append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("infer: atlas: %w", err)
	}
	return nil
}

// LoadAtlas reads the atlas beside a network.
func LoadAtlas(dir string) (*Atlas, error) {
	path := filepath.Join(dir, AtlasFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("infer: atlas: %w", err)
	}
	a := &Atlas{}
	if err := json.Unmarshal(raw, a); err != nil {
		return nil, fmt.Errorf("infer: atlas: %s: %w", path, err)
	}
	width := -1
	for i, p := range a.Problems {
		for _, e := range p.E {
			if width < 0 {
				width = len(e)
			}
			if len(e) != width || len(p.E) != len(p.Tasks) {
				return nil, fmt.Errorf("infer: atlas: %s: problem %d (%q): %w: its embeddings do not have one width, or are not one a task", path, i, p.Name, ErrInvalid)
			}
		}
	}
	return a, nil
}
