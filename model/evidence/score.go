package evidence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"l2mt/data"
	"l2mt/data/files"
	"l2mt/model/multitask"
	"l2mt/model/saved"
)

// Score judges predictions for rows that were held out. A number that cannot be known, as for a
// task without such rows, is NaN.
type Score struct {
	// Rows is how many labelled rows there are, Held how many were held out.
	Rows int `json:"rows"`
	Held int `json:"held_out"`
	// Error is the rate of misclassified rows, or for a regression the root mean
	// squared error (RMSE).
	Error files.Float `json:"error"`
	// StandardError is the standard error of Error, as far as it comes from the choice of the
	// rows that were held out.
	StandardError files.Float `json:"standard_error"`
	// AUC is the share of pairs of a positive and a negative row in which the
	// positive one has the larger score, ties counting half; classes only. Of more
	// than two it is the mean over the classes, each against the rest.
	AUC files.Float `json:"auc"`
	// AveragePrecision, Precision and Recall measure the positive of two classes. AveragePrecision
	// is the mean over its rows of the precision at their scores, Precision the share of positive
	// rows among the rows taken for positive, and Recall the share of positive rows that are found.
	AveragePrecision files.Float `json:"average_precision"`
	Precision        files.Float `json:"precision"`
	Recall           files.Float `json:"recall"`
	// R2 is one minus the mean squared error over the variance of the targets;
	// regression only.
	R2 files.Float `json:"r2"`
	// LogLoss and Brier judge the probabilities of classes. LogLoss is the mean of -ln p of the
	// right class. Brier is half the mean squared distance from the outcome: for two classes the
	// squared distance of one.
	LogLoss files.Float `json:"log_loss"`
	Brier   files.Float `json:"brier"`
}

// Relative is the error over the standard deviation of the targets.
func (s Score) Relative() float64 {
	return math.Sqrt(float64(1 - s.R2))
}

// numbers are the numbers of a score, beside its counts.
func (s *Score) numbers() []*files.Float {
	return []*files.Float{&s.Error,
		&s.StandardError, &s.AUC, &s.AveragePrecision,
		&s.Precision, &s.Recall, &s.R2, &s.LogLoss, &s.Brier}
}

// ScoresOf judges predictions of every task, and of all rows together.
func (h *HeldOut) ScoresOf(p *data.ProblemData) (tasks []Score, total Score) {
	f := slices.Concat(h.Scores...)
	y := slices.Concat(h.Y...)
	w := slices.Concat(h.Weight...)
	total = ScoreOf(p.Kind(), f, y, w, h.Temperature, h.Cut)
	for i, t := range p.Tasks {
		s := ScoreOf(t.Kind, h.Scores[i], h.Y[i],
			h.Weight[i], h.Temperature, h.Cut)
		s.Rows = len(t.TrainSet.Y)
		total.Rows += s.Rows
		tasks = append(tasks, s)
	}
	return tasks, total
}

// ScoreOf compares predictions of a task with its labels. Rows count the weights w, or the same
// where these are nil. A row of two classes is taken for positive from the score cut on.
func ScoreOf(kind data.Kind, f, y, w []float64, temperature, cut float64) Score {
	s := Score{Held: len(y)}
	for _, v := range s.numbers() {
		*v = files.Float(math.NaN())
	}
	if w == nil {
		w = slices.Repeat([]float64{1}, len(y))
	}
	n := floats.Sum(w) *
		floats.Sum(w) / floats.Dot(w, w) // so many rows of one weight tell as much
	if kind == data.Classification {
		rate := stat.Mean(misclassified(f, y), w)
		if perRow(f, y) == 1 {
			rate = s.decide(f, y, w, cut)
		}
		s.Error = files.Float(rate)
		s.StandardError = files.Float(math.Sqrt(rate * (1 - rate) / n))
		s.AUC = files.Float(meanAUC(f, y, w))
		s.Brier = files.Float(stat.Mean(brier(f, y, temperature), w))
		s.LogLoss = files.Float(stat.Mean(logLosses(f, y, temperature), w))
	} else {
		square := squares(f, y, 1)
		mean := stat.Mean(square, w)
		s.Error = files.Float(math.Sqrt(mean))
		if mean > 0 {
			// d sqrt(u) = du / (2 sqrt(u))
			variance := stat.PopVariance(square, w) / (n - 1)
			s.StandardError = files.Float(math.Sqrt(variance/mean) / 2)
		}
		variance := stat.PopVariance(y, w)
		if variance > 0 {
			s.R2 = files.Float(1 - mean/variance)
		}
	}
	return s
}

// meanAUC is the mean of the AUC of the classes that have rows.
func meanAUC(f, y, w []float64) float64 {
	k := perRow(f, y)
	if k == 1 {
		return auc(f, y, w)
	}
	mean, _ := meanOf(k, func(c int) float64 {
		return auc(multitask.ClassScores(f, c, k), multitask.Against(y, c), w)
	})
	return mean
}

// meanOf is the mean of the known ones of n values, and their number.
func meanOf(n int, value func(i int) float64) (mean, known float64) {
	for i := range n {
		v := value(i)
		if !math.IsNaN(v) {
			mean += v
			known++
		}
	}
	return mean / known, known
}

// auc is the area under the curve of true over false positives, NaN where either are none.
func auc(f, y, w []float64) float64 {
	area := 0.0
	found := 0.0
	passed := 0.0
	cuts(f, y, w, func(hits, alarms, _, _ float64) {
		area += (hits + found) / 2 * (alarms - passed)
		found = hits
		passed = alarms
	})
	return area / (found * passed)
}

// brier is the Brier score of every row.
func brier(f, y []float64, temperature float64) (losses []float64) {
	k := perRow(f, y)
	p := make([]float64, max(2, k))
	for j, v := range y {
		data.Probabilities(p, f[j*k:][:k], temperature)
		p[multitask.LabelOf(v, k)]--
		losses = append(losses, floats.Dot(p, p)/2)
	}
	return losses
}

// Judge tells a saved model how sure its predictions are, by rows that were held out.
func (h *HeldOut) Judge(s *saved.Fit) {
	if s.Kind == data.Classification {
		s.Temperature = h.Temperature
		return
	}
	h.spread(s)
}

// MeanScore averages over the tasks that have a value. The errors of the tasks are
// of different rows, so their variances add up.
func MeanScore(scores []Score) Score {
	var m Score
	for _, s := range scores {
		m.Rows += s.Rows
		m.Held += s.Held
	}
	for k, v := range m.numbers() {
		mean, _ := meanOf(len(scores), func(i int) float64 {
			return float64(*scores[i].numbers()[k])
		})
		*v = files.Float(mean)
	}
	variance, known := meanOf(len(scores), func(i int) float64 {
		return float64(scores[i].StandardError * scores[i].StandardError)
	})
	m.StandardError = files.Float(math.Sqrt(variance / known))
	return m
}
