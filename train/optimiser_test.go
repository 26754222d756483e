package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"l2mt/data/datatest"
)

func init() {
	RegisterSchedule("test-halves", func(done float64) float64 { return math.Pow(0.5, math.Floor(done*3)) })
	// AdamW: Adam, and the value falls by a part of itself.
	RegisterOptimiser("test-adamw", func(time int, rate float64) Move {
		step := adam(time, rate)
		return func(value, g, m, v float64) (float64, float64, float64) {
			far, m, v := step(value, g, m, v)
			return far - rate*0.01*value, m, v
		}
	})
}

// The part of the rate by the schedules' definitions, at 8 steps, 2 of which warm up.
func TestSchedules(t *testing.T) {
	for schedule, want := range map[Schedule][]float64{
		Linear:        {0.5, 1, 1, 5. / 6, 4. / 6, 3. / 6, 2. / 6, 1. / 6},
		Constant:      {0.5, 1, 1, 1, 1, 1, 1, 1},
		"test-halves": {0.5, 1, 1, 1, 0.5, 0.5, 0.25, 0.25},
		Cosine:        {0.5, 1, 1, 0.5 + math.Sqrt(3)/4, 0.75, 0.5, 0.25, 0.5 - math.Sqrt(3)/4},
	} {
		for step, share := range want {
			datatest.Near(t, schedule.share(step, 2, 8), share, 1e-15, "%s: the share of step %d", schedule, step)
		}
	}
}

// Every optimiser goes on after an interruption to the bytes of a run without one.
func TestEveryOptimiserResumes(t *testing.T) {
	for i, name := range []string{"momentum", "rmsprop", "adagrad", "test-adamw"} {
		t.Run(name, func(t *testing.T) {
			examples := small(1)
			c := config(t, "default", examples)
			c.Epochs, c.Rate, c.EmbeddingRate = 3, 1e-3, 1e-4
			c.Optimiser, c.WarmUp, c.Schedule = name, 1, []Schedule{Constant, Cosine}[i%2]
			whole, parts := t.TempDir(), t.TempDir()
			run(t, c, examples, Options{Out: whole})
			stop := errors.New("stop")
			datatest.Refused(Run(context.Background(), c, InMemory(examples), Options{Out: parts, Epoch: func(done []Metrics) error {
				if len(done) == 2 {
					return stop
				}
				return nil
			}}))(t, stop)
			run(t, c, examples, Options{Out: parts})
			for _, file := range []string{StateFile, "weights.safetensors"} {
				a, b := datatest.Must(os.ReadFile(filepath.Join(whole, file)))(t), datatest.Must(os.ReadFile(filepath.Join(parts, file)))(t)
				if !slices.Equal(a, b) {
					t.Error(fmt.Sprint(file, " differs"))
				}
			}
		})
	}
}
