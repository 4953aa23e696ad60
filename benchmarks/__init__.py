"""What the warehouse costs to run, each command beside the floor of the same input. See README.md."""
