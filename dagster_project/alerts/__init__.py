"""Somebody is sent a message, once for each cause and once when it is over: what is wrong, what was sent, and the ways there."""
