"""The AWS half of the demo: two payers' fleets, bills (`machines`, `commitments`, `estate`, `cur`) and carbon exports."""
