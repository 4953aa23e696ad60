"""What our code makes of a delivery's bytes: typed copies, rows, control totals, row digest. All of it can be made again."""
