"use strict";

const form = document.querySelector("form"), output = document.querySelector("output");

function add(parent, tag, text) {
	const e = parent.appendChild(document.createElement(tag));
	e.textContent = text;
	return e;
}

form.addEventListener("submit", async event => {
	event.preventDefault();
	const row = {};
	for (const field of form.querySelectorAll("[name]")) {
		row[field.name] = field.value === "" ? null : "words" in field.dataset ? field.value : Number(field.value);
	}
	const request = { dataframe_records: [row], params: {} };
	if (Number(form.dataset.interval) >= 0.9) request.params.interval = 0.9;
	output.textContent = "";
	try {
		const response = await fetch(form.action, {
			method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request),
		});
		const answer = await response.json();
		if (!response.ok) {
			add(output, "p", answer.message);
			return;
		}
		const body = add(add(output, "table", ""), "tbody", "");
		for (const [name, value] of Object.entries(answer.predictions[0])) {
			const line = add(body, "tr", "");
			if (name === "prediction") line.className = "first";
			add(line, "th", name === "low" ? "low (90 % lie above it and below high)" : name);
			add(line, "td", typeof value === "number" ? Number(value.toPrecision(6)) : value ?? "unknown");
		}
		for (const note of answer.notes) add(output, "p", note);
	} catch (error) {
		add(output, "p", "The server does not answer: " + error.message);
	}
});
