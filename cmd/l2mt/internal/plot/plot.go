// Package plot draws the results of training, comparing and inferring. A function
// that draws returns a picture, which Save writes as a file and Inline as part of
// a page; they return the errors of drawing.
package plot

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgimg" // the format png
	_ "gonum.org/v1/plot/vg/vgsvg" // and svg

	"l2mt/data"
	"l2mt/data/files"
)

// palette has colours that remain distinct for colour-blind readers (Okabe and Ito).
var palette = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255},
	color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255},
	color.RGBA{230, 159, 0, 255}, color.RGBA{86, 180, 233, 255},
}

// LongestTitle is the most characters that a title has room for. This program's titles
// are shorter; a user's name for an experiment or a problem is cut.
const LongestTitle = 59

// Pictures have one font, without serifs.
func init() {
	plot.DefaultFont.Variant = "Sans"
}

// newPlot is an empty plot in the style of all.
func newPlot(title, x string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	letters := []rune(title)
	if len(letters) > LongestTitle {
		title = string(letters[:LongestTitle-3]) + "..."
	}
	p.Title.Text = title
	p.X.Label.Text = x
	p.Title.Padding = 8
	p.Title.TextStyle.Font.Size = 13
	p.Legend.TextStyle.Font.Size = 10
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font.Size = 10
		axis.Label.Padding = 3
		axis.Tick.Marker = plainTicks{}
	}
	p.Legend.Top = true
	p.Legend.Left = true
	p.Legend.Padding = 3
	return p
}

// points joins coordinates.
func points(x, y []float64) (xys plotter.XYs) {
	for i := range x {
		xys = append(xys, plotter.XY{
			X: x[i],
			Y: y[i],
		})
	}
	return xys
}

// addLine draws a line, with a name in the legend if it has one.
func addLine(p *plot.Plot, name string, xys plotter.XYs, style draw.LineStyle) {
	line := &plotter.Line{
		XYs:       xys,
		LineStyle: style,
	}
	p.Add(line)
	if name != "" {
		p.Legend.Add(name, line)
	}
}

// plainTicks are plot's default ticks with all digits: with fewer, two ticks may look the same.
// Large round numbers are short.
// whole leaves fractions out.
type plainTicks struct{ whole bool }

func (p plainTicks) Ticks(lo, hi float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(lo, hi)
	for i, t := range ticks {
		if t.Label != "" {
			digits := strconv.FormatFloat(t.Value+0,
				'g', 12, 64) // + 0: never minus zero
			value, _ := strconv.ParseFloat(digits, 64) // without the error of rounding
			ticks[i].Label = strconv.FormatFloat(value, 'g', -1, 64)
		}
	}
	return slices.DeleteFunc(ticks, func(t plot.Tick) bool {
		return p.whole && t.Value != math.Trunc(t.Value)
	})
}

// Picture is plots to be drawn side by side, each with its legend below it. A nil
// picture is empty.
type Picture struct {
	width, height vg.Length
	plots         []*plot.Plot
	err           error // why there are none
}

// panels is a picture of plots, with its size in inches.
func panels(width, height vg.Length, plots ...*plot.Plot) *Picture {
	return &Picture{
		width:  width * vg.Inch,
		height: height * vg.Inch,
		plots:  plots,
	}
}

// Save writes the picture as PNG.
func (p *Picture) Save(path string) error {
	if p == nil {
		return nil
	}
	raw, err := p.encode("png")
	if err != nil {
		return fmt.Errorf("plot %s: %w", path, err)
	}
	return files.WriteFile(path, raw)
}

// Inline is the picture as part of a page: black is the colour of the text around it and blue
// the --mark of the page, and there is no paper under it. A picture of nothing is empty.
func (p *Picture) Inline() (template.HTML, error) {
	if p == nil {
		return "", nil
	}
	raw, err := p.encode("svg")
	if err != nil {
		return "", err
	}
	// Where a page is narrower than this, the picture is moved, not made smaller.
	head := fmt.Sprintf("<svg style=\"min-width:%.0fpt\"",
		0.7*p.width.Points())
	_, svg, _ := strings.Cut(string(raw), "<svg")
	colours := strings.NewReplacer("#000000", "currentColor", "#0072B2", "var(--mark)")
	return template.HTML(head + colours.Replace(svg)), nil
}

// encode draws the picture in a format.
func (p *Picture) encode(format string) ([]byte, error) {
	if p.err != nil {
		return nil, p.err
	}
	c, _ := draw.NewFormattedCanvas(p.width, p.height, format) // it is linked
	if err := p.draw(draw.New(c)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err := c.WriteTo(&b)
	// In an SVG fonts of the same widths are named, for readers who lack the first.
	return bytes.ReplaceAll(b.Bytes(),
		[]byte("font-family:Liberation Sans"),
		[]byte("font-family:Liberation Sans,Arimo,Arial,Helvetica,sans-serif")), err
}

// largest bounds the numbers in a picture: ticks of larger ones overflow.
const largest = 1e150

// drawable refuses an axis of numbers too large, and widens one of numbers so
// close that the ticks between them would be one number.
func drawable(a *plot.Axis) error {
	size := max(math.Abs(a.Min), math.Abs(a.Max))
	if !(size < largest) &&
		!math.IsInf(a.Min, 1) { // an axis without data begins at +Inf
		return data.Invalid("numbers from %v to %v cannot be drawn", a.Min, a.Max)
	}
	margin := 1e-9 * size
	if a.Max > a.Min && a.Max-a.Min < margin {
		a.Min -= margin
		a.Max += margin
	}
	return nil
}

func (p *Picture) draw(whole draw.Canvas) error {
	below := vg.Length(0) // the height of the highest legend
	for _, panel := range p.plots {
		err := cmp.Or(drawable(&panel.X), drawable(&panel.Y))
		if err != nil {
			return err
		}
		below = max(below, panel.Legend.Rectangle(whole).Size().Y)
	}
	tiles := draw.Tiles{Rows: 1, Cols: len(p.plots),
		PadX: 20, PadTop: 6, PadBottom: 10, PadLeft: 6, PadRight: 14}
	above := draw.Crop(whole, 0, 0, below, 0)
	row := plot.Align([][]*plot.Plot{p.plots}, tiles, above)[0]
	for i, tile := range row {
		bare := *p.plots[i]
		bare.Legend = plot.NewLegend()
		bare.Draw(tile)
		legend := bare.DataCanvas(tile)
		legend.Min.Y = whole.Min.Y
		legend.Max.Y = whole.Min.Y + below + tiles.PadBottom/2
		p.plots[i].Legend.Draw(legend)
	}
	return nil
}
