"""Records of training runs, whichever system wrote them."""
