package run

import "l2mt/data"

// Summary describes one problem file.
type Summary struct {
	File       string `json:"file"`
	Dataset    string `json:"dataset,omitempty"`
	Problems   int    `json:"problems"`
	Tasks      int    `json:"tasks"`
	MinTasks   int    `json:"min_tasks"`
	MaxTasks   int    `json:"max_tasks"`
	TrainRows  int    `json:"train_rows"`
	Validation int    `json:"validation_rows"`
	TestRows   int    `json:"test_rows"`
}

// Summarise describes the problem file of a path.
func Summarise(path string, f *data.ProblemFile) Summary {
	s := Summary{File: path, Dataset: f.Dataset.Path, Problems: len(f.Problems), MinTasks: len(f.Problems[0].Tasks)}
	for _, p := range f.Problems {
		s.Tasks += len(p.Tasks)
		s.MinTasks, s.MaxTasks = min(s.MinTasks, len(p.Tasks)), max(s.MaxTasks, len(p.Tasks))
		for _, t := range p.Tasks {
			s.TrainRows += len(t.Train)
			s.Validation += len(t.Validation)
			s.TestRows += len(t.Test)
		}
	}
	return s
}
