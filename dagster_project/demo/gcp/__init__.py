"""Google's half of the demo: a TPU fleet, the detailed billing export it leaves behind, and the carbon export."""
