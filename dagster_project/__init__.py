"""trainledger's own side of the line: settings, landing, orchestration, commands. Importing it imports nothing."""

__version__ = "0.3.0"
