package command

import (
	"l2mt/infer/serve"
)

type serveCmd struct {
	Model         []string `required:"" sep:"none" help:"Directory of a saved model, or NAME=DIRECTORY; give one for each model. The first answers requests that name no model."`
	serve.Options `embed:""`
}

func (c *serveCmd) Run(e *env) error {
	c.Log = e.remark
	c.Version = versions()["l2mt"]
	s, err := serve.New(c.Model, c.Options)
	if err != nil {
		return err
	}
	return s.Run(e)
}
