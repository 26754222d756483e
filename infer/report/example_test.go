package report_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"l2mt/data"
	"l2mt/data/table"
	"l2mt/infer/report"
	"l2mt/infer/solve"
)

// A table of 24 shops is fitted. The report says whether sharing between them pays, where what
// they sell varies, and which column counts most.
func Example() {
	ctx := context.Background()
	t := must(table.Read([]string{shops()}, table.Options{Task: "shop", Targets: []string{"sold"}}))
	b := must(solve.NewBench(nil, t.Problem, solve.Options{Together: t.Together}))
	r := must(report.Fit(ctx, b, t, report.Options{}))
	m := must(report.Explain(must(r.Saved(nil)), 3))

	for _, v := range r.Rivals {
		fmt.Printf("the fit %s %s\n", v.Verdict(), v.Title)
	}
	for _, s := range r.LargeShares() {
		fmt.Printf("%.0f %% of the variance: %s\n", 100*(s.Common+s.Own), s.Name)
	}
	for _, c := range m.Curves {
		fmt.Printf("%s changes predictions by %.0f\n", c.Column, c.Shared[len(c.X)-1]-c.Shared[0])
	}
	// Output:
	// the fit is better than the mean of each task
	// the fit is better than every task on its own
	// the fit has too few rows for a comparison with one model for all, at own levels
	// 53 % of the variance: all columns
	// 14 % of the variance: level
	// 6 % of the variance: similar rows
	// 26 % of the variance: noise
	// temperature changes predictions by 9
	// discount changes predictions by 7
}

// shops writes a table of what shops sell on days of some temperature and discount.
func shops() (path string) {
	text := "shop,temperature,discount,sold\n"
	random := data.Stream(1, "shops")
	for i := range 96 {
		shop := i % 24
		temperature := random.NormFloat64()
		discount := random.NormFloat64()
		sold := float64(shop%7) + 2*temperature + float64(shop%5)*discount + 2*random.NormFloat64()
		text += fmt.Sprintf("shop %d,%.1f,%.1f,%.1f\n", shop, temperature, discount, sold)
	}
	path = filepath.Join(must(os.MkdirTemp("", "shops")), "shops.csv")
	must(0, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
