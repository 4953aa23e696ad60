"""The AWS half of the demo: two payers' fleets (`plan_*`), bills (`bill_*`, `cur`) and carbon exports (`carbon`)."""
