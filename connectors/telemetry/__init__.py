"""Utilisation of accelerators from any monitor, as samples per device."""
