"""Utilisation of accelerators, whoever measured it, as samples per device."""
