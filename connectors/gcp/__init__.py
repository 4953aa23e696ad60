"""What Google Cloud delivers: billing and carbon exports."""
