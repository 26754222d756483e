package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"l2mt/data/files"
	"l2mt/data/format"
	"l2mt/data/images"
	"l2mt/layers/vgg"
)

// extractor is the network that turns pictures into features.
var extractor = vgg.VGG19()

type dataFeaturesCmd struct {
	Images    string    `required:"" type:"existingdir" help:"Folder with a sub-folder of JPEG or PNG files for each class, as MIT-Indoor-67, Caltech-101 and Caltech256 have."`
	Weights   string    `required:"" type:"existingfile" help:"File of VGG-19's weights, .safetensors, as torchvision names them. Pictures are prepared as torchvision prepares them."`
	Layer     vgg.Layer `default:"fc8" enum:"pool5,fc6,fc7,fc8" help:"Layer whose activations are the features: ${enum}."`
	Out       string    `required:"" type:"path" help:"File to write, .npz. An interrupted run keeps finished pictures beside it, and the same command resumes there."`
	LeaveOut  []string  `help:"Classes to leave out, such as BACKGROUND_Google or 257.clutter."`
	MaxPixels uint      `default:"33554432" help:"Skip pictures with more pixels than this."`
	Workers   uint      `help:"Number of pictures at the same time; 0 means one per CPU."`
}

func (c *dataFeaturesCmd) Validate() error {
	if c.Out != "" &&
		strings.ToLower(filepath.Ext(c.Out)) != ".npz" { // the parser finds missing flags
		return fmt.Errorf("--out=%s: its name must end in .npz", c.Out)
	}
	return nil
}

// extracted has the results of an extraction, for print and as the record beside the dataset.
type extracted struct {
	Net      string            `json:"net"`
	Layer    vgg.Layer         `json:"layer"`
	Weights  string            `json:"weights"`
	SHA256   string            `json:"weights_sha256"`
	Read     images.Options    `json:"read"`
	Dataset  datasetInfo       `json:"dataset"`
	Skipped  []string          `json:"skipped,omitempty"`
	Files    []string          `json:"files,omitempty"` // of the rows
	Versions map[string]string `json:"versions"`
}

func (c *dataFeaturesCmd) Run(e *env) error {
	pictures, err := images.Find(c.Images, c.LeaveOut...)
	if err != nil {
		return err
	}
	e.remark("%d pictures of %d classes in %s", len(pictures.Files),
		len(pictures.Classes), pictures.Dir)
	if pictures.Others > 0 {
		e.remark("%d other files and folders are left out", pictures.Others)
	}
	// The weights are most of the heap, so that by default as much as they take
	// again would be thrown away before it is collected.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	net, err := vgg.Load(c.Weights, extractor, c.Layer)
	if err != nil {
		return err
	}
	sum, err := files.SHA256(c.Weights)
	if err != nil {
		return err
	}
	config := images.Config{
		Net: net.Features, Features: extractor.Width(c.Layer),
		Identity: fmt.Sprintf("%s %s %s", extractor.Name, c.Layer, sum),
		Read: images.Options{
			Short:     256,
			Crop:      extractor.Size,
			MaxPixels: int(c.MaxPixels),
		},
		Workers: int(c.Workers), Progress: e.reporter(),
	}
	partial := c.Out + ".partial"
	r, err := images.Extract(e, pictures, partial, config)
	var skipped []string
	if r != nil && len(r.Skipped) > 0 {
		for _, s := range r.Skipped {
			e.remark("skipped %s: %v", s.Name, s.Err)
			skipped = append(skipped, s.Name)
		}
		e.remark("%d of %d pictures skipped", len(r.Skipped),
			len(pictures.Files))
	}
	if err != nil {
		return err
	}
	if err := format.Write(c.Out, r.Dataset); err != nil {
		return err
	}
	r.Dataset.Name = c.Out
	record := extracted{
		Net: extractor.Name, Layer: c.Layer, Weights: filepath.Base(c.Weights), SHA256: sum,
		Read: config.Read, Dataset: describe(r.Dataset),
		Skipped: skipped, Files: r.Files, Versions: versions(),
	}
	if err := errors.Join(saveJSON(c.Out+".json", record),
		os.RemoveAll(partial)); err != nil {
		return err
	}
	return e.print(record, "features")
}
