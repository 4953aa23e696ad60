"""Deliveries of bills and of carbon against their declared shape and their own history."""
