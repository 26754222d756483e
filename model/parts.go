package model

import "l2mt/layers"

// partRows are the rows of E that are embedded at a time.
const partRows = 4096

// parts embed a problem in parts, whose memory does not grow with the tasks, for a
// body whose rows are Apart.
type parts struct {
	config Config
	graph  *layers.Graph
	e      *layers.Capture
}

// inParts says whether problems of so many tasks are embedded in parts.
func (c Config) inParts(tasks int) bool {
	body := bodies.get(c.Body)
	return body.Apart && body.Per.rows(tasks) > partRows
}

func newParts(c Config) (*parts, error) {
	p := &parts{config: c}
	var err error
	p.graph, err = layers.Build(c.DType, func(g *layers.Graph) {
		body, params, statistics := bodies.get(c.Body), Inputs{}, Inputs{}
		for _, s := range c.Specs() {
			params[s.Name] = g.Input(s.Name, s.Shape...)
		}
		for _, s := range body.Statistics {
			statistics[s.Name] = g.Input(statisticName(s), partRows, s.Cols)
		}
		p.e = g.Capture(body.Build(BodyInputs{Config: c, Params: params, Statistics: statistics}))
	})
	return p, err
}

// embed is E, row-major.
func (p *parts) embed(params Params, payload *Payload) ([]float64, error) {
	for _, t := range params {
		if err := p.graph.Set(t.Name, t.Value); err != nil {
			return nil, err
		}
	}
	body, h := bodies.get(p.config.Body), p.config.Width()
	rows := body.Per.rows(payload.Tasks())
	e := make([]float64, rows*h)
	for from := 0; from < rows; from += partRows {
		to := min(from+partRows, rows)
		for i, s := range body.Statistics {
			if err := p.graph.Set(statisticName(s), payload.statistics[i][from*s.Cols:to*s.Cols]); err != nil {
				return nil, err
			}
		}
		if err := p.graph.Run(); err != nil {
			return nil, err
		}
		copy(e[from*h:to*h], p.e.Value)
	}
	return e, nil
}
