"""Which delivery counts, and which months have to be built again. Reads the landing's records and nothing else."""
