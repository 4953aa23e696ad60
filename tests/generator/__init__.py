"""Two years of payers on both clouds with the truth of each row: what was bought, who had it when, and what that costs.

The truth is worked out where a row is drawn, from the plan that draws it. No model, no rule and no oracle of the ledger is read.
"""
