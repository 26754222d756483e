package settings_test

import (
	"fmt"

	"l2mt/model/settings"
)

type oven struct {
	Degrees int    `json:"degrees" min:"50" max:"250" help:"How hot."`
	Mode    string `json:"mode" help:"Where the heat comes from."`
}

func Example() {
	o := oven{Degrees: 180, Mode: "fan"}
	table := settings.New("oven", &o, map[string][]string{"mode": {"fan", "top"}})
	fmt.Println(table.Set("oven.degrees", "200"), o.Degrees)
	fmt.Println(table.Set("oven.degrees", "300"))
	fmt.Println(table.Set("oven.mod", "top"))
	// Output:
	// <nil> 200
	// oven.degrees is 300; it must be a whole number from 50 to 250
	// there is no setting "oven.mod"; near it: oven.mode
}
