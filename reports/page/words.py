"""Sentences of the report that no table holds: whose Scope 2 it is, each measure in words and symbols, and what stays open."""

SCOPE_SENTENCE = "Provider Scope 2 tonnes in this report are Scope 3, category 1 in our own inventory."


# a measure, what it means, its formula, and where its boundary runs
METHODS = (
    (
        "Billed cost",
        "What the invoice says. Rows a Savings Plan covers carry nothing; the plan's own fee rows do. Google: with every credit.",
        "AWS: net unblended, else unblended cost; Google: cost + credits",
        "every row of the provider's bill",
    ),
    (
        "Effective cost",
        "What a run cost: net, commitments spread over the hours they serve, promotions and credits kept apart.",
        "AWS: net amortised cost by line item type, block fees by used hours; Google: cost + commitment and negotiated "
        "credits, commitment fees over covered usage",
        "every row of the bill; not used commitments are residual",
    ),
    (
        "List cost",
        "The provider's public on-demand price of the same usage; unknown as soon as one part has no list price.",
        "AWS: public on-demand cost; Google: cost at list",
        "usage rows",
    ),
    (
        "Share of a run in a resource",
        "Each moment of a resource is shared by the chips that runs held; what nobody held is idle.",
        "o_r = ∫ chips_r / max(chips of the node, chips held); share_r = o_r / max(billed hours, Σ o)",
        "one billed row",
    ),
    (
        "Idle share",
        "What the fully loaded view adds to a run: its part of the idle and unused capacity of its cell. Never inside a "
        "strict figure.",
        "idle × w_r / Σ w of the runs in the cell",
        "account, service, region, month",
    ),
    (
        "Allocated emissions",
        "The provider's figure of a cell, divided by list-price weight over all billed usage of that cell. Other services, "
        "idle and unlogged usage keep their part. Failed and interrupted attempts belong to their run.",
        "E_r = E(cell) × w_r / W, W over all usage rows of the cell",
        "provider Scope 1, 2 and 3; account, product, region, month, model version",
    ),
    (
        "Location-based",
        "Electricity at the average intensity of the grid it was drawn from, as reported by the provider.",
        "the provider's",
        "provider Scope 2; Scope 3 as the provider splits it",
    ),
    (
        "Market-based",
        "Electricity with the provider's contracts and certificates, as reported by the provider.",
        "the provider's",
        "provider Scope 2; Scope 3 as the provider splits it",
    ),
    (
        "Energy of a chip",
        "From how busy the chip was where telemetry shows it, else from the time it was held. Gaps lower coverage and widen "
        "the bounds; a missing duty cycle on a live node is idle, an error is unknown.",
        "∫ P_idle + u × (P_max − P_idle) dt; without telemetry chip-hours × P_mean",
        "chip",
    ),
    (
        "Energy at four boundaries",
        "Each contains the one before. Idle reserve is in none of them; it is the idle share. Low and high are plausible "
        "bounds, fully correlated, so they add.",
        "chip; + node × chips held; + network and storage share; × PUE",
        "chip; chip and host; IT; facility",
    ),
    (
        "Busy and reserved chip-hours",
        "Reserved: chips held times hours. Busy: utilisation times chips times hours over what telemetry observed. Coverage: "
        "observed over reserved; 1 only if every interval was observed.",
        "Σ u × chips × h; Σ chips × h",
        "chips a run held",
    ),
    (
        "Modelled emissions",
        "The engineering view, beside the book and never in it: facility energy times the location-based factor of the grid.",
        "facility kWh × kgCO2e/kWh of the grid zone and year",
        "electricity of the facility, direct emissions of generation",
    ),
    (
        "Median, ratio of pairs",
        "Median over finished runs; a pair is one pair key of a workload, replicates averaged by geometric mean first. "
        "Descriptive: no verdict rests on it.",
        "median(x_r); TPU ÷ Trainium of a pair",
        "whole runs, same boundary and measure on both sides",
    ),
    (
        "Conservation",
        "Nothing is lost and nothing is made up: exact decimal arithmetic, checked in every cell before publication.",
        "provider total = runs + residual + quarantined",
        "every cell, measure, currency and model version",
    ),
)

GLOSSARY = (
    ("Training run", "One training job from its first attempt to its last, failed and interrupted attempts included."),
    ("Effective cost", "What use cost once commitments are spread over the hours they serve, net of negotiated discounts."),
    ("Billed cost", "What the invoice asks. A month with a commitment fee has a high bill, whoever uses the commitment later."),
    (
        "Allocated",
        "The provider's own figure, divided among runs and everything else by list price; it adds up to the provider's.",
    ),
    ("Modelled", "Our own figure from chips, time and telemetry; it stands beside the provider's and is never added to it."),
    ("Bounds", "Both ends of a modelled figure, every assumption at its low or its high value; not a confidence interval."),
    (
        "Location-based",
        "Electricity counted at the average of the grid it came from; market-based counts contracts and certificates.",
    ),
    ("Idle", "Accelerators that were paid for and that no run held; shown by itself, and in no run's strict figure."),
    ("Residual", "What of a bill or of a provider's emissions no run carries; every such row has one reason."),
    ("Preliminary", "Whole, and may still change: an invoice or the provider's yearly true-up is open. Final: neither is."),
)

SENSITIVITIES = (
    "The allocation key is list price. A cell that mixes accelerators with many small services moves when their relative "
    "prices do; weights by energy are the sensitivity, not shown here.",
    "AWS product Other holds SageMaker, HyperPod and data transfer together: allocation confidence is low there.",
    "Energy bounds hold idle and peak power, host, network and storage, and gaps in telemetry; PUE and the grid's factor "
    "are used as published. Where chip power is assumed, the range is derived by a written method and no verdict may rest on it.",
    "Modelled emissions take each run's own region (deployed view): a ratio between platforms then holds the grids' "
    "difference too.",
    "Provider model versions are never mixed: a change of version is a break in the series, and no change over it is shown.",
)
OPEN_QUESTIONS = (
    "Provider allocation does not observe how busy a chip was. A lower allocated mass is no evidence of a more efficient run.",
    "The AWS export resolves to one gram: a cell below half a gram arrives as zero.",
    "Google publishes Scope 3 without a split by method: it is one figure in both totals, and neither method's Scope 3 "
    "is known there.",
    "Modelled and provider-allocated figures of one cell differ by the provider's metering, its facility overheads and the "
    "list-price key; the ratio is published, not explained away.",
    "Categories 1 and 8 of Scope 3 differ by who controls leased hardware; this report takes category 1 throughout.",
)
