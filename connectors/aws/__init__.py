"""What AWS delivers: bills and carbon exports."""
