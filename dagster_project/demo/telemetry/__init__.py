"""What collectors saw of the chips while runs held them, and the truth about it: reserved, observed and busy chip time."""
