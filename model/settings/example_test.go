package settings_test

import (
	"fmt"

	"l2mt/model/settings"
)

type oven struct {
	Degrees int    `json:"degrees" min:"50" max:"250"`
	Mode    string `json:"mode"`
}

func Example() {
	modes := map[string][]string{"mode": {"fan", "top"}}
	table := settings.New("oven", &oven{300, "fan"}, modes)
	fmt.Println(table.Faults())
	fmt.Println(table.Differences(settings.New("oven", &oven{200, "top"}, modes)))
	// Output:
	// [oven.degrees is 300; it must be a whole number from 50 to 250]
	// [oven.degrees is 200 there and 300 here oven.mode is top there and fan here]
}
